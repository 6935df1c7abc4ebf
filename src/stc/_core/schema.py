"""The schema: which attributes items have, whether more may come, and who fits whom."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stc._core.observations import Kind, Missing, Observations

KINDS = {
    "table": "a table or records",
    "counts": "a sparse matrix of counts",
    "documents": "documents",
}


@dataclass(frozen=True)
class Schema:
    """Which attributes items have, and whether more may come.

    Attributes
    ----------
    kind, names, named, closed, missing
        As in Observations.
    width
        Number of columns; a matrix of counts has many, and no names for them.
    """

    kind: Kind
    names: tuple[str, ...]
    named: bool
    closed: bool
    missing: Missing
    width: int

    @classmethod
    def of(cls, observed: Observations) -> Schema:
        """Schema of a batch."""
        counts = observed.kind == "counts"
        width = observed.columns[0].n_values if counts else len(observed.names)
        return cls(
            observed.kind, observed.names, observed.named, observed.closed, observed.missing, width
        )

    def admit(self, batch: Schema) -> None:
        """Refuse a batch that a model of this schema cannot read."""
        self._check(batch, "X")
        if self.closed or not batch.closed or self.kind != "table":
            return
        if not batch.named:
            raise ValueError(
                "the model was learnt from records; give records or a frame with named columns"
            )
        absent = [name for name in self.names if name not in batch.names]
        if absent and self.missing == "category":
            raise ValueError(
                f"X has no column {absent[0]!r}; with missing='category' a column that is not "
                "there cannot be told from one that is empty: add it, filled with missing values"
            )

    def with_batch(self, batch: Schema) -> Schema:
        """Schema after a batch. It never closes one: to a model of records a frame is records."""
        return self.joined(replace(batch, closed=False), "X")

    def joined(self, other: Schema, what: str) -> Schema:
        """Schema of both, refusing attributes that one of them cannot take in."""
        self._check(other, what)
        if self.kind == "counts" and self.width != other.width:
            raise ValueError(
                f"{what} disagrees about the attributes: it has {other.width} columns, "
                f"the model {self.width}"
            )
        names = tuple(dict.fromkeys(self.names + other.names))
        self._refuse_more(names, what, what)
        other._refuse_more(names, "this model", what)
        width = max(self.width, len(names))
        return replace(self, names=names, closed=self.closed or other.closed, width=width)

    def _check(self, other: Schema, what: str) -> None:
        if self.kind != other.kind:
            raise ValueError(
                f"the model was learnt from {KINDS[self.kind]}, {what} is {KINDS[other.kind]}"
            )
        if self.missing != other.missing:
            raise ValueError(
                f"the model was learnt with missing={self.missing!r}; it cannot go on with "
                f"missing={other.missing!r}: set it back, or fit again"
            )

    def _refuse_more(self, names: tuple[str, ...], owner: str, what: str) -> None:
        """Refuse names beyond ours, if ours are fixed."""
        if len(names) == len(self.names):
            return
        extra = next(name for name in names if name not in self.names)
        if self.closed:
            raise ValueError(f"{what} disagrees about the attributes: only {owner} has {extra!r}")
        if self.missing == "category":
            raise ValueError(
                f"{what} disagrees about the attributes: {extra!r} is new, and with "
                "missing='category' the items learnt before would have to count as missing it; "
                "name all attributes (None where missing) in the first batch"
            )
