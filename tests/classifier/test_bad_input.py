"""What bad input gets in learning: a clear message, and the model as it was before the call."""

from typing import Any

import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from support.bad_input_cases import (
    BAD,
    EITHER,
    GOOD,
    LABELS,
    NAN,
    Bad,
    Opaque,
    any_kind,
    fitted,
    refused,
)
from support.models import paper_model

any_bad = pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())


@any_bad
@pytest.mark.parametrize("method", ["fit", "partial_fit", "unlearn"])
def test_a_fitted_model_refuses_to_learn(bad: Bad, method: str) -> None:
    model = fitted(bad.kind)
    with refused(model, bad.kind, bad.error, *bad.words):
        bad.call(model, method)


@any_bad
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_empty_model_refuses_to_learn_and_stays_empty(bad: Bad, method: str) -> None:
    model = paper_model()
    with refused(model, bad.kind, bad.error, *bad.words):
        bad.call(model, method)
    with pytest.raises(NotFittedError):
        model.predict(GOOD[bad.kind])


@any_kind
def test_the_good_data_of_these_tests_is_good(kind: str) -> None:
    model = fitted(kind)
    before = model.corpus_.rows()
    model.partial_fit(GOOD[kind], LABELS).unlearn(GOOD[kind], LABELS)
    assert model.corpus_.select("attribute", "value", "class", "support").rows() == [
        (*row[:3], row[4]) for row in before
    ]


# Many items take other ways through the code than few; the last of 300 is bad here.
TAGS: list[Any] = [{"a": 1.0, "b": 2.0}] * 299
MANY_RECORDS = [{"tags": cell} for cell in TAGS]
MANY_LABELS = ["p", "q", "p"] * 100
LAST = r"\b299\b"
MANY: dict[str, tuple[Any, Any, Any, tuple[str, ...]]] = {
    "weight in records": ([*MANY_RECORDS, {"tags": {"a": -7.0}}], None, None, ("tags", LAST)),
    "weight in polars": (
        pl.DataFrame({"tags": [*TAGS, {"a": NAN, "b": 1.0}]}),
        None,
        None,
        ("tags", LAST),
    ),
    "weight in sparse": (
        sp.csr_array([*[[1.0, 0]] * 299, [1.0, -7]]),
        None,
        None,
        (r"\bx?1\b", LAST),
    ),
    "opaque": ([*MANY_RECORDS, {"tags": Opaque()}], None, None, ("tags",)),
    "no record": ([*MANY_RECORDS, "a"], None, None, (LAST,)),
    "ragged": ([*[["a", "b"]] * 299, ["a"]], None, None, (LAST,)),
    "no document": ([*["a b"] * 299, 5], None, None, (LAST,)),
    "no label": (["a b"] * 300, [*MANY_LABELS[:-1], None], None, ("y", LAST)),
    "weight of a class": (["a b"] * 300, [*[{"p": 1}] * 299, {"p": -7}], None, ("y", LAST)),
    "sample_weight": (["a b"] * 300, None, [*[1.0] * 299, -7], ("sample_weight", LAST)),
}


@pytest.mark.parametrize(("X", "y", "weight", "words"), MANY.values(), ids=MANY.keys())
def test_the_last_of_many_items_is_named(
    X: Any, y: Any, weight: Any, words: tuple[str, ...]
) -> None:
    model = paper_model()
    with refused(model, "documents", EITHER, *words):
        model.fit(X, y or MANY_LABELS, sample_weight=weight)
