"""Phases given: contributions that cancel each other, as waves do, by angles of your own.

In the morning the road into town jams, in the evening the road out of it. No value tells anything
by itself. With phases the two values of an item agree on one class, and cancel in the other.
"""

from math import pi

from stc import SparseTensorClassifier

roads = [{"way": way, "hour": hour} for way in ("in", "out") for hour in ("am", "pm")]
state = ["jam", "free", "free", "jam"]

# entropy=0: otherwise values that are as frequent in all classes have no weight, nothing to turn.
model = SparseTensorClassifier(entropy=0).fit(roads, state)
print("plain: ", model.predict_proba(roads)[:, 1].round(2), "is the probability of a jam")

# {class: {attribute: {value: radians}}}; what is not named has angle 0, pi is the opposite of it.
model.set_params(
    phases={
        "jam": {"way": {"out": pi}, "hour": {"pm": pi}},
        "free": {"way": {"out": pi}, "hour": {"am": pi}},
    }
)
print("phases:", model.predict_proba(roads)[:, 1].round(2), "at once, without fitting again")
print(model.explain(roads[:2]))

# Observations have phases, too: theta, in the shape of X. Here "the opposite of this hour".
print("theta: ", model.predict(roads, theta=[{"hour": pi}] * 4).tolist())
print("none:  ", model.set_params(phases={}).predict_proba(roads)[:, 1].round(2))

# prints:
# plain:  [0.5 0.5 0.5 0.5] is the probability of a jam
# phases: [1. 0. 0. 1.] at once, without fitting again
# jam, 1.00: because hour=am (50 %), way=in (50 %)
# free, 1.00: because hour=pm (50 %), way=in (50 %)
# theta:  ['free', 'jam', 'jam', 'free']
# none:   [0.5 0.5 0.5 0.5]
