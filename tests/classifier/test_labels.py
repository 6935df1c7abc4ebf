"""Several labels an item: in any form, a distribution uniform over them, and a threshold."""

import pickle
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from polars.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.utils import get_tags

from stc import NeverLearntError, SparseTensorClassifier

Labels: TypeAlias = list[list[Any]]
Make: TypeAlias = Callable[[Labels], Any]

NAMES = ["art", "law", "sea", "war"]
N = 60


def sample(seed: int = 0, n: int = N) -> tuple[list[dict[str, Any]], Labels]:
    """Items with one to three labels, of which their words tell."""
    rng = np.random.default_rng(seed)
    y = [sorted(rng.choice(NAMES, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
    items: list[dict[str, Any]] = []
    for labels in y:
        words = [f"{rng.choice(labels)}{rng.integers(3)}" for _ in range(4)]
        items.append({"words": [*words, str(rng.choice(["of", "the"]))], "place": labels[0][0]})
    return items, y


X, Y = sample()
ASKED = [*X, *sample(1, 20)[0], {"words": ["never seen"]}, {}]
ESTIMATORS: dict[str, dict[str, Any]] = {
    "default": {},
    "classical": {"power": 1.0, "balance": 0.0, "entropy": 0.0},
    "tensor": {"dimensions": "each"},
    "policy": {"dimensions": "each", "policy": [["words", "place"], ["place"], []]},
    "one threshold": {"label_threshold": 0.3},
}
any_estimator = pytest.mark.parametrize("params", ESTIMATORS.values(), ids=ESTIMATORS.keys())


def object_array(y: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(y), dtype=object)
    for n, labels in enumerate(y):
        array[n] = labels
    return array


def codes(y: Labels) -> np.ndarray:
    """The indicator of the labels."""
    return np.array([[int(name in labels) for name in NAMES] for labels in y])


SETS: dict[str, tuple[Make, type]] = {
    "lists": (lambda y: y, list),
    "tuple of lists": (tuple, list),
    "tuples": (lambda y: [tuple(labels) for labels in y], tuple),
    "sets": (lambda y: [set(labels) for labels in y], set),
    "frozensets": (lambda y: [frozenset(labels) for labels in y], frozenset),
    "array of lists": (object_array, list),
    "array of tuples": (lambda y: object_array([tuple(labels) for labels in y]), tuple),
    "array of sets": (lambda y: object_array([set(labels) for labels in y]), set),
    "polars": (pl.Series, list),
    "pandas of lists": (lambda y: pd.Series(y, index=range(len(y), 0, -1)), list),
    "pandas of sets": (lambda y: pd.Series([set(labels) for labels in y]), set),
    "in another order": (lambda y: [labels[::-1] for labels in y], list),
    "with duplicates": (lambda y: [[*labels, labels[0]] for labels in y], list),
}
INDICATORS: dict[str, Make] = {
    "int": codes,
    "int8": lambda y: codes(y).astype("i1"),
    "float": lambda y: codes(y).astype(float),
    "bool": lambda y: codes(y).astype(bool),
    "Fortran": lambda y: np.asfortranarray(codes(y)),
    "nested lists": lambda y: codes(y).tolist(),
    "csr": lambda y: sp.csr_array(codes(y)),
    "csc": lambda y: sp.csc_array(codes(y)),
    "coo": lambda y: sp.coo_array(codes(y)),
    "lil": lambda y: sp.lil_array(codes(y)),
    "csr matrix of floats": lambda y: sp.csr_matrix(codes(y).astype(float)),
    "csr of bools": lambda y: sp.csr_array(codes(y).astype(bool)),
}
FRAMES: dict[str, Make] = {
    "polars": lambda y: pl.DataFrame(codes(y), schema=NAMES),
    "polars of bools": lambda y: pl.DataFrame(codes(y).astype(bool), schema=NAMES),
    "pandas": lambda y: pd.DataFrame(codes(y), columns=NAMES),
    "pandas of bools": lambda y: pd.DataFrame(codes(y).astype(bool), columns=NAMES),
    "pyarrow": lambda y: pl.DataFrame(codes(y), schema=NAMES).to_arrow(),
}
TABLES = INDICATORS | {f"frame in {name}": make for name, make in FRAMES.items()}
FORMS = {name: make for name, (make, _) in SETS.items()} | {
    f"indicator {name}": make for name, make in TABLES.items()
}
any_set = pytest.mark.parametrize(("make", "kind"), SETS.values(), ids=SETS.keys())
any_table = pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
any_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
any_form = pytest.mark.parametrize("make", FORMS.values(), ids=FORMS.keys())
# One of each form for the tests that are about something else.
TWO = {"lists": SETS["lists"][0], "indicator": INDICATORS["int"]}
either = pytest.mark.parametrize("make", TWO.values(), ids=TWO.keys())
# Every form with one estimator, and every estimator with two forms.
PAIRS = {f"{form}-default": (make, {}) for form, make in FORMS.items()} | {
    f"{form}-{name}": (make, params)
    for form, make in TWO.items()
    for name, params in ESTIMATORS.items()
}
any_pair = pytest.mark.parametrize(("make", "params"), PAIRS.values(), ids=PAIRS.keys())


def fitted(make: Make, **params: Any) -> SparseTensorClassifier:
    return SparseTensorClassifier(**params).fit(X, make(Y))


def uniform(y: Labels = Y) -> list[dict[Any, float]]:
    """The distributions that label sets stand for."""
    return [dict.fromkeys(labels, 1.0) for labels in y]


def shares(model: SparseTensorClassifier, asked: Any = ASKED) -> np.ndarray:
    """The distribution over the labels, which an indicator shows in predict_joint only."""
    table = model.predict_joint(asked)
    assert table.columns[0] == "item"
    assert table.columns[-1] == "probability"
    assert table["item"].to_list() == np.repeat(np.arange(len(asked)), len(NAMES)).tolist()
    return table["probability"].to_numpy().reshape(len(asked), -1)


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
    soft = SparseTensorClassifier(**params).fit(X, uniform())
    assert_allclose(shares(model), soft.predict_proba(ASKED), rtol=1e-12, atol=1e-12)
    assert_allclose(model.class_mass_, soft.class_mass_, rtol=1e-12)
    assert_frame_equal(without_class(model), without_class(soft), rel_tol=1e-12, abs_tol=1e-12)


@any_set
@any_estimator
def test_probabilities_of_label_sets(make: Make, kind: type, params: dict[str, Any]) -> None:
    model = fitted(make, **params)
    soft = SparseTensorClassifier(**params).fit(X, uniform())
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
    model = SparseTensorClassifier().fit(X, wide)
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
    model = SparseTensorClassifier(label_threshold=1.0).fit(X, y)
    assert model.classes_.tolist() == sorted(set(names))
    predicted = model.predict(X)
    assert {type(labels) for labels in predicted} == {kind}
    assert {label for labels in predicted for label in labels} == set(names)


def test_nested_lists_of_texts_are_label_sets() -> None:
    y = [["hot", "big"], ["cold", "big"], ["hot", "small"]]
    items = [["x"], ["y"], ["z"]]
    model = SparseTensorClassifier(label_threshold=0.5).fit(items, y)
    assert model.classes_.tolist() == ["big", "cold", "hot", "small"]
    assert model.predict(items) == [sorted(labels) for labels in y]
    joint = SparseTensorClassifier().fit(items, np.array(y))
    assert joint.predict(items).tolist() == y


def test_nested_lists_of_numbers_are_label_sets_unless_all_are_zero_or_one() -> None:
    items = [["x"], ["y"]]
    sets = SparseTensorClassifier().fit(items, [[0, 1], [2, 1]])
    assert sets.classes_.tolist() == [0, 1, 2]
    assert isinstance(sets.predict(items), list)
    table = SparseTensorClassifier().fit(items, [[0, 1, 0], [1, 0, 0]])
    assert table.classes_.tolist() == [0, 1, 2]
    assert table.predict(items).tolist() == [[0, 1, 0], [1, 0, 0]]
    short = SparseTensorClassifier().fit(items, [[0], [1]])
    assert short.predict(items) == [[0], [1]]


def test_strings_are_labels_and_not_sets_of_letters() -> None:
    model = SparseTensorClassifier().fit([["x"], ["y"]], ["ab", "bc"])
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
    model = SparseTensorClassifier(label_threshold=0.5)
    assert not hasattr(model, "label_threshold_")
    assert not hasattr(model.fit(X, [labels[0] for labels in Y]), "label_threshold_")


def test_a_label_that_just_reaches_the_threshold_is_predicted() -> None:
    y = [["a"]] * 4 + [["b"]] * 2 + [["c"]] * 2
    model = SparseTensorClassifier(label_threshold=0.5).fit([["x"]] * 8, y)
    assert model.predict([["unseen"]]) == [["a", "b", "c"]]
    model.set_params(label_threshold=0.51)
    assert model.predict([["unseen"]]) == [["a"]]
    pairs = SparseTensorClassifier(label_threshold=1.0).fit([["x"]], [["a", "b"]])
    assert pairs.predict([["x"]]) == [["a", "b"]]


def test_its_probability_is_above_one_half() -> None:
    table = np.array([[1, 0, 0]] * 4 + [[0, 1, 0]] * 2 + [[0, 0, 1]] * 2)
    model = SparseTensorClassifier(label_threshold=0.5).fit([["x"]] * 8, table)
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
    model = SparseTensorClassifier(label_threshold=0.5).fit(items, [["art"], ["law", "sea"]])
    assert model.score(items, [["art"], ["sea", "law"]]) == 1
    assert model.score(items, [[label], ["sea", "law"]]) == 0.5
    assert model.score(items, [["art", label], ["sea", "law"]]) == 0.5


@any_form
def test_pickles(make: Make) -> None:
    model = fitted(make)
    twin = pickle.loads(pickle.dumps(model))
    assert shown(twin.predict(ASKED)) == shown(model.predict(ASKED))
    assert_array_equal(twin.label_threshold_, model.label_threshold_)


# ---------------------------------------------------------------- the threshold that is chosen


def topics(sizes: Sequence[int], n: int, seed: int) -> tuple[list[dict[str, Any]], Labels]:
    """Items of 12 words about their topics, with noise; each has one of these many labels."""
    rng = np.random.default_rng(seed)
    names = np.array([f"t{k}" for k in range(8)])
    y = [rng.choice(names, rng.choice(sizes), replace=False).tolist() for _ in range(n)]
    items = [
        {
            "words": [
                f"{rng.choice(labels)} {rng.integers(6)}"
                if rng.random() < 0.6
                else f"noise {rng.integers(20)}"
                for _ in range(12)
            ]
        }
        for labels in y
    ]
    return items, y


def micro_f1(model: SparseTensorClassifier, items: Any, y: Labels) -> float:
    """Micro-F1 by its definition."""
    predicted = [set(labels) for labels in model.predict(items)]
    truth = [set(labels) for labels in y]
    hits = sum(len(p & t) for p, t in zip(predicted, truth, strict=True))
    return 2 * hits / (sum(map(len, predicted)) + sum(map(len, truth)))


SIZES = {"one": [1], "two": [2], "three": [3], "one or two": [1, 2], "one to four": [1, 2, 3, 4]}
any_size = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())


@any_size
@pytest.mark.parametrize("seed", range(2))
def test_the_chosen_threshold_is_nearly_the_best(sizes: list[int], seed: int) -> None:
    items, y = topics(sizes, 300, seed)
    fresh, truth = topics(sizes, 300, seed + 100)
    model = SparseTensorClassifier().fit(items, y)
    ours = micro_f1(model, fresh, truth)
    best = max(
        micro_f1(model.set_params(label_threshold=threshold), fresh, truth)
        for threshold in np.geomspace(0.001, 1, 40)
    )
    assert ours > best - 0.03
    if min(sizes) > 1:
        assert ours > micro_f1(model.set_params(label_threshold=1.0), fresh, truth) + 0.05


def test_the_threshold_is_chosen_by_items_held_out() -> None:
    # A word of its own gives an item away where it was learnt, and says nothing where it was not.
    items, y = topics([1, 2], 200, 0)
    marked = [{**item, "own": [f"own {n}"] * 12} for n, item in enumerate(items)]
    found, told = (SparseTensorClassifier().fit(each, y) for each in (items, marked))
    assert len(set(found.label_threshold_)) > 1
    assert_allclose(told.label_threshold_, found.label_threshold_, rtol=1e-9)


@either
def test_few_items_have_a_threshold_too(make: Make) -> None:
    for n in (1, 2, 3, 5):
        model = SparseTensorClassifier().fit(X[:n], make(Y[:n]))
        assert ((model.label_threshold_ > 0) & (model.label_threshold_ <= 1)).all()


@either
@any_estimator
def test_the_same_data_gives_the_same_threshold(make: Make, params: dict[str, Any]) -> None:
    first, second = (fitted(make, **params).label_threshold_ for _ in range(2))
    assert_array_equal(first, second)


Learner: TypeAlias = Callable[[list[tuple[Any, Labels]]], SparseTensorClassifier]


def in_parts(parts: list[tuple[Any, Labels]]) -> SparseTensorClassifier:
    model = SparseTensorClassifier()
    for part in parts:
        model.partial_fit(*part)
    return model


def merged(parts: list[tuple[Any, Labels]]) -> SparseTensorClassifier:
    first, *others = (SparseTensorClassifier().fit(*part) for part in parts)
    for other in others:
        first.merge(other)
    return first


def added(parts: list[tuple[Any, Labels]]) -> SparseTensorClassifier:
    one, other = (SparseTensorClassifier().fit(*part) for part in parts)
    return one + other


def typical(model: SparseTensorClassifier) -> float:
    """The logarithm of one threshold for all labels."""
    return float(np.log(model.label_threshold_).mean())


@pytest.mark.parametrize("learn", [in_parts, merged, added])
@pytest.mark.parametrize("first", ["many", "few"])
def test_evidence_for_the_threshold_adds_up(learn: Learner, first: str) -> None:
    many, few = topics([3], 300, 1), topics([1], 3, 0)
    of_many, of_few = (typical(SparseTensorClassifier().fit(*part)) for part in (many, few))
    assert abs(of_many - of_few) > 0.2  # else this says nothing
    both = typical(learn([many, few] if first == "many" else [few, many]))
    assert abs(both - of_many) < 0.02


def test_unlearning_keeps_a_threshold() -> None:
    model = fitted(list).unlearn(X[:30], Y[:30])
    assert ((model.label_threshold_ > 0) & (model.label_threshold_ <= 1)).all()
    given = fitted(list, label_threshold=0.3).unlearn(X[:30], Y[:30])
    assert given.label_threshold_.tolist() == [0.3] * 4


@pytest.mark.parametrize("threshold", [0, 0.0, -0.1, 1.5, "half", float("nan")])
def test_thresholds_that_are_none(threshold: Any) -> None:
    model = SparseTensorClassifier(label_threshold=threshold)
    with pytest.raises(ValueError, match="'label_threshold' parameter of SparseTensorClassifier"):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")
    model = fitted(list).set_params(label_threshold=threshold)
    with pytest.raises(ValueError, match="'label_threshold' parameter of SparseTensorClassifier"):
        model.predict(X)


# ---------------------------------------------------------------- learning is a sum


def assert_same(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    assert one.classes_.tolist() == other.classes_.tolist()
    assert_allclose(one.class_mass_, other.class_mass_, rtol=1e-12)
    order = [name for name in one.corpus_.columns if name not in {"mass", "support"}]
    assert_frame_equal(
        one.corpus_.sort(order), other.corpus_.sort(order), rel_tol=1e-12, abs_tol=1e-12
    )
    joint = [model.predict_joint(ASKED) for model in (one, other)]
    assert_frame_equal(*joint, rel_tol=1e-9, abs_tol=1e-9)


# Sorted by their first label, so that later parts bring new labels.
ORDER = sorted(range(N), key=lambda n: Y[n][::-1], reverse=True)
PARTS = [ORDER[:10], ORDER[10:35], ORDER[35:]]


def part(make: Make, items: Sequence[int]) -> tuple[Any, Any]:
    return [X[n] for n in items], make([Y[n] for n in items])


@any_pair
def test_partial_fits_make_a_fit(make: Make, params: dict[str, Any]) -> None:
    model = SparseTensorClassifier(**params)
    for items in PARTS:
        model.partial_fit(*part(make, items))
    assert_same(model, fitted(make, **params))


@any_form
def test_unlearning(make: Make) -> None:
    model = fitted(make)
    for items in PARTS[1:]:
        model.unlearn(*part(make, items))
    assert_same(model, SparseTensorClassifier().fit(*part(make, PARTS[0])))


@any_form
def test_merging(make: Make) -> None:
    models = [SparseTensorClassifier().fit(*part(make, items)) for items in PARTS]
    assert_same(models[2] + models[0] + models[1], fitted(make))
    assert_same(models[0].merge(models[1]).merge(models[2]), fitted(make))


@either
@any_estimator
def test_a_weight_is_a_repetition(make: Make, params: dict[str, Any]) -> None:
    weights = np.random.default_rng(1).integers(0, 3, N)
    weighted = SparseTensorClassifier(**params).fit(X, make(Y), sample_weight=weights)
    copies = np.repeat(np.arange(N), weights)
    repeated = SparseTensorClassifier(**params).fit(*part(make, copies.tolist()))
    assert_allclose(weighted.class_mass_, repeated.class_mass_, rtol=1e-12)
    assert_allclose(shares(weighted), shares(repeated), atol=1e-9)


def test_lists_and_sets_are_one_form() -> None:
    model = SparseTensorClassifier()
    for items, name in zip(PARTS, ("lists", "sets", "polars"), strict=True):
        model.partial_fit(*part(SETS[name][0], items))
    assert_same(model, fitted(list))


def test_indicators_in_different_containers_are_one_form() -> None:
    model = SparseTensorClassifier()
    for items, name in zip(PARTS, ("int", "csr", "nested lists"), strict=True):
        model.partial_fit(*part(INDICATORS[name], items))
    assert_same(model, fitted(codes))


def test_a_batch_of_sets_of_zeros_and_ones() -> None:
    y = [[0, 1], [2], [1, 0], [0, 1]]
    items = [["x"], ["y"], ["z"], ["x"]]
    model = SparseTensorClassifier().partial_fit(items[:2], y[:2]).partial_fit(items[2:], y[2:])
    whole = SparseTensorClassifier().fit(items, y)
    assert_allclose(model.predict_proba(items), whole.predict_proba(items), rtol=1e-12)


# ---------------------------------------------------------------- named in the data

DATA = [{**item, "topics": labels} for item, labels in zip(X, Y, strict=True)]
CONTAINERS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "records": list,
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
}


@pytest.mark.parametrize("contain", CONTAINERS.values(), ids=CONTAINERS.keys())
@pytest.mark.parametrize("targets", ["topics", ["topics"]])
def test_a_named_target_whose_cells_are_lists(contain: Any, targets: Any) -> None:
    model = SparseTensorClassifier(targets=targets).fit(contain(DATA))
    apart = SparseTensorClassifier().fit(contain(X), Y)
    assert_same(model, apart)
    assert_array_equal(model.label_threshold_, apart.label_threshold_)
    assert model.predict(contain(DATA)) == apart.predict(contain(X))
    assert model.predict(contain(X)) == apart.predict(contain(X))
    assert {type(labels) for labels in model.predict(contain(X))} == {list}


# ---------------------------------------------------------------- what is refused


def state(model: SparseTensorClassifier) -> Any:
    """All that can be seen of a model, comparable by ==."""
    if not hasattr(model, "classes_"):
        return sorted(name for name in vars(model) if name.endswith("_"))
    classes = model.classes_
    return (
        model.corpus_.rows(),
        [c.tolist() for c in classes] if isinstance(classes, list) else classes.tolist(),
        model.class_mass_.tolist(),
        repr(model.predict_proba(X)),
        repr(model.predict(X)),
        repr(getattr(model, "label_threshold_", None)),
        model.get_params(),
    )


@contextmanager
def refused(model: SparseTensorClassifier, error: Any, *words: str) -> Iterator[None]:
    """The block raises ``error``, whose message has all the words, and changes nothing."""
    before = state(model)
    with pytest.raises(error) as caught:
        yield
    for word in words:
        assert re.search(word, str(caught.value)), f"no {word!r} in: {caught.value}"
    assert state(model) == before


def spoilt(labels: Any) -> list[Any]:
    """The labels with those of item 7 replaced."""
    return [*Y[:7], labels, *Y[8:]]


EITHER = (ValueError, TypeError)
SEVEN = r"\b7\b"
BAD_SETS: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "an empty list": (spoilt([]), ValueError, (SEVEN,)),
    "an empty tuple": ([tuple(labels) for labels in spoilt(())], ValueError, (SEVEN,)),
    "an empty set": ([set(labels) for labels in spoilt([])], ValueError, (SEVEN,)),
    "an empty list in polars": (pl.Series(spoilt([])), ValueError, (SEVEN,)),
    "an empty set in pandas": (pd.Series([{*x} for x in spoilt([])]), ValueError, (SEVEN,)),
    "all empty": ([[]] * N, ValueError, (r"\b0\b",)),
    "a null in polars": (pl.Series(spoilt(None)), ValueError, (SEVEN,)),
    "None": (spoilt(None), EITHER, (SEVEN,)),
    "None among labels": (spoilt(["art", None]), ValueError, (SEVEN,)),
    "NaN among labels": (spoilt(["art", float("nan")]), EITHER, ()),
    "a label among sets": (spoilt("art"), EITHER, (SEVEN,)),
    "a distribution among sets": (spoilt({"art": 1.0}), EITHER, (r"\b[07]\b",)),
    "numbers and texts": (spoilt(["art", 3]), EITHER, ()),
    "too few": (Y[:-1], ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
}
NONE = [[0, 0, 0, 0]] * N
BAD_TABLES: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "all zero": (np.array(NONE), ValueError, ()),
    "all zero in lists": (NONE, ValueError, ()),
    "all zero, sparse": (sp.csr_array((N, 4), dtype=int), ValueError, ()),
    "all zero in a frame": (pl.DataFrame(np.array(NONE), schema=NAMES), ValueError, ()),
    "NaN": (np.where(np.eye(N, 4), np.nan, codes(Y)), ValueError, ()),
    "a sparse two": (sp.csr_array(codes(Y) * 2), ValueError, ()),
    "a sparse minus one": (sp.csr_array(-codes(Y)), ValueError, ()),
    "a sparse fraction": (sp.csr_array(codes(Y) * 0.5), ValueError, ()),
    "too few": (codes(Y)[:-1], ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
    "too few, sparse": (sp.csr_array(codes(Y)[:-1]), ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
}
BAD = [("lists", *bad) for bad in BAD_SETS.values()] + [
    ("indicator", *bad) for bad in BAD_TABLES.values()
]
any_bad = pytest.mark.parametrize(
    ("form", "y", "error", "words"),
    BAD,
    ids=[*BAD_SETS, *(f"table: {name}" for name in BAD_TABLES)],
)


@any_bad
@pytest.mark.parametrize("method", ["fit", "partial_fit", "unlearn"])
def test_a_fitted_model_refuses(
    form: str, y: Any, error: Any, words: tuple[str, ...], method: str
) -> None:
    model = fitted(TWO[form])
    with refused(model, error, *words):
        getattr(model, method)(X, y)


@any_bad
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_empty_model_stays_empty(
    form: str, y: Any, error: Any, words: tuple[str, ...], method: str
) -> None:
    model = SparseTensorClassifier()
    with refused(model, error, *words):
        getattr(model, method)(X, y)


@any_table
def test_rows_of_zeros_teach_nothing(make: Make) -> None:
    empty: Labels = [[], [], []]
    model = SparseTensorClassifier().fit([*X, *X[:2], {"words": "extra"}], make(Y + empty))
    assert_same(model, fitted(make))
    assert model.coverage([{"words": "extra"}]).tolist() == [0]
    model.partial_fit(*(X[:3] + X[:1], make(empty + Y[:1])))
    assert_same(model, fitted(make).partial_fit(X[:1], make(Y[:1])))
    model.unlearn(X[:3] + X[:1], make(empty + Y[:1]))
    assert_same(model, fitted(make))


@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
@pytest.mark.parametrize("contain", [np.array, np.ndarray.tolist, sp.csr_array])
def test_an_indicator_of_another_width(width: int, method: str, contain: Any) -> None:
    model = fitted(codes)
    table = np.ones((N, width), dtype=int)
    table[::2, 0] = 0
    with refused(model, ValueError, r"\b4\b", rf"\b{width}\b"):
        getattr(model, method)(X, contain(table))


def test_indicators_of_other_widths_are_not_merged() -> None:
    model = fitted(codes)
    other = SparseTensorClassifier().fit(X, np.column_stack([codes(Y), codes(Y)[:, 0]]))
    with refused(model, ValueError):
        model.merge(other)


ALL: dict[str, Any] = {
    "labels": [labels[0] for labels in Y],
    "codes": [NAMES.index(labels[0]) for labels in Y],
    "distributions": uniform(),
    "label sets": Y,
    "label sets of codes": [[NAMES.index(name) for name in labels] for labels in Y],
    "indicator": codes(Y),
    "sparse indicator": sp.csr_array(codes(Y)),
    "joint targets": np.array([[labels[0], labels[-1]] for labels in Y]),
}
SAME = [{"labels", "codes", "distributions"}, {"label sets", "label sets of codes"}]
SAME += [{"indicator", "sparse indicator"}]
OTHERS = [
    (one, other)
    for one in ALL
    for other in ALL
    if one != other and not any({one, other} <= same for same in SAME)
]
any_other = pytest.mark.parametrize(("one", "other"), OTHERS)


def of_form(name: str) -> SparseTensorClassifier:
    """A model of this form; a given threshold saves time."""
    return SparseTensorClassifier(label_threshold=0.5).fit(X, ALL[name])


@any_other
@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_another_form_of_y(one: str, other: str, method: str) -> None:
    model = of_form(one)
    with refused(model, ValueError):
        getattr(model, method)(X, ALL[other])


@any_other
def test_models_of_another_form_are_not_merged(one: str, other: str) -> None:
    model, stranger = of_form(one), of_form(other)
    with refused(model, ValueError):
        model.merge(stranger)
    with refused(model, ValueError):
        model + stranger


@any_other
def test_fit_may_change_the_form(one: str, other: str) -> None:
    model = of_form(one).fit(X, ALL[other])
    assert repr(model.predict(ASKED)) == repr(of_form(other).predict(ASKED))
    assert repr(model.classes_) == repr(of_form(other).classes_)


NEVER: dict[str, Collection[str]] = {
    "an unknown label": ["ice"],
    "an unknown label beside a known one": ["art", "ice"],
    "a label of others": ["sea"],
    "fewer labels than learnt": ["art"],
    "more labels than learnt": ["art", "law", "sea"],
}


@pytest.mark.parametrize("labels", NEVER.values(), ids=NEVER.keys())
def test_labels_never_learnt_cannot_be_unlearnt(labels: list[str]) -> None:
    items = [{"words": "brush"}, {"words": "wave"}]
    model = SparseTensorClassifier().fit(items, [["art", "law"], ["sea", "war"]])
    with refused(model, NeverLearntError):
        model.unlearn(items[:1], [labels])
    model.unlearn(items[:1], [["law", "art"]])
    assert model.classes_.tolist() == ["sea", "war"]


def test_an_indicator_never_learnt_cannot_be_unlearnt() -> None:
    model = fitted(codes)
    with refused(model, NeverLearntError):
        model.unlearn(X, codes(Y)[:, ::-1])


# ---------------------------------------------------------------- in the company of scikit-learn


@pytest.mark.parametrize("params", [{}, {"dimensions": "each", "policy": "learn"}])
def test_tags(params: dict[str, Any]) -> None:
    tags = get_tags(SparseTensorClassifier(**params))
    assert tags.classifier_tags.multi_label
    assert tags.target_tags.multi_output


@pytest.mark.parametrize("name", ["int", "bool", "nested lists"])
def test_cross_validation(name: str) -> None:
    y = INDICATORS[name](Y)
    frame = pl.DataFrame(X)
    predicted = cross_val_predict(SparseTensorClassifier(), frame, y, cv=3)
    assert predicted.shape == (N, 4)
    assert f1_score(codes(Y), predicted, average="micro") > 0.5
    scores = cross_val_score(SparseTensorClassifier(), frame, y, cv=3, scoring="f1_micro")
    assert (scores > 0.5).all()
    ranked = cross_val_predict(SparseTensorClassifier(), frame, y, cv=3, method="predict_proba")
    assert label_ranking_average_precision_score(codes(Y), ranked) > 0.7


def test_grid_search_over_the_threshold() -> None:
    grid = {"label_threshold": [0.001, 0.3, None]}
    search = GridSearchCV(SparseTensorClassifier(), grid, cv=3, scoring="f1_micro")
    search.fit(pl.DataFrame(X), codes(Y))
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] < max(scores[1:])
    assert clone(search.best_estimator_).label_threshold == search.best_params_["label_threshold"]


@either
def test_the_data_is_not_changed(make: Make) -> None:
    y = make(Y)
    before = pickle.dumps((X, y))
    model = SparseTensorClassifier().fit(X, y).partial_fit(X, y).unlearn(X, y)
    model.score(X, y)
    assert pickle.dumps((X, y)) == before


def test_a_readonly_indicator() -> None:
    table = codes(Y)
    table.setflags(write=False)
    assert_array_equal(
        SparseTensorClassifier().fit(X, table).predict(ASKED), fitted(codes).predict(ASKED)
    )
