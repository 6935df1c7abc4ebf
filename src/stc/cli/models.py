"""Models of a command: loaded, changed, and described in a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

import stc
from stc import base
from stc._training.state import note_on_repeats
from stc.cli.data import (
    Data,
    DataArgument,
    named_column,
    named_columns,
    opened,
    refuse_two_roles,
)
from stc.cli.errors import DATA, USAGE, CommandError, one_line
from stc.cli.lines import located_errors
from stc.cli.model_place import Learnt, ModelPlace, model_place
from stc.cli.output import Output
from stc.exceptions import ParameterError
from stc.explain import label_text
from stc.fitted import FittedModel
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
    """Load a model that a user names."""
    return model_place(path).load()


def save(model: stc.SparseTensorClassifier, place: ModelPlace) -> dict[str, Any]:
    """Save a model and return facts about it."""
    place.save(model)
    return place.facts(Learnt.of(model.fitted_))


def known_targets(model: Any, given: Sequence[str]) -> list[str]:
    """Return the target columns: as given, or as the model was learnt with; () if nobody says."""
    names = given or model.get_params(deep=False)["targets"]
    if not names and hasattr(model, "fitted_"):
        names = model.fitted_.state.roles.targets
    return [names] if isinstance(names, str) else list(names or ())


def needed_targets(model: Any, given: Sequence[str]) -> list[str]:
    """Return the target columns, or raise an error if nobody says which they are."""
    names = known_targets(model, given)
    if not names:
        raise CommandError(
            "the model does not say which column is the target: --target COLUMN", USAGE
        )
    return names


def truth_columns(
    model: stc.SparseTensorClassifier, given: Sequence[str], source: Any, data: Data
) -> list[str]:
    """Return the columns of the true classes: as given, or as the model was learnt with."""
    if model.fitted_.model.form.kind == "indicator":
        raise CommandError(
            "the model was learnt from a 0/1 indicator of labels, which no column of a file holds",
            DATA,
        )
    return named_columns(needed_targets(model, given), source, data)


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
    frame = chosen.backend.head(names, rows)
    return items_in(frame, columns, fitted.state), frame


def selected(data: Data, roles: ColumnRoles) -> tuple[Any, list[str], str | None, str | None]:
    """Return the source with its selected columns, the targets, the weight and the group."""
    with located_errors(data):
        plain = data.source()
        _ = plain.backend.names
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
    """A model before and after a change.

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
    place: ModelPlace,
    argument: DataArgument,
    roles: ColumnRoles,
    work: Callable[[Any, Any, Any, str | None], Any],
    entry: str | None,
) -> ModelChange:
    """Change a model where it is by some data, unless its ledger has the entry already."""
    place.check_change(argument.path)
    with opened(argument) as data, output.progress():

        def learn(model: Any, before: Learnt) -> None:
            if entry in before.batches:  # the columns may be unknown, if all of it was unlearnt
                return
            source, targets, weight, _ = selected(data, roles)
            target = targets[0] if len(targets) == 1 else targets or None
            known = needed_targets(model, targets)
            with located_errors(data, known):
                work(model, source, target, weight)

        before, after = place.change(learn)
    return ModelChange(before.items, before.batches, place.facts(after))


def check_batch_id(batch_id: str | None) -> None:
    """Refuse an id that the ledger of a model cannot hold."""
    if batch_id == "":
        raise CommandError("--batch-id is empty; give each batch an id of its own", USAGE)
    try:
        base.check_batch_id(batch_id)
    except ParameterError as error:
        raise CommandError(
            one_line(str(error)).replace("batch_id=", "--batch-id ", 1), USAGE
        ) from error


def described(facts: dict[str, Any]) -> str:
    """Return the facts about a saved model in a few words."""
    counts = (
        counted(facts["items"], "item"),
        counted(facts["attributes"], "attribute"),
        counted(facts["classes"], "class"),
    )
    size = f" ({file_size(facts['bytes'])})" if "bytes" in facts else ""
    return f"{', '.join(counts)} -> {facts['model']}{size}"


def loo_facts(model: Any) -> dict[str, Any]:
    """Return the figures of leave-one-out of a model; nothing if it chose no settings."""
    fitted = model.fitted_
    if fitted.state.loo is None:
        return {}
    most = int(np.argmax(fitted.model.class_mass))
    majority = label_text(model.explain_global().classes[most])
    settings = {**fitted.hyper._asdict(), "interactions": model.interactions_}
    settings |= {"ngrams": model.ngrams_}
    return {"loo": {**asdict(fitted.state.loo), "majority": majority}, "settings": settings}


def loo_lines(facts: dict[str, Any]) -> list[str]:
    """Return the figures of leave-one-out as sentences."""
    if "loo" not in facts:
        return []
    loo = facts["loo"]
    score = (
        f"accuracy about {loo['accuracy']:.2f} on new rows, by exact leave-one-out over "
        f"{loo['items']:,}; always guessing {loo['majority']}: {loo['baseline']:.2f}"
    )
    note = note_on_repeats(loo["repeated"])
    return [score] if note is None else [score, note]


def settings_text(settings: dict[str, Any]) -> str:
    """Return chosen settings in one line."""
    texts = [
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in settings.items()
        if name not in ("interactions", "ngrams")
    ]
    interactions = settings["interactions"]
    if isinstance(interactions, list):
        texts.append("conjunctions " + ", ".join(" and ".join(names) for names in interactions))
    elif interactions > 1:
        texts.append(f"conjunctions of up to {interactions} attributes")
    if settings["ngrams"] > 1:
        texts.append(f"n-grams of up to {settings['ngrams']} words")
    return ", ".join(texts)


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
