"""Model files of a command: loaded, saved, and described in a few words."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

import stc
from stc.cli.data import (
    Data,
    DataArgument,
    check_output,
    named_column,
    named_columns,
    opened,
    refuse_two_roles,
)
from stc.cli.errors import DATA, FILE, MODEL, USAGE, CommandError, one_line, writing
from stc.cli.lines import located_errors
from stc.cli.output import Output
from stc.fitted import FittedModel
from stc.io import locked
from stc.sources.columns import item_columns, items_in


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of columns that the command line names.

    Attributes
    ----------
    targets, ignored, columns
        Columns to predict, to exclude, and to learn from.
    weight, text, group
        Column of the weight of each item, of its document, and of its group.
    """

    targets: Sequence[str] = ()
    ignored: Sequence[str] = ()
    columns: Sequence[str] = ()
    weight: str | None = None
    text: str | None = None
    group: str | None = None


def load(path: str) -> stc.SparseTensorClassifier:
    """Load the model in a file."""
    if os.path.isdir(path):
        raise CommandError(f"{path}: is a folder; name a model file", FILE)
    try:
        return stc.load(path)
    except ValueError as error:
        message = one_line(str(error))
        raise CommandError(message if path in message else f"{path}: {message}", MODEL) from error


def save(model: stc.SparseTensorClassifier, path: str) -> dict[str, Any]:
    """Save a model and return facts about it."""
    with writing(path):
        model.save(path)
    mass = model.class_mass_
    return {
        "model": path,
        "bytes": os.path.getsize(path),
        "items": float(mass.sum()),
        "attributes": model.n_features_in_,
        "classes": len(mass),
    }


def known_targets(model: stc.SparseTensorClassifier, given: Sequence[str]) -> list[str]:
    """Return the target columns: as given, or as the model was learnt with."""
    names = given or model.targets or model.fitted_.state.roles.targets
    if not names:
        raise CommandError(
            "the model does not say which column is the target: --target COLUMN", USAGE
        )
    return [names] if isinstance(names, str) else list(names)


def truth_columns(
    model: stc.SparseTensorClassifier, given: Sequence[str], source: Any, data: Data
) -> list[str]:
    """Return the columns of the true classes: as given, or as the model was learnt with."""
    if model.fitted_.model.form.kind == "indicator":
        raise CommandError(
            "the model was learnt from a 0/1 indicator of labels, which no column of a file holds",
            DATA,
        )
    return named_columns(known_targets(model, given), source, data)


def source_with_text(data: Data, text: str | None) -> Any:
    """Return the data as a source, with the column of documents if it is named."""
    plain = data.source()
    return data.source(text=named_column(text, "--text", plain, data)) if text else plain


def first_items(
    fitted: FittedModel, data: Data, text: str | None, more: Sequence[str], rows: int
) -> tuple[Any, pl.DataFrame]:
    """Return the first items of the data as the model takes them, and a frame with more columns."""
    chosen = source_with_text(data, text)
    columns = item_columns(chosen, fitted.state)
    names = (*columns, *(name for name in more if name not in columns))
    frame = chosen.source.head(names, rows)
    return items_in(frame, columns, fitted.state), frame


def selected(data: Data, roles: ColumnRoles) -> tuple[Any, list[str], str | None, str | None]:
    """Return the source with its selected columns, the targets, the weight and the group."""
    with located_errors(data):
        plain = data.source()
        _ = plain.source.names
    targets = named_columns(roles.targets, plain, data)
    options = {"--text": roles.text, "--weight": roles.weight, "--group": roles.group}
    text, weight, group = (
        None if name is None else named_column(name, option, plain, data)
        for option, name in options.items()
    )
    single = zip(options, (text, weight, group), strict=True)
    refuse_two_roles({"--target": targets} | {option: [name] for option, name in single if name})
    columns = named_columns(roles.columns, plain, data) or None
    if columns and text:
        raise CommandError("--columns and --text: give one of them", USAGE)
    with located_errors(data):
        ignored = named_columns(roles.ignored, plain, data)
        if group and group not in (*ignored, *(columns or ())):
            ignored = [*ignored, group]
        return data.source(columns=columns, ignore=ignored, text=text), targets, weight, group


@dataclass(frozen=True)
class ModelChange:
    """A model file before and after a change.

    Attributes
    ----------
    items
        Weight of the items before.
    batches
        Ids of the batches before.
    facts
        Facts about the model after.
    """

    items: float
    batches: frozenset[str]
    facts: dict[str, Any]

    def report(self, output: Output, what: str) -> None:
        """Report the change."""
        changed = abs(self.facts["items"] - self.items)
        text = f"{what}; now {described(self.facts)}"
        output.done({**self.facts, "changed": changed}, text)


def change(
    output: Output,
    path: str,
    argument: DataArgument,
    roles: ColumnRoles,
    work: Callable[[stc.SparseTensorClassifier, Any, Any, str | None], Any],
) -> ModelChange:
    """ModelChange a model in its file by some data, one process at a time."""
    check_output(path, argument.path)
    os.stat(path)  # an absent model is reported before waiting for data
    with opened(argument) as data, output.progress(), locked(path):
        model = load(path)
        before = model.fitted_
        source, targets, weight, _ = selected(data, roles)
        target = targets[0] if len(targets) == 1 else targets or None
        known = known_targets(model, targets)
        with located_errors(data, known):
            work(model, source, target, weight)
        if not hasattr(model, "fitted_"):
            raise CommandError(
                f"{path}: nothing would be left of the model; delete it instead", DATA
            )
        items = float(before.model.class_mass.sum())
        return ModelChange(items, before.state.batches, save(model, path))


def described(facts: dict[str, Any]) -> str:
    """Return the facts about a saved model in a few words."""
    counts = (
        counted(facts["items"], "item"),
        counted(facts["attributes"], "attribute"),
        counted(facts["classes"], "class"),
    )
    return f"{', '.join(counts)} -> {facts['model']} ({file_size(facts['bytes'])})"


def file_size(number: int) -> str:
    """Return a number of bytes in words."""
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= step:
            return f"{number / step:.1f} {unit}"
    return f"{number} bytes"


def counted(number: float, noun: str) -> str:
    """Return a number and its noun, in the plural if need be."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,.10g} {noun if number == 1 else plural}"
