"""Which conjunctions are kept: the strongest of the first batch."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.interaction_cases import (
    FEW,
    FEWER,
    PAIRED,
    PAIRS,
    Feature,
    asked,
    assert_learnt,
    assert_predicts,
    assert_same,
    bags,
    fitted,
    halves,
    items,
    kept,
    learn_more,
    name_of,
    only,
    snapshot,
    supports,
)
from support.models import paper_model
from support.oracle import Bag, Class, Hyper, learn
from support.strategies import Data, soft


def strengths(
    features: Sequence[Feature],
    learnt: Sequence[Bag],
    y: Sequence[Mapping[Class, float]],
    weights: Sequence[float] | None,
) -> dict[Feature, float]:
    """``H_j`` of ``C_ij = sum_n s_n w_j y_i + N_i / N``, where ``N_i`` is the mass of a class.

    That is one item more, shared as the classes are; ``P_ij = C_ij / N_i``.
    """
    total: dict[Class, float] = {}
    counts: dict[tuple[Feature, Class], float] = {}
    for n, own in enumerate(learnt):
        s = 1.0 if weights is None else weights[n]
        for i, y_i in y[n].items():
            share = s * y_i / sum(y[n].values())
            total[i] = total.get(i, 0.0) + share
            for j in features:
                counts[j, i] = counts.get((j, i), 0.0) + share * float(own.get(j, 0))
    classes = [i for i, mass in total.items() if mass > 0]
    everything = sum(total.values())
    H = {}
    for j in features:
        P = [(counts[j, i] + total[i] / everything) / total[i] for i in classes]
        terms = [p / sum(P) * math.log(p / sum(P)) for p in P]
        H[j] = 1.0 + sum(terms) / math.log(len(classes)) if len(classes) > 1 else 1.0
    return H


@FEWER
@given(st.data(), st.integers(2, 3), st.integers(1, 3), st.none() | st.integers(0, 6))
def test_the_first_batch_chooses(
    draws: st.DataObject, order: int, support: int, most: int | None
) -> None:
    data = draws.draw(items(least=2))
    options = {"interactions": order, "min_support": support, "max_features": most}
    model = fitted(data, **options)
    learnt = bags(data, data.records, order)
    shown = supports(learnt, data.weights)
    enough = [j for j, n in shown.items() if n >= support - 1e-6]
    chosen = kept(model)
    if most is None or len(enough) <= most:
        assert chosen == set(enough)
    else:
        H = strengths(enough, learnt, soft(data.y), data.weights)
        assert chosen <= set(enough)
        assert len(chosen) == most
        weakest = min((H[j] for j in chosen), default=1.0)
        assert max(H[j] for j in set(enough) - chosen) <= weakest + 1e-9
    truth = learn(only(learnt, chosen), soft(data.y), data.weights)
    assert_learnt(model, truth)
    questions = draws.draw(asked(data))
    assert_predicts(model, questions, only(bags(data, questions, order), chosen), truth, Hyper())


@FEW
@given(items(smallest=0.25, least=2), st.integers(0, 3))
def test_later_batches_use_the_same_choice(data: Data, most: int) -> None:
    first, second = halves(data)
    model = fitted(first, interactions=2, max_features=most)
    chosen = kept(model)
    learn_more(model, second)
    everything = only(bags(data, data.records, 2), chosen)
    truth = learn(everything, soft(data.y), data.weights)
    assert_learnt(model, truth)
    assert_predicts(model, data.records, everything, truth, Hyper())
    model.unlearn(second.records, second.y, sample_weight=second.weights)
    again = fitted(first, interactions=2, max_features=most)
    assert_same(model, again, first.records)


@pytest.mark.parametrize("support", [1, 3])
def test_the_strongest_are_chosen(support: int) -> None:
    generator = np.random.default_rng(6)
    X = [
        {a: generator.choice(["u", "v", "w"], generator.integers(0, 3)).tolist() for a in "abc"}
        for _ in range(40)
    ]
    X[0]["b"] = {"u": 0.1, "v": 5.0}
    y = [{"p": 1.0, "q": 2.0} if n % 7 == 0 else {"pqqqrrrr"[n % 8]: 1.0} for n in range(40)]
    weights = generator.choice([0.0, 0.5, 1.0, 9.0], 40).tolist()
    learnt = bags(Data(X, y, weights, dict.fromkeys("abc", "list")), X, 2)
    enough = [j for j, n in supports(learnt, weights).items() if n >= support - 1e-6]
    H = strengths(enough, learnt, y, weights)
    ranked = sorted(enough, key=H.__getitem__, reverse=True)
    told = 0
    for most in range(1, len(ranked)):
        if H[ranked[most - 1]] - H[ranked[most]] > 1e-9:  # of equals, see below
            model = paper_model(interactions=2, min_support=support, max_features=most).fit(
                X, y, weights
            )
            assert kept(model) == set(ranked[:most])
            told += 1
    assert told > 8


def test_what_tells_the_classes_apart_is_chosen() -> None:
    # a=u and b=v is always p; the others are as frequent in p as in q.
    X = [{"a": "u", "b": "v", "c": c} for c in "st" * 4]
    X += [{"a": "u", "b": "w", "c": c} for c in "st" * 4]
    y = ["p"] * 8 + ["q"] * 8
    model = paper_model(interactions=2, max_features=2).fit(X, y)
    assert kept(model) == {(("a", "b"), ("u", "v")), (("a", "b"), ("u", "w"))}


def test_equals_are_chosen_by_their_names() -> None:
    # All are alike; first come the names of the attributes, then their values, missing ones last.
    X = [{"c": "s", "b": "v", "a": "z"}, {"b": "w", "a": "y", "c": None}]
    y = ["p", "q"]
    every = ["a=y and b=w", "a=z and b=v", "a=y and b=w and c is missing", "a=z and b=v and c=s"]
    every += ["a=y and c is missing", "a=z and c=s", "b=v and c=s", "b=w and c is missing"]
    backwards = [dict(reversed(record.items())) for record in reversed(X)]
    for most in range(9):
        model = paper_model(interactions=3, max_features=most, missing="category")
        assert {name_of(feature) for feature in kept(model.fit(X, y))} == set(every[:most])
        assert {name_of(j) for j in kept(model.fit(backwards, y[::-1]))} == set(every[:most])


def test_of_equals_missing_values_are_chosen_last() -> None:
    X = [{"a": "z", "b": None}, {"a": "z", "b": "v"}, {"a": "z", "b": ""}]
    every = ["a=z and b=", "a=z and b=v", "a=z and b is missing"]
    for most in range(4):
        model = paper_model(interactions=2, max_features=most, missing="category")
        model.fit(X, ["p", "q", "r"])
        assert {name_of(feature) for feature in kept(model)} == set(every[:most])


def test_equals_are_chosen_whatever_the_order_of_items() -> None:
    generator = np.random.default_rng(8)
    X = [{a: str(generator.integers(3)) for a in "abcd"} for _ in range(30)]
    y = generator.choice(["p", "q"], 30).tolist()
    for most in (1, 5, 20, 60):
        models = []
        for order in (np.arange(30), generator.permutation(30)):
            model = paper_model(interactions=3, max_features=most)
            models.append(model.fit([X[n] for n in order], [y[n] for n in order]))
        assert kept(models[0]) == kept(models[1])
        assert len(kept(models[0])) == most


@pytest.mark.parametrize("options", [{"max_features": 0}, {"min_support": 3}], ids=str)
def test_no_conjunction_kept(options: dict[str, Any]) -> None:
    plain = paper_model().fit(PAIRS, PAIRED)
    model = paper_model(interactions=2, **options).fit(PAIRS, PAIRED)
    for more in (PAIRS, [{"a": "new", "b": "newer", "c": "newest"}]):
        labels = PAIRED[: len(more)]
        model.partial_fit(more, labels)
        plain.partial_fit(more, labels)
        assert sorted(model.get_feature_names_out()) == sorted(plain.get_feature_names_out())
        np.testing.assert_array_equal(model.predict_proba(PAIRS), plain.predict_proba(PAIRS))
        np.testing.assert_array_equal(model.coverage(PAIRS), plain.coverage(PAIRS))


def test_a_choice_without_interactions_changes_nothing() -> None:
    options = {"min_support": 2, "max_features": 0}
    model = paper_model(**options).fit(PAIRS, PAIRED)
    assert snapshot(model, PAIRS) == snapshot(paper_model().fit(PAIRS, PAIRED), PAIRS)


def test_items_without_weight_choose_nothing() -> None:
    X = [*PAIRS, PAIRS[0], PAIRS[2]]
    model = paper_model(interactions=2, min_support=2)
    model.fit(X, ["p", "q", "q", "p", "q"], sample_weight=[1, 1, 1, 1, 0])
    assert kept(model) == {(("a", "b"), ("u", "v"))}
