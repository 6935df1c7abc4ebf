"""Documents are bags of words."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from stc._input.containers import encode
from support.encode_cases import NAN, Entries, any_size, categories, entries, learn, many, repeated

# ---------------------------------------------------------------- documents


DOCUMENTS = ["The cat, the hat!", "a hat", "cat cat"]
DOCUMENT_CONTAINERS: dict[str, Any] = {
    "list": DOCUMENTS,
    "tuple": tuple(DOCUMENTS),
    "numpy U": np.array(DOCUMENTS),
    "numpy object": np.array(DOCUMENTS, dtype=object),
    "pandas str": pd.Series(DOCUMENTS),
    "pandas object": pd.Series(DOCUMENTS, dtype=object, index=[2, 0, 1]),
    "pandas string": pd.Series(DOCUMENTS, dtype="string"),
    "pandas category": pd.Series(DOCUMENTS, dtype="category"),
    "polars": pl.Series(DOCUMENTS),
    "polars categorical": pl.Series("text", DOCUMENTS, dtype=pl.Categorical),
    "pyarrow": pa.array(DOCUMENTS),
    "pyarrow chunked": pa.chunked_array([DOCUMENTS[:1], DOCUMENTS[1:]]),
}
DOCUMENTS_CORPUS: Entries = {
    **{(None, token, "p"): 1 / 6 for token in ("The", ",", "the", "!")},
    (None, "cat", "p"): 1 / 6 + 1,
    (None, "hat", "p"): 1 / 6,
    (None, "a", "q"): 0.5,
    (None, "hat", "q"): 0.5,
}


@any_size
@pytest.mark.parametrize("X", DOCUMENT_CONTAINERS.values(), ids=DOCUMENT_CONTAINERS.keys())
def test_strings_are_documents_of_words_and_punctuation(X: Any, times: int) -> None:
    X = repeated(X, times)
    model = learn(X, ["p", "q", "p"] * times)
    assert entries(model) == many(DOCUMENTS_CORPUS, times)
    assert sorted(model.get_feature_names_out()) == sorted(
        {"The", "cat", ",", "the", "hat", "!", "a"}
    )
    assert model.predict(X)[1] == "q"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("naïve café, 東京!", {"naïve", "café", ",", "東京", "!"}),
        ("  two\n\twords ", {"two", "words"}),
        ("Ab ab AB", {"Ab", "ab", "AB"}),
        ("(x)", {"(", "x", ")"}),
        ("nan", {"nan"}),
    ],
)
def test_default_tokens(text: str, tokens: set[str]) -> None:
    assert set(categories([text])) == tokens


def characters(text: str) -> list[str]:
    """A tokenizer of one's own."""
    return [letter for letter in text if letter.isalpha()]


@pytest.mark.parametrize("X", DOCUMENT_CONTAINERS.values(), ids=DOCUMENT_CONTAINERS.keys())
def test_any_callable_tokenizes(X: Any) -> None:
    by_space = learn(X, ["p", "q", "p"], tokenizer=str.split)
    assert set(by_space.corpus_["value"]) == {"The", "cat,", "the", "hat!", "a", "hat", "cat"}
    by_letter = learn(X, ["p", "q", "p"], tokenizer=characters)
    assert entries(by_letter)[None, "c", "p"] == pytest.approx(1 / 12 + 1 / 3)
    assert_allclose(by_letter.coverage(["tack", "zzzz", "t!"]), [0.75, 0, 1])


@pytest.mark.parametrize("empty", ["", "   ", None, NAN, pd.NA])
def test_a_document_without_words_counts_only_for_its_class(empty: Any) -> None:
    model = learn(["cat", empty, empty], ["p", "q", "q"])
    assert entries(model) == pytest.approx({(None, "cat", "p"): 1})
    assert_allclose(model.class_mass_, [1, 2])
    assert_allclose(model.predict_proba(["cat", empty]), [[1, 0], [1 / 3, 2 / 3]])


# ---------------------------------------------------------------- few documents


@settings(deadline=None)
@given(st.lists(st.none() | st.text(st.characters(max_codepoint=0x17F)), min_size=1, max_size=8))
def test_few_documents_are_read_as_many(texts: list[str | None]) -> None:
    """A text or two are split by Python, many by polars: into the same words."""
    few, many = encode(texts), encode([*texts, *["more"] * 20])
    column, same = few.columns[0], many.columns[0].select(np.arange(many.n_items) < len(texts))
    for item in range(len(texts)):
        own, other = (
            {
                c.values[code]: 1.0 if c.weights is None else c.weights[place]
                for place in range(c.offsets[item], c.offsets[item + 1])
                for code in [c.codes[place]]
            }
            for c in (column, same)
        )
        assert own == other
