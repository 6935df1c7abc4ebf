"""What bad input gets: a clear message, and the model as it was before the call."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from stc import SparseTensorClassifier

NAN, INF = float("nan"), float("inf")
EITHER = (ValueError, TypeError)
Errors = type[Exception] | tuple[type[Exception], ...]

LABELS = ["p", "q", "p"]
# Good data of each kind: three items, of which tests spoil the last (number 2).
GOOD: dict[str, Any] = {
    "frame": pl.DataFrame({"color": ["red", "blue", "red"], "size": ["big", "small", "small"]}),
    "structs": pl.DataFrame({"color": ["red", "blue", "red"], "tags": [{"a": 1.0, "b": 2.0}] * 3}),
    "records": [
        {"color": "red", "tags": {"a": 1, "b": 2}},
        {"color": "blue", "tags": ["a", "b"]},
        {"color": "red", "tags": "b"},
    ],
    "array": np.array([["red", "big"], ["blue", "small"], ["red", "small"]], dtype=object),
    "documents": ["red big", "blue small", "red small"],
    "sparse": sp.csr_array([[1.0, 0, 2], [0, 1, 0], [1, 1, 0]]),
}
any_kind = pytest.mark.parametrize("kind", GOOD)


def fitted(kind: str, **params: Any) -> SparseTensorClassifier:
    """A model that knows the good data."""
    return SparseTensorClassifier(**params).fit(GOOD[kind], LABELS)


def state(model: SparseTensorClassifier, probe: Any) -> Any:
    """All that can be seen of a model, comparable by ==."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return sorted(name for name in vars(model) if name.endswith("_"))
    return (
        model.corpus_.rows(),
        model.classes_.tolist(),
        model.class_mass_.tolist(),
        model.n_features_in_,
        model.get_feature_names_out().tolist(),
        model.predict_proba(probe).tolist(),
        model.get_params(),
    )


@contextmanager
def refused(model: SparseTensorClassifier, kind: str, error: Errors, *words: str) -> Iterator[None]:
    """The block raises ``error``, whose message has all the words, and changes nothing."""
    before = state(model, GOOD[kind])
    with pytest.raises(error) as caught:
        yield
    for word in words:
        assert re.search(word, str(caught.value)), f"no {word!r} in: {caught.value}"
    assert state(model, GOOD[kind]) == before


@dataclass(frozen=True)
class Bad:
    """One bad call of a method that learns; what is not given is good."""

    kind: str
    words: tuple[str, ...] = ()
    X: Any = None
    y: Any = None
    weight: Any = None
    error: Errors = ValueError

    def call(self, model: SparseTensorClassifier, method: str) -> None:
        """Learn from it, or unlearn it."""
        X = GOOD[self.kind] if self.X is None else self.X
        y = LABELS if self.y is None else self.y
        getattr(model, method)(X, y, sample_weight=self.weight)


ITEM = r"\b2\b"


def spoilt_sparse(weight: float, layout: str = "csr") -> Any:
    """The good sparse data with a bad weight in column x1 of item 2."""
    dense = GOOD["sparse"].toarray()
    dense[2, 1] = weight
    return sp.coo_array(dense).asformat(layout)


def spoilt_weights(weight: Any) -> dict[str, Bad]:
    """A bad weight, everywhere a weight may be."""
    cell = {"a": 1.0, "b": weight}
    colors = ["red", "blue", "red"]
    cells = [{"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0}, cell]
    named = ("tags", ITEM)
    return {
        f"weight {weight} in {where}": bad
        for where, bad in {
            "records": Bad(
                "records", named, [*GOOD["records"][:2], {"color": "red", "tags": cell}]
            ),
            "polars": Bad("structs", named, pl.DataFrame({"color": colors, "tags": cells})),
            "pandas": Bad("structs", named, pd.DataFrame({"color": colors, "tags": cells})),
            "pyarrow": Bad("structs", named, pa.table({"color": colors, "tags": cells})),
            "array": Bad("array", ("x1", ITEM), [*GOOD["array"][:2].tolist(), ["red", cell]]),
            "csr": Bad("sparse", (r"\bx?1\b", ITEM), spoilt_sparse(weight)),
            "csc": Bad("sparse", (r"\bx?1\b", ITEM), spoilt_sparse(weight, "csc")),
            "coo": Bad("sparse", (r"\bx?1\b", ITEM), spoilt_sparse(weight, "coo")),
            "sample_weight": Bad("frame", ("sample_weight", ITEM), weight=[1, 1, weight]),
            "y": Bad("frame", ("y", ITEM), y=[{"p": 1}, {"q": 1}, {"p": 1, "q": weight}]),
        }.items()
    }


WEIGHTS = {name: bad for w in (-7.0, NAN, INF, -INF) for name, bad in spoilt_weights(w).items()}
MORE_WEIGHTS = {
    "text as a weight": Bad(
        "records", ("tags", ITEM), [*GOOD["records"][:2], {"tags": {"a": "heavy"}}], error=EITHER
    ),
    "text as sample_weight": Bad("frame", weight=["1", "1", "heavy"], error=EITHER),
    "all sample weights zero": Bad("frame", ("zero",), weight=[0, 0, 0]),
    "all sample weights zero, documents": Bad("documents", ("zero",), weight=np.zeros(3)),
    "two weights an item": Bad(
        "frame", ("sample_weight|[Ss]ample weights",), weight=np.ones((3, 2))
    ),
}
EMPTY = {
    "no records": Bad("records", X=[], y=[]),
    "no rows in polars": Bad("frame", X=GOOD["frame"][:0], y=[]),
    "no rows in pandas": Bad("frame", X=pd.DataFrame({"color": [], "size": []}), y=[]),
    "no rows in an array": Bad("array", X=np.empty((0, 2), dtype=object), y=[]),
    "no rows in a sparse array": Bad("sparse", X=sp.csr_array((0, 3)), y=[]),
    "no documents": Bad("documents", X=np.array([], dtype=str), y=[]),
    "no columns in an array": Bad("array", X=np.empty((3, 0), dtype=object)),
    "no columns in pandas": Bad("frame", X=pd.DataFrame(index=range(3))),
}
LENGTHS = {
    f"{kind}, {n} labels": Bad(kind, (r"\b3\b", rf"\b{n}\b"), y=["p"] * n)
    for kind in GOOD
    for n in (2, 4)
} | {f"{n} sample weights": Bad("frame", (r"\b3\b", rf"\b{n}\b"), weight=[1] * n) for n in (2, 4)}
Y_ITEM = (r"\b[yY]\b", ITEM)
NO_LABEL = {
    "None": ["p", "q", None],
    "NaN among texts": ["p", "q", NAN],
    "NaN": [0.0, 1.0, NAN],
    "NaN in an array": np.array([0.0, 1.0, NAN]),
    "None in an object array": np.array(["p", "q", None], dtype=object),
    "NaT": np.array(["2024-01-02", "2024-01-03", "NaT"], dtype="M8[D]"),
    "pandas NA": pd.Series(["p", "q", pd.NA], dtype="string"),
    "pandas NaN": pd.Series(["p", "q", None]),
    "pandas category": pd.Series(["p", "q", None], dtype="category"),
    "pandas Int64": pd.Series([0, 1, None], dtype="Int64"),
    "polars null": pl.Series(["p", "q", None]),
    "polars NaN": pl.Series([0.0, 1.0, NAN]),
    "pyarrow null": pa.array(["p", "q", None]),
    "no weight at all": [{"p": 1}, {"q": 1}, {}],
    "only zeros": [{"p": 1}, {"q": 1}, {"p": 0, "q": 0}],
    "weight of a missing class": [{"p": 1}, {"q": 1}, {None: 1}],
}
LABELLESS = {f"label: {name}": Bad("frame", Y_ITEM, y=y) for name, y in NO_LABEL.items()}
TARGETS = {
    "y of three dimensions": Bad("frame", y=np.zeros((3, 2, 2))),
    "y of measurements": Bad("frame", ("label",), y=[0.5, 1.25, 2.125]),
    "y of infinities": Bad("frame", y=[0.0, 1.0, INF]),
    "y of texts and numbers": Bad("frame", y=["p", 1, "q"], error=EITHER),
    "y of labels and distributions": Bad(
        "frame", (r"\b[02]\b",), y=["p", "q", {"p": 1}], error=EITHER
    ),
    "y of distributions and labels": Bad(
        "frame", (ITEM,), y=[{"p": 1}, {"q": 1}, "p"], error=EITHER
    ),
    "y of texts as weights": Bad(
        "frame", (ITEM,), y=[{"p": 1}, {"q": 1}, {"p": "much"}], error=EITHER
    ),
    "a single label": Bad("frame", y="pqp", error=EITHER),
}


class Opaque:
    """Nothing that could be a category."""


KINDS = {
    "numbers in 1-D": Bad("array", ("Reshape your data",), np.arange(3)),
    "numbers in a list": Bad("array", ("Reshape your data",), [1, 2, 3]),
    "numbers in a Series": Bad("array", X=pd.Series([1.5, 2.5, 3.5]), error=EITHER),
    "one string": Bad("documents", X="red", error=EITHER),
    "one record": Bad("records", X={"color": "red"}, error=EITHER),
    "a number": Bad("array", X=5, error=EITHER),
    "three dimensions": Bad("array", X=np.ones((3, 2, 2)), error=EITHER),
    "complex numbers": Bad("array", ("[Cc]omplex",), np.ones((3, 2)) * 1j),
    "a ragged list": Bad("array", X=[["red", "big"], ["blue", "small"], ["red"]]),
    "a number among documents": Bad("documents", (ITEM,), ["red", "blue", 5], error=EITHER),
    "a text among records": Bad("records", (ITEM,), [*GOOD["records"][:2], "red"], error=EITHER),
    "a record among texts": Bad("documents", (ITEM,), ["red", "blue", {"a": "b"}], error=EITHER),
    "an opaque cell in records": Bad(
        "records", ("color",), [*GOOD["records"][:2], {"color": Opaque()}], error=EITHER
    ),
    "an opaque cell in an array": Bad(
        "array", ("x1",), [["red", "big"], ["blue", "small"], ["red", Opaque()]], error=EITHER
    ),
    "bytes that are not text": Bad(
        "records", ("color",), [*GOOD["records"][:2], {"color": b"\xff"}]
    ),
    "two columns of one name": Bad(
        "frame", ("color",), pd.DataFrame([["red", "big"]] * 3, columns=["color", "color"])
    ),
}
# Half a surrogate pair has no UTF-8: no corpus could be written down with it in.
HALVES = {
    "half a character": Bad("records", ("color",), [*GOOD["records"][:2], {"color": "\ud800"}]),
    "half a character in a document": Bad("documents", X=["red", "blue", "\ud800"]),
}
BAD = WEIGHTS | MORE_WEIGHTS | EMPTY | LENGTHS | LABELLESS | TARGETS | KINDS | HALVES
any_bad = pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())


@any_bad
@pytest.mark.parametrize("method", ["fit", "partial_fit", "unlearn"])
def test_a_fitted_model_refuses_to_learn(bad: Bad, method: str) -> None:
    model = fitted(bad.kind)
    with refused(model, bad.kind, bad.error, *bad.words):
        bad.call(model, method)


@any_bad
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_empty_model_refuses_to_learn_and_stays_empty(bad: Bad, method: str) -> None:
    model = SparseTensorClassifier()
    with refused(model, bad.kind, bad.error, *bad.words):
        bad.call(model, method)
    with pytest.raises(NotFittedError):
        model.predict(GOOD[bad.kind])


@any_kind
def test_the_good_data_of_these_tests_is_good(kind: str) -> None:
    model = fitted(kind)
    before = model.corpus_.rows()
    model.partial_fit(GOOD[kind], LABELS).unlearn(GOOD[kind], LABELS)
    assert model.corpus_.select("attribute", "value", "class", "support").rows() == [
        (*row[:3], row[4]) for row in before
    ]


# Many items take other ways through the code than few; the last of 300 is bad here.
TAGS: list[Any] = [{"a": 1.0, "b": 2.0}] * 299
MANY_RECORDS = [{"tags": cell} for cell in TAGS]
MANY_LABELS = ["p", "q", "p"] * 100
LAST = r"\b299\b"
MANY: dict[str, tuple[Any, Any, Any, tuple[str, ...]]] = {
    "weight in records": ([*MANY_RECORDS, {"tags": {"a": -7.0}}], None, None, ("tags", LAST)),
    "weight in polars": (
        pl.DataFrame({"tags": [*TAGS, {"a": NAN, "b": 1.0}]}),
        None,
        None,
        ("tags", LAST),
    ),
    "weight in sparse": (
        sp.csr_array([*[[1.0, 0]] * 299, [1.0, -7]]),
        None,
        None,
        (r"\bx?1\b", LAST),
    ),
    "opaque": ([*MANY_RECORDS, {"tags": Opaque()}], None, None, ("tags",)),
    "no record": ([*MANY_RECORDS, "a"], None, None, (LAST,)),
    "ragged": ([*[["a", "b"]] * 299, ["a"]], None, None, (LAST,)),
    "no document": ([*["a b"] * 299, 5], None, None, (LAST,)),
    "no label": (["a b"] * 300, [*MANY_LABELS[:-1], None], None, ("y", LAST)),
    "weight of a class": (["a b"] * 300, [*[{"p": 1}] * 299, {"p": -7}], None, ("y", LAST)),
    "sample_weight": (["a b"] * 300, None, [*[1.0] * 299, -7], ("sample_weight", LAST)),
}


@pytest.mark.parametrize(("X", "y", "weight", "words"), MANY.values(), ids=MANY.keys())
def test_the_last_of_many_items_is_named(
    X: Any, y: Any, weight: Any, words: tuple[str, ...]
) -> None:
    model = SparseTensorClassifier()
    with refused(model, "documents", EITHER, *words):
        model.fit(X, y or MANY_LABELS, sample_weight=weight)


# ---------------------------------------------------------------- prediction

PREDICTORS = ["predict", "predict_proba", "predict_log_proba", "coverage"]
any_predictor = pytest.mark.parametrize("method", PREDICTORS)
BAD_X = {
    name: bad for name, bad in (WEIGHTS | MORE_WEIGHTS | EMPTY | KINDS).items() if bad.X is not None
}


@any_predictor
@pytest.mark.parametrize("bad", BAD_X.values(), ids=BAD_X.keys())
def test_prediction_refuses_bad_items(bad: Bad, method: str) -> None:
    model = fitted(bad.kind)
    with refused(model, bad.kind, bad.error, *bad.words):
        getattr(model, method)(bad.X)


@any_predictor
@any_kind
def test_prediction_before_fitting(kind: str, method: str) -> None:
    model = SparseTensorClassifier()
    with refused(model, kind, NotFittedError, "SparseTensorClassifier"):
        getattr(model, method)(GOOD[kind])


def test_nothing_to_see_before_fitting() -> None:
    model = SparseTensorClassifier()
    with refused(model, "frame", NotFittedError):
        model.score(GOOD["frame"], LABELS)
    with refused(model, "frame", NotFittedError):
        model.unlearn(GOOD["frame"], LABELS)
    with refused(model, "frame", NotFittedError):
        model.get_feature_names_out()
    assert not hasattr(model, "corpus_")
    assert not hasattr(model, "classes_")


# ---------------------------------------------------------------- columns

COLUMNS: dict[str, tuple[str, Any, tuple[str, ...]]] = {
    "one more": (
        "frame",
        GOOD["frame"].with_columns(weight=pl.lit("heavy")),
        ("Feature names unseen at fit time", "weight"),
    ),
    "one less": (
        "frame",
        GOOD["frame"].select("color"),
        ("Feature names seen at fit time, yet now missing", "size"),
    ),
    "renamed": (
        "frame",
        GOOD["frame"].rename({"size": "extent"}),
        ("unseen at fit time", "extent", "now missing", "size"),
    ),
    "another order": ("frame", GOOD["frame"].select("size", "color"), ("same order",)),
    "one more in pandas": (
        "frame",
        pd.DataFrame(GOOD["frame"].to_dict(as_series=False) | {"weight": 1}),
        ("Feature names unseen at fit time", "weight"),
    ),
    "one less in pyarrow": (
        "frame",
        pa.table({"color": ["red"] * 3}),
        ("yet now missing", "size"),
    ),
    "one more in an array": (
        "array",
        np.full((3, 3), "red", dtype=object),
        ("X has 3 features, but SparseTensorClassifier is expecting 2 features",),
    ),
    "one less in a list": (
        "array",
        [["red"]] * 3,
        ("X has 1 features, but SparseTensorClassifier is expecting 2 features",),
    ),
    "one less in a sparse array": (
        "sparse",
        GOOD["sparse"][:, :2],
        ("X has 2 features, but SparseTensorClassifier is expecting 3 features",),
    ),
}
any_columns = pytest.mark.parametrize(("kind", "X", "words"), COLUMNS.values(), ids=COLUMNS.keys())


@any_columns
@any_predictor
def test_prediction_refuses_other_columns(
    kind: str, X: Any, words: tuple[str, ...], method: str
) -> None:
    model = fitted(kind)
    with refused(model, kind, ValueError, *words):
        getattr(model, method)(X)


@any_columns
@pytest.mark.parametrize("method", ["partial_fit", "unlearn", "score"])
def test_learning_refuses_other_columns(
    kind: str, X: Any, words: tuple[str, ...], method: str
) -> None:
    model = fitted(kind)
    with refused(model, kind, ValueError, *words):
        getattr(model, method)(X, LABELS)


@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_records_bring_no_new_attribute_to_a_model_of_a_frame(method: str) -> None:
    model = fitted("frame")
    with refused(model, "frame", ValueError, "weight"):
        getattr(model, method)([{"color": "red"}, {"color": "red", "weight": 1}], ["p", "p"])


def test_records_bring_no_new_attribute_when_missing_is_a_category() -> None:
    model = fitted("records", missing="category")
    with refused(model, "records", ValueError, "weight"):
        model.partial_fit([{"color": "red"}, {"color": "red", "weight": 1}], ["p", "p"])


OTHER_KINDS = [
    (one, other)
    for one in ("frame", "array", "records", "documents", "sparse")
    for other in ("frame", "array", "records", "documents", "sparse")
    if other != one and {one, other} - {"frame", "array", "records"}
]
other_kinds = pytest.mark.parametrize(("kind", "other"), OTHER_KINDS)


@other_kinds
@pytest.mark.parametrize("method", ["predict", "coverage", "partial_fit", "unlearn"])
def test_a_model_refuses_another_kind_of_data(kind: str, other: str, method: str) -> None:
    model = fitted(kind)
    labels = [LABELS] if method in {"partial_fit", "unlearn"} else []
    with refused(model, kind, ValueError):
        getattr(model, method)(GOOD[other], *labels)


# ---------------------------------------------------------------- parameters

HYPER = [
    *((name, value) for name in ("power", "balance", "entropy") for value in (-0.1, NAN, "much")),
    ("power", 0),
    ("power", 0.0),
    ("power", None),
]
OTHER_PARAMS = [
    *(("missing", value) for value in ("drop", None)),
    *(("tokenizer", value) for value in ("words", 3)),
    *(("interactions", value) for value in (0, -1, 1.5, "two", None)),
    *(("min_support", value) for value in (0, -1, 0.5, None)),
    *(("max_features", value) for value in (-1, 0.5, "all")),
    *(("ngrams", value) for value in (0, -1, 1.5, None, (1, 2))),
    *(("continuous", value) for value in ("age", 3, True)),
    *(("ordinal", value) for value in ("auto", ["small", "big"], 3)),
    *(("phases", value) for value in ("guess", 3)),
]


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("name", "value"), [*HYPER, *OTHER_PARAMS])
def test_bad_parameters_are_refused_when_learning(name: str, value: Any, method: str) -> None:
    model = SparseTensorClassifier(**{name: value})
    with refused(model, "documents", ValueError, f"'{name}' parameter of SparseTensorClassifier"):
        getattr(model, method)(GOOD["documents"], LABELS)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize(("name", "value"), HYPER)
def test_bad_parameters_are_refused_at_prediction(name: str, value: Any, method: str) -> None:
    model = fitted("frame")
    before = state(model, GOOD["frame"])
    good = model.get_params()[name]
    model.set_params(**{name: value})
    with pytest.raises(ValueError, match=f"'{name}' parameter of SparseTensorClassifier"):
        getattr(model, method)(GOOD["frame"])
    assert state(model.set_params(**{name: good}), GOOD["frame"]) == before


# What asks for something that the data does not have.
MISFITS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    f"{name} of {kind}": (kind, params, words)
    for name, params, words, kinds in (
        ("conjunctions", {"interactions": 2}, ("interactions=2",), ("documents", "sparse")),
        ("numbers", {"continuous": ["size"]}, ("continuous",), ("documents", "sparse")),
        ("order", {"ordinal": {"size": ["big"]}}, ("ordinal",), ("documents", "sparse")),
        ("rows", {"ngrams": 2}, ("ngrams=2", "documents"), ("frame", "records", "array", "sparse")),
        ("unknown numbers", {"continuous": ["age"]}, ("'age'", "color"), ("frame", "records")),
        ("unknown order", {"ordinal": {"age": ["1"]}}, ("'age'", "color"), ("frame", "records")),
        ("unnamed numbers", {"continuous": ["size"]}, ("'size'", "x0"), ("array",)),
        ("words as numbers", {"continuous": ["color"]}, ("'color'", "'red'"), ("frame", "records")),
        ("half an order", {"ordinal": {"color": ["red"]}}, ("'color'", "'blue'", "1"), ("frame",)),
        (
            "conjunctions in a tensor",
            {"interactions": 2, "dimensions": "each"},
            ("interactions=2", "dimensions=None"),
            ("frame", "records", "array"),
        ),
        (
            "too many conjunctions",
            {"interactions": 2, "max_tuples": 5},
            ("interactions=2", r"\b(9|13) entries", "max_tuples=5"),
            ("frame", "records"),
        ),
    )
    for kind in kinds
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("kind", "params", "words"), MISFITS.values(), ids=MISFITS.keys())
def test_parameters_that_do_not_fit_the_data(
    kind: str, params: dict[str, Any], words: tuple[str, ...], method: str
) -> None:
    empty = SparseTensorClassifier(**params)
    with refused(empty, kind, ValueError, *words):
        getattr(empty, method)(GOOD[kind], LABELS)
    with pytest.raises(NotFittedError):
        empty.predict(GOOD[kind])


@pytest.mark.parametrize(("kind", "params", "words"), MISFITS.values(), ids=MISFITS.keys())
def test_a_model_survives_parameters_that_do_not_fit(
    kind: str, params: dict[str, Any], words: tuple[str, ...]
) -> None:
    model = fitted(kind)
    before = state(model, GOOD[kind])[:-1]
    model.set_params(**{name: value for name, value in params.items() if name != "dimensions"})
    assert state(model, GOOD[kind])[:-1] == before
    model.set_params(**params)
    with pytest.raises(ValueError, match=words[0]):
        model.fit(GOOD[kind], LABELS)
    model.set_params(**{name: SparseTensorClassifier().get_params()[name] for name in params})
    assert state(model, GOOD[kind])[:-1] == before


CHANGED = [
    ("frame", {"interactions": 2}),
    ("records", {"interactions": 3}),
    ("documents", {"ngrams": 2}),
]


@pytest.mark.parametrize(("kind", "params"), CHANGED)
def test_a_model_does_not_go_on_with_other_features(kind: str, params: dict[str, Any]) -> None:
    model = fitted(kind).set_params(**params)
    ((name, value),) = params.items()
    with refused(model, kind, ValueError, f"{name}=1", f"{name}={value}", "fit again"):
        model.partial_fit(GOOD[kind], LABELS)
    model.set_params(**{name: 1}).partial_fit(GOOD[kind], LABELS)


FEATURES = {kind: {"interactions": 2} for kind in ("frame", "structs", "records", "array")}
FEATURES["documents"] = {"ngrams": 2}
BAD_OF_FEATURES = {name: bad for name, bad in BAD.items() if bad.kind in FEATURES}


@pytest.mark.parametrize("bad", BAD_OF_FEATURES.values(), ids=BAD_OF_FEATURES.keys())
@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_a_model_of_conjunctions_refuses_to_learn(bad: Bad, method: str) -> None:
    model = fitted(bad.kind, **FEATURES[bad.kind])
    with refused(model, bad.kind, bad.error, *bad.words):
        bad.call(model, method)


# ---------------------------------------------------------------- unlearning

FRAME = GOOD["frame"]
TWICE = pl.concat([FRAME, FRAME])
NEVER: dict[str, tuple[str, Any, list[str], Any, str]] = {
    "a value": ("frame", [["red", "huge"]], ["p"], None, r"huge|size|\b0\b"),
    "a class": ("frame", [["red", "big"]], ["z"], None, r"\bz\b|\b0\b"),
    "a value of another class": ("frame", [["blue", "small"]], ["p"], None, r"blue|color|\b0\b"),
    "the same twice": ("frame", TWICE.rows(), LABELS * 2, None, r"color|size|\b[0-5]\b"),
    "with more weight": ("frame", FRAME.rows(), LABELS, [1, 1, 7], r"color|size|\b2\b"),
    "with less weight": ("frame", FRAME.rows(), LABELS, [1, 0.5, 1], r"color|size|\b1\b"),
    "more items of a class": ("frame", [[None, None]] * 3, ["p"] * 3, None, r"\bp\b|\b[0-2]\b"),
    "a value after good ones": (
        "frame",
        [*FRAME.rows(), ("red", "huge")],
        [*LABELS, "p"],
        None,
        r"huge|size|\b3\b",
    ),
    "a value of a record": ("records", [{"color": "green"}], ["p"], None, r"green|color|\b0\b"),
    "an attribute": ("records", [{"smell": "red"}], ["p"], None, r"smell|\b0\b"),
    "other weights": ("records", [{"tags": {"a": 2, "b": 1}}], ["p"], None, r"tags|\b0\b"),
    "a word": ("documents", ["red green"], ["p"], None, r"green|\b0\b"),
    "a word once more": ("documents", ["red red big"], ["p"], None, r"red|big|\b0\b"),
    "a column": ("sparse", sp.csr_array([[0.0, 0, 5]]), ["q"], None, r"x2|\b0\b"),
}


def in_kind(kind: str, X: Any) -> Any:
    """Rows become a frame where the model was learnt from one."""
    if kind != "frame":
        return X
    return pl.DataFrame(X, schema=dict.fromkeys(FRAME.columns, pl.String), orient="row")


@pytest.mark.parametrize(("kind", "X", "y", "weight", "word"), NEVER.values(), ids=NEVER.keys())
def test_what_was_never_learnt_cannot_be_unlearnt(
    kind: str, X: Any, y: list[str], weight: Any, word: str
) -> None:
    model = fitted(kind)
    with refused(model, kind, ValueError, word):
        model.unlearn(in_kind(kind, X), y, sample_weight=weight)


def test_unlearning_all_and_then_more() -> None:
    model = fitted("frame").unlearn(FRAME, LABELS)
    with pytest.raises(ValueError, match=r"\S"):
        model.unlearn(FRAME, LABELS)
    model.partial_fit(FRAME, LABELS)
    assert model.corpus_.equals(fitted("frame").corpus_)


# ---------------------------------------------------------------- merging


def other_frame(X: Any, **params: Any) -> SparseTensorClassifier:
    """A model of other data."""
    return SparseTensorClassifier(**params).fit(X, LABELS)


DISAGREE: dict[str, tuple[str, dict[str, Any], Callable[[], Any], Errors, str]] = {
    "other attributes": (
        "frame",
        {},
        lambda: other_frame(FRAME.rename({"size": "extent"})),
        ValueError,
        "size|extent",
    ),
    "one attribute more": (
        "frame",
        {},
        lambda: other_frame(FRAME.with_columns(weight=1)),
        ValueError,
        "weight",
    ),
    "one attribute less": (
        "frame",
        {},
        lambda: other_frame(FRAME.select("color")),
        ValueError,
        "size",
    ),
    "array of another width": (
        "array",
        {},
        lambda: other_frame(np.full((3, 3), "red", dtype=object)),
        ValueError,
        "x2|3",
    ),
    "sparse of another width": (
        "sparse",
        {},
        lambda: other_frame(GOOD["sparse"][:, :2]),
        ValueError,
        "2",
    ),
    "another missing": (
        "frame",
        {},
        lambda: fitted("frame", missing="category"),
        ValueError,
        "missing",
    ),
    "new attributes where missing is a category": (
        "records",
        {"missing": "category"},
        lambda: other_frame([{"color": "red", "weight": 1}] * 3, missing="category"),
        ValueError,
        "weight|tags",
    ),
    "other conjunctions": (
        "frame",
        {"interactions": 2},
        lambda: fitted("frame"),
        ValueError,
        "interactions",
    ),
    "other words in a row": (
        "documents",
        {"ngrams": 2},
        lambda: fitted("documents"),
        ValueError,
        "ngrams",
    ),
    "another order": (
        "frame",
        {"ordinal": {"size": ["small", "big"]}},
        lambda: fitted("frame", ordinal={"size": ["big", "small"]}),
        ValueError,
        "'size'.*order",
    ),
    "not a model": ("frame", {}, lambda: 3, TypeError, ""),
    "its parameters": ("frame", {}, lambda: {"power": 1}, TypeError, ""),
    "nothing": ("frame", {}, lambda: None, TypeError, ""),
} | {
    f"{kind} and {other}": (kind, {}, lambda other=other: fitted(other), ValueError, "")
    for kind, other in OTHER_KINDS
}
disagreeing = pytest.mark.parametrize(
    ("kind", "params", "make", "error", "word"), DISAGREE.values(), ids=DISAGREE.keys()
)


@disagreeing
def test_models_that_disagree_are_not_merged(
    kind: str, params: dict[str, Any], make: Callable[[], Any], error: Errors, word: str
) -> None:
    model, other = fitted(kind, **params), make()
    theirs = other.corpus_.rows() if isinstance(other, SparseTensorClassifier) else None
    with refused(model, kind, error, word):
        model.merge(other)
    with refused(model, kind, error, word):
        model + other
    if theirs is not None:
        assert other.corpus_.rows() == theirs


def test_an_empty_model_cannot_be_merged_into_another() -> None:
    model, other = fitted("frame"), SparseTensorClassifier()
    with refused(model, "frame", NotFittedError):
        model.merge(other)
    assert not hasattr(other, "classes_")


@pytest.mark.parametrize("labels", [[0, 1, 0], [True, False, True]])
def test_labels_of_another_type_are_refused(labels: list[Any]) -> None:
    model = fitted("frame")
    with refused(model, "frame", EITHER):
        model.partial_fit(FRAME, labels)
    with refused(model, "frame", EITHER):
        model.merge(SparseTensorClassifier().fit(FRAME, labels))


# ---------------------------------------------------------------- interruptions


class Stumbling:
    """A tokenizer that stumbles over one word."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def __call__(self, text: str) -> Any:
        if "stone" not in text:
            return text.split()
        if self.error:
            raise self.error
        return None


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("error", [RuntimeError("tripped"), KeyboardInterrupt(), MemoryError()])
def test_an_interrupted_call_learns_nothing(error: BaseException, method: str) -> None:
    documents = ["red big", "blue small", "red stone"]
    for model in (SparseTensorClassifier(), fitted("documents")):
        model.set_params(tokenizer=Stumbling(error))
        before = state(model, GOOD["documents"])
        with pytest.raises(type(error)):
            getattr(model, method)(documents, LABELS)
        assert state(model, GOOD["documents"]) == before


def test_a_tokenizer_must_give_tokens() -> None:
    model = fitted("documents").set_params(tokenizer=Stumbling(None))
    with refused(model, "documents", EITHER, ITEM):
        model.partial_fit(["red big", "blue small", "red stone"], LABELS)
