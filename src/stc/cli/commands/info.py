"""The command info: what is in a model, or in a store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import typer

from stc.cli import options as opt
from stc.cli.urls import is_url

if TYPE_CHECKING:
    from stc.cli.model_place import ModelPlace


def info(
    context: typer.Context,
    model: opt.ModelPath,
    quiet: opt.QuietOption = False,
    json: opt.JsonOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Show what is in a model; of a store-url without #name, its models."""
    from stc.cli import tables
    from stc.cli.model_place import model_place, store_place
    from stc.cli.models import counted, file_size

    if is_url(model):
        store = store_place(model)
        if not store.name:
            names = store.names()
            if context.obj.json:
                context.obj.result({"store": str(store), "models": names})
            else:
                tables.print_names(f"{store}: {counted(len(names), 'model')}", names)
            return
    facts = _facts(model_place(model))
    if context.obj.json:
        context.obj.result(facts)
        return
    title = facts["model"]
    if "bytes" in facts:
        written = f"format {facts['format']}, written by stc {facts['version']}"
        title = f"{title}: {file_size(facts['bytes'])}, {written}"
    tables.print_facts(title, _rows(facts), facts["classes"])


def _facts(place: ModelPlace) -> dict[str, Any]:
    from stc._core.schema import KIND_NAMES
    from stc.cli.commands.explain import plain_label
    from stc.cli.models import loo_facts

    estimator = place.load()
    fitted, model = estimator.fitted_, estimator.fitted_.model
    mass = estimator.class_mass_
    defaults = type(estimator)().get_params(deep=False)
    return {
        "model": str(place),
        **_file_facts(place),
        "kind": KIND_NAMES[model.schema.kind],
        "attributes": list(model.schema.names) if model.schema.named else estimator.n_features_in_,
        "targets": list(model.form.names or fitted.state.roles.targets),
        "several_labels": model.form.multilabel,
        "weight": fitted.state.roles.weight,
        "text": fitted.state.roles.text,
        "items": float(mass.sum()),
        "features": sum(int(c.used_rows.sum()) for s, c in model.corpora.items() if s),
        "entries": sum(int(corpus.mass.nnz) for corpus in model.corpora.values()),
        "dimensions": list(model.dimensions.names),
        "policy": estimator.policy_,
        "phases": bool(model.amplitudes),
        "parameters": {
            name: value if isinstance(value, int | float | str | list | dict | None) else str(value)
            for name, value in fitted.parameters.items()
        },
        "changed": [n for n, v in fitted.parameters.items() if str(v) != str(defaults[n])],
        "batches": sorted(fitted.state.batches),
        **loo_facts(estimator),
        "classes": [
            {"class": plain_label(label), "items": float(items)}
            for label, items in zip(estimator.explain_global().classes, mass, strict=True)
        ],
    }


def _file_facts(place: ModelPlace) -> dict[str, Any]:
    """Return the facts about a model file; a store has none."""
    import json

    import polars as pl

    from stc.cli.model_place import FilePlace

    if not isinstance(place, FilePlace):
        return {}
    metadata = pl.read_parquet_metadata(place.file)
    return {
        "bytes": os.path.getsize(place.file),
        "format": json.loads(metadata["stc"])["format"],
        "version": metadata.get("stc.version", "unknown"),
    }


def _rows(facts: dict[str, Any]) -> dict[str, str]:
    """Return the facts as text, a row each."""
    from stc.cli.models import loo_lines, settings_text
    from stc.cli.tables import listed, number

    names = facts["attributes"]
    attributes = f"{names:,}" if isinstance(names, int) else f"{len(names):,}: {listed(names)}"
    policy = " -> ".join(" x ".join(subset) or "class frequencies" for subset in facts["policy"])
    several = len(facts["dimensions"]) > 1
    parameters = facts["parameters"]
    shown = dict.fromkeys(["power", "balance", "entropy", *facts["changed"]])
    rows = {
        "learnt from": facts["kind"],
        "attributes": attributes,
        "text": facts["text"] or "",
        "target": ", ".join(facts["targets"]) + " (several labels)" * facts["several_labels"],
        "weight": facts["weight"] or "",
        "items": number(facts["items"]),
        "features": f"{facts['features']:,}, with {facts['entries']:,} entries",
        "dimensions": listed(facts["dimensions"]) if several else "",
        "policy": policy if len(facts["policy"]) > 2 or several else "",
        "phases": "learnt" if facts["phases"] else "",
        "parameters": ", ".join(f"{name} {parameters[name]}" for name in shown),
        "chosen": settings_text(facts["settings"]) if "settings" in facts else "",
        "leave-one-out": "; ".join(loo_lines(facts)),
        "batches": f"{len(facts['batches']):,}: {listed(facts['batches'])}"
        * bool(facts["batches"]),
    }
    return {name: text for name, text in rows.items() if text}
