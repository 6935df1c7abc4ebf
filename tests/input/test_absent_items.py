"""An item of weight 0 is absent, one of weight 2 is two items, in all that is derived."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stc
from stc import PhaseLearner, PolicyAgent, SparseTensorClassifier
from stc.exceptions import DataError
from support.examples import many
from support.models import paper_model

Records = list[dict[str, Any]]
FORMS: dict[str, Callable[[Records], Any]] = {
    "records": list,
    "tuple": tuple,
    "rows": lambda records: [list(record.values()) for record in records],
    "objects": lambda records: np.array([list(r.values()) for r in records], dtype=object),
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "series": lambda records: pd.Series(records),
}


def items(size: int, seed: int = 0) -> tuple[Records, list[str]]:
    """Random items with a number and two categories, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    records, y = [], []
    for _ in range(size):
        number = round(float(rng.normal()), 2) + 0.001
        c, d = str(rng.choice(list("uvw"))), str(rng.choice(list("st")))
        records.append({"x": number, "c": c, "d": d})
        clear = "p" if number > 0 and c != "u" else "q"
        y.append(str(rng.choice(["p", "q"])) if rng.random() < 0.3 else clear)
    return records, y


def repeated(values: Sequence[Any], weights: Sequence[int]) -> list[Any]:
    return [value for value, w in zip(values, weights, strict=True) for _ in range(w)]


def assert_same(one: SparseTensorClassifier, other: SparseTensorClassifier, X: Any) -> None:
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-9)
    assert sorted(one.get_feature_names_out()) == sorted(other.get_feature_names_out())
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.chosen_params_ == other.chosen_params_


SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "numbers": {"continuous": ["x"]},
    "auto": {"continuous": "auto"},
    "five knots": {**stc.STC_Q, "continuous": {"x": 5}},
    "conjunctions": {**stc.STC_Q, "interactions": 2, "min_support": 3},
    "few conjunctions": {**stc.STC_Q, "interactions": 2, "max_features": 5},
}


@many()
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 3), min_size=2, max_size=40).filter(any),
    st.sampled_from(sorted(SETTINGS)),
)
def test_weights_are_repetitions(seed: int, weights: list[int], setting: str) -> None:
    records, y = items(len(weights), seed)
    with warnings.catch_warnings(action="ignore"):  # numbers as categories
        weighted = SparseTensorClassifier(**SETTINGS[setting]).fit(records, y, weights)
        rows = repeated(records, weights), repeated(y, weights)
        assert_same(weighted, SparseTensorClassifier(**SETTINGS[setting]).fit(*rows), records)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("continuous", [["x"], "auto"])
def test_absent_items_set_no_knots(form: str, continuous: Any) -> None:
    records, y = items(100)
    for record in records[40:]:
        record["x"] += 1000
    if form in ("records", "tuple", "rows", "objects", "series"):
        records[50]["x"] = "1"  # neither do they decide whether a column holds floats
    if form in ("rows", "objects"):
        continuous = "auto" if continuous == "auto" else ["x0"]
    weights = [1.0] * 40 + [0.0] * 60
    model = paper_model(continuous=continuous).fit(FORMS[form](records), y, weights)
    alone = paper_model(continuous=continuous).fit(FORMS[form](records[:40]), y[:40])
    assert model.fitted_.model.scales == alone.fitted_.model.scales
    assert len(model.fitted_.model.scales) == 1
    asked = FORMS[form](records[:40])
    np.testing.assert_array_equal(model.predict_proba(asked), alone.predict_proba(asked))


@pytest.mark.parametrize("form", FORMS)
def test_distinct_numbers_of_absent_items_make_no_column_continuous(form: str) -> None:
    records = [{"x": k + 0.5, "c": "u"} for k in range(60)]
    y = ["pq"[k > 5] for k in range(60)]
    # Neither is there a warning that nearly every value is distinct.
    model = paper_model(continuous="auto")
    model.fit(FORMS[form](records), y, [1.0] * 10 + [0.0] * 50)
    assert model.fitted_.model.scales == {}


@pytest.mark.parametrize("form", ["records", "tuple", "series"])
def test_absent_items_add_no_attribute(form: str) -> None:
    records = [{"a": "u", "b": None}, {"a": "v"}, {"a": "w", "z": "t"}]
    model = paper_model().fit(FORMS[form](records), [0, 1, 0], [1, 1, 0])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    model.partial_fit(FORMS[form](records), [0, 1, 0], sample_weight=[1, 0, 0])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    model.partial_fit(FORMS[form](records), [0, 1, 0])
    assert model.feature_names_in_.tolist() == ["a", "b", "z"]


@pytest.mark.parametrize("form", [list, pl.DataFrame, pd.DataFrame])
def test_targets_and_weights_in_the_data_stay_no_attributes(form: Any) -> None:
    records, y = items(40)
    rows = [{**r, "y": own, "w": n % 3} for n, (r, own) in enumerate(zip(records, y, strict=True))]
    model = paper_model(continuous=["x"]).fit(form(rows), "y", "w")
    assert model.feature_names_in_.tolist() == ["x", "c", "d"]


def test_absent_items_are_checked_and_answered() -> None:
    records: Records = [{"a": "u"}, {"a": object()}]
    with pytest.raises((DataError, TypeError)) as caught:
        paper_model().fit(records, [0, 1], [1, 0])
    assert (caught.value.column, caught.value.item) == ("a", 1)
    X, y = [["u"], ["v"], ["u"]], [0, 1, 1]
    model = paper_model().fit(X, y, [1, 1, 0])
    assert model.loo_predict_proba(X, y, [1, 1, 0]).shape == (3, 2)


@pytest.mark.parametrize("scale", [1e-90, 1e-3, 1 / 3])
def test_equal_weights_below_one_set_the_knots_of_no_weights(scale: float) -> None:
    records, y = items(50)
    model = paper_model(continuous=["x"])
    knots = model.fit(records, y).fitted_.model.scales["x"].knots
    weighted = model.fit(records, y, [scale] * 50).fitted_.model.scales["x"].knots
    assert weighted == pytest.approx(knots, rel=1e-9)


@pytest.mark.parametrize("setting", ["policy", "phases", "labels"])
def test_what_is_learnt_from_folds_ignores_absent_items(setting: str) -> None:
    records, y = items(60)
    parameters = {
        "policy": {"dimensions": "each", "policy": PolicyAgent(random_state=0)},
        "phases": {"phases": PhaseLearner(random_state=0)},
        "labels": {},
    }[setting]
    for record in records:
        del record["x"]
    labels: Any = (
        y if setting != "labels" else [[a, r["d"]] for a, r in zip(y, records, strict=True)]
    )
    present = [n % 3 > 0 for n in range(60)]
    model = paper_model(**parameters).fit(records, labels, np.array(present, dtype=float))
    rows = repeated(records, present), repeated(labels, present)
    alone = paper_model(**parameters).fit(*rows)
    np.testing.assert_array_equal(model.predict_proba(records), alone.predict_proba(records))
    if setting == "labels":
        assert model.label_threshold_.tolist() == alone.label_threshold_.tolist()


def test_knots_of_a_file_are_weighted(tmp_path: Any) -> None:
    records, y = items(80)
    weights = [n % 4 for n in range(80)]
    path = tmp_path / "rows.parquet"
    pl.DataFrame(records).with_columns(w=pl.Series(weights), y=pl.Series(y)).write_parquet(path)
    model = SparseTensorClassifier(continuous=["x"]).fit(stc.source(path), "y", "w")
    rows = repeated(records, weights), repeated(y, weights)
    assert_same(model, SparseTensorClassifier(continuous=["x"]).fit(*rows), records)
