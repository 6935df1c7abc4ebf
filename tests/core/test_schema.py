"""Schemas: columns of a batch are compared with those learnt, in scikit-learn's words."""

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from stc._core.schema import Schema
from stc.exceptions import DataError, StcError

MANY = [f"column{k}" for k in range(9)]
CASES = {
    "the same": (["a", "b"], ["a", "b"]),
    "fewer": (["a", "b"], ["a"]),
    "more": (["a", "b"], ["a", "b", "c"]),
    "renamed": (["a", "b"], ["a", "c"]),
    "all renamed": (["a", "b"], ["d", "c"]),
    "reordered": (["a", "b"], ["b", "a"]),
    "six unseen": (["a"], ["a", *MANY[:6]]),
    "five unseen": (["a"], ["a", *MANY[:5]]),
    "many missing": (MANY, ["a", "b"]),
    "names not learnt": (2, ["a", "b"]),
    "names not learnt, and fewer": (2, ["a"]),
    "names not given": (["a", "b"], 2),
    "names not given, and more": (["a", "b"], 3),
    "unnamed": (2, 2),
    "unnamed, fewer": (2, 1),
    "unnamed, more": (2, 3),
    "no columns": (["a", "b"], []),
    "no columns, unnamed": (2, 0),
    "learnt from no columns": ([], 1),
    "learnt from no columns, named": ([], ["a"]),
}


def schema_of(columns: list[str] | int) -> Schema:
    """The schema of a table with these columns, or with so many without names."""
    if isinstance(columns, int):
        names = tuple(f"x{k}" for k in range(columns))
        return Schema("table", names, False, True, "ignore", columns)
    return Schema("table", tuple(columns), True, True, "ignore", len(columns))


def outcome(check: Any) -> tuple[str, list[tuple[type, str]]]:
    """The message of the error, and class and message of each warning."""
    message = ""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            check()
        except ValueError as error:
            message = str(error)
    return message, [(warning.category, str(warning.message)) for warning in caught]


def scikit_learns(learnt: list[str] | int, batch: list[str] | int) -> Any:
    estimator = type("Forest", (BaseEstimator,), {})()
    estimator.n_features_in_ = max(learnt if isinstance(learnt, int) else len(learnt), 1)
    if learnt and not isinstance(learnt, int):
        estimator.feature_names_in_ = np.array(learnt, dtype=object)
    X: Any = np.zeros((1, batch)) if isinstance(batch, int) else None
    X = pl.DataFrame(schema=dict.fromkeys(batch, pl.Null)) if X is None else X
    return lambda: validate_data(estimator, X, reset=False, skip_check_array=True)


@pytest.mark.parametrize("case", CASES)
def test_messages_and_warnings_are_those_of_scikit_learn(case: str) -> None:
    learnt, batch = CASES[case]
    ours = outcome(lambda: schema_of(learnt).check_columns(schema_of(batch), "Forest"))
    assert ours == outcome(scikit_learns(learnt, batch))


@pytest.mark.parametrize("case", ["fewer", "renamed", "reordered", "unnamed, more"])
def test_other_columns_are_an_error_of_ours(case: str) -> None:
    learnt, batch = CASES[case]
    with pytest.raises(DataError) as caught:
        schema_of(learnt).check_columns(schema_of(batch))
    assert isinstance(caught.value, StcError)


def test_the_owner_is_the_classifier_by_default() -> None:
    message = "X has 3 features, but SparseTensorClassifier is expecting 2 features as input."
    with pytest.raises(DataError) as caught:
        schema_of(2).check_columns(schema_of(3))
    assert str(caught.value) == message


def test_a_warning_points_at_the_caller() -> None:
    with warnings.catch_warnings(record=True, action="always") as caught:
        schema_of(["a"]).check_columns(schema_of(1))
    assert caught[0].filename == __file__


def test_an_attribute_that_only_one_has_is_named() -> None:
    with pytest.raises(DataError, match="only the other model has this attribute") as caught:
        schema_of(["a"]).merged(schema_of(["a", "b"]), "the other model")
    assert caught.value.column == "b"
    with pytest.raises(DataError, match="only this model has this attribute") as caught:
        schema_of(["a", "b"]).merged(schema_of(["a"]), "the other model")
    assert caught.value.column == "b"
