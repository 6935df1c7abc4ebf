"""Predictions for a source, batch by batch: in memory, on workers, or written to a file."""

from __future__ import annotations

import pickle
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.tables import label_series
from stc._core.vocabulary import tuple_name
from stc.exceptions import DataError, EmptySourceError
from stc.explain import Answers
from stc.fitted import FittedModel
from stc.sources import Source
from stc.sources.columns import item_columns, items_in
from stc.sources.learning_task import map_rows

# Fitted models that a process keeps, so that their weights are computed once for all batches.
_CACHED_MODELS = 4

# Numbers (items x classes, or x contributions) that are in memory at a time.
_NUMBERS_AT_A_TIME = 5_000_000
# Contributions of a document, whose length is not known before it is read.
_TYPICAL_CONTRIBUTIONS = 100

# Makes the columns of an answer from a model and items.
Answer = Callable[[FittedModel, Any], pl.DataFrame]


@dataclass(frozen=True)
class PredictionTask:
    """Answers for rows of a source; it is sent to where the data is.

    Attributes
    ----------
    fitted
        The model.
    answer
        Makes the columns of the answer.
    items
        The columns that the model reads.
    copied
        The columns that are copied to the result.
    schema
        The columns of the result.
    on_rows
        Called with the number of rows whenever some are answered in this process.
    """

    fitted: FittedModel
    answer: Answer
    items: tuple[str, ...]
    copied: tuple[str, ...]
    schema: pl.Schema
    on_rows: Callable[[int], object] = lambda rows: None
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def of(
        cls,
        fitted: FittedModel,
        answer: Answer,
        chosen: Source,
        on_rows: Callable[[int], object] = lambda rows: None,
    ) -> PredictionTask:
        """Return the task for a source; columns that the model does not read are copied."""
        items = item_columns(chosen, fitted.state)
        copied = tuple(name for name in chosen.backend.names if name not in items)
        first = chosen.backend.head((*items, *copied), 1)
        if not first.height:
            raise EmptySourceError("there is nothing to predict")
        answers = answer(fitted, items_in(first, items, fitted.state))
        clash = [name for name in answers.columns if name in copied]
        if clash:
            raise DataError(f"the data has a column {clash[0]!r}, as the answer would: rename it")
        kinds = chosen.backend.column_types(copied) if copied else pl.Schema()
        schema = pl.Schema({**kinds, **answers.schema})
        return cls(fitted, answer, items, copied, schema, on_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return (*self.items, *(name for name in self.copied if name not in self.items))

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the answers for some rows, one each."""
        answers = self.answer(self.fitted, items_in(frame, self.items, self.fitted.state))
        both = frame.select(self.copied).hstack(answers) if self.copied else answers
        self.on_rows(frame.height)
        return both.cast(cast(Any, dict(self.schema)))

    def over(self, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the answers for batches of a source, few enough rows at a time for the memory."""
        width = len(self.fitted.model.classes)
        if getattr(self.answer, "reasons", 0):
            attributes = self.fitted.model.schema.width
            width += attributes if attributes > 1 else _TYPICAL_CONTRIBUTIONS
        rows = max(1, _NUMBERS_AT_A_TIME // max(width, 1))
        return map_rows(self, (frame for batch in batches for frame in batch.iter_slices(rows)))

    def __reduce__(self) -> Any:
        parts = (self.answer, self.items, self.copied, self.schema, self.token)
        return _unpickled, (pickle.dumps(self.fitted, protocol=5), *parts)


_cached: OrderedDict[str, FittedModel] = OrderedDict()


def _unpickled(
    blob: bytes, answer: Any, items: Any, copied: Any, schema: Any, token: str
) -> PredictionTask:
    """Return the task with the model that this process has unpickled before, if it has."""
    if token not in _cached:
        _cached[token] = pickle.loads(blob)
        while len(_cached) > _CACHED_MODELS:
            _cached.popitem(last=False)
    return PredictionTask(_cached[token], answer, items, copied, schema, token=token)


def predict_source(fitted: FittedModel, chosen: Source, method: str, to: Any) -> Any:
    """Answer for a source: as arrays if its rows have an order, else in kind; or to a file."""
    if to is None and chosen.backend.ordered:
        items = item_columns(chosen, fitted.state)
        answer = getattr(fitted, method)
        frames = chosen.backend.frames(items)
        parts = map_rows(lambda frame: answer(items_in(frame, items, fitted.state)), frames)
        return _concatenated(list(parts))
    return chosen.backend.predict(PredictionTask.of(fitted, ANSWERS[method], chosen), to)


def _concatenated(parts: list[Any]) -> Any:
    """Join the answers for several batches."""
    if not parts:
        raise EmptySourceError("there is nothing to predict")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0][0], np.ndarray):  # one array for each target
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return [labels for part in parts for labels in part]


# --- answers as columns ---------------------------------------------------------------------------


def predictions(fitted: FittedModel, items: Any) -> pl.DataFrame:
    """Return the class of each item: one column, or one for each of several targets."""
    form, classes, answers = fitted.model.form, fitted.classes, fitted.predict(items)
    if form.kind == "joint":
        columns = [
            _labels(f"predicted_{name}", answers[:, place], labels.dtype)
            for place, (name, labels) in enumerate(zip(form.target_names, classes, strict=True))
        ]
    elif form.kind == "indicator":
        columns = [
            pl.Series(f"predicted_{label}", answers[:, place])
            for place, label in enumerate(classes)
        ]
    elif form.kind == "sets":
        inner = _labels("", classes, classes.dtype).dtype
        columns = [pl.Series("prediction", list(map(sorted, answers)), dtype=pl.List(inner))]
    else:
        columns = [_labels("prediction", answers, answers.dtype)]
    return pl.DataFrame(columns)


def _labels(name: str, labels: NDArray[Any], dtype: np.dtype[Any]) -> pl.Series:
    if dtype.kind == "O":
        return label_series(name, labels)
    if dtype.kind not in "mM":
        return pl.Series(name, labels.tolist(), strict=False)
    # Microseconds, but nanoseconds and days stay what they are.
    unit = "ns" if np.datetime_data(dtype)[0] == "ns" else "us"
    times = pl.Series(name, labels.astype(dtype).astype(f"{dtype.kind}8[{unit}]"))
    return times.cast(pl.Date) if dtype.str[1:] == "M8[D]" else times


def probabilities(fitted: FittedModel, items: Any, method: str = "predict_proba") -> pl.DataFrame:
    """Return the probability of each class, or its logarithm, a column each."""
    form, classes, answers = fitted.model.form, fitted.classes, getattr(fitted, method)(items)
    prefixes = [f"probability_{target}_" for target in form.target_names]
    if form.kind != "joint":
        prefixes, classes, answers = ["probability_"], [classes], [answers]
    frames = [
        pl.DataFrame(np.asfortranarray(marginal), schema=[f"{prefix}{label}" for label in labels])
        for prefix, labels, marginal in zip(prefixes, classes, answers, strict=True)
    ]
    return pl.concat(frames, how="horizontal")


def coverages(fitted: FittedModel, items: Any) -> pl.DataFrame:
    """Return the share of each item that was seen in learning."""
    return pl.DataFrame({"coverage": fitted.coverage(items)})


# The answer that a source gets for each method of a fitted model.
ANSWERS: dict[str, Answer] = {
    "predict": predictions,
    "predict_proba": probabilities,
    "predict_log_proba": partial(probabilities, method="predict_log_proba"),
    "coverage": coverages,
}


@dataclass(frozen=True)
class PredictionTable:
    """An answer of several parts: the predicted class and what else is asked for.

    Attributes
    ----------
    proba
        Whether to add the probability of each class.
    reasons
        How many of the strongest contributions to add: `reason_1`, `share_1` and so on. They
        are those of the most probable class, or combination of classes.
    """

    proba: bool = False
    reasons: int = 0

    def __call__(self, fitted: FittedModel, items: Any) -> pl.DataFrame:
        """Return the columns of the answer, a row an item."""
        table = predictions(fitted, items)
        if self.proba:
            table = table.hstack(probabilities(fitted, items))
        if self.reasons:
            table = table.hstack(strongest_contributions(fitted.answers(items), self.reasons))
        return table


def strongest_contributions(answers: Answers, most: int) -> pl.DataFrame:
    """Return the features with the largest shares of each prediction, and these shares.

    A share below 0 speaks against the prediction. Cells are null where an item has fewer
    contributions, or where the class frequencies answer.
    """
    parts = answers.contributions(answers.best)
    along, _ = parts.along()
    shares = along / np.bincount(parts.items, along)[parts.items]
    order = np.lexsort((parts.ranks()[parts.places], -np.abs(shares), parts.items))
    items = parts.items[order]
    ranks = np.arange(len(items)) - np.searchsorted(items, items)
    kept = order[ranks < most]
    names = pl.Series(list(map(tuple_name, parts.features)), dtype=pl.String)
    columns: dict[str, pl.Series] = {}
    for rank in range(most):
        ranked = kept[ranks[ranks < most] == rank]
        place = np.full(answers.raw.n_items, -1)
        place[parts.items[ranked]] = ranked
        contribution = pl.Series(place).replace(-1, None)
        feature = pl.Series(parts.places).gather(contribution)
        columns[f"reason_{rank + 1}"] = names.gather(feature)
        columns[f"share_{rank + 1}"] = pl.Series(shares, dtype=pl.Float64).gather(contribution)
    return pl.DataFrame(columns)
