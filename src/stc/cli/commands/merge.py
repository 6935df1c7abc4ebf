"""The command merge: add models up."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stc.cli import options as opt
from stc.cli.errors import DATA, USAGE, CommandError, one_line

if TYPE_CHECKING:
    from stc.cli.model_place import ModelPlace


def merge(
    context: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL MODEL...", help="Two models or more: files, or store-url#name."
        ),
    ],
    output: opt.ModelOutputOption,
    quiet: opt.QuietOption = False,
    json: opt.JsonOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Add models up: the same as if one had learnt all their items."""
    from stc.cli.model_place import StorePlace, model_place
    from stc.cli.models import counted, described, save

    if len(models) < 2:
        raise typer.BadParameter("give two models or more", context, param_hint="MODEL MODEL...")
    first, *others = map(model_place, models)
    place = model_place(output)
    place.check_output()
    in_store = isinstance(place, StorePlace)
    if in_store and any(map(place.is_same, others)):
        raise CommandError(f"{place}: is an input, too; name it first", USAGE)
    if in_store and place.is_same(first):
        # In one transaction, so that nothing is lost that others write meanwhile.
        sum_of_others = _sum(others)
        _, after = place.change(lambda model, _: _add(model, sum_of_others, place))
        facts = place.facts(after)
    else:
        with place.exclusive():
            facts = save(_sum([first, *others]), place)
    for known, other in combinations([first, *others], 2):
        if known.is_same(other):
            context.obj.note(f"stc: note: {other} is given twice: its items count twice")
    context.obj.done(facts, f"merged {counted(len(models), 'model')}: {described(facts)}")


def _sum(places: list[ModelPlace]) -> Any:
    """Return the sum of models in memory."""
    first, *others = places
    merged = first.load()
    for place in others:
        _add(merged, place.load(), place)
    return merged


def _add(model: Any, other: Any, place: ModelPlace) -> None:
    try:
        model.merge(other)
    except ValueError as error:
        raise CommandError(f"{place}: {one_line(str(error))}", DATA) from error
