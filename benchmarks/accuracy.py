"""Accuracy and peers: `python benchmarks/accuracy.py [--text] [--only NAME ...] [--json OUT]`.

17 tables, the same 5 folds for all, or, with `--text`, six sets of texts: accuracy, log-loss,
wall and CPU seconds of fit + predict of ours and of the peers with their defaults, then means and
ranks.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import data
import harness
import numpy as np
import pandas as pd
import polars as pl
from harness import Runs
from scipy.stats import rankdata
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from stc import STC_Q, SparseTensorClassifier, SparseTensorClassifierCV

RESULTS = Path(__file__).resolve().parent / "results"
# Names of the models in the documentation.
LABELS = {
    "stc-cv": "`SparseTensorClassifierCV()`",
    "stc": "`SparseTensorClassifier()`",
    "stc-q": "`stc.STC_Q`",
    "lr": "logistic regression",
    "cnb": "CategoricalNB",
    "rf": "random forest",
    "catboost": "CatBoost, 300 rounds",
    "lightgbm": "LightGBM",
    "hgb": "HistGradientBoosting",
    "svc": "LinearSVC, tf-idf",
    "svc-counts": "LinearSVC, counts",
    "complement": "ComplementNB, tf-idf",
    "complement-counts": "ComplementNB, counts",
    "complement, better": "ComplementNB, the better of both",
    "multinomial": "MultinomialNB, tf-idf",
    "multinomial-counts": "MultinomialNB, counts",
    "multinomial, better": "MultinomialNB, the better of both",
}
STORED = [RESULTS / "accuracy.json", RESULTS / "auto.json"]  # of one figure in both, the second
PACKAGES = [
    "sparse-tensor-classifier",
    "numpy",
    "scipy",
    "scikit-learn",
    "polars",
    "catboost",
    "lightgbm",
]
MISSING = "?"  # the category of missing values for peers
SMALLEST = float(np.finfo(float).eps)  # lower limit of probabilities, as in scikit-learn

Maker = Callable[[Any], Any]  # the items to learn from -> a new estimator


class Part(NamedTuple):
    """Items and their classes."""

    X: Any
    y: data.Labels


class Model(NamedTuple):
    """A model of the comparison: its factory, and the name it is ranked by (best of that name)."""

    make: Maker
    ranked: str | None
    ours: bool = False


@dataclass(frozen=True)
class Score:
    """Scores of one model on one data set: a value for each fold."""

    group: str
    data: str
    model: str
    accuracies: list[float]
    log_losses: list[float] | None
    seconds: list[float]
    cpu: list[float] = field(default_factory=list)  # CPU seconds; empty in older files
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """Return the mean over the folds."""
        return fmean(self.accuracies)

    @property
    def log_loss(self) -> float | None:
        """Return the mean over the folds; None for a model without probabilities."""
        return None if self.log_losses is None else fmean(self.log_losses)

    @property
    def took(self) -> float:
        """Return the seconds of fit + predict of all folds."""
        return sum(self.seconds)

    @property
    def took_cpu(self) -> float | None:
        """Return the CPU seconds of fit + predict of all folds; None if not measured."""
        return sum(self.cpu) if self.cpu else None

    def summary(self) -> dict[str, Any]:
        """Return the means and sums over the folds."""
        return {name: getattr(self, name) for name in ("accuracy", "log_loss", "took", "took_cpu")}


@dataclass(frozen=True)
class Standing:
    """Mean scores of one model over all data sets; the rank is among the ranked models."""

    model: str
    sets: int
    accuracy: float
    rank: float | None
    log_loss: float | None
    took: float
    took_cpu: float | None


def logistic(X: pd.DataFrame) -> Any:
    """Return a logistic regression on one-hot categories and standardised numbers."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    encoder = _by_kind(OneHotEncoder(handle_unknown="ignore"), numbers)
    return make_pipeline(encoder, LogisticRegression(max_iter=10_000))


def bayes(X: pd.DataFrame) -> Any:
    """Return a naive Bayes on categories and the 10-quantiles of numbers.

    It gets all categories, because one that only the test set has would be out of bounds.
    """
    names = [X[name].cat.categories for name in X.select_dtypes("category")]
    sizes = [len(categories) for categories in names] + [1] * (X.shape[1] - len(names))
    bins = KBinsDiscretizer(
        10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"
    )
    numbers = make_pipeline(SimpleImputer(strategy="median"), bins)
    encoder = _by_kind(OrdinalEncoder(categories=names), numbers)
    return make_pipeline(encoder, CategoricalNB(min_categories=sizes))


def forest(X: pd.DataFrame, threads: int) -> Any:
    """Return a random forest on one-hot categories and the numbers as they are."""
    encoder = _by_kind(OneHotEncoder(handle_unknown="ignore"), SimpleImputer(strategy="median"))
    return make_pipeline(encoder, RandomForestClassifier(random_state=0, n_jobs=threads))


def catboost(X: pd.DataFrame, threads: int) -> Any:
    """Return CatBoost with the names of the categorical columns."""
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=300,
        cat_features=list(X.select_dtypes("category")),
        thread_count=threads,
        random_seed=0,
        verbose=0,
        allow_writing_files=False,
    )


def _by_kind(categories: Any, numbers: Any) -> Any:
    return make_column_transformer(
        (categories, make_column_selector(dtype_include="category")),
        (numbers, make_column_selector(dtype_include="number")),
    )


def plain(X: Any, **params: Any) -> Any:
    """Return our classifier, which chooses by leave-one-out the settings that are not given."""
    return SparseTensorClassifier(**params)


def tuned(X: Any, **params: Any) -> Any:
    """Return our classifier that chooses its hyper-parameters by cross-validation."""
    return SparseTensorClassifierCV(**params)


def lightgbm(X: pd.DataFrame, threads: int) -> Any:
    """Return LightGBM, which takes pandas' categories as they are."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=threads, random_state=0, verbose=-1)


def histogram_boosting(X: pd.DataFrame) -> Any:
    """Return scikit-learn's gradient boosting; it takes at most 255 categories a column."""
    few = {name: X[name].nunique() <= 255 for name in X.select_dtypes("category")}
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    encoder = _by_kind(codes, "passthrough")
    categorical = [*few.values(), *[False] * (X.shape[1] - len(few))]
    # Its early stopping refuses classes of one item.
    booster = HistGradientBoostingClassifier(
        categorical_features=categorical, early_stopping=False, random_state=0
    )
    return make_pipeline(encoder, booster)


def table_models(threads: int) -> dict[str, Model]:
    """Return the models for tables."""
    return {
        "stc-cv": Model(partial(tuned, continuous="auto"), "stc-cv", ours=True),
        "stc": Model(partial(plain, continuous="auto"), None, ours=True),
        "stc-q": Model(partial(plain, continuous="auto", **STC_Q), None, ours=True),
        "lr": Model(logistic, "lr"),
        "cnb": Model(bayes, "cnb"),
        "rf": Model(partial(forest, threads=threads), "rf"),
        "catboost": Model(partial(catboost, threads=threads), "catboost"),
        "lightgbm": Model(partial(lightgbm, threads=threads), None),
        "hgb": Model(histogram_boosting, None),
    }


def text_models() -> dict[str, Model]:
    """Return the models for texts; of a naive Bayes, the better of two inputs is ranked."""

    def on(vectorizer: type, classifier: type) -> Maker:
        return lambda X: make_pipeline(vectorizer(), classifier())

    return {
        "stc-cv": Model(tuned, "stc-cv", ours=True),
        "stc": Model(plain, None, ours=True),
        "stc-q": Model(partial(plain, **STC_Q), None, ours=True),
        "svc": Model(on(TfidfVectorizer, LinearSVC), "svc"),
        "svc-counts": Model(on(CountVectorizer, LinearSVC), None),
        "lr": Model(on(TfidfVectorizer, LogisticRegression), "lr"),
        "complement": Model(on(TfidfVectorizer, ComplementNB), "complement"),
        "complement-counts": Model(on(CountVectorizer, ComplementNB), "complement"),
        "multinomial": Model(on(TfidfVectorizer, MultinomialNB), "multinomial"),
        "multinomial-counts": Model(on(CountVectorizer, MultinomialNB), "multinomial"),
    }


def for_peers(X: Any) -> Any:
    """Return a frame for the peers: pandas, categorical, with a category for missing values."""
    if not isinstance(X, pl.DataFrame):
        return X
    columns = {
        column.name: column.to_numpy()
        if column.dtype.is_numeric()
        else pd.Categorical(column.fill_null(MISSING).to_numpy())
        for column in X
    }
    return pd.DataFrame(columns)


def rows_of(X: Any, rows: data.Rows) -> Any:
    """Return some rows of a frame, or some texts as a list."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    return X[rows] if isinstance(X, pl.DataFrame) else X[rows].tolist()


def fit_predict(make: Maker, X: Any, y: data.Labels, X_test: Any) -> tuple[Any, data.Labels]:
    """Return a model fitted to X and y, and its predictions for X_test."""
    model = make(X).fit(X, y)
    return model, np.ravel(model.predict(X_test))


def log_loss(model: Any, X: Any, y: data.Labels) -> float | None:
    """Return the mean of -ln P(class); a class absent from the training set gets the smallest P."""
    if not hasattr(model, "predict_proba"):
        return None
    probabilities = model.predict_proba(X)
    column = {str(name): k for k, name in enumerate(model.classes_)}
    at = np.array([column.get(str(name), -1) for name in y])
    of_class = np.where(at < 0, 0.0, probabilities[np.arange(len(y)), at])
    return float(-np.log(np.clip(of_class, SMALLEST, 1.0)).mean())


def judge(make: Maker, run: Runs, learn: Part, test: Part) -> tuple[float, float | None]:
    """Return accuracy and log-loss of a new model; only fit and predict are on the run's clock."""
    run.run(partial(fit_predict, make, learn.X, learn.y, test.X))
    (model, predicted), run.value = run.value, None
    accuracy = float(np.mean(predicted.astype(str) == test.y.astype(str)))
    return accuracy, log_loss(model, test.X, test.y)


def measure(group: str, name: str, models: Mapping[str, Model]) -> dict[str, Score]:
    """Run the models on one data set, in turns within each fold."""
    task = data.load_task(name)
    views = {True: task.X, False: for_peers(task.X)}
    runs = {key: Runs(keep=True) for key in models}
    outcomes: dict[str, list[tuple[float, float | None]]] = {key: [] for key in models}
    for fold in task.folds:
        for key, model in models.items():
            X = views[model.ours]
            learn, test = (Part(rows_of(X, rows), task.y[rows]) for rows in fold)
            outcomes[key].append(judge(model.make, runs[key], learn, test))
    scores = {}
    for key, values in outcomes.items():
        accuracies = [accuracy for accuracy, _ in values]
        losses = [loss for _, loss in values if loss is not None]
        scores[key] = Score(
            group, name, key, accuracies, losses or None, runs[key].seconds, runs[key].cpu
        )
    return scores


def best(scores: Iterable[Score]) -> Score:
    """Return the score of the highest accuracy."""
    return max(scores, key=lambda score: score.accuracy)


def ranks(of_each: Mapping[str, Sequence[Score]]) -> dict[str, float]:
    """Return the mean rank of each over the data sets; ties share the average rank."""
    if not of_each:
        return {}
    accuracies = np.array([[score.accuracy for score in scores] for scores in of_each.values()])
    # Rounded: means of equal folds in another order differ in the last digit.
    places = rankdata(-np.round(accuracies, 9), axis=0).mean(axis=1)
    return dict(zip(of_each, places.tolist(), strict=True))


def standings(scores: Sequence[Score], models: Mapping[str, Model]) -> list[Standing]:
    """Return means over the data sets: of every model, and of the better of two inputs."""
    of_set: dict[str, dict[str, Score]] = {}
    for score in scores:
        of_set.setdefault(score.data, {})[score.model] = score
    if not of_set:
        return []
    kinds: dict[str, list[str]] = {}
    for key, model in models.items():
        kinds.setdefault(model.ranked or "", []).append(key)
    kinds.pop("", None)
    names = {kind: keys[0] if len(keys) == 1 else f"{kind}, better" for kind, keys in kinds.items()}
    compared = list(chain.from_iterable(kinds.values()))
    whole = [by_model for by_model in of_set.values() if by_model.keys() >= set(compared)]
    ranked = {
        names[kind]: [best(by_model[key] for key in keys) for by_model in whole]
        for kind, keys in kinds.items()
    }
    places = ranks(ranked) if whole else {}
    each = {
        key: [by_model[key] for by_model in of_set.values() if key in by_model] for key in models
    }
    every = {name: mine for name, mine in (ranked | each).items() if mine}
    return [standing(name, mine, places.get(name)) for name, mine in every.items()]


def standing(name: str, scores: Sequence[Score], rank: float | None) -> Standing:
    """Return the means of one model's scores."""
    losses = [score.log_loss for score in scores if score.log_loss is not None]
    cpu = [score.took_cpu for score in scores if score.took_cpu is not None]
    return Standing(
        name,
        len(scores),
        fmean(score.accuracy for score in scores),
        rank,
        fmean(losses) if losses else None,
        sum(score.took for score in scores),
        sum(cpu) if len(cpu) == len(scores) else None,
    )


def grid(scores: Sequence[Score], show: Callable[[Score], str]) -> str:
    """Return a row for each data set and a column for each model."""
    keys = list(dict.fromkeys(score.model for score in scores))
    cells: dict[str, dict[str, str]] = {}
    for score in scores:
        cells.setdefault(score.data, {})[score.model] = show(score)
    rows = [[name, *(of[key] for key in keys)] for name, of in cells.items()]
    return harness.layout(["data", *keys], rows, numbers=range(1, len(keys) + 1))


def number(value: float | None, digits: int = 4) -> str:
    """Return a figure as text, or nothing."""
    return "" if value is None else f"{value:.{digits}f}"


def table_of_standings(means: Sequence[Standing]) -> str:
    """Return the means as aligned text."""
    head = ["model", "sets", "accuracy", "rank", "log-loss", "seconds", "CPU seconds"]
    rows = [
        [
            one.model,
            str(one.sets),
            number(one.accuracy),
            number(one.rank, 2),
            number(one.log_loss),
            number(one.took, 1),
            number(one.took_cpu, 1),
        ]
        for one in means
    ]
    return harness.layout(head, rows, numbers=range(1, 7))


def report(scores: Sequence[Score], means: Sequence[Standing]) -> str:
    """Return all tables."""
    parts = {
        "accuracy": grid(scores, lambda score: number(score.accuracy)),
        "log-loss": grid(scores, lambda score: number(score.log_loss)),
        "seconds of fit + predict, all folds": grid(scores, lambda score: number(score.took, 2)),
        "CPU seconds": grid(scores, lambda score: number(score.took_cpu, 2)),
        "means; ranks of accuracy": table_of_standings(means),
    }
    return "\n".join(f"{title}\n\n{text}\n" for title, text in parts.items() if text)


def write_part(file: Path, part: str, scores: Sequence[Score], means: Sequence[Standing]) -> None:
    """Write one part, the tables or the texts, to a file; the other part stays as it is."""
    whole = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    whole[part] = {
        "environment": harness.environment(PACKAGES),
        "results": [asdict(score) | score.summary() for score in scores],
        "standings": [asdict(one) for one in means],
    }
    file.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def read_part(part: str) -> dict[str, dict[str, Score]]:
    """Return the stored scores: data set -> model -> score."""
    files = [json.loads(file.read_text(encoding="utf-8")) for file in STORED if file.exists()]
    stored: dict[str, dict[str, Score]] = {}
    names = {one.name for one in fields(Score)}
    for row in chain.from_iterable(file.get(part, {}).get("results", []) for file in files):
        score = Score(**{name: value for name, value in row.items() if name in names})
        score.extra["cached"] = True
        stored.setdefault(score.data, {})[score.model] = score
    return stored


def markdown(stored: Mapping[str, Mapping[str, Score]], models: Mapping[str, Model]) -> str:
    """Return the stored figures as the tables of docs/accuracy.md."""
    scores = [score for by_model in stored.values() for score in by_model.values()]
    means = [
        [
            LABELS[one.model], str(one.sets), number(one.accuracy), number(one.rank, 2),
            number(one.log_loss), f"{one.took:,.0f}", number(one.took_cpu, 0),
        ]
        for one in standings([score for score in scores if _counts(score)], models)
    ]  # fmt: skip
    head = ["", "sets", "accuracy", "mean rank", "log-loss", "seconds", "CPU seconds"]
    figures: dict[str, Callable[[Score], str]] = {
        "Accuracy": lambda score: number(score.accuracy),
        "Log-loss": lambda score: number(score.log_loss),
        "Seconds of fit + predict, all folds": lambda score: f"{score.took:,.2f}",
        "CPU seconds of fit + predict, all folds": lambda score: number(score.took_cpu, 2),
    }
    parts = [_markdown_table(head, means)]
    for title, figure in figures.items():
        shown = [key for key in models if any(s.model == key and figure(s) for s in scores)]
        rows = [
            [name, *(figure(by_model[key]) if key in by_model else "" for key in shown)]
            for name, by_model in stored.items()
        ]
        parts.append(f"### {title}\n{_markdown_table(['', *(LABELS[k] for k in shown)], rows)}")
    return "\n\n".join(parts)


def _markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _counts(score: Score) -> bool:
    """Return whether a data set counts in the means."""
    return score.group != "given split"


def parse() -> argparse.Namespace:
    """Return the command line, parsed; `only`, `peers` and `ours` are lists of names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", action="store_true", help="texts instead of tables")
    lists = {"only": "data sets", "peers": "peers", "ours": "of ours: stc-cv, stc, stc-q"}
    for name, what in lists.items():
        parser.add_argument(f"--{name}", nargs="*", metavar="NAME", help=f"{what} (default: all)")
    parser.add_argument("--threads", type=int, default=1, help="of each peer (default 1)")
    parser.add_argument(
        "--cache", action="store_true", help="peers' figures from results/ where it has them"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every fold to this file")
    parser.add_argument(
        "--markdown", action="store_true", help="show results/ as the tables of docs/accuracy.md"
    )
    parsed = parser.parse_args()
    models = text_models() if parsed.text else table_models(parsed.threads)
    names = data.TEXTS if parsed.text else [*data.TABLES, *data.SPLIT_TABLES]
    parsed.only = chosen(parser, parsed.only, names)
    peers = chosen(parser, parsed.peers, [key for key in models if not models[key].ours])
    ours = chosen(parser, parsed.ours, [key for key in models if models[key].ours])
    parsed.models = {key: models[key] for key in [*ours, *peers]}
    return parsed


def chosen(
    parser: argparse.ArgumentParser, given: list[str] | None, names: Iterable[str]
) -> list[str]:
    """Return the names in `given`, separated by blanks or commas, in the order of `names`."""
    names = list(names)
    if given is None:
        return names
    wanted = {name for text in given for name in text.split(",") if name}
    if unknown := wanted - set(names):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(names)}")
    return [name for name in names if name in wanted]


def run(arguments: argparse.Namespace) -> tuple[list[Score], list[Standing]]:
    """Measure on the chosen data sets; the JSON is written after each."""
    models: dict[str, Model] = arguments.models
    part = "text" if arguments.text else "tables"
    stored = read_part(part) if arguments.cache else {}
    peers = [key for key, model in models.items() if not model.ours]
    scores: list[Score] = []
    means: list[Standing] = []
    for name in arguments.only:
        here = {key: score for key, score in stored.get(name, {}).items() if key in peers}
        group = "given split" if name in data.SPLIT_TABLES else part
        here |= measure(group, name, {key: models[key] for key in models if key not in here})
        scores += [here[key] for key in models]
        shown = ", ".join(f"{key} {here[key].accuracy:.4f}" for key in models)
        harness.progress(f"{name}: {shown}")
        means = standings([score for score in scores if score.group == part], models)
        if arguments.json:
            write_part(arguments.json, part, scores, means)
    return scores, means


def main() -> int:
    """Measure on the chosen data sets, print the tables, write the JSON."""
    arguments = parse()
    if arguments.markdown:
        print(markdown(read_part("text" if arguments.text else "tables"), arguments.models))
        return 0
    try:
        for name in arguments.only:
            data.task_files(name)
    except data.DataMissingError as error:
        print(error, file=sys.stderr)
        return 2
    harness.warn_if_busy()
    # Most of capital-gain is 0, so are most of its quantiles.
    warnings.filterwarnings("ignore", message="Bins whose width are too small")
    # HistGradientBoosting has no argument for its threads, and takes all of them.
    with threadpool_limits(arguments.threads, user_api="openmp"):
        print(report(*run(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
