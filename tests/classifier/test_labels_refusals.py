"""Labels that make no sense are refused, and the model stays."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from stc import NeverLearntError, SparseTensorClassifier
from support.label_cases import (
    ASKED,
    NAMES,
    TWO,
    Labels,
    Make,
    N,
    X,
    Y,
    any_table,
    assert_same,
    codes,
    fitted,
    uniform,
)
from support.models import paper_model


def state(model: SparseTensorClassifier) -> Any:
    """All that can be seen of a model, comparable by ==."""
    if not hasattr(model, "classes_"):
        return sorted(name for name in vars(model) if name.endswith("_"))
    classes = model.classes_
    return (
        model.corpus_.rows(),
        [c.tolist() for c in classes] if isinstance(classes, list) else classes.tolist(),
        model.class_mass_.tolist(),
        repr(model.predict_proba(X)),
        repr(model.predict(X)),
        repr(getattr(model, "label_threshold_", None)),
        model.get_params(),
    )


@contextmanager
def refused(model: SparseTensorClassifier, error: Any, *words: str) -> Iterator[None]:
    """The block raises ``error``, whose message has all the words, and changes nothing."""
    before = state(model)
    with pytest.raises(error) as caught:
        yield
    for word in words:
        assert re.search(word, str(caught.value)), f"no {word!r} in: {caught.value}"
    assert state(model) == before


def spoilt(labels: Any) -> list[Any]:
    """The labels with those of item 7 replaced."""
    return [*Y[:7], labels, *Y[8:]]


EITHER = (ValueError, TypeError)
SEVEN = r"\b7\b"
BAD_SETS: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "an empty list": (spoilt([]), ValueError, (SEVEN,)),
    "an empty tuple": ([tuple(labels) for labels in spoilt(())], ValueError, (SEVEN,)),
    "an empty set": ([set(labels) for labels in spoilt([])], ValueError, (SEVEN,)),
    "an empty list in polars": (pl.Series(spoilt([])), ValueError, (SEVEN,)),
    "an empty set in pandas": (pd.Series([{*x} for x in spoilt([])]), ValueError, (SEVEN,)),
    "all empty": ([[]] * N, ValueError, (r"\b0\b",)),
    "a null in polars": (pl.Series(spoilt(None)), ValueError, (SEVEN,)),
    "None": (spoilt(None), EITHER, (SEVEN,)),
    "None among labels": (spoilt(["art", None]), ValueError, (SEVEN,)),
    "NaN among labels": (spoilt(["art", float("nan")]), EITHER, ()),
    "a label among sets": (spoilt("art"), EITHER, (SEVEN,)),
    "a distribution among sets": (spoilt({"art": 1.0}), EITHER, (r"\b[07]\b",)),
    "numbers and texts": (spoilt(["art", 3]), EITHER, ()),
    "too few": (Y[:-1], ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
}
NONE = [[0, 0, 0, 0]] * N
BAD_TABLES: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "all zero": (np.array(NONE), ValueError, ()),
    "all zero in lists": (NONE, ValueError, ()),
    "all zero, sparse": (sp.csr_array((N, 4), dtype=int), ValueError, ()),
    "all zero in a frame": (pl.DataFrame(np.array(NONE), schema=NAMES), ValueError, ()),
    "NaN": (np.where(np.eye(N, 4), np.nan, codes(Y)), ValueError, ()),
    "a sparse two": (sp.csr_array(codes(Y) * 2), ValueError, ()),
    "a sparse minus one": (sp.csr_array(-codes(Y)), ValueError, ()),
    "a sparse fraction": (sp.csr_array(codes(Y) * 0.5), ValueError, ()),
    "too few": (codes(Y)[:-1], ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
    "too few, sparse": (sp.csr_array(codes(Y)[:-1]), ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
}
BAD = [("lists", *bad) for bad in BAD_SETS.values()] + [
    ("indicator", *bad) for bad in BAD_TABLES.values()
]
any_bad = pytest.mark.parametrize(
    ("form", "y", "error", "words"),
    BAD,
    ids=[*BAD_SETS, *(f"table: {name}" for name in BAD_TABLES)],
)


@any_bad
@pytest.mark.parametrize("method", ["fit", "partial_fit", "unlearn"])
def test_a_fitted_model_refuses(
    form: str, y: Any, error: Any, words: tuple[str, ...], method: str
) -> None:
    model = fitted(TWO[form])
    with refused(model, error, *words):
        getattr(model, method)(X, y)


@any_bad
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_empty_model_stays_empty(
    form: str, y: Any, error: Any, words: tuple[str, ...], method: str
) -> None:
    model = paper_model()
    with refused(model, error, *words):
        getattr(model, method)(X, y)


@any_table
def test_rows_of_zeros_teach_nothing(make: Make) -> None:
    empty: Labels = [[], [], []]
    model = paper_model().fit([*X, *X[:2], {"words": "extra"}], make(Y + empty))
    assert_same(model, fitted(make))
    assert model.coverage([{"words": "extra"}]).tolist() == [0]
    model.partial_fit(*(X[:3] + X[:1], make(empty + Y[:1])))
    assert_same(model, fitted(make).partial_fit(X[:1], make(Y[:1])))
    model.unlearn(X[:3] + X[:1], make(empty + Y[:1]))
    assert_same(model, fitted(make))


@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
@pytest.mark.parametrize("contain", [np.array, np.ndarray.tolist, sp.csr_array])
def test_an_indicator_of_another_width(width: int, method: str, contain: Any) -> None:
    model = fitted(codes)
    table = np.ones((N, width), dtype=int)
    table[::2, 0] = 0
    with refused(model, ValueError, r"\b4\b", rf"\b{width}\b"):
        getattr(model, method)(X, contain(table))


def test_indicators_of_other_widths_are_not_merged() -> None:
    model = fitted(codes)
    other = paper_model().fit(X, np.column_stack([codes(Y), codes(Y)[:, 0]]))
    with refused(model, ValueError):
        model.merge(other)


ALL: dict[str, Any] = {
    "labels": [labels[0] for labels in Y],
    "codes": [NAMES.index(labels[0]) for labels in Y],
    "distributions": uniform(),
    "label sets": Y,
    "label sets of codes": [[NAMES.index(name) for name in labels] for labels in Y],
    "indicator": codes(Y),
    "sparse indicator": sp.csr_array(codes(Y)),
    "joint targets": np.array([[labels[0], labels[-1]] for labels in Y]),
}
SAME = [{"labels", "codes", "distributions"}, {"label sets", "label sets of codes"}]
SAME += [{"indicator", "sparse indicator"}]
OTHERS = [
    (one, other)
    for one in ALL
    for other in ALL
    if one != other and not any({one, other} <= same for same in SAME)
]
any_other = pytest.mark.parametrize(("one", "other"), OTHERS)


def of_form(name: str) -> SparseTensorClassifier:
    """A model of this form; a given threshold saves time."""
    return paper_model(label_threshold=0.5).fit(X, ALL[name])


@any_other
@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_another_form_of_y(one: str, other: str, method: str) -> None:
    model = of_form(one)
    with refused(model, ValueError):
        getattr(model, method)(X, ALL[other])


@any_other
def test_models_of_another_form_are_not_merged(one: str, other: str) -> None:
    model, stranger = of_form(one), of_form(other)
    with refused(model, ValueError):
        model.merge(stranger)
    with refused(model, ValueError):
        model + stranger


@any_other
def test_fit_may_change_the_form(one: str, other: str) -> None:
    model = of_form(one).fit(X, ALL[other])
    assert repr(model.predict(ASKED)) == repr(of_form(other).predict(ASKED))
    assert repr(model.classes_) == repr(of_form(other).classes_)


NEVER: dict[str, Collection[str]] = {
    "an unknown label": ["ice"],
    "an unknown label beside a known one": ["art", "ice"],
    "a label of others": ["sea"],
    "fewer labels than learnt": ["art"],
    "more labels than learnt": ["art", "law", "sea"],
}


@pytest.mark.parametrize("labels", NEVER.values(), ids=NEVER.keys())
def test_labels_never_learnt_cannot_be_unlearnt(labels: list[str]) -> None:
    items = [{"words": "brush"}, {"words": "wave"}]
    model = paper_model().fit(items, [["art", "law"], ["sea", "war"]])
    with refused(model, NeverLearntError):
        model.unlearn(items[:1], [labels])
    model.unlearn(items[:1], [["law", "art"]])
    assert model.classes_.tolist() == ["sea", "war"]


def test_an_indicator_never_learnt_cannot_be_unlearnt() -> None:
    model = fitted(codes)
    with refused(model, NeverLearntError):
        model.unlearn(X, codes(Y)[:, ::-1])
