"""The classifier in the company of scikit-learn: searches, pipelines, metadata routing."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.utils import estimator_html_repr

from stc import SparseTensorClassifier
from support.models import paper_model
from support.string_cases import (
    LABELS,
    LOOSE,
    ROWS,
    WEIGHTS,
    Make,
    any_container,
    assert_same_model,
    fitted,
    to_pandas,
    to_polars,
)

# ---------------------------------------------------------------- in the company of scikit-learn


@any_container
def test_cross_validation(make: Make) -> None:
    scores = cross_val_score(paper_model(), make(ROWS), LABELS, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.4
    out_of_fold = cross_val_predict(paper_model(), make(ROWS), LABELS, cv=3, method="predict_proba")
    assert_allclose(out_of_fold.sum(axis=1), 1)


@any_container
def test_grid_search(make: Make) -> None:
    grid = {"power": [0.25, 0.5, 1.0], "balance": [0.0, 1.0], "entropy": [0.0, 1.0]}
    search = GridSearchCV(paper_model(), grid, cv=3, scoring="neg_log_loss")
    search.fit(make(ROWS), LABELS)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert len(set(scores.round(12))) == 12
    best = fitted(make, **search.best_params_)
    assert_array_equal(search.predict_proba(make(ROWS)), best.predict_proba(make(ROWS)))


@any_container
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(make: Make, method: str) -> None:
    calibrated = CalibratedClassifierCV(paper_model(), method=method, cv=3)
    calibrated.fit(make(ROWS), LABELS)
    assert calibrated.classes_.tolist() == ["maybe", "no", "yes"]
    assert calibrated.score(make(ROWS), LABELS) > 0.7
    assert_allclose(calibrated.predict_proba(make(ROWS)).sum(axis=1), 1)


@any_container
def test_pipeline(make: Make) -> None:
    pipeline = make_pipeline(FunctionTransformer(), paper_model())
    pipeline.fit(make(ROWS), LABELS)
    assert_array_equal(pipeline.predict_proba(make(ROWS)), fitted(make).predict_proba(make(ROWS)))
    pipeline.set_params(sparsetensorclassifier__power=2.0)
    expected = fitted(make, power=2.0).predict_proba(make(ROWS))
    assert_array_equal(pipeline.predict_proba(make(ROWS)), expected)


def test_counts_in_a_pipeline() -> None:
    documents = LOOSE["documents"](ROWS)
    pipeline = make_pipeline(CountVectorizer(), paper_model()).fit(documents, LABELS)
    tokens = fitted(LOOSE["documents"])
    assert_allclose(pipeline.predict_proba(documents), tokens.predict_proba(documents), rtol=1e-9)


def texts_and_columns() -> pd.DataFrame:
    """A text beside categorical columns, one of which has gaps, and a number."""
    frame = to_pandas(ROWS).assign(text=LOOSE["documents"](ROWS), legs=[2, 4, 0] * 20)
    frame.loc[::7, "color"] = None
    return frame


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_text_and_columns_in_a_column_transformer(library: str) -> None:
    frame = texts_and_columns()
    X: Any = pl.from_pandas(frame) if library == "polars" else frame
    columns = ColumnTransformer(
        [
            ("words", CountVectorizer(), "text"),
            ("ones", OneHotEncoder(handle_unknown="ignore"), ["color", "size"]),
            ("counts", "passthrough", ["legs"]),
        ],
        sparse_threshold=1.0,
    )
    pipeline = Pipeline([("columns", columns), ("stc", paper_model())])
    pipeline.fit(X, LABELS)
    assert sp.issparse(pipeline[:-1].transform(X))
    assert pipeline.score(X, LABELS) > 0.7
    assert cross_val_score(pipeline, X, LABELS, cv=3).shape == (3,)


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_columns_passed_through_stay_categories(output: str) -> None:
    X = texts_and_columns()
    columns = ColumnTransformer(
        [("keep", "passthrough", ["color", "legs"])], verbose_feature_names_out=False
    ).set_output(transform=output)
    pipeline = make_pipeline(columns, paper_model()).fit(X, LABELS)
    direct = paper_model().fit(X[["color", "legs"]], LABELS)
    assert_allclose(pipeline.predict_proba(X), direct.predict_proba(X[["color", "legs"]]))
    assert pipeline[-1].corpus_["value"].null_count() == 0
    assert set(pipeline[-1].corpus_["value"]) == {"red", "green", "blue", "0", "2", "4"}


def test_grid_search_over_a_pipeline() -> None:
    pipeline = make_pipeline(CountVectorizer(), paper_model())
    grid = {
        "countvectorizer__ngram_range": [(1, 1), (1, 2)],
        "sparsetensorclassifier__power": [0.5, 1],
    }
    search = GridSearchCV(pipeline, grid, cv=StratifiedKFold(2)).fit(
        LOOSE["documents"](ROWS), LABELS
    )
    assert search.best_score_ > 0.5


# ---------------------------------------------------------------- metadata routing


routing = partial(config_context, enable_metadata_routing=True)


@any_container
def test_sample_weight_is_routed_through_a_pipeline(make: Make) -> None:
    with routing():
        model = paper_model().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), model)
        pipeline.fit(make(ROWS), LABELS, sample_weight=WEIGHTS)
    assert_same_model(pipeline[-1], paper_model().fit(make(ROWS), LABELS, WEIGHTS))


def test_sample_weight_is_routed_through_cross_validation() -> None:
    X = to_polars(ROWS)
    folds = KFold(3)
    with routing():
        model = paper_model().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        results = cross_validate(
            model, X, LABELS, cv=folds, params={"sample_weight": WEIGHTS}, return_estimator=True
        )
    labels = np.array(LABELS)
    for (train, test), learnt, score in zip(
        folds.split(ROWS), results["estimator"], results["test_score"], strict=True
    ):
        expected = paper_model().fit(X[train], labels[train], WEIGHTS[train])
        assert_same_model(learnt, expected)
        assert score == expected.score(X[test], labels[test], WEIGHTS[test])


def test_sample_weight_must_be_asked_for() -> None:
    with routing(), pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(paper_model(), to_polars(ROWS), LABELS, params={"sample_weight": WEIGHTS})
    with routing():
        ignoring = paper_model().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(FunctionTransformer(), ignoring)
        with pytest.raises(TypeError, match="sample_weight"):
            pipeline.fit(to_polars(ROWS), LABELS, sample_weight=WEIGHTS)


def test_what_can_be_routed() -> None:
    with routing():
        model = paper_model()
        model.set_partial_fit_request(sample_weight=True, classes=True)
        requests = model.get_metadata_routing()
    expected = {"sample_weight": True, "classes": True, "batch_id": None}
    assert requests.partial_fit.requests == expected
    assert requests.fit.requests == {"sample_weight": None, "groups": None}
    assert requests.score.requests == {"sample_weight": None}


# ---------------------------------------------------------------- to look at


def test_html_and_text() -> None:
    model = SparseTensorClassifier(power=0.25)
    for page in (
        model._repr_html_(),
        estimator_html_repr(model),
        model._repr_mimebundle_()["text/html"],
    ):
        assert "SparseTensorClassifier" in page
        assert "power" in page
        assert "not fitted" in page.lower()
    model.fit(to_polars(ROWS), LABELS)
    assert "not fitted" not in estimator_html_repr(model).lower()
    assert "SparseTensorClassifier" in estimator_html_repr(make_pipeline(CountVectorizer(), model))
    assert repr(model) == "SparseTensorClassifier(power=0.25)"
