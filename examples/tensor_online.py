"""Online with several dimensions: learn more, forget and merge, and every set stays exact.

The corpora of all sets of the policy are kept up to date. Each result is the model that one fit on
the same items would give.
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
assert_frame_equal(model.corpus_, whole.corpus_)  # in two parts: the same as at once
model.unlearn(X[40:], y[40:])
assert_frame_equal(model.corpus_, part.corpus_)  # forgotten: as if never learnt
model = part + fitted(X[40:], y[40:])
assert_frame_equal(model.corpus_, whole.corpus_)  # merged: the same as at once
print("exact in every set of", model.policy_)

try:  # what a model has not counted, it cannot give
    model.merge(SparseTensorClassifier(dimensions="each", policy=[["legs"]]).fit(X, y))
except ValueError as error:
    print("refused:", str(error).split(";")[0])

# prints:
# entries: {'legs': 14, 'milk & fins & legs': 15, 'milk & legs': 14}
# exact in every set of [['milk', 'fins', 'legs'], ['milk', 'legs'], ['legs'], []]
# refused: the other model's policy does not use the set ['milk', 'fins', 'legs']
