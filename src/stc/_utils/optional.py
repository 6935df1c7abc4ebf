"""Packages that only some need: imported when they are used, with a hint where they are absent."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(name: str, extra: str, purpose: str) -> Any:
    """Import a package, or say how to get it."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {package}: pip install 'sparse-tensor-classifier[{extra}]'"
        ) from None
