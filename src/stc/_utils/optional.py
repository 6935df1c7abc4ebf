"""Optional packages, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(name: str, extra: str, purpose: str) -> Any:
    """Return an imported package, or raise an error that says how to install it.

    Parameters
    ----------
    name
        The module to import.
    extra
        The extra of this package that installs it.
    purpose
        What needs it, for the message.
    """
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {package}: pip install 'sparse-tensor-classifier[{extra}]'"
        ) from None
