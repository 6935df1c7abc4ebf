"""The command unlearn: forget data that a model has learnt."""

from __future__ import annotations

from typing import Any

import typer

from stc.cli import options as opt
from stc.cli.data import DataArgument


def unlearn(
    context: typer.Context,
    model: opt.ModelPath,
    data: opt.DataPath,
    batch_id: opt.BatchOption = None,
    target: opt.TargetOption = None,
    text: opt.TextOption = None,
    weight: opt.WeightOption = None,
    kind: opt.FormatOption = None,
    separator: opt.SeparatorOption = None,
    quiet: opt.QuietOption = False,
    json: opt.JsonOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Forget the items of DATA, exactly, in MODEL."""
    from stc.cli.model_place import model_place
    from stc.cli.models import ColumnRoles, change, check_batch_id, counted
    from stc.exceptions import EmptySourceError
    from stc.learning import unlearnt_id

    def forget(fitted: Any, source: Any, target: Any, weight: str | None) -> None:
        if not source.backend.head(source.backend.names[:1], 1).height:
            raise EmptySourceError("there is nothing to unlearn")
        fitted.unlearn(source, target, weight, batch_id=batch_id)

    check_batch_id(batch_id)
    roles = ColumnRoles(target or (), weight=weight, text=text)
    place = model_place(model)
    done = change(
        context.obj,
        place,
        DataArgument(data, kind, separator),
        roles,
        forget,
        unlearnt_id(batch_id),
    )
    if unlearnt_id(batch_id) in done.batches:
        what = f"batch {batch_id!r} was unlearnt before, so it is not taken away again"
    else:
        what = f"forgot {counted(done.items - done.facts['items'], 'item')}"
    done.report(context.obj, what)
