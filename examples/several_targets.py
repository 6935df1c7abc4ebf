"""Several targets: predict dependent targets jointly.

The targets are named columns of the data; no y is needed. The prediction is the most probable
combination among those that were learnt.
"""

from stc import SparseTensorClassifier

calls = [  # or a frame with these columns
    {"words": ["slow", "wifi"], "plan": "home", "team": "network", "urgency": 2},
    {"words": ["wifi", "dead"], "plan": "home", "team": "network", "urgency": 1},
    {"words": ["bill"], "plan": "home", "team": "billing", "urgency": 3},
    {"words": ["bill", "wrong"], "plan": "office", "team": "billing", "urgency": 2},
]
model = SparseTensorClassifier(targets=["team", "urgency"]).fit(calls)
print("combinations:", model.joint_classes_.tolist())

new = [{"words": ["wifi", "bill"]}, {"words": ["dead"], "plan": "home"}]
print("predicted:", model.predict(new).tolist())

# Marginals: a list of arrays, one for each target, as in scikit-learn.
team, urgency = model.predict_proba(new)
print("team:", model.classes_[0].tolist(), team.round(2).tolist())
print("urgency:", model.classes_[1].tolist(), urgency.round(2).tolist())

# The joint distribution. The most probable pair may differ from the best class of each target.
for row in model.predict_joint(new[:1]).rows():
    print("item {}: {}, {}: {:.2f}".format(*row))

# prints:
# combinations: [['billing', 2], ['billing', 3], ['network', 1], ['network', 2]]
# predicted: [['billing', 3], ['network', 1]]
# team: ['billing', 'network'] [[0.57, 0.43], [0.05, 0.95]]
# urgency: [1, 2, 3] [[0.22, 0.44, 0.34], [0.92, 0.03, 0.05]]
# item 0: billing, 2: 0.23
# item 0: billing, 3: 0.34
# item 0: network, 1: 0.22
# item 0: network, 2: 0.22
