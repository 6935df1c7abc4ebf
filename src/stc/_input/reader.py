"""What a caller brings -> a batch, encoded and checked in full before anything is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stc._core.model import Model, weighted
from stc._core.observations import Column, Observations
from stc._core.scales import Scale, scaled
from stc._core.schema import Schema
from stc._core.target import Target
from stc._input import (
    column_of,
    encode,
    encode_sample_weight,
    encode_target,
    encode_targets,
    split_targets,
    with_theta,
)
from stc._input.scales import refuse_beyond, scales_of


class Roles(NamedTuple):
    """Columns of the data that are no attributes, but named by the caller to be something else.

    Attributes
    ----------
    targets
        What is predicted.
    weight
        The weight of each item.
    text
        The document of each item; then nothing else of it is learnt from.
    """

    targets: tuple[str, ...] = ()
    weight: str | None = None
    text: str | None = None

    @property
    def taken(self) -> tuple[str, ...]:
        """The columns that are not the items themselves."""
        return self.targets if self.weight is None else (*self.targets, self.weight)


NO_ROLES = Roles()


@dataclass(frozen=True)
class Batch:
    """Items, their target and their weights, encoded and checked."""

    observed: Observations
    target: Target
    sample_weight: NDArray[np.float64]
    scales: Mapping[str, Scale]
    roles: Roles = NO_ROLES

    def weighted(self) -> tuple[Observations, Column, NDArray[np.float64]]:
        """Items, classes and weights of those that weigh something."""
        return weighted(self.observed, self.target.column, self.sample_weight)


@dataclass(frozen=True)
class Intake:
    """How data is read.

    Attributes
    ----------
    owner
        Who asks, for error messages.
    targets
        Columns of the data that are the targets; None: y is given.
    reading
        Options of `encode`: how missing values and documents are taken.
    continuous, ordinal
        Which attributes are numbers, and which have an order.
    check_columns
        Compares the columns of a batch with those learnt from.
    roles
        What columns of the data were named to be in earlier batches.
    """

    owner: str
    targets: Sequence[str] | None
    reading: Mapping[str, Any]
    continuous: Any
    ordinal: Any
    check_columns: Callable[[Observations, Schema], None]
    roles: Roles = NO_ROLES

    def batch(self, X: Any, y: Any, sample_weight: Any, model: Model | None) -> Batch:
        """Items to learn or to unlearn, for a model or for a new one."""
        roles = self.roles_now(y, sample_weight)
        target = self.target(X, y, model)
        sample_weight = self.weight(X, sample_weight)
        observed = replace(self, roles=roles)._observe(X, model)
        scales = model.scales if model else scales_of(observed, self.continuous, self.ordinal)
        refuse_beyond(observed, scales)
        if target.column.n_items != observed.n_items:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"X has {observed.n_items} items, y has {target.column.n_items}"
            )
        if model is not None:
            target = replace(target, form=model.form.joined(target.form))
        weights = encode_sample_weight(sample_weight, observed.n_items)
        if target.form.kind == "indicator":  # without a label there is nothing to learn
            weights = weights * (target.column.lengths() > 0)
        return Batch(scaled(observed, scales), target, weights, scales, roles)

    def weight(self, X: Any, sample_weight: Any) -> Any:
        """The weights, out of the data itself if they are named, now or in an earlier batch."""
        name = self.roles_now(None, sample_weight).weight
        if name is None:
            return sample_weight
        found = split_targets(X, (name,), needed=sample_weight is not None)[1].get(name)
        absent = isinstance(found, list) and all(own is None for own in found)
        return None if absent else found

    def roles_now(self, y: Any, sample_weight: Any) -> Roles:
        """What the columns are in this batch: as named now, or else before."""
        roles = self.roles
        if self.targets is not None:
            roles = roles._replace(targets=())  # the parameter names them
        elif y is not None:
            roles = roles._replace(targets=(y,) if isinstance(y, str) else ())
        if sample_weight is not None:
            named = isinstance(sample_weight, str)
            roles = roles._replace(weight=sample_weight if named else None)
        return roles

    def target(self, X: Any, y: Any, model: Model | None) -> Target:
        """The target, out of y or of the data itself."""
        if self.targets is not None:
            if y is not None:
                raise ValueError(f"targets={list(self.targets)} are taken out of X: give no y")
            if not self.targets:
                raise ValueError("targets names no column; give one, or None")
            if len(set(self.targets)) < len(self.targets):
                raise ValueError(f"targets={list(self.targets)} names a column twice")
            return encode_targets(split_targets(X, self.targets, needed=True)[1])
        names = (y,) if isinstance(y, str) else self.roles.targets if y is None else ()
        if names:
            return encode_targets(split_targets(X, names, needed=True)[1])
        if y is None:
            raise ValueError(
                f"This {self.owner} estimator requires y to be passed, but the target y is None."
            )
        return encode_target(y, None if model is None else model.form)

    def observe(self, X: Any, model: Model, theta: Any = None) -> Observations:
        """The items as the model knows their attributes, and their phases."""
        return scaled(self.raw(X, model, theta), model.scales)

    def raw(self, X: Any, model: Model, theta: Any = None) -> Observations:
        """The same, but numbers and orders are not yet spread over their categories."""
        return with_theta(self._observe(X, model), theta)

    def _observe(self, X: Any, model: Model | None) -> Observations:
        taken = (*(self.targets or ()), *self.roles.taken)
        if taken:
            X, _ = split_targets(X, taken, needed=False)
        if self.roles.text is not None:
            X = column_of(X, self.roles.text)
        names = () if model is None else model.schema.names
        counts = model is not None and model.schema.kind == "counts"
        reading = dict(self.reading)
        if model is not None:
            reading["ngrams"] = model.interactions.ngrams
        observed = encode(X, **reading, names=names, counts=counts)
        if model is None:
            return observed
        schema = model.schema
        schema.admit(Schema.of(observed))
        if not (schema.closed and observed.closed) or schema.kind == "documents":
            return observed
        self.check_columns(observed, schema)
        return observed if schema.named == observed.named else observed.renamed(schema.names)
