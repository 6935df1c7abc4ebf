"""The texts of the second and third experiments, tokenised once by nltk and cached."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from joblib import Parallel, delayed

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".paper_cache"
sys.path.append(str(ROOT / "benchmarks"))

import data  # noqa: E402

from stc._utils.progress import Progress  # noqa: E402

CORES = 2
CHUNK = 100  # documents that a process tokenises before it reports
# Set for a quick run: processes that are started inherit it.
QUICK = "STC_PAPER_QUICK"


class Documents(NamedTuple):
    """20 Newsgroups by date: each document a list of tokens, and its newsgroup."""

    train: pl.Series
    test: pl.Series
    y_train: data.Labels
    y_test: data.Labels


def use_quick_cache() -> Path:
    """Make this a quick run, with separate models and results, and return its folder."""
    os.environ[QUICK] = "1"
    return cache()


def is_quick() -> bool:
    """Return whether this is a quick run."""
    return QUICK in os.environ


def cache() -> Path:
    """Return the cache folder of this kind of run; all runs share the tokens."""
    return CACHE / "quick" if is_quick() else CACHE


def offer_nltk_data() -> None:
    """Make the models of nltk available: from the data folder, else by download."""
    import nltk

    folder = data.data_folder() / "nltk_data"
    if folder.is_dir():
        nltk.data.path.insert(0, str(folder))
        return
    for name in ("punkt_tab", "stopwords"):
        nltk.download(name, quiet=True)


def raw_texts() -> data.News:
    """Read 20 Newsgroups from the data folder; without one, as scikit-learn fetches it."""
    try:
        return data.load_news()
    except data.DataMissingError:
        from sklearn.datasets import fetch_20newsgroups

        parts = [fetch_20newsgroups(subset=name) for name in ("train", "test")]
        labels = [np.array(part.target_names)[part.target] for part in parts]
        return data.News(parts[0].data, parts[1].data, labels[0], labels[1])


def threads(texts: list[str]) -> list[str]:
    """Return the thread of each text: its subject without "Re:", or a new thread."""
    found = []
    for number, text in enumerate(texts):
        subject = re.search(r"^Subject:(.*)$", text, flags=re.MULTILINE | re.IGNORECASE)
        bare = re.sub(r"^(\s*re\s*:)*", "", subject[1].lower()) if subject else ""
        found.append(" ".join(bare.split()) or f"document {number}")
    return found


def tokenized(texts: list[str]) -> tuple[list[list[str]], float]:
    """Return the tokens of each text as `nltk.word_tokenize` finds them, and the seconds taken."""
    from nltk import word_tokenize

    offer_nltk_data()
    start = time.process_time()
    return [word_tokenize(text) for text in texts], time.process_time() - start


def _in_parallel(texts: list[str], title: str) -> tuple[pl.Series, float]:
    chunks = [texts[k : k + CHUNK] for k in range(0, len(texts), CHUNK)]
    results: Iterator[Any] = Parallel(n_jobs=CORES, return_as="generator")(
        delayed(tokenized)(chunk) for chunk in chunks
    )
    tokens: list[list[str]] = []
    seconds = 0.0
    with Progress(title) as bar:
        for number, (found, took) in enumerate(results, start=1):
            tokens += found
            seconds += took
            bar.update(number, len(chunks), f"{len(tokens):,} documents")
    return pl.Series("tokens", tokens, dtype=pl.List(pl.String)), seconds


def load_documents(*, lowercase: bool = False) -> Documents:
    """Return the tokens of 20 Newsgroups, tokenised in parallel the first time.

    In lower case for TfidfVectorizer, which lowers the text before it is tokenised: nltk then finds
    other ends of sentences, so a few tokens differ. A quick run ignores the difference and
    tokenises once.
    """
    if lowercase and is_quick():
        found = load_documents()
        lowered = (
            part.list.eval(pl.element().str.to_lowercase()) for part in (found.train, found.test)
        )
        return Documents(*lowered, found.y_train, found.y_test)
    files = _files(lowercase)
    if not all(file.exists() for file in files):
        _tokenize_to(files, lowercase)
    train, test = (pl.read_parquet(file) for file in files)
    return Documents(
        train["tokens"], test["tokens"], train["label"].to_numpy(), test["label"].to_numpy()
    )


def _files(lowercase: bool) -> list[Path]:
    case = "lower" if lowercase else "as_is"
    return [CACHE / f"tokens_{case}_{part}.parquet" for part in ("train", "test")]


def _tokenize_to(files: list[Path], lowercase: bool) -> None:
    news = raw_texts()
    CACHE.mkdir(exist_ok=True)
    parts = zip(files, (news.train, news.test), (news.y_train, news.y_test), strict=True)
    for file, texts, labels in parts:
        cased = [text.lower() for text in texts] if lowercase else texts
        tokens, seconds = _in_parallel(cased, file.stem.replace("_", " "))
        frame = pl.DataFrame({"tokens": tokens, "label": labels, "seconds": seconds / len(texts)})
        draft = file.with_suffix(".draft")
        frame.write_parquet(draft)
        draft.rename(file)  # an interrupted run must not leave an incomplete file


def tokenizing_seconds() -> dict[str, float]:
    """Return the seconds that one core took to tokenise each part."""
    return {
        part: float(pl.read_parquet(file)["seconds"].sum())
        for part, file in zip(("train", "test"), _files(lowercase=False), strict=True)
    }


def stop_words() -> frozenset[str]:
    """Return nltk's English stop-words."""
    from nltk.corpus import stopwords

    offer_nltk_data()
    return frozenset(stopwords.words("english"))


def is_punctuation(token: str) -> bool:
    """Return whether a token has no letter and no digit."""
    return re.search(r"\w", token.replace("_", "")) is None
