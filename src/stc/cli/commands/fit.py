"""The command fit: learn a model from data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Optional

import typer

from stc.cli import options as opt
from stc.cli.data import Data, DataArgument, named_columns, opened
from stc.cli.errors import USAGE, CommandError
from stc.cli.output import Output

# Rows from which --tune chooses settings.
_TUNING_ROWS = 100_000
# What tuning chooses, in the order in which it is printed.
_SETTINGS = (
    "power", "balance", "entropy", "prior", "sharpness", "floor", "interactions", "ngrams",
)  # fmt: skip
_TUNED = ("phases", "missing", "min_support", "max_features")
# Options that cannot be combined with --tune.
_NOT_TUNED = ("dimensions", "policy", "phases")


def fit(
    context: typer.Context,
    data: opt.DataPath,
    output: opt.ModelOutputOption,
    target: Annotated[
        list[str],
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Column to predict; several: jointly.",
        ),
    ],
    ignore: Annotated[
        opt.Names, typer.Option("--ignore", "-i", metavar="COLUMN", help="Columns to exclude.")
    ] = None,
    columns: Annotated[
        opt.Names,
        typer.Option("--columns", metavar="COLUMN", help="Columns to learn from."),
    ] = None,
    text: Annotated[
        opt.Name,
        typer.Option("--text", metavar="COLUMN", help="Column of documents to learn from."),
    ] = None,
    weight: opt.WeightOption = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Try phases, too, by cross-validation.")
    ] = False,
    group: Annotated[
        opt.Name,
        typer.Option(
            "--group", metavar="COLUMN", help="For --tune: rows of a group stay in one fold."
        ),
    ] = None,
    power: Annotated[
        opt.Number, typer.Option(metavar="NUMBER", min=0, help="How contributions add up (p).")
    ] = None,
    balance: Annotated[
        opt.Number,
        typer.Option(metavar="NUMBER", min=0, help="How far class imbalance is corrected (b)."),
    ] = None,
    entropy: Annotated[
        opt.Number,
        typer.Option(
            metavar="NUMBER", min=0, help="Discount of values that all classes share (h)."
        ),
    ] = None,
    prior: Annotated[
        opt.Number,
        typer.Option(
            metavar="NUMBER", min=0, help="Mass added to every value, by class frequency."
        ),
    ] = None,
    sharpness: Annotated[
        opt.Number, typer.Option(metavar="NUMBER", min=0, help="Confidence of the probabilities.")
    ] = None,
    floor: Annotated[
        opt.Number,
        typer.Option(metavar="NUMBER", min=0, help="Share of the class frequencies in answers."),
    ] = None,
    interactions: Annotated[
        opt.Count, typer.Option(metavar="N", min=1, help="Most attributes in a conjunction.")
    ] = None,
    min_support: Annotated[
        int, typer.Option(metavar="N", min=1, help="Fewest items with a conjunction.")
    ] = 1,
    ngrams: Annotated[
        opt.Count, typer.Option(metavar="N", min=1, help="Most words in an n-gram.")
    ] = None,
    continuous: Annotated[
        opt.Names, typer.Option("--continuous", metavar="COLUMN|auto", help="Columns of numbers.")
    ] = None,
    missing: Annotated[
        Literal["ignore", "category"],
        typer.Option(help="What missing values are."),
    ] = "ignore",
    dimensions: Annotated[
        opt.Names,
        typer.Option(
            "--dimensions", metavar="each|COLUMNS", help="One dimension per column; or groups."
        ),
    ] = None,
    policy: Annotated[
        opt.Names,
        typer.Option("--policy", metavar="learn|SET", help="Sets of dimensions, in order."),
    ] = None,
    phases: Annotated[
        Optional[Literal["learn"]],  # noqa: UP045
        typer.Option(help="Learn phases by gradient descent."),
    ] = None,
    scoring: Annotated[
        Optional[Literal["neg_log_loss", "accuracy", "balanced_accuracy"]],  # noqa: UP045
        typer.Option(help="By which score by leave-one-out to choose."),
    ] = None,
    kind: opt.FormatOption = None,
    separator: opt.SeparatorOption = None,
    quiet: opt.QuietOption = False,
    json: opt.JsonOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Learn a model from DATA.

    Settings, conjunctions and n-grams that are not given are chosen by exact leave-one-out.
    Options that take a column may be repeated, or name several columns separated by commas.
    """
    import stc
    from stc.cli.lines import located_errors
    from stc.cli.model_place import model_place
    from stc.cli.models import ColumnRoles, described, loo_facts, loo_lines, save, selected

    settings: dict[str, Any] = {
        "power": power,
        "balance": balance,
        "entropy": entropy,
        "prior": prior,
        "sharpness": sharpness,
        "floor": floor,
        "interactions": interactions,
        "min_support": min_support,
        "ngrams": ngrams,
        "continuous": continuous,
        "missing": missing,
        "dimensions": dimensions,
        "policy": policy,
        "phases": phases,
        "scoring": scoring,
    }
    # What is not on the command line is for the library to choose.
    parameters = {name: value for name, value in settings.items() if opt.is_given(context, name)}
    roles = ColumnRoles(target, ignore or (), columns or (), weight, text, group)
    notes: Output = context.obj
    _check_tuning(tune, group, parameters)
    place = model_place(output)
    place.check_output(data)
    with opened(DataArgument(data, kind, separator)) as files, notes.progress():
        source, targets, weight, group = selected(files, roles)
        parameters = _with_columns(parameters, source, files)
        names = targets[0] if len(targets) == 1 else targets
        with located_errors(files, targets):
            if tune:
                parameters = _tuned(notes, source, names, (weight, group), parameters)
            model = stc.SparseTensorClassifier(**parameters).fit(source, names, weight)
        facts = {**save(model, place), **loo_facts(model)}
    notes.done(facts, "\n".join([f"learnt {described(facts)}", *loo_lines(facts)]))


def _check_tuning(tune: bool, group: str | None, parameters: dict[str, Any]) -> None:
    if group is not None and not tune:
        raise CommandError("--group needs --tune", USAGE)
    for name in _NOT_TUNED if tune else ():
        if parameters.get(name):
            raise CommandError(f"--tune cannot be combined with --{name}", USAGE)


def _with_columns(parameters: dict[str, Any], source: Any, data: Data) -> dict[str, Any]:
    """Return the parameters with the columns that they name."""
    changed = dict(parameters)
    continuous = changed.get("continuous")
    if continuous and continuous != ["auto"]:
        changed["continuous"] = named_columns(continuous, source, data)
    elif continuous:
        changed["continuous"] = "auto"
    if changed.get("dimensions"):
        changed["dimensions"] = _dimensions(changed["dimensions"], source, data)
    if changed.get("policy"):
        sets = [[name for name in names.split(",") if name] for names in changed["policy"]]
        changed["policy"] = "learn" if sets == [["learn"]] else sets
    return changed


def _dimensions(options: Sequence[str], source: Any, data: Data) -> Any:
    """Return "each", or groups of columns, which may have names: `body=legs,tail`."""
    if list(options) == ["each"]:
        return "each"
    groups = {}
    for option in options:
        name, _, columns = option.rpartition("=")
        group = named_columns([columns], source, data)
        groups[name or ", ".join(group)] = group
    return groups


def _tuned(
    output: Output,
    source: Any,
    target: Any,
    weight_and_group: tuple[str | None, str | None],
    parameters: dict[str, Any],
) -> dict[str, Any]:
    """Return the parameters that do best on the first rows, by cross-validation."""
    import stc
    from stc.cli.models import counted, settings_text

    targets = [target] if isinstance(target, str) else target
    weight, group = weight_and_group
    taken = [*targets, *([weight] if weight else [])]
    items = source.attributes(taken)
    more = [*taken, *([group] if group and group not in items else [])]
    first = source.backend.head((*items, *more), _TUNING_ROWS)
    X = first[items[0]] if source.text else first.select(items)
    y = first[target] if isinstance(target, str) else first.select(target)
    sizes = first[weight].to_numpy() if weight else None
    tuning = stc.SparseTensorClassifierCV(**parameters, verbose=False if output.quiet else None)
    tuning.fit(X, y, sizes, groups=first[group] if group else None)
    best = tuning.best_params_
    settings = settings_text({name: best[name] for name in _SETTINGS})
    words = ", ".join([settings, *(f"{name} {_written(best[name])}" for name in _TUNED)])
    output.note(f"chosen by {counted(first.height, 'row')}: {words}")
    return {**parameters, **best}


def _written(value: Any) -> str:
    return "learnt" if hasattr(value, "get_params") else str(value).lower()
