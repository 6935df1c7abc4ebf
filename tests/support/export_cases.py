"""Models whose prediction is asked of a database, and what the answers must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np
import polars as pl
from scipy import sparse

from stc import PhaseLearner, SparseTensorClassifier, load_zoo
from stc._core.vocabulary import feature_name
from support.marking import slow_but
from support.models import paper_model

Rows = list[tuple[Any, ...]]


class Database(Protocol):
    """A database that never saw stc."""

    dialect: str

    def load(self, name: str, frame: pl.DataFrame) -> None:
        """Make a table of a frame."""

    def ask(self, sql: str) -> pl.DataFrame:
        """The answer to a query."""


# --- the same items as a table of features -------------------------------------------------------


def features_of(model: SparseTensorClassifier, X: Any) -> pl.DataFrame:
    """The items as rows (item, feature, weight), an empty item as one without a feature."""
    observed = model.fitted_.observe(X)
    rows: Rows = [(item, None, None) for item in range(observed.n_items)]
    for column in observed.columns:
        items, codes, weights = column.entries()
        values = column.values
        for entry, (item, code) in enumerate(zip(items.tolist(), codes.tolist(), strict=True)):
            value = f"x{code}" if values is None else values[code]
            weight = 1.0 if weights is None else float(weights[entry])
            rows.append((item, feature_name(column.attribute, value), weight))
    kinds = {"item": pl.Int64, "feature": pl.String, "weight": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


# --- the comparison ------------------------------------------------------------------------------


def expected(model: SparseTensorClassifier, X: Any) -> dict[tuple[str | None, Any], np.ndarray]:
    """(target or None, label) -> the probability of each item."""
    proba, classes = model.predict_proba(X), model.classes_
    if not isinstance(proba, list):
        return {(None, label): proba[:, k] for k, label in enumerate(classes.tolist())}
    names = model.fitted_.model.form.target_names
    return {
        (name, label): own[:, k]
        for name, own, labels in zip(names, proba, classes, strict=True)
        for k, label in enumerate(labels.tolist())
    }


def close(found: Any, truth: Any) -> None:
    np.testing.assert_allclose(np.asarray(found, dtype=float), truth, rtol=1e-9, atol=1e-13)


def check_long(answer: pl.DataFrame, truth: Mapping[Any, np.ndarray]) -> None:
    """A row per item and class; SQLite has 0 and 1 for truth values."""
    several = "target" in answer.columns
    assert answer.columns == ["item", *(["target"] if several else []), "class", "probability"]
    assert answer.height == sum(map(len, truth.values()))
    seen = {}
    for row in answer.sort("item").iter_rows():
        label = row[-2]
        seen.setdefault((row[1] if several else None, str(label)), []).append(row[-1])
    assert len(seen) == len(truth)
    for (target, label), own in truth.items():
        text = str(label)
        if isinstance(label, bool) and (target, text) not in seen:
            text = str(int(label))
        close(seen[target, text], own)


def check_wide(answer: pl.DataFrame, truth: Mapping[Any, np.ndarray]) -> None:
    answer = answer.sort("item")
    for (target, label), own in truth.items():
        start = "probability_" if target is None else f"probability_{target}_"
        close(answer[f"{start}{label}"].to_numpy(), own)
    asked = [name for name in answer.columns if name.startswith("probability_")]
    assert len(asked) == len(truth)
    assert answer.height == len(next(iter(truth.values())))


def check_predicted(answer: pl.DataFrame, model: SparseTensorClassifier, X: Any) -> None:
    """The predicted labels, but of items with two classes as probable: rounding decides there."""
    answer = answer.sort("item")
    form, said = model.fitted_.model.form, model.predict(X)
    joint = model.predict_joint(X)["probability"].to_numpy().reshape(answer.height, -1)
    highest = np.sort(joint, axis=1)[:, ::-1]
    clear = np.ones(len(joint), dtype=bool)
    if joint.shape[1] > 1:
        clear = highest[:, 0] > highest[:, 1] * (1 + 1e-9)
    if form.multilabel:
        labels = model.classes_.tolist()
        found = answer.select(f"predicted_{label}" for label in labels).to_numpy()
        truth = np.asarray(
            said if form.kind == "indicator" else [[own in each for own in labels] for each in said]
        )
        ratio = joint / joint.max(axis=1, keepdims=True)
        clear_labels = np.abs(ratio - model.label_threshold_) > 1e-9
        assert (found == truth)[clear_labels].all()
        if form.kind == "indicator":
            alone = answer.select(f"probability_{label}" for label in labels).to_numpy()
            assert ((alone > 0.5) == (found == 1)).all()
        return
    names = ["prediction"]
    if form.kind == "joint":
        names = [f"predicted_{name}" for name in form.target_names]
    found = answer.select(names).to_numpy().reshape(len(joint), -1)
    if said.dtype == bool:
        found = found.astype(bool)
    assert (found.astype(str) == np.reshape(said, found.shape).astype(str))[clear].all()


def check(database: Database, model: SparseTensorClassifier, X: Any) -> None:
    """Both forms, from a table of features and, if there are columns, from a table of items."""
    truth = expected(model, X)
    database.load("features", features_of(model, X))
    sources: list[dict[str, Any]] = [{"features": "features"}]
    if isinstance(X, pl.DataFrame):
        database.load("items", X.with_row_index("the item"))
        sources.append({"data": "items", "item": "the item"})
    for source in sources:
        check_long(database.ask(model.to_sql(database.dialect, **source)), truth)
        answer = database.ask(model.to_sql(database.dialect, form="wide", **source))
        check_wide(answer, truth)
        check_predicted(answer, model, X)


# --- models --------------------------------------------------------------------------------------

NASTY = (
    "'; DROP TABLE features; --",
    'say "cheese"',
    "back\\slash\\",
    "two\nlines",
    "Æther ☃",
    "%s {}",
    "",
)
SETTINGS: tuple[dict[str, float], ...] = (
    {},
    {"power": 1.0, "balance": 0.0, "entropy": 0.0},
    {"power": 1 / 3, "balance": 1.3},
    {"power": 0.02, "entropy": 0.5},
    {"power": 1.7, "balance": 0.5, "entropy": 2.0},
)


def zoo() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    X, y = load_zoo()
    for settings in SETTINGS:
        yield paper_model(**settings).fit(X[::2], y[::2]), X


def random_table(seed: int, names: Sequence[str], n: int = 40) -> pl.DataFrame:
    """Columns of few values, some of them missing."""
    rng = np.random.default_rng(seed)
    pools: list[list[Any]] = [list(NASTY), [1, 2, 3, -4], ["1", "1.0", "u", "true", "nan"]]
    columns = {}
    for place, name in enumerate(names):
        pool = pools[place % len(pools)]
        cells = [pool[k] if k < len(pool) else None for k in rng.integers(0, len(pool) + 1, n)]
        columns[name] = pl.Series(name, cells)
    return pl.DataFrame(columns)


def labels(seed: int, pool: Sequence[Any], n: int) -> list[Any]:
    return [pool[k] for k in np.random.default_rng(seed + 1000).integers(0, len(pool), n)]


def strange() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """Names, values and classes that would break SQL made of pasted strings."""
    names = ("a=b", "a", 'it\'s; "x" \\', "is missing", "Ünïcode\n")
    pools: list[Sequence[Any]] = [NASTY, (3, -1, 10), (True, False), (2.0, -3.0, 40.0)]
    for seed, (pool, missing) in enumerate(zip(pools, ("ignore", "category") * 2, strict=True)):
        X = random_table(seed, names)
        settings: dict[str, Any] = dict(SETTINGS[seed % len(SETTINGS)])
        model = paper_model(missing=missing, **settings)
        model.fit(X[:30], labels(seed, pool, 30), sample_weight=np.linspace(0.5, 2, 30))
        yield model, X


def tensors() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """Several dimensions, and policies that fall through to the next set."""
    names = ("p", "q", "r")
    policies: list[Any] = [
        None,
        [["p", "q", "r"], ["p", "q"], ["r"]],
        [["q"], ["p", "r"], []],
    ]
    for seed, policy in enumerate(policies):
        X = random_table(seed + 10, names, 60)
        model = paper_model(dimensions="each", policy=policy, **SETTINGS[seed])
        yield model.fit(X[:25], labels(seed, "abc", 25)), X
    X = random_table(20, names, 60)
    grouped = paper_model(
        dimensions={"one": ["p", "q"], "two": ["r"]}, policy=[["one", "two"], ["one"]]
    )
    yield grouped.fit(X[:25], labels(4, "abc", 25)), X


def weighted_bags() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """Values with weights, in one dimension, in several, and in conjunctions."""
    rng = np.random.default_rng(5)
    records = [
        {
            "a": {k: float(rng.integers(1, 5)) for k in rng.choice(list("uvwx"), 2, replace=False)},
            "b": list(rng.choice(list("yz"), 2)),
            "c": str(rng.integers(3)),
        }
        for _ in range(40)
    ]
    y = labels(5, "abc", 30)
    for settings in (
        {},
        {"dimensions": "each"},
        {"interactions": 2},
        {"interactions": 3, "power": 1 / 3},
    ):
        yield paper_model(**settings).fit(records[:30], y), records


def conjunctions() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    X = random_table(30, ("p", "q", "r"), 60)
    y = labels(30, "abc", 40)
    for settings in ({}, {"max_features": 5, "min_support": 2}):
        yield paper_model(interactions=3, **settings).fit(X[:40], y), X


def scales() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """Numbers and orders."""
    rng = np.random.default_rng(8)
    n = 60
    age = [None if k % 7 == 0 else float(k) for k in rng.normal(40, 15, n).round(2)]
    age[:3] = [-1e6, 1e6, float("nan")]
    size = [("small", "medium", "large", "huge", None)[k] for k in rng.integers(0, 5, n)]
    X = pl.DataFrame({"age": age, "size": size, "level": rng.integers(1, 5, n)})
    ordinal = {"size": ["small", "medium", "large", "huge"], "level": [1, 2, 3, 4, 5]}
    y = labels(8, "abc", n)
    for missing, continuous in (
        ("ignore", ["age"]),
        ("category", {"age": [10.0, 30.0, 31.5]}),
        ("ignore", {"age": [20.0]}),
    ):
        model = paper_model(continuous=continuous, ordinal=ordinal, missing=missing)
        yield model.fit(X[5:50], y[5:50]), X
    model = paper_model(continuous=["age"], ordinal=ordinal, interactions=2, missing="category")
    yield model.fit(X[5:50], y[5:50]), X


def shuffled(X: pl.DataFrame) -> pl.DataFrame:
    """Each column apart, so that every value tells something that no other does."""
    return X.select(pl.col(name).shuffle(seed=k) for k, name in enumerate(X.columns))


def kinds_of_columns() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """Numbers with a point and days are read as Python writes them."""
    X = pl.DataFrame(
        {
            "whole": pl.Series([1.0, 2.0, -0.0, None, 3.0, float("nan")] * 5),
            "broken": pl.Series([0.5, 0.25, 1.0, 100.0, -12.125, 20.5] * 5),
            "days": pl.Series(["2024-01-01", "2024-02-03", None] * 10).str.to_date(),
            "texts": pl.Series(["1.0", "1", "True", "true", "NaN", None] * 5),
        }
    )
    X = shuffled(X)
    for missing in ("ignore", "category"):
        yield paper_model(missing=missing).fit(X, labels(3, "abc", 30)), X


def typed_columns() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """What SQLite has no types for."""
    X = pl.DataFrame(
        {
            "yes": [True, False, None] * 10,
            "said": ["true", "True", "False"] * 10,
            "single": pl.Series([0.1, 0.5, 10.0, 2.0, None, 7.25] * 5, dtype=pl.Float32),
            "tiny": [1e-5, 1.5e-7, 0.1, 1 / 3, 0.5, 1e14] * 5,
            "decimal": pl.Series(["1.50", "2.00", "0.01", "100"] * 7 + ["7"] * 2).cast(
                pl.Decimal(9, 2)
            ),
        }
    )
    X = shuffled(X)
    for missing in ("ignore", "category"):
        yield paper_model(missing=missing).fit(X, labels(9, "ab", 30)), X


def documents() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    texts = ["good good fun", "bad, bad day", "a good day", "", 'it\'s "fun" \\ fun', "never seen"]
    y = ["+", "-", "+", "-", "+", "-"]
    yield paper_model().fit(texts[:5], y[:5]), texts
    yield paper_model(ngrams=2, power=1 / 3).fit(texts[:5], y[:5]), texts
    counts = sparse.random_array((30, 12), density=0.3, rng=np.random.default_rng(0), format="csr")
    yield paper_model().fit(counts[:20], labels(1, "abc", 20)), counts


def phases() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """Learnt, with a sharpness; given; and such that contributions cancel each other."""
    values = [[a, b] for a in "uvw" for b in "uvw"] * 10
    X = pl.DataFrame(values, schema=["a", "b"], orient="row")
    y = [a == b for a, b in values]
    learnt = paper_model(entropy=0, phases=PhaseLearner(penalties=(0.25,))).fit(X, y)
    assert learnt.sharpness_ != 1
    yield learnt, X[:12]
    angles = {True: {"a": {"u": 1.0, "v": np.pi}}, False: {"b": {"w": -2.0}}}
    yield paper_model(power=1 / 3, entropy=0, phases=angles).fit(X, y), X[:12]
    gains = {True: {"a": {"u": 0.1, "v": 0.0}}, False: {"b": {"w": 5.0}}}
    yield paper_model(power=1 / 3, entropy=0, gains=gains).fit(X, y), X[:12]
    yield paper_model(prior=0.5, gains=gains, phases=angles).fit(X, y), X[:12]
    opposite = {c: {"a": {"u": np.pi, "v": np.pi}} for c in "xy"}
    X = pl.DataFrame({"a": ["u", "v", "u", "v"], "b": ["u", "v", "v", "u"]})
    y = ["x", "x", "y", "y"]
    # Unlike what rounding leaves of the sums, the classes are not as frequent.
    often = paper_model(entropy=0, phases=opposite).fit(X, y, [3, 3, 1, 1])
    assert often.predict_proba(X[:1]).max() == 0.75
    yield often, X
    tensor = paper_model(
        entropy=0, dimensions="each", policy=[["a", "b"], ["a"]], phases=PhaseLearner()
    )
    yield tensor.fit(X, y), X


def targets() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    X = random_table(40, ("p", "q", "r"), 40)
    both = pl.DataFrame({"sky": labels(1, ("blue", "grey"), 30), "wind": labels(2, (1, 2, 3), 30)})
    yield paper_model().fit(X[:30], both), X


def several_labels() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    X = random_table(50, ("p", "q", "r"), 40)
    rng = np.random.default_rng(3)
    sets = [{"abc"[k] for k in rng.integers(0, 3, 2)} for _ in range(30)]
    yield paper_model().fit(X[:30], sets), X
    indicator = rng.integers(0, 2, (30, 3))
    yield paper_model().fit(X[:30], indicator), X
    for threshold in (0.4, 1.0):
        yield paper_model(label_threshold=threshold).fit(X[:30], indicator), X


def edges() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """One class; a class without items; features that tell nothing; nothing but frequencies."""
    X = pl.DataFrame({"a": ["u", "v", "w"]})
    yield paper_model().fit(X, ["x", "x", "x"]), X
    yield paper_model().partial_fit(X, ["x", "y", "x"], classes=["x", "y", "z"]), X
    same = pl.DataFrame({"a": ["u", "u"]})
    yield paper_model().fit(same, ["x", "y"]), same
    yield paper_model(policy=[[]]).fit(X, ["x", "x", "y"]), X


def anything() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """Random data, classes and parameters; a third of the items is new to the model."""
    kinds: list[dict[str, Any]] = [
        {},
        {"interactions": 2},
        {"dimensions": "each", "policy": "learn"},
        {"dimensions": [["a", "b"], ["c", "d"]]},
        {"phases": PhaseLearner(penalties=(0.5,), max_iter=10, validation=0)},
    ]
    for seed in range(7):
        rng = np.random.default_rng(seed)
        X = random_table(seed + 60, "abcd", 45)
        settings = {
            "power": float(rng.uniform(0.1, 1.5)),
            "balance": float(rng.uniform(0, 1.5)),
            "entropy": float(rng.uniform(0, 2)),
            "missing": ("ignore", "category")[seed % 2],
            **kinds[seed % len(kinds)],
        }
        y = labels(seed, (NASTY[:3], (1, 2, 3), "ab")[seed % 3], 30)
        yield paper_model(**settings).fit(X[:30], y, rng.uniform(0.1, 3, 30)), X


def many() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """So many features and classes that they are held in arrays where a database has them."""
    rng = np.random.default_rng(1)
    n = 560
    words = [f"w{k}" for k in range(n - len(NASTY))] + [own or "\t" for own in NASTY]
    X = pl.DataFrame({"a": words, "b": rng.integers(0, n, n)})
    yield paper_model(missing="category").fit(X, rng.integers(0, 110, n)), X[:50]
    phases = rng.uniform(-3, 3, (sum(X[name].n_unique() for name in X.columns), 3))
    yield paper_model(entropy=0, phases=phases).fit(X, rng.integers(0, 3, n)), X[:50]


def floored() -> Iterator[tuple[SparseTensorClassifier, Any]]:
    """A prior, a sharpness and a floor, in every kind of model."""
    kinds = (
        tensors,
        weighted_bags,
        conjunctions,
        documents,
        phases,
        targets,
        several_labels,
        edges,
    )
    for kind in kinds:
        for model, X in islice(kind(), 2):
            yield model.set_params(prior=0.1, sharpness=1.4, floor=0.03), X


CASES: dict[str, Callable[[], Iterator[tuple[SparseTensorClassifier, Any]]]] = {
    own.__name__: own
    for own in (
        zoo, strange, tensors, weighted_bags, conjunctions, scales, kinds_of_columns,
        documents, phases, targets, several_labels, edges, floored, anything, many,
    )
}  # fmt: skip
ANY_CASE = slow_but(CASES, [own for own in CASES if own not in {"anything", "many"}])
