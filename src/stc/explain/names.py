"""The classes of a model as people know them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.model import Model, shown
from stc._core.tables import picked

# Classes that an error message lists.
_LISTED = 20


@dataclass(frozen=True, eq=False)
class ClassNames:
    """The classes of a model: their labels, and which is which."""

    model: Model

    @cached_property
    def labels(self) -> list[Any]:
        """The label of each class; of several targets, a tuple of labels."""
        form = self.model.form
        if form.kind == "joint":
            return [tuple(row) for row in form.table(self.model.classes).tolist()]
        return list(np.asarray(form.shown_classes(self.model.classes)).tolist())

    @cached_property
    def column(self) -> pl.Series:
        """The classes as a column of a table."""
        labels = self.labels
        if self.model.form.kind == "joint":
            labels = list(map(text_of, labels))
            if len(set(labels)) < len(labels):  # a label has a comma in it
                labels = list(map(str, self.labels))
        return pl.Series("class", labels, strict=False)

    def of(self, classes: NDArray[Any]) -> pl.Series:
        """The labels of these classes as a column."""
        return picked(self.column.to_list(), self.column.dtype, classes).rename("class")

    def place(self, label: Any) -> int:
        """The number of a class, by its label."""
        asked = tuple(label) if isinstance(label, (list, np.ndarray)) else label
        asked = asked.item() if isinstance(asked, np.generic) else asked
        if asked in self.labels:
            return self.labels.index(asked)
        known = ", ".join(shown(own) for own in self.labels[:_LISTED])
        more = ", ..." if len(self.labels) > _LISTED else ""
        raise ValueError(f"there is no class {shown(label)}; there is {known}{more}")


def text_of(label: Any) -> str:
    """A class in words, of one target or of several."""
    return ", ".join(map(str, label)) if isinstance(label, tuple | np.ndarray) else str(label)


def percent(feature: str, share: float) -> str:
    """A feature and its share in words: `milk=1 (21 %)`."""
    return f"{feature} ({share * 100:.0f} %)"
