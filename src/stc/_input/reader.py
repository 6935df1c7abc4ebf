"""The reader: what a caller brings becomes a batch, encoded and checked in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stc._core.model import Model, weighted
from stc._core.observations import Column, Observations
from stc._core.scales import Scale, apply_scales
from stc._core.schema import Schema
from stc._core.target import Target
from stc._input.columns import column_of, split_targets
from stc._input.containers import encode, rows_of
from stc._input.scales import refuse_beyond, scales_of
from stc._input.targets import encode_sample_weight, encode_target, encode_targets
from stc._input.theta import with_theta
from stc._input.weights import check_shares
from stc.exceptions import DataError, ParameterError


class Roles(NamedTuple):
    """Columns of the data that are not attributes, because the caller named them otherwise.

    Attributes
    ----------
    targets
        Columns to predict.
    weight
        The column with the weight of each item.
    text
        The column with the document of each item; the other columns are then not learnt from.
    """

    targets: tuple[str, ...] = ()
    weight: str | None = None
    text: str | None = None

    @property
    def taken(self) -> tuple[str, ...]:
        """The columns that are not part of the items."""
        return self.targets if self.weight is None else (*self.targets, self.weight)

    def merged(self, other: Roles) -> Roles:
        """Return the roles of two models that are merged: what one has not named, the other has."""
        return self._replace(
            targets=self.targets or other.targets, weight=self.weight or other.weight
        )


NO_ROLES = Roles()


@dataclass(frozen=True)
class Batch:
    """Items, their target and their weights, encoded and checked.

    Attributes
    ----------
    observed
        The items.
    target, sample_weight
        Their target and their weights.
    scales
        The scales of the attributes that have one.
    raw
        The items before numbers and orders are spread over the categories of their scales.
    roles
        Columns of the data that are not attributes.
    groups
        The group of each item, as a number; None if they have none.
    """

    observed: Observations
    target: Target
    sample_weight: NDArray[np.float64]
    scales: Mapping[str, Scale]
    raw: Observations
    roles: Roles = NO_ROLES
    groups: NDArray[Any] | None = None

    def weighted(self) -> tuple[Observations, Column, NDArray[np.float64]]:
        """Return items, classes and weights of the items with a positive weight."""
        return weighted(self.observed, self.target.column, self.sample_weight)


@dataclass(frozen=True)
class BatchReader:
    """Reads batches as the parameters of an estimator say.

    Attributes
    ----------
    parameters
        Parameters of SparseTensorClassifier: `targets`, `missing`, `tokenizer`, `ngrams`,
        `continuous`, `ordinal` and `max_entries` are used here.
    roles
        Roles of columns that were named in earlier batches.
    by_name
        Whether the columns were already selected by name, so that they need no check.
    """

    parameters: Mapping[str, Any]
    roles: Roles = NO_ROLES
    by_name: bool = False

    @property
    def target_names(self) -> tuple[str, ...] | None:
        """The columns that the parameter `targets` names; None if y is passed instead."""
        names: str | Sequence[str] | None = self.parameters["targets"]
        if names is None:
            return None
        return (names,) if isinstance(names, str) else tuple(names)

    @property
    def target_columns(self) -> tuple[str, ...]:
        """The columns of the data that are targets; none if y is passed instead."""
        return self.target_names or self.roles.targets

    def batch(self, X: Any, y: Any, sample_weight: Any, model: Model | None) -> Batch:
        """Read items to learn or to unlearn, for a fitted model or for a new one."""
        roles = self.roles_with(y, sample_weight)
        target = self.target(X, y, model)
        column = roles.weight if isinstance(sample_weight, str | None) else None
        sample_weight = self.weight(X, sample_weight)
        reader = replace(self, roles=roles)
        observed = reader._encode(X, model)
        target.check_length(observed.n_items)
        if model is not None:
            target = replace(target, form=model.form.merged(target.form))
        weights = encode_sample_weight(sample_weight, observed.n_items, column=column)
        if target.form.kind == "indicator":  # an item without labels is not learnt from
            weights = weights * (target.column.lengths() > 0)
        check_shares(target.column, weights)
        observed, scales = reader._derived(X, observed, weights, model)
        refuse_beyond(observed, scales)
        return Batch(apply_scales(observed, scales), target, weights, scales, observed, roles)

    def _derived(
        self, X: Any, observed: Observations, weights: NDArray[np.float64], model: Model | None
    ) -> tuple[Observations, dict[str, Scale]]:
        """Return the items with the attributes of those that have weight, and their scales.

        An item of weight 0 is absent: it adds no attribute, sets no knot and is no measurement.
        """
        present, known = weights > 0, None if model is None else dict(model.scales)
        if not present.any():  # counting raises the error
            return observed, self.scales(
                observed, np.ones(len(weights))
            ) if known is None else known
        measured = any(column.continuous for column in observed.columns)
        scaled = known is None and self.parameters["continuous"] is not None
        learnt = observed
        if not present.all() and (measured or scaled or not observed.closed):
            learnt, weights = self._encode(rows_of(X, present), model), weights[present]
            observed = observed.like(learnt)
        return observed, self.scales(learnt, weights) if known is None else known

    def scales(self, observed: Observations, weights: NDArray[np.float64]) -> dict[str, Scale]:
        """Return the scales that items set, by their weights."""
        parameters = self.parameters
        return scales_of(observed, parameters["continuous"], parameters["ordinal"], weights)

    def weight(self, X: Any, sample_weight: Any) -> Any:
        """Return the weights; from a column of X if it is named, now or in an earlier batch."""
        name = self.roles_with(None, sample_weight).weight
        if name is None or not isinstance(sample_weight, str | None):
            return sample_weight
        column = split_targets(X, (name,), needed=sample_weight is not None)[1].get(name)
        absent = isinstance(column, list) and all(cell is None for cell in column)
        return None if absent else column

    def roles_with(self, y: Any, sample_weight: Any) -> Roles:
        """Return the roles of columns in this batch: as named now, else as named before.

        A column that was named once is no attribute later, even where labels or weights are passed.
        """
        roles = self.roles
        if self.target_names is not None:
            roles = roles._replace(targets=self.target_names)
        elif isinstance(y, str):
            roles = roles._replace(targets=(y,))
        if isinstance(sample_weight, str):
            roles = roles._replace(weight=sample_weight)
        return roles

    def target(self, X: Any, y: Any, model: Model | None) -> Target:
        """Read the target from y or from columns of X."""
        targets = self.target_names
        if targets is not None:
            if y is not None:
                raise ParameterError(f"targets={list(targets)} are taken out of X: give no y")
            if not targets:
                raise ParameterError("targets names no column; give one, or None")
            if len(set(targets)) < len(targets):
                raise ParameterError(f"targets={list(targets)} names a column twice")
            return encode_targets(split_targets(X, targets, needed=True)[1])
        names = (y,) if isinstance(y, str) else self.roles.targets if y is None else ()
        if names:
            return encode_targets(split_targets(X, names, needed=True)[1])
        if y is None:
            raise DataError(
                "This SparseTensorClassifier estimator requires y to be passed, but the target y "
                "is None."
            )
        return encode_target(y, None if model is None else model.form)

    def observe(self, X: Any, model: Model, theta: Any = None) -> Observations:
        """Encode items with the attributes of a model, and their phases."""
        return apply_scales(self.raw(X, model, theta), model.scales)

    def raw(self, X: Any, model: Model, theta: Any = None) -> Observations:
        """Encode items, without spreading numbers and orders over their categories."""
        return with_theta(self._encode(X, model), theta)

    def _encode(self, X: Any, model: Model | None) -> Observations:
        taken = tuple(dict.fromkeys((*(self.target_names or ()), *self.roles.taken)))
        if taken:
            X, _ = split_targets(X, taken, needed=False)
        if self.roles.text is not None:
            X = column_of(X, self.roles.text)
        parameters = self.parameters
        ngrams = parameters["ngrams"] if model is None else model.interactions.ngrams
        observed = encode(
            X,
            missing=parameters["missing"],
            tokenizer=parameters["tokenizer"],
            ngrams=ngrams,
            names=() if model is None else model.schema.names,
            counts=model is not None and model.schema.kind == "counts",
            max_entries=parameters["max_entries"],
        )
        if model is None:
            return observed
        schema = model.schema
        schema.check_readable(Schema.of(observed))
        if not (schema.closed and observed.closed) or schema.kind == "documents":
            return observed
        if not self.by_name:
            schema.check_columns(Schema.of(observed))
        return observed if schema.named == observed.named else observed.renamed(schema.names)
