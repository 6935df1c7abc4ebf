"""Speed against peers: `python benchmarks/speed.py [--only NAME ...] [--repeats 5] [--json OUT]`.

Every figure is a ratio against a peer measured in the same run: peer and ours take turns, and the
medians are compared (of `choice` and `leave-one-out`, CPU seconds). The bars are the project's
goals. See README.md beside this file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import data
import harness
import numpy as np
import polars as pl
from harness import Result, alternate

from stc import STC_Q, SparseTensorClassifier, load_zoo

ROWS, FEW_ROWS = 1_000_000, 100_000
VALUES, MANY_VALUES = 5_000, 100_000  # in each column
CALLS = 300
PEERS = ["bornrule", "pandas", "pyarrow", "river"]
PACKAGES = ["sparse-tensor-classifier", "numpy", "scipy", "scikit-learn", "polars", *PEERS]


def accuracy(predicted: Any, truth: data.Labels) -> float:
    """Return the share of labels predicted right."""
    return float(np.mean(np.asarray(predicted) == truth))


def fit_predict(train: Any, test: Any, y: Any) -> Any:
    """Return the predictions for `test` of a model fitted to `train`."""
    return SparseTensorClassifier(**STC_Q).fit(train, y).predict(test)


def csr(repeats: int) -> list[Result]:
    """Measure 20 Newsgroups as counts: the vectoriser runs once and is not timed."""
    from bornrule import BornClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    news = data.load_news()
    vectorizer = CountVectorizer(token_pattern=data.TOKEN_PATTERN, lowercase=False)
    train, test = vectorizer.fit_transform(news.train), vectorizer.transform(news.test)

    def fit_proba(estimator: type[Any]) -> tuple[Any, Any]:
        model = estimator().fit(train, news.y_train)
        return model.classes_, model.predict_proba(test)

    def scored(runs: harness.Runs) -> float:
        classes, probabilities = runs.value
        return accuracy(classes[probabilities.argmax(axis=1)], news.y_test)

    results = []
    for peer, bar in ((MultinomialNB, 1.0), (BornClassifier, 0.25)):
        [(theirs, mine)] = alternate(
            f"csr, {peer.__name__}",
            partial(fit_proba, peer),
            partial(fit_proba, SparseTensorClassifier),
            repeats=repeats,
            keep=True,
        )
        results.append(
            Result(
                "csr",
                "20 Newsgroups, CSR counts, fit + predict_proba",
                peer.__name__,
                mine.seconds,
                theirs.seconds,
                bar,
                ours_accuracy=scored(mine),
                peer_accuracy=scored(theirs),
            )
        )
    return results


def token_loop(documents: list[list[str]]) -> dict[str, int]:
    """Give every distinct token a number in plain Python: a lower bound for any implementation."""
    counts: dict[str, int] = {}
    for document in documents:
        for token in document:
            counts.setdefault(token, len(counts))
    return counts


def tokens(repeats: int) -> list[Result]:
    """Measure 20 Newsgroups as lists of tokens, in records and in a polars column."""
    news = data.load_news()

    def fresh() -> tuple[list[list[str]], list[list[str]]]:
        # New strings for every run, as a tokenizer gives them: their hashes are not cached yet.
        return data.tokenize(news.train), data.tokenize(news.test)

    def loop(lists: tuple[list[list[str]], list[list[str]]]) -> dict[str, int]:
        return token_loop(lists[0] + lists[1])

    def records(lists: tuple[list[list[str]], list[list[str]]]) -> Any:
        X_train, X_test = ([{"text": tokens} for tokens in half] for half in lists)
        return fit_predict(X_train, X_test, news.y_train)

    [(theirs, mine)] = alternate("tokens", loop, records, repeats=repeats, keep=True, prepare=fresh)
    extra = {"distinct": len(theirs.value)}
    work = "20 Newsgroups, lists of tokens in records, fit + predict"
    score = accuracy(mine.value, news.y_test)
    peer = "Python loop, dict.setdefault"
    return [
        Result(
            "tokens",
            work,
            peer,
            mine.seconds,
            theirs.seconds,
            0.5,
            ours_accuracy=score,
            extra=extra,
        )
    ]


def strings(repeats: int) -> list[Result]:
    """Measure 20 Newsgroups as raw strings: tokenising is part of the work, for both."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    news = data.load_news()

    ours = partial(fit_predict, news.train, news.test, news.y_train)

    def peer() -> Any:
        pipeline = make_pipeline(CountVectorizer(), MultinomialNB())
        return pipeline.fit(news.train, news.y_train).predict(news.test)

    [(theirs, mine)] = alternate("strings", peer, ours, repeats=repeats, keep=True)
    return [
        Result(
            "strings",
            "20 Newsgroups, raw strings, fit + predict",
            "CountVectorizer + MultinomialNB",
            mine.seconds,
            theirs.seconds,
            0.33,
            ours_accuracy=accuracy(mine.value, news.y_test),
            peer_accuracy=accuracy(theirs.value, news.y_test),
        )
    ]


def zipf(group: str, values: int, bar: float | None, repeats: int, library: str) -> list[Result]:
    """Fit and predict a table of Zipf strings against polars casting it to Categorical.

    Each predict follows a new fit, so that its time includes the weights.
    """
    file = data.zipf_file(ROWS, values)
    frame = pl.read_parquet(file)
    columns = frame.drop("label")
    X: Any = columns
    y: Any = frame["label"]
    if library == "pandas":
        import pandas as pd

        X = pd.read_parquet(file)
        y = X.pop("label")
    model = SparseTensorClassifier(**STC_Q)
    pairs = alternate(
        group,
        lambda: columns.with_columns(pl.all().cast(pl.Categorical)),
        lambda: model.fit(X, y),
        lambda: model.predict(X),
        repeats=repeats,
    )
    size = f"{ROWS:,} x {data.COLUMNS} strings, {values:,} values a column, {library}"
    return [
        Result(
            group,
            f"{size}, {step}",
            "polars cast to Categorical",
            mine.seconds,
            theirs.seconds,
            bar,
            extra={"dtype": str(X.dtypes[0] if library == "polars" else X.dtypes.iloc[0])},
        )
        for step, (theirs, mine) in zip(("fit", "predict"), pairs, strict=True)
    ]


def table_polars(repeats: int) -> list[Result]:
    """Measure a large table of strings, from polars."""
    return zipf("polars", VALUES, 2.5, repeats, "polars")


def table_pandas(repeats: int) -> list[Result]:
    """Measure the same table, from pandas as read_parquet gives it."""
    return zipf("pandas", VALUES, 2.5, repeats, "pandas")


def table_wide(repeats: int) -> list[Result]:
    """Measure the same shape with 100,000 possible values in each column; no bar."""
    return zipf("wide", MANY_VALUES, None, repeats, "polars")


def growth(repeats: int) -> list[Result]:
    """Measure ten times the rows against itself."""
    frame = pl.read_parquet(data.zipf_file(ROWS, VALUES))

    columns, y = frame.drop("label"), frame["label"]
    few = columns.head(FEW_ROWS)
    [(theirs, mine)] = alternate(
        "growth",
        partial(fit_predict, few, few, y.head(FEW_ROWS)),
        partial(fit_predict, columns, columns, y),
        repeats=repeats,
    )
    return [
        Result(
            "growth",
            f"growth to {ROWS:,} rows, polars, fit + predict",
            f"itself, {FEW_ROWS:,} rows",
            mine.seconds,
            theirs.seconds,
            11.0,
        )
    ]


def memory(repeats: int) -> list[Result]:
    """Measure the peak memory beyond the input, each time in a new process (see memory.py)."""
    file = data.zipf_file(ROWS, VALUES)
    encoded = ROWS * data.COLUMNS * 4
    results = []
    for library in ("polars", "pandas"):
        runs = []
        for repeat in range(1, repeats + 1):
            runs.append(_memory_of(library, file))
            beyond = (runs[-1]["peak"] - runs[-1]["loaded"]) / 1e6
            harness.progress(f"memory, {library}: {repeat}/{repeats}: {beyond:.0f} MB")
        worst = max(run["peak"] - run["start"] - run["size"] for run in runs) / encoded
        results.append(
            Result(
                "memory",
                f"memory beyond the input, {ROWS:,} rows, {library}, fit + predict",
                f"encoded input, rows x {data.COLUMNS} x 4 bytes",
                [(run["peak"] - run["loaded"]) / 1e6 for run in runs],
                [encoded / 1e6],
                3.0,
                unit="MB",
                note=(
                    f"peak minus resident after loading; {worst:.2f} at worst if what the reading "
                    "of the file left resident is counted as ours too"
                ),
                extra={"processes": runs},
            )
        )
    return results


def _memory_of(library: str, file: Path, params: Mapping[str, Any] = STC_Q) -> dict[str, int]:
    script = Path(__file__).with_name("memory.py")
    command = [
        sys.executable,
        str(script),
        library,
        str(file),
        "--params",
        json.dumps(dict(params)),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def record(repeats: int) -> list[Result]:
    """Measure one animal as a dict, against the faster of river's models for such dicts."""
    from river.naive_bayes import BernoulliNB, MultinomialNB

    X, y = load_zoo()
    animals, labels = X.to_dicts(), y.to_list()
    one = animals[0]
    model = SparseTensorClassifier(**STC_Q).fit(animals, labels)

    def ours() -> None:
        for _ in range(CALLS):
            model.predict_proba([one])

    def peer(river: Any) -> harness.Work:
        for animal, label in zip(animals, labels, strict=True):
            river.learn_one(animal, label)

        def predict() -> None:
            for _ in range(CALLS):
                river.predict_proba_one(one)

        return predict

    rivers: dict[str, Callable[[], Any]] = {
        "MultinomialNB": MultinomialNB,
        "BernoulliNB": BernoulliNB,
    }
    measured = []
    for name, river in rivers.items():
        [pair] = alternate(f"record, river {name}", peer(river()), ours, repeats=repeats)
        measured.append((name, *pair))
    faster = min(measured, key=lambda entry: float(np.median(entry[1].seconds)))
    others = ", ".join(
        f"{name} {harness.show(float(np.median(theirs.per_call(CALLS))))}"
        for name, theirs, _ in measured
    )
    name, theirs, mine = faster
    return [
        Result(
            "record",
            "one dict of 16 attributes (Zoo), predict_proba",
            f"river {name}, predict_proba_one",
            mine.per_call(CALLS),
            theirs.per_call(CALLS),
            10.0,
            note=f"the peer is the faster of {others} a call; {CALLS} calls a run",
        )
    ]


def choice(repeats: int) -> list[Result]:
    """Measure a fit that chooses against one that is given what was chosen, and single values."""
    file = data.parity_file(ROWS)
    frame = pl.read_parquet(file)
    X, y = frame.drop("label"), frame["label"]
    size = f"{ROWS:,} x {data.COLUMNS} strings, the default"
    chosen = SparseTensorClassifier().fit(X, y).chosen_params_
    peers: dict[str, tuple[dict[str, Any], float]] = {
        "given chosen_params_": (chosen, 2.0),
        "stc.STC_Q, single values": (dict(STC_Q), 6.0),
    }
    results = []
    for peer, (params, bar) in peers.items():
        given = partial(SparseTensorClassifier(**params).fit, X, y)
        default = partial(SparseTensorClassifier().fit, X, y)
        [(theirs, mine)] = alternate(f"choice, {peer}", given, default, repeats=repeats)
        extra = {"params": params, "ours_wall": mine.seconds, "peer_wall": theirs.seconds}
        results.append(
            Result("choice", f"{size}, fit, CPU", peer, mine.cpu, theirs.cpu, bar, extra=extra)
        )
    runs: dict[str, list[dict[str, int]]] = {"default": [], "given": []}
    for _ in range(repeats):
        for name, params in (("given", chosen), ("default", {})):
            runs[name].append(_memory_of("polars", file, params))
    ours_mb, theirs_mb = (
        [(run["fitted"] - run["loaded"]) / 1e6 for run in runs[name]] for name in runs
    )
    memory = Result(
        "choice",
        f"{size}, memory of fit beyond the input",
        "given chosen_params_",
        ours_mb,
        theirs_mb,
        1.3,
        unit="MB",
        extra={"processes": runs},
    )
    return [*results, memory]


def leave_one_out(repeats: int) -> list[Result]:
    """Measure loo_predict_proba against predict_proba of the same items."""
    results = []
    for name, rows in (("adult", None), ("nursery", None), ("ag-news", 1_000)):
        task = data.load_task(name)
        learnt = task.folds[0][0] if name in data.TEXTS else np.arange(len(task.y))
        options: dict[str, Any] = {} if name in data.TEXTS else {"continuous": "auto"}
        model = SparseTensorClassifier(**options).fit(task.X[learnt], task.y[learnt])
        X, y = task.X[learnt[:rows]], task.y[learnt[:rows]]
        predict, leave_out = partial(model.predict_proba, X), partial(model.loo_predict_proba, X, y)
        [(theirs, mine)] = alternate(f"leave-one-out, {name}", predict, leave_out, repeats=repeats)
        results.append(
            Result(
                "leave-one-out",
                f"{name}, {len(y):,} items, loo_predict_proba, CPU",
                "predict_proba",
                mine.cpu,
                theirs.cpu,
                3.0,
                extra={"ours_wall": mine.seconds, "peer_wall": theirs.seconds},
            )
        )
    return results


GROUPS: dict[str, Callable[[int], list[Result]]] = {
    "csr": csr,
    "tokens": tokens,
    "strings": strings,
    "polars": table_polars,
    "pandas": table_pandas,
    "wide": table_wide,
    "growth": growth,
    "memory": memory,
    "record": record,
    "choice": choice,
    "leave-one-out": leave_one_out,
}
NEED_DATA = {"csr", "tokens", "strings"}


def missing(groups: list[str]) -> str | None:
    """Return a message about missing packages or data, or None."""
    absent = [name for name in PEERS if find_spec(name) is None]
    if absent:
        return f"the benchmarks need {', '.join(absent)} installed"
    try:
        if NEED_DATA.intersection(groups):
            data.news_files()
    except data.DataMissingError as error:
        others = " ".join(name for name in GROUPS if name not in NEED_DATA)
        return f"{error}\nWithout it, these can be measured: --only {others}"
    return None


def main() -> int:
    """Measure the chosen groups, print the table, write the JSON."""
    arguments = harness.arguments(__doc__, GROUPS, repeats=5)
    lacking = missing(arguments.only)
    if lacking:
        print(lacking, file=sys.stderr)
        return 2
    harness.warn_if_busy()
    results = []
    for name in arguments.only:
        results += GROUPS[name](arguments.repeats)
    return harness.finish(results, arguments.json, PACKAGES)


if __name__ == "__main__":
    sys.exit(main())
