"""Gains multiply the weights; 1 is the model as it was counted."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stc
from stc import SparseTensorClassifier
from stc._core.corpus import Amplitudes
from stc.exceptions import ParameterError, ParameterTypeError
from support.examples import many
from support.models import paper_model

ROWS = pl.DataFrame({"a": ["u", "u", "v", "w", "v", "u"], "b": ["s", "t", "t", "s", "s", "t"]})
LABELS = ["x", "x", "y", "z", "y", "x"]
ASKED = pl.DataFrame({"a": ["u", "v", "w", "u"], "b": ["t", "s", "t", None]})
BAD = [
    ({"never": {"a": {"u": 1.0}}}, ParameterError, "gains has the class 'never'"),
    ({"x": {"never": {"u": 1.0}}}, ParameterError, "gains has an attribute"),
    ({"x": {"a": {"u": -0.5}}}, ParameterError, "gain of 'u': a gain must be finite and at least"),
    ({"x": {"a": {"u": np.nan}}}, ParameterError, "finite"),
    ({"x": {"a": {"u": "big"}}}, ParameterTypeError, "a number, got 'big'"),
    ({"x": {"a": 2.0}}, ParameterTypeError, "hint|value"),
    ({"x": 2.0}, ParameterTypeError, "gains of a class must be a mapping"),
    (np.ones((2, 3)), ParameterError, "shape"),
    (np.full((5, 3), -1.0), ParameterError, "at least 0"),
]


def by_hand(model: SparseTensorClassifier, gains: np.ndarray, items: pl.DataFrame) -> np.ndarray:
    """The probabilities by the formulas, with plain loops, from the weights without gains."""
    names = model.get_feature_names_out().tolist()
    weights = np.zeros(gains.shape)
    for row in model.explain_global().table.iter_rows(named=True):
        cell = names.index(row["feature"]), model.classes_.tolist().index(row["class"])
        weights[cell] = row["weight"]
    answers = []
    for item in items.iter_rows(named=True):
        present = [f"{name}={value}" for name, value in item.items() if value is not None]
        U = np.zeros(gains.shape[1])
        for name in present:
            place = names.index(name)
            U += gains[place] * weights[place] * (1 / len(present)) ** model.power_
        Q = U ** (1 / model.power_)
        answers.append(Q / Q.sum() if Q.sum() > 0 else model.fitted_.model.frequencies)
    return np.array(answers)


@many()
@given(
    st.lists(st.sampled_from([0.0, 0.25, 1.0, 1.0, 3.0, 1e-6]), min_size=15, max_size=15),
    st.sampled_from([0.5, 1.0, 0.25]),
    st.sampled_from([0.0, 1.0]),
)
def test_gains_multiply_the_weights(numbers: list[float], power: float, entropy: float) -> None:
    model = paper_model(power, entropy=entropy).fit(ROWS, LABELS)
    gains = np.array(numbers).reshape(5, 3)
    expected = by_hand(model, gains, ASKED)
    model.set_params(gains=gains)
    np.testing.assert_allclose(model.predict_proba(ASKED), expected, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(ASKED)), expected, atol=1e-12)


def test_a_gain_of_one_changes_no_bit() -> None:
    model = SparseTensorClassifier(prior=0.3).fit(ROWS, LABELS)
    expected = model.predict_proba(ASKED)
    for gains in (np.ones((5, 3)), {}, {"x": {"a": {"u": 1}}}, {"x": {"a": {"never seen": 9}}}):
        found = model.set_params(gains=gains).predict_proba(ASKED)
        np.testing.assert_array_equal(found, expected)


def test_a_value_with_gain_0_is_as_if_it_were_absent() -> None:
    model = paper_model(entropy=0).fit(ROWS, LABELS)
    without = model.predict_proba(ASKED.with_columns(b=pl.lit(None, dtype=pl.String)))
    gains = {label: {"b": {"s": 0, "t": 0}} for label in "xyz"}
    np.testing.assert_allclose(model.set_params(gains=gains).predict_proba(ASKED), without)
    assert model.explain_local(ASKED).table.filter(pl.col("value") == "s").is_empty()


def test_gains_scale_contributions_and_leave_entries_of_the_prior() -> None:
    model = paper_model(prior=1.0).fit(ROWS, LABELS)
    before, after = (
        model.set_params(gains=gains).fitted_.cascade.log_weights((0,))[0].toarray()
        for gains in (None, {label: {"a": {"u": 2.0}} for label in "xyz"})
    )
    change = np.exp(after - before)
    # Only class x was seen with a=u; the others have it from the prior.
    np.testing.assert_allclose(change[0], [2.0, 1.0, 1.0])
    np.testing.assert_allclose(change[1:], 1.0)
    assert model.corpus_.equals(paper_model(prior=1.0).fit(ROWS, LABELS).corpus_)


def test_gains_and_phases_are_given_together() -> None:
    model = paper_model(entropy=0).fit(ROWS, LABELS)
    turned = {"x": {"a": {"u": np.pi}}}
    model.set_params(gains={"x": {"b": {"t": 0.5}}}, phases=turned)
    amplitudes = model.fitted_.cascade.amplitudes[(0,)]
    assert sorted(set(amplitudes.gains)) == [0.5, 1.0]
    assert amplitudes.angles.max() == np.pi
    model.set_params(gains=None)
    assert set(model.fitted_.cascade.amplitudes[(0,)].gains) == {1.0}


@pytest.mark.parametrize(("gains", "kind", "words"), BAD)
def test_bad_gains_are_refused(gains: Any, kind: type[Exception], words: str) -> None:
    model = paper_model().fit(ROWS, LABELS)
    expected = model.predict_proba(ASKED)
    with pytest.raises(kind, match=words):
        model.set_params(gains=gains).predict(ASKED)
    np.testing.assert_array_equal(model.set_params(gains=None).predict_proba(ASKED), expected)


def test_phases_are_not_learnt_with_given_gains() -> None:
    given_gains = {"x": {"a": {"u": 2.0}}}
    model = paper_model(gains=given_gains, phases="learn")
    with pytest.raises(ParameterError, match="given gains") as caught:
        model.fit(ROWS, LABELS)
    assert caught.value.hint == "set gains=None"
    model = paper_model(gains=given_gains).fit(ROWS, LABELS)
    with pytest.raises(ParameterError, match="given gains"):
        model.learn_phases(ROWS, LABELS)


def with_gains(model: SparseTensorClassifier, start: float) -> SparseTensorClassifier:
    """Give each entry a gain of its own, as if it had been learnt."""
    state = model.fitted_.state
    corpora = dict(state.model.corpora)
    mass = corpora[(0,)].mass
    gains = start + np.arange(mass.nnz) / 8
    learnt = Amplitudes(gains, np.zeros(mass.nnz), sharpness=2.0)
    corpora[(0,)] = replace(corpora[(0,)], amplitudes=learnt)
    model._change(
        lambda fitted: replace(
            fitted, state=replace(state, model=replace(state.model, corpora=corpora))
        )
    )
    return model


def gains_of(model: SparseTensorClassifier) -> dict[tuple[str, str], float]:
    corpus = model.fitted_.model.corpora[(0,)]
    rows = np.repeat(np.arange(corpus.mass.shape[0]), np.diff(corpus.mass.indptr))
    names, classes = model.get_feature_names_out(), model.classes_
    keys = [(names[j], classes[k]) for j, k in zip(rows, corpus.mass.indices, strict=True)]
    assert corpus.amplitudes is not None
    return dict(zip(keys, corpus.amplitudes.gains.tolist(), strict=True))


def test_learnt_gains_stay_when_the_model_learns_forgets_and_is_merged(tmp_path: Any) -> None:
    model = with_gains(paper_model().fit(ROWS, LABELS), 0.5)
    before, expected = gains_of(model), model.predict_proba(ASKED)
    more = pl.DataFrame({"a": ["u", "q"], "b": ["s", "s"]}), ["y", "x"]
    after = gains_of(model.partial_fit(*more))
    assert {key: after[key] for key in before} == before
    assert {after[key] for key in after.keys() - before.keys()} == {1.0}
    assert gains_of(model.unlearn(*more)) == before
    np.testing.assert_array_equal(model.predict_proba(ASKED), expected)

    lighter = with_gains(paper_model().fit(ROWS[:2], LABELS[:2]), 7.0)
    merged = gains_of(model + lighter)
    assert merged == before

    path = tmp_path / "model.stc.parquet"
    model.save(path)
    again = stc.load(path)
    assert gains_of(again) == before
    np.testing.assert_array_equal(again.predict_proba(ASKED), expected)
    stored = stc.open_store(f"sqlite:///{tmp_path / 'x.db'}").create("m", model)
    np.testing.assert_array_equal(stored.predict_proba(ASKED), expected)
    stored.partial_fit(*more)
    assert gains_of(stored.to_estimator()) == after
