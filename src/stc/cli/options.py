"""Options and arguments that several commands share."""

from __future__ import annotations

from typing import Annotated, Literal, Optional

import typer

from stc.cli.output import Output


def _debug(context: typer.Context, asked: bool) -> None:
    context.ensure_object(Output).debug |= asked


def _quiet(context: typer.Context, asked: bool) -> None:
    context.ensure_object(Output).quiet |= asked


def _json(context: typer.Context, asked: bool) -> None:
    context.ensure_object(Output).json |= asked


def positive(value: float | None) -> float | None:
    """Refuse a number that is not above 0."""
    if value is not None and not value > 0:
        raise typer.BadParameter(f"{value} is not above 0")
    return value


def below_one(value: float | None) -> float | None:
    """Refuse a number that is not from 0 to less than 1."""
    if value is not None and not 0 <= value < 1:
        raise typer.BadParameter(f"{value} is not from 0 to less than 1")
    return value


Format = Literal["csv", "tsv", "jsonl", "parquet", "arrow"]
TextFormat = Literal["csv", "tsv", "jsonl"]
Names = Optional[list[str]]  # noqa: UP045 (typer reads it while it runs)
Name = Optional[str]  # noqa: UP045
Number = Optional[float]  # noqa: UP045
Count = Optional[int]  # noqa: UP045

_OUTPUT = "Output"
_MODEL = "Model file, or store-url#name."

ModelPath = Annotated[str, typer.Argument(metavar="MODEL", help=_MODEL)]
DataPath = Annotated[
    str, typer.Argument(metavar="DATA", help="Items: a file, a quoted pattern, or -.")
]
OutputOption = Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="File to write.")]
ModelOutputOption = Annotated[str, typer.Option("--output", "-o", metavar="OUT", help=_MODEL)]
FormatOption = Annotated[
    Optional[Format],  # noqa: UP045
    typer.Option("--format", help="Format of DATA, if its name does not tell it; of -: csv."),
]
SeparatorOption = Annotated[
    Name,
    typer.Option("--separator", metavar="SIGN", help="Separator of cells in a CSV: ';'."),
]
TargetOption = Annotated[
    Names,
    typer.Option(
        "--target", metavar="COLUMN", help="Column of the class, if the model does not know it."
    ),
]
TextOption = Annotated[
    Name,
    typer.Option("--text", metavar="COLUMN", help="Column of documents, if it has another name."),
]
WeightOption = Annotated[
    Name, typer.Option("--weight", metavar="COLUMN", help="Column of item weights.")
]
BatchOption = Annotated[
    Name,
    typer.Option(
        "--batch-id", metavar="ID", help="Id of this batch: learnt twice, it counts once."
    ),
]
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", callback=_quiet, help="No progress, no notes.", rich_help_panel=_OUTPUT
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        callback=_json,
        help="Result as JSON on stdout.",
        rich_help_panel=_OUTPUT,
    ),
]
DebugOption = Annotated[
    bool,
    typer.Option(
        "--debug", callback=_debug, help="Show the traceback of an error.", rich_help_panel=_OUTPUT
    ),
]


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether a parameter was on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
