"""The tuned classifier in scikit-learn: its checks."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    parametrize_with_checks,
)

from stc import SparseTensorClassifierCV
from support.sklearn_checks import measurements, run_check
from support.tuning_cases import QUICK

CHECKED = SparseTensorClassifierCV(0.5, 1.0, **QUICK, cv=3)


@measurements
@parametrize_with_checks([CHECKED])
def test_the_checks_of_scikit_learn(
    estimator: SparseTensorClassifierCV, check: Callable[[Any], None]
) -> None:
    run_check(estimator, check)


@measurements
@pytest.mark.parametrize(
    "check", [check_dataframe_column_names_consistency, check_param_validation]
)
def test_the_checks_scikit_learn_keeps_for_itself(check: Callable[[str, Any], None]) -> None:
    check("SparseTensorClassifierCV", CHECKED)


def test_tags() -> None:
    tags = get_tags(SparseTensorClassifierCV())
    assert is_classifier(SparseTensorClassifierCV())
    assert tags.input_tags.string
    assert tags.input_tags.categorical
    assert tags.input_tags.allow_nan
    assert tags.target_tags.required
    assert not tags.classifier_tags.multi_label
    assert not get_tags(SparseTensorClassifierCV(targets="y")).target_tags.required
