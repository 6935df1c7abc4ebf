"""The command update: learn more data into a model."""

from __future__ import annotations

from typing import Any

import typer

from stc.cli import options as opt
from stc.cli.data import DataArgument


def update(
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
    """Learn more, into MODEL: all of DATA, or nothing."""
    from stc.cli.model_place import model_place
    from stc.cli.models import ColumnRoles, change, check_batch_id, counted

    def learn(fitted: Any, source: Any, target: Any, weight: str | None) -> None:
        fitted.partial_fit(source, target, sample_weight=weight, batch_id=batch_id)

    check_batch_id(batch_id)
    roles = ColumnRoles(target or (), weight=weight, text=text)
    place = model_place(model)
    done = change(context.obj, place, DataArgument(data, kind, separator), roles, learn, batch_id)
    if batch_id in done.batches:
        what = _repeated(str(batch_id), done.batches)
    else:
        what = f"learnt {counted(done.facts['items'] - done.items, 'item')}"
    done.report(context.obj, what)


def _repeated(batch_id: str, batches: frozenset[str]) -> str:
    """Return why a batch was not learnt."""
    from stc.learning import UNLEARNT

    if UNLEARNT + batch_id in batches:
        return (
            f"batch {batch_id!r} was learnt and unlearnt before, so it does not count again "
            "(to learn it again, give it another id)"
        )
    return f"batch {batch_id!r} was in the model's ledger before, so it does not count again"
