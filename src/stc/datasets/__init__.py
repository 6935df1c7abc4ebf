"""The data shipped with the package."""

from __future__ import annotations

from importlib import resources
from typing import Literal, overload

import polars as pl


@overload
def load_zoo(*, names: Literal[False] = False) -> tuple[pl.DataFrame, pl.Series]: ...
@overload
def load_zoo(*, names: Literal[True]) -> tuple[pl.DataFrame, pl.Series, pl.Series]: ...
def load_zoo(
    *, names: bool = False
) -> tuple[pl.DataFrame, pl.Series] | tuple[pl.DataFrame, pl.Series, pl.Series]:
    """Load Zoo: 101 animals, 16 attributes, 7 classes (UCI, CC BY 4.0).

    Parameters
    ----------
    names : bool, default=False
        Whether to return the animals' names, too.

    Returns
    -------
    tuple
        X, a polars frame of 16 columns; y, the class of each animal; with `names`, their names.

    Examples
    --------
    >>> from stc import load_zoo
    >>> X, y = load_zoo()
    >>> X.shape, y.n_unique()
    ((101, 16), 7)
    """
    with resources.as_file(resources.files("stc.datasets") / "zoo.csv") as path:
        zoo = pl.read_csv(path)
    X, y = zoo.drop("animal_name", "class_type"), zoo["class_type"]
    return (X, y, zoo["animal_name"]) if names else (X, y)
