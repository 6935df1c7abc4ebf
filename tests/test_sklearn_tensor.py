"""scikit-learn's checks again, with tensors, a learnt policy and a threshold for labels."""

from collections.abc import Callable

import pytest
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    check_parameters_default_constructible,
    parametrize_with_checks,
)

from stc import HardlyCategoricalWarning, PolicyAgent, SparseTensorClassifier

SETTINGS = [
    SparseTensorClassifier(dimensions="each"),
    SparseTensorClassifier(dimensions="each", policy="learn"),
    SparseTensorClassifier(label_threshold=0.5),
]
# scikit-learn feeds measurements, of which we rightly complain.
measurements = pytest.mark.filterwarnings(
    f"ignore::{HardlyCategoricalWarning.__module__}.{HardlyCategoricalWarning.__qualname__}"
)


@measurements
@parametrize_with_checks(SETTINGS)
def test_the_checks_of_scikit_learn(
    estimator: SparseTensorClassifier, check: Callable[[SparseTensorClassifier], None]
) -> None:
    check(estimator)


@measurements
@pytest.mark.parametrize("model", SETTINGS)
@pytest.mark.parametrize(
    "check", [check_dataframe_column_names_consistency, check_param_validation]
)
def test_the_checks_scikit_learn_keeps_for_itself(
    check: Callable[[str, SparseTensorClassifier], None], model: SparseTensorClassifier
) -> None:
    check("SparseTensorClassifier", model)


def test_the_agent_is_made_like_an_estimator() -> None:
    check_parameters_default_constructible("PolicyAgent", PolicyAgent())
