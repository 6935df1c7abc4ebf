"""What to do with data that comes in batches: to learn from it, and to answer for it."""

from __future__ import annotations

import pickle
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc.corpus import Entries
from stc.encode import encode, encode_targets
from stc.intake import Batch, Intake
from stc.learnt import Learnt
from stc.model import Model
from stc.observations import Column, Observations
from stc.schema import Schema
from stc.sources import Chosen, Scan
from stc.sources.groups import COUNT, MASS, Groups, Plan
from stc.tally import Tally, added_up

# Predictors that a process keeps, so that their weights are computed once for all batches.
_KEPT = 4


Answer = Callable[[Any, pl.DataFrame], pl.DataFrame]


def unchecked(observed: Observations, known: Schema) -> None:
    """Accept the columns: they were picked by name."""


@dataclass(frozen=True)
class Reading:
    """How the rows of a source are read, to be learnt.

    Attributes
    ----------
    chosen
        The source.
    intake
        How they are read.
    columns
        The columns to read.
    """

    chosen: Chosen
    intake: Intake
    columns: tuple[str, ...]

    @classmethod
    def of(
        cls, intake: Intake, chosen: Chosen, y: Any, sample_weight: Any, before: Learnt | None
    ) -> Reading:
        """Columns are told by their names: those of the targets, of the weight, and the others."""
        roles = intake.roles
        if y is not None:
            roles = roles._replace(targets=_names("y", y))
            if intake.targets is not None:
                raise ValueError(f"targets={list(intake.targets)} are in the data: give no y")
        if sample_weight is not None:
            (weight,) = _names("sample_weight", sample_weight, 1)
            roles = roles._replace(weight=weight)
        if chosen.text is not None:
            roles = roles._replace(text=chosen.text)
        targets = tuple(intake.targets or roles.targets)
        if not targets:
            raise ValueError("name the column that is the target: fit(source, 'class')")
        taken = targets if roles.weight is None else (*targets, roles.weight)
        chosen.require(taken)
        known = before is not None and before.model.schema.closed
        items = items_of(chosen, before) if known and before else chosen.attributes(taken)
        columns = (*items, *(name for name in taken if name not in items))
        return cls(chosen, replace(intake, roles=roles, check_columns=unchecked), columns)

    def first(self, rows: int) -> pl.DataFrame:
        """The first rows, refusing to learn from none."""
        found = self.chosen.source.head(self.columns, rows)
        if not found.height:
            raise ValueError("the source has no rows: there is nothing to learn from")
        return found

    def task(self, blank: Model, max_tuples: int) -> LearningTask:
        """What is to be done with all rows."""
        return LearningTask(self.intake, blank, self.columns, max_tuples)

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that are the targets."""
        return tuple(self.intake.targets or self.intake.roles.targets)

    def weights(self, frame: pl.DataFrame) -> NDArray[np.float64]:
        """The weight of each row."""
        name = self.intake.roles.weight
        return np.ones(frame.height) if name is None else frame[name].cast(pl.Float64).to_numpy()


def _names(parameter: str, given: Any, most: int | None = None) -> tuple[str, ...]:
    several = tuple(given) if isinstance(given, list | tuple) else ()
    names = (given,) if isinstance(given, str) else several
    named = bool(names) and all(isinstance(name, str) for name in names)
    if not named or len(names) > (most or len(names)):
        raise ValueError(
            f"{parameter}: X is a source, so name its column; got {type(given).__name__}"
        )
    return names


def items_of(chosen: Chosen, learnt: Learnt) -> tuple[str, ...]:
    """The columns of a source that a model reads."""
    schema, names = learnt.model.schema, chosen.source.names
    text = chosen.text or learnt.roles.text
    if schema.kind == "counts":
        raise ValueError("the model was learnt from a sparse matrix, which no source holds")
    if schema.kind == "documents":
        if text is None and len(names) > 1:
            raise ValueError(
                "the model reads documents: say which column holds them, stc.source(..., text=...)"
            )
        wanted: tuple[str, ...] = (text or names[0],)
    else:
        wanted = schema.names if schema.named else names
    absent = [name for name in wanted if name not in names]
    if absent and (schema.closed or len(absent) == len(wanted)):
        raise ValueError(
            f"the data has no column {absent[0]!r}, which the model has learnt from; it has "
            f"{', '.join(map(repr, names))}"
        )
    return tuple(name for name in wanted if name in names)


def told(frame: pl.DataFrame, items: tuple[str, ...], learnt: Learnt) -> Any:
    """The items of a frame, as the model takes them: columns, or one of documents."""
    return frame[items[0]] if learnt.model.schema.kind == "documents" else frame.select(items)


def joined(parts: list[Any]) -> Any:
    """The answers for several batches as one."""
    if not parts:
        raise ValueError("the source has no rows: there is nothing to predict")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0][0], np.ndarray):  # of several targets
        return [np.concatenate(own) for own in zip(*parts, strict=True)]
    return [labels for part in parts for labels in part]


def scan_of(X: Any) -> Scan:
    """A frame in memory as a source, so that its answers can be written."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        frame = frame.to_polars().lazy()
    elif isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        frame = pl.LazyFrame(X, infer_schema_length=None)
    else:
        frame = nw.to_native(frame, pass_through=True)
    if not isinstance(frame, pl.LazyFrame):
        raise TypeError(f"to=...: give a frame or a source, got {type(X).__name__}")
    return Scan(frame)


@dataclass(frozen=True)
class LearningTask:
    """Learn items as a model does that has learnt nothing yet.

    Attributes
    ----------
    intake
        How they are read.
    blank
        The model that has learnt nothing.
    columns
        The columns to read.
    max_tuples
        The most combinations of values to make at a time.
    """

    intake: Intake
    blank: Model
    columns: tuple[str, ...]
    max_tuples: int

    def __call__(self, frames: Iterable[pl.DataFrame]) -> Model | None:
        """The model of these items alone; None if there are none."""
        model, start = self.blank, 0
        # Adding up in place is faster than a new model for each batch.
        tally = Tally(model.dimensions, tuple(model.corpora))
        for frame in frames:
            with placed(start, frame.height):
                for batch in self.batches(frame, model):
                    model = replace(model.admitting(batch.observed), form=batch.target.form)
                    counted = model.counted(
                        batch.observed, batch.target.column, batch.sample_weight
                    )
                    if Tally.can(model.corpora):
                        tally.add(counted)
                    else:
                        model = model.counting(counted)
            start += frame.height
        counted_all = tally.counted()
        if counted_all is not None:
            return model.counting(counted_all)
        return model if len(model.corpora[()].support) else None

    def plan(self, schema: pl.Schema) -> Plan | None:
        """How a database could count columns of these types itself; None if it could not."""
        model, roles = self.blank, self.intake.roles
        targets = tuple(self.intake.targets or roles.targets)
        items = [name for name in self.columns if name not in (*targets, roles.weight)]
        plain = model.schema.kind == "table" and not model.interactions.made and not model.scales
        # Of floats, the kernel knows which are missing.
        cells = [dtype for name, dtype in schema.items() if name != roles.weight]
        scalar = not any(dtype.is_nested() or dtype.is_float() for dtype in cells)
        sets = [subset for subset in model.corpora if subset]
        weighed = roles.weight is None or schema[roles.weight].is_numeric()
        ours = COUNT in schema or MASS in schema
        if ours or not (plain and scalar and weighed and sets and Tally.can(sets)):
            return None
        groups = model.dimensions.attributes or (tuple(items),)
        dimensions = tuple(groups[subset[0]] for subset in sets)
        return Plan(dimensions, targets, roles.weight, model.schema.missing == "category")

    def of_groups(self, groups: Groups, first: pl.DataFrame) -> Model | None:
        """The model of items that a database has counted; the first ones tell of what kind."""
        if not groups.classes.height:
            return None
        batch = self.intake.batch(first, None, None, self.blank)
        model = replace(self.blank.admitting(batch.observed), form=batch.target.form)
        sets = [subset for subset in model.corpora if subset]
        tally = Tally(model.dimensions, tuple(model.corpora))
        tally.like(batch.observed, batch.target.column)  # the first ones are numbered first
        for (number, name), unsorted in groups.columns.items():
            found = unsorted.sort(name)
            if not found.height:
                continue
            observed = encode(found.select(name), missing=model.schema.missing)
            column, target = observed.columns[0], self._target(found)
            # A database may tell apart what is one category, such as 1 and 1.0.
            entries = added_up([Entries(column.codes, target.codes, *_counts(found))])
            tally.like(replace(batch.observed, columns=observed.columns), target)
            tally.add_entries(sets[number], column, target, entries)
        target = self._target(groups.classes)
        every = np.zeros(target.n_items, dtype=np.int64)
        entries = added_up([Entries(every, target.codes, *_counts(groups.classes))])
        tally.add_entries((), None, target, entries)
        counted = tally.counted()
        assert counted is not None
        return model.counting(counted)

    def _target(self, found: pl.DataFrame) -> Column:
        names = self.intake.targets or self.intake.roles.targets
        return encode_targets({name: found[name] for name in names}).column

    def batches(self, frame: pl.DataFrame, model: Model) -> Iterator[Batch]:
        """The items of a frame, in parts that are small enough."""
        batch = self.intake.batch(frame, None, None, model)
        try:
            self.blank.refuse_large(batch.observed, self.max_tuples)
        except ValueError:
            if frame.height < 2:
                raise
            half = frame.height // 2
            yield from self.batches(frame[:half], model)
            yield from self.batches(frame[half:], model)
        else:
            if batch.sample_weight.any():
                yield batch


def _counts(found: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    mass = found[MASS].cast(pl.Float64).to_numpy()
    return mass, found[COUNT].cast(pl.Int64).to_numpy()


@contextmanager
def placed(start: int, rows: int) -> Iterator[None]:
    """Say in an error which rows of the data it is about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if not start:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"rows {start} to {start + rows - 1} of the data: {error}") from error


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
