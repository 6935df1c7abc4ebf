"""The command report: a page about a model and some items."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from stc.cli import options as opt
from stc.cli.data import DataArgument, check_output, opened
from stc.cli.errors import writing
from stc.cli.output import Output


def report(
    context: typer.Context,
    model: opt.ModelPath,
    data: opt.DataPath,
    output: opt.OutputOption,
    target: opt.TargetOption = None,
    text: opt.TextOption = None,
    title: Annotated[opt.Name, typer.Option(help="Title of the page.")] = None,
    rows: Annotated[int, typer.Option(metavar="N", min=1, help="Most items.")] = 10_000,
    kind: opt.FormatOption = None,
    separator: opt.SeparatorOption = None,
    quiet: opt.QuietOption = False,
    json: opt.JsonOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Write an HTML page: the model, how good it is on DATA, and an explanation of each item."""
    from stc.cli.lines import located_errors
    from stc.cli.model_place import model_place
    from stc.cli.models import counted, file_size, first_items, known_targets, truth_columns
    from stc.exceptions import EmptySourceError
    from stc.report import report as make_page

    notes: Output = context.obj
    place = model_place(model)
    check_output(output, data, place.file)
    estimator = place.load()
    with opened(DataArgument(data, kind, separator)) as files, notes.progress():
        with located_errors(files):
            source = files.source()
            names = source.backend.names
        if target:
            targets = truth_columns(estimator, target, source, files)
        else:
            known = known_targets(estimator, ())
            targets = known if all(name in names for name in known) else []
        with located_errors(files, targets):
            items, frame = first_items(estimator.fitted_, files, text, targets, rows + 1)
            if not len(items):
                raise EmptySourceError("there is nothing to show")
            truth: Any = frame[:rows].select(targets) if targets else None
            if len(targets) == 1:
                truth = truth[targets[0]]
            # The true classes are passed as y, whatever column they were learnt from.
            estimator.set_params(targets=None)
            page = make_page(estimator, items[:rows], truth, title=title or place.title)
        if len(items) > rows:
            notes.note(f"{files.name}: only the first {rows:,} items are on the page (--rows)")
        with writing(output):
            page.save(output)
    shown, size = min(len(items), rows), os.path.getsize(output)
    more = "" if targets else ", without the true classes, which the data does not have"
    words = f"{counted(shown, 'item')}{more} -> {output} ({file_size(size)})"
    notes.done({"output": output, "items": shown, "bytes": size}, words)
