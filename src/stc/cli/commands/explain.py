"""The command explain: why an item gets its class, and what the model knows of each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stc.cli import options as opt
from stc.cli.data import DataArgument, check_output, opened
from stc.cli.errors import DATA, CommandError, writing
from stc.cli.output import Output

if TYPE_CHECKING:
    import stc
    from stc.cli.model_place import ModelPlace

# Columns of the contributions that are written as JSON.
_COLUMNS = ("feature", "attribute", "value", "contribution", "share", "phase", "effect")


def explain(
    context: typer.Context,
    model: opt.ModelPath,
    data: Annotated[
        opt.Name, typer.Argument(metavar="[DATA]", help="Items; default: explain the model.")
    ] = None,
    item: Annotated[
        int, typer.Option("--item", min=0, metavar="K", help="Item to explain; the first is 0.")
    ] = 0,
    label: Annotated[
        opt.Name, typer.Option("--class", metavar="C", help="Class to explain; default: predicted.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Most features.")] = 10,
    html: Annotated[
        opt.Name, typer.Option("--html", metavar="OUT", help="Write the item's page to this file.")
    ] = None,
    text: opt.TextOption = None,
    kind: opt.FormatOption = None,
    separator: opt.SeparatorOption = None,
    quiet: opt.QuietOption = False,
    json: opt.JsonOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Explain why an item of DATA gets its class; without DATA, explain each class."""
    from stc.cli.model_place import model_place

    if data is None:
        if html is not None or item:
            raise typer.BadParameter("it needs DATA", context, param_hint="--html, --item")
        _explain_model(context.obj, model_place(model), label, top)
        return
    place, argument = model_place(model), DataArgument(data, kind, separator)
    if html is not None:
        _write_page(context.obj, place, argument, text, item, html)
    else:
        _explain_item(context.obj, place, argument, text, item, label, top)


def _explain_model(output: Output, place: ModelPlace, label: str | None, top: int) -> None:
    from stc.cli import tables

    model = place.load()
    explanation = model.explain_global()
    labels = explanation.classes
    wanted = range(len(labels)) if label is None else [_class_number(label, labels, place)]
    names = ["feature", "share", "weight", "discrimination", "phase", "mass", "support"]
    strongest, mass = explanation.top(top), model.class_mass_
    classes = [
        {
            "class": plain_label(labels[number]),
            "items": float(mass[number]),
            "features": strongest.for_class(labels[number]).table.select(names).to_dicts(),
        }
        for number in wanted
    ]
    if output.json:
        output.result({"model": str(place), "classes": classes})
    else:
        tables.print_classes(classes)


def _class_number(label: str, labels: Sequence[Any], place: ModelPlace) -> int:
    """Return the number of the class that a user names."""
    from stc.cli.tables import listed
    from stc.explain.names import label_text

    texts = [label_text(known) for known in labels]
    for names in (texts, [_csv_text(known) for known in labels]):
        if label in names:
            return names.index(label)
    raise CommandError(f"{place}: there is no class {label!r}; there is {listed(texts)}", DATA)


def _csv_text(label: Any) -> str:
    """Return a class as `predict` writes it, such as `true` for True."""
    import polars as pl

    parts = label if isinstance(label, tuple) else (label,)
    cells = (pl.DataFrame({"class": [part]}, strict=False) for part in parts)
    texts = (cell.write_csv(include_header=False, quote_style="never") for cell in cells)
    return ", ".join(text[:-1] for text in texts)


def plain_label(label: Any) -> Any:
    """Return a class as JSON can hold it: a combination of classes as text."""
    from stc.explain.names import label_text

    return label_text(label) if isinstance(label, tuple) else label


def _one_item(
    model: stc.SparseTensorClassifier, argument: DataArgument, text: str | None, item: int
) -> Any:
    """Return one item of the data."""
    from stc.cli.lines import located_errors
    from stc.cli.models import first_items

    with opened(argument) as files, located_errors(files):
        items, _ = first_items(model.fitted_, files, text, (), item + 1)
        if len(items) <= item:
            raise CommandError(f"{files.name}: there is no item {item}; it has {len(items)}", DATA)
        return items[item : item + 1]


def _write_page(
    output: Output,
    place: ModelPlace,
    argument: DataArgument,
    text: str | None,
    item: int,
    html: str,
) -> None:
    from stc.report import report

    check_output(html, argument.path, place.file)
    model = place.load()
    page = report(
        model, _one_item(model, argument, text, item), title=f"{place.title}: item {item}"
    )
    with writing(html):
        page.save(html)
    output.done({"output": html, "items": 1}, f"item {item} -> {html}")


def _explain_item(
    output: Output,
    place: ModelPlace,
    argument: DataArgument,
    text: str | None,
    item: int,
    label: str | None,
    top: int,
) -> None:
    import polars as pl

    from stc.cli import tables

    model = place.load()
    explanation = model.explain_local(_one_item(model, argument, text, item))
    labels = explanation.classes
    wanted = None if label is None else labels[_class_number(label, labels, place)]
    why = explanation.why(0, wanted)
    table = why.table.sort(pl.col("share").abs(), descending=True, maintain_order=True)
    chances = sorted(
        zip(labels, explanation.proba[0].tolist(), strict=True), key=lambda chance: -chance[1]
    )
    sentence = why.sentences()[0]
    marked = None if explanation.documents is None else explanation.highlight(0).text
    explained = {
        "item": item,
        "class": plain_label(labels[int(why.explained[0])]),
        "probability": float(why.probabilities[0]),
        "coverage": float(explanation.coverage[0]),
        "sentence": sentence,
        "text": marked and marked.removeprefix(sentence.partition(": ")[0] + ": "),
        "probabilities": [{"class": plain_label(c), "probability": p} for c, p in chances],
        "contributions": table.select(_COLUMNS).head(top).to_dicts(),
        "left_out": max(table.height - top, 0),
        "unseen": explanation.unseen["feature"].to_list(),
    }
    if output.json:
        output.result(explained)
    else:
        tables.print_item(explained)
