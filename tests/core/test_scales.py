"""Numbers and order: the weights of neighbouring categories, as plain formulas give them."""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc._core.scales import Knots
from stc.exceptions import DataError
from support.models import paper_model
from support.oracle import Bag, Hyper, learn
from support.scale_cases import (
    FEWER,
    INF,
    assert_learnt,
    assert_predicts,
    hats,
    intervals,
    leaks,
    of_knots,
    of_order,
    readable,
    spread,
)
from support.strategies import bag, hypers, sample_weights, soft

# ---------------------------------------------------------------- against the model


def weights_of(number: Any, knots: Sequence[float]) -> dict[str, float]:
    """The weights of one number, as the model has learnt them."""
    model = paper_model(continuous={"x": list(knots)}).fit([{"x": number}], ["p"])
    return dict(zip(model.corpus_["value"], model.corpus_["mass"], strict=True))


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


@FEWER
@given(st.data(), KNOTS, st.sampled_from(("ignore", "category")), hypers())
def test_numbers_are_hats(
    draws: st.DataObject, knots: list[float], missing: str, hyper: Hyper
) -> None:
    record = st.fixed_dictionaries({"n": cells(), "c": st.sampled_from(("u", "v", None))})
    records = draws.draw(st.lists(record, min_size=1, max_size=6))
    y = draws.draw(st.lists(st.sampled_from("pqr"), min_size=len(records), max_size=len(records)))
    weights = draws.draw(sample_weights(len(records), 0.0))
    model = paper_model(
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
    model = paper_model(continuous={"x": knots}).fit(X, ["p"] * len(X))
    assert model.get_feature_names_out().tolist() == [f"x={name}" for name in names]


def test_knots_as_close_as_numbers_can_be() -> None:
    knots = [1.0]
    for _ in range(5):
        knots.append(math.nextafter(knots[-1], 2))
    X = [{"x": knot} for knot in knots]
    model = paper_model(continuous={"x": knots}).fit(X, list("pqrstu"))
    assert len(set(model.get_feature_names_out())) == 6
    assert model.predict(X).tolist() == list("pqrstu")


def test_a_number_between_two_knots_by_hand() -> None:
    assert weights_of(37, [30, 36, 45]) == pytest.approx({"33 to 40.5": 8 / 9, "above 40.5": 1 / 9})
    assert weights_of(29, [30, 36, 45]) == {"below 33": 1}
    assert weights_of(1e9, [30, 36, 45]) == {"above 40.5": 1}


# ---------------------------------------------------------------- order


SIZES = ["S", "M", "L", "XL", "XXL"]


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_an_ordinal_value_leaks_to_its_neighbours(length: int) -> None:
    order = SIZES[:length]
    X = [{"size": value} for value in order]
    y = [f"is {value}" for value in order]
    model = paper_model(ordinal={"size": order}).fit(X, y)
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
    model = paper_model(
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
    model = paper_model(ordinal={"stars": [1, 2, 3]}).fit(X, list("abcc"))
    expected = paper_model(ordinal={"stars": ["1", "2", "3"]})
    assert model.corpus_.equals(expected.fit(X, list("abcc")).corpus_)
    assert model.get_feature_names_out().tolist() == ["stars=1", "stars=2", "stars=3"]


# ---------------------------------------------------------------- refusals


def test_the_first_item_that_is_not_a_number_is_named() -> None:
    X = [{"x": 1}, {"x": None}, {"x": "many"}, {"x": "few"}, {"x": "few"}]
    with pytest.raises(DataError, match="'many' is not a number; take the column out") as caught:
        paper_model(continuous=["x"]).fit(X, [*"pqpqp"])
    assert (caught.value.column, caught.value.item) == ("x", 2)
    model = paper_model(continuous={"x": [0, 1]}).fit([{"x": 1}, {"x": 0}], [*"pq"])
    with pytest.raises(DataError, match="'few' is not a number") as caught:
        model.predict([{"x": 2}, {"x": [1, "few"]}, {"x": "many"}])
    assert (caught.value.column, caught.value.item) == ("x", 1)


@given(
    st.lists(st.tuples(st.integers(-900, 900), st.integers(1, 4)), min_size=1, max_size=30),
    st.integers(2, 6),
)
def test_a_number_that_occurs_several_times(pairs: list[tuple[int, int]], count: int) -> None:
    numbers, times = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    every = np.repeat(numbers, times.astype(int))
    assert Knots.of(numbers, count, times) == Knots.of(every, count)
    _, first = np.unique(every, return_index=True)
    if len(first) == len(every) > count:
        wanted = np.quantile(every, np.linspace(0, 1, count))
        np.testing.assert_allclose(Knots.of(every, count).knots, np.unique(wanted), atol=1e-12)
