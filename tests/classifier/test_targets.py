"""Several targets: the joint distribution is that of one target whose classes are tuples."""

import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from polars.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from stc import NeverLearntError, SparseTensorClassifier

Rows: TypeAlias = list[tuple[Any, ...]]
Soft: TypeAlias = list[dict[str, float]]

N = 48
EITHER = (ValueError, TypeError)


def sample(seed: int = 0, n: int = N) -> tuple[pl.DataFrame, Rows]:
    """Items with gaps, and three targets of different types that depend on them."""
    rng = np.random.default_rng(seed)
    colors = rng.choice(["red", "green", "blue"], n).tolist()
    sizes = rng.choice(["big", "small"], n).tolist()
    extra = rng.choice(["u", "v", "w"], n).tolist()
    gaps = rng.random(n) < 0.15
    y = [
        (
            "hot" if c == "red" or rng.random() < 0.2 else "cold",
            (3 if s == "big" else 1) if rng.random() < 0.8 else 2,
            bool(e == "u") if rng.random() < 0.7 else True,
        )
        for c, s, e in zip(colors, sizes, extra, strict=True)
    ]
    found = [None if gap else c for c, gap in zip(colors, gaps, strict=True)]
    return pl.DataFrame({"color": found, "size": sizes, "extra": extra}), y


X, ROWS = sample()
# What is asked: all that was learnt, combinations never seen, and nothing known at all.
ASKED = pl.concat(
    [
        X,
        pl.DataFrame(
            {"color": ["blue", "new", None], "size": ["new"] * 3, "extra": ["u", "x", "y"]}
        ),
    ]
)
ESTIMATORS: dict[str, dict[str, Any]] = {
    "default": {},
    "classical": {"power": 1.0, "balance": 0.0, "entropy": 0.0},
    "tensor": {"dimensions": "each"},
    "policy": {
        "dimensions": [["color", "extra"], ["size"]],
        "policy": [["color+extra", "size"], ["size"], []],
        "entropy": 0.0,
    },
}
any_estimator = pytest.mark.parametrize("params", ESTIMATORS.values(), ids=ESTIMATORS.keys())


def column(rows: Rows, t: int) -> list[Any]:
    return [row[t] for row in rows]


def pairs(rows: Rows = ROWS) -> Rows:
    """The first two targets, a text and a number."""
    return [row[:2] for row in rows]


def texts(rows: Rows = ROWS) -> Rows:
    """Two targets of texts."""
    return [(row[0], f"n{row[1]}") for row in rows]


def numbers(rows: Rows = ROWS) -> Rows:
    """Two targets of numbers."""
    return [(len(row[0]), row[1]) for row in rows]


def objects(rows: Rows) -> np.ndarray:
    """A 2-D array whose cells stay what they are."""
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    array[:] = rows
    return array


def polars(rows: Rows, names: Sequence[str] = ("kind", "count", "flag")) -> pl.DataFrame:
    return pl.DataFrame({name: column(rows, t) for t, name in enumerate(names[: len(rows[0])])})


def pandas(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(polars(rows).to_dict(as_series=False))


@dataclass(frozen=True)
class Form:
    """A container of targets, and what it holds."""

    make: Callable[[Rows], Any]
    rows: Rows
    names: tuple[str, ...] = ("target0", "target1")

    @property
    def y(self) -> Any:
        return self.make(self.rows)


FORMS: dict[str, Form] = {
    "array of texts": Form(np.array, texts()),
    "object array of texts": Form(objects, texts()),
    "array of numbers": Form(np.array, numbers()),
    "array of negative numbers": Form(np.array, [(-a, -b) for a, b in numbers()]),
    "array of whole floats": Form(lambda rows: np.array(rows, dtype=float), numbers()),
    "array of texts and numbers": Form(objects, pairs()),
    "polars": Form(polars, texts(), ("kind", "count")),
    "polars of texts and numbers": Form(polars, pairs(), ("kind", "count")),
    "polars of three": Form(polars, ROWS, ("kind", "count", "flag")),
    "pandas": Form(pandas, texts(), ("kind", "count")),
    "pandas of texts and numbers": Form(pandas, pairs(), ("kind", "count")),
    "pandas of three": Form(pandas, ROWS, ("kind", "count", "flag")),
    "pyarrow": Form(lambda rows: polars(rows).to_arrow(), pairs(), ("kind", "count")),
    "one target alike": Form(np.array, [(a, 7) for a, _ in numbers()]),
}
any_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


# ---------------------------------------------------------------- the plain reading


def levels(rows: Rows) -> list[list[Any]]:
    """The sorted classes of each target."""
    return [sorted(set(column(rows, t))) for t in range(len(rows[0]))]


def label(row: Sequence[Any], known: list[list[Any]]) -> str:
    """A text for a tuple of classes; texts sort as the tuples do."""
    return "".join(f"{classes.index(cell):02d}" for cell, classes in zip(row, known, strict=True))


def joined(rows: Rows) -> list[str]:
    return [label(row, levels(rows)) for row in rows]


@dataclass(frozen=True)
class Reading:
    """The same model with one target, whose classes are the combinations."""

    single: SparseTensorClassifier
    combinations: Rows

    @staticmethod
    def of(rows: Rows, params: dict[str, Any]) -> "Reading":
        return Reading(SparseTensorClassifier(**params).fit(X, joined(rows)), sorted(set(rows)))

    def marginals(self, proba: np.ndarray) -> list[np.ndarray]:
        """The sum over the combinations with each class of a target."""
        return [
            np.column_stack(
                [
                    proba[:, [c[t] == value for c in self.combinations]].sum(axis=1)
                    for value in classes
                ]
            )
            for t, classes in enumerate(levels(self.combinations))
        ]

    def best(self, asked: Any) -> list[list[Any]]:
        places = np.searchsorted(self.single.classes_.astype(str), self.single.predict(asked))
        return [list(self.combinations[place]) for place in places]


def fitted(form: Form, params: dict[str, Any]) -> SparseTensorClassifier:
    return SparseTensorClassifier(**params).fit(X, form.y)


@any_form
@any_estimator
def test_probabilities_are_marginals_of_the_joint(form: Form, params: dict[str, Any]) -> None:
    model, reading = fitted(form, params), Reading.of(form.rows, params)
    expected = reading.marginals(reading.single.predict_proba(ASKED))
    found = model.predict_proba(ASKED)
    assert isinstance(found, list)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert_allclose(ours, theirs, atol=1e-12)
        assert_allclose(ours.sum(axis=1), 1, atol=1e-12)


@any_form
@any_estimator
def test_logarithms_of_the_marginals(form: Form, params: dict[str, Any]) -> None:
    model = fitted(form, params)
    logs = model.predict_log_proba(ASKED)
    assert isinstance(logs, list)
    with np.errstate(divide="ignore"):
        for ours, proba in zip(logs, model.predict_proba(ASKED), strict=True):
            assert_allclose(ours, np.log(proba), rtol=1e-9, atol=1e-12)


@any_form
@any_estimator
def test_predictions_are_the_joint_argmax(form: Form, params: dict[str, Any]) -> None:
    predicted = fitted(form, params).predict(ASKED)
    assert isinstance(predicted, np.ndarray)
    assert predicted.shape == (ASKED.height, len(form.rows[0]))
    assert predicted.tolist() == Reading.of(form.rows, params).best(ASKED)


@any_form
def test_the_joint_argmax_is_a_combination_seen(form: Form) -> None:
    predicted = {tuple(row) for row in fitted(form, {}).predict(ASKED).tolist()}
    assert predicted <= set(form.rows)
    assert len(predicted) > 1


def test_the_joint_argmax_is_not_the_argmax_of_each() -> None:
    y = np.array([["p", "s"]] * 4 + [["q", "t"]] * 3 + [["q", "u"]] * 3)
    model = SparseTensorClassifier().fit([["x"]] * 10, y)
    asked = [["new"]]
    assert model.predict(asked).tolist() == [["p", "s"]]
    assert_allclose(model.predict_proba(asked)[0], [[0.4, 0.6]])
    assert_allclose(model.predict_proba(asked)[1], [[0.4, 0.3, 0.3]])


@any_form
def test_classes(form: Form) -> None:
    model = fitted(form, {})
    assert isinstance(model.classes_, list)
    assert [classes.tolist() for classes in model.classes_] == levels(form.rows)
    assert isinstance(model.joint_classes_, np.ndarray)
    assert model.joint_classes_.tolist() == [list(row) for row in sorted(set(form.rows))]


DTYPES = {
    "array of texts": "OU",
    "object array of texts": "OU",
    "array of numbers": "i",
    "array of whole floats": "f",
    "array of texts and numbers": "O",
    "polars": "OU",
    "polars of texts and numbers": "O",
    "pandas of three": "O",
}


@pytest.mark.parametrize(("name", "kinds"), DTYPES.items())
def test_dtypes(name: str, kinds: str) -> None:
    assert fitted(FORMS[name], {}).predict(X).dtype.kind in kinds


@pytest.mark.parametrize("make", [polars, pandas])
def test_each_target_keeps_its_type(make: Callable[[Rows], Any]) -> None:
    model = SparseTensorClassifier().fit(X, make(ROWS))
    for t, kinds in enumerate(["OU", "i", "b"]):
        assert model.classes_[t].dtype.kind in kinds
    assert [type(cell) for cell in model.predict(X)[0].tolist()] == [str, int, bool]


@any_form
@any_estimator
def test_the_joint_table(form: Form, params: dict[str, Any]) -> None:
    model, reading = fitted(form, params), Reading.of(form.rows, params)
    table = model.predict_joint(ASKED)
    assert isinstance(table, pl.DataFrame)
    assert table.columns == ["item", *form.names, "probability"]
    proba = reading.single.predict_proba(ASKED)
    expected = {
        (item, *combination): proba[item, place]
        for item in range(ASKED.height)
        for place, combination in enumerate(reading.combinations)
    }
    found = {row[:-1]: row[-1] for row in table.rows()}
    assert found.keys() == expected.keys()
    assert table.height == len(expected)
    assert_allclose([found[key] for key in expected], list(expected.values()), atol=1e-12)


@any_form
@any_estimator
def test_the_corpus_has_a_column_a_target(form: Form, params: dict[str, Any]) -> None:
    model, reading = fitted(form, params), Reading.of(form.rows, params)
    theirs = reading.single.corpus_
    place = theirs.columns.index("class")
    names = list(form.names)
    expected = [*theirs.columns[:place], *names, *theirs.columns[place + 1 :]]
    assert model.corpus_.columns == expected
    known = levels(form.rows)
    keys = model.corpus_.select(names).rows()
    ours = model.corpus_.drop(names).with_columns(
        pl.Series("class", [label(key, known) for key in keys])
    )
    order = [name for name in theirs.columns if name not in {"mass", "support"}]
    assert_frame_equal(
        ours.select(theirs.columns).sort(order), theirs.sort(order), rel_tol=1e-12, abs_tol=1e-12
    )


@any_form
@any_estimator
def test_score_is_the_share_of_items_with_all_right(form: Form, params: dict[str, Any]) -> None:
    model = fitted(form, params)
    right = [
        ours == list(row) for ours, row in zip(model.predict(X).tolist(), form.rows, strict=True)
    ]
    assert 0 < sum(right) < N or form is FORMS["one target alike"]
    assert model.score(X, form.y) == pytest.approx(np.mean(right))
    weights = np.arange(1.0, N + 1)
    assert model.score(X, form.y, sample_weight=weights) == pytest.approx(
        np.average(right, weights=weights)
    )


@pytest.mark.parametrize("pair", [("a", "s"), ("p", "t"), ("p", "new"), ("z", "z")])
def test_a_combination_never_seen_is_not_right(pair: tuple[str, str]) -> None:
    items = [["x"], ["y"]]
    model = SparseTensorClassifier().fit(items, np.array([["p", "s"], ["q", "t"]]))
    assert model.score(items, np.array([["p", "s"], ["q", "t"]])) == 1
    assert model.score(items, np.array([pair, ("q", "t")])) == 0.5


@any_estimator
def test_sample_weights(params: dict[str, Any]) -> None:
    weights = np.random.default_rng(1).integers(0, 3, N)
    weighted = SparseTensorClassifier(**params).fit(X, objects(pairs()), sample_weight=weights)
    copies = np.repeat(np.arange(N), weights)
    repeated = SparseTensorClassifier(**params).fit(X[copies], objects(pairs())[copies])
    for ours, theirs in zip(
        weighted.predict_proba(ASKED), repeated.predict_proba(ASKED), strict=True
    ):
        assert_allclose(ours, theirs, atol=1e-9)


def test_forms_agree() -> None:
    models = [fitted(FORMS[name], {}) for name in FORMS if FORMS[name].rows == texts()]
    assert len(models) == 4
    for model in models[1:]:
        for ours, theirs in zip(
            model.predict_proba(ASKED), models[0].predict_proba(ASKED), strict=True
        ):
            assert_array_equal(ours, theirs)


def test_predict_joint_with_one_target() -> None:
    model = SparseTensorClassifier().fit(X, column(ROWS, 0))
    table = model.predict_joint(ASKED)
    assert table.width == 3
    assert table["item"].to_list() == np.repeat(np.arange(ASKED.height), 2).tolist()
    assert table[:, 1].to_list() == ["cold", "hot"] * ASKED.height
    assert_allclose(table["probability"].to_numpy().reshape(-1, 2), model.predict_proba(ASKED))


@any_form
def test_pickles(form: Form) -> None:
    model = fitted(form, {})
    twin = pickle.loads(pickle.dumps(model))
    assert_array_equal(twin.predict(ASKED), model.predict(ASKED))
    assert_frame_equal(twin.predict_joint(ASKED), model.predict_joint(ASKED))


def test_cross_validation() -> None:
    scores = cross_val_score(SparseTensorClassifier(), X, np.array(texts()), cv=3)
    assert (scores > 0.2).all()
    search = GridSearchCV(SparseTensorClassifier(), {"power": [0.5, 1.0]}, cv=2)
    search.fit(X, np.array(texts()))
    assert search.predict(X).shape == (N, 2)


# ---------------------------------------------------------------- learning is a sum


def assert_same(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    """Both know the same and say the same."""
    assert one.joint_classes_.tolist() == other.joint_classes_.tolist()
    assert [c.tolist() for c in one.classes_] == [c.tolist() for c in other.classes_]
    order = [name for name in one.corpus_.columns if name not in {"mass", "support"}]
    assert_frame_equal(
        one.corpus_.sort(order), other.corpus_.sort(order), rel_tol=1e-12, abs_tol=1e-12
    )
    for ours, theirs in zip(one.predict_proba(ASKED), other.predict_proba(ASKED), strict=True):
        assert_allclose(ours, theirs, atol=1e-9)


# Sorted by target, so that later parts bring new combinations and new classes of each target.
ORDER = sorted(range(N), key=lambda n: (ROWS[n][1], ROWS[n][0]))
CUTS = [0, 5, 20, 33, N]
PARTS = [ORDER[a:b] for a, b in pairwise(CUTS)]
GROWING = {
    name: FORMS[name] for name in FORMS if FORMS[name].rows != FORMS["one target alike"].rows
}
growing = pytest.mark.parametrize("form", GROWING.values(), ids=GROWING.keys())


def part(form: Form, items: Sequence[int]) -> tuple[pl.DataFrame, Any]:
    return X[list(items)], form.make([form.rows[n] for n in items])


@growing
@any_estimator
def test_partial_fits_make_a_fit(form: Form, params: dict[str, Any]) -> None:
    model = SparseTensorClassifier(**params)
    seen = []
    for items in PARTS:
        model.partial_fit(*part(form, items))
        seen.append(len(model.joint_classes_))
    assert seen[0] < seen[-1]
    assert_same(model, fitted(form, params))


@growing
@any_estimator
def test_unlearning(form: Form, params: dict[str, Any]) -> None:
    model = fitted(form, params)
    for items in PARTS[1:]:
        model.unlearn(*part(form, items))
    assert_same(model, SparseTensorClassifier(**params).fit(*part(form, PARTS[0])))


@growing
@any_estimator
def test_merging(form: Form, params: dict[str, Any]) -> None:
    models = [SparseTensorClassifier(**params).fit(*part(form, items)) for items in PARTS]
    whole = fitted(form, params)
    assert_same(models[3] + models[0] + models[2] + models[1], whole)
    assert_same(models[0].merge(models[1]).merge(models[2]).merge(models[3]), whole)


LONGER: dict[str, tuple[Any, Any, list[list[Any]]]] = {
    "texts": (
        np.array([["a", "b"], ["b", "c"]]),
        np.array([["longer", "c"]]),
        [["a", "b"], ["b", "c"], ["longer", "c"]],
    ),
    "texts in a frame": (
        pl.DataFrame({"k": ["a", "b"], "l": [1, 2]}),
        pl.DataFrame({"k": ["longer"], "l": [2]}),
        [["a", 1], ["b", 2], ["longer", 2]],
    ),
    "numbers": (
        np.array([[1, 2], [3, 4]], dtype="i1"),
        np.array([[300, 4]]),
        [[1, 2], [3, 4], [300, 4]],
    ),
}


@pytest.mark.parametrize(("first", "second", "classes"), LONGER.values(), ids=LONGER.keys())
def test_later_classes_may_need_more_room(first: Any, second: Any, classes: Any) -> None:
    model = SparseTensorClassifier().partial_fit([["x"], ["y"]], first)
    other = SparseTensorClassifier().fit([["z"]], second)
    for both in (model + other, other + model, model.partial_fit([["z"]], second)):
        assert both.joint_classes_.tolist() == classes
        assert both.predict([["z"]]).tolist() == classes[-1:]
        assert both.classes_[0].tolist() == [row[0] for row in classes]


def test_unlearning_everything_leaves_an_empty_model() -> None:
    form = FORMS["polars"]
    model = fitted(form, {}).unlearn(X, form.y)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "joint_classes_")
    assert_same(model.partial_fit(X, form.y), fitted(form, {}))


def test_a_batch_of_zeros_and_ones_is_joint_where_the_model_is() -> None:
    y = np.array([[a - 3, b - 1] for a, b in numbers()])
    order = np.argsort(y.max(axis=1), kind="stable")[::-1]
    first = int((y.max(axis=1) == 2).sum())
    assert 0 < first < N
    model = SparseTensorClassifier().partial_fit(X[order[:first]], y[order[:first]])
    model.partial_fit(X[order[first:]], y[order[first:]])
    assert_same(model, SparseTensorClassifier().fit(X, y))
    assert 0 <= model.score(X[order[first:]], y[order[first:]]) <= 1


# ---------------------------------------------------------------- distributions in the cells

FEW = [{"a": "x", "b": ["u", "v"]}, {"a": "x"}, {"a": "y", "b": "u"}, {"b": "v"}, {"a": "z"}]
COLORS = [["red", "blue"], ["red"], ["blue", "red"], ["green"], ["green", "red", "blue"]]
SIZES = [["big"], ["big", "small"], ["small", "big"], ["small"], ["small"]]
VOTES: list[dict[str, int]] = [
    {"big": 1},
    {"big": 3, "small": 1},
    {"small": 2, "big": 2},
    {"small": 5},
    {"small": 1},
]


def product(sizes: Sequence[Any]) -> Soft:
    """The joint distribution of each item as that of one target."""
    return [
        {f"{c} {s}": share(size)[s] / len(color) for c in color for s in share(size)}
        for color, size in zip(COLORS, sizes, strict=True)
    ]


def share(cell: Any) -> dict[str, float]:
    """The distribution in a cell."""
    weights = cell if isinstance(cell, dict) else dict.fromkeys(cell, 1)
    return {value: weight / sum(weights.values()) for value, weight in weights.items()}


def with_cells(sizes: Sequence[Any]) -> list[dict[str, Any]]:
    """Records with their two targets among the attributes."""
    return [
        {"color": color, **record, "size": size}
        for record, color, size in zip(FEW, COLORS, sizes, strict=True)
    ]


def targets_of(sizes: Sequence[Any], library: Any) -> Any:
    return library.DataFrame({"color": COLORS, "size": sizes})


NAMED = SparseTensorClassifier(targets=["color", "size"])
ALL_IN = pl.DataFrame(
    with_cells(SIZES), schema={"color": pl.List(pl.String), "a": pl.String}
).with_columns(b=pl.Series([["u", "v"], [], ["u"], ["v"], []]), size=pl.Series(SIZES))
DISTRIBUTIONS: dict[str, tuple[Callable[[], SparseTensorClassifier], Sequence[Any]]] = {
    "records": (lambda: clone(NAMED).fit(with_cells(SIZES)), SIZES),
    "records of votes": (lambda: clone(NAMED).fit(with_cells(VOTES)), VOTES),
    "polars": (lambda: clone(NAMED).fit(ALL_IN), SIZES),
    "pandas": (lambda: clone(NAMED).fit(pd.DataFrame(with_cells(SIZES))), SIZES),
    "pandas of votes": (lambda: clone(NAMED).fit(pd.DataFrame(with_cells(VOTES))), VOTES),
    "y in polars": (lambda: SparseTensorClassifier().fit(FEW, targets_of(SIZES, pl)), SIZES),
    "y in pandas": (lambda: SparseTensorClassifier().fit(FEW, targets_of(SIZES, pd)), SIZES),
    "votes in pandas": (lambda: SparseTensorClassifier().fit(FEW, targets_of(VOTES, pd)), VOTES),
}


@pytest.mark.parametrize(("make", "sizes"), DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
def test_cells_with_several_values_make_a_product(
    make: Callable[[], SparseTensorClassifier], sizes: Sequence[Any]
) -> None:
    single = SparseTensorClassifier().fit(FEW, product(sizes))
    model = make()
    found = [" ".join(row) for row in model.joint_classes_.tolist()]
    assert found == single.classes_.tolist()
    ours = model.predict_joint(FEW)["probability"].to_numpy().reshape(len(FEW), -1)
    assert_allclose(ours, single.predict_proba(FEW), atol=1e-12)


@pytest.mark.parametrize("sizes", [SIZES, VOTES])
def test_products_are_learnt_and_unlearnt_in_parts(sizes: Sequence[Any]) -> None:
    records = with_cells(sizes)
    model = clone(NAMED).partial_fit(records[:2]).partial_fit(records[2:])
    whole = clone(NAMED).fit(records)
    assert model.joint_classes_.tolist() == whole.joint_classes_.tolist()
    assert_frame_equal(model.predict_joint(FEW), whole.predict_joint(FEW), abs_tol=1e-12)
    model.unlearn(records[2:])
    assert_frame_equal(
        model.predict_joint(FEW), clone(NAMED).fit(records[:2]).predict_joint(FEW), abs_tol=1e-12
    )


# ---------------------------------------------------------------- targets named in the data

DATA = pl.concat([polars(pairs()), X], how="horizontal").select(
    "color", "kind", "size", "count", "extra"
)
Data: TypeAlias = Callable[[pl.DataFrame], Any]
CONTAINERS: dict[str, Data] = {
    "polars": lambda data: data,
    "lazy": lambda data: data.lazy(),
    "pandas": lambda data: pd.DataFrame(data.to_dict(as_series=False)),
    "pyarrow": lambda data: data.to_arrow(),
    "records": lambda data: data.to_dicts(),
}
any_container = pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS.keys())
METHODS = ["predict", "predict_proba", "predict_log_proba", "predict_joint", "coverage", "explain"]


def named(make: Data, targets: Any = ("kind", "count"), **params: Any) -> SparseTensorClassifier:
    targets = targets if isinstance(targets, str) else list(targets)
    data = DATA if len(targets) == 2 else DATA.drop("count")
    return SparseTensorClassifier(targets=targets, **params).fit(make(data))


def shown(answer: Any) -> Any:
    """An answer of any kind, comparable by ==."""
    if isinstance(answer, list):
        return [shown(each) for each in answer]
    if isinstance(answer, np.ndarray):
        return answer.tolist()
    return answer.rows() if isinstance(answer, pl.DataFrame) else str(answer)


@any_container
@any_estimator
def test_named_targets_are_those_given_apart(make: Data, params: dict[str, Any]) -> None:
    model = named(make, **params)
    apart = SparseTensorClassifier(**params).fit(make(X), polars(pairs()))
    for method in METHODS[:5]:
        asked = make(ASKED)
        assert shown(getattr(model, method)(asked)) == shown(getattr(apart, method)(asked))
    assert model.predict_joint(make(X)).columns == ["item", "kind", "count", "probability"]
    assert model.corpus_.equals(apart.corpus_)


@any_container
@pytest.mark.parametrize("method", METHODS)
def test_targets_in_the_data_asked_are_not_looked_at(make: Data, method: str) -> None:
    ask = getattr(named(make), method)
    lying = DATA.with_columns(kind=pl.lit("unheard of"), count=pl.lit(None, dtype=pl.Int64))
    without = shown(ask(make(DATA.drop("kind", "count"))))
    assert shown(ask(make(DATA))) == without
    assert shown(ask(make(lying))) == without


@any_container
def test_targets_are_no_attributes(make: Data) -> None:
    model = named(make)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["color", "size", "extra"]
    assert set(model.corpus_["attribute"]) == {"color", "size", "extra"}


@pytest.mark.parametrize("name", ["polars", "pandas", "pyarrow", "records"])
def test_the_data_is_not_changed(name: str) -> None:
    data = CONTAINERS[name](DATA)
    before = pickle.dumps(data)
    SparseTensorClassifier(targets=["kind", "count"]).fit(data).predict(data)
    assert pickle.dumps(data) == before


@any_container
@pytest.mark.parametrize("targets", ["kind", ["kind"]])
@any_estimator
def test_one_named_target(make: Data, targets: Any, params: dict[str, Any]) -> None:
    model = named(make, targets, **params)
    apart = SparseTensorClassifier(**params).fit(make(X), column(ROWS, 0))
    assert model.predict(make(ASKED)).shape == (ASKED.height,)
    for method in ("predict", "predict_proba", "predict_log_proba", "coverage", "explain"):
        asked = make(ASKED)
        assert shown(getattr(model, method)(asked)) == shown(getattr(apart, method)(asked))
    assert model.classes_.tolist() == ["cold", "hot"]
    assert model.corpus_.rows() == apart.corpus_.rows()
    assert model.predict_joint(make(ASKED)).columns == ["item", "kind", "probability"]


@any_container
def test_targets_are_taken_in_the_order_of_their_names(make: Data) -> None:
    model = named(make, ["count", "kind"])
    assert [classes.tolist() for classes in model.classes_] == [[1, 2, 3], ["cold", "hot"]]
    swapped = [row[::-1] for row in named(make).predict(make(X)).tolist()]
    assert model.predict(make(X)).tolist() == swapped


@any_container
@pytest.mark.parametrize("flags", [(0, 1), (False, True)])
def test_named_targets_of_zeros_and_ones_are_joint(make: Data, flags: tuple[Any, Any]) -> None:
    rows = [(flags[row[0] == "hot"], flags[row[1] > 1]) for row in ROWS]
    data = pl.concat([X, polars(rows)], how="horizontal")
    model = SparseTensorClassifier(targets=["kind", "count"]).fit(make(data))
    assert model.joint_classes_.tolist() == [list(row) for row in sorted(set(rows))]
    assert isinstance(model.predict_proba(make(X)), list)


@any_container
def test_learning_in_parts_with_named_targets(make: Data) -> None:
    whole = named(make)
    parts = [make(DATA[items]) for items in PARTS]
    model = clone(whole)
    for data in parts:
        model.partial_fit(data)
    assert_same_named(model, whole)
    models = [clone(whole).fit(data) for data in parts]
    assert_same_named(models[2] + models[1] + models[0] + models[3], whole)
    for data in parts[1:]:
        model.unlearn(data)
    assert_same_named(model, clone(whole).fit(parts[0]))


def assert_same_named(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    assert one.joint_classes_.tolist() == other.joint_classes_.tolist()
    order = ["attribute", "value", "kind", "count"]
    assert_frame_equal(one.corpus_.sort(order), other.corpus_.sort(order), rel_tol=1e-12)


@any_container
def test_the_score_of_named_targets(make: Data) -> None:
    model = named(make)
    apart = SparseTensorClassifier().fit(make(X), polars(pairs()))
    assert 0 < model.score(make(DATA)) < 1
    assert model.score(make(DATA)) == apart.score(make(X), polars(pairs()))
    one = named(make, "kind")
    assert one.score(make(DATA.drop("count"))) == np.mean(one.predict(make(X)) == column(ROWS, 0))


RESERVED = ["item", "probability", "attribute", "value", "mass", "support", "class", "dimensions"]


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("params", [{}, {"dimensions": "each"}])
def test_a_target_may_be_named_like_a_column_of_our_tables(
    name: str, params: dict[str, Any]
) -> None:
    data = DATA.rename({"kind": name})
    model = SparseTensorClassifier(targets=[name, "count"], **params).fit(data)
    assert (
        model.predict(data).tolist() == named(CONTAINERS["polars"], **params).predict(DATA).tolist()
    )
    assert model.corpus_.height == named(CONTAINERS["polars"], **params).corpus_.height
    assert model.predict_joint(data).height == N * len(model.joint_classes_)


def test_weights_with_named_targets() -> None:
    weights = np.arange(N) % 3
    model = SparseTensorClassifier(targets=["kind", "count"]).fit(DATA, sample_weight=weights)
    apart = SparseTensorClassifier().fit(X, polars(pairs()), sample_weight=weights)
    assert model.corpus_.equals(apart.corpus_)


# ---------------------------------------------------------------- what is refused


def state(model: SparseTensorClassifier, asked: Any) -> Any:
    """All that can be seen of a model, comparable by ==."""
    if not hasattr(model, "classes_"):
        return sorted(name for name in vars(model) if name.endswith("_"))
    several = isinstance(model.classes_, list)
    return (
        model.corpus_.rows(),
        [c.tolist() for c in model.classes_] if several else model.classes_.tolist(),
        model.class_mass_.tolist(),
        shown(model.predict_proba(asked)),
        model.get_params(),
    )


@contextmanager
def refused(
    model: SparseTensorClassifier, error: Any, *words: str, asked: Any = X
) -> Iterator[None]:
    """The block raises ``error``, whose message has all the words, and changes nothing."""
    before = state(model, asked)
    with pytest.raises(error) as caught:
        yield
    for word in words:
        assert re.search(word, str(caught.value)), f"no {word!r} in: {caught.value}"
    assert state(model, asked) == before


def spoilt(rows: Rows, item: int, row: tuple[Any, ...]) -> Rows:
    return [*rows[:item], row, *rows[item + 1 :]]


BAD_Y: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "too few": (np.array(texts())[:-1], ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
    "too few in a frame": (polars(texts())[:-1], ValueError, (rf"\b{N}\b", rf"\b{N - 1}\b")),
    "a missing text": (objects(spoilt(texts(), 7, ("hot", None))), ValueError, (r"\b7\b",)),
    "a missing text in polars": (
        polars(spoilt(texts(), 7, ("hot", None))),
        ValueError,
        (r"\b7\b",),
    ),
    "a missing text in pandas": (
        pandas(spoilt(texts(), 7, (None, "n1"))),
        ValueError,
        (r"\b7\b",),
    ),
    "a missing number": (
        np.array(spoilt(numbers(), 7, (np.nan, 1))),
        ValueError,
        (r"NaN|\b7\b",),
    ),
    "an infinite number": (np.array(spoilt(numbers(), 7, (np.inf, 1))), ValueError, ()),
    "measurements": (np.array(numbers()) + 0.25, ValueError, ()),
    "texts and numbers in one target": (
        objects(spoilt(texts(), 7, ("hot", 5))),
        EITHER,
        (),
    ),
    "three dimensions": (np.ones((N, 2, 2)), EITHER, ()),
    "no columns": (np.empty((N, 0)), ValueError, ()),
    "nothing": (None, ValueError, ("y",)),
}
any_bad_y = pytest.mark.parametrize(("y", "error", "words"), BAD_Y.values(), ids=BAD_Y.keys())


@any_bad_y
@pytest.mark.parametrize("method", ["fit", "partial_fit", "unlearn"])
def test_bad_targets_change_nothing(
    y: Any, error: Any, words: tuple[str, ...], method: str
) -> None:
    model = fitted(FORMS["array of texts"], {})
    with refused(model, error, *words):
        getattr(model, method)(X, y)


@any_bad_y
def test_an_empty_model_stays_empty(y: Any, error: Any, words: tuple[str, ...]) -> None:
    model = SparseTensorClassifier()
    with refused(model, error, *words):
        model.fit(X, y)
    assert not hasattr(model, "joint_classes_")


OTHER_Y: dict[str, Any] = {
    "one target": column(texts(), 0),
    "three targets": np.array([(*row, "more") for row in texts()]),
    "label sets": [list(row) for row in texts()],
    "distributions": [{"hot": 1.0}] * N,
}


@pytest.mark.parametrize("y", OTHER_Y.values(), ids=OTHER_Y.keys())
@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_another_form_of_targets(y: Any, method: str) -> None:
    model = fitted(FORMS["array of texts"], {})
    with refused(model, ValueError):
        getattr(model, method)(X, y)


@pytest.mark.parametrize("y", OTHER_Y.values(), ids=OTHER_Y.keys())
def test_models_of_other_targets_are_not_merged(y: Any) -> None:
    model, other = fitted(FORMS["array of texts"], {}), SparseTensorClassifier().fit(X, y)
    with refused(model, ValueError):
        model.merge(other)
    with refused(other, ValueError):
        other.merge(model)


def test_one_target_does_not_become_two() -> None:
    model = SparseTensorClassifier().fit(X, column(texts(), 0))
    with refused(model, ValueError):
        model.partial_fit(X, np.array(texts()))
    with refused(model, ValueError):
        model.unlearn(X, np.array(texts()))


NEVER: dict[str, tuple[str, str]] = {
    "a combination": ("p", "t"),
    "a class": ("p", "never"),
    "a class of the other target": ("s", "p"),
    "too often": ("q", "t"),
}


@pytest.mark.parametrize("pair", NEVER.values(), ids=NEVER.keys())
def test_what_was_never_learnt_cannot_be_unlearnt(pair: tuple[str, str]) -> None:
    model = SparseTensorClassifier().fit(
        [["x"]] * 3, np.array([["p", "s"], ["p", "s"], ["q", "t"]])
    )
    with refused(model, NeverLearntError, asked=[["x"]]):
        model.unlearn([["x"]] * 2, np.array([pair, pair]))


NO_KIND = [{"color": "red", "kind": "hot"}, {"color": "red", "kind": None}]
BAD_DATA: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "y given too": (DATA.drop("count"), column(ROWS, 0), ("y", "targets")),
    "not in the frame": (X, None, ("kind",)),
    "not in the records": (X.to_dicts(), None, ("kind",)),
    "a record without it": ([NO_KIND[0], {"color": "red"}], None, ("kind", r"\b1\b")),
    "a record where it is None": (NO_KIND, None, (r"\b1\b",)),
    "a record where it is empty": ([NO_KIND[0], {"color": "x", "kind": []}], None, ()),
    "a row where it is null": (pl.DataFrame(NO_KIND), None, (r"\b1\b",)),
    "a row where it is missing in pandas": (pd.DataFrame(NO_KIND), None, (r"\b1\b",)),
    "an array": (X.to_numpy(), None, ("frame|records",)),
    "a list of lists": (X.to_numpy().tolist(), None, ("frame|records",)),
    "documents": (["red hot", "blue cold"], None, ("frame|records",)),
    "a sparse matrix": (sp.csr_array(np.eye(3)), None, ("frame|records",)),
    "no attribute in a frame": (polars(pairs()).select("kind"), None, ("attribute|column",)),
    "no attribute in records": ([{"kind": "hot"}] * 2, None, ("attribute|column",)),
}
any_bad_data = pytest.mark.parametrize(
    ("data", "y", "words"), BAD_DATA.values(), ids=BAD_DATA.keys()
)


@any_bad_data
def test_data_without_the_named_target(data: Any, y: Any, words: tuple[str, ...]) -> None:
    model = SparseTensorClassifier(targets="kind")
    with refused(model, ValueError, *words):
        model.fit(data, y)


# A record without any attribute may well join a model that has some.
LATER = {name: bad for name, bad in BAD_DATA.items() if name != "no attribute in records"}


@pytest.mark.parametrize(("data", "y", "words"), LATER.values(), ids=LATER.keys())
@pytest.mark.parametrize("method", ["fit", "partial_fit", "unlearn"])
def test_a_fitted_model_refuses_it_too(
    data: Any, y: Any, words: tuple[str, ...], method: str
) -> None:
    model = SparseTensorClassifier(targets="kind").fit(DATA.drop("count").to_dicts())
    with refused(model, ValueError, asked=X.to_dicts()):
        getattr(model, method)(data, y)


@pytest.mark.parametrize("items", [[0, 1], [5]])
def test_an_item_that_lacks_one_of_two_targets(items: list[int]) -> None:
    records = DATA.to_dicts()
    for n in items:
        del records[n]["count"]
    with pytest.raises(ValueError, match="count") as caught:
        SparseTensorClassifier(targets=["kind", "count"]).fit(records)
    assert re.search(rf"\b{items[0]}\b", str(caught.value))


@pytest.mark.parametrize("targets", [3, 1.5])
def test_names_that_are_none(targets: Any) -> None:
    with pytest.raises(ValueError, match="targets"):
        SparseTensorClassifier(targets=targets).fit(DATA)


def test_pyarrow_tables_are_frames_of_targets() -> None:
    table = pa.table({"kind": ["hot", "cold"], "count": [1, 2]})
    model = SparseTensorClassifier().fit([["x"], ["y"]], table)
    assert model.predict([["x"], ["y"]]).tolist() == [["hot", 1], ["cold", 2]]
