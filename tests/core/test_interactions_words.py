"""Words in a row: conjunctions of documents."""

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.interaction_cases import (
    FEW,
    FEWER,
    Feature,
    assert_explains,
    assert_learnt,
    assert_predicts,
    assert_same,
    kept,
    model_of,
    snapshot,
    table,
)
from support.models import paper_model
from support.oracle import Bag, Hyper, learn
from support.strategies import UNSEEN, hypers, sample_weights, soft

WORDS = ("to", "be", "or", "not")


def rows_of_words(tokens: Sequence[str] | None, ngrams: int, missing: str = "ignore") -> Bag:
    """Words, and up to so many of them in a row, as often as they are there."""
    if not tokens:
        return {((None,), (None,)): 1} if missing == "category" else {}
    result: Counter[Feature] = Counter()
    for size in range(1, ngrams + 1):
        for start in range(len(tokens) - size + 1):
            result[(None,) * size, tuple(tokens[start : start + size])] += 1
    return result


texts = st.none() | st.lists(st.sampled_from(WORDS), max_size=6)


@FEWER
@given(st.data(), st.integers(2, 3), st.sampled_from(("ignore", "category")), hypers())
def test_words_in_a_row(draws: st.DataObject, ngrams: int, missing: str, hyper: Hyper) -> None:
    learnt = draws.draw(st.lists(texts, min_size=1, max_size=5))
    questions = [*draws.draw(st.lists(texts, max_size=3)), [UNSEEN.split()[0], "to", "be"]]
    y = draws.draw(st.lists(st.sampled_from("pqr"), min_size=len(learnt), max_size=len(learnt)))
    weights = draws.draw(sample_weights(len(learnt), 0.0))
    tokenizer = draws.draw(st.sampled_from((None, str.split)))
    model = model_of(hyper, ngrams=ngrams, missing=missing, tokenizer=tokenizer)

    def documents(several: Sequence[Any]) -> list[str | None]:
        return [None if tokens is None else " ".join(tokens) for tokens in several]

    model.fit(documents(learnt), y, weights)
    rows = [rows_of_words(tokens, ngrams, missing) for tokens in learnt]
    truth = learn(rows, soft(y), weights)
    assert_learnt(model, truth)
    expected = [rows_of_words(tokens, ngrams, missing) for tokens in questions]
    assert_predicts(model, documents(questions), expected, truth, hyper)
    assert_explains(model, documents(questions), expected, truth, hyper)


def test_many_words_in_a_row() -> None:
    generator = np.random.default_rng(5)
    names = [f"w{n}" for n in range(300)]
    tokens = [generator.choice(names, n).tolist() for n in (0, 400, 1, 2, 700, 3) for _ in range(3)]
    y = ["p", "q", "r"] * 6
    model = paper_model(ngrams=3).fit([" ".join(own) for own in tokens], y)
    support: Counter[tuple[Feature, str]] = Counter()
    mass: dict[tuple[Feature, str], float] = {}
    for own, label in zip(tokens, y, strict=True):
        rows = rows_of_words(own, 3)
        for feature, times in rows.items():
            support[feature, label] += 1  # type: ignore[index]
            share = times / sum(rows.values())
            mass[feature, label] = mass.get((feature, label), 0.0) + share  # type: ignore[index]
    assert table(model.corpus_, "support") == support
    assert table(model.corpus_, "mass") == pytest.approx(mass, rel=1e-12)


def test_rows_of_words_that_need_renumbering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stc._core.product.LARGEST_KEY", 20)
    tokens = [["to", "be", "or", "not", "to", "be"], ["or", "to", "be"]]
    model = paper_model(ngrams=4).fit([" ".join(own) for own in tokens], ["p", "q"])
    assert_learnt(model, learn([rows_of_words(own, 4) for own in tokens], soft(["p", "q"])))


def test_a_pair_that_is_repeated_counts_as_often() -> None:
    model = paper_model(ngrams=2).fit(["a b a b"], ["p"])
    found = {" ".join(value): mass for _, value, _, mass, _ in model.corpus_.rows()}
    assert found == pytest.approx({"a": 2 / 7, "b": 2 / 7, "a b": 2 / 7, "b a": 1 / 7})
    assert model.corpus_["support"].to_list() == [1] * 4


def test_rows_do_not_reach_across_documents() -> None:
    model = paper_model(ngrams=3).fit(["a b", "", "c", None, "d e f"], list("ppppp"))
    names = ["a", "b", "a b", "c", "d", "e", "f", "d e", "e f", "d e f"]
    assert sorted(model.get_feature_names_out()) == sorted(names)


def test_a_token_of_two_words_is_not_the_pair() -> None:
    def split(text: str) -> list[str]:
        return text.split("|")

    X = ["new york", "new|york"]
    model = paper_model(ngrams=2, tokenizer=split).fit(X, ["city", "words"])
    assert model.get_feature_names_out().tolist() == ["new york", "new", "york", "new york"]
    assert model.corpus_["value"].to_list().count(["new york"]) == 1
    assert model.corpus_["value"].to_list().count(["new", "york"]) == 1
    assert model.predict_proba(X).tolist() == [[1, 0], [0, 1]]
    explained = model.explain_local(X).table.filter(pl.col("feature") == "new york")
    assert explained["value"].to_list() == [["new york"], ["new", "york"]]


@pytest.mark.parametrize("X", [["a", "b", None], ["", "", None]], ids=["one word", "no word"])
def test_documents_without_any_pair(X: list[Any]) -> None:
    model = paper_model(ngrams=3).fit(X, ["p", "q", "q"])
    plain = paper_model().fit(X, ["p", "q", "q"])
    assert model.get_feature_names_out().tolist() == plain.get_feature_names_out().tolist()
    assert model.corpus_.schema["value"] == pl.List(pl.String)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert model.predict(["a b"]).tolist() == plain.predict(["a b"]).tolist()


# A missing token is not there.
TOKENS: list[Any] = [["a", "b", "a"], ["b"], [], ["b", None, "a", None]]
LISTS: dict[str, Callable[[list[Any]], Any]] = {
    "polars": pl.Series,
    "pandas": pd.Series,
    "pyarrow": pa.array,
}


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS.keys())
def test_lists_of_tokens_have_rows_of_words(make: Callable[[list[Any]], Any]) -> None:
    y = list("pqqr")
    model = paper_model(ngrams=2).fit(make(TOKENS), y)
    expected = [rows_of_words([token for token in own if token], 2) for own in TOKENS]
    truth = learn(expected, soft(y))
    assert_learnt(model, truth)
    assert_predicts(model, make(TOKENS), expected, truth, Hyper())


def test_sets_of_tokens_have_no_rows_of_words() -> None:
    with pytest.raises(TypeError, match="item 0: ngrams=2 needs an order"):
        paper_model(ngrams=2).fit(pd.Series([{"a", "b"}, {"c"}]), ["p", "q"])


def test_pairs_are_chosen_by_the_first_batch() -> None:
    X = ["a b c", "a b d", "d c d", "c c", "c d"]
    y = ["p", "p", "q", "q", "p"]
    chosen = paper_model(ngrams=2, min_support=2).fit(X, y)
    twice = {((None, None), ("a", "b")), ((None, None), ("c", "d"))}
    assert kept(chosen) == twice
    chosen.partial_fit(["a c a c", "a b"], ["q", "q"])
    assert kept(chosen) == twice
    assert chosen.coverage(["a b d c"]).tolist() == [1]
    best = paper_model(ngrams=2, max_features=1).fit(X, y)
    assert kept(best) == {((None, None), ("a", "b"))}
    none = paper_model(ngrams=2, max_features=0).fit(X, y)
    plain = paper_model().fit(X, y)
    np.testing.assert_array_equal(none.predict_proba(X), plain.predict_proba(X))


@FEW
@given(st.lists(texts, min_size=2, max_size=6), st.integers(2, 3))
def test_rows_of_words_online(learnt: list[Any], ngrams: int) -> None:
    X = [None if tokens is None else " ".join(tokens) for tokens in learnt]
    y = ["pqr"[n % 3] for n in range(len(X))]
    middle = len(X) // 2
    whole, first, second = (
        paper_model(ngrams=ngrams).fit(X[part], y[part])
        for part in (slice(None), slice(middle), slice(middle, None))
    )
    assert_same(first + second, whole, X)
    assert_same(second + first, whole, X)
    assert_same(copy.deepcopy(first).partial_fit(X[middle:], y[middle:]), whole, X)
    assert_same(whole.unlearn(X[middle:], y[middle:]), first, X)


def test_rows_of_words_are_as_long_as_they_were_learnt() -> None:
    X, y = ["a b", "b a c"], ["p", "q"]
    model = paper_model(ngrams=2).fit(X, y)
    before = snapshot(model, X)
    model.set_params(ngrams=1)
    assert snapshot(model, X) == before
    with pytest.raises(ValueError, match=r"ngrams=2.* ngrams=1: set it back"):
        model.partial_fit(X, y)
    for one, two in ((model, paper_model()), (paper_model(), model)):
        pair = [own if own is model else own.fit(X, y) for own in (one, two)]
        with pytest.raises(ValueError, match=r"other conjunctions.*ngrams"):
            pair[0] + pair[1]
    assert snapshot(model, X) == before
    assert_same(model.unlearn(X[1:], y[1:]), paper_model(ngrams=2).fit(X[:1], y[:1]), X[:1])
