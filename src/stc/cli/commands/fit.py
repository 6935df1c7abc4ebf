"""The command fit: learn a model from data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, Optional

import typer

from stc.cli import options as opt
from stc.cli.data import Data, DataArgument, named_columns, opened
from stc.cli.errors import USAGE, CommandError
from stc.cli.output import Output

# Rows from which --tune and --group choose settings.
_CHOOSING_ROWS = 100_000
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
            "--group", metavar="COLUMN", help="Rows of a group are held out together to choose."
        ),
    ] = None,
    power: Annotated[
        opt.Number,
        typer.Option(
            metavar="NUMBER>0", callback=opt.positive, help="How contributions add up (p)."
        ),
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
        opt.Number,
        typer.Option(
            metavar="NUMBER>0", callback=opt.positive, help="Confidence of the probabilities."
        ),
    ] = None,
    floor: Annotated[
        opt.Number,
        typer.Option(
            metavar="0<=NUMBER<1",
            callback=opt.below_one,
            help="Share of the class frequencies in answers.",
        ),
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
    _check_tuning(tune, parameters)
    place = model_place(output)
    place.check_output(data)
    with opened(DataArgument(data, kind, separator)) as files, notes.progress():
        source, targets, weight, group = selected(files, roles)
        parameters = _with_columns(parameters, source, files)
        names = targets[0] if len(targets) == 1 else targets
        with located_errors(files, targets):
            chooser = None
            if tune or group:
                first = _first_rows(source, names, weight, group)
                choose = _tuned if tune else _chosen
                parameters, chooser = choose(notes, first, parameters)
            model = stc.SparseTensorClassifier(**parameters).fit(source, names, weight)
        facts = {**save(model, place), **loo_facts(chooser or model)}
    notes.done(facts, "\n".join([f"learnt {described(facts)}", *loo_lines(facts)]))


def _check_tuning(tune: bool, parameters: dict[str, Any]) -> None:
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


class _Rows(NamedTuple):
    """The first rows of the data."""

    X: Any
    y: Any
    weight: Any
    groups: Any


def _first_rows(source: Any, target: Any, weight: str | None, group: str | None) -> _Rows:
    """Return the rows from which settings are chosen."""
    targets = [target] if isinstance(target, str) else target
    taken = [*targets, *([weight] if weight else [])]
    items = source.attributes(taken)
    more = [*taken, *([group] if group and group not in items else [])]
    first = source.backend.head((*items, *more), _CHOOSING_ROWS)
    X = first[items[0]] if source.text else first.select(items)
    y = first[target] if isinstance(target, str) else first.select(target)
    sizes = first[weight].to_numpy() if weight else None
    return _Rows(X, y, sizes, first[group] if group else None)


def _chosen(output: Output, first: _Rows, parameters: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the parameters that leave-one-out of groups of the first rows chooses, and a model."""
    import stc
    from stc.cli.models import counted, settings_text

    model = stc.SparseTensorClassifier(**parameters)
    model.fit(first.X, first.y, first.weight, groups=first.groups)
    chosen = model.chosen_params_
    settings = settings_text({name: chosen[name] for name in _SETTINGS})
    output.note(f"chosen by {counted(len(first.y), 'row')}: {settings}")
    return {**parameters, **chosen}, model


def _tuned(output: Output, first: _Rows, parameters: dict[str, Any]) -> tuple[dict[str, Any], None]:
    """Return the parameters that do best on the first rows, by cross-validation."""
    import stc
    from stc.cli.models import counted, settings_text

    tuning = stc.SparseTensorClassifierCV(**parameters, verbose=False if output.quiet else None)
    tuning.fit(first.X, first.y, first.weight, groups=first.groups)
    best = tuning.best_params_
    settings = settings_text({name: best[name] for name in _SETTINGS})
    words = ", ".join([settings, *(f"{name} {_written(best[name])}" for name in _TUNED)])
    output.note(f"chosen by {counted(len(first.y), 'row')}: {words}")
    return {**parameters, **best}, None


def _written(value: Any) -> str:
    return "learnt" if hasattr(value, "get_params") else str(value).lower()
