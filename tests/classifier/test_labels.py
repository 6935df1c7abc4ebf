"""Several labels an item: in any form, a distribution uniform over them, and a threshold."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from polars.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.utils import get_tags

from stc import SparseTensorClassifier
from support.label_cases import (
    ASKED,
    FRAMES,
    INDICATORS,
    NAMES,
    SETS,
    Make,
    N,
    X,
    Y,
    any_estimator,
    any_form,
    any_pair,
    any_table,
    codes,
    either,
    fitted,
    shares,
    uniform,
)
from support.models import paper_model

any_set = pytest.mark.parametrize(("make", "kind"), SETS.values(), ids=SETS.keys())
any_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())


def without_class(model: SparseTensorClassifier) -> pl.DataFrame:
    """What was learnt, classes as their places."""
    places = {name: place for place, name in enumerate(model.classes_.tolist())}
    return model.corpus_.with_columns(
        pl.Series("class", [places[name] for name in model.corpus_["class"]])
    )


# ---------------------------------------------------------------- probabilities


@any_pair
def test_a_label_set_is_a_uniform_distribution(make: Make, params: dict[str, Any]) -> None:
    model = fitted(make, **params)
    soft = paper_model(**params).fit(X, uniform())
    assert_allclose(shares(model), soft.predict_proba(ASKED), rtol=1e-12, atol=1e-12)
    assert_allclose(model.class_mass_, soft.class_mass_, rtol=1e-12)
    assert_frame_equal(without_class(model), without_class(soft), rel_tol=1e-12, abs_tol=1e-12)


@any_set
@any_estimator
def test_probabilities_of_label_sets(make: Make, kind: type, params: dict[str, Any]) -> None:
    model = fitted(make, **params)
    soft = paper_model(**params).fit(X, uniform())
    probabilities = model.predict_proba(ASKED)
    assert isinstance(probabilities, np.ndarray)
    assert_allclose(probabilities, soft.predict_proba(ASKED), rtol=1e-12, atol=1e-12)
    assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert_allclose(model.predict_log_proba(ASKED), soft.predict_log_proba(ASKED), rtol=1e-9)


@any_table
@any_estimator
def test_probabilities_of_an_indicator(make: Make, params: dict[str, Any]) -> None:
    model = fitted(make, **params)
    ratio = shares(model) / shares(model).max(axis=1, keepdims=True)
    alone = model.predict_proba(ASKED)
    assert_allclose(alone, ratio / (ratio + model.label_threshold_), rtol=1e-12, atol=1e-12)
    assert ((alone > 0) & (alone < 1)).all()
    assert_array_equal(alone > 0.5, model.predict(ASKED) == 1)
    assert_allclose(model.predict_log_proba(ASKED), np.log(alone), rtol=1e-12)


@any_set
def test_classes_of_label_sets(make: Make, kind: type) -> None:
    assert fitted(make).classes_.tolist() == NAMES


@pytest.mark.parametrize("make", INDICATORS.values(), ids=INDICATORS.keys())
def test_classes_of_an_indicator(make: Make) -> None:
    classes = fitted(make).classes_
    assert classes.dtype.kind == "i"
    assert classes.tolist() == [0, 1, 2, 3]


@any_frame
def test_classes_of_a_frame(make: Make) -> None:
    assert fitted(make).classes_.tolist() == NAMES


def test_a_label_that_nobody_has() -> None:
    wide = np.column_stack([np.zeros(N, dtype=int), codes(Y)])
    model = paper_model().fit(X, wide)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert not model.predict(ASKED)[:, 0].any()
    assert (model.predict_proba(ASKED)[:, 0] < 1e-9).all()
    assert_array_equal(model.predict(ASKED)[:, 1:], fitted(codes).predict(ASKED))


LABELS: dict[str, list[Any]] = {
    "numbers": [3, 1, 2, -7],
    "numpy": [np.int64(3), np.int64(1), np.int64(2), np.int64(-7)],
    "zeros and ones": [0, 1, 2, 3],
    "truth": [True, False, True, False],
    "texts": ["b", "a", "", "nan"],
}


@pytest.mark.parametrize("names", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_labels_of_any_type(names: list[Any], kind: Callable[[Any], Any]) -> None:
    other = dict(zip(NAMES, names, strict=True))
    y = [kind([other[name] for name in labels]) for labels in Y]
    model = paper_model(label_threshold=1.0).fit(X, y)
    assert model.classes_.tolist() == sorted(set(names))
    predicted = model.predict(X)
    assert {type(labels) for labels in predicted} == {kind}
    assert {label for labels in predicted for label in labels} == set(names)


def test_nested_lists_of_texts_are_label_sets() -> None:
    y = [["hot", "big"], ["cold", "big"], ["hot", "small"]]
    items = [["x"], ["y"], ["z"]]
    model = paper_model(label_threshold=0.5).fit(items, y)
    assert model.classes_.tolist() == ["big", "cold", "hot", "small"]
    assert model.predict(items) == [sorted(labels) for labels in y]
    joint = paper_model().fit(items, np.array(y))
    assert joint.predict(items).tolist() == y


def test_nested_lists_of_numbers_are_label_sets_unless_all_are_zero_or_one() -> None:
    items = [["x"], ["y"]]
    sets = paper_model().fit(items, [[0, 1], [2, 1]])
    assert sets.classes_.tolist() == [0, 1, 2]
    assert isinstance(sets.predict(items), list)
    table = paper_model().fit(items, [[0, 1, 0], [1, 0, 0]])
    assert table.classes_.tolist() == [0, 1, 2]
    assert table.predict(items).tolist() == [[0, 1, 0], [1, 0, 0]]
    short = paper_model().fit(items, [[0], [1]])
    assert short.predict(items) == [[0], [1]]


def test_strings_are_labels_and_not_sets_of_letters() -> None:
    model = paper_model().fit([["x"], ["y"]], ["ab", "bc"])
    assert model.classes_.tolist() == ["ab", "bc"]
    assert model.predict([["x"]]).tolist() == ["ab"]


# ---------------------------------------------------------------- predictions


def chosen(probabilities: np.ndarray, threshold: np.ndarray, slack: float) -> np.ndarray:
    """Which labels reach the threshold, with some slack for rounding."""
    return probabilities >= threshold * probabilities.max(axis=1, keepdims=True) * (1 + slack)


@any_table
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.9, 1.0, None])
def test_the_threshold_of_an_indicator(make: Make, threshold: float | None) -> None:
    model = fitted(make, label_threshold=threshold)
    predicted = model.predict(ASKED)
    assert isinstance(predicted, np.ndarray)
    assert predicted.dtype.kind == "i"
    assert predicted.shape == (len(ASKED), 4)
    probabilities = shares(model)
    assert set(np.unique(predicted)) == {0, 1}
    assert (predicted >= chosen(probabilities, model.label_threshold_, 1e-9)).all()
    assert (predicted <= chosen(probabilities, model.label_threshold_, -1e-9)).all()


@any_set
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.9, 1.0, None])
def test_the_threshold_of_label_sets(make: Make, kind: type, threshold: float | None) -> None:
    model = fitted(make, label_threshold=threshold)
    predicted = model.predict(ASKED)
    assert isinstance(predicted, list)
    assert {type(labels) for labels in predicted} == {kind}
    indicator = fitted(codes, label_threshold=threshold)
    table = indicator.predict(ASKED)
    expected = [[NAMES[place] for place in np.flatnonzero(row)] for row in table]
    assert predicted == [kind(labels) for labels in expected]
    assert_array_equal(model.label_threshold_, indicator.label_threshold_)


@any_form
def test_there_is_a_threshold_for_each_label(make: Make) -> None:
    found = fitted(make).label_threshold_
    assert found.shape == (4,)
    assert ((found > 0) & (found <= 1)).all()
    assert fitted(make, label_threshold=0.3).label_threshold_.tolist() == [0.3] * 4


def test_no_threshold_without_labels() -> None:
    model = paper_model(label_threshold=0.5)
    assert not hasattr(model, "label_threshold_")
    assert not hasattr(model.fit(X, [labels[0] for labels in Y]), "label_threshold_")


def test_a_label_that_just_reaches_the_threshold_is_predicted() -> None:
    y = [["a"]] * 4 + [["b"]] * 2 + [["c"]] * 2
    model = paper_model(label_threshold=0.5).fit([["x"]] * 8, y)
    assert model.predict([["unseen"]]) == [["a", "b", "c"]]
    model.set_params(label_threshold=0.51)
    assert model.predict([["unseen"]]) == [["a"]]
    pairs = paper_model(label_threshold=1.0).fit([["x"]], [["a", "b"]])
    assert pairs.predict([["x"]]) == [["a", "b"]]


def test_its_probability_is_above_one_half() -> None:
    table = np.array([[1, 0, 0]] * 4 + [[0, 1, 0]] * 2 + [[0, 0, 1]] * 2)
    model = paper_model(label_threshold=0.5).fit([["x"]] * 8, table)
    assert model.predict([["unseen"]]).tolist() == [[1, 1, 1]]
    assert (model.predict_proba([["unseen"]]) > 0.5).all()


@either
def test_the_threshold_acts_at_prediction(make: Make) -> None:
    model = fitted(make)
    corpus = model.corpus_
    sizes = []
    for threshold in (0.01, 0.2, 0.5, 1.0):
        model.set_params(label_threshold=threshold)
        assert model.label_threshold_.tolist() == [threshold] * 4
        predicted = model.predict(ASKED)
        assert shown(predicted) == shown(fitted(make, label_threshold=threshold).predict(ASKED))
        sizes.append(sum(len(labels) for labels in as_sets(predicted)))
    assert sizes == sorted(set(sizes), reverse=True)
    assert model.corpus_.equals(corpus)


def as_sets(predicted: Any) -> list[set[Any]]:
    if isinstance(predicted, np.ndarray):
        return [set(np.flatnonzero(row)) for row in predicted]
    return [set(labels) for labels in predicted]


def shown(answer: Any) -> Any:
    """Comparable by ==."""
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


@any_pair
def test_score_is_subset_accuracy(make: Make, params: dict[str, Any]) -> None:
    model = fitted(make, **params)
    predicted = model.predict(X)
    if not isinstance(predicted, np.ndarray):
        predicted = codes([list(labels) for labels in predicted])
    right = (predicted == codes(Y)).all(axis=1)
    assert 0 < right.sum() < N
    assert model.score(X, make(Y)) == pytest.approx(right.mean())
    weights = np.arange(1.0, N + 1)
    assert model.score(X, make(Y), sample_weight=weights) == pytest.approx(
        np.average(right, weights=weights)
    )


@pytest.mark.parametrize("label", ["aaa", "bus", "zzz"])
def test_a_label_never_seen_is_not_right(label: str) -> None:
    items = [["x"], ["y"]]
    model = paper_model(label_threshold=0.5).fit(items, [["art"], ["law", "sea"]])
    assert model.score(items, [["art"], ["sea", "law"]]) == 1
    assert model.score(items, [[label], ["sea", "law"]]) == 0.5
    assert model.score(items, [["art", label], ["sea", "law"]]) == 0.5


@any_form
def test_pickles(make: Make) -> None:
    model = fitted(make)
    twin = pickle.loads(pickle.dumps(model))
    assert shown(twin.predict(ASKED)) == shown(model.predict(ASKED))
    assert_array_equal(twin.label_threshold_, model.label_threshold_)


# ---------------------------------------------------------------- in the company of scikit-learn


@pytest.mark.parametrize("params", [{}, {"dimensions": "each", "policy": "learn"}])
def test_tags(params: dict[str, Any]) -> None:
    tags = get_tags(paper_model(**params))
    assert tags.classifier_tags.multi_label
    assert tags.target_tags.multi_output


@pytest.mark.parametrize("name", ["int", "bool", "nested lists"])
def test_cross_validation(name: str) -> None:
    y = INDICATORS[name](Y)
    frame = pl.DataFrame(X)
    predicted = cross_val_predict(paper_model(), frame, y, cv=3)
    assert predicted.shape == (N, 4)
    assert f1_score(codes(Y), predicted, average="micro") > 0.5
    scores = cross_val_score(paper_model(), frame, y, cv=3, scoring="f1_micro")
    assert (scores > 0.5).all()
    ranked = cross_val_predict(paper_model(), frame, y, cv=3, method="predict_proba")
    assert label_ranking_average_precision_score(codes(Y), ranked) > 0.7


def test_grid_search_over_the_threshold() -> None:
    grid = {"label_threshold": [0.001, 0.3, None]}
    search = GridSearchCV(paper_model(), grid, cv=3, scoring="f1_micro")
    search.fit(pl.DataFrame(X), codes(Y))
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] < max(scores[1:])
    assert clone(search.best_estimator_).label_threshold == search.best_params_["label_threshold"]


@either
def test_the_data_is_not_changed(make: Make) -> None:
    y = make(Y)
    before = pickle.dumps((X, y))
    model = paper_model().fit(X, y).partial_fit(X, y).unlearn(X, y)
    model.score(X, y)
    assert pickle.dumps((X, y)) == before


def test_a_readonly_indicator() -> None:
    table = codes(Y)
    table.setflags(write=False)
    assert_array_equal(paper_model().fit(X, table).predict(ASKED), fitted(codes).predict(ASKED))
