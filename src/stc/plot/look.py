"""How all displays look: colours and fonts; Matplotlib, loaded when the first is drawn."""

from __future__ import annotations

from typing import Any

from stc._utils.optional import optional

# Blue and orange are told apart with every kind of colour blindness.
FOR, AGAINST, NEITHER = "#2171b5", "#e6811c", "#b8bec6"
AGAINST_TEXT, QUIET, LINE = "#b35900", "#66707c", "#c9ced6"
SIZE, TITLE_SIZE, NOTE_SIZE = 9, 10, 8


def matplotlib(part: str = "") -> Any:
    """Matplotlib, or a module of it."""
    return optional(f"matplotlib.{part}" if part else "matplotlib", "plot", "plotting")


def font(size: float = SIZE, **style: Any) -> dict[str, Any]:
    """How a text looks: as the caller's style has it, but never bold, which has fewer glyphs."""
    weight = matplotlib().rcParams["font.weight"]
    return {"fontsize": size, "fontweight": weight, "usetex": False, **style}


def colour(share: float) -> str:
    """The colour of what speaks for a class, or against it."""
    return FOR if share > 0 else AGAINST if share < 0 else NEITHER
