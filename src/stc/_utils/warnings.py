"""Warnings that point at the caller of the package."""

from __future__ import annotations

import sys
import warnings


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of the package that called it.

    Parameters
    ----------
    message
        The text, or a warning.
    category
        The class of the warning, if `message` is a text.
    """
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("stc."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
