"""The command unlearn: forget data in a model file."""

from __future__ import annotations

from typing import Any

import typer

from stc.cli.data import DataArgument
from stc.cli.options import (
    BatchOption,
    DataPath,
    DebugOption,
    FormatOption,
    JsonOption,
    ModelPath,
    QuietOption,
    SeparatorOption,
    TargetOption,
    TextOption,
    WeightOption,
)


def unlearn(
    context: typer.Context,
    model: ModelPath,
    data: DataPath,
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
