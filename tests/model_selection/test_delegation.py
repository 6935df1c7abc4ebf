"""SparseTensorClassifierCV has the methods of the model that it chose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import stc
from stc import NeverLearntError, SparseTensorClassifier, SparseTensorClassifierCV
from support.models import paper_model
from support.tuning_cases import NEUTRAL

ONE: dict[str, Any] = {
    "power": 0.5,
    "balance": 1.0,
    "entropy": 1.0,
    **NEUTRAL,
    "phases": None,
    "cv": 2,
}
X = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5
Y = ["x", "x", "y", "y"] * 5


def tuned(**more: Any) -> SparseTensorClassifierCV:
    return SparseTensorClassifierCV(**ONE, interactions=1, **more).fit(X, Y)


def test_every_public_name_of_the_estimator_is_there() -> None:
    parameters = SparseTensorClassifier().get_params()
    estimator = {name for name in dir(SparseTensorClassifier) if not name.startswith("_")}
    missing = estimator - set(dir(SparseTensorClassifierCV)) - set(parameters)
    assert missing == {"load"}  # a file holds the model that was chosen


def test_answers_and_exports_are_those_of_the_model(tmp_path: Path) -> None:
    model = tuned()
    best = model.best_estimator_
    assert model.explain_global().table.equals(best.explain_global().table)
    assert model.explain_local(X[:3]).table.equals(best.explain_local(X[:3]).table)
    assert model.to_sql("duckdb") == best.to_sql("duckdb")
    assert model.corpus_.equals(best.corpus_)
    model.save(tmp_path / "tuned.stc.parquet")
    loaded = stc.load(tmp_path / "tuned.stc.parquet")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_it_learns_more_and_unlearns() -> None:
    model = tuned()
    before = model.predict_proba(X)
    model.partial_fit([["c", "u"]], ["z"], batch_id="1").partial_fit(
        [["c", "u"]], ["z"], batch_id="1"
    )
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert model.class_mass_.tolist() == [10, 10, 1]
    model.unlearn([["c", "u"]], ["z"], batch_id="1")
    np.testing.assert_allclose(model.predict_proba(X), before, rtol=0, atol=1e-12)
    with pytest.raises(NeverLearntError, match="the batch '2' was never learnt"):
        model.unlearn([["c", "u"]], ["z"], batch_id="2")
    model.merge(paper_model().fit([["d", "w"]], ["z"]))
    assert model.predict([["d", "w"]]).tolist() == ["z"]
    both = model + tuned()
    assert type(both) is SparseTensorClassifier
    assert both.class_mass_.sum() == 41


def test_the_first_batch_chooses() -> None:
    model = SparseTensorClassifierCV(**ONE, interactions=1)
    model.partial_fit(X, Y, classes=["x", "y", "never"], batch_id="1").partial_fit(
        X, Y, batch_id="1"
    )
    assert model.classes_.tolist() == ["never", "x", "y"]
    assert model.class_mass_.tolist() == [0, 10, 10]
    assert model.best_params_ == tuned().best_params_


@pytest.mark.parametrize("bad", [{"classes": [1, 2]}, {"batch_id": ""}, {"batch_id": 3}])
def test_a_first_batch_that_is_refused_leaves_nothing(bad: dict[str, Any]) -> None:
    model = SparseTensorClassifierCV(**ONE, interactions=1)
    with pytest.raises((ValueError, TypeError), match=r"classes|batch_id|are"):
        model.partial_fit(X, Y, **bad)
    assert not hasattr(model, "best_estimator_")


def test_before_the_fit_there_is_nothing_to_unlearn_or_save(tmp_path: Path) -> None:
    model = SparseTensorClassifierCV()
    for ask in (
        lambda: model.unlearn(X, Y),
        lambda: model.merge(tuned()),
        lambda: model.learn_phases(X, Y),
        lambda: model.save(tmp_path / "m.stc.parquet"),
        lambda: model + tuned(),
        model.explain_global,
        model.to_sql,
    ):
        with pytest.raises(NotFittedError):
            ask()


def test_the_best_parameters_are_complete_for_a_column_of_floats() -> None:
    rng = np.random.default_rng(0)
    number = rng.normal(size=300)
    frame = pl.DataFrame({"number": number, "noise": rng.choice(list("abc"), 300)})
    labels = np.where(np.abs(number) > 1, "far", "near")
    model = SparseTensorClassifierCV(**ONE).fit(frame, labels)
    assert model.best_params_["continuous"] == "auto"
    again = SparseTensorClassifier(**model.best_params_).fit(frame, labels)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.score(frame, labels) > 0.95
