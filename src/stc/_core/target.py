"""Targets: the form of y, and predictions in the same form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from stc._core.labels import distinct_labels, label_list
from stc._core.observations import Column
from stc._core.product import object_array
from stc.exceptions import DataError

FORM_NAMES = {
    "labels": "one label per item",
    "joint": "several targets",
    "sets": "sets of labels",
    "indicator": "a 0/1 indicator matrix of labels",
}


@dataclass(frozen=True)
class TargetForm:
    """The form of y.

    Attributes
    ----------
    kind
        "labels": one class per item, or a distribution over classes. "joint": one class of each
        of several targets; a class of the model is a tuple. "sets" and "indicator": several
        labels per item.
    names
        Names of the targets, or of the columns of an indicator matrix; empty if they have none.
    dtypes
        Dtype of the labels of each target.
    width
        Number of targets, or of columns of an indicator matrix.
    container
        Type of the collection of labels of an item.
    """

    kind: Literal["labels", "joint", "sets", "indicator"] = "labels"
    names: tuple[str, ...] = ()
    dtypes: tuple[np.dtype[Any], ...] = ()
    width: int = 1
    container: type = list

    @property
    def multilabel(self) -> bool:
        """Whether an item may have several labels."""
        return self.kind in ("sets", "indicator")

    @property
    def target_names(self) -> tuple[str, ...]:
        """The name of each target, or a default name."""
        if self.kind == "joint":
            return self.names or tuple(f"target{k}" for k in range(self.width))
        return self.names if self.kind == "labels" and self.names else ("class",)

    def merged(self, other: TargetForm, what: str = "y") -> TargetForm:
        """Return the form of both, or raise if they differ; `what` names the other one."""
        if self.kind != other.kind:
            raise DataError(
                f"the model was learnt from {FORM_NAMES[self.kind]}, "
                f"{what} has {FORM_NAMES[other.kind]}"
            )
        if self.width != other.width:
            raise DataError(
                f"the model was learnt with {self.width} columns of y, {what} has {other.width}"
            )
        if self.names and other.names and self.names != other.names:
            raise DataError(
                f"the targets of the model are {list(self.names)}, "
                f"those of {what} {list(other.names)}"
            )
        # Later labels may be longer strings or larger numbers than the first ones.
        dtypes = [_promoted(*pair) for pair in zip(self.dtypes, other.dtypes, strict=True)]
        return replace(self, names=self.names or other.names, dtypes=tuple(dtypes))

    def public_classes(self, classes: NDArray[Any]) -> Any:
        """Return the classes for users: an array, or a list of arrays for several targets."""
        if self.kind == "joint":
            return [distinct_labels(labels)[0] for labels in self.by_target(classes)]
        if self.kind == "indicator" and self.names:
            return np.array(self.names, dtype=object)
        return classes

    def by_target(self, classes: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the labels of each target in the joint classes."""
        if self.kind != "joint":
            return [classes]
        columns = []
        for place, dtype in enumerate(self.dtypes):
            labels = [class_[place] for class_ in classes]
            columns.append(
                object_array(labels) if dtype.kind == "O" else np.array(labels, dtype=dtype)
            )
        return columns

    def table(self, classes: NDArray[Any]) -> NDArray[Any]:
        """Return the joint classes as an array with a column per target."""
        columns = self.by_target(classes)
        kinds = {column.dtype.kind for column in columns}
        dtype = np.result_type(*columns) if len(kinds) == 1 else np.dtype(object)
        table = np.empty((len(classes), len(columns)), dtype=dtype)
        for place, column in enumerate(columns):
            table[:, place] = column if dtype.kind != "O" else label_list(column)
        return table

    def predicted(self, classes: NDArray[Any], best: NDArray[Any]) -> NDArray[Any]:
        """Return the label of each item, or one per target, given its best class."""
        chosen: NDArray[Any] = (self.table(classes) if self.kind == "joint" else classes)[best]
        return chosen

    def labels(self, classes: NDArray[Any], chosen: NDArray[np.bool_]) -> Any:
        """Return the labels of each item in the form of y, given which are chosen."""
        if self.kind == "indicator":
            return chosen.astype(np.int64)
        if classes.dtype.kind in "mM":  # of which `tolist` makes integers
            return [self.container(classes[row]) for row in chosen]
        return [self.container(classes[row].tolist()) for row in chosen]

    def marginals(
        self, joint: NDArray[np.float64], classes: NDArray[Any], *, logarithms: bool
    ) -> Any:
        """Return the (log) probabilities of each target, given those of the joint classes."""
        if self.kind != "joint":
            return joint
        marginals = []
        for labels in self.by_target(classes):
            distinct, place = distinct_labels(labels)
            if logarithms:
                columns = [logsumexp(joint[:, place == k], axis=1) for k in range(len(distinct))]
                marginals.append(np.column_stack(columns))
            else:
                marginals.append(joint @ np.eye(len(distinct))[place])
        return marginals


def _promoted(ours: np.dtype[Any], theirs: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(ours, theirs) if ours.kind == theirs.kind else np.dtype(object)


@dataclass(frozen=True)
class Target:
    """An encoded y: a column of classes, whose weights sum to 1 in each item, and its form."""

    column: Column
    form: TargetForm

    def check_length(self, n_items: int) -> None:
        """Raise if X has another number of items."""
        if self.column.n_items != n_items:
            raise DataError(
                "Found input variables with inconsistent numbers of samples: "
                f"X has {n_items} items, y has {self.column.n_items}"
            )
