"""Scales from data: knots at quantiles, columns that are numbers, and what is refused."""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from stc import HardlyCategoricalWarning
from stc.exceptions import DataError, MissingColumnError, ParameterError
from support.models import paper_model
from support.oracle import learn
from support.scale_cases import (
    FEWER,
    INF,
    KNOWN,
    X,
    Y,
    assert_learnt,
    intervals,
    of_knots,
    snapshot,
    spread,
)
from support.strategies import soft

# How many knots a number has unless the caller says so, as the documentation has it.
DEFAULT = 20


# ---------------------------------------------------------------- plain formulas


def quantile_knots(numbers: Iterable[float], count: int) -> list[float]:
    """A knot at each value that a knot's share of the items has, and at quantiles of the rest."""
    every = sorted(numbers)
    common = {x for x in every if every.count(x) * count >= len(every)}
    rest = [x for x in every if x not in common]
    wanted = count - len(common)
    knots = set(common)
    for n in range(wanted if rest else 0):
        place = (len(rest) - 1) * n / max(wanted - 1, 1)
        low = math.floor(place)
        high = min(low + 1, len(rest) - 1)
        knots.add(rest[low] + (rest[high] - rest[low]) * (place - low))
    return sorted(knots)


# ---------------------------------------------------------------- against the model


def knots_of(numbers: Sequence[Any], count: int | None = None) -> list[str]:
    """The names of the intervals that a model makes of a column."""
    continuous = ["x"] if count is None else {"x": count}
    X = [{"x": number} for number in numbers]
    model = paper_model(continuous=continuous).fit(X, ["p"] * len(X))
    return model.corpus_["value"].to_list()


# ---------------------------------------------------------------- knots at quantiles


@FEWER
@given(
    st.lists(st.integers(-20, 20).map(lambda n: n / 4), min_size=1, max_size=40),
    st.integers(2, 6),
)
def test_knots_are_quantiles(numbers: list[float], count: int) -> None:
    X = [{"x": number} for number in numbers]
    y = ["pq"[n % 2] for n in range(len(X))]
    model = paper_model(continuous={"x": count}).fit(X, y)
    knots = model.fitted_.model.scales["x"].knots
    # Within rounding: names of intervals have few digits, and may be at a bound of these.
    assert knots == pytest.approx(quantile_knots(numbers, count), rel=1e-12, abs=1e-12)
    bags = [spread({("x", repr(number)): 1}, {"x": of_knots(knots)}) for number in numbers]
    assert_learnt(model, learn(bags, soft(y)))


@pytest.mark.parametrize(
    ("numbers", "count", "knots"),
    [
        ([0, 0, 1, 5], 2, [0, 1]),  # half of the items have 0, a knot's share: so it has a knot
        ([0, 0, 1, 5, 9], 2, [0, 9]),  # less than half have it
        ([0, 0, 0, 2, 3, 4, 8], 4, [0, 2, 3.5, 8]),
        ([1, 2, 3, 4, 5], 3, [1, 3, 5]),
        ([1, 1, 2, 2], 2, [1, 2]),
        ([3], 5, [3]),
    ],
)
def test_quantile_knots_by_hand(numbers: list[float], count: int, knots: list[float]) -> None:
    assert quantile_knots(numbers, count) == knots
    assert set(knots_of(numbers, count)) == set(intervals(knots))


def test_as_many_knots_as_documented_unless_told() -> None:
    numbers = np.random.default_rng(0).normal(size=500)
    assert len(knots_of(numbers.tolist())) == DEFAULT
    assert set(knots_of(numbers.tolist())) == set(intervals(quantile_knots(numbers, DEFAULT)))
    assert len(knots_of(numbers.tolist(), 4)) == 4


def test_a_value_that_many_share_has_a_knot_of_its_own() -> None:
    generator = np.random.default_rng(1)
    numbers = np.concatenate([np.zeros(920), generator.uniform(5, 100, 80)])
    X = [{"x": number} for number in numbers]
    y = ["zero" if number == 0 else "some" for number in numbers]
    model = paper_model(continuous=["x"]).fit(X, y)
    knots = quantile_knots(numbers, DEFAULT)
    assert len(knots) == DEFAULT
    zero = model.corpus_.filter(pl.col("class") == "zero")
    assert zero.select("value", "support").rows() == [(intervals(knots)[0], 920)]
    assert (model.predict(X) == y).all()


def test_a_constant_column_is_one_category() -> None:
    assert knots_of([5, 5, 5]) == ["any"]
    model = paper_model(continuous=["x"]).fit([{"x": 5}, {"x": 5}], ["p", "q"])
    assert model.coverage([{"x": 5}, {"x": 7}, {"x": None}, {"x": INF}]).tolist() == [1, 1, 0, 1]


def test_infinities_set_no_knots() -> None:
    finite = [1.0, 2.0, 4.0, 8.0]
    names = intervals(quantile_knots(finite, 3))
    X = [{"x": number} for number in (*finite, INF, -INF)]
    model = paper_model(continuous={"x": 3}).fit(X, ["f"] * 4 + ["high", "low"])
    rows = model.corpus_.select("value", "class", "mass").rows()
    assert {name for name, _, _ in rows} == set(names)
    assert (names[0], "low", 1.0) in rows
    assert (names[-1], "high", 1.0) in rows


def test_integers_are_numbers_too() -> None:
    X = pl.DataFrame({"age": [20, 30, 40, 50, 60]})
    model = paper_model(continuous={"age": 3}).fit(X, list("ppqqq"))
    assert set(model.corpus_["value"]) == {"below 30", "30 to 50", "above 50"}
    assert model.predict(pl.DataFrame({"age": [21, 58]})).tolist() == ["p", "q"]
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(X.cast(pl.Float64)))


# ---------------------------------------------------------------- "auto"


MANY = [n + 0.25 for n in range(21)]
FLOATS: dict[str, Callable[[list[Any]], Any]] = {
    "polars": lambda c: pl.DataFrame({"x0": c}),
    "polars Float32": lambda c: pl.DataFrame({"x0": c}, schema={"x0": pl.Float32}),
    "pyarrow": lambda c: pa.table({"x0": c}),
    "pandas": lambda c: pd.DataFrame({"x0": c}),
    "pandas Float64": lambda c: pd.DataFrame({"x0": pd.array(c, dtype="Float64")}),
    "pandas object": lambda c: pd.DataFrame({"x0": pd.Series(c, dtype=object)}),
    "numpy": lambda c: np.array(c, dtype=float)[:, None],
    "numpy float32": lambda c: np.array(c, dtype=np.float32)[:, None],
    "numpy float16": lambda c: np.array(c, dtype=np.float16)[:, None],
    "numpy object": lambda c: np.array(c, dtype=object)[:, None],
    "rows": lambda c: [[x] for x in c],
    "rows of NumPy's": lambda c: [[None if x is None else np.float64(x)] for x in c],
    "rows of float32": lambda c: [[None if x is None else np.float32(x)] for x in c],
    "records": lambda c: [{"x0": x} for x in c],
}
any_floats = pytest.mark.parametrize("make", FLOATS.values(), ids=FLOATS.keys())


def auto(X: Any) -> list[str]:
    """The features that "auto" makes."""
    y = [n % 2 for n in range(len(X))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HardlyCategoricalWarning)
        return paper_model(continuous="auto").fit(X, y).get_feature_names_out().tolist()


@any_floats
@pytest.mark.parametrize("times", [1, 20], ids=["few", "many"])
def test_floats_of_many_values_are_numbers(make: Callable[..., Any], times: int) -> None:
    expected = {f"x0={name}" for name in intervals(quantile_knots(MANY * times, DEFAULT))}
    assert set(auto(make(MANY * times))) == expected
    with_gaps = [*MANY * times, None, None]
    assert set(auto(make(with_gaps))) == expected
    whole = [float(n) for n in range(21)]
    assert len(auto(make(whole * times))) == DEFAULT


@any_floats
@pytest.mark.parametrize("times", [1, 20], ids=["few", "many"])
def test_floats_of_few_values_are_categories(make: Callable[..., Any], times: int) -> None:
    few = MANY[:20]
    assert sorted(auto(make(few * times))) == sorted(f"x0={number}" for number in few)


OTHERS: dict[str, Callable[[list[int]], Any]] = {
    "polars": lambda c: pl.DataFrame({"x0": c}),
    "polars text": lambda c: pl.DataFrame({"x0": [f"{n}.5" for n in c]}),
    "pandas": lambda c: pd.DataFrame({"x0": c}),
    "pandas text": lambda c: pd.DataFrame({"x0": [f"{n}.5" for n in c]}),
    "pandas category": lambda c: pd.DataFrame({"x0": [n + 0.5 for n in c]}).astype("category"),
    "numpy": lambda c: np.array(c)[:, None],
    "numpy text": lambda c: np.array([f"{n}.5" for n in c])[:, None],
    "rows": lambda c: [[n] for n in c],
    "rows of text": lambda c: [[f"{n}.5"] for n in c],
    "one text among floats": lambda c: [["0.5"], *([n + 0.5] for n in c[1:])],
    "one integer among floats": lambda c: [[7], *([n + 0.5] for n in c[1:])],
    "lists of floats": lambda c: [{"x0": [n + 0.5]} for n in c],
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.parametrize("size", [40, 400], ids=["few", "many"])
def test_what_is_no_float_is_a_category(make: Callable[..., Any], size: int) -> None:
    assert len(auto(make(list(range(size))))) == size


def test_auto_takes_the_columns_that_are_numbers() -> None:
    X = pl.DataFrame({"n": MANY, "k": [0.5, 1.5, 2.5] * 7, "c": ["u", "v", "w"] * 7})
    model = paper_model(continuous="auto").fit(X, ["p", "q", "r"] * 7)
    named = model.corpus_.group_by("attribute").agg(pl.col("value").unique().sort()).rows()
    values = dict(named)
    assert values["k"] == ["0.5", "1.5", "2.5"]
    assert values["c"] == ["u", "v", "w"]
    assert set(values["n"]) == set(intervals(quantile_knots(MANY, DEFAULT)))


@pytest.mark.parametrize("X", [["1.5 2.5", "3.5"], sparse.csr_array([[1.5, 2.5], [0, 3.5]])])
def test_auto_changes_nothing_where_there_are_no_columns_of_floats(X: Any) -> None:
    model = paper_model(continuous="auto").fit(X, ["p", "q"])
    assert snapshot(model, X) == snapshot(paper_model().fit(X, ["p", "q"]), X)


def test_all_containers_of_numbers_say_the_same() -> None:
    numbers = [n / 4 for n in range(30)]
    y = ["pq"[n // 7 % 2] for n in range(30)]
    expected = paper_model(continuous=["x0"]).fit([{"x0": n} for n in numbers], y)
    for make in FLOATS.values():
        model = paper_model(continuous=["x0"]).fit(make(numbers), y)
        assert model.corpus_.drop("mass").equals(expected.corpus_.drop("mass"))
        np.testing.assert_allclose(model.corpus_["mass"], expected.corpus_["mass"], rtol=1e-12)
        np.testing.assert_allclose(
            model.predict_proba(make(numbers)), expected.predict_proba([{"x0": n} for n in numbers])
        )


def test_the_warning_names_the_way_out_and_ends_there() -> None:
    X = pl.DataFrame({"age": [n + 0.5 for n in range(30)]})
    y = ["p", "q"] * 15
    with pytest.warns(HardlyCategoricalWarning, match=r"column 'age'.* name it in continuous=\["):
        paper_model().fit(X, y)
    for continuous in ("auto", ["age"], {"age": 4}, {"age": [0, 9, 30]}):
        paper_model(continuous=continuous).fit(X, y)  # warnings are errors here


# ---------------------------------------------------------------- what is refused


BAD_SCALES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown column": (
        {"continuous": ["age"]},
        "no column 'age', which continuous names; .*'n', 's'",
    ),
    "an unknown column with knots": (
        {"continuous": {"age": 3}},
        "no column 'age', which continuous names",
    ),
    "an unknown order": (
        {"ordinal": {"age": ["a"]}},
        "no column 'age', which ordinal names; .*'n', 's'",
    ),
    "words": (
        {"continuous": ["c"]},
        "column 'c', item 0: 'u' is not a number; take the column out",
    ),
    "words with knots": ({"continuous": {"c": [0, 1]}}, "column 'c', item 0: 'u' is not a number"),
    "one knot": (
        {"continuous": {"n": 1}},
        "column 'n': continuous: give a number of knots, 2 or more",
    ),
    "half a knot": (
        {"continuous": {"n": 2.5}},
        "column 'n': continuous: give a number of knots, 2 or more",
    ),
    "no number of knots": (
        {"continuous": {"n": "many"}},
        "column 'n': continuous: give a number of knots",
    ),
    "nothing": (
        {"continuous": {"n": None}},
        "column 'n': continuous: give a number of knots, 2 or more",
    ),
    "no knots": (
        {"continuous": {"n": []}},
        "column 'n': continuous: knots must be finite and ascending",
    ),
    "falling knots": (
        {"continuous": {"n": [2, 1]}},
        "column 'n': continuous: knots must be .*ascending",
    ),
    "equal knots": (
        {"continuous": {"n": [1, 1]}},
        "column 'n': continuous: knots must be .*ascending",
    ),
    "infinite knots": (
        {"continuous": {"n": [0, INF]}},
        "column 'n': continuous: knots must be finite",
    ),
    "knots of no number": (
        {"continuous": {"n": [0, math.nan]}},
        "column 'n': continuous: knots must be finite",
    ),
    "knots of words": (
        {"continuous": {"n": ["low", "high"]}},
        "column 'n': continuous: knots must be",
    ),
    "a table of knots": (
        {"continuous": {"n": [[0, 1], [2, 3]]}},
        "column 'n': continuous: knots must be",
    ),
    "both": (
        {"continuous": ["n"], "ordinal": {"n": [1]}},
        "column 'n': .* both in continuous and in ordinal",
    ),
    "a value twice": (
        {"ordinal": {"s": ["lo", "mid", "hi", "lo"]}},
        "column 's': ordinal: give each value",
    ),
    "one number twice": ({"ordinal": {"n": [1, 1.0]}}, "column 'n': ordinal: give each value once"),
    "no value": ({"ordinal": {"s": []}}, "column 's': ordinal: give each value once, lowest first"),
    "a missing value": ({"ordinal": {"s": [None, "lo"]}}, "column 's': ordinal: a missing"),
    "no list": ({"ordinal": {"s": 3}}, "column 's': ordinal: give a list"),
    "a text": ({"ordinal": {"s": "lo"}}, "column 's': ordinal: give a list"),
    "a value beyond the order": (
        {"ordinal": {"s": ["lo", "hi"]}},
        "column 's', item 1: 'mid' is not in the order given by ordinal; add it",
    ),
}


@pytest.mark.parametrize(("options", "words"), BAD_SCALES.values(), ids=BAD_SCALES.keys())
def test_bad_scales_are_refused(options: dict[str, Any], words: str) -> None:
    fresh = paper_model(**options)
    with pytest.raises((DataError, ParameterError), match=words) as caught:
        fresh.fit(X, Y)
    error = caught.value
    named = error.missing if isinstance(error, MissingColumnError) else error.column
    assert named in {*options.get("continuous", ()), *options.get("ordinal", ())}
    assert not hasattr(fresh, "classes_")
    model = paper_model(**KNOWN).fit(X, Y)
    before = snapshot(model, X)
    model.set_params(**{"continuous": None, "ordinal": None, **options})
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)
    assert snapshot(model, X) == before


@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_a_value_beyond_the_order_is_not_learnt_later(method: str) -> None:
    model = paper_model(**KNOWN).fit(X, Y)
    before = snapshot(model, X)
    with pytest.raises(DataError, match=r"'top' is not in the order") as caught:
        getattr(model, method)([{"s": "lo"}, {"s": ["lo", "top"]}], ["p", "p"])
    assert (caught.value.column, caught.value.item) == ("s", 1)
    assert snapshot(model, X) == before


@pytest.mark.parametrize("value", ["tall", "nan", "", "2024-01-01", True])
@pytest.mark.parametrize(
    "method", ["partial_fit", "unlearn", "predict", "predict_proba", "explain_local"]
)
def test_what_is_no_number_is_refused(value: Any, method: str) -> None:
    model = paper_model(**KNOWN).fit(X, Y)
    before = snapshot(model, X)
    labels = [["p"]] if method in ("partial_fit", "unlearn") else []
    words = rf"column 'n', item 0: '{value}' is not a number; take the column out of continuous"
    with pytest.raises(ValueError, match=words):
        getattr(model, method)([{"n": value}], *labels)
    assert snapshot(model, X) == before


def test_a_column_without_any_number_has_no_knots() -> None:
    for cell in (None, math.nan, INF, []):
        model = paper_model(continuous=["n"])
        with pytest.raises(
            ValueError, match=r"'n': the column has no number to set knots by; take"
        ):
            model.fit([{"n": cell, "c": "u"}, {"c": "v"}], ["p", "q"])
        assert not hasattr(model, "classes_")
    model = paper_model(continuous=["n"], missing="category")
    with pytest.raises(ValueError, match=r"'n': the column has no number"):
        model.fit([{"n": None, "c": "u"}], ["p"])
