"""What cannot be unlearnt or merged, and calls that are interrupted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from stc import SparseTensorClassifier
from support.bad_input_cases import (
    EITHER,
    GOOD,
    ITEM,
    LABELS,
    OTHER_KINDS,
    Errors,
    fitted,
    refused,
    state,
)
from support.models import paper_model

# ---------------------------------------------------------------- unlearning


FRAME = GOOD["frame"]
TWICE = pl.concat([FRAME, FRAME])
NEVER: dict[str, tuple[str, Any, list[str], Any, str]] = {
    "a value": ("frame", [["red", "huge"]], ["p"], None, r"huge|size|\b0\b"),
    "a class": ("frame", [["red", "big"]], ["z"], None, r"\bz\b|\b0\b"),
    "a value of another class": ("frame", [["blue", "small"]], ["p"], None, r"blue|color|\b0\b"),
    "the same twice": ("frame", TWICE.rows(), LABELS * 2, None, r"color|size|\b[0-5]\b"),
    "with more weight": ("frame", FRAME.rows(), LABELS, [1, 1, 7], r"color|size|\b2\b"),
    "with less weight": ("frame", FRAME.rows(), LABELS, [1, 0.5, 1], r"color|size|\b1\b"),
    "more items of a class": ("frame", [[None, None]] * 3, ["p"] * 3, None, r"\bp\b|\b[0-2]\b"),
    "a value after good ones": (
        "frame",
        [*FRAME.rows(), ("red", "huge")],
        [*LABELS, "p"],
        None,
        r"huge|size|\b3\b",
    ),
    "a value of a record": ("records", [{"color": "green"}], ["p"], None, r"green|color|\b0\b"),
    "an attribute": ("records", [{"smell": "red"}], ["p"], None, r"smell|\b0\b"),
    "other weights": ("records", [{"tags": {"a": 2, "b": 1}}], ["p"], None, r"tags|\b0\b"),
    "a word": ("documents", ["red green"], ["p"], None, r"green|\b0\b"),
    "a word once more": ("documents", ["red red big"], ["p"], None, r"red|big|\b0\b"),
    "a column": ("sparse", sp.csr_array([[0.0, 0, 5]]), ["q"], None, r"x2|\b0\b"),
}


def in_kind(kind: str, X: Any) -> Any:
    """Rows become a frame where the model was learnt from one."""
    if kind != "frame":
        return X
    return pl.DataFrame(X, schema=dict.fromkeys(FRAME.columns, pl.String), orient="row")


@pytest.mark.parametrize(("kind", "X", "y", "weight", "word"), NEVER.values(), ids=NEVER.keys())
def test_what_was_never_learnt_cannot_be_unlearnt(
    kind: str, X: Any, y: list[str], weight: Any, word: str
) -> None:
    model = fitted(kind)
    with refused(model, kind, ValueError, word):
        model.unlearn(in_kind(kind, X), y, sample_weight=weight)


def test_unlearning_all_and_then_more() -> None:
    model = fitted("frame").unlearn(FRAME, LABELS)
    with pytest.raises(NotFittedError, match="instance is not fitted yet"):
        model.unlearn(FRAME, LABELS)
    model.partial_fit(FRAME, LABELS)
    assert model.corpus_.equals(fitted("frame").corpus_)


# ---------------------------------------------------------------- merging


def other_frame(X: Any, **params: Any) -> SparseTensorClassifier:
    """A model of other data."""
    return paper_model(**params).fit(X, LABELS)


DISAGREE: dict[str, tuple[str, dict[str, Any], Callable[[], Any], Errors, str]] = {
    "other attributes": (
        "frame",
        {},
        lambda: other_frame(FRAME.rename({"size": "extent"})),
        ValueError,
        "size|extent",
    ),
    "one attribute more": (
        "frame",
        {},
        lambda: other_frame(FRAME.with_columns(weight=1)),
        ValueError,
        "weight",
    ),
    "one attribute less": (
        "frame",
        {},
        lambda: other_frame(FRAME.select("color")),
        ValueError,
        "size",
    ),
    "array of another width": (
        "array",
        {},
        lambda: other_frame(np.full((3, 3), "red", dtype=object)),
        ValueError,
        "x2|3",
    ),
    "sparse of another width": (
        "sparse",
        {},
        lambda: other_frame(GOOD["sparse"][:, :2]),
        ValueError,
        "2",
    ),
    "another missing": (
        "frame",
        {},
        lambda: fitted("frame", missing="category"),
        ValueError,
        "missing",
    ),
    "new attributes where missing is a category": (
        "records",
        {"missing": "category"},
        lambda: other_frame([{"color": "red", "weight": 1}] * 3, missing="category"),
        ValueError,
        "weight|tags",
    ),
    "other conjunctions": (
        "frame",
        {"interactions": 2},
        lambda: fitted("frame"),
        ValueError,
        "interactions",
    ),
    "other words in a row": (
        "documents",
        {"ngrams": 2},
        lambda: fitted("documents"),
        ValueError,
        "ngrams",
    ),
    "another order": (
        "frame",
        {"ordinal": {"size": ["small", "big"]}},
        lambda: fitted("frame", ordinal={"size": ["big", "small"]}),
        ValueError,
        "'size'.*order",
    ),
    "not a model": ("frame", {}, lambda: 3, TypeError, ""),
    "its parameters": ("frame", {}, lambda: {"power": 1}, TypeError, ""),
    "nothing": ("frame", {}, lambda: None, TypeError, ""),
} | {
    f"{kind} and {other}": (kind, {}, lambda other=other: fitted(other), ValueError, "")
    for kind, other in OTHER_KINDS
}
disagreeing = pytest.mark.parametrize(
    ("kind", "params", "make", "error", "word"), DISAGREE.values(), ids=DISAGREE.keys()
)


@disagreeing
def test_models_that_disagree_are_not_merged(
    kind: str, params: dict[str, Any], make: Callable[[], Any], error: Errors, word: str
) -> None:
    model, other = fitted(kind, **params), make()
    theirs = other.corpus_.rows() if isinstance(other, SparseTensorClassifier) else None
    with refused(model, kind, error, word):
        model.merge(other)
    with refused(model, kind, error, word):
        model + other
    if theirs is not None:
        assert other.corpus_.rows() == theirs


def test_an_empty_model_cannot_be_merged_into_another() -> None:
    model, other = fitted("frame"), paper_model()
    with refused(model, "frame", NotFittedError):
        model.merge(other)
    assert not hasattr(other, "classes_")


@pytest.mark.parametrize("labels", [[0, 1, 0], [True, False, True]])
def test_labels_of_another_type_are_refused(labels: list[Any]) -> None:
    model = fitted("frame")
    with refused(model, "frame", EITHER):
        model.partial_fit(FRAME, labels)
    with refused(model, "frame", EITHER):
        model.merge(paper_model().fit(FRAME, labels))


# ---------------------------------------------------------------- interruptions


class Stumbling:
    """A tokenizer that stumbles over one word."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def __call__(self, text: str) -> Any:
        if "stone" not in text:
            return text.split()
        if self.error:
            raise self.error
        return None


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("error", [RuntimeError("tripped"), KeyboardInterrupt(), MemoryError()])
def test_an_interrupted_call_learns_nothing(error: BaseException, method: str) -> None:
    documents = ["red big", "blue small", "red stone"]
    for model in (paper_model(), fitted("documents")):
        model.set_params(tokenizer=Stumbling(error))
        before = state(model, GOOD["documents"])
        with pytest.raises(type(error)):
            getattr(model, method)(documents, LABELS)
        assert state(model, GOOD["documents"]) == before


def test_a_tokenizer_must_give_tokens() -> None:
    model = fitted("documents").set_params(tokenizer=Stumbling(None))
    with refused(model, "documents", EITHER, ITEM):
        model.partial_fit(["red big", "blue small", "red stone"], LABELS)
