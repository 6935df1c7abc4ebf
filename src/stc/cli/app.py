"""The commands: their parameters, their help, and a call of what does the work.

What is heavy is imported by the command that needs it, so that help comes at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Optional

import typer
from typer.core import TyperGroup
from typer.main import get_command

import stc
from stc.cli.data import Given
from stc.cli.desk import Desk
from stc.cli.failing import outcome, quietly_ended

_ABOUT = (
    "The Sparse Tensor Classifier: learn from a table, predict, and say why.\n\n"
    "DATA is a file that ends with .csv, .tsv, .jsonl, .parquet or .arrow, also with .gz; several "
    "of them as a quoted pattern, 'data/*.csv'; or - for the standard input. MODEL is one file."
)
_CODES = (
    "Exit codes: 0 all is well, 1 unexpected (a bug), 2 wrong usage, 3 a file cannot be read or "
    "written, 4 the data is not right, 5 not a model, 6 a package is not installed, "
    "130 interrupted (129, 143: by SIGHUP, SIGTERM)."
)

_HELP = ["-h", "--help"]


class Commands(TyperGroup):
    """The commands, which end in our way."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read the command line, or show the help."""
        with quietly_ended():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with quietly_ended():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
    help=_ABOUT,
    epilog="Example: stc fit zoo.csv --target class_type --ignore animal_name -o zoo.stc.parquet"
    f"\n\n{_CODES}",
    no_args_is_help=True,
    context_settings={"help_option_names": _HELP},
    pretty_exceptions_enable=False,
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    desk = Desk()
    command = _command()

    def work() -> int:
        code = command.main(given, prog_name="stc", standalone_mode=False, obj=desk)
        return code if isinstance(code, int) else 0

    return outcome(work, desk)


def _command() -> Any:
    """The commands as typer runs them; its help shall not call a switch a <bool>."""
    command: Any = get_command(app)
    context = command.context_class(command, help_option_names=_HELP)
    for own in (command, *command.commands.values()):
        for parameter in own.get_params(context):
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
    return command


# --- parameters that several commands have --------------------------------------------------------


def _version(asked: bool) -> None:
    if asked:
        print(f"stc {stc.__version__}")
        raise typer.Exit


def _debug(context: typer.Context, asked: bool) -> None:
    context.ensure_object(Desk).debug |= asked


def _quiet(context: typer.Context, asked: bool) -> None:
    context.ensure_object(Desk).quiet |= asked


def _json(context: typer.Context, asked: bool) -> None:
    context.ensure_object(Desk).json |= asked


Format = Literal["csv", "tsv", "jsonl", "parquet", "arrow"]
TextFormat = Literal["csv", "tsv", "jsonl"]
Names = Optional[list[str]]  # noqa: UP045 (typer reads it while it runs)
Name = Optional[str]  # noqa: UP045

_WORK, _TALK = "What to do", "How to talk"

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="The model's file.")]
DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="The items: a file, a quoted pattern, or -.")
]
OutputOption = Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="Where to.")]
FormatOption = Annotated[
    Optional[Format],  # noqa: UP045
    typer.Option("--format", help="Format of DATA, if its name does not tell it; of -: csv."),
]
SeparatorOption = Annotated[
    Name, typer.Option("--separator", metavar="SIGN", help="Between the cells of a CSV, as in ';'.")
]
TargetOption = Annotated[
    Names,
    typer.Option(
        "--target", metavar="COLUMN", help="The column of the class, if the model does not know."
    ),
]
TextOption = Annotated[
    Name,
    typer.Option("--text", metavar="COLUMN", help="The column of documents, if it is another."),
]
WeightOption = Annotated[
    Name, typer.Option("--weight", metavar="COLUMN", help="The column of each item's weight.")
]
BatchOption = Annotated[
    Name,
    typer.Option(
        "--batch-id", metavar="ID", help="A name for this batch: sent twice, it counts once."
    ),
]
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", callback=_quiet, help="No progress, no notes.", rich_help_panel=_TALK
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json", callback=_json, help="The result as JSON on stdout.", rich_help_panel=_TALK
    ),
]
DebugOption = Annotated[
    bool,
    typer.Option(
        "--debug", callback=_debug, help="Show where an error comes from.", rich_help_panel=_TALK
    ),
]


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: DebugOption = False,
) -> None:
    """Take the options that stand before the command."""


# --- learn ----------------------------------------------------------------------------------------


@app.command(epilog="Example: stc demo --csv zoo.csv")
def demo(
    context: typer.Context,
    csv: Annotated[
        Name,
        typer.Option("--csv", metavar="OUT", help="Write the Zoo data to this file, to try with."),
    ] = None,
    quiet: QuietOption = False,
    debug: DebugOption = False,
) -> None:
    """Fit, evaluate and explain on the Zoo data, in a second."""
    from stc.cli import demo as tour

    if csv is None:
        tour.demo()
    else:
        tour.write_csv(context.obj, csv)


@app.command(
    epilog="Example: stc fit zoo.csv --target class_type --ignore animal_name -o zoo.stc.parquet"
)
def fit(
    context: typer.Context,
    data: DataArgument,
    output: OutputOption,
    target: Annotated[
        list[str],
        typer.Option("--target", "-t", metavar="COLUMN", help="What to predict; several: joint."),
    ],
    ignore: Annotated[
        Names, typer.Option("--ignore", "-i", metavar="COLUMN", help="Nothing to learn from.")
    ] = None,
    columns: Annotated[
        Names, typer.Option("--columns", metavar="COLUMN", help="Learn from these only.")
    ] = None,
    text: Annotated[
        Name,
        typer.Option("--text", metavar="COLUMN", help="Learn from documents, word by word."),
    ] = None,
    weight: WeightOption = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the settings by cross-validation.")
    ] = False,
    group: Annotated[
        Name,
        typer.Option(
            "--group", metavar="COLUMN", help="For --tune: rows of a group stay together."
        ),
    ] = None,
    power: Annotated[
        float, typer.Option(metavar="NUMBER", min=0, help="How contributions add up.")
    ] = 0.5,
    balance: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", min=0, help="How far frequent classes lose their advantage."
        ),
    ] = 1.0,
    entropy: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", min=0, help="How much values of all classes are discounted."
        ),
    ] = 1.0,
    interactions: Annotated[
        int, typer.Option(metavar="N", min=1, help="Up to how many attributes are conjoined.")
    ] = 1,
    min_support: Annotated[
        int, typer.Option(metavar="N", min=1, help="Items that must show a conjunction.")
    ] = 1,
    ngrams: Annotated[
        int, typer.Option(metavar="N", min=1, help="Up to how many words in a row.")
    ] = 1,
    continuous: Annotated[
        Names, typer.Option("--continuous", metavar="COLUMN|auto", help="Columns of numbers.")
    ] = None,
    missing: Annotated[
        Literal["ignore", "category"], typer.Option(help="What a missing value is.")
    ] = "ignore",
    dimensions: Annotated[
        Names,
        typer.Option(
            "--dimensions", metavar="each|COLUMNS", help="Every column its own; or groups."
        ),
    ] = None,
    policy: Annotated[
        Names,
        typer.Option("--policy", metavar="learn|SET", help="Sets of dimensions, first to last."),
    ] = None,
    phases: Annotated[
        Optional[Literal["learn"]],  # noqa: UP045
        typer.Option(help="Learn how values cancel each other."),
    ] = None,
    kind: FormatOption = None,
    separator: SeparatorOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Learn a model from DATA.

    Options that take a column may be repeated, or name several with commas between them.
    """
    from stc.cli import learning

    settings = {
        "power": power,
        "balance": balance,
        "entropy": entropy,
        "interactions": interactions,
        "min_support": min_support,
        "ngrams": ngrams,
        "continuous": continuous,
        "missing": missing,
        "dimensions": dimensions,
        "policy": policy,
        "phases": phases,
    }
    given = {name: value for name, value in settings.items() if _is_given(context, name)}
    roles = learning.Roles(target, ignore or (), columns or (), weight, text, group)
    learning.fit(context.obj, Given(data, kind, separator), roles, given, tune, output)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter was on the command line; what is not is for the library to choose."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@app.command(epilog="Example: stc update zoo.stc.parquet new.csv --batch-id 2026-11-16")
def update(
    context: typer.Context,
    model: ModelArgument,
    data: DataArgument,
    batch_id: BatchOption = None,
    target: TargetOption = None,
    text: TextOption = None,
    weight: WeightOption = None,
    kind: FormatOption = None,
    separator: SeparatorOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Learn more, into the file MODEL: all of DATA, or nothing."""
    from stc.cli import learning

    roles = learning.Roles(target or (), weight=weight, text=text)
    learning.update(context.obj, model, Given(data, kind, separator), roles, batch_id)


@app.command(epilog="Example: stc unlearn zoo.stc.parquet new.csv")
def unlearn(
    context: typer.Context,
    model: ModelArgument,
    data: DataArgument,
    batch_id: BatchOption = None,
    target: TargetOption = None,
    text: TextOption = None,
    weight: WeightOption = None,
    kind: FormatOption = None,
    separator: SeparatorOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Forget the items of DATA, exactly, in the file MODEL."""
    from stc.cli import learning

    roles = learning.Roles(target or (), weight=weight, text=text)
    learning.unlearn(context.obj, model, Given(data, kind, separator), roles, batch_id)


@app.command(epilog="Example: stc merge north.stc.parquet south.stc.parquet -o both.stc.parquet")
def merge(
    context: typer.Context,
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL MODEL...", help="Two models or more.")
    ],
    output: OutputOption,
    quiet: QuietOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Add models up: the same as if one had learnt all their items."""
    from stc.cli import learning

    if len(models) < 2:
        raise typer.BadParameter("give two models or more", context, param_hint="MODEL MODEL...")
    learning.merge(context.obj, models, output)


# --- answer ---------------------------------------------------------------------------------------


@app.command(epilog="Example: stc predict zoo.stc.parquet zoo.csv -o out.csv --proba --explain 2")
def predict(
    context: typer.Context,
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="OUT", help="A file, its ending the format; - is stdout."
        ),
    ] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="The probability of each class.")] = False,
    explain: Annotated[
        int, typer.Option("--explain", min=0, metavar="N", help="The N strongest reasons.")
    ] = 0,
    text: TextOption = None,
    kind: FormatOption = None,
    separator: SeparatorOption = None,
    out_format: Annotated[
        Optional[TextFormat],  # noqa: UP045
        typer.Option("--out-format", help="Format of stdout; that of --format, or csv."),
    ] = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Predict the class of each row of DATA, with probabilities and reasons.

    The columns that the model does not read are carried along.
    """
    from stc.cli import answering
    from stc.sources.prediction import PredictionTable

    answer = PredictionTable(proba, explain)
    printed = out_format or (kind if kind in ("tsv", "jsonl") else "csv")
    given = Given(data, kind, separator)
    answering.predict(context.obj, model, given, text, answer, output, printed)


@app.command(epilog="Example: stc evaluate zoo.stc.parquet zoo.csv")
def evaluate(
    context: typer.Context,
    model: ModelArgument,
    data: DataArgument,
    target: TargetOption = None,
    text: TextOption = None,
    weight: WeightOption = None,
    kind: FormatOption = None,
    separator: SeparatorOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Compare predictions with the truth: accuracy, each class, who is taken for whom."""
    from stc.cli import answering

    given = Given(data, kind, separator)
    answering.evaluate(context.obj, model, given, target or (), text, weight)


@app.command(epilog="Example: stc explain zoo.stc.parquet zoo.csv --item 3")
def explain(
    context: typer.Context,
    model: ModelArgument,
    data: Annotated[
        Name, typer.Argument(metavar="[DATA]", help="Items; without, the model is explained.")
    ] = None,
    item: Annotated[
        int, typer.Option("--item", min=0, metavar="K", help="Which item; the first is 0.")
    ] = 0,
    label: Annotated[
        Name, typer.Option("--class", metavar="C", help="This class, not the predicted one.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="How many features.")] = 10,
    html: Annotated[
        Name, typer.Option("--html", metavar="OUT", help="Write the item's page to this file.")
    ] = None,
    text: TextOption = None,
    kind: FormatOption = None,
    separator: SeparatorOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Say why an item of DATA gets its class; without DATA, what the model knows of each class."""
    from stc.cli import telling

    if data is not None:
        given = Given(data, kind, separator)
        telling.explain_item(context.obj, model, given, text, item, label, top, html)
    elif html is not None or item:
        raise typer.BadParameter(
            "it is of an item: give DATA", context, param_hint="--html, --item"
        )
    else:
        telling.explain_model(context.obj, model, label, top)


@app.command(epilog="Example: stc report zoo.stc.parquet zoo.csv -o report.html")
def report(
    context: typer.Context,
    model: ModelArgument,
    data: DataArgument,
    output: OutputOption,
    target: TargetOption = None,
    text: TextOption = None,
    title: Annotated[Name, typer.Option(help="Of the page.")] = None,
    rows: Annotated[
        int, typer.Option(metavar="N", min=1, help="The most items to judge by.")
    ] = 10_000,
    kind: FormatOption = None,
    separator: SeparatorOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Write a page to send around: the model, how good it is on DATA, and why for each item."""
    from stc.cli import telling

    given = Given(data, kind, separator)
    telling.report(context.obj, model, given, target or (), text, title, rows, output)


# --- look -----------------------------------------------------------------------------------------


@app.command(epilog="Example: stc info zoo.stc.parquet")
def info(
    context: typer.Context,
    model: ModelArgument,
    quiet: QuietOption = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show what is in a model."""
    from stc.cli import telling

    telling.info(context.obj, model)


@app.command(
    epilog="Example: stc sql zoo.stc.parquet --dialect postgres --data zoo --item animal_name"
)
def sql(
    context: typer.Context,
    model: ModelArgument,
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="postgres, duckdb, sqlite, or another of sqlglot.")
    ] = "duckdb",
    form: Annotated[
        Literal["long", "wide"], typer.Option(help="A row per item and class, or per item.")
    ] = "long",
    data: Annotated[
        Name, typer.Option(metavar="TABLE", help="A table with a column per attribute.")
    ] = None,
    features: Annotated[
        str, typer.Option(metavar="TABLE", help="Or a table (item, feature, weight).")
    ] = "features",
    item: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column that tells items apart.")
    ] = "item",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="A file; - is stdout.")
    ] = "-",
    quiet: QuietOption = False,
    debug: DebugOption = False,
) -> None:
    """Write the model as one SQL query, for a database that never saw this library."""
    from stc.cli import telling

    options = {"dialect": dialect, "form": form, "features": features, "data": data, "item": item}
    telling.sql(context.obj, model, output, options)
