"""Numbers and order: the weights of neighbouring categories, as plain formulas give them."""

import math
import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from stc import HardlyCategoricalWarning, SparseTensorClassifier
from support.oracle import Bag, Hyper, Oracle, learn, observation
from support.strategies import PROFILE, bag, hypers, sample_weights, soft

Weights: TypeAlias = dict[str | None, Fraction]

FEWER = settings(PROFILE, max_examples=25)
INF = math.inf
# How many knots a number has unless the caller says so, as the documentation has it.
DEFAULT = 20


# ---------------------------------------------------------------- plain formulas


def hats(number: float, knots: Sequence[float]) -> list[Fraction]:
    """How much of a number each knot has: piecewise linear, constant beyond the ends."""
    if number <= knots[0] or number >= knots[-1]:
        end = 0 if number <= knots[0] else len(knots) - 1
        return [Fraction(place == end) for place in range(len(knots))]
    x, t = Fraction(number), [Fraction(knot) for knot in knots]
    result = [Fraction(0)] * len(t)
    for place in range(len(t) - 1):
        if t[place] <= x <= t[place + 1]:
            result[place + 1] = (x - t[place]) / (t[place + 1] - t[place])
            result[place] = 1 - result[place + 1]
    return result


def intervals(knots: Sequence[float]) -> list[str]:
    """The names: bounds half-way between knots, in the fewest digits that tell them apart."""
    if len(knots) == 1:
        return ["any"]
    middles = [(a + b) / 2 for a, b in pairwise(knots)]
    digits = 3
    while len({f"{m:.{digits}g}" for m in middles}) < len(middles):
        digits += 1
    bounds = [f"{m:.{digits}g}" for m in middles]
    inner = [f"{a} to {b}" for a, b in pairwise(bounds)]
    return [f"below {bounds[0]}", *inner, f"above {bounds[-1]}"]


def leaks(value: str, order: Sequence[str]) -> Weights:
    """Half of a value is its neighbours': a quarter each, or at an end a third instead."""
    place = order.index(value)
    near = [order[n] for n in (place - 1, place + 1) if 0 <= n < len(order)]
    if not near:
        return {value: Fraction(1)}
    itself = Fraction(1, 2) if len(near) == 2 else Fraction(2, 3)
    return {value: itself, **dict.fromkeys(near, (1 - itself) / len(near))}


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


def spread(single: Bag, scales: Mapping[str, Callable[[str], Weights]]) -> Bag:
    """A bag with the values of some attributes as weights of categories; missing stays missing."""
    result: dict[Any, Fraction] = {}
    for (attribute, value), weight in single.items():  # type: ignore[misc]
        scale = scales.get(attribute)
        parts = {value: Fraction(1)} if scale is None or value is None else scale(value)
        for part, share in parts.items():
            if share:
                feature = attribute, part
                result[feature] = result.get(feature, Fraction(0)) + share * Fraction(weight)
    return result


def of_knots(knots: Sequence[float]) -> Callable[[str], Weights]:
    names = intervals(knots)
    return lambda value: dict(zip(names, hats(float(value), knots), strict=True))


def of_order(order: Sequence[str]) -> Callable[[str], Weights]:
    return lambda value: leaks(value, order) if value in order else {value: Fraction(1)}


# ---------------------------------------------------------------- against the model


def table(corpus: pl.DataFrame, column: str) -> dict[Any, Any]:
    keys = zip(corpus["attribute"], corpus["value"], corpus["class"], strict=True)
    return {((a, v), c): number for (a, v, c), number in zip(keys, corpus[column], strict=True)}


def assert_learnt(model: SparseTensorClassifier, truth: Oracle) -> None:
    assert list(model.classes_) == truth.classes
    assert table(model.corpus_, "support") == truth.support
    mass = {entry: float(c) for entry, c in truth.corpus.items()}
    assert table(model.corpus_, "mass") == pytest.approx(mass, rel=1e-12, abs=1e-15)
    masses = [float(truth.class_mass[i]) for i in truth.classes]
    np.testing.assert_allclose(model.class_mass_, masses, rtol=1e-12)


def assert_predicts(
    model: SparseTensorClassifier, X: Any, questions: Sequence[Bag], truth: Oracle, hyper: Hyper
) -> None:
    expected = np.array([truth.probabilities(own, hyper) for own in questions])
    tolerance = truth.tolerance(hyper)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=tolerance)
    covered = [truth.coverage(own) for own in questions]
    np.testing.assert_allclose(model.coverage(X), covered, rtol=0, atol=1e-12)


def snapshot(model: SparseTensorClassifier, X: Any) -> tuple[Any, ...]:
    return (
        model.corpus_.rows(),
        model.classes_.tolist(),
        model.class_mass_.tobytes(),
        model.get_feature_names_out().tolist(),
        model.predict_proba(X).tobytes(),
    )


def weights_of(number: Any, knots: Sequence[float]) -> dict[str, float]:
    """The weights of one number, as the model has learnt them."""
    model = SparseTensorClassifier(continuous={"x": list(knots)}).fit([{"x": number}], ["p"])
    return dict(zip(model.corpus_["value"], model.corpus_["mass"], strict=True))


def knots_of(numbers: Sequence[Any], count: int | None = None) -> list[str]:
    """The names of the intervals that a model makes of a column."""
    continuous = ["x"] if count is None else {"x": count}
    X = [{"x": number} for number in numbers]
    model = SparseTensorClassifier(continuous=continuous).fit(X, ["p"] * len(X))
    return model.corpus_["value"].to_list()


KNOTS = st.sets(st.integers(-40, 40).map(lambda n: n / 8), min_size=1, max_size=6).map(sorted)
# On and between the knots, far beyond them, and in any type.
NUMBERS = (
    st.integers(-6, 6)
    | st.integers(-64, 64).map(lambda n: n / 16)
    | st.sampled_from((INF, -INF, 1e300, -1e9, "0.5", "-2", " 3", np.float32(0.25), Decimal("1.5")))
)


@st.composite
def cells(draw: st.DrawFn) -> Any:
    """One number, several, or weights of several."""
    several = st.lists(NUMBERS | st.none(), max_size=3)
    weighted = st.dictionaries(NUMBERS, st.sampled_from((0.0, 0.5, 2.0)), max_size=3)
    return draw(NUMBERS | st.none() | st.just(math.nan) | several | weighted)


def readable(cell: Any) -> Any:
    """The cell with its numbers as the text of a category, for the plain reading of records."""
    if isinstance(cell, list):
        return [readable(own) for own in cell]
    if isinstance(cell, dict):
        result: dict[Any, float] = {}
        for own, weight in cell.items():
            result[readable(own)] = result.get(readable(own), 0.0) + weight
        return result
    missing = cell is None or cell != cell
    return None if missing else cell if isinstance(cell, str) else repr(float(cell))


@FEWER
@given(st.data(), KNOTS, st.sampled_from(("ignore", "category")), hypers())
def test_numbers_are_hats(
    draws: st.DataObject, knots: list[float], missing: str, hyper: Hyper
) -> None:
    record = st.fixed_dictionaries({"n": cells(), "c": st.sampled_from(("u", "v", None))})
    records = draws.draw(st.lists(record, min_size=1, max_size=6))
    y = draws.draw(st.lists(st.sampled_from("pqr"), min_size=len(records), max_size=len(records)))
    weights = draws.draw(sample_weights(len(records), 0.0))
    model = SparseTensorClassifier(
        hyper.power, hyper.balance, hyper.entropy, continuous={"n": knots}, missing=missing
    ).fit(records, y, weights)

    def bags(several: Sequence[Any]) -> list[Bag]:
        plain = [{**own, "n": readable(own["n"])} for own in several]
        singles = [bag(own, ("n", "c"), missing) for own in plain]
        return [spread(single, {"n": of_knots(knots)}) for single in singles]

    truth = learn(bags(records), soft(y), weights)
    assert_learnt(model, truth)
    asked = [*draws.draw(st.lists(record, max_size=3)), {"n": 0.3, "c": "never learnt"}]
    assert_predicts(model, asked, bags(asked), truth, hyper)


@FEWER
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8, unique=True), st.data())
def test_the_weights_of_any_number_sum_to_one(drawn: list[float], draws: st.DataObject) -> None:
    knots = sorted(drawn)
    number = draws.draw(st.floats(-2e6, 2e6) | st.sampled_from((*knots, INF, -INF)))
    found = weights_of(number, knots)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)
    expected = dict(zip(intervals(knots), map(float, hats(number, knots)), strict=True))
    for name, weight in expected.items():
        assert found.get(name, 0.0) == pytest.approx(weight, abs=1e-9)
    assert set(found) <= set(expected)
    if number in knots:
        assert list(found.values()) == [1]


def bounds_of(name: str) -> list[float]:
    """What the name of an interval says."""
    if name.startswith("below "):
        return [-INF, float(name.removeprefix("below "))]
    if name.startswith("above "):
        return [float(name.removeprefix("above ")), INF]
    return [float(bound) for bound in name.split(" to ")]


@FEWER
@given(st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=8, unique=True), st.data())
def test_a_number_is_heaviest_in_the_interval_that_names_it(
    drawn: list[float], draws: st.DataObject
) -> None:
    knots = sorted(drawn)
    names = intervals(knots)
    assert len(set(names)) == len(names) == len(knots)
    number = draws.draw(st.floats(-2e4, 2e4))
    found = weights_of(number, knots)
    heaviest = max(found, key=found.__getitem__)
    place = names.index(heaviest)
    middles = [-INF, *((a + b) / 2 for a, b in pairwise(knots)), INF]
    slack = 1e-9 * max(map(abs, knots))
    assert middles[place] - slack <= number <= middles[place + 1] + slack
    # The bounds are written in three digits or more.
    assert bounds_of(heaviest) == pytest.approx(middles[place : place + 2], rel=0.005, abs=0)


@pytest.mark.parametrize(
    ("knots", "names"),
    [
        ([0, 10, 20], ["below 5", "5 to 15", "above 15"]),
        ([30, 36, 45], ["below 33", "33 to 40.5", "above 40.5"]),
        ([0, 1], ["below 0.5", "above 0.5"]),
        ([7], ["any"]),
        ([0.1, 0.2, 0.3], ["below 0.15", "0.15 to 0.25", "above 0.25"]),
        ([1000.1, 1000.2, 1000.3], ["below 1000.15", "1000.15 to 1000.25", "above 1000.25"]),
        ([123456, 123458, 123462], ["below 123457", "123457 to 123460", "above 123460"]),
        ([-1e-9, 0, 1e9], ["below -5e-10", "-5e-10 to 5e+08", "above 5e+08"]),
    ],
)
def test_intervals_by_hand(knots: list[float], names: list[str]) -> None:
    assert intervals(knots) == names
    X = [{"x": knot} for knot in knots]
    model = SparseTensorClassifier(continuous={"x": knots}).fit(X, ["p"] * len(X))
    assert model.get_feature_names_out().tolist() == [f"x={name}" for name in names]


def test_knots_as_close_as_numbers_can_be() -> None:
    knots = [1.0]
    for _ in range(5):
        knots.append(math.nextafter(knots[-1], 2))
    X = [{"x": knot} for knot in knots]
    model = SparseTensorClassifier(continuous={"x": knots}).fit(X, list("pqrstu"))
    assert len(set(model.get_feature_names_out())) == 6
    assert model.predict(X).tolist() == list("pqrstu")


def test_a_number_between_two_knots_by_hand() -> None:
    assert weights_of(37, [30, 36, 45]) == pytest.approx({"33 to 40.5": 8 / 9, "above 40.5": 1 / 9})
    assert weights_of(29, [30, 36, 45]) == {"below 33": 1}
    assert weights_of(1e9, [30, 36, 45]) == {"above 40.5": 1}


# ---------------------------------------------------------------- knots at quantiles


@FEWER
@given(
    st.lists(st.integers(-20, 20).map(lambda n: n / 4), min_size=1, max_size=40),
    st.integers(2, 6),
)
def test_knots_are_quantiles(numbers: list[float], count: int) -> None:
    knots = quantile_knots(numbers, count)
    X = [{"x": number} for number in numbers]
    y = ["pq"[n % 2] for n in range(len(X))]
    model = SparseTensorClassifier(continuous={"x": count}).fit(X, y)
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
    model = SparseTensorClassifier(continuous=["x"]).fit(X, y)
    knots = quantile_knots(numbers, DEFAULT)
    assert len(knots) == DEFAULT
    zero = model.corpus_.filter(pl.col("class") == "zero")
    assert zero.select("value", "support").rows() == [(intervals(knots)[0], 920)]
    assert (model.predict(X) == y).all()


def test_a_constant_column_is_one_category() -> None:
    assert knots_of([5, 5, 5]) == ["any"]
    model = SparseTensorClassifier(continuous=["x"]).fit([{"x": 5}, {"x": 5}], ["p", "q"])
    assert model.coverage([{"x": 5}, {"x": 7}, {"x": None}, {"x": INF}]).tolist() == [1, 1, 0, 1]


def test_infinities_set_no_knots() -> None:
    finite = [1.0, 2.0, 4.0, 8.0]
    names = intervals(quantile_knots(finite, 3))
    X = [{"x": number} for number in (*finite, INF, -INF)]
    model = SparseTensorClassifier(continuous={"x": 3}).fit(X, ["f"] * 4 + ["high", "low"])
    rows = model.corpus_.select("value", "class", "mass").rows()
    assert {name for name, _, _ in rows} == set(names)
    assert (names[0], "low", 1.0) in rows
    assert (names[-1], "high", 1.0) in rows


def test_integers_are_numbers_too() -> None:
    X = pl.DataFrame({"age": [20, 30, 40, 50, 60]})
    model = SparseTensorClassifier(continuous={"age": 3}).fit(X, list("ppqqq"))
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
        return SparseTensorClassifier(continuous="auto").fit(X, y).get_feature_names_out().tolist()


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
    model = SparseTensorClassifier(continuous="auto").fit(X, ["p", "q", "r"] * 7)
    named = model.corpus_.group_by("attribute").agg(pl.col("value").unique().sort()).rows()
    values = dict(named)
    assert values["k"] == ["0.5", "1.5", "2.5"]
    assert values["c"] == ["u", "v", "w"]
    assert set(values["n"]) == set(intervals(quantile_knots(MANY, DEFAULT)))


@pytest.mark.parametrize("X", [["1.5 2.5", "3.5"], sparse.csr_array([[1.5, 2.5], [0, 3.5]])])
def test_auto_changes_nothing_where_there_are_no_columns_of_floats(X: Any) -> None:
    model = SparseTensorClassifier(continuous="auto").fit(X, ["p", "q"])
    assert snapshot(model, X) == snapshot(SparseTensorClassifier().fit(X, ["p", "q"]), X)


def test_all_containers_of_numbers_say_the_same() -> None:
    numbers = [n / 4 for n in range(30)]
    y = ["pq"[n // 7 % 2] for n in range(30)]
    expected = SparseTensorClassifier(continuous=["x0"]).fit([{"x0": n} for n in numbers], y)
    for make in FLOATS.values():
        model = SparseTensorClassifier(continuous=["x0"]).fit(make(numbers), y)
        assert model.corpus_.drop("mass").equals(expected.corpus_.drop("mass"))
        np.testing.assert_allclose(model.corpus_["mass"], expected.corpus_["mass"], rtol=1e-12)
        np.testing.assert_allclose(
            model.predict_proba(make(numbers)), expected.predict_proba([{"x0": n} for n in numbers])
        )


def test_the_warning_names_the_way_out_and_ends_there() -> None:
    X = pl.DataFrame({"age": [n + 0.5 for n in range(30)]})
    y = ["p", "q"] * 15
    with pytest.warns(HardlyCategoricalWarning, match=r"column 'age'.* name it in continuous=\["):
        SparseTensorClassifier().fit(X, y)
    for continuous in ("auto", ["age"], {"age": 4}, {"age": [0, 9, 30]}):
        SparseTensorClassifier(continuous=continuous).fit(X, y)  # warnings are errors here


# ---------------------------------------------------------------- order

SIZES = ["S", "M", "L", "XL", "XXL"]


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_an_ordinal_value_leaks_to_its_neighbours(length: int) -> None:
    order = SIZES[:length]
    X = [{"size": value} for value in order]
    y = [f"is {value}" for value in order]
    model = SparseTensorClassifier(ordinal={"size": order}).fit(X, y)
    for value, label in zip(order, y, strict=True):
        own = model.corpus_.filter(pl.col("class") == label)
        found = dict(zip(own["value"], own["mass"], strict=True))
        assert found == pytest.approx({v: float(w) for v, w in leaks(value, order).items()})


def test_the_kernel_by_hand() -> None:
    assert leaks("M", SIZES) == {"S": 0.25, "M": 0.5, "L": 0.25}
    assert leaks("S", SIZES) == {"S": Fraction(2, 3), "M": Fraction(1, 3)}
    assert leaks("XXL", SIZES) == {"XXL": Fraction(2, 3), "XL": Fraction(1, 3)}


@FEWER
@given(st.data(), st.integers(1, 5), st.sampled_from(("ignore", "category")), hypers())
def test_orders(draws: st.DataObject, length: int, missing: str, hyper: Hyper) -> None:
    order = SIZES[:length]
    value = st.sampled_from(order)
    several = st.lists(value | st.none(), max_size=3)
    weighted = st.dictionaries(value, st.sampled_from((0.0, 0.5, 2.0)), max_size=3)
    size = value | st.none() | several | weighted
    record = st.fixed_dictionaries({"size": size, "c": st.sampled_from(("u", "v", None))})
    records = draws.draw(st.lists(record, min_size=1, max_size=6))
    y = draws.draw(st.lists(st.sampled_from("pqr"), min_size=len(records), max_size=len(records)))
    model = SparseTensorClassifier(
        hyper.power, hyper.balance, hyper.entropy, ordinal={"size": order}, missing=missing
    ).fit(records, y)

    def bags(several: Sequence[Any]) -> list[Bag]:
        singles = [bag(own, ("size", "c"), missing) for own in several]
        return [spread(single, {"size": of_order(order)}) for single in singles]

    truth = learn(bags(records), soft(y))
    assert_learnt(model, truth)
    # What is not in the order was never seen: it contributes nothing, and is not covered.
    asked = [*records[:2], {"size": "huge", "c": "u"}, {"size": ["S", "huge"], "c": None}]
    assert_predicts(model, asked, bags(asked), truth, hyper)


def test_an_order_of_numbers() -> None:
    X = pl.DataFrame({"stars": [1.0, 2.0, 3.0, None]})
    model = SparseTensorClassifier(ordinal={"stars": [1, 2, 3]}).fit(X, list("abcc"))
    expected = SparseTensorClassifier(ordinal={"stars": ["1", "2", "3"]})
    assert model.corpus_.equals(expected.fit(X, list("abcc")).corpus_)
    assert model.get_feature_names_out().tolist() == ["stars=1", "stars=2", "stars=3"]


# ---------------------------------------------------------------- with the rest of the model

KNOWN: dict[str, Any] = {"continuous": {"n": [0, 1, 4]}, "ordinal": {"s": ["lo", "mid", "hi"]}}
SCALES = {"n": of_knots([0, 1, 4]), "s": of_order(["lo", "mid", "hi"])}
X = [
    {"n": 0.25, "s": "lo", "c": "u"},
    {"n": 3, "s": "mid", "c": "v"},
    {"n": None, "s": "hi", "c": "u"},
    {"n": -7.5, "s": None},
    {"n": 0.5, "s": "mid", "c": "v"},
    {"n": 9.5, "s": "lo"},
]
Y = ["p", "q", "q", "p", "r", "r"]


def expected_bags(records: Sequence[Any], missing: str = "ignore") -> list[Bag]:
    plain = [{**own, "n": readable(own.get("n"))} for own in records]
    return [spread(bag(own, ("n", "s", "c"), missing), SCALES) for own in plain]


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_conjunctions_of_scales(order: int, missing: str) -> None:
    model = SparseTensorClassifier(**KNOWN, interactions=order, missing=missing).fit(X, Y)

    def bags(records: Sequence[Any]) -> list[Bag]:
        result: list[Bag] = []
        for single in expected_bags(records, missing):
            by_name: dict[str, dict[Any, Any]] = {}
            for (attribute, value), weight in single.items():  # type: ignore[misc]
                by_name.setdefault(attribute, {})[value] = weight
            chosen = [
                [name for name, taken in zip(sorted(by_name), mask, strict=True) if taken]
                for mask in product((False, True), repeat=len(by_name))
            ]
            own: dict[Any, Fraction] = {}
            for names in chosen:
                if 0 < len(names) <= order:
                    for values in product(*(by_name[name] for name in names)):
                        parts = [by_name[n][v] for n, v in zip(names, values, strict=True)]
                        own[tuple(names), values] = math.prod(parts, start=Fraction(1))
            result.append(own)
        return result

    truth = learn(bags(X), soft(Y))
    corpus = model.corpus_
    found = {((tuple(a), tuple(v)), c): (m, n) for a, v, c, m, n in corpus.rows()}
    assert {entry: n for entry, (_, n) in found.items()} == truth.support
    mass = {entry: float(c) for entry, c in truth.corpus.items()}
    assert {entry: m for entry, (m, _) in found.items()} == pytest.approx(mass, rel=1e-12)
    assert_predicts(model, X, bags(X), truth, Hyper())
    assert "n=below 0.5 and s=lo" in set(model.get_feature_names_out())


def test_dimensions_of_scales() -> None:
    model = SparseTensorClassifier(**KNOWN, dimensions=[["n"], ["s"]]).fit(X, Y)
    questions = []
    for single in expected_bags(X):
        n, s = (
            observation({j: w for j, w in single.items() if j[0] == name})  # type: ignore[index]
            for name in "ns"
        )
        questions.append({(a, b): n[a] * s[b] for a in n for b in s})
    truth = learn(questions, soft(Y))
    expected = [truth.probabilities(own, Hyper()) for own in questions]
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-12)


def test_explanations_name_the_interval() -> None:
    model = SparseTensorClassifier(**KNOWN).fit(X, Y)
    explanation = model.explain([{"n": 0.25, "s": "lo"}])
    truth = learn(expected_bags(X), soft(Y))
    parts = truth.contributions(expected_bags([{"n": 0.25, "s": "lo"}])[0], Hyper())
    label = explanation.labels[0]
    expected = {j: float(w) for (j, i), w in parts.items() if i == label and w}
    rows = explanation.table.to_dicts()
    assert {(r["attribute"], r["value"]): r["contribution"] for r in rows} == pytest.approx(
        expected
    )
    names = {f"{attribute}={value}" for attribute, value in expected}
    assert names == {row["feature"] for row in rows}
    assert "n=below 0.5" in explanation.sentences()[0]


@pytest.mark.parametrize("order", [1, 2])
def test_theta_turns_all_of_a_number(order: int) -> None:
    generator = np.random.default_rng(2)
    model = SparseTensorClassifier(**KNOWN, interactions=order).fit(X, Y)
    plain = SparseTensorClassifier(interactions=order)
    # The same weights, as the categories of a record.
    scaled = []
    for single in expected_bags(X):
        record: dict[str, dict[Any, float]] = {}
        for (attribute, value), weight in single.items():  # type: ignore[misc]
            record.setdefault(attribute, {})[value] = float(weight)
        scaled.append(record)
    plain.fit(scaled, Y)
    theta = [{name: generator.uniform(-3, 3) for name in "nsc"} for _ in X]
    np.testing.assert_allclose(
        model.predict_proba(X, theta), plain.predict_proba(scaled, theta), rtol=0, atol=1e-12
    )
    assert not np.allclose(model.predict_proba(X, theta), model.predict_proba(X), atol=1e-3)
    zero = [dict.fromkeys("nsc", 0.0) for _ in X]
    np.testing.assert_array_equal(model.predict_proba(X, zero), model.predict_proba(X))


def test_theta_by_hand() -> None:
    # Both hats of 1/4 have the angle of the cell, so a quarter turn between n and c.
    model = SparseTensorClassifier(1, 0, 0, continuous={"n": [0, 1]})
    model.fit([{"n": 0.25, "c": "u"}, {"n": 1, "c": "v"}], ["p", "q"])
    truth = learn(
        [{"low": Fraction(3, 4), "high": Fraction(1, 4), "u": 1}, {"high": 1, "v": 1}],
        soft(["p", "q"]),
    )
    asked = {"low": Fraction(1, 2), "high": Fraction(1, 2), "u": 1}
    U = dict.fromkeys("pq", 0j)
    for (j, i), w in truth.contributions(asked, Hyper(1, 0, 0)).items():
        U[i] += float(w) * (1j if j in ("low", "high") else 1)
    expected = np.abs([U["p"], U["q"]])
    found = model.predict_proba([{"n": 0.5, "c": "u"}], [{"n": math.pi / 2}])
    np.testing.assert_allclose(found, [expected / expected.sum()], rtol=0, atol=1e-12)


def test_theta_needs_one_number_a_cell() -> None:
    model = SparseTensorClassifier(**KNOWN).fit(X, Y)
    before = snapshot(model, X)
    with pytest.raises(ValueError, match=r"column 'n': theta needs one number a cell"):
        model.predict([{"n": [1, 2]}], [{"n": 0.5}])
    assert snapshot(model, X) == before


@pytest.mark.parametrize("missing", ["ignore", "category"])
@pytest.mark.parametrize("cut", range(1, 6))
def test_parts_make_a_whole(cut: int, missing: str) -> None:
    records = X if missing == "ignore" else [{"n": None, "s": None, "c": None, **own} for own in X]
    options = {**KNOWN, "missing": missing}
    truth = learn(expected_bags(records, missing), soft(Y))
    parts = SparseTensorClassifier(**options)
    for part in (slice(cut, None), slice(cut)):
        parts.partial_fit(records[part], Y[part])
    assert_learnt(parts, truth)
    first = SparseTensorClassifier(**options).fit(records[:cut], Y[:cut])
    second = SparseTensorClassifier(**options).fit(records[cut:], Y[cut:])
    assert_learnt(first + second, truth)
    assert_learnt(second + first, truth)
    assert_predicts(first + second, records, expected_bags(records, missing), truth, Hyper())
    parts.unlearn(records[cut:], Y[cut:])
    assert_learnt(parts, learn(expected_bags(records[:cut], missing), soft(Y[:cut])))
    assert parts.corpus_.drop("mass").equals(first.corpus_.drop("mass"))


def test_knots_stay_those_of_the_first_batch() -> None:
    first = [{"n": number} for number in (0, 1, 2, 3)]
    later = [{"n": number} for number in (1.5, 100, -100)]
    model = SparseTensorClassifier(continuous={"n": 2}).fit(first, list("pppq"))
    model.partial_fit(later, list("qqp"))
    given_ = SparseTensorClassifier(continuous={"n": [0, 3]}).fit(first + later, list("pppqqqp"))
    assert model.corpus_.drop("mass").equals(given_.corpus_.drop("mass"))
    np.testing.assert_allclose(model.corpus_["mass"], given_.corpus_["mass"], rtol=1e-12)
    model.set_params(continuous=None, ordinal=None)  # they act when the first batch is learnt
    np.testing.assert_array_equal(model.predict_proba(later), given_.predict_proba(later))
    twin = pickle.loads(pickle.dumps(model))
    assert snapshot(twin, later) == snapshot(model, later)
    assert twin.fit(first, list("pppq")).get_feature_names_out().tolist() == [
        "n=0",
        "n=1",
        "n=2",
        "n=3",
    ]


OTHER_SCALES: dict[str, dict[str, Any]] = {
    "none": {},
    "other knots": {**KNOWN, "continuous": {"n": [0, 1, 5]}},
    "fewer knots": {**KNOWN, "continuous": {"n": [0, 1]}},
    "no numbers": {"ordinal": KNOWN["ordinal"]},
    "another order": {**KNOWN, "ordinal": {"s": ["hi", "mid", "lo"]}},
    "a longer order": {**KNOWN, "ordinal": {"s": ["lo", "mid", "hi", "top"]}},
    "no order": {"continuous": KNOWN["continuous"]},
}


@pytest.mark.parametrize("options", OTHER_SCALES.values(), ids=OTHER_SCALES.keys())
def test_models_of_other_scales_are_not_merged(options: dict[str, Any]) -> None:
    model = SparseTensorClassifier(**KNOWN).fit(X, Y)
    other = SparseTensorClassifier(**options).fit(X, Y)
    before = snapshot(model, X), snapshot(other, X)
    for one, two in ((model, other), (other, model)):
        with pytest.raises(ValueError, match=r"another scale for '[ns]'.*same knots.*same order"):
            one + two
    assert (snapshot(model, X), snapshot(other, X)) == before


# ---------------------------------------------------------------- what is refused

BAD_SCALES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown column": ({"continuous": ["age"]}, "continuous names the column 'age'.*'n', 's'"),
    "an unknown column with knots": ({"continuous": {"age": 3}}, "continuous names .*'age'"),
    "an unknown order": ({"ordinal": {"age": ["a"]}}, "ordinal names the column 'age'.*'n', 's'"),
    "words": ({"continuous": ["c"]}, "column 'c': 'u' is not a number; take the column out"),
    "words with knots": ({"continuous": {"c": [0, 1]}}, "column 'c': 'u' is not a number"),
    "one knot": ({"continuous": {"n": 1}}, "column 'n': give a number of knots from 2"),
    "half a knot": ({"continuous": {"n": 2.5}}, "column 'n': give a number of knots from 2"),
    "no number of knots": ({"continuous": {"n": "many"}}, "column 'n': give a number of knots"),
    "nothing": ({"continuous": {"n": None}}, "column 'n': give a number of knots from 2"),
    "no knots": ({"continuous": {"n": []}}, "column 'n': knots must be finite and ascending"),
    "falling knots": ({"continuous": {"n": [2, 1]}}, "column 'n': knots must be .*ascending"),
    "equal knots": ({"continuous": {"n": [1, 1]}}, "column 'n': knots must be .*ascending"),
    "infinite knots": ({"continuous": {"n": [0, INF]}}, "column 'n': knots must be finite"),
    "knots of no number": (
        {"continuous": {"n": [0, math.nan]}},
        "column 'n': knots must be finite",
    ),
    "knots of words": ({"continuous": {"n": ["low", "high"]}}, "column 'n': knots must be"),
    "a table of knots": ({"continuous": {"n": [[0, 1], [2, 3]]}}, "column 'n': knots must be"),
    "both": ({"continuous": ["n"], "ordinal": {"n": [1]}}, "'n' is both in continuous and in ord"),
    "a value twice": ({"ordinal": {"s": ["lo", "mid", "hi", "lo"]}}, "column 's': give each value"),
    "one number twice": ({"ordinal": {"n": [1, 1.0]}}, "column 'n': give each value once"),
    "no value": ({"ordinal": {"s": []}}, "column 's': give each value once, lowest first"),
    "a missing value": ({"ordinal": {"s": [None, "lo"]}}, "column 's': .*missing"),
    "no list": ({"ordinal": {"s": 3}}, "column 's': give a list"),
    "a text": ({"ordinal": {"s": "lo"}}, "column 's': give a list"),
    "a value beyond the order": (
        {"ordinal": {"s": ["lo", "hi"]}},
        "column 's', item 1: 'mid' is not in the order that ordinal gives it; add it",
    ),
}


@pytest.mark.parametrize(("options", "words"), BAD_SCALES.values(), ids=BAD_SCALES.keys())
def test_bad_scales_are_refused(options: dict[str, Any], words: str) -> None:
    fresh = SparseTensorClassifier(**options)
    with pytest.raises(ValueError, match=words):
        fresh.fit(X, Y)
    assert not hasattr(fresh, "classes_")
    model = SparseTensorClassifier(**KNOWN).fit(X, Y)
    before = snapshot(model, X)
    model.set_params(**{"continuous": None, "ordinal": None, **options})
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)
    assert snapshot(model, X) == before


@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_a_value_beyond_the_order_is_not_learnt_later(method: str) -> None:
    model = SparseTensorClassifier(**KNOWN).fit(X, Y)
    before = snapshot(model, X)
    with pytest.raises(ValueError, match=r"column 's', item 1: 'top' is not in the order"):
        getattr(model, method)([{"s": "lo"}, {"s": ["lo", "top"]}], ["p", "p"])
    assert snapshot(model, X) == before


@pytest.mark.parametrize("value", ["tall", "nan", "", "2024-01-01", True])
@pytest.mark.parametrize(
    "method", ["partial_fit", "unlearn", "predict", "predict_proba", "explain"]
)
def test_what_is_no_number_is_refused(value: Any, method: str) -> None:
    model = SparseTensorClassifier(**KNOWN).fit(X, Y)
    before = snapshot(model, X)
    labels = [["p"]] if method in ("partial_fit", "unlearn") else []
    words = rf"column 'n': '{value}' is not a number; take the column out of continuous"
    with pytest.raises(ValueError, match=words):
        getattr(model, method)([{"n": value}], *labels)
    assert snapshot(model, X) == before


def test_a_column_without_any_number_has_no_knots() -> None:
    for cell in (None, math.nan, INF, []):
        model = SparseTensorClassifier(continuous=["n"])
        with pytest.raises(ValueError, match=r"'n' has no number to set knots by: take it out of"):
            model.fit([{"n": cell, "c": "u"}, {"c": "v"}], ["p", "q"])
        assert not hasattr(model, "classes_")
    model = SparseTensorClassifier(continuous=["n"], missing="category")
    with pytest.raises(ValueError, match=r"'n' has no number"):
        model.fit([{"n": None, "c": "u"}], ["p"])
