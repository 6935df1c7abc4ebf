"""The schema: the attributes of the items that a model has learnt, and checks against it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stc._core.observations import Kind, Missing, Observations
from stc._utils.warnings import warn_caller
from stc.exceptions import DataError, ParameterError

# Names that are listed in an error, as scikit-learn does it.
_LISTED = 5

KIND_NAMES = {
    "table": "a table or records",
    "counts": "a sparse matrix of counts",
    "documents": "documents",
}


@dataclass(frozen=True)
class Schema:
    """The attributes of items, and whether more may be added.

    Attributes
    ----------
    kind, names, named, closed, missing
        As in Observations.
    width
        Number of columns; the columns of a matrix of counts have no names.
    """

    kind: Kind
    names: tuple[str, ...]
    named: bool
    closed: bool
    missing: Missing
    width: int

    @classmethod
    def of(cls, observed: Observations) -> Schema:
        """Return the schema of a batch."""
        counts = observed.kind == "counts"
        width = observed.columns[0].n_values if counts else len(observed.names)
        return cls(
            observed.kind, observed.names, observed.named, observed.closed, observed.missing, width
        )

    def check_readable(self, batch: Schema) -> None:
        """Raise if a model of this schema cannot read a batch."""
        self._check(batch, "X")
        strange = next((name for name in batch.names if name not in self.names), None)
        if strange is not None and not (self.named or batch.closed) and self.kind == "table":
            raise DataError(
                "the model was learnt from an array, whose columns have no names but "
                f"x0 to x{len(self.names) - 1}, and X has records with this key",
                column=strange,
                hint="give rows of values in the order of the array",
            )
        if self.closed or not batch.closed or self.kind != "table":
            return
        if not batch.named:
            raise DataError(
                "the model was learnt from records, and X has columns without names",
                hint="give records or a frame with named columns",
            )
        given = set(batch.names)
        absent = [name for name in self.names if name not in given]
        if absent and self.missing == "category":
            raise DataError(
                "X has no such column, and with missing='category' an absent column "
                "differs from an empty one",
                column=absent[0],
                hint="add it, filled with missing values",
            )

    def check_columns(self, batch: Schema, owner: str = "SparseTensorClassifier") -> None:
        """Raise if the number or the names of the columns of a batch differ from this schema.

        Messages and warnings are those of scikit-learn's `validate_data`, which its tests demand.

        Parameters
        ----------
        batch
            Schema of the batch.
        owner
            Name of the estimator, for the messages.
        """
        known = self.names if self.named else ()
        names = batch.names if batch.named else ()
        if known and names:
            _check_names(known, names)
        elif names:
            warn_caller(f"X has feature names, but {owner} was fitted without feature names")
        elif known:
            warn_caller(
                f"X does not have valid feature names, but {owner} was fitted with feature names"
            )
        expected = max(self.width, 1)
        if batch.width != expected:
            raise DataError(
                f"X has {batch.width} features, but {owner} is expecting {expected} features "
                "as input."
            )

    def with_batch(self, batch: Schema) -> Schema:
        """Return the schema after a batch; a frame does not close the schema of records."""
        return self.merged(replace(batch, closed=False), "X")

    def merged(self, other: Schema, what: str) -> Schema:
        """Return the union of two schemas, or raise if one cannot take the other's attributes.

        `what` names the other one in messages.
        """
        self._check(other, what)
        if self.kind == "counts" and self.width != other.width:
            raise DataError(f"{what} has {other.width} columns, the model has {self.width}")
        names = tuple(dict.fromkeys(self.names + other.names))
        self._check_new_names(names, what)
        other._check_new_names(names, "this model")
        width = max(self.width, len(names))
        return replace(self, names=names, closed=self.closed or other.closed, width=width)

    def _check(self, other: Schema, what: str) -> None:
        if self.kind != other.kind:
            raise DataError(
                f"the model was learnt from {KIND_NAMES[self.kind]}, "
                f"{what} is {KIND_NAMES[other.kind]}"
            )
        if self.missing != other.missing:
            raise ParameterError(
                f"the model was learnt with missing={self.missing!r} and cannot be used with "
                f"missing={other.missing!r}",
                hint="set it back, or fit again",
            )

    def _check_new_names(self, names: tuple[str, ...], owner: str) -> None:
        """Raise if `owner` has attributes that cannot be added to this schema."""
        if len(names) == len(self.names):
            return
        known = set(self.names)
        column = next(name for name in names if name not in known)
        if self.closed:
            raise DataError(f"only {owner} has this attribute", column=column)
        if self.missing == "category":
            raise DataError(
                f"only {owner} has this attribute, and with missing='category' it would be "
                "missing in all items learnt before",
                column=column,
                hint="name all attributes (None where missing) in the first batch",
            )


def _check_names(known: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Raise if the names of the columns differ from those learnt, in scikit-learn's words."""
    if known == names:
        return
    unseen, absent = sorted({*names} - {*known}), sorted({*known} - {*names})
    message = "The feature names should match those that were passed during fit.\n"
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if absent:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(absent)
    if not unseen and not absent:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise DataError(message)


def _listed(names: list[str]) -> str:
    more = "- ...\n" if len(names) > _LISTED else ""
    return "".join(f"- {name}\n" for name in names[:_LISTED]) + more
