"""scikit-learn's checks again, with tensors, a learnt policy and a threshold for labels."""

import warnings
from collections.abc import Callable

import pytest
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    check_parameters_default_constructible,
    estimator_checks_generator,
    parametrize_with_checks,
)

from checks import run_check
from stc import HardlyCategoricalWarning, PolicyAgent, SparseTensorClassifier

SETTINGS = [
    SparseTensorClassifier(dimensions="each"),
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
    run_check(estimator, check)


# A learnt policy depends on splits, which draw items: an item of weight 2 is in one part, two equal
# items may be in both. So the check that asks for the same of both is left out, and none but it.
DRAWN = "check_sample_weight_equivalence_on_dense_data"


def test_the_checks_of_scikit_learn_with_a_learnt_policy() -> None:
    model = SparseTensorClassifier(dimensions="each", policy="learn")
    names = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HardlyCategoricalWarning)
        for estimator, check in estimator_checks_generator(model):
            names.append(check.func.__name__)
            if names[-1] != DRAWN:
                run_check(estimator, check)
    assert names.count(DRAWN) == 1


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
