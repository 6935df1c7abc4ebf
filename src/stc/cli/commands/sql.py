"""The command sql: a model as one SQL query."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from stc.cli import options as opt
from stc.cli.data import DASH, check_output
from stc.cli.errors import USAGE, CommandError, one_line, writing
from stc.cli.output import write_text


def sql(
    context: typer.Context,
    model: opt.ModelPath,
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="postgres, duckdb, sqlite, or another of sqlglot.")
    ] = "duckdb",
    form: Annotated[
        Literal["long", "wide"], typer.Option(help="A row per item and class, or per item.")
    ] = "long",
    data: Annotated[
        opt.Name, typer.Option(metavar="TABLE", help="Table with a column per attribute.")
    ] = None,
    features: Annotated[
        str, typer.Option(metavar="TABLE", help="Or a table (item, feature, weight).")
    ] = "features",
    item: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column that identifies the items.")
    ] = "item",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="File; -: stdout.")
    ] = DASH,
    quiet: opt.QuietOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Write the model as one SQL query that needs nothing but the database."""
    from pathlib import Path

    from stc._utils.atomic import atomic_write
    from stc.cli.model_place import model_place
    from stc.cli.models import file_size

    place = model_place(model)
    if output != DASH:
        check_output(output, place.file)
    fitted = place.load().fitted_
    try:
        query = fitted.to_sql(dialect, form=form, features=features, data=data, item=item)
    except ValueError as error:
        raise CommandError(one_line(str(error)), USAGE) from error
    if output == DASH:
        write_text(f"{query}\n")
        return
    with writing(output), atomic_write(Path(output)) as part:
        part.write_text(f"{query}\n", encoding="utf-8")
    context.obj.note(f"{dialect} -> {output} ({file_size(os.path.getsize(output))})")
