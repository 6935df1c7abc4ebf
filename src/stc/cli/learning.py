"""The commands that learn: fit, update, unlearn, merge."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import stc
from stc.classifier import UNLEARNT
from stc.cli.blaming import blaming
from stc.cli.data import (
    Data,
    Given,
    check_output,
    column_of,
    columns_of,
    opened,
    refuse_two_roles,
)
from stc.cli.desk import Desk
from stc.cli.failing import DATA, FILE, MODEL, USAGE, CommandError, one_line, writing
from stc.io import exclusively

# Rows by which settings are chosen.
_TUNED_BY = 100_000
# What --tune chooses itself, so that it cannot be given as well.
_NOT_TUNED = ("dimensions", "policy", "phases")


@dataclass(frozen=True)
class Roles:
    """Which columns are what, as the command line says.

    Attributes
    ----------
    targets, ignored, columns
        What is predicted; what is left out; what is learnt from.
    weight, text, group
        The weight of each item; its document; what it shares with others and new ones will not.
    """

    targets: Sequence[str] = ()
    ignored: Sequence[str] = ()
    columns: Sequence[str] = ()
    weight: str | None = None
    text: str | None = None
    group: str | None = None


# --- models in files ------------------------------------------------------------------------------


def load(path: str) -> Any:
    """The model in a file."""
    if os.path.isdir(path):
        raise CommandError(f"{path}: is a folder; name a model file", FILE)
    try:
        return stc.load(path)
    except ValueError as error:  # damaged, or with code of its author that it cannot hold
        words = one_line(str(error))
        raise CommandError(words if path in words else f"{path}: {words}", MODEL) from error


def targets_known(model: Any, given: Sequence[str]) -> list[str]:
    """The names of the target columns: as said, or as the model was learnt with."""
    named = given or model.targets or model.fitted_.state.roles.targets
    if not named:
        raise CommandError(
            "the model does not say which column is the target: --target COLUMN", USAGE
        )
    return [named] if isinstance(named, str) else list(named)


def saved(model: Any, path: str) -> int:
    """Write a model; how many bytes it is."""
    with writing(path):
        model.save(path)
    return os.path.getsize(path)


def size_of(number: int) -> str:
    """A number of bytes in words."""
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= step:
            return f"{number / step:.1f} {unit}"
    return f"{number} bytes"


def count_of(number: float, what: str) -> str:
    """So many of something, in words."""
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number:,.10g} {what if number == 1 else plural}"


def facts_of(model: Any, path: str, size: int) -> dict[str, Any]:
    """What a machine is told of a model that was written."""
    mass = model.class_mass_
    return {
        "model": path,
        "bytes": size,
        "items": float(mass.sum()),
        "attributes": model.n_features_in_,
        "classes": len(mass),
    }


def described(facts: dict[str, Any]) -> str:
    """A model in a few words."""
    counts = (
        count_of(facts["items"], "item"),
        count_of(facts["attributes"], "attribute"),
        count_of(facts["classes"], "class"),
    )
    return f"{', '.join(counts)} -> {facts['model']} ({size_of(facts['bytes'])})"


# --- fit ------------------------------------------------------------------------------------------


def fit(
    desk: Desk,
    given: Given,
    roles: Roles,
    parameters: dict[str, Any],
    tune: bool,
    output: str,
) -> None:
    """Learn a model from data, and write it."""
    check_output(output, given.path)
    if tune:
        _refuse_untunable(parameters)
    elif roles.group is not None:
        raise CommandError("--group is for --tune, where rows are judged: give both", USAGE)
    with opened(given) as data, desk.progress():
        source, targets, weight, group = _read(data, roles)
        parameters = _with_columns(parameters, source, data)
        target = targets[0] if len(targets) == 1 else targets
        with blaming(data, targets, weight, group):
            if tune:
                parameters = _tuned(desk, source, target, (weight, group), parameters)
            model = stc.SparseTensorClassifier(**parameters).fit(source, target, weight)
        facts = facts_of(model, output, saved(model, output))
    desk.done(facts, f"learnt {described(facts)}")


def _read(data: Data, roles: Roles) -> tuple[Any, list[str], str | None, str | None]:
    """The source with its columns as the command line says."""
    with blaming(data):
        plain = data.source()
        _ = plain.source.names
    targets = columns_of(roles.targets, plain, data)
    options = {"--text": roles.text, "--weight": roles.weight, "--group": roles.group}
    text, weight, group = (
        None if name is None else column_of(name, option, plain, data)
        for option, name in options.items()
    )
    single = zip(options, (text, weight, group), strict=True)
    refuse_two_roles({"--target": targets} | {option: [own] for option, own in single if own})
    columns = columns_of(roles.columns, plain, data) or None
    if columns and text:
        raise CommandError("--columns and --text: give one of them", USAGE)
    with blaming(data):
        ignored = columns_of(roles.ignored, plain, data)
        if group and group not in (*ignored, *(columns or ())):
            ignored = [*ignored, group]
        return data.source(columns=columns, ignore=ignored, text=text), targets, weight, group


def _with_columns(parameters: dict[str, Any], source: Any, data: Data) -> dict[str, Any]:
    """The parameters with the columns that they name looked for in the data."""
    found = dict(parameters)
    continuous = found.get("continuous")
    if continuous and continuous != ["auto"]:
        found["continuous"] = columns_of(continuous, source, data)
    elif continuous:
        found["continuous"] = "auto"
    if found.get("dimensions"):
        found["dimensions"] = _dimensions(found["dimensions"], source, data)
    if found.get("policy"):
        sets = [[name for name in own.split(",") if name] for own in found["policy"]]
        found["policy"] = "learn" if sets == [["learn"]] else sets
    return found


def _dimensions(given: Sequence[str], source: Any, data: Data) -> Any:
    """Every attribute for itself; or groups, which may have names: `body=legs,tail`."""
    if list(given) == ["each"]:
        return "each"
    groups = {}
    for own in given:
        name, _, columns = own.rpartition("=")
        named = columns_of([columns], source, data)
        groups[name or ", ".join(named)] = named
    return groups


def _refuse_untunable(parameters: dict[str, Any]) -> None:
    for name in _NOT_TUNED:
        if parameters.get(name):
            raise CommandError(f"--tune chooses settings without --{name}: leave one away", USAGE)


def _tuned(
    desk: Desk,
    source: Any,
    target: Any,
    weight_and_group: tuple[str | None, str | None],
    parameters: dict[str, Any],
) -> dict[str, Any]:
    """The parameters that do best on the first rows, by cross-validation."""
    targets = [target] if isinstance(target, str) else target
    weight, group = weight_and_group
    taken = [*targets, *([weight] if weight else [])]
    items = source.attributes(taken)
    more = [*taken, *([group] if group and group not in items else [])]
    first = source.source.head((*items, *more), _TUNED_BY)
    X = first[items[0]] if source.text else first.select(items)
    y = first[target] if isinstance(target, str) else first.select(target)
    sizes = first[weight].to_numpy() if weight else None
    tuning = stc.SparseTensorClassifierCV(**parameters, progress=False if desk.quiet else None)
    tuning.fit(X, y, sizes, groups=first[group] if group else None)
    chosen = {**parameters, **tuning.best_params_, "continuous": tuning.continuous}
    words = ", ".join(f"{name} {_word(value)}" for name, value in tuning.best_params_.items())
    desk.say(f"chosen by {count_of(first.height, 'row')}: {words}")
    return chosen


def _word(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return "learnt" if isinstance(value, stc.PhaseLearner) else str(value).lower()


# --- update, unlearn, merge -----------------------------------------------------------------------


def update(desk: Desk, path: str, given: Given, roles: Roles, batch: str | None) -> None:
    """Learn more, into the model's file."""

    def learn(model: Any, source: Any, target: Any, weight: str | None) -> None:
        model.partial_fit(source, target, sample_weight=weight, batch_id=batch)

    before, ledger, facts = _changed(desk, path, given, roles, learn)
    items = facts["items"] - before
    _tell(desk, _learnt_words(batch, ledger, items), facts, items)


def unlearn(desk: Desk, path: str, given: Given, roles: Roles, batch: str | None) -> None:
    """Forget items that were learnt, in the model's file."""

    def forget(model: Any, source: Any, target: Any, weight: str | None) -> None:
        if not source.source.head(source.source.names[:1], 1).height:
            raise ValueError("the source has no rows")
        model.unlearn(source, target, weight, batch_id=batch)

    before, ledger, facts = _changed(desk, path, given, roles, forget)
    items = before - facts["items"]
    _tell(desk, _forgot_words(batch, ledger, items), facts, items)


def _changed(
    desk: Desk,
    path: str,
    given: Given,
    roles: Roles,
    change: Callable[[Any, Any, Any, str | None], None],
) -> tuple[float, frozenset[str], dict[str, Any]]:
    """Change a model in its file, one process at a time.

    The items and the batches before, and the facts after.
    """
    check_output(path, given.path)
    os.stat(path)  # a model that is not there is no reason to wait for data
    with opened(given) as data, desk.progress(), exclusively(path):
        model = load(path)
        before = float(model.class_mass_.sum())
        source, targets, weight, _ = _read(data, roles)
        target = targets[0] if len(targets) == 1 else targets or None
        known = targets_known(model, targets)
        ledger = model._with_batches().state.batches
        with blaming(data, known, weight or model.fitted_.state.roles.weight):
            change(model, source, target, weight)
        if not hasattr(model, "fitted_"):
            raise CommandError(
                f"{path}: nothing would be left of the model; delete it instead", DATA
            )
        return before, ledger, facts_of(model, path, saved(model, path))


def _tell(desk: Desk, words: str, facts: dict[str, Any], items: float) -> None:
    desk.done({**facts, "changed": items}, f"{words}; now {described(facts)}")


def _learnt_words(batch: str | None, ledger: frozenset[str], items: float) -> str:
    """What an update did; a batch that was learnt under its id before is not learnt again."""
    if batch not in ledger:
        return f"learnt {count_of(items, 'item')}"
    if UNLEARNT + str(batch) in ledger:
        return (
            f"batch {batch!r} was learnt and unlearnt before, so it does not count again "
            "(to learn it again, give it another id)"
        )
    return f"batch {batch!r} was in the model's ledger before, so it does not count again"


def _forgot_words(batch: str | None, ledger: frozenset[str], items: float) -> str:
    """What an unlearn did; a batch is forgotten once, too."""
    if batch is None or UNLEARNT + batch not in ledger:
        return f"forgot {count_of(items, 'item')}"
    return f"batch {batch!r} was unlearnt before, so it is not taken away again"


def merge(desk: Desk, paths: Sequence[str], output: str) -> None:
    """Add models up."""
    check_output(output)
    with exclusively(output) if os.path.exists(output) else nullcontext():
        merged = load(paths[0])
        for path in paths[1:]:
            other = load(path)
            try:
                merged.merge(other)
            except ValueError as error:
                raise CommandError(f"{path}: {one_line(str(error))}", DATA) from error
        facts = facts_of(merged, output, saved(merged, output))
    desk.done(facts, f"merged {count_of(len(paths), 'model')}: {described(facts)}")
