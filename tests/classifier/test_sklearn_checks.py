"""The classifier lives in scikit-learn: its checks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    check_parameters_default_constructible,
    estimator_checks_generator,
    parametrize_with_checks,
)

from stc import PhaseLearner, PolicyAgent, SparseTensorClassifier
from support.marking import slow_values
from support.models import paper_model
from support.sklearn_checks import measurements, run_check

SETTINGS = [
    paper_model(),
    paper_model(power=1.0, balance=0.0, entropy=0.0),
    paper_model(power=1 / 3, missing="category", tokenizer=str.split),
    paper_model(dimensions="each"),
    SparseTensorClassifier(label_threshold=0.5),
    paper_model(interactions=2),
    SparseTensorClassifier(continuous="auto"),
    SparseTensorClassifier(),
]


@measurements
@parametrize_with_checks(SETTINGS[:1])
def test_the_checks_of_scikit_learn(
    estimator: SparseTensorClassifier, check: Callable[[SparseTensorClassifier], None]
) -> None:
    run_check(estimator, check)


@pytest.mark.slow
@measurements
@parametrize_with_checks(SETTINGS[1:])
def test_the_checks_of_scikit_learn_with_other_settings(
    estimator: SparseTensorClassifier, check: Callable[[SparseTensorClassifier], None]
) -> None:
    run_check(estimator, check)


@measurements
@pytest.mark.parametrize("model", SETTINGS)
@pytest.mark.parametrize(
    "check", [check_dataframe_column_names_consistency, check_param_validation]
)
def test_the_checks_scikit_learn_keeps_for_itself(
    check: Callable[[str, SparseTensorClassifier], None], model: SparseTensorClassifier
) -> None:
    check("SparseTensorClassifier", model)


# A learnt policy and learnt phases depend on splits, which draw items: an item of weight 2 is in
# one part, two equal items may be in both. Support counts items, and knots are quantiles of them:
# there, too, two equal items are more than one of weight 2. So the check that asks for the same
# of both (on dense and on sparse data) is left out, and none but it.
DRAWN = "check_sample_weight_equivalence_on_"
QUICK = PhaseLearner(penalties=(4.0,), max_iter=5, folds=3, validation=1, verbose=False)
DRAWING = {
    "a learnt policy": paper_model(dimensions="each", policy="learn"),
    "learnt phases": paper_model(phases=QUICK),
    "chosen features": paper_model(
        interactions=2, min_support=2, max_features=20, continuous={"x0": 4}
    ),
}


@measurements
@pytest.mark.parametrize("model", slow_values(DRAWING, ["learnt phases"]))
def test_the_checks_of_scikit_learn_where_items_are_drawn(model: SparseTensorClassifier) -> None:
    names = []
    for estimator, check in estimator_checks_generator(model):
        names.append(check.func.__name__)
        if not names[-1].startswith(DRAWN):
            run_check(estimator, check)
    assert {name for name in names if name.startswith(DRAWN)} <= {
        f"{DRAWN}dense_data",
        f"{DRAWN}sparse_data",
    }
    assert names.count(f"{DRAWN}dense_data") == 1


@pytest.mark.parametrize(
    "options",
    [{"interactions": 2}, {"continuous": ["x0"]}, {"ordinal": {"x0": ["0"]}}, {"ngrams": 2}],
    ids=str,
)
def test_sparse_matrices_are_for_plain_models(options: dict[str, Any]) -> None:
    assert get_tags(SparseTensorClassifier()).input_tags.sparse
    model = paper_model(**options)
    assert not get_tags(model).input_tags.sparse
    with pytest.raises(ValueError, match=next(iter(options))):
        model.fit(sp.csr_array(np.eye(2)), [0, 1])


def test_the_agent_is_made_like_an_estimator() -> None:
    check_parameters_default_constructible("PolicyAgent", PolicyAgent())


def test_tags() -> None:
    tags = get_tags(SparseTensorClassifier())
    assert tags.input_tags.categorical
    assert tags.input_tags.string
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    assert tags.target_tags.required
    assert tags.classifier_tags.multi_class
    assert not tags.no_validation
    assert is_classifier(SparseTensorClassifier())
