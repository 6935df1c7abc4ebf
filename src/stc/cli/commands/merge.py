"""The command merge: add models up."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Annotated

import typer

from stc.cli import options as opt
from stc.cli.data import check_output
from stc.cli.errors import DATA, CommandError, one_line


def merge(
    context: typer.Context,
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL MODEL...", help="Two models or more.")
    ],
    output: opt.OutputOption,
    quiet: opt.QuietOption = False,
    json: opt.JsonOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Add models up: the same as if one had learnt all their items."""
    from stc.cli.models import counted, described, load, save
    from stc.io import locked

    if len(models) < 2:
        raise typer.BadParameter("give two models or more", context, param_hint="MODEL MODEL...")
    check_output(output)
    with locked(output) if os.path.exists(output) else nullcontext():
        merged = load(models[0])
        for path in models[1:]:
            other = load(path)
            try:
                merged.merge(other)
            except ValueError as error:
                raise CommandError(f"{path}: {one_line(str(error))}", DATA) from error
        facts = save(merged, output)
    context.obj.done(facts, f"merged {counted(len(models), 'model')}: {described(facts)}")
