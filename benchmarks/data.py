"""The data the benchmarks run on: from the data folder, and generated Zipf tables."""

from __future__ import annotations

import gzip
import json
import os
import re
import warnings
from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".bench_cache"
TOKEN_PATTERN = r"\w+|[^\w\s]"

COLUMNS = 20
CLASSES = 10
EXPONENT = 1.1

BINS = 5  # quantiles that a numeric feature is cut into

Labels = npt.NDArray[Any]
Rows = npt.NDArray[np.intp]


class DataMissingError(RuntimeError):
    """Raised when the data folder or a file in it does not exist; the message names the file."""


class News(NamedTuple):
    """20 Newsgroups by date: the raw texts, and their labels as arrays of strings."""

    train: list[str]
    test: list[str]
    y_train: Labels
    y_test: Labels


class Labelled(NamedTuple):
    """Items with several labels each: sparse counts, and the labels as 0/1 indicators."""

    train: Any
    test: Any
    y_train: npt.NDArray[np.int64]
    y_test: npt.NDArray[np.int64]


class Task(NamedTuple):
    """Items to classify, a frame or an array of texts; training and test rows of each fold."""

    X: Any
    y: Labels
    folds: list[tuple[Rows, Rows]]


class Table(NamedTuple):
    """How a table is read: files, the target, columns left out, columns of numbers, rows drawn."""

    folder: str
    files: Sequence[str]
    target: str = "class"
    drop: Sequence[str] = ()
    numbers: Sequence[str] = ()
    sample: int | None = None
    split: bool = False  # the first file is the training set, the second the test set


def data_folder() -> Path:
    """Return the folder named by STC_DATA, or `../shared/data` beside the repository."""
    return Path(os.environ.get("STC_DATA") or ROOT.parent / "shared" / "data")


def files_of(name: str, *parts: str, each: str) -> list[Path]:
    """Return files of a data set; raise DataMissingError if one is missing.

    `each` describes a file in the message.
    """
    files = [data_folder() / name / part for part in parts]
    for file in files:
        if not file.is_file():
            wanted = " and ".join(f"{name}/{part}" for part in parts)
            raise DataMissingError(
                f"{file} is missing. Set STC_DATA to the folder that holds {wanted} ({each})."
            )
    return files


def news_files() -> list[Path]:
    """Return the train and the test file of 20 Newsgroups; raise DataMissingError if missing."""
    each = "a JSON object with text and label on each line"
    return files_of("20newsgroups", "train.jsonl.gz", "test.jsonl.gz", each=each)


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Read a JSON object from every line of a gzip file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def load_news() -> News:
    """Read 20 Newsgroups."""
    train, test = map(read_lines, news_files())
    return News(
        [item["text"] for item in train],
        [item["text"] for item in test],
        np.array([item["label"] for item in train]),
        np.array([item["label"] for item in test]),
    )


def table_file(name: str) -> Path:
    """Return the file of a table of categories; raise DataMissingError if missing."""
    return files_of(name, f"{name}.csv.gz", each="a header, the target in the column class")[0]


def load_table(name: str) -> tuple[pl.DataFrame, Labels]:
    """Read a table of categories: the attributes as strings, and the classes."""
    frame = pl.read_csv(table_file(name), infer_schema=False)
    return frame.drop("class"), frame["class"].to_numpy()


def _one_file(name: str, **options: Any) -> Table:
    return Table(name, [f"{name}.csv.gz"], **options)


TABLES = {
    "car": _one_file("car"),
    "nursery": _one_file("nursery"),
    "mushroom": _one_file("mushroom"),
    "splice": _one_file("splice"),
    "connect-4": _one_file("connect-4", sample=10_000),
    "tic-tac-toe": _one_file("tic-tac-toe"),
    "kr-vs-kp": _one_file("kr-vs-kp"),
    "soybean": _one_file("soybean-large"),
    "house-votes": _one_file("house-votes-84"),
    "breast-cancer": _one_file("breast-cancer"),
    "hayes-roth": Table("hayes-roth", ["hayes-roth_train.csv.gz", "hayes-roth_test.csv.gz"]),
    # The test file holds every possible item once; those of the train file are among them.
    **{f"monks-{k}": Table("monks", [f"monks-{k}_test.csv.gz"]) for k in (1, 2, 3)},
    "zoo": Table("zoo", ["zoo.csv"], target="class_type", drop=["animal_name"]),
    "criteo": _one_file("criteo_sample", numbers=[f"I{k}" for k in range(1, 14)]),
    "adult": Table(
        "adult",
        ["adult_train.csv.gz", "adult_test.csv.gz"],
        numbers=[
            "age",
            "fnlwgt",
            "education-num",
            "capital-gain",
            "capital-loss",
            "hours-per-week",
        ],
    ),
}
SPLIT_TABLES = {
    f"monks-{k}-split": Table(
        "monks", [f"monks-{k}_train.csv.gz", f"monks-{k}_test.csv.gz"], split=True
    )
    for k in (1, 2, 3)
}


def task_files(name: str) -> list[Path]:
    """Return the files of a table or of texts; raise DataMissingError if missing."""
    if name in TEXTS:
        folder, parts = TEXTS[name]
        return files_of(folder, *parts, each="a JSON object with text and label on each line")
    table = (TABLES | SPLIT_TABLES)[name]
    each = f"a header, the target in the column {table.target}"
    return files_of(table.folder, *table.files, each=each)


def load_task(name: str) -> Task:
    """Read a table or texts, with the folds that all models share."""
    return _load_texts(name) if name in TEXTS else _load_table(name, (TABLES | SPLIT_TABLES)[name])


def _load_table(name: str, table: Table) -> Task:
    """Read categories as strings and numbers as floats; missing values are null."""
    parts = [
        pl.read_csv(file, infer_schema=False, null_values=["?", ""]) for file in task_files(name)
    ]
    frame = pl.concat(parts).with_columns(pl.col(table.numbers).cast(pl.Float64))
    X, y = frame.drop(table.target, *table.drop), frame[table.target].to_numpy()
    if table.sample is not None:
        rows, _ = train_test_split(
            np.arange(len(y)), train_size=table.sample, stratify=y, random_state=0
        )
        X, y = X[rows], y[rows]
    return Task(X, y, _given_split(parts) if table.split else _stratified(y))


TEXTS = {
    "r8": ("reuters_r8", ["train.jsonl.gz", "test.jsonl.gz"]),
    "sms": ("sms_spam", ["all.jsonl.gz"]),
    "movies": ("movie_reviews_v2", ["all.jsonl.gz"]),
    "mr": ("mr_polarity", ["train.jsonl.gz", "test.jsonl.gz"]),
    "ag-news": ("ag_news_subset", ["train_subset_8000.jsonl.gz", "test.jsonl.gz"]),
    "news": ("20newsgroups", ["train.jsonl.gz", "test.jsonl.gz"]),
}


def _load_texts(name: str) -> Task:
    parts = [read_lines(file) for file in task_files(name)]
    items = [item for part in parts for item in part]
    X = np.array([item["text"] for item in items], dtype=object)
    y = np.array([item["label"] for item in items])
    if len(parts) == 2:
        return Task(X, y, _given_split(parts))
    if name == "movies":  # cv000 to cv999, the first digit the fold
        fold = np.array([int(item["id"][2]) for item in items])
        return Task(
            X, y, [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(10)]
        )
    return Task(X, y, _stratified(y))


def _given_split(parts: Sequence[Any]) -> list[tuple[Rows, Rows]]:
    train, test = map(len, parts)
    return [(np.arange(train), np.arange(train, train + test))]


def _stratified(y: Labels) -> list[tuple[Rows, Rows]]:
    """Return 5 folds, the same for all models."""
    with warnings.catch_warnings():  # one class of Nursery has two members
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))


MULTILABEL = {
    "modapte": ("reuters21578_modapte", ["train.jsonl.gz", "test.jsonl.gz"]),
    "enron": ("multilabel_enron", ["train.jsonl.gz", "test.jsonl.gz"]),
    "emotions": ("multilabel_emotions", ["train.jsonl.gz", "test.jsonl.gz"]),
    "slashdot": ("multilabel_slashdot", ["all.jsonl.gz"]),
}


def multilabel_files(name: str) -> list[Path]:
    """Return the files of a multi-label data set; raise DataMissingError if missing."""
    folder, parts = MULTILABEL[name]
    return files_of(folder, *parts, each="a JSON object with labels on each line")


def load_modapte(token_pattern: str) -> Labelled:
    """Read Reuters-21578 ModApte, R90: the 90 topics that occur in train and in test.

    A text is the title and the body; its counts are those of the pattern's tokens, case kept.
    """
    parts = [read_lines(file) for file in multilabel_files("modapte")]
    topics = [{topic for item in part for topic in item["labels"]} for part in parts]
    for part in parts:
        for item in part:
            item["labels"] = [topic for topic in item["labels"] if all(topic in k for k in topics)]
    train, test = ([item for item in part if item["labels"]] for part in parts)
    vectorizer = CountVectorizer(token_pattern=token_pattern, lowercase=False)
    return _labelled(vectorizer, train, test, lambda item: f"{item['title']} {item['text']}")


def load_enron() -> Labelled:
    """Read enron: the words of an e-mail, each once."""
    train, test = map(read_lines, multilabel_files("enron"))
    return _labelled(CountVectorizer(analyzer=list), train, test, itemgetter("words"))


def load_emotions() -> Labelled:
    """Read emotions: 72 numeric features, each cut at the quantiles of train, one-hot."""
    train, test = map(read_lines, multilabel_files("emotions"))
    numbers = np.array([list(item["features"].values()) for item in train])
    edges = np.quantile(numbers, np.arange(1, BINS) / BINS, axis=0)

    def bins(item: dict[str, Any]) -> Any:
        return (np.array(list(item["features"].values())) > edges).sum(axis=0)

    return _labelled(OneHotEncoder(handle_unknown="ignore"), train, test, bins)


def load_slashdot() -> Labelled:
    """Read slashdot: weights of words; a third of the items are drawn as the test set."""
    [items] = map(read_lines, multilabel_files("slashdot"))
    train, test = train_test_split(items, test_size=1 / 3, random_state=0)
    return _labelled(DictVectorizer(), train, test, itemgetter("features"))


def _labelled(
    vectorizer: Any, train: list[Any], test: list[Any], take: Callable[[Any], Any]
) -> Labelled:
    binarizer = MultiLabelBinarizer().fit([item["labels"] for item in train + test])
    counts = [
        vectorizer.fit_transform([take(item) for item in train]),
        vectorizer.transform([take(item) for item in test]),
    ]
    for matrix in counts:  # liblinear takes no 64-bit indices
        matrix.indices, matrix.indptr = (
            index.astype(np.int32) for index in (matrix.indices, matrix.indptr)
        )
    y_train, y_test = (
        binarizer.transform([item["labels"] for item in part]) for part in (train, test)
    )
    return Labelled(counts[0], counts[1], y_train, y_test)


def tokenize(texts: list[str]) -> list[list[str]]:
    """Return the words and the punctuation of each text, case kept."""
    find = re.compile(TOKEN_PATTERN).findall
    return [find(text) for text in texts]


def zipf_file(rows: int, values: int) -> Path:
    """Return a Parquet file of Zipf string columns c00..c19 and a random `label`, made if absent.

    Every column has `values` distinct strings; no two columns share one.
    """
    name = f"zipf_{rows}x{COLUMNS}_{values}.parquet"
    return _cached(name, lambda: _zipf_frame(rows, values))


def parity_file(rows: int) -> Path:
    """Return a Parquet file of string columns c00..c19 and a `label` of two, made if absent.

    Column j has the digits of 0 to j + 1. The label depends on the parity of c05 + c06, on c12, and
    on noise; the other columns say nothing.
    """
    return _cached(f"parity_{rows}x{COLUMNS}.parquet", lambda: _parity_frame(rows))


def _cached(name: str, make: Callable[[], pl.DataFrame]) -> Path:
    file = CACHE / name
    if not file.exists():
        CACHE.mkdir(exist_ok=True)
        draft = file.with_suffix(".draft")
        make().write_parquet(draft)
        draft.rename(file)  # an interrupted run must not leave half a file to be read as whole
    return file


def _parity_frame(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(19)
    values = rng.integers(np.arange(2, COLUMNS + 2), size=(rows, COLUMNS))
    parity, third = (values[:, 5] + values[:, 6]) % 2, values[:, 12] / 13
    label = parity + third + rng.normal(0, 0.5, rows) > 1
    columns = {f"c{j:02d}": pl.Series(values[:, j]).cast(pl.String) for j in range(COLUMNS)}
    return pl.DataFrame(columns | {"label": pl.Series(np.where(label, "yes", "no"))})


def _zipf_frame(rows: int, values: int) -> pl.DataFrame:
    rng = np.random.default_rng(20)
    cumulative = np.cumsum(np.arange(1, values + 1, dtype=float) ** -EXPONENT)
    ranks = pl.Series(np.arange(values)).cast(pl.String).str.zfill(len(str(values - 1)))
    columns = {}
    for j in range(COLUMNS):
        drawn = np.searchsorted(cumulative, rng.random(rows) * cumulative[-1], side="right")
        # Shuffled names, so that the order of the alphabet says nothing about frequency.
        names = f"c{j:02d}_" + ranks.gather(rng.permutation(values))
        columns[f"c{j:02d}"] = names.gather(drawn)
    columns["label"] = "class_" + pl.Series(rng.integers(CLASSES, size=rows)).cast(pl.String)
    return pl.DataFrame(columns)
