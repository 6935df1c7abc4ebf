"""Conjunctions online: learning is a sum of them, too."""

import pickle
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc import NeverLearntError
from support.interaction_cases import (
    FEW,
    FEWER,
    PAIRED,
    PAIRS,
    assert_learnt,
    assert_predicts,
    assert_same,
    bags,
    fitted,
    halves,
    items,
    learn_more,
    model_of,
    snapshot,
)
from support.models import paper_model
from support.oracle import Hyper, learn
from support.strategies import Data, hypers, soft

# ---------------------------------------------------------------- drawn data


@st.composite
def partition(draw: st.DrawFn, data: Data, most: int = 4) -> list[Data]:
    """The items shuffled and cut into parts, none of them empty."""
    order = draw(st.permutations(range(len(data))))
    cuts = draw(st.sets(st.integers(1, len(data) - 1), min_size=1, max_size=most - 1))
    return [data.take(order[a:b]) for a, b in pairwise([0, *sorted(cuts), len(data)])]


# ---------------------------------------------------------------- online


@FEWER
@given(st.data(), st.sampled_from(("ignore", "category")), st.integers(2, 3), hypers())
def test_any_partition_is_one_fit(
    draws: st.DataObject, missing: str, order: int, hyper: Hyper
) -> None:
    data = draws.draw(items(missing, smallest=0.25, least=2))
    model = model_of(hyper, interactions=order, missing=missing)
    for part in draws.draw(partition(data)):
        learn_more(model, part)
    truth = learn(bags(data, data.records, order, missing), soft(data.y), data.weights)
    assert_learnt(model, truth)
    learnt = bags(data, data.records, order, missing)
    assert_predicts(model, data.records, learnt, truth, hyper)


@FEW
@given(items(smallest=0.25, least=2), st.integers(2, 3))
def test_unlearning_leaves_no_trace(data: Data, order: int) -> None:
    first, second = halves(data)
    model = learn_more(fitted(first, interactions=order), second)
    model.unlearn(second.records, second.y, sample_weight=second.weights)
    assert_same(model, fitted(first, interactions=order), data.records)


@FEW
@given(items(smallest=0.25, least=2), st.integers(2, 3))
def test_merging_commutes(data: Data, order: int) -> None:
    first, second = halves(data)
    a, b = fitted(first, interactions=order), fitted(second, interactions=order)
    before = snapshot(a, data.records), snapshot(b, data.records)
    assert_same(a + b, fitted(data, interactions=order), data.records)
    assert_same(b + a, a + b, data.records)
    assert (snapshot(a, data.records), snapshot(b, data.records)) == before


def test_what_was_never_learnt_together_is_not_unlearnt() -> None:
    model = paper_model(interactions=2).fit(PAIRS, PAIRED)
    before = snapshot(model, PAIRS)
    message = "cannot unlearn a=t and b=w, which was never learnt"
    with pytest.raises(NeverLearntError, match=message) as caught:
        model.unlearn([{"a": "t", "b": "w"}], ["q"])
    assert caught.value.item == 0
    with pytest.raises(ValueError, match="a=u and b=v and class 'q' were never learnt together"):
        model.unlearn([{"a": "u", "b": "v"}], ["q"])
    assert snapshot(model, PAIRS) == before


def test_the_order_is_fixed_by_the_first_batch() -> None:
    model = paper_model(interactions=2).fit(PAIRS, PAIRED)
    before = snapshot(model, PAIRS)
    model.set_params(interactions=1)
    assert snapshot(model, PAIRS) == before
    with pytest.raises(ValueError, match=r"interactions=2.* interactions=1: set it back"):
        model.partial_fit(PAIRS, PAIRED)
    assert snapshot(model, PAIRS) == before
    model.unlearn(PAIRS[:1], PAIRED[:1])
    assert_same(model, paper_model(interactions=2).fit(PAIRS[1:], PAIRED[1:]), PAIRS[1:])


OTHERS = [
    {"interactions": 1},
    {"interactions": 3},
    {"interactions": 2, "min_support": 2},
    {"interactions": 2, "max_features": 1},
]


@pytest.mark.parametrize("options", OTHERS, ids=str)
def test_models_of_other_conjunctions_are_not_merged(options: dict[str, Any]) -> None:
    model = paper_model(interactions=2).fit(PAIRS, PAIRED)
    other = paper_model(**options).fit(PAIRS, PAIRED)
    before = snapshot(model, PAIRS), snapshot(other, PAIRS)
    for one, two in ((model, other), (other, model)):
        with pytest.raises(ValueError, match=r"other conjunctions.*same interactions"):
            one + two
    assert (snapshot(model, PAIRS), snapshot(other, PAIRS)) == before


def test_models_of_the_same_choice_are_merged() -> None:
    options = {"interactions": 2, "max_features": 1}
    model = paper_model(**options).fit(PAIRS, PAIRED)
    twice = model + pickle.loads(pickle.dumps(model))
    assert twice.corpus_["support"].to_list() == [2 * n for n in model.corpus_["support"]]
    assert twice.unlearn(PAIRS, PAIRED).corpus_.equals(model.corpus_)
