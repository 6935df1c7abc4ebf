"""Records: items as dicts, as from JSON, a form or a message queue.

Keys may differ between items. A value may be single, a list, a dict of weights, or None.
"""

from stc import SparseTensorClassifier

tickets = [
    {"product": "router", "words": ["slow", "wifi"], "plan": "home"},
    {"product": "router", "words": ["slow", "slow", "cable"]},  # twice: weight 2
    {"plan": "office", "words": {"invoice": 3, "twice": 1}},  # weights
    {"plan": "home", "words": ["invoice", "wrong"], "product": None},  # None: the same as no key
]
team = ["network", "network", "billing", "billing"]
model = SparseTensorClassifier().fit(tickets, team)

ticket = {"product": "router", "words": ["invoice", "slow"], "browser": "firefox"}
print(model.predict([ticket])[0])  # a single record is a list of one
for name, probability in zip(model.classes_, model.predict_proba([ticket])[0], strict=True):
    print(f"  {name}: {probability:.2f}")
print(f"coverage of this ticket: {model.coverage([ticket])[0]:.0%}")

# prints:
# network
#   billing: 0.27
#   network: 0.73
# coverage of this ticket: 75%
