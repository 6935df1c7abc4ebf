"""What bad input gets in predicting, and columns that are not those of the model."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from support.bad_input_cases import (
    EMPTY,
    GOOD,
    KINDS,
    LABELS,
    MORE_WEIGHTS,
    OTHER_KINDS,
    WEIGHTS,
    Bad,
    any_kind,
    fitted,
    refused,
)
from support.models import paper_model

# ---------------------------------------------------------------- prediction


PREDICTORS = ["predict", "predict_proba", "predict_log_proba", "coverage"]
any_predictor = pytest.mark.parametrize("method", PREDICTORS)
BAD_X = {
    name: bad for name, bad in (WEIGHTS | MORE_WEIGHTS | EMPTY | KINDS).items() if bad.X is not None
}


@any_predictor
@pytest.mark.parametrize("bad", BAD_X.values(), ids=BAD_X.keys())
def test_prediction_refuses_bad_items(bad: Bad, method: str) -> None:
    model = fitted(bad.kind)
    with refused(model, bad.kind, bad.error, *bad.words):
        getattr(model, method)(bad.X)


@any_predictor
@any_kind
def test_prediction_before_fitting(kind: str, method: str) -> None:
    model = paper_model()
    with refused(model, kind, NotFittedError, "SparseTensorClassifier"):
        getattr(model, method)(GOOD[kind])


def test_nothing_to_see_before_fitting() -> None:
    model = paper_model()
    with refused(model, "frame", NotFittedError):
        model.score(GOOD["frame"], LABELS)
    with refused(model, "frame", NotFittedError):
        model.unlearn(GOOD["frame"], LABELS)
    with refused(model, "frame", NotFittedError):
        model.get_feature_names_out()
    assert not hasattr(model, "corpus_")
    assert not hasattr(model, "classes_")


# ---------------------------------------------------------------- columns


COLUMNS: dict[str, tuple[str, Any, tuple[str, ...]]] = {
    "one more": (
        "frame",
        GOOD["frame"].with_columns(weight=pl.lit("heavy")),
        ("Feature names unseen at fit time", "weight"),
    ),
    "one less": (
        "frame",
        GOOD["frame"].select("color"),
        ("Feature names seen at fit time, yet now missing", "size"),
    ),
    "renamed": (
        "frame",
        GOOD["frame"].rename({"size": "extent"}),
        ("unseen at fit time", "extent", "now missing", "size"),
    ),
    "another order": ("frame", GOOD["frame"].select("size", "color"), ("same order",)),
    "one more in pandas": (
        "frame",
        pd.DataFrame(GOOD["frame"].to_dict(as_series=False) | {"weight": 1}),
        ("Feature names unseen at fit time", "weight"),
    ),
    "one less in pyarrow": (
        "frame",
        pa.table({"color": ["red"] * 3}),
        ("yet now missing", "size"),
    ),
    "one more in an array": (
        "array",
        np.full((3, 3), "red", dtype=object),
        ("X has 3 features, but SparseTensorClassifier is expecting 2 features",),
    ),
    "one less in a list": (
        "array",
        [["red"]] * 3,
        ("X has 1 features, but SparseTensorClassifier is expecting 2 features",),
    ),
    "one less in a sparse array": (
        "sparse",
        GOOD["sparse"][:, :2],
        ("X has 2 features, but SparseTensorClassifier is expecting 3 features",),
    ),
}
any_columns = pytest.mark.parametrize(("kind", "X", "words"), COLUMNS.values(), ids=COLUMNS.keys())


@any_columns
@any_predictor
def test_prediction_refuses_other_columns(
    kind: str, X: Any, words: tuple[str, ...], method: str
) -> None:
    model = fitted(kind)
    with refused(model, kind, ValueError, *words):
        getattr(model, method)(X)


@any_columns
@pytest.mark.parametrize("method", ["partial_fit", "unlearn", "score"])
def test_learning_refuses_other_columns(
    kind: str, X: Any, words: tuple[str, ...], method: str
) -> None:
    model = fitted(kind)
    with refused(model, kind, ValueError, *words):
        getattr(model, method)(X, LABELS)


@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_records_bring_no_new_attribute_to_a_model_of_a_frame(method: str) -> None:
    model = fitted("frame")
    with refused(model, "frame", ValueError, "weight"):
        getattr(model, method)([{"color": "red"}, {"color": "red", "weight": 1}], ["p", "p"])


def test_records_bring_no_new_attribute_when_missing_is_a_category() -> None:
    model = fitted("records", missing="category")
    with refused(model, "records", ValueError, "weight"):
        model.partial_fit([{"color": "red"}, {"color": "red", "weight": 1}], ["p", "p"])


other_kinds = pytest.mark.parametrize(("kind", "other"), OTHER_KINDS)


@other_kinds
@pytest.mark.parametrize("method", ["predict", "coverage", "partial_fit", "unlearn"])
def test_a_model_refuses_another_kind_of_data(kind: str, other: str, method: str) -> None:
    model = fitted(kind)
    labels = [LABELS] if method in {"partial_fit", "unlearn"} else []
    with refused(model, kind, ValueError):
        getattr(model, method)(GOOD[other], *labels)
