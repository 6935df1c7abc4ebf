"""N-grams that do not exist cost nothing, and those that are too many are refused."""

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc import SparseTensorClassifier
from stc._core.product import TupleKeys
from stc._input import documents
from stc._input.documents import NGrams
from stc.exceptions import ParameterError
from support.examples import many
from support.models import paper_model

WORDS = st.lists(st.sampled_from("abc"), max_size=7)


def words_of(lists: list[list[str]]) -> int:
    """Count the words of n-grams of each length after the first word, by plain loops."""
    return sum(
        size - 1 for words in lists for size in range(2, 8) for _ in range(len(words) - size + 1)
    )


@pytest.mark.parametrize("container", ["documents", "lists"])
def test_n_grams_longer_than_the_documents_cost_nothing(
    monkeypatch: pytest.MonkeyPatch, container: str
) -> None:
    lengths = []

    class Counted(TupleKeys):
        def __init__(self, count: int) -> None:
            lengths.append(count)
            super().__init__(count)

    monkeypatch.setattr(documents, "TupleKeys", Counted)
    texts = ["a b c", "b c d", "c d e"]
    X: Any = texts if container == "documents" else pd.Series([text.split() for text in texts])
    model = SparseTensorClassifier(ngrams=3000).fit(X, ["x", "y", "x"])
    assert lengths == [6, 3]  # the n-grams of two words, and those of three
    short = SparseTensorClassifier(ngrams=3).fit(X, ["x", "y", "x"])
    assert model.predict_proba(X).tolist() == short.predict_proba(X).tolist()
    assert len(model.get_feature_names_out()) == 5 + 4 + 3


def test_documents_without_two_words_have_no_n_grams() -> None:
    model = paper_model(ngrams=5).fit(["a", "", "b"], ["x", "y", "y"])
    assert model.get_feature_names_out().tolist() == ["a", "b"]


@many()
@given(st.lists(WORDS, min_size=1, max_size=5))
def test_n_grams_beyond_the_longest_document_change_nothing(lists: list[list[str]]) -> None:
    X = pd.Series([*lists, ["a", "b"]], dtype=object)
    y = np.arange(len(X)) % 2
    models = [paper_model(ngrams=ngrams).fit(X, y) for ngrams in (7, 8, 10**6)]
    first = models[0].predict_proba(X).tolist()
    assert all(model.predict_proba(X).tolist() == first for model in models)


@many()
@given(st.lists(WORDS, min_size=1, max_size=5), st.integers(1, 9))
def test_too_many_are_refused_by_their_number(lists: list[list[str]], below: int) -> None:
    lengths = np.array(list(map(len, lists)))
    needed = words_of(lists)
    NGrams(7, needed).check_size(lengths)
    if needed - below >= 10 * lengths.sum():
        with pytest.raises(ParameterError, match=f"ngrams=7 would make {needed:,} entries"):
            NGrams(7, needed - below).check_size(lengths)


def test_n_grams_of_long_documents_are_refused_before_they_take_memory() -> None:
    text = " ".join(np.random.default_rng(0).choice(list("abcdefghij"), 2000))
    tracemalloc.start()
    with pytest.raises(ParameterError) as caught:
        SparseTensorClassifier(ngrams=500).fit([text] * 20, ["x", "y"] * 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000
    assert str(caught.value) == (
        "ngrams=500 would make 4,159,996,667 entries for 20 documents, more than "
        "max_entries=10,000,000; lower ngrams, give smaller batches, or raise max_entries"
    )


def test_bigrams_are_made_of_any_number_of_documents() -> None:
    """They cost what the documents cost, so that the default is refused for no size."""
    model = paper_model(ngrams=2, max_entries=3).fit(["a b c d e f"] * 4, ["x", "y"] * 2)
    assert "a b" in model.get_feature_names_out()


def test_a_refused_batch_leaves_the_model_as_it_was() -> None:
    model = paper_model(ngrams=30, max_entries=600).fit(["a b c", "b c"], ["x", "y"])
    before = model.predict_proba(["a b"]).tolist()
    long = [" ".join("ab" * 40)]
    for method in (model.partial_fit, model.unlearn):
        with pytest.raises(ParameterError, match="max_entries=600"):
            method(long, ["x"])
    with pytest.raises(ParameterError, match="max_entries=600"):
        model.predict(long)
    assert model.predict_proba(["a b"]).tolist() == before
