"""Tables and bars in a terminal, made from plain data."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stc.cli.output import printable
from stc.explain.names import label_text

# Classes of a confusion matrix; beyond, only the largest confusions are shown, so many of them.
_MATRIX, _CONFUSIONS = 12, 12
# Classes of a table, and of a list of bars.
_TABLE, _BARS = 60, 20
_BAR = 28
# Columns of a terminal, at least; and of those where a table must be a narrow one.
_LEAST, _NARROW = 40, 60
# Longest class or feature; longest one in a sentence, and longest document.
_LONG = 32
_LONGER, _DOCUMENT = 60, 5000
# Width of a line of bars without the name and the bar.
_BESIDES = 13
_SHORT = 14
# Names in a list.
_LISTED = 12
# A blank at which lines do not break.
_FIXED = "\N{NO-BREAK SPACE}"


class _Terminal(Console):
    """The standard output: printable characters only; a closed pipe is left to the caller."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as it is shown."""
        return super().render_str(printable(text, "\n"), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; texts with their styles."""
        super().print(*map(_shown, objects), **options)

    def on_broken_pipe(self) -> None:
        """Raise the error again."""
        raise BrokenPipeError


def _shown(printed: Any) -> Any:
    """Return a text without control characters; its styles are for as many characters."""
    if isinstance(printed, Text):
        printed.plain = printable(printed.plain, "\n")
    return printed


def terminal() -> Console:
    """Return the standard output, in colours only if it is a terminal."""
    console = _Terminal(highlight=False, markup=False, emoji=False, soft_wrap=False)
    console.width = max(console.width, _LEAST)
    return console


def cut(label: Any, most: int = _LONG) -> str:
    """Return a label in one line, cut to a length."""
    words = printable(label_text(label))
    return words if len(words) <= most else f"{words[: most - 1]}…"


def listed(names: Sequence[Any]) -> str:
    """Return the first names, separated by commas."""
    more = ", ..." if len(names) > _LISTED else ""
    return ", ".join(cut(name) for name in names[:_LISTED]) + more


def number(value: float) -> str:
    """Return a number with separators of thousands."""
    return f"{value:,.10g}"


def _table(*columns: str, left: int = 1) -> Table:
    """Return a table with its first columns flush left and the others right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", no_wrap=True)
    return table


def bar(share: float, console: Console, style: str = "green", length: int = _BAR) -> Text:
    """Return a bar, in eighths of a character where the terminal has them."""
    eighths = round(min(abs(share), 1.0) * length * 8)
    if console.options.ascii_only:
        return Text("#" * round(eighths / 8), style=style)
    whole, rest = divmod(eighths, 8)
    return Text("█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else ""), style=style)


# --- evaluate -------------------------------------------------------------------------------------


def print_figures(found: Mapping[str, Any]) -> None:
    """Print accuracy, figures of each class and the confusion matrix."""
    console = terminal()
    console.print(_headline(found))
    if "targets" in found:
        console.print("An item is right if all targets are. Each target:")
        for name, figures in found["targets"].items():
            console.print()
            console.print(Text(f"{name}: accuracy {figures['accuracy']:.4f}", style="bold"))
            _classes(console, figures)
            _confusion(console, figures["confusion"], figures["classes"])
        return
    _classes(console, found)
    if "confusion" in found:
        _confusion(console, found["confusion"], found["classes"])


def _headline(found: Mapping[str, Any]) -> Text:
    words = [f"{number(found['items'])} {_items(found)}", f"accuracy {found['accuracy']:.4f}"]
    if "log_loss" in found:
        words.append(f"log-loss {found['log_loss']:.4f}")
    return Text(", ".join(words), style="bold")


def _classes(console: Console, found: Mapping[str, Any]) -> None:
    """Print the figures of each class, then their averages."""
    precision = "prec." if console.width < _NARROW else "precision"
    table = _table("class", precision, "recall", "F1", "items")
    for row in found["classes"][:_TABLE]:
        table.add_row(cut(row["class"]), *_scores(row), number(row["support"]))
    left_out = len(found["classes"]) - _TABLE
    if left_out > 0:
        table.add_row(f"... and {left_out} more (--json has all)")
    table.add_section()
    for name in ("micro", "macro", "weighted"):
        if name in found:
            table.add_row(f"{name} average", *_scores(found[name]), "", style="dim")
    for column in table.columns[1:]:  # names give way, since half a number is a wrong one
        column.min_width = max(len(str(cell)) for cell in (column.header, *column.cells))
    numbers = sum((column.min_width or 0) + 3 for column in table.columns[1:])
    table.columns[0].max_width = max(console.width - numbers, 6)
    console.print()
    console.print(table)


def _scores(row: Mapping[str, Any]) -> list[str]:
    return [f"{row[name]:.3f}" for name in ("precision", "recall", "f1")]


def _confusion(
    console: Console, confusion: Sequence[Mapping[str, Any]], classes: Sequence[Mapping[str, Any]]
) -> None:
    """Print the confusion matrix; of many classes, the largest confusions."""
    console.print()
    labels = [row["class"] for row in classes]
    if len(labels) <= _MATRIX:
        console.print("Confusion matrix (rows: true class; columns: predicted class)")
        console.print()
        _matrix(console, confusion, labels)
        return
    wrong = [row for row in confusion if row["true"] != row["predicted"]]
    console.print(f"Confusion matrix: the largest of {number(len(wrong))} confusions")
    table = _table("true", "predicted", "items", left=2)
    for row in wrong[:_CONFUSIONS]:
        table.add_row(cut(row["true"]), cut(row["predicted"]), number(row["items"]))
    console.print()
    console.print(table)


def _matrix(
    console: Console, confusion: Iterable[Mapping[str, Any]], labels: Sequence[Any]
) -> None:
    counts = {(row["true"], row["predicted"]): row["items"] for row in confusion}
    names = [cut(label, _SHORT) for label in labels]
    widths = [max(len(name), 6) + 2 for name in names]
    if sum(widths) + _SHORT + 4 <= console.width:
        heads, rows = names, names
    else:  # too wide: numbers tell which column is which row
        heads = [str(place) for place in range(1, len(names) + 1)]
        rows = [f"{place} {name}" for place, name in enumerate(names, 1)]
    table = _table("", *heads)
    for name, true in zip(rows, labels, strict=True):
        cells = [_cell(counts.get((true, said), 0), true == said) for said in labels]
        table.add_row(name, *cells)
    console.print(table)


def _cell(count: float, right: bool) -> Text:
    if not count:
        return Text("·", style="dim")
    return Text(number(count), style="green" if right else "red")


# --- explain --------------------------------------------------------------------------------------


def print_classes(classes: Sequence[Mapping[str, Any]]) -> None:
    """Print the strongest features of each class, as bars."""
    console = terminal()
    highest = max((row["share"] for class_ in classes for row in class_["features"]), default=1.0)
    for place, class_ in enumerate(classes[:_BARS]):
        if place:
            console.print()
        title = Text(cut(class_["class"], 60), style="bold")
        console.print(title + Text(f"  {number(class_['items'])} {_items(class_)}", style="dim"))
        rows = [(row["feature"], row["share"]) for row in class_["features"]]
        _bars(console, rows, highest)
    if len(classes) > _BARS:
        console.print(f"\n... and {len(classes) - _BARS} more classes: --class NAME, or --json")


def _items(counted: Mapping[str, Any]) -> str:
    return "item" if counted["items"] == 1 else "items"


def print_item(found: Mapping[str, Any]) -> None:
    """Print why one item gets its class, as bars."""
    console = terminal()
    sentence = f"item {found['item']}: {_shortened(found)}".replace(" %", _FIXED + "%")
    lines = textwrap.fill(sentence, console.width).replace(_FIXED, " ")
    console.print(Text(lines, style="bold"), soft_wrap=True)
    if found["text"] is not None:
        console.print(f"\n{_excerpt(found['text'])}")
    if found["contributions"]:
        rows = [(row["feature"], row["share"]) for row in found["contributions"]]
        against = " (below 0 %: against it)" if any(share < 0 for _, share in rows) else ""
        console.print(f"\nContributions to {cut(found['class'])}{against}")
        _bars(console, rows, max(abs(share) for _, share in rows))
    if found["left_out"]:
        console.print(Text(f"  ... and {found['left_out']} more: --top", style="dim"))
    console.print("\nProbability of each class")
    chances = [(row["class"], row["probability"]) for row in found["probabilities"][:_BARS]]
    _bars(console, chances, 1.0, digits=1)
    if found["unseen"]:
        unseen = ", ".join(cut(feature) for feature in found["unseen"][:_BARS])
        console.print(f"\nNever seen in learning: {unseen}")


def _shortened(found: Mapping[str, Any]) -> str:
    """Return the sentence with long names cut."""
    sentence = str(found["sentence"])
    names = [found["class"], *(row["feature"] for row in found["contributions"])]
    for name in sorted((label_text(name) for name in names), key=len, reverse=True):
        if len(name) > _LONGER:
            sentence = sentence.replace(name, cut(name, _LONGER))
    return sentence


def _excerpt(document: str) -> str:
    """Return the beginning of a document, with long words cut."""
    words = re.sub(rf"\S{{{_LONGER},}}", lambda word: cut(word[0], _LONGER), document)
    return words if len(words) <= _DOCUMENT else f"{words[:_DOCUMENT]}… (--json has all)"


def _bars(
    console: Console, rows: Sequence[tuple[Any, float]], highest: float, digits: int = 0
) -> None:
    """Print a line for each row: name, share and bar."""
    names = [cut(name, min(_LONG, (console.width - _BESIDES) * 2 // 3)) for name, _ in rows]
    width = max(map(cell_len, names), default=0)
    length = max(min(_BAR, console.width - _BESIDES - width), 1)
    for name, (_, share) in zip(names, rows, strict=True):
        style = "green" if share >= 0 else "red"
        words = f"{share * 100:.{digits}f} %"
        line = Text(f"  {name}{' ' * (width - cell_len(name))}  {words:>7}  ")
        console.print(line + bar(share / (highest or 1.0), console, style, length))


# --- info -----------------------------------------------------------------------------------------


def print_facts(title: str, rows: Mapping[str, str], classes: Sequence[Mapping[str, Any]]) -> None:
    """Print what is in a model."""
    console = terminal()
    console.print(Text(title, style="bold"))
    console.print()
    width = max(map(len, rows))
    for name, words in rows.items():
        lines = textwrap.wrap(words, max(console.width - width - 3, 20)) or [""]
        for place, line in enumerate(lines):
            head = "" if place else name
            console.print(Text(f"{head:{width}}  ", style="dim") + Text(line))
    console.print()
    total = sum(class_["items"] for class_ in classes) or 1.0
    largest = sorted(classes, key=lambda class_: -class_["items"])[:_BARS]
    shown = [
        (f"{cut(class_['class'], 20)}: {number(class_['items'])}", class_["items"])
        for class_ in largest
    ]
    _bars(console, [(name, items / total) for name, items in shown], 1.0, digits=1)
    if len(classes) > _BARS:
        console.print(f"... and {len(classes) - _BARS} more classes (--json has all)")


def print_names(title: str, names: Sequence[str]) -> None:
    """Print the names of the models of a store."""
    console = terminal()
    console.print(Text(title, style="bold"))
    for name in names:
        console.print(Text(f"  {cut(name, _LONGER)}"))
