"""The estimator with strings in any container, which scikit-learn never feeds."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from polars.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from stc import SparseTensorClassifier
from support.models import paper_model
from support.string_cases import (
    ARRAYS,
    FRAMES,
    LABELS,
    NAMES,
    ROWS,
    VALUES,
    WEIGHTS,
    Make,
    any_container,
    assert_same_model,
    fitted,
    to_pandas,
    to_polars,
)

# ---------------------------------------------------------------- strings, in any container


any_array = pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS.keys())
any_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())


@any_container
def test_fit_returns_self_and_learns(make: Make) -> None:
    model = paper_model()
    assert model.fit(make(ROWS), LABELS) is model
    check_is_fitted(model)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.score(make(ROWS), LABELS) == np.mean(model.predict(make(ROWS)) == LABELS)
    assert model.score(make(ROWS), LABELS) > 0.7
    probabilities = model.predict_proba(make(ROWS))
    assert probabilities.shape == (60, 3)
    assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert_allclose(model.predict_log_proba(make(ROWS)), np.log(probabilities))


@any_container
def test_partial_fit_and_unlearn_return_self(make: Make) -> None:
    model = paper_model()
    assert model.partial_fit(make(ROWS), LABELS) is model
    assert model.unlearn(make(ROWS[:9]), LABELS[:9]) is model


@any_container
def test_fit_twice_is_fit_once(make: Make) -> None:
    model = paper_model().fit(make(ROWS[:9]), ["old"] * 9)
    assert_same_model(model.fit(make(ROWS), LABELS), fitted(make))


@any_container
def test_clone_takes_the_parameters_only(make: Make) -> None:
    params = {"power": 0.25, "balance": 0.5, "entropy": 2.0, "tokenizer": str.split}
    model = SparseTensorClassifier(**params).fit(make(ROWS), LABELS)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(make(ROWS))
    assert_same_model(twin.fit(make(ROWS), LABELS), model)


@any_container
@pytest.mark.parametrize("predicted", [False, True])
def test_pickle_round_trip(make: Make, predicted: bool) -> None:
    model = SparseTensorClassifier(tokenizer=str.split).fit(make(ROWS), LABELS)
    if predicted:
        model.predict(make(ROWS))
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_same_model(twin, model)
        assert_array_equal(twin.predict_proba(make(ROWS)), model.predict_proba(make(ROWS)))
        twin.partial_fit(make(ROWS[:9]), LABELS[:9])
        assert twin.class_mass_.sum() == model.class_mass_.sum() + 9


@any_container
def test_partial_fits_make_a_fit(make: Make) -> None:
    model = paper_model()
    for start in (40, 0, 20):
        part = slice(start, start + 20)
        model.partial_fit(make(ROWS[part]), LABELS[part])
    whole = fitted(make)
    assert_same_model(model, whole)
    assert_allclose(
        model.predict_proba(make(ROWS)), whole.predict_proba(make(ROWS)), rtol=1e-12, atol=1e-12
    )


@any_container
def test_classes_may_be_declared(make: Make) -> None:
    model = paper_model()
    model.partial_fit(make(ROWS), LABELS, classes=["yes", "no", "maybe", "never"])
    assert model.classes_.tolist() == ["maybe", "never", "no", "yes"]
    probabilities = model.predict_proba(make(ROWS))
    assert not probabilities[:, 1].any()
    assert_allclose(probabilities[:, [0, 2, 3]], fitted(make).predict_proba(make(ROWS)))


@any_container
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "coverage"])
def test_subset_invariance(make: Make, method: str) -> None:
    predict = getattr(fitted(make), method)
    parts = [predict(make(ROWS[start : start + 7])) for start in range(0, 60, 7)]
    ones = [predict(make([row])) for row in ROWS]
    whole = predict(make(ROWS))
    for pieces in (parts, ones):
        together = np.concatenate(pieces)
        if method == "predict":
            assert_array_equal(together, whole)
        else:
            assert_allclose(together, whole, rtol=1e-12)


@any_container
def test_sample_order_invariance(make: Make) -> None:
    order = np.random.default_rng(3).permutation(60)
    shuffled = [ROWS[i] for i in order]
    model = fitted(make)
    other = paper_model().fit(make(shuffled), [LABELS[i] for i in order])
    assert_same_model(other, model)
    assert_allclose(
        other.predict_proba(make(shuffled)), model.predict_proba(make(ROWS))[order], rtol=1e-12
    )


@any_container
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_weight_is_a_repetition_and_zero_an_absence(make: Make, method: str) -> None:
    weighted, repeated = paper_model(), paper_model()
    getattr(weighted, method)(make(ROWS), LABELS, sample_weight=WEIGHTS)
    copies = np.repeat(np.arange(60), WEIGHTS)
    getattr(repeated, method)(make([ROWS[i] for i in copies]), [LABELS[i] for i in copies])
    assert_same_model(weighted, repeated, support=False)
    present = np.flatnonzero(WEIGHTS)
    removed = paper_model().fit(
        make([ROWS[i] for i in present]), [LABELS[i] for i in present], WEIGHTS[present]
    )
    assert_same_model(weighted, removed)
    assert_allclose(weighted.predict_proba(make(ROWS)), repeated.predict_proba(make(ROWS)))
    assert not np.allclose(
        weighted.predict_proba(make(ROWS)), fitted(make).predict_proba(make(ROWS))
    )


@any_container
def test_what_has_no_weight_leaves_no_trace(make: Make) -> None:
    extra = [("violet", "tiny", "ant")]
    model = paper_model().fit(make(ROWS + extra), [*LABELS, "new"], sample_weight=[1] * 60 + [0])
    assert_same_model(model, fitted(make))
    assert_allclose(model.coverage(make(extra)), 0)
    assert len(model.get_feature_names_out()) == 9


@any_container
def test_weights_may_come_in_any_container(make: Make) -> None:
    expected = paper_model().fit(make(ROWS), LABELS, WEIGHTS)
    for weights in (WEIGHTS.tolist(), pd.Series(WEIGHTS), pl.Series(WEIGHTS), WEIGHTS / 1.0):
        assert_same_model(paper_model().fit(make(ROWS), LABELS, weights), expected)


@pytest.mark.parametrize("columns", [2, 4])
@any_array
@pytest.mark.parametrize("method", ["predict", "predict_proba", "coverage"])
def test_another_number_of_features(make: Make, columns: int, method: str) -> None:
    model = fitted(make)
    assert model.n_features_in_ == 3
    with pytest.raises(
        ValueError,
        match=f"X has {columns} features, but SparseTensorClassifier is expecting 3 features",
    ):
        getattr(model, method)(make([(*row, "more")[:columns] for row in ROWS]))


@any_frame
@pytest.mark.parametrize("method", ["predict", "predict_proba", "coverage"])
def test_other_feature_names(make: Make, method: str) -> None:
    predict = getattr(fitted(make), method)
    frame = pl.from_arrow(pa.table(FRAMES["pyarrow"](ROWS)))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        predict(frame[NAMES[::-1]])
    with pytest.raises(ValueError, match="yet now missing:\n- animal"):
        predict(frame[NAMES[:2]])
    with pytest.raises(ValueError, match="unseen at fit time:\n- sound"):
        predict(frame.with_columns(sound=pl.lit("moo")))


@any_frame
def test_feature_names_in(make: Make) -> None:
    names = fitted(make).feature_names_in_
    assert names.dtype == object
    assert names.tolist() == NAMES


def test_feature_names_go_with_the_data() -> None:
    with_names = paper_model().fit(to_pandas(ROWS), LABELS)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        unnamed = with_names.predict_proba(ARRAYS["object"](ROWS))
    assert_allclose(unnamed, with_names.predict_proba(to_pandas(ROWS)))
    without = paper_model().fit(ARRAYS["object"](ROWS), LABELS)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        named = without.predict_proba(to_pandas(ROWS))
    assert_allclose(named, unnamed)
    with_names.fit(ARRAYS["object"](ROWS), LABELS)
    assert not hasattr(with_names, "feature_names_in_")


def test_columns_named_by_numbers_have_no_names() -> None:
    numbered = pd.DataFrame(ROWS)
    model = paper_model().fit(numbered, LABELS)
    assert not hasattr(model, "feature_names_in_")
    assert_same_model(model, fitted(ARRAYS["object"]))
    assert_array_equal(model.predict(numbered), model.predict(ARRAYS["object"](ROWS)))


def test_columns_named_by_numbers_and_strings_are_refused() -> None:
    mixed = pd.DataFrame(ROWS, columns=["color", 1, 2])
    with pytest.raises(TypeError, match="all input features have string names"):
        paper_model().fit(mixed, LABELS)


@any_container
def test_the_data_is_not_changed(make: Make) -> None:
    X, y, weights = make(ROWS), list(LABELS), WEIGHTS.copy()
    before = pickle.dumps((X, y, weights))
    model = paper_model().fit(X, y, weights)
    model.partial_fit(X, y).unlearn(X, y)
    model.predict(X)
    model.score(X, y)
    assert pickle.dumps((X, y, weights)) == before


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [object, "U5", "i8", "f8"])
def test_readonly_and_fortran_arrays(dtype: Any, order: Any) -> None:
    codes = np.array(
        [[values.index(cell) for values, cell in zip(VALUES, row, strict=True)] for row in ROWS]
    )
    data = codes.astype(dtype) if dtype in {"i8", "f8"} else np.array(ROWS, dtype=dtype)
    X, y, weights = data.copy(order=order), np.array(LABELS), np.ones(60)
    for array in (X, y, weights):
        array.setflags(write=False)
    model = paper_model().fit(X, y, weights).partial_fit(X, y).unlearn(X, y)
    expected = paper_model().fit(data.tolist(), LABELS)
    assert_same_model(model, expected)
    assert_array_equal(model.predict_proba(X[::2]), model.predict_proba(X)[::2])


def test_a_view_with_strides_is_read_as_it_looks() -> None:
    wide = np.array(ROWS, dtype=object).repeat(2, axis=1)
    assert_same_model(paper_model().fit(wide[:, ::2], LABELS), fitted(ARRAYS["object"]))


# ---------------------------------------------------------------- labels


CODES = [("maybe", "no", "yes").index(label) for label in LABELS]
TARGETS: dict[str, tuple[Any, list[Any]]] = {
    "list of str": (LABELS, ["maybe", "no", "yes"]),
    "numpy U": (np.array(LABELS), ["maybe", "no", "yes"]),
    "numpy object": (np.array(LABELS, dtype=object), ["maybe", "no", "yes"]),
    "int64": (np.array(CODES), [0, 1, 2]),
    "int8": (np.array(CODES, dtype="i1"), [0, 1, 2]),
    "list of int": (CODES, [0, 1, 2]),
    "objects of int": (np.array(CODES, dtype=object), [0, 1, 2]),
    "negative int": (-np.array(CODES), [-2, -1, 0]),
    "bool": (np.array(CODES) > 0, [False, True]),
    "list of bool": ([code > 0 for code in CODES], [False, True]),
    "float": (np.array(CODES, dtype="f8"), [0.0, 1.0, 2.0]),
    "float32": (np.array(CODES, dtype="f4"), [0.0, 1.0, 2.0]),
    "dates": (
        np.datetime64("2024-01-01") + np.array(CODES),
        np.arange("2024-01-01", "2024-01-04", dtype="M8[D]").tolist(),
    ),
    "pandas str": (pd.Series(LABELS, index=range(60, 0, -1)), ["maybe", "no", "yes"]),
    "pandas object": (pd.Series(LABELS, dtype=object), ["maybe", "no", "yes"]),
    "pandas int": (pd.Series(CODES), [0, 1, 2]),
    "pandas Int64": (pd.Series(CODES, dtype="Int64"), [0, 1, 2]),
    "pandas Categorical": (pd.Categorical(LABELS), ["maybe", "no", "yes"]),
    "pandas category": (pd.Series(LABELS, dtype="category"), ["maybe", "no", "yes"]),
    "pandas category of int": (pd.Series(CODES, dtype="category"), [0, 1, 2]),
    "polars String": (pl.Series(LABELS), ["maybe", "no", "yes"]),
    "polars Categorical": (pl.Series(LABELS, dtype=pl.Categorical), ["maybe", "no", "yes"]),
    "polars Int8": (pl.Series(CODES, dtype=pl.Int8), [0, 1, 2]),
    "polars Boolean": (pl.Series(CODES) > 0, [False, True]),
    "pyarrow": (pa.array(LABELS), ["maybe", "no", "yes"]),
    "pyarrow int": (pa.array(CODES), [0, 1, 2]),
}


@pytest.mark.parametrize(("y", "classes"), TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_labels_come_back_as_they_are(y: Any, classes: list[Any], method: str) -> None:
    model = paper_model()
    getattr(model, method)(to_polars(ROWS), y)
    assert model.classes_.tolist() == classes
    predicted = model.predict(to_polars(ROWS))
    assert predicted.dtype == model.classes_.dtype
    assert {type(label) for label in predicted.tolist()} == {type(label) for label in classes}
    expected = np.asarray(y).dtype
    if isinstance(y, np.ndarray):
        assert predicted.dtype == expected
    assert predicted.dtype.kind == expected.kind or {predicted.dtype.kind, expected.kind} <= {*"OU"}
    assert model.corpus_["class"].unique().sort().to_list() == classes


def texts_of(labels: Any) -> list[str]:
    """Strings that sort as the labels do."""
    distinct = sorted(set(labels))
    return [f"class {distinct.index(label)}" for label in labels]


@pytest.mark.parametrize(("y", "classes"), TARGETS.values(), ids=TARGETS.keys())
def test_the_dtype_of_labels_changes_nothing_else(y: Any, classes: list[Any]) -> None:
    labels = np.asarray(y)
    model = paper_model().fit(to_polars(ROWS), y)
    texts = paper_model().fit(to_polars(ROWS), texts_of(labels))
    assert len(classes) == len(texts.classes_)
    assert_allclose(model.predict_proba(to_polars(ROWS)), texts.predict_proba(to_polars(ROWS)))
    assert np.mean(model.predict(to_polars(ROWS)) == labels) == texts.score(
        to_polars(ROWS), texts_of(labels)
    )


def test_distributions_as_labels() -> None:
    hard = fitted(to_polars)
    soft = paper_model().fit(to_polars(ROWS), [{label: 3} for label in LABELS])
    assert_same_model(soft, hard)
    halves = paper_model().fit(to_polars(ROWS), [{"a": 1, "b": 3}] * 60)
    assert_allclose(halves.class_mass_, [15, 45])
    assert halves.classes_.tolist() == ["a", "b"]


# ---------------------------------------------------------------- parameters after fitting


@any_container
def test_parameters_take_effect_without_refitting(make: Make) -> None:
    model = fitted(make)
    before, corpus = model.predict_proba(make(ROWS)), model.corpus_
    for params in (
        {"power": 2.0},
        {"balance": 0.0},
        {"entropy": 0.0},
        {"power": 0.1, "entropy": 3},
    ):
        model.set_params(**params)
        changed = model.predict_proba(make(ROWS))
        assert not np.allclose(changed, before)
        assert_array_equal(changed, fitted(make, **model.get_params()).predict_proba(make(ROWS)))
        model.set_params(power=0.5, balance=1.0, entropy=1.0)
        assert_array_equal(model.predict_proba(make(ROWS)), before)
    assert_frame_equal(model.corpus_, corpus, check_exact=True)


@any_container
def test_the_cached_weights_follow_what_is_learnt(make: Make) -> None:
    model = paper_model().fit(make(ROWS[:30]), LABELS[:30])
    half = model.predict_proba(make(ROWS))
    assert_array_equal(model.predict_proba(make(ROWS)), half)
    model.partial_fit(make(ROWS[30:]), LABELS[30:])
    assert_allclose(model.predict_proba(make(ROWS)), fitted(make).predict_proba(make(ROWS)))
    model.unlearn(make(ROWS[30:]), LABELS[30:])
    assert_allclose(model.predict_proba(make(ROWS)), half, rtol=1e-12)
    model.merge(paper_model().fit(make(ROWS[30:]), LABELS[30:]))
    assert_allclose(model.predict_proba(make(ROWS)), fitted(make).predict_proba(make(ROWS)))


def test_attributes_set_directly_take_effect_too() -> None:
    model = fitted(to_polars)
    model.predict(to_polars(ROWS))
    model.power = 2.0
    expected = fitted(to_polars, power=2.0).predict_proba(to_polars(ROWS))
    assert_array_equal(model.predict_proba(to_polars(ROWS)), expected)
