"""Colours and fonts of all displays, and the import of Matplotlib on first use."""

from __future__ import annotations

from typing import Any

from stc._utils.optional import optional

# Blue and orange are distinguishable with every kind of colour blindness.
FOR, AGAINST, NEITHER = "#2171b5", "#e6811c", "#b8bec6"
AGAINST_TEXT, MUTED, LINE = "#b35900", "#66707c", "#c9ced6"
SIZE, TITLE_SIZE, NOTE_SIZE = 9, 10, 8


def matplotlib(module: str = "") -> Any:
    """Return Matplotlib, or one of its modules."""
    return optional(f"matplotlib.{module}" if module else "matplotlib", "plot", "plotting")


def font(size: float = SIZE, **style: Any) -> dict[str, Any]:
    """Return text properties: the weight is the user's, as bold fonts have fewer glyphs."""
    weight = matplotlib().rcParams["font.weight"]
    return {"fontsize": size, "fontweight": weight, "usetex": False, **style}


def share_colour(share: float) -> str:
    """Return the colour of a share, by its sign."""
    return FOR if share > 0 else AGAINST if share < 0 else NEITHER
