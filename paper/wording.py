"""Plain data as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from summary import Mean


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; all columns but the first are flush right."""
    rule = "|".join(["", "---", *["---:"] * (len(head) - 1), ""])
    first, *others = (f"| {' | '.join(row)} |" for row in (head, *rows))
    return "\n".join([first, rule, *others])


def picture(name: str, caption: str) -> str:
    """Return a figure with its caption as alternative text."""
    return f"![{caption}](figures/{name}.png)"


def code(words: Iterable[str]) -> str:
    """Return words as code, so that Markdown does not interpret them."""
    return ", ".join(
        "`` ` ``" if word == "`" else f"`{word}`".replace("|", "\\|") for word in words
    )


def signed(value: float) -> str:
    """Return a difference with its sign, none if it rounds to 0."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text


def with_error(mean: Mean) -> str:
    """Return a mean with its standard error."""
    return f"{mean.mean:.3f} ± {mean.error:.3f}"


def duration(seconds: float) -> str:
    """Return seconds in a unit that suits them."""
    if seconds >= 100:
        return f"{seconds:.0f} s"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def differences(reasons: dict[str, list[str]], within: float) -> str:
    """Return the differences beyond a tolerance, each group with its reason."""
    if not reasons:
        return f"No figure of a peer differs by more than {within:g}."
    lines = [f"- {', '.join(what)}. {reason}" for reason, what in reasons.items()]
    return "\n".join([f"Differences beyond {within:g}, explained:", "", *lines])
