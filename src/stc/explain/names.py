"""Names of classes, and short texts that explanations share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.labels import label_list, label_repr, plain_label
from stc._core.model import Model
from stc._core.tables import gather, label_series
from stc.exceptions import ParameterError

# Smaller shares would be written as 0 %.
WORTH_NAMING = 0.005
# Maximal number of classes in an error message.
_MAX_LISTED = 20


@dataclass(frozen=True, eq=False)
class ClassNames:
    """The labels of the classes of a model."""

    model: Model

    @cached_property
    def labels(self) -> list[Any]:
        """Label of each class; with several targets, a tuple of labels."""
        form = self.model.form
        if form.kind == "joint":
            columns = map(label_list, form.by_target(self.model.classes))
            return list(zip(*columns, strict=True))
        return label_list(form.public_classes(self.model.classes))

    @cached_property
    def column(self) -> pl.Series:
        """The labels as a column of a table; with several targets, as strings."""
        if self.model.form.kind != "joint":
            return label_series("class", self.model.form.public_classes(self.model.classes))
        labels = list(map(label_text, self.labels))
        if len(set(labels)) < len(labels):  # a label contains a comma
            labels = list(map(str, self.labels))
        return pl.Series("class", labels)

    def take(self, classes: NDArray[Any]) -> pl.Series:
        """Return the labels of classes, given by number, as a column of a table."""
        return gather(self.column.to_list(), self.column.dtype, classes).rename("class")

    def index(self, label: Any) -> int:
        """Return the number of the class with this label."""
        key = tuple(label) if isinstance(label, (list, np.ndarray)) else plain_label(label)
        if key in self.labels:
            return self.labels.index(key)
        known = ", ".join(map(label_repr, self.labels[:_MAX_LISTED]))
        more = ", ..." if len(self.labels) > _MAX_LISTED else ""
        raise ParameterError(
            f"there is no class {label_repr(label)}; the classes are {known}{more}"
        )


def label_text(label: Any) -> str:
    """Return a label as text; with several targets, their labels separated by commas."""
    return ", ".join(map(str, label)) if isinstance(label, tuple | np.ndarray) else str(label)


def with_probability(label: Any, probability: float) -> str:
    """Return a label and its probability as text: `mammal, 0.63`."""
    return f"{label_text(label)}, {probability:.2f}"


def with_share(feature: str, share: float) -> str:
    """Return the name of a feature and its share as text: `milk=1 (21 %)`."""
    return f"{feature} ({share * 100:.0f} %)"
