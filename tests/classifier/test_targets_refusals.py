"""Targets that make no sense are refused, and the model stays."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from stc import NeverLearntError, SparseTensorClassifier
from stc.exceptions import DataError
from support.models import paper_model
from support.target_cases import (
    DATA,
    FORMS,
    ROWS,
    N,
    Rows,
    X,
    column,
    fitted,
    numbers,
    object_array,
    pairs,
    pandas,
    polars,
    shown,
    texts,
)

EITHER = (ValueError, TypeError)


# ---------------------------------------------------------------- what is refused


def state(model: SparseTensorClassifier, asked: Any) -> Any:
    """All that can be seen of a model, comparable by ==."""
    if not hasattr(model, "classes_"):
        return sorted(name for name in vars(model) if name.endswith("_"))
    several = isinstance(model.classes_, list)
    return (
        model.corpus_.rows(),
        [c.tolist() for c in model.classes_] if several else model.classes_.tolist(),
        model.class_mass_.tolist(),
        shown(model.predict_proba(asked)),
        model.get_params(),
    )


@contextmanager
def refused(
    model: SparseTensorClassifier, error: Any, *words: str, asked: Any = X
) -> Iterator[None]:
    """The block raises ``error``, whose message has all the words, and changes nothing."""
    before = state(model, asked)
    with pytest.raises(error) as caught:
        yield
    for word in words:
        assert re.search(word, str(caught.value)), f"no {word!r} in: {caught.value}"
    assert state(model, asked) == before


def spoilt(rows: Rows, item: int, row: tuple[Any, ...]) -> Rows:
    return [*rows[:item], row, *rows[item + 1 :]]


BAD_Y: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "too few": (np.array(texts())[:-1], ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
    "too few in a frame": (polars(texts())[:-1], ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
    "a missing text": (object_array(spoilt(texts(), 7, ("hot", None))), ValueError, (r"\b7\b",)),
    "a missing text in polars": (
        polars(spoilt(texts(), 7, ("hot", None))),
        ValueError,
        (r"\b7\b",),
    ),
    "a missing text in pandas": (
        pandas(spoilt(texts(), 7, (None, "n1"))),
        ValueError,
        (r"\b7\b",),
    ),
    "a missing number": (
        np.array(spoilt(numbers(), 7, (np.nan, 1))),
        ValueError,
        (r"NaN|\b7\b",),
    ),
    "an infinite number": (np.array(spoilt(numbers(), 7, (np.inf, 1))), ValueError, ()),
    "measurements": (np.array(numbers()) + 0.25, ValueError, ()),
    "texts and numbers in one target": (
        object_array(spoilt(texts(), 7, ("hot", 5))),
        EITHER,
        (),
    ),
    "three dimensions": (np.ones((N, 2, 2)), EITHER, ()),
    "no columns": (np.empty((N, 0)), ValueError, ()),
    "nothing": (None, ValueError, ("y",)),
}
any_bad_y = pytest.mark.parametrize(("y", "error", "words"), BAD_Y.values(), ids=BAD_Y.keys())


@any_bad_y
@pytest.mark.parametrize("method", ["fit", "partial_fit", "unlearn"])
def test_bad_targets_change_nothing(
    y: Any, error: Any, words: tuple[str, ...], method: str
) -> None:
    model = fitted(FORMS["array of texts"], {})
    with refused(model, error, *words):
        getattr(model, method)(X, y)


@any_bad_y
def test_an_empty_model_stays_empty(y: Any, error: Any, words: tuple[str, ...]) -> None:
    model = paper_model()
    with refused(model, error, *words):
        model.fit(X, y)
    assert not hasattr(model, "joint_classes_")


OTHER_Y: dict[str, Any] = {
    "one target": column(texts(), 0),
    "three targets": np.array([(*row, "more") for row in texts()]),
    "label sets": [list(row) for row in texts()],
    "distributions": [{"hot": 1.0}] * N,
}


@pytest.mark.parametrize("y", OTHER_Y.values(), ids=OTHER_Y.keys())
@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_another_form_of_targets(y: Any, method: str) -> None:
    model = fitted(FORMS["array of texts"], {})
    with refused(model, ValueError):
        getattr(model, method)(X, y)


@pytest.mark.parametrize("y", OTHER_Y.values(), ids=OTHER_Y.keys())
def test_models_of_other_targets_are_not_merged(y: Any) -> None:
    model, other = fitted(FORMS["array of texts"], {}), paper_model().fit(X, y)
    with refused(model, ValueError):
        model.merge(other)
    with refused(other, ValueError):
        other.merge(model)


def test_one_target_does_not_become_two() -> None:
    model = paper_model().fit(X, column(texts(), 0))
    with refused(model, ValueError):
        model.partial_fit(X, np.array(texts()))
    with refused(model, ValueError):
        model.unlearn(X, np.array(texts()))


NEVER: dict[str, tuple[str, str]] = {
    "a combination": ("p", "t"),
    "a class": ("p", "never"),
    "a class of the other target": ("s", "p"),
    "too often": ("q", "t"),
}


@pytest.mark.parametrize("pair", NEVER.values(), ids=NEVER.keys())
def test_what_was_never_learnt_cannot_be_unlearnt(pair: tuple[str, str]) -> None:
    model = paper_model().fit([["x"]] * 3, np.array([["p", "s"], ["p", "s"], ["q", "t"]]))
    with refused(model, NeverLearntError, asked=[["x"]]):
        model.unlearn([["x"]] * 2, np.array([pair, pair]))


NO_KIND = [{"color": "red", "kind": "hot"}, {"color": "red", "kind": None}]
BAD_DATA: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "y given too": (DATA.drop("count"), column(ROWS, 0), ("y", "targets")),
    "not in the frame": (X, None, ("kind",)),
    "not in the records": (X.to_dicts(), None, ("kind",)),
    "a record without it": ([NO_KIND[0], {"color": "red"}], None, ("kind", r"\b1\b")),
    "a record where it is None": (NO_KIND, None, (r"\b1\b",)),
    "a record where it is empty": ([NO_KIND[0], {"color": "x", "kind": []}], None, ()),
    "a row where it is null": (pl.DataFrame(NO_KIND), None, (r"\b1\b",)),
    "a row where it is missing in pandas": (pd.DataFrame(NO_KIND), None, (r"\b1\b",)),
    "an array": (X.to_numpy(), None, ("frame|records",)),
    "a list of lists": (X.to_numpy().tolist(), None, ("frame|records",)),
    "documents": (["red hot", "blue cold"], None, ("frame|records",)),
    "a sparse matrix": (sp.csr_array(np.eye(3)), None, ("frame|records",)),
    "no attribute in a frame": (polars(pairs()).select("kind"), None, ("attribute|column",)),
    "no attribute in records": ([{"kind": "hot"}] * 2, None, ("attribute|column",)),
}
any_bad_data = pytest.mark.parametrize(
    ("data", "y", "words"), BAD_DATA.values(), ids=BAD_DATA.keys()
)


@any_bad_data
def test_data_without_the_named_target(data: Any, y: Any, words: tuple[str, ...]) -> None:
    model = paper_model(targets="kind")
    with refused(model, ValueError, *words):
        model.fit(data, y)


# A record without any attribute may well join a model that has some.
LATER = {name: bad for name, bad in BAD_DATA.items() if name != "no attribute in records"}


@pytest.mark.parametrize(("data", "y", "words"), LATER.values(), ids=LATER.keys())
@pytest.mark.parametrize("method", ["fit", "partial_fit", "unlearn"])
def test_a_fitted_model_refuses_it_too(
    data: Any, y: Any, words: tuple[str, ...], method: str
) -> None:
    model = paper_model(targets="kind").fit(DATA.drop("count").to_dicts())
    with refused(model, ValueError, asked=X.to_dicts()):
        getattr(model, method)(data, y)


@pytest.mark.parametrize("items", [[0, 1], [5]])
def test_an_item_that_lacks_one_of_two_targets(items: list[int]) -> None:
    records = DATA.to_dicts()
    for n in items:
        del records[n]["count"]
    with pytest.raises(
        DataError, match="the record lacks this key, which is to be a tar"
    ) as caught:
        paper_model(targets=["kind", "count"]).fit(records)
    assert (caught.value.column, caught.value.item) == ("count", items[0])


@pytest.mark.parametrize("targets", [3, 1.5])
def test_names_that_are_none(targets: Any) -> None:
    with pytest.raises(ValueError, match="The 'targets' parameter of"):
        paper_model(targets=targets).fit(DATA)


def test_pyarrow_tables_are_frames_of_targets() -> None:
    table = pa.table({"kind": ["hot", "cold"], "count": [1, 2]})
    model = paper_model().fit([["x"], ["y"]], table)
    assert model.predict([["x"], ["y"]]).tolist() == [["hot", 1], ["cold", 2]]
