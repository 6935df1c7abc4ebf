"""Given phases: angles at which contributions add up or cancel, as waves do.

Roads into town are jammed in the morning, roads out of town in the evening. No single value is
informative. With phases the two values of an item add up in one class and cancel in the other.
"""

from math import pi

from stc import SparseTensorClassifier

roads = [{"way": way, "hour": hour} for way in ("in", "out") for hour in ("am", "pm")]
state = ["jam", "free", "free", "jam"]

# entropy=0: otherwise values that are equally frequent in all classes would have weight 0.
model = SparseTensorClassifier(entropy=0).fit(roads, state)
print("plain: ", model.predict_proba(roads)[:, 1].round(2), "is the probability of a jam")

# {class: {attribute: {value: radians}}}; other values have angle 0, the opposite of pi.
model.set_params(
    phases={
        "jam": {"way": {"out": pi}, "hour": {"pm": pi}},
        "free": {"way": {"out": pi}, "hour": {"am": pi}},
    }
)
print("phases:", model.predict_proba(roads)[:, 1].round(2), "without refitting")
print(model.explain_local(roads[:2]))

# Values of an item can have phases: theta, in the form of X. Here "the opposite of this hour".
print("theta: ", model.predict(roads, theta=[{"hour": pi}] * 4).tolist())
print("none:  ", model.set_params(phases={}).predict_proba(roads)[:, 1].round(2))

# prints:
# plain:  [0.5 0.5 0.5 0.5] is the probability of a jam
# phases: [1. 0. 0. 1.] without refitting
# jam, 1.00: because hour=am (50 %), way=in (50 %)
# free, 1.00: because hour=pm (50 %), way=in (50 %)
# theta:  ['free', 'jam', 'jam', 'free']
# none:   [0.5 0.5 0.5 0.5]
