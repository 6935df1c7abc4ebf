"""Scores of splits that lack a class."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import KFold, PredefinedSplit

from stc import SparseTensorClassifierCV
from stc._core.target import TargetForm
from stc._training.problem import Problem
from stc._training.search import make_scorer as score_function
from stc.exceptions import ParameterError
from support.examples import many
from support.models import paper_model

X = [[str(item % 3)] for item in range(30)]
Y = ["a"] * 14 + ["b"] * 14 + ["c"] * 2


@pytest.mark.parametrize(
    "cv", [KFold(5), PredefinedSplit([0] * 14 + [1] * 14 + [0] * 2)], ids=["one class", "two"]
)
def test_the_log_loss_of_a_split_without_a_class_is_a_score(cv: Any) -> None:
    model = SparseTensorClassifierCV(phases=None, scoring="neg_log_loss", cv=cv).fit(X, Y)
    assert np.isfinite(model.best_score_)
    assert model.predict([["0"]]).tolist()[0] in "abc"


@pytest.mark.parametrize(
    "scoring", ["roc_auc_ovr", make_scorer(log_loss, response_method="predict_proba")]
)
def test_a_score_that_needs_every_class_is_refused_by_name(scoring: Any) -> None:
    model = SparseTensorClassifierCV(phases=None, scoring=scoring, cv=KFold(5))
    with pytest.raises(ParameterError, match="cannot score a split") as caught:
        model.fit(X, Y)
    assert "fewer folds" in str(caught.value.hint)
    assert not hasattr(model, "best_estimator_")


@many()
@given(
    shares=st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=6),
    data=st.data(),
)
def test_the_log_loss_is_that_of_scikit_learn(
    shares: list[list[float]], data: st.DataObject
) -> None:
    P = np.array(shares) + 1e-3
    P /= P.sum(axis=1, keepdims=True)
    codes = data.draw(st.lists(st.integers(0, 2), min_size=len(P), max_size=len(P)))
    labels = [*"abc", *(("abc")[code] for code in codes)]
    batch = paper_model().fit([["0"]] * len(labels), labels)
    reader = batch.fitted_.reader.batch([["0"]] * len(labels), labels, None, None)
    score = score_function("neg_log_loss", Problem.of(*reader.weighted()), TargetForm())
    expected = -log_loss(labels[3:], P, labels=list("abc"))
    assert score(np.arange(3, len(labels)), P) == pytest.approx(expected, abs=1e-12)
