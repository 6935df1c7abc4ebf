"""Online learning with several dimensions: learn, unlearn and merge exactly.

The corpora of all sets of the policy are updated. Each result is the model of one fit on the same
items.
"""

from polars.testing import assert_frame_equal

from stc import SparseTensorClassifier, load_zoo

X, y = load_zoo()
policy = [["milk", "fins", "legs"], ["milk", "legs"], ["legs"]]


def fitted(X, y):
    return SparseTensorClassifier(dimensions="each", policy=policy).fit(X, y)


whole, part = fitted(X, y), fitted(X[:40], y[:40])
entries = whole.corpus_.group_by("dimensions", maintain_order=True).len()
print("entries:", {" & ".join(dimensions): entries for dimensions, entries in entries.rows()})

model = fitted(X[:40], y[:40]).partial_fit(X[40:], y[40:])
assert_frame_equal(model.corpus_, whole.corpus_)  # two batches: the same as one fit
model.unlearn(X[40:], y[40:])
assert_frame_equal(model.corpus_, part.corpus_)  # unlearnt: as if never learnt
model = part + fitted(X[40:], y[40:])
assert_frame_equal(model.corpus_, whole.corpus_)  # merged: the same as one fit
print("exact in every set of", model.policy_)

try:  # a set that a model has not counted cannot be merged
    model.merge(SparseTensorClassifier(dimensions="each", policy=[["legs"]]).fit(X, y))
except ValueError as error:
    print("refused:", str(error).split(";")[0])

# prints:
# entries: {'legs': 14, 'milk & fins & legs': 15, 'milk & legs': 14}
# exact in every set of [['milk', 'fins', 'legs'], ['milk', 'legs'], ['legs'], []]
# refused: the policy of the other model does not have the set ['milk', 'fins', 'legs']
