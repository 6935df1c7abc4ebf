"""Settings chosen by exact leave-one-out: the least loss, in any order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score

import stc
from stc import PhaseLearner, SparseTensorClassifier, load_zoo
from stc._core.formulas import PAPER, Hyper
from stc._training.choice import _RANGES, Goal, choose_settings
from stc._training.sample import sample_of
from support.models import paper_model


def noisy_table(n: int = 300, seed: int = 3) -> tuple[pl.DataFrame, pl.Series]:
    """Three columns that tell of the class, one that does not; one class is rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["often", "sometimes", "rare"], n, p=[0.6, 0.3, 0.1])
    telling = {
        f"c{k}": np.where(rng.random(n) < 0.4, y, rng.choice(["often", "sometimes", "rare"], n))
        for k in range(3)
    }
    return pl.DataFrame({**telling, "noise": rng.choice(list("abcd"), n)}), pl.Series("y", y)


def rule_of_two() -> tuple[pl.DataFrame, pl.Series]:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({name: rng.choice(list("uvw"), 400) for name in "abcd"})
    return X, (X["a"] == X["b"]).cast(pl.String)


def loo_loss(model: SparseTensorClassifier, X: Any, y: Any, weight: Any = None) -> float:
    P = model.loo_predict_proba(X, y, weight)
    own = P[np.arange(len(P)), np.searchsorted(model.classes_, np.asarray(y))]
    return float(np.average(-np.log(np.maximum(own, 1e-300)), weights=weight))


def test_chosen_settings_have_a_lower_loss_than_those_of_the_paper() -> None:
    X, y = noisy_table()
    model = SparseTensorClassifier().fit(X, y)
    paper = paper_model().fit(X, y)
    assert loo_loss(model, X, y) < 0.9 * loo_loss(paper, X, y)
    assert model.loo_items_ <= len(y)
    table = model.choices_
    assert table.columns == [*Hyper._fields, "loss"]
    assert table["loss"][0] == table["loss"].min()
    assert tuple(table.row(0)[:-1]) == model.fitted_.hyper


def test_the_figures_are_those_of_leave_one_out() -> None:
    X, y = noisy_table()
    X = X.with_columns(id=pl.int_range(pl.len()).cast(pl.String))  # no row repeats
    model = SparseTensorClassifier().fit(X, y)
    assert model.loo_items_ == len(y)
    assert model.loo_log_loss_ == pytest.approx(loo_loss(model, X, y), rel=1e-9)
    P = model.loo_predict_proba(X, y)
    accuracy = np.mean(model.classes_[P.argmax(axis=1)] == y.to_numpy())
    assert model.loo_accuracy_ == pytest.approx(accuracy, abs=1e-12)
    assert model.loo_baseline_ == pytest.approx((y == "often").mean(), abs=1e-12)


def test_given_settings_are_used_as_given() -> None:
    X, y = noisy_table()
    model = paper_model(power=0.3, balance="auto", floor=0.02).fit(X, y)
    assert (model.power_, model.floor_, model.prior_, model.sharpness_) == (0.3, 0.02, 0.0, 1.0)
    assert set(model.fitted_.state.chosen) == {"balance"}
    changed = model.set_params(power=1.0)
    assert (changed.power_, changed.balance_) == (1.0, model.balance_)
    assert not hasattr(paper_model().fit(X, y), "loo_accuracy_")
    assert not hasattr(paper_model().fit(X, y), "choices_")


def test_chosen_params_fit_the_same_model() -> None:
    X, y = noisy_table()
    model = SparseTensorClassifier().fit(X, y)
    again = SparseTensorClassifier(**model.chosen_params_).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert (model + again).class_mass_.sum() == 2 * len(y)


# --- what must not matter -------------------------------------------------------------------------


def same_choice(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    np.testing.assert_allclose(one.fitted_.hyper, other.fitted_.hyper, rtol=1e-12)
    assert one.loo_log_loss_ == pytest.approx(other.loo_log_loss_, rel=1e-9)


@pytest.mark.parametrize("most", [40, 2000])
def test_order_weights_and_absent_items_do_not_matter(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stc._training.choice.MOST_ITEMS", most)
    X, y = noisy_table(200)
    model = SparseTensorClassifier().fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    same_choice(model, SparseTensorClassifier().fit(X[order], y[order]))
    same_choice(model, SparseTensorClassifier().fit(X.rename({"c0": "z"}).rename({"z": "c0"}), y))
    twice = np.r_[np.arange(len(y)), np.arange(0, len(y), 2)]
    weight = np.bincount(twice).astype(float)
    heavy = SparseTensorClassifier().fit(X, y, weight)
    same_choice(heavy, SparseTensorClassifier().fit(X[twice], y[twice]))
    absent = SparseTensorClassifier()
    more = pl.concat([X, X[:50].with_columns(noise=pl.lit("never"))])
    labels = pl.concat([y, y[:50]])
    same_choice(model, absent.fit(more, labels, np.r_[np.ones(len(y)), np.zeros(50)]))


def test_documents_lists_and_numbers() -> None:
    X, y = noisy_table(120)
    texts = [" ".join(row) for row in X.rows()]
    lists = [{"all": list(row)} for row in X.rows()]
    for items, params in (
        (texts, {}),
        (lists, {}),
        (X.with_columns(n=pl.int_range(pl.len()).cast(pl.Float64)), {"continuous": ["n"]}),
        (X, {"dimensions": "each", "policy": [["c0", "c1"], ["c2"]]}),
        (X, {"interactions": 2}),
    ):
        model = SparseTensorClassifier(**params).fit(items, y)
        assert model.loo_log_loss_ < 1.0
        assert model.fitted_.hyper != PAPER


def test_soft_and_several_labels_and_targets() -> None:
    X, y = noisy_table(120)
    soft = [{label: 0.8, "rare": 0.2} for label in y]
    labels = [{label, "all"} for label in y]
    both = pl.DataFrame({"a": y, "b": X["noise"]})
    for target in (soft, labels, both):
        model = SparseTensorClassifier().fit(X, target)
        assert np.isfinite(model.loo_log_loss_)


# --- policies, phases and online learning ---------------------------------------------------------


def test_settings_are_chosen_before_a_policy_and_phases_are_learnt() -> None:
    X, y = noisy_table(150)
    policy = SparseTensorClassifier(dimensions="each", policy="learn").fit(X, y)
    assert policy.policy_values_.height > 0
    phases = SparseTensorClassifier(phases=PhaseLearner(penalties=(1.0,))).fit(X, y)
    assert phases.prior_ == 0.0
    with pytest.raises(ValueError, match=r"phases cannot be learnt with prior=0\.1"):
        paper_model(prior=0.1, phases="learn").fit(X, y)
    plain = paper_model(prior=0.1).fit(X, y)
    with pytest.raises(ValueError, match="set prior=0"):
        plain.learn_phases(X, y)


def test_phases_can_be_learnt_by_a_model_whose_prior_was_chosen() -> None:
    X, y = noisy_table(150)
    model = SparseTensorClassifier(interactions=1).fit(X, y)
    before = model.fitted_.hyper
    assert before.prior > 0
    model.learn_phases(X, y)
    assert model.fitted_.hyper == before._replace(prior=0.0)


def test_settings_stay_in_their_ranges() -> None:
    """Where the values tell the class for certain, nothing is too sharp."""
    X, y = rule_of_two()
    model = SparseTensorClassifier().fit(X, y)
    tried = model.choices_
    for name, (low, high) in _RANGES.items():
        assert tried[name].min() >= low
        if name != "prior":  # its range is in units of the mass of a value
            assert tried[name].max() <= high
    assert tuple(tried.row(0)[:-1]) == model.fitted_.hyper
    assert tried["loss"][0] <= tried["loss"].min() + 1e-9


def test_online_learning_never_changes_a_choice() -> None:
    X, y = noisy_table(200)
    model = SparseTensorClassifier().fit(X[:100], y[:100])
    before = model.fitted_.hyper
    model.partial_fit(X[100:], y[100:]).unlearn(X[:20], y[:20])
    assert model.fitted_.hyper == before
    other = SparseTensorClassifier().fit(X[:50], y[:50])
    assert (model + other).fitted_.hyper == before


def test_a_model_of_batches_has_the_settings_of_the_paper_until_it_chooses() -> None:
    X, y = noisy_table(200)
    model = SparseTensorClassifier().partial_fit(X[:100], y[:100])
    assert model.fitted_.hyper == PAPER
    model.partial_fit(X[100:], y[100:])
    whole = SparseTensorClassifier().fit(X, y)
    same_choice(model.choose(X, y), whole)
    with pytest.raises(ValueError, match="no setting is 'auto'"):
        paper_model().fit(X, y).choose(X, y)
    with pytest.raises(stc.NeverLearntError):
        SparseTensorClassifier().fit(X, y).choose(X.with_columns(noise=pl.lit("?")), y)


def test_files_and_copies_keep_the_choice(tmp_path: Any) -> None:
    X, y = noisy_table(150)
    model = SparseTensorClassifier().fit(X, y)
    model.save(tmp_path / "m.stc.parquet")
    loaded = stc.load(tmp_path / "m.stc.parquet")
    with stc.open_store(f"sqlite:///{tmp_path}/m.db") as store:
        stored = store.create("m", SparseTensorClassifier()).fit(X, y)
        assert stored.choices_.equals(model.choices_)
        assert stored.loo_accuracy_ == model.loo_accuracy_
    for copy in (loaded, stored.store["m"]):
        assert copy.fitted_.hyper == model.fitted_.hyper
        assert copy.loo_log_loss_ == model.loo_log_loss_
        assert copy.choices_.equals(model.choices_)
        # A database returns the features in any order, so sums differ in their last digits.
        np.testing.assert_allclose(copy.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_source_chooses_as_a_frame_does(tmp_path: Any) -> None:
    X, y = noisy_table(200)
    X.with_columns(y=y).write_parquet(tmp_path / "d.parquet")
    model = SparseTensorClassifier().fit(tmp_path / "d.parquet", "y")
    same_choice(model, SparseTensorClassifier().fit(X, y))


def test_items_that_say_nothing_promise_nothing() -> None:
    """Leaving an item out changes the mass of its class, which must not give the class away."""
    model = SparseTensorClassifier().fit([["a", "b"]] * 60, ["x", "y"] * 30)
    assert model.loo_log_loss_ > 0.69
    ids = [[str(k)] for k in range(60)]
    assert SparseTensorClassifier().fit(ids, ["x", "y"] * 30).loo_log_loss_ > 0.69


# --- the sample -----------------------------------------------------------------------------------


def test_a_sample_has_distinct_items_of_each_class() -> None:
    X, y = load_zoo()
    model = paper_model().fit(X, y).fitted_
    batch = model.reader.batch(X, y, None, model.model)
    observed, target, weight = batch.weighted()
    truth = target.matrix().toarray()
    mass = model.model.class_mass
    sample = sample_of(observed, target, truth, np.asarray(weight), 21, mass)
    assert len(sample.items) == 21
    assert np.bincount(truth[sample.items].argmax(axis=1)).tolist() == [3] * 7
    rows = set(X.with_columns(y=y)[sample.items].rows())
    assert len(rows) == 21
    by_class = np.bincount(truth[sample.items].argmax(axis=1), sample.share)
    np.testing.assert_allclose(by_class, truth.sum(axis=0) / len(y), rtol=1e-12)
    everything = sample_of(observed, target, truth, np.asarray(weight), 10**6, mass)
    assert len(everything.items) == X.with_columns(y=y).unique().height
    assert everything.weight.sum() == len(y)
    repeated = X.with_columns(y=y).is_duplicated().mean()
    assert everything.repeated == pytest.approx(repeated)


def test_a_prior_is_not_chosen_for_a_model_that_would_not_fit_into_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = noisy_table(100)
    fitted = paper_model().fit(X, y).fitted_
    batch = fitted.reader.batch(X, y, None, fitted.model)
    monkeypatch.setattr("stc._training.choice._MOST_CELLS", 1)
    choice = choose_settings(fitted.cascade, *batch.weighted(), Goal(("prior", "power")))
    assert choice.hyper.prior == 0.0
    assert choice.hyper.power != PAPER.power


# --- scoring --------------------------------------------------------------------------------------


def loo_scores(model: SparseTensorClassifier, X: Any, y: Any) -> dict[str, float]:
    P = model.loo_predict_proba(X, y)
    predicted = model.classes_[P.argmax(axis=1)]
    return {
        "neg_log_loss": -loo_loss(model, X, y),
        "accuracy": accuracy_score(y, predicted),
        "balanced_accuracy": balanced_accuracy_score(y, predicted),
    }


def test_the_choice_is_the_best_for_its_scoring() -> None:
    X, y = noisy_table(400)
    X = X.with_columns(id=pl.int_range(pl.len()).cast(pl.String))  # no row repeats
    default = loo_scores(SparseTensorClassifier().fit(X, y), X, y)
    scores = {}
    for scoring in ("neg_log_loss", "accuracy", "balanced_accuracy"):
        model = SparseTensorClassifier(scoring=scoring).fit(X, y)
        scores[scoring] = loo_scores(model, X, y)
        assert scores[scoring][scoring] >= default[scoring]
        assert model.loo_accuracy_ == pytest.approx(scores[scoring]["accuracy"], abs=1e-12)
    balanced = {name: own["balanced_accuracy"] for name, own in scores.items()}
    assert balanced["balanced_accuracy"] > max(
        default["balanced_accuracy"], 0.05 + balanced["accuracy"]
    )


def test_files_and_stores_keep_the_scoring(tmp_path: Any) -> None:
    X, y = noisy_table(100)
    model = SparseTensorClassifier(scoring="accuracy").fit(X, y)
    model.save(tmp_path / "m.stc.parquet")
    with stc.open_store(f"sqlite:///{tmp_path}/m.db") as store:
        store.create("m", SparseTensorClassifier(scoring="accuracy")).fit(X, y)
        for copy in (stc.load(tmp_path / "m.stc.parquet"), store["m"]):
            assert copy.get_params()["scoring"] == "accuracy"
            assert copy.fitted_.hyper == model.fitted_.hyper
