"""Answers for items in batches: where the data is."""

from __future__ import annotations

import pickle
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc.sources import Chosen
from stc.sources.reading import told

# Predictors that a process keeps, so that their weights are computed once for all batches.
_KEPT = 4


Answer = Callable[[Any, pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True)
class AnsweringTask:
    """Answer for items, beside those of their columns that are carried along.

    Attributes
    ----------
    predictor
        A fitted model.
    answer
        What to ask it, and how the answer becomes columns.
    items
        The columns that the model reads.
    carried
        The columns that are carried along.
    schema
        The columns of an answer.
    """

    predictor: Any
    answer: Answer
    items: tuple[str, ...]
    carried: tuple[str, ...]
    schema: pl.Schema
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def of(
        cls, predictor: Any, answer: Answer, chosen: Chosen, items: tuple[str, ...]
    ) -> AnsweringTask:
        """The task for a source: the columns that the model does not read are carried along."""
        carried = tuple(name for name in chosen.source.names if name not in items)
        first = chosen.source.head((*items, *carried), 1)
        if not first.height:
            raise ValueError("the source has no rows: there is nothing to predict")
        answers = answer(predictor, told(first, items, predictor._learnt))
        twice = [name for name in answers.columns if name in carried]
        if twice:
            raise ValueError(f"the data has a column {twice[0]!r}, as the answer would: rename it")
        kinds = chosen.source.kinds(carried) if carried else pl.Schema()
        schema = pl.Schema({**kinds, **answers.schema})
        return cls(predictor, answer, items, carried, schema)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return (*self.items, *(name for name in self.carried if name not in self.items))

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The answers for some items, a row for each."""
        answers = self.answer(self.predictor, told(frame, self.items, self.predictor._learnt))
        both = frame.select(self.carried).hstack(answers) if self.carried else answers
        return both.cast(cast(Any, dict(self.schema)))

    def __reduce__(self) -> Any:
        own = (self.answer, self.items, self.carried, self.schema, self.token)
        return _unpickled, (pickle.dumps(self.predictor, protocol=5), *own)


_kept: OrderedDict[str, Any] = OrderedDict()


def _unpickled(
    blob: bytes, answer: Any, items: Any, carried: Any, schema: Any, token: str
) -> AnsweringTask:
    """The task with the predictor that this process has already, if it has."""
    if token not in _kept:
        _kept[token] = pickle.loads(blob)
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return AnsweringTask(_kept[token], answer, items, carried, schema, token)


# --- the answers there are ------------------------------------------------------------------------


def predictions(predictor: Any, items: pl.DataFrame) -> pl.DataFrame:
    """The class of each item: one column, or one for each of several targets."""
    return pl.DataFrame(_label_columns(predictor, predictor.predict(items)))


def _label_columns(predictor: Any, answers: Any) -> list[pl.Series]:
    form = predictor._learnt.model.form
    if form.kind == "joint":
        names = [f"predicted_{name}" for name in form.target_names]
        dtypes = [own.dtype for own in predictor.classes_]
        columns = [answers[:, place] for place in range(len(names))]
        return [_labels(*own) for own in zip(names, columns, dtypes, strict=True)]
    if form.kind == "indicator":
        names = [f"predicted_{label}" for label in predictor.classes_]
        return [pl.Series(name, answers[:, k]) for k, name in enumerate(names)]
    if form.kind == "sets":
        lists = [sorted(own) for own in answers]
        inner = _labels("", predictor.classes_, predictor.classes_.dtype).dtype
        return [pl.Series("prediction", lists, dtype=pl.List(inner))]
    return [_labels("prediction", answers, answers.dtype)]


def _labels(name: str, labels: NDArray[Any], dtype: np.dtype[Any]) -> pl.Series:
    if dtype.kind not in "mM":
        return pl.Series(name, labels.tolist(), strict=False)
    # In the finest unit that both NumPy and polars have, but days stay days.
    times = pl.Series(name, labels.astype(dtype).astype(f"{dtype.kind}8[us]"))
    return times.cast(pl.Date) if dtype.str[1:] == "M8[D]" else times


def probabilities(predictor: Any, items: pl.DataFrame) -> pl.DataFrame:
    """The probability of each class, a column each."""
    return _class_columns(predictor, predictor.predict_proba(items))


def log_probabilities(predictor: Any, items: pl.DataFrame) -> pl.DataFrame:
    """The logarithm of the probability of each class, a column each."""
    return _class_columns(predictor, predictor.predict_log_proba(items))


def _class_columns(predictor: Any, answers: Any) -> pl.DataFrame:
    form, classes = predictor._learnt.model.form, predictor.classes_
    if form.kind != "joint":
        names = [f"probability_{label}" for label in classes]
        return pl.DataFrame(np.asfortranarray(answers), schema=names)
    frames = [
        pl.DataFrame(
            np.asfortranarray(own), schema=[f"probability_{target}_{label}" for label in labels]
        )
        for target, labels, own in zip(form.target_names, classes, answers, strict=True)
    ]
    return pl.concat(frames, how="horizontal")


def coverages(predictor: Any, items: pl.DataFrame) -> pl.DataFrame:
    """How much of each item was ever seen."""
    return pl.DataFrame({"coverage": predictor.coverage(items)})


def joined(parts: list[Any]) -> Any:
    """The answers for several batches as one."""
    if not parts:
        raise ValueError("the source has no rows: there is nothing to predict")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0][0], np.ndarray):  # of several targets
        return [np.concatenate(own) for own in zip(*parts, strict=True)]
    return [labels for part in parts for labels in part]
