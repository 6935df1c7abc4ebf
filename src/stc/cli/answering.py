"""The commands that answer for items: predict, evaluate."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stc._utils.file_formats import write_frames
from stc.cli import showing
from stc.cli.blaming import blaming
from stc.cli.data import DASH, Data, Given, check_output, column_of, columns_of, opened
from stc.cli.desk import Desk
from stc.cli.failing import DATA, USAGE, CommandError, stop_if_signalled, writing
from stc.cli.learning import count_of, load, targets_known
from stc.evaluation import evaluate_source
from stc.exceptions import EmptySourceError
from stc.sources.prediction import PredictionTable, PredictionTask

# Numbers (of items x classes, or x contributions) that are in memory at a time.
_AT_A_TIME = 5_000_000
# Contributions of an item, if nobody knows.
_USUAL = 100
OUTPUTS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".ipc")


def predict(
    desk: Desk,
    path: str,
    given: Given,
    text: str | None,
    answer: PredictionTable,
    output: str,
    out_format: str,
) -> None:
    """Answer for the items of the data, row by row, as they are read."""
    check_output(output, given.path, path)
    _check_ending(output)
    model = load(path)
    with opened(given) as data, desk.progress(), blaming(data):
        chosen = chosen_of(data, text)
        task = PredictionTask.of(model.fitted_, answer, chosen)
        rows = _rows_at_a_time(model, answer.reasons)
        counted = Counted(task.frames(chosen.source.frames(task.columns, task.carried), rows))
        _refuse_lists(task.schema, out_format if output == DASH else Path(output).suffix[1:])
        if output == DASH:
            _print(counted, out_format)
        else:
            with writing(output):
                write_frames(counted, task.schema, output)
    facts = {"items": counted.rows, "output": output}
    if output == DASH:
        desk.say(f"predicted {count_of(counted.rows, 'item')}")
    else:
        desk.done(facts, f"predicted {count_of(counted.rows, 'item')} -> {output}")


class Counted:
    """Frames, and how many rows they had."""

    def __init__(self, frames: Iterable[pl.DataFrame]) -> None:
        self._frames = frames
        self.rows = 0

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for frame in self._frames:
            stop_if_signalled()
            self.rows += frame.height
            yield frame


def _check_ending(output: str) -> None:
    if output != DASH and Path(output).suffix.lower() not in OUTPUTS:
        raise CommandError(f"{output}: expected a file that ends with {', '.join(OUTPUTS)}", USAGE)


def chosen_of(data: Data, text: str | None) -> Any:
    """The data with the column of documents, if it is named."""
    plain = data.source()
    return data.source(text=column_of(text, "--text", plain, data)) if text else plain


def _rows_at_a_time(model: Any, reasons: int = 0) -> int:
    width = len(model.class_mass_)
    if reasons:
        width += _USUAL if model.n_features_in_ == 1 else model.n_features_in_
    return max(1, _AT_A_TIME // width)


def _refuse_lists(schema: pl.Schema, kind: str) -> None:
    """Refuse to write several values to a cell that can hold one."""
    nested = [name for name, dtype in schema.items() if dtype.is_nested()]
    if nested and kind.lower() in ("csv", "tsv"):
        raise CommandError(
            f"column {nested[0]!r} holds several values a cell, which {kind} cannot: write "
            ".jsonl or .parquet (to the standard output: --out-format jsonl)",
            USAGE,
        )


def _print(frames: Iterable[pl.DataFrame], kind: str) -> None:
    """Write frames to the standard output as they come."""
    separator = "\t" if kind == "tsv" else ","
    first = True
    for frame in frames:
        if kind == "jsonl":
            text = frame.write_ndjson()
        else:
            text = frame.write_csv(include_header=first, separator=separator)
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        first = False


# --- evaluate -------------------------------------------------------------------------------------


def evaluate(
    desk: Desk,
    path: str,
    given: Given,
    target: Sequence[str],
    text: str | None,
    weight: str | None,
) -> None:
    """Judge a model on data whose classes are known."""
    model = load(path)
    with opened(given) as data, desk.progress():
        with blaming(data):
            chosen = chosen_of(data, text)
        targets = targets_of(model, target, chosen, data)
        weight = _weight_of(model, weight, chosen, data)
        with blaming(data, targets, weight):
            rows = _rows_at_a_time(model)
            evaluation = evaluate_source(model.fitted_, chosen, targets, weight, rows)
            if not evaluation.items:
                raise EmptySourceError("there is nothing to evaluate")
            figures = evaluation.figures(targets)
    if desk.json:
        desk.result(figures)
    else:
        showing.figures(figures, model)


def targets_of(model: Any, given: Sequence[str], chosen: Any, data: Data) -> list[str]:
    """The columns that hold the truth: as said, or as the model was learnt with."""
    if model.fitted_.state.model.form.kind == "indicator":
        raise CommandError(
            "the model was learnt from a 0/1 indicator of labels, which no column of a file holds",
            DATA,
        )
    return columns_of(targets_known(model, given), chosen, data)


def _weight_of(model: Any, given: str | None, chosen: Any, data: Data) -> str | None:
    """The column of weights: as said; or as the model was learnt with, if it is there."""
    if given:
        return column_of(given, "--weight", chosen, data)
    known: str | None = model.fitted_.state.roles.weight
    return known if known in chosen.source.names else None
