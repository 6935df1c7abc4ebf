"""Phases in the life of a model: learning on, unlearning, merging, copies and failures."""

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from stc import PhaseLearner, SparseTensorClassifier
from stc._core.corpus import Amplitudes
from support.phase_cases import (
    LABELS_OF,
    PLAIN,
    QUICK,
    ROWS,
    copied,
    equal_or_not,
    model,
    phases_of,
    replace_corpora,
    sharpness_of,
)

# --- phases in the life of a model ----------------------------------------------------------------


def test_phases_survive_learning_more(twins: SparseTensorClassifier) -> None:
    fitted = copied(twins)
    before, sharpness = phases_of(fitted), sharpness_of(fitted)
    X, y = equal_or_not(30, 4, seed=2)  # the value 3 is new
    fitted.partial_fit(X, y)
    after = phases_of(fitted)
    assert {entry: after[entry] for entry in before} == before
    new = {entry: angle for entry, angle in after.items() if entry not in before}
    assert {name for _, name, _ in new} == {"x0=3", "x1=3"}
    assert set(new.values()) == {0.0}
    assert sharpness_of(fitted) == sharpness
    fitted.unlearn(X, y)
    assert phases_of(fitted) == before
    np.testing.assert_allclose(
        fitted.predict_proba(X[:5]), twins.predict_proba(X[:5]), rtol=0, atol=1e-9
    )


def test_phases_survive_new_classes_before_and_between_the_old_ones() -> None:
    X, y = equal_or_not(60, 3)
    fitted = model(PLAIN, phases=QUICK).fit(X, np.where(y, "b", "d"))
    before = phases_of(fitted)
    fitted.partial_fit(X[:3], ["a", "c", "e"], classes=["aa", "b"])
    assert fitted.classes_.tolist() == ["a", "aa", "b", "c", "d", "e"]
    after = phases_of(fitted)
    assert {entry: after[entry] for entry in before} == before
    assert not any(angle for entry, angle in after.items() if entry not in before)


def test_unlearning_keeps_the_phases_that_are_left() -> None:
    X, y = equal_or_not(60, 3)
    rare = [["0", "rare"], ["rare", "1"]]
    records = [*X.tolist(), *rare]
    fitted = model(PLAIN, phases=QUICK).fit(records, [*y, True, False])
    before, sharpness = phases_of(fitted), sharpness_of(fitted)
    fitted.unlearn(rare, [True, False])
    after = phases_of(fitted)
    gone = {name for _, name, _ in before} - {name for _, name, _ in after}
    assert gone == {"x0=rare", "x1=rare"}
    assert after == {entry: angle for entry, angle in before.items() if entry in after}
    assert sharpness_of(fitted) == sharpness
    fitted.unlearn(X, y)
    assert not hasattr(fitted, "classes_")


def turn_all(fitted: SparseTensorClassifier, start: float, sharpness: float) -> dict[Any, float]:
    """Give each entry of each set an angle of its own, as if it had been learnt."""
    corpora = dict(fitted.fitted_.model.corpora)
    for subset, corpus in corpora.items():
        if subset:
            angles = start + np.arange(corpus.mass.nnz) / 100
            turned = Amplitudes(np.ones(len(angles)), angles, sharpness)
            corpora[subset] = replace(corpus, amplitudes=turned)
    replace_corpora(fitted, corpora)
    return phases_of(fitted)


NORTH = [{"a": "u", "b": "v"}, {"a": "t", "b": "v"}, {"a": "u", "b": "s"}]
SOUTH = [{"b": "v", "a": "u"}, {"b": "new", "a": "t"}]
TENSORS = [{}, {"dimensions": "each", "policy": [["a", "b"], ["b"]]}]


@pytest.mark.parametrize("options", TENSORS)
@pytest.mark.parametrize(("mine", "theirs"), [(1.0, 1.0), (1.0, 5.0)])
def test_merging_takes_the_phases_of_the_heavier(options: Any, mine: float, theirs: float) -> None:
    north = model(**options).fit(NORTH, ["A", "B", "B"], sample_weight=[mine] * 3)
    south = model(**options).fit(SOUTH, ["A", "0"], sample_weight=[theirs] * 2)
    ours_of, theirs_of = turn_all(north, 0.5, 2.0), turn_all(south, -1.5, 3.0)
    assert set(ours_of) & set(theirs_of)
    heavier, lighter = (ours_of, theirs_of) if mine * 3 > theirs * 2 else (theirs_of, ours_of)
    for both in (north + south, south + north):
        assert phases_of(both) == {**lighter, **heavier}
        assert set(sharpness_of(both)) == {2.0 if heavier is ours_of else 3.0}
    assert phases_of(north) == ours_of
    assert phases_of(south) == theirs_of


@pytest.mark.parametrize("options", TENSORS)
def test_of_equals_ours_stay_and_where_only_one_has_phases_it_keeps_them(options: Any) -> None:
    north = model(**options).fit(NORTH[:2], ["A", "B"])
    south = model(**options).fit(SOUTH, ["A", "0"])
    plain = copied(south)
    ours_of, theirs_of = turn_all(north, 0.5, 2.0), turn_all(south, -1.5, 3.0)
    assert phases_of(north + south) == {**theirs_of, **ours_of}
    assert set(sharpness_of(north + south)) == {2.0}
    assert phases_of(south + north) == {**ours_of, **theirs_of}
    for both in (north + plain, plain + north):
        found = phases_of(both)
        assert {entry: found[entry] for entry in ours_of} == ours_of
        assert not any(angle for entry, angle in found.items() if entry not in ours_of)
        assert set(sharpness_of(both)) == {2.0}
    assert phases_of(plain + plain) == {}


def test_learning_anew_may_leave_no_phases() -> None:
    X, y = [["u", "v"]] * 4, ["A"] * 4
    fitted = model(PLAIN).fit(X, y)
    assert turn_all(fitted, 0.5, 2.0)
    fitted.learn_phases(X, y)  # of one class there is nothing to learn
    assert phases_of(fitted) == {}
    assert fitted.phase_history_.height >= 0


def test_phases_survive_copies(twins: SparseTensorClassifier) -> None:
    X, _ = equal_or_not(20, 3, seed=3)
    expected = twins.predict_proba(X)
    for copy_of in (copied(twins), copy.copy(twins), copy.deepcopy(twins)):
        np.testing.assert_array_equal(copy_of.predict_proba(X), expected)
        assert phases_of(copy_of) == phases_of(twins)
        assert copy_of.phase_history_.equals(twins.phase_history_)
    copied_first = copy.copy(twins)
    copied_first.partial_fit([["9", "9"]], [True])
    np.testing.assert_array_equal(twins.predict_proba(X), expected)


@pytest.mark.parametrize(
    "phases",
    [None, {}, "learn", PhaseLearner(max_iter=7), {True: {"x0": {"1": 0.5}}}, np.full((6, 2), 0.3)],
)
def test_clones_have_the_phases_as_parameter_and_nothing_learnt(phases: Any) -> None:
    data = equal_or_not(12, 3)
    fitted = model(PLAIN, phases=phases).fit(*data)
    twin = clone(fitted)
    assert not hasattr(twin, "classes_")
    assert repr(twin.phases) == repr(phases)
    assert repr(twin) == repr(fitted)
    np.testing.assert_array_equal(
        twin.fit(*data).predict_proba([["1", "2"]]),
        fitted.predict_proba([["1", "2"]]),
    )


def test_phases_go_and_come_back_without_fitting(twins: SparseTensorClassifier) -> None:
    X, _ = equal_or_not(50, 3, seed=4)
    fitted = copied(twins)
    learnt = fitted.predict_proba(X)
    plain = model(PLAIN).fit(*equal_or_not(200, 3)).predict_proba(X)
    given_ones = {True: {"x0": {"1": 1.0}}}
    assert abs(learnt - plain).max() > 0.1
    for back in (None, "learn", QUICK):
        np.testing.assert_array_equal(fitted.set_params(phases={}).predict_proba(X), plain)
        np.testing.assert_array_equal(fitted.set_params(phases=back).predict_proba(X), learnt)
        given_proba = fitted.set_params(phases=given_ones).predict_proba(X)
        assert abs(given_proba - learnt).max() > 1e-3
        assert abs(given_proba - plain).max() > 1e-3
        np.testing.assert_array_equal(fitted.set_params(phases=back).predict_proba(X), learnt)
    assert phases_of(fitted) == phases_of(twins)


# --- bad input ------------------------------------------------------------------------------------


BAD_LEARNING = [
    ((ROWS, LABELS_OF), {"learner": "learn"}, TypeError, "learner.*str"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner}, TypeError, "learner"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(max_iter=0)}, ValueError, "'max_iter'"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(folds=1)}, ValueError, "'folds'"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(folds="many")}, ValueError, "'folds'"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(penalties=3.0)}, ValueError, "'penalties'"),
    (
        (ROWS, LABELS_OF),
        {"learner": PhaseLearner(penalties=("a",))},
        (TypeError, ValueError),
        "penalties",
    ),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(penalties=(-1.0,))}, ValueError, "penalties"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(penalties=(math.nan,))}, ValueError, "penalties"),
    (
        (ROWS, LABELS_OF),
        {"learner": PhaseLearner(random_state="a")},
        ValueError,
        "seed|random_state",
    ),
    ((ROWS, LABELS_OF[:1]), {}, ValueError, "inconsistent"),
    ((ROWS, None), {}, ValueError, "requires y"),
    ((ROWS, ["A", "Z"]), {}, ValueError, "'Z'"),
    ((ROWS, ["A", "AA"]), {}, ValueError, "'AA'"),
    (([["u"]], ["A"]), {}, ValueError, "features"),
    ((ROWS, LABELS_OF), {"sample_weight": [0.0, 0.0]}, ValueError, "sample_weight"),
    ((ROWS, LABELS_OF), {"sample_weight": [1.0, -1.0]}, ValueError, "sample_weight"),
]


@pytest.mark.parametrize(("data", "options", "kind", "words"), BAD_LEARNING)
def test_a_failure_to_learn_phases_changes_nothing(
    data: Any, options: Any, kind: Any, words: str
) -> None:
    fitted = model(PLAIN).fit(ROWS, LABELS_OF)
    turn_all(fitted, 0.5, 2.0)
    before, expected = phases_of(fitted), fitted.predict_proba(ROWS)
    with pytest.raises(kind, match=words):
        fitted.learn_phases(*data, **options)
    assert phases_of(fitted) == before
    np.testing.assert_array_equal(fitted.predict_proba(ROWS), expected)
    assert not hasattr(fitted, "phase_history_")


def test_phases_need_a_fitted_model() -> None:
    with pytest.raises(NotFittedError):
        model().learn_phases(ROWS, LABELS_OF)


def test_a_failing_fit_leaves_the_phases_that_were_learnt(twins: SparseTensorClassifier) -> None:
    fitted = copied(twins)
    before = phases_of(fitted)
    with pytest.raises(ValueError, match="The 'folds' parameter of PhaseLearner"):
        fitted.set_params(phases=PhaseLearner(folds=1)).fit(ROWS, LABELS_OF)
    assert phases_of(fitted) == before
