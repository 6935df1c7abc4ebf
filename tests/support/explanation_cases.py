"""Models of every kind to explain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from stc import SparseTensorClassifier, load_zoo
from support.models import paper_model

ZOO, KINDS = load_zoo()
ROWS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(["u", "v", "w", None]) for name in "abcd"}),
    min_size=4,
    max_size=9,
)


def zoo(**params: Any) -> SparseTensorClassifier:
    return paper_model(**params).fit(ZOO, KINDS)


DOCUMENTS = [
    "the cat sat on the mat with a cat",
    "a dog ran after the cat",
    "stocks fell as the market sat still",
    "the market ran up and stocks with it",
    "rain and wind after the sun",
    "the sun sat over the rain",
]
TOPICS = ["pets", "pets", "money", "money", "weather", "weather"]
MODELS: dict[str, Any] = {
    "plain": lambda: (zoo(), ZOO),
    "classical": lambda: (zoo(power=1, balance=0, entropy=0), ZOO),
    "interactions": lambda: (zoo(interactions=2), ZOO[:20]),
    "phases": lambda: (zoo(phases="learn"), ZOO),
    "dimensions": lambda: (
        zoo(
            dimensions={"body": ["hair", "feathers", "legs"], "life": ["milk", "eggs"]},
            policy=[["body", "life"], ["life"], []],
        ),
        ZOO,
    ),
    "documents": lambda: (paper_model().fit(DOCUMENTS, TOPICS), DOCUMENTS),
    "words in a row": lambda: (paper_model(ngrams=2).fit(DOCUMENTS, TOPICS), DOCUMENTS),
    "numbers": lambda: (
        paper_model(continuous=["n"], ordinal={"o": list("SML")}).fit(
            pl.DataFrame({"n": np.arange(60) / 7, "o": list("SML") * 20}), ["lo", "mid", "hi"] * 20
        ),
        pl.DataFrame({"n": np.arange(9) * 1.1, "o": list("SML") * 3}),
    ),
}


def variants(row: dict[str, Any], changes: Iterator[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([row | own for own in changes], schema=dict.fromkeys(row, pl.String))
