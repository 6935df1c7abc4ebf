"""The command unlearn: forget data in a model file."""

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
    """Forget the items of DATA, exactly, in the file MODEL."""
    from stc.classifier import UNLEARNT
    from stc.cli.models import ColumnRoles, change, counted
    from stc.exceptions import EmptySourceError

    def forget(fitted: Any, source: Any, target: Any, weight: str | None) -> None:
        if not source.source.head(source.source.names[:1], 1).height:
            raise EmptySourceError("there is nothing to unlearn")
        fitted.unlearn(source, target, weight, batch_id=batch_id)

    roles = ColumnRoles(target or (), weight=weight, text=text)
    done = change(context.obj, model, DataArgument(data, kind, separator), roles, forget)
    if batch_id is not None and UNLEARNT + batch_id in done.batches:
        what = f"batch {batch_id!r} was unlearnt before, so it is not taken away again"
    else:
        what = f"forgot {counted(done.items - done.facts['items'], 'item')}"
    done.report(context.obj, what)
