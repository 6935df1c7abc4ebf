"""The application: its commands, their help, and how it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import stc
from stc.cli.commands.demo import demo
from stc.cli.commands.evaluate import evaluate
from stc.cli.commands.explain import explain
from stc.cli.commands.fit import fit
from stc.cli.commands.info import info
from stc.cli.commands.merge import merge
from stc.cli.commands.predict import predict
from stc.cli.commands.report import report
from stc.cli.commands.sql import sql
from stc.cli.commands.unlearn import unlearn
from stc.cli.commands.update import update
from stc.cli.errors import exit_code
from stc.cli.options import DebugOption
from stc.cli.output import Output
from stc.cli.signals import endings_as_errors, robust_streams, signals_raise

_ABOUT = (
    "The Sparse Tensor Classifier: an explainable classifier for categorical data.\n\n"
    "DATA is a file that ends with .csv, .tsv, .jsonl, .parquet or .arrow, also with .gz; several "
    "of them as a quoted pattern, 'data/*.csv'; or - for the standard input. MODEL is a file, or a "
    "model in a database: store-url#name, as in sqlite:///zoo.db#zoo."
)
_CODES = (
    "Exit codes: 0 success, 1 unexpected (a bug), 2 wrong usage, 3 a file or a store cannot be "
    "read or written, 4 the data is not right, 5 not a model, 6 a package is not installed, "
    "130 interrupted (129, 143: by SIGHUP, SIGTERM)."
)
_HELP = ["-h", "--help"]
_FIT = "stc fit zoo.csv --target class_type --ignore animal_name -o zoo.stc.parquet"
# Each command with an example, in the order of the help page.
_COMMANDS = (
    (demo, "stc demo --csv zoo.csv"),
    (fit, _FIT),
    (update, "stc update zoo.stc.parquet new.csv --batch-id 2026-11-16"),
    (unlearn, "stc unlearn zoo.stc.parquet new.csv"),
    (merge, "stc merge north.stc.parquet south.stc.parquet -o both.stc.parquet"),
    (predict, "stc predict zoo.stc.parquet zoo.csv -o out.csv --proba --explain 2"),
    (evaluate, "stc evaluate zoo.stc.parquet zoo.csv"),
    (explain, "stc explain zoo.stc.parquet zoo.csv --item 3"),
    (report, "stc report zoo.stc.parquet zoo.csv -o report.html"),
    (info, "stc info zoo.stc.parquet"),
    (sql, "stc sql zoo.stc.parquet --dialect postgres --data zoo --item animal_name"),
)


class CommandGroup(TyperGroup):
    """The commands; signals and closed pipes end them with an exit code of their own."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the command line, or show the help."""
        with endings_as_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with endings_as_errors():
            return super().invoke(ctx)


app = typer.Typer(
    cls=CommandGroup,
    help=_ABOUT,
    epilog=f"Example: {_FIT}\n\n{_CODES}",
    no_args_is_help=True,
    context_settings={"help_option_names": _HELP},
    pretty_exceptions_enable=False,
)
for command, example in _COMMANDS:
    app.command(epilog=f"Example: {example}")(command)


def _version(asked: bool) -> None:
    if asked:
        print(f"stc {stc.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: DebugOption = False,
) -> None:
    """Take the options that stand before the command."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    output = Output()
    application = _application()

    def work() -> int:
        code = application.main(given, prog_name="stc", standalone_mode=False, obj=output)
        return code if isinstance(code, int) else 0

    with robust_streams(), signals_raise():
        return exit_code(work, output, given)


def _application() -> Any:
    """Return the commands as typer runs them, with flags that the help does not call <bool>."""
    application: Any = get_command(app)
    context = application.context_class(application, help_option_names=_HELP)
    for one in (application, *application.commands.values()):
        for parameter in one.get_params(context):
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
    return application
