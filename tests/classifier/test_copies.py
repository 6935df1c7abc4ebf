"""Copies of an estimator: the same answers, the original untouched, nothing shared that changes."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from stc import PolicyAgent, SparseTensorClassifier, SparseTensorClassifierCV
from support.conformance import QUICK, SETTINGS, Setting, documents, table
from support.file_cases import assert_exact, exactly
from support.marking import slow_but
from support.models import paper_model

ESTIMATOR = "stc.classifier.SparseTensorClassifier"

# More kinds of models: what the settings of stores do not have.
COUNTS = sparse.random(40, 12, 0.4, format="csr", random_state=1)
KINDS = {
    **SETTINGS,
    "default phases": Setting({"phases": "learn", "entropy": 0.0}),
    "conjunctions of three": Setting({"interactions": 3, "max_features": 20}),
    "words": Setting({}, documents, target="class", text="body"),
    "a policy agent": Setting(
        {"dimensions": "each", "policy": PolicyAgent(priorities=("legs",), iterations=2)}
    ),
    "numbers by themselves": Setting({"continuous": ["legs"]}),
}

ANY_KIND = slow_but(KINDS, QUICK)


def by_joblib(model: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def by_oldest_pickle(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model, protocol=0))


DEEP: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "oldest pickle": by_oldest_pickle,
    "deepcopy": copy.deepcopy,
    "joblib": by_joblib,
}
COPIES = {**DEEP, "copy": copy.copy}


def fitted(name: str) -> tuple[SparseTensorClassifier, Any, Any]:
    """Return a model of a kind that has learnt with a batch id, its items and their classes."""
    setting = KINDS[name]
    frame = setting.data()
    X, y = setting.given(frame)
    model = setting.model().partial_fit(
        X, y, sample_weight=setting.weights(frame), batch_id="monday"
    )
    return model, X, y


class Kept:
    """Answers and state of a model, to be compared later; nothing in it is shared."""

    def __init__(self, model: Any, X: Any) -> None:
        self.model, self.X = model, X
        self.fields = dict(vars(model))
        self.parameters = repr(model.get_params())
        self.saved = copy.deepcopy(self._answers())

    def _answers(self) -> list[Any]:
        model = self.model
        asked = [getattr(model, name)(self.X) for name in ("predict_proba", "predict", "coverage")]
        table = model.explain_local(self.X).table
        return [*asked, table, model.corpus_, model.classes_, model.policy_, model.class_mass_]

    def assert_untouched(self) -> None:
        """Assert that the model has the same attributes, the very same objects, and answers."""
        now = vars(self.model)
        # The lock is created when it is first needed.
        assert now.keys() - {"_lock"} == self.fields.keys() - {"_lock"}
        for name, value in self.fields.items():
            assert now[name] is value, name
        assert repr(self.model.get_params()) == self.parameters
        # Weights that were computed before would hide counts that have changed.
        fresh = copy.copy(self)
        fresh.model = copy.copy(self.model)
        for one in (self, fresh):
            for before, after in zip(self.saved, one._answers(), strict=True):
                assert_equal(before, after)


def assert_equal(one: Any, other: Any) -> None:
    if isinstance(one, pl.DataFrame):
        assert one.equals(other, null_equal=True)
    else:
        exactly(one, other)


# --- the same answers -------------------------------------------------------------------------


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", ANY_KIND)
def test_a_copy_answers_bit_for_bit_the_same(name: str, how: str) -> None:
    model, X, _ = fitted(name)
    before = Kept(model, X)
    copied = COPIES[how](model)
    assert type(copied) is SparseTensorClassifier
    assert_exact(model, copied, X)
    assert repr(copied.get_params()) == repr(model.get_params())
    exactly(model.classes_, copied.classes_)
    assert_equal(model.explain_local(X).table, copied.explain_local(X).table)
    assert_equal(model.explain_global().table, copied.explain_global().table)
    assert model.to_sql("duckdb") == copied.to_sql("duckdb")
    before.assert_untouched()


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", ANY_KIND)
def test_a_copy_learns_on_and_the_original_does_not(name: str, how: str) -> None:
    setting = KINDS[name]
    frame = setting.data()
    model, X, y = fitted(name)
    weight = setting.weights(frame)
    before, copied = Kept(model, X), COPIES[how](model)
    copied.partial_fit(X, y, sample_weight=weight, batch_id="monday")  # known: not counted again
    assert_exact(model, copied, X)
    copied.partial_fit(X, y, sample_weight=weight, batch_id="tuesday")
    assert copied.class_mass_.sum() == 2 * model.class_mass_.sum()
    before.assert_untouched()
    # The other way round: what the original learns, the copy does not.
    after = Kept(copied, X)
    model.partial_fit(X, y, sample_weight=weight, batch_id="tuesday")
    after.assert_untouched()
    assert_exact(model, copied, X)
    copied.unlearn(X, y, sample_weight=weight, batch_id="tuesday")
    assert 2 * copied.class_mass_.sum() == pytest.approx(model.class_mass_.sum())


def test_a_copy_of_sparse_counts_and_of_an_indicator() -> None:
    y = np.eye(3, dtype=int)[np.arange(40) % 3] | np.eye(3, dtype=int)[np.arange(40) % 2]
    for labels in (np.arange(40) % 3, y, pl.DataFrame(y, schema=["a", "b", "c"])):
        model = paper_model().fit(COUNTS, labels)
        for copied in (made(model) for made in COPIES.values()):
            assert_exact(model, copied, COUNTS)


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_before_anything_was_learnt(how: str) -> None:
    copied = COPIES[how](paper_model(power=0.4, ordinal={"a": ["x", "y"]}))
    assert (copied.power, copied.ordinal) == (0.4, {"a": ["x", "y"]})
    with pytest.raises(NotFittedError):
        copied.predict([["x"]])
    assert copied.fit([{"a": "x"}, {"a": "y"}], [0, 1]).predict([{"a": "y"}]).tolist() == [1]


@pytest.mark.parametrize("name", ANY_KIND)
def test_a_clone_has_the_parameters_and_nothing_learnt(name: str) -> None:
    model, X, y = fitted(name)
    weight = KINDS[name].weights(KINDS[name].data())
    before, cloned = Kept(model, X), clone(model)
    assert repr(cloned.get_params()) == repr(model.get_params())
    assert not hasattr(cloned, "classes_")
    assert_exact(cloned.partial_fit(X, y, sample_weight=weight, batch_id="monday"), model, X)
    before.assert_untouched()


# --- nothing shared that can be changed -------------------------------------------------------


def arrays_of(value: Any, seen: set[int] | None = None) -> Iterator[np.ndarray[Any, Any]]:
    """Yield every array that can be reached from a value."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, (str, bytes, int, float, type, type(None))):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
        return
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = list(value)
    elif sparse.issparse(value):
        parts = [value.data, value.indices, value.indptr]
    elif hasattr(value, "__dict__"):
        parts = list(vars(value).values())
    for part in parts:
        yield from arrays_of(part, seen)


def spoil(array: np.ndarray[Any, Any]) -> None:
    """Write something else into each place of an array."""
    if array.flags.writeable and array.size:
        array[...] = (
            np.roll(array, 1) if array.dtype.kind in "OUSmM" else array + array.dtype.type(1)
        )


@pytest.mark.parametrize("how", DEEP)
@pytest.mark.parametrize("name", ANY_KIND)
def test_what_is_written_into_a_deep_copy_stays_there(name: str, how: str) -> None:
    model, X, _ = fitted(name)
    before, copied = Kept(model, X), DEEP[how](model)
    _ = copied.fitted_.cascade  # the weights are arrays, too
    found = list(arrays_of(copied))
    assert len(found) > 5
    for array in found:
        spoil(array)
    for mine in arrays_of(model):
        assert not any(np.shares_memory(mine, array) for array in found)
    index = copied.fitted_.model.vocabulary.index
    index.clear()
    copied.fitted_.model.corpora.clear()
    for parameter, value in copied.get_params(deep=False).items():
        if isinstance(value, dict):
            value.clear()
        elif isinstance(value, list):
            value.append("z")
        elif parameter == "phases" and hasattr(value, "set_params"):
            value.set_params(max_iter=1)
    before.assert_untouched()


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", ANY_KIND)
def test_what_an_estimator_returns_can_be_written_into(name: str, how: str) -> None:
    """Neither the model itself nor any copy of it, also a shallow one, is changed by it."""
    model, X, _ = fitted(name)
    copied = COPIES[how](model)
    kept = [Kept(model, X), Kept(copied, X)]
    for one in (model, copied):
        classes = one.classes_
        for array in classes if isinstance(classes, list) else [classes]:
            spoil(array)
        for array in (one.joint_classes_, one.class_mass_, one.get_feature_names_out()):
            spoil(array)
        if one.fitted_.model.schema.named:
            spoil(one.feature_names_in_)
        if one.fitted_.model.form.multilabel:
            spoil(one.label_threshold_)
        for subset in one.policy_:
            subset.append("z")
        answers = one.predict_proba(X)
        for array in answers if isinstance(answers, list) else [answers]:
            spoil(array)
    for each in kept:
        each.assert_untouched()


def test_classes_of_a_copy_are_its_own() -> None:
    model = paper_model().fit([["a"], ["b"]], ["x", "y"])
    for copied in (made(model) for made in COPIES.values()):
        copied.classes_[0] = "z"
        assert model.predict([["a"]]).tolist() == copied.predict([["a"]]).tolist() == ["x"]
        assert model.classes_.tolist() == copied.classes_.tolist() == ["x", "y"]
        copied.fitted_.classes[0] = "z"
        assert model.classes_.tolist() == copied.classes_.tolist() == ["x", "y"]


def test_parameters_of_a_copy_are_its_own() -> None:
    model, X, _ = fitted("plain")
    for copied in (made(model) for made in COPIES.values()):
        copied.set_params(power=1.0, entropy=0.0)
        assert (model.power, copied.power) == (0.5, 1.0)
        assert (model.predict_proba(X) != copied.predict_proba(X)).any()


# --- plain data -------------------------------------------------------------------------------


PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic)


def assert_plain(value: Any, place: str = "state") -> None:
    """Assert that a state has only containers, numbers, strings and arrays."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            assert type(key) is str, place
            assert_plain(item, f"{place}.{key}")
    elif kind in (list, tuple, set, frozenset):
        for number, item in enumerate(value):
            assert_plain(item, f"{place}[{number}]")
    elif kind is np.ndarray:
        if value.dtype.kind == "O":
            assert_plain(value.ravel().tolist(), f"{place}[]")
    elif kind is type:
        assert value in (list, tuple, set, frozenset), place
    else:
        assert isinstance(value, PLAIN), f"{place}: {kind}"


@pytest.mark.parametrize("name", ANY_KIND)
def test_the_pickled_state_is_plain_data(name: str) -> None:
    model, X, _ = fitted(name)
    model.predict(X)
    state = model.__getstate__()
    learners = state.get("_learners", {})
    assert {*state, *learners} == {*model.get_params(deep=False), "_fitted"} | (
        {"_learners"} if learners else set()
    )
    assert_plain(state)


class Only(pickle.Unpickler):
    """Loads a pickle of the estimator, NumPy and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        allowed = {("stc.classifier", "SparseTensorClassifier"), ("_codecs", "encode")}
        builtin = module == "builtins" and name in ("list", "tuple", "set", "frozenset")
        assert module.partition(".")[0] == "numpy" or builtin or (module, name) in allowed, name
        return super().find_class(module, name)


@pytest.mark.parametrize("name", ANY_KIND)
def test_a_pickle_refers_to_the_class_of_the_estimator_alone(name: str) -> None:
    model, X, _ = fitted(name)
    assert_exact(model, Only(io.BytesIO(pickle.dumps(model))).load(), X)


@pytest.mark.parametrize("name", ANY_KIND)
def test_skops_loads_a_model_trusting_the_class_of_the_estimator_alone(name: str) -> None:
    model, X, y = fitted(name)
    before, data = Kept(model, X), skops.io.dumps(model)
    assert skops.io.get_untrusted_types(data=data) == [ESTIMATOR]
    loaded = skops.io.loads(data, trusted=[ESTIMATOR])
    assert_exact(model, loaded, X)
    before.assert_untouched()
    frame = KINDS[name].data()
    loaded.partial_fit(X, y, sample_weight=KINDS[name].weights(frame))
    assert loaded.class_mass_.sum() == 2 * model.class_mass_.sum()


def test_skops_loads_models_of_counts_and_of_all_dtypes_of_labels() -> None:
    days = np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]")
    for labels in (
        [0, 1],
        [0.0, 1.0],
        [True, False],
        ["x", "yy"],
        days,
        np.int8([3, 4]),
        [b"a", b"b"],
        [date(2026, 1, 1), date(2026, 1, 2)],
        [datetime(2026, 1, 1, 12), datetime(2026, 1, 2)],
        [Decimal("1.50"), Decimal(2)],
    ):
        model = paper_model().fit(COUNTS[:2], labels)
        loaded = skops.io.loads(skops.io.dumps(model), trusted=[ESTIMATOR])
        assert loaded.classes_.dtype == model.classes_.dtype
        assert_exact(model, loaded, COUNTS)


# --- odd labels and parameters ----------------------------------------------------------------


class Colour(Enum):
    RED = 1
    BLUE = 2

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < other.value)


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


LABELS = {
    "fractions": [Fraction(1, 3), Fraction(2, 3)],
    "members of an Enum": [Colour.RED, Colour.BLUE],
    "members of an IntEnum": [Size.SMALL, Size.LARGE],
    "tuples": [("a",), ("b", "c")],
    "dates": [date(2026, 1, 1), date(2026, 1, 2)],
    "times": [datetime(2026, 1, 1, 12), datetime(2026, 1, 2, 12)],
    "datetime64": np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]"),
    "nanoseconds": np.array([1, 2], dtype="m8[ns]"),
    "decimals": [Decimal("0.10"), Decimal("0.2")],
    "bytes": [b"a", b"b"],
    "frozensets": [{"a"}, {"a", "b"}],
    "large integers": [2**70, 2**71],
    "strings of NumPy": np.array(["x", "yy"], dtype=np.dtypes.StringDType()),
    "two targets": np.array([["x", "y"], ["z", "y"]]),
    "two targets of two types": pl.DataFrame({"a": ["x", "y"], "b": [date(2026, 1, 1)] * 2}),
}


def labelled(labels: Any) -> SparseTensorClassifier:
    if isinstance(labels, list):
        array = np.empty(2, dtype=object)
        array[:] = labels
        labels = array if not isinstance(labels[0], set) else labels
    return paper_model().fit([["a"], ["b"]], labels)


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type_survive(kind: str, how: str) -> None:
    model = labelled(LABELS[kind])
    copied = COPIES[how](model)
    X = [["a"], ["b"], ["c"]]
    assert repr(copied.predict(X)) == repr(model.predict(X))
    assert repr(copied.classes_) == repr(model.classes_)
    exactly(model.predict_proba(X), copied.predict_proba(X))


@pytest.mark.parametrize("how", COPIES)
def test_a_parameter_that_is_not_valid_is_an_error_when_it_is_used(how: str) -> None:
    model, X, _ = fitted("plain")
    model.set_params(power=-1)
    copied = COPIES[how](model)
    for one in (model, copied):
        with pytest.raises(InvalidParameterError, match="The 'power' parameter"):
            one.predict(X)
        with pytest.raises(InvalidParameterError, match="The 'power' parameter"):
            one.partial_fit(X, ["p"] * len(X))
    assert_exact(model.set_params(power=0.5), copied.set_params(power=0.5), X)


@pytest.mark.parametrize("how", COPIES)
def test_a_parameter_that_contradicts_the_model_is_an_error_when_it_is_used(how: str) -> None:
    model, X, y = fitted("plain")
    copied = COPIES[how](model.set_params(interactions=2))
    with pytest.raises(ValueError, match="the model was learnt with interactions=1"):
        copied.partial_fit(X, y)
    assert_exact(model.set_params(interactions=1), copied.set_params(interactions=1), X)


def test_a_tokenizer_is_pickled_by_its_name() -> None:
    model = paper_model(tokenizer=str.split).fit(["a-b c", "d"], ["x", "y"])
    for copied in (made(model) for made in COPIES.values()):
        assert copied.predict(["a-b"]).tolist() == ["x"]


# --- other ways -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANY_KIND)
def test_arrays_that_are_mapped_from_a_file_are_not_written_to(name: str, tmp_path: Path) -> None:
    """joblib gives workers large arrays as memory maps, which are read-only."""
    model, X, y = fitted(name)
    joblib.dump(model, tmp_path / "zoo.joblib")
    content = (tmp_path / "zoo.joblib").read_bytes()
    loaded = joblib.load(tmp_path / "zoo.joblib", mmap_mode="r")
    assert any(isinstance(array, np.memmap) for array in arrays_of(loaded))
    assert_exact(model, loaded, X)
    weight = KINDS[name].weights(KINDS[name].data())
    for one in (model, loaded):
        one.partial_fit(X, y, sample_weight=weight)
        one.unlearn(X, y, sample_weight=weight)
    assert_exact(model, loaded, X)
    assert (tmp_path / "zoo.joblib").read_bytes() == content


def test_a_subclass_keeps_its_class_and_its_attributes() -> None:
    model = Subclass(power=0.4).fit([["a"], ["b"]], ["x", "y"])
    model.note = ["mine"]
    for name, made in COPIES.items():
        copied = made(model)
        assert (type(copied), copied.note, copied.power) == (Subclass, ["mine"], 0.4)
        assert (copied.note is model.note) == (name == "copy")
        assert copied.predict([["b"]]).tolist() == ["y"]


class Subclass(SparseTensorClassifier):
    note: Any


# --- the search -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def search() -> tuple[SparseTensorClassifierCV, Any, Any]:
    frame = table()
    X, y = frame.select("colour", "size", "legs"), frame["class"]
    return SparseTensorClassifierCV(interactions=2).fit(X, y), X, y


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_a_search(search: tuple[SparseTensorClassifierCV, Any, Any], how: str) -> None:
    model, X, y = search
    before, copied = Kept(model, X), COPIES[how](model)
    assert_exact(model, copied, X)
    assert repr(copied.best_params_) == repr(model.best_params_)
    assert copied.best_score_ == model.best_score_
    assert copied.cv_results_.keys() == model.cv_results_.keys()
    assert repr(copied.cv_results_["params"]) == repr(model.cv_results_["params"])
    exactly(copied.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])
    copied.classes_[0] = "z"
    before.assert_untouched()
    if how != "copy":  # a shallow copy has the same best estimator, as any search of scikit-learn
        for array in arrays_of(vars(copied)):
            spoil(array)
        copied = COPIES[how](model)
        copied.partial_fit(X, y)
        before.assert_untouched()
        assert copied.class_mass_.sum() == 2 * model.class_mass_.sum()


def test_a_clone_of_a_search(search: tuple[SparseTensorClassifierCV, Any, Any]) -> None:
    model, X, _ = search
    before, cloned = Kept(model, X), clone(model)
    assert cloned.get_params() == model.get_params()
    assert not hasattr(cloned, "best_estimator_")
    before.assert_untouched()
