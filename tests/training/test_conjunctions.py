"""Conjunctions and n-grams chosen by exact leave-one-out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import stc
from stc import SparseTensorClassifier
from stc._core.interactions import Interactions
from support.models import paper_model


def rule(n: int = 600, noise: float = 0.0, seed: int = 1) -> tuple[pl.DataFrame, np.ndarray]:
    """The class is whether two of five attributes are equal: no single value tells of it."""
    rng = np.random.default_rng(seed)
    X = pl.DataFrame({name: rng.choice(list("xyz"), n) for name in "abcde"})
    y = np.where(X["b"] == X["d"], "same", "other")
    return X, np.where(rng.random(n) < noise, rng.permutation(y), y)


def test_the_pair_that_decides_is_chosen() -> None:
    X, y = rule(noise=0.1)
    model = SparseTensorClassifier().fit(X, y)
    assert all({"b", "d"} <= set(names) for names in model.interactions_)
    assert ("b", "d") in model.interactions_
    assert model.ngrams_ == 1
    test, truth = rule(2000, seed=2)
    assert model.score(test, truth) > 0.99
    assert model.loo_accuracy_ == pytest.approx(np.mean(y == rule()[1]), abs=0.03)


def test_no_conjunctions_where_single_values_tell_all() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(["p", "q"], 500)
    tell = np.where(rng.random((500, 4)) < 0.7, y[:, None], rng.choice(["p", "q"], (500, 4)))
    model = SparseTensorClassifier().fit(pl.DataFrame(tell, schema=list("abcd")), y)
    assert model.interactions_ == 1


def test_a_rule_of_three_attributes() -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({name: rng.choice(["0", "1"], 800) for name in "abcd"})
    y = (X["a"].cast(int) + X["b"].cast(int) + X["c"].cast(int)).to_numpy() % 2
    model = SparseTensorClassifier().fit(X, y)
    assert ("a", "b", "c") in model.interactions_
    assert model.score(X, y) == 1.0


def test_rows_in_another_order_choose_the_same() -> None:
    X, y = rule(noise=0.2)
    order = np.random.default_rng(3).permutation(len(y))
    one = SparseTensorClassifier().fit(X, y)
    other = SparseTensorClassifier().fit(X[order].select("e", "d", "c", "b", "a"), y[order])
    assert one.interactions_ == other.interactions_
    np.testing.assert_allclose(one.fitted_.hyper, other.fitted_.hyper, rtol=1e-12)


def test_chosen_params_fit_the_same_model_and_merge_with_it() -> None:
    X, y = rule(noise=0.1)
    model = SparseTensorClassifier().fit(X, y)
    again = SparseTensorClassifier(**model.chosen_params_).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert (model + again).class_mass_.sum() == 2 * len(y)
    with pytest.raises(ValueError, match="interactions"):
        model + paper_model().fit(X, y)
    model.partial_fit(X[:5], y[:5])
    assert model.interactions_ == again.interactions_


def test_given_tuples_of_attributes(tmp_path: Any) -> None:
    X, y = rule(100)
    model = paper_model(interactions=[("d", "b"), ("a", "b", "c")]).fit(X, y)
    names = {names for names, _ in model.fitted_.model.vocabulary.features}
    assert {name for name in names if isinstance(name, tuple)} == {("b", "d"), ("a", "b", "c")}
    assert model.interactions_ == [("a", "b", "c"), ("b", "d")]
    model.save(tmp_path / "m.stc.parquet")
    loaded = stc.load(tmp_path / "m.stc.parquet")
    assert loaded.interactions_ == model.interactions_
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    loaded.partial_fit(X, y)
    with pytest.raises(ValueError, match="cannot go on with interactions=2"):
        loaded.set_params(interactions=2).partial_fit(X, y)


def test_sizes_of_given_tuples() -> None:
    X, y = rule(50)
    fitted = paper_model().fit(X, y).fitted_
    observed = fitted.observe(X)
    interactions = Interactions.of([("b", "a"), ("c", "d", "e")])
    assert interactions.order == 3
    assert interactions.sizes(observed).tolist() == [7.0] * 50
    assert len(interactions.apply(observed).columns) == 7


@pytest.mark.parametrize("given", [[("a",)], [("a", "a")], ["ab"], [("a", 5)], [("a", "never")]])
def test_tuples_that_are_none_are_refused(given: Any) -> None:
    X, y = rule(50)
    with pytest.raises((ValueError, TypeError), match="interactions"):
        paper_model(interactions=given).fit(X, y)


def test_pairs_of_words_that_decide() -> None:
    rng = np.random.default_rng(4)
    swaps = rng.random(400) < 0.5
    texts = [
        " ".join(
            [*rng.choice(["so", "the", "film"], 3), *(("not", "bad") if s else ("bad", "not"))]
        )
        for s in swaps
    ]
    model = SparseTensorClassifier().fit(texts, swaps)
    assert model.ngrams_ == 2
    assert model.score(texts, swaps) == 1.0
    plain = [text.replace("bad not", "awful") for text in texts]
    assert SparseTensorClassifier().fit(plain, swaps).ngrams_ == 1


def test_where_nothing_can_be_chosen() -> None:
    X, y = rule(300)
    soft = [{label: 1.0, "other": 0.5} for label in y]
    assert SparseTensorClassifier().fit(X, soft).interactions_ == 1
    assert SparseTensorClassifier(dimensions="each").fit(X, y).interactions_ == 1
    batches = SparseTensorClassifier().partial_fit(X, y)
    assert (batches.interactions_, batches.ngrams_) == (1, 1)
    few = SparseTensorClassifier().fit(X[:19], y[:19])
    assert few.interactions_ == 1
    assert not hasattr(few, "loo_accuracy_")


def test_a_source_chooses_as_a_frame_does(tmp_path: Any) -> None:
    X, y = rule(noise=0.1)
    X.with_columns(y=pl.Series(y)).write_parquet(tmp_path / "d.parquet")
    model = SparseTensorClassifier().fit(tmp_path / "d.parquet", "y")
    again = SparseTensorClassifier().fit(X, y)
    assert model.interactions_ == again.interactions_
    assert ("b", "d") in model.interactions_
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-12)
