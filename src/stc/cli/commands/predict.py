"""The command predict: the class of each row, with probabilities and reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from stc._utils.file_formats import find_format, format_of, suffixes
from stc.cli import options as opt
from stc.cli.data import DASH, DataArgument, check_output, opened
from stc.cli.errors import USAGE, CommandError, writing
from stc.cli.output import Output, write_text
from stc.cli.signals import stop_if_signalled
from stc.exceptions import ParameterError

if TYPE_CHECKING:
    import polars as pl


def predict(
    context: typer.Context,
    model: opt.ModelPath,
    data: opt.DataPath,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="OUT", help="File; its ending is the format. -: stdout."
        ),
    ] = DASH,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = (
        False
    ),
    explain: Annotated[
        int, typer.Option("--explain", min=0, metavar="N", help="Add the N strongest reasons.")
    ] = 0,
    text: opt.TextOption = None,
    kind: opt.FormatOption = None,
    separator: opt.SeparatorOption = None,
    out_format: Annotated[
        Optional[opt.TextFormat],  # noqa: UP045
        typer.Option("--out-format", help="Format of stdout; default: that of DATA, or csv."),
    ] = None,
    quiet: opt.QuietOption = False,
    json: opt.JsonOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Predict the class of each row of DATA, with probabilities and reasons.

    The columns that the model does not read are copied.
    """
    from stc.cli.lines import located_errors
    from stc.cli.model_place import model_place
    from stc.cli.models import counted, source_with_text
    from stc.sources.prediction import PredictionTable, PredictionTask

    notes: Output = context.obj
    place = model_place(model)
    if output != DASH:
        check_output(output, data, place.file)
        if find_format(output, compressed=False) is None:
            endings = ", ".join(suffixes())
            raise CommandError(f"{output}: expected a file that ends with {endings}", USAGE)
    fitted = place.load().fitted_
    printed = out_format or (kind if kind in ("tsv", "jsonl") else "csv")
    rows = 0

    def count(more: int) -> None:
        nonlocal rows
        stop_if_signalled()
        rows += more

    with (
        opened(DataArgument(data, kind, separator)) as files,
        notes.progress(),
        located_errors(files),
    ):
        chosen = source_with_text(files, text)
        task = PredictionTask.of(fitted, PredictionTable(proba, explain), chosen, count)
        _check_cells(task.schema, f"out.{printed}" if output == DASH else output)
        if output == DASH:
            _print(task.over(chosen.backend.frames(task.columns, task.copied)), printed)
        else:
            with writing(output):
                chosen.backend.predict(task, output)
    what = f"predicted {counted(rows, 'item')}"
    if output == DASH:
        notes.note(what)
    else:
        notes.done({"items": rows, "output": output}, f"{what} -> {output}")


def _check_cells(schema: pl.Schema, path: str) -> None:
    """Refuse several values in a cell of a format that holds one."""
    try:
        format_of(path).check_schema(schema)
    except ParameterError as error:
        raise CommandError(
            f"column {error.column!r}: {error.message}; write .jsonl or .parquet (to the standard "
            "output: --out-format jsonl)",
            USAGE,
        ) from error


def _print(frames: Iterable[pl.DataFrame], kind: str) -> None:
    """Write frames to the standard output as they come."""
    separator = "\t" if kind == "tsv" else ","
    first = True
    for frame in frames:
        if kind == "jsonl":
            text = frame.write_ndjson()
        else:
            text = frame.write_csv(include_header=first, separator=separator)
        write_text(text)
        first = False
