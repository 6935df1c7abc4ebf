"""The commands that tell of a model: explain, report, info, sql."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stc._core.schema import KINDS
from stc._utils.atomic import beside
from stc.cli import showing
from stc.cli.answering import chosen_of, targets_of
from stc.cli.blaming import blaming
from stc.cli.data import DASH, Data, Given, check_output, opened
from stc.cli.desk import Desk
from stc.cli.failing import DATA, USAGE, CommandError, one_line, writing
from stc.cli.learning import count_of, load, size_of
from stc.explain import GlobalExplanation
from stc.explain.names import text_of
from stc.sources.columns import item_columns, items_in

# Names that a list shows.
_LISTED = 12
_SHOWN = ("feature", "attribute", "value", "contribution", "share", "phase", "effect")


# --- explain --------------------------------------------------------------------------------------


def explain_model(desk: Desk, path: str, label: str | None, top: int) -> None:
    """What a model knows of each class."""
    model = load(path)
    whole = model.explain()
    labels = whole.classes
    wanted = range(len(labels)) if label is None else [_place(label, labels, path)]
    table = whole.top(top).table
    mass = model.class_mass_
    found = [
        {
            "class": text_of(labels[place]) if isinstance(labels[place], tuple) else labels[place],
            "items": float(mass[place]),
            "features": _features(whole, table, place),
        }
        for place in wanted
    ]
    if desk.json:
        desk.result({"model": path, "classes": found})
    else:
        showing.of_classes(found)


def _features(whole: GlobalExplanation, table: pl.DataFrame, place: int) -> list[dict[str, Any]]:
    named = ["feature", "share", "weight", "discrimination", "phase", "mass", "support"]
    own = table.filter(pl.col("class").eq_missing(whole._names.column[place]))
    return own.select(named).to_dicts()


def _place(label: str, labels: Sequence[Any], path: str) -> int:
    """The number of the class that a user names."""
    names = [text_of(own) for own in labels]
    for own in (names, [_written(own) for own in labels]):
        if label in own:
            return own.index(label)
    raise CommandError(f"{path}: there is no class {label!r}; there is {_few(names)}", DATA)


def _written(label: Any) -> str:
    """A class as `predict` writes it, as `true` for True."""
    parts = label if isinstance(label, tuple) else (label,)
    cells = (pl.DataFrame({"class": [part]}, strict=False) for part in parts)
    texts = (own.write_csv(include_header=False, quote_style="never") for own in cells)
    return ", ".join(text[:-1] for text in texts)


def explain_item(
    desk: Desk,
    path: str,
    given: Given,
    text: str | None,
    item: int,
    label: str | None,
    top: int,
    html: str | None,
) -> None:
    """Why one item gets its class."""
    if html:
        check_output(html, given.path, path)
    model = load(path)
    with opened(given) as data, blaming(data):
        items, _ = _first(model, data, text, (), item + 1)
        if len(items) <= item:
            raise CommandError(f"{data.name}: there is no item {item}; it has {len(items)}", DATA)
        one = items[item : item + 1]
        if html:
            from stc.report import report

            page = report(model, one, title=f"{Path(path).name}: item {item}")
            with writing(html):
                page.save(html)
            desk.done({"output": html, "items": 1}, f"item {item} -> {html}")
            return
        found = _reasons(model, one, item, label, top, path)
    if desk.json:
        desk.result(found)
    else:
        showing.of_item(found)


def _reasons(
    model: Any, one: Any, item: int, label: str | None, top: int, path: str
) -> dict[str, Any]:
    explanation = model.explain(one)
    labels = explanation.classes
    place = None if label is None else labels[_place(label, labels, path)]
    why = explanation.why(0, place)
    table = why.table.sort(pl.col("share").abs(), descending=True, maintain_order=True)
    chances = sorted(
        zip(labels, explanation.proba[0].tolist(), strict=True), key=lambda own: -own[1]
    )
    sentence = why.sentences()[0]
    marked = None if explanation.documents is None else explanation.highlight(0).text
    return {
        "item": item,
        "class": _word(why._answers.names.labels[int(why._classes[0])]),
        "probability": float(why.probabilities[0]),
        "coverage": float(explanation.coverage[0]),
        "sentence": sentence,
        "text": marked and marked.removeprefix(sentence.partition(": ")[0] + ": "),
        "probabilities": [{"class": _word(own), "probability": p} for own, p in chances],
        "contributions": table.select(_SHOWN).head(top).to_dicts(),
        "left_out": max(table.height - top, 0),
        "unseen": explanation.unseen["feature"].to_list(),
    }


def _word(label: Any) -> Any:
    """A class as JSON can hold it: that of several targets in words."""
    return text_of(label) if isinstance(label, tuple) else label


def _first(
    model: Any, data: Data, text: str | None, more: Sequence[str], rows: int
) -> tuple[Any, pl.DataFrame]:
    """The first items of the data, as the model takes them, and more of their columns."""
    chosen = chosen_of(data, text)
    items = item_columns(chosen, model.fitted_.state)
    frame = chosen.source.head((*items, *(name for name in more if name not in items)), rows)
    return items_in(frame, items, model.fitted_.state), frame


# --- report ---------------------------------------------------------------------------------------


def report(
    desk: Desk,
    path: str,
    given: Given,
    target: Sequence[str],
    text: str | None,
    title: str | None,
    rows: int,
    output: str,
) -> None:
    """Write the page about a model and some items."""
    from stc.report import report as page

    check_output(output, given.path, path)
    model = load(path)
    with opened(given) as data, desk.progress():
        with blaming(data):
            known = _known_targets(model, target, data.source(), data)
        with blaming(data, known):
            items, frame = _first(model, data, text, known, rows + 1)
            if not len(items):
                raise ValueError("the source has no rows")
            truth: Any = frame[:rows].select(known) if known else None
            if truth is not None and len(known) == 1:
                truth = truth[known[0]]
            shown = page(
                model._copied(model.fitted_).set_params(targets=None),
                items[:rows],
                truth,
                title=title or Path(path).name,
            )
        if len(items) > rows:
            desk.say(f"{data.name}: only the first {rows:,} items are on the page (--rows)")
        with writing(output):
            shown.save(output)
    _tell_of_page(desk, output, min(len(items), rows), bool(known))


def _tell_of_page(desk: Desk, output: str, items: int, judged: bool) -> None:
    size = os.path.getsize(output)
    more = "" if judged else ", without the truth, which the data does not have"
    words = f"{count_of(items, 'item')}{more} -> {output} ({size_of(size)})"
    desk.done({"output": output, "items": items, "bytes": size}, words)


def _known_targets(model: Any, target: Sequence[str], source: Any, data: Data) -> list[str]:
    """The columns of the truth, if the data has them."""
    if target:
        return targets_of(model, target, source, data)
    named = model.targets or list(model.fitted_.state.roles.targets)
    names = [named] if isinstance(named, str) else list(named)
    return names if all(name in source.source.names for name in names) else []


# --- info -----------------------------------------------------------------------------------------


def info(desk: Desk, path: str) -> None:
    """What is in a model."""
    found = _facts(load(path), path)
    if desk.json:
        desk.result(found)
        return
    written = f"format {found['format']}, written by stc {found['version']}"
    title = f"{path}: {size_of(found['bytes'])}, {written}"
    showing.facts(title, _rows(found), found["classes"])


def _facts(model: Any, path: str) -> dict[str, Any]:
    metadata = pl.read_parquet_metadata(path)
    learnt, own = model.fitted_.state, model.fitted_.state.model
    labels = model.explain().classes
    defaults = type(model)().get_params(deep=False)
    parameters = model.get_params(deep=False)
    return {
        "model": path,
        "bytes": os.path.getsize(path),
        "format": json.loads(metadata["stc"])["format"],
        "version": metadata.get("stc.version", "unknown"),
        "kind": KINDS[own.schema.kind],
        "attributes": list(own.schema.names) if own.schema.named else model.n_features_in_,
        "targets": list(own.form.names or learnt.roles.targets),
        "several_labels": own.form.multilabel,
        "weight": learnt.roles.weight,
        "text": learnt.roles.text,
        "items": float(model.class_mass_.sum()),
        "features": sum(int(c.used_rows.sum()) for s, c in own.corpora.items() if s),
        "entries": sum(int(corpus.mass.nnz) for corpus in own.corpora.values()),
        "dimensions": list(own.dimensions.names),
        "policy": model.policy_,
        "phases": bool(own.phases),
        "parameters": {
            name: value if isinstance(value, int | float | str | list | dict | None) else str(value)
            for name, value in parameters.items()
            if name not in ("store", "name")
        },
        "changed": [n for n, value in parameters.items() if str(value) != str(defaults[n])],
        "batches": sorted(model._with_batches().state.batches),
        "classes": [
            {"class": _word(label), "items": float(mass)}
            for label, mass in zip(labels, model.class_mass_, strict=True)
        ],
    }


def _rows(found: dict[str, Any]) -> dict[str, str]:
    """The facts in words."""
    names = found["attributes"]
    attributes = f"{names:,}" if isinstance(names, int) else f"{len(names):,}: {_few(names)}"
    sets = " -> ".join(" x ".join(own) or "class frequencies" for own in found["policy"])
    parameters = found["parameters"]
    chosen = [f"{name} {parameters[name]}" for name in ("power", "balance", "entropy")]
    chosen += [
        f"{n} {parameters[n]}"
        for n in found["changed"]
        if n in parameters and f"{n} {parameters[n]}" not in chosen
    ]
    rows = {
        "learnt from": found["kind"],
        "attributes": attributes,
        "text": found["text"] or "",
        "target": ", ".join(found["targets"]) + " (several labels)" * found["several_labels"],
        "weight": found["weight"] or "",
        "items": showing.number(found["items"]),
        "features": f"{found['features']:,}, with {found['entries']:,} entries",
        "dimensions": _few(found["dimensions"]) if len(found["dimensions"]) > 1 else "",
        "policy": sets if len(found["policy"]) > 2 or len(found["dimensions"]) > 1 else "",
        "phases": "learnt" if found["phases"] else "",
        "parameters": ", ".join(chosen),
        "batches": f"{len(found['batches']):,}: {_few(found['batches'])}" * bool(found["batches"]),
    }
    return {name: words for name, words in rows.items() if words}


def _few(names: Sequence[Any]) -> str:
    more = ", ..." if len(names) > _LISTED else ""
    return ", ".join(showing.cut(name) for name in names[:_LISTED]) + more


# --- sql ------------------------------------------------------------------------------------------


def sql(desk: Desk, path: str, output: str, options: dict[str, Any]) -> None:
    """The model as one SQL query."""
    if output != DASH:
        check_output(output, path)
    model = load(path)
    try:
        query = model.to_sql(**options)
    except ValueError as error:
        raise CommandError(one_line(str(error)), USAGE) from error
    if output == DASH:
        # As bytes: a terminal that lacks a sign must not change a name in the query.
        sys.stdout.buffer.write(f"{query}\n".encode())
        return
    with writing(output), beside(Path(output)) as part:
        part.write_text(f"{query}\n", encoding="utf-8")
    desk.say(f"{options['dialect']} -> {output} ({size_of(os.path.getsize(output))})")
