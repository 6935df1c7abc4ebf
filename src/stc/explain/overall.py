"""Global explanations: the weight of each feature for each class of a model."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from stc._core import formulas
from stc._core.cascade import Cascade
from stc._core.observations import items_of
from stc._core.tables import described
from stc._core.tensor import Subset
from stc._utils.forking import refuse_without_pool
from stc.explain.names import WORTH_NAMING, ClassNames, label_text, with_share
from stc.explain.table import TableMixin, differences, sorted_rows

# Maximal number of classes that the short form shows.
_SHOWN_CLASSES = 10
_KEYS = ["attribute", "value", "feature"]


class GlobalExplanation(TableMixin):
    """The weight of each feature for each class of a model.

    Attributes
    ----------
    classes
        The classes.
    table
        One row per class and feature, strongest first within each class: `class`, `attribute`,
        `value`, `weight` (`H_j^h B_ij^p`), `share` (of the weights of the class), `discrimination`
        (`H_j`: 0 where the feature is equally frequent in every class, 1 where it occurs in one
        class only), `phase` (in radians), `mass`, `support` (number of items with the feature) and
        `feature`. With several dimensions, `dimensions` is the set of the policy.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> animals = [{"hair": 1, "legs": 4}, {"feathers": 1, "legs": 2}]
    >>> model = SparseTensorClassifier().fit(animals, ["mammal", "bird"])
    >>> print(model.explain_global())
    bird: feathers=1 (50 %), legs=2 (50 %)
    mammal: hair=1 (50 %), legs=4 (50 %)
    """

    def __init__(self, cascade: Cascade) -> None:
        self._cascade = cascade

    @cached_property
    def _names(self) -> ClassNames:
        return ClassNames(self._cascade.model)

    @property
    def classes(self) -> list[Any]:
        """The classes."""
        return self._names.labels

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per class and feature, strongest first within each class."""
        tables = [self._of_set(subset) for subset in self._cascade.policy if subset]
        if not tables:
            return self._of_set(None)
        return sorted_rows(pl.concat(tables), {"class": False, "weight": True, "feature": False})

    def _of_set(self, subset: Subset | None) -> pl.DataFrame:
        """Return the weights of one set of dimensions, of the entries that were counted."""
        model = self._cascade.model
        corpus = model.corpora[subset or ()]
        mass = corpus.mass
        entries = mass.nnz if subset else 0
        rows = items_of(mass.indptr)[:entries]
        log_W, angles = self._cascade.log_weights(subset or ())
        phases = np.zeros(log_W.nnz) if angles is None else angles
        columns = {
            "weight": np.exp(formulas.entries_at(log_W, mass)[:entries]),
            "discrimination": formulas.entropy_weights(mass)[rows],
            "phase": formulas.entries_at(formulas.with_data(log_W, phases), mass)[:entries],
            "mass": mass.data[:entries],
        }
        table = described(model, subset or model.dimensions.whole[:1], rows).with_columns(
            self._names.column.gather(mass.indices[:entries]),
            *(pl.Series(name, values, dtype=pl.Float64) for name, values in columns.items()),
            support=pl.Series(corpus.support[:entries], dtype=pl.Int64),
        )
        total = pl.col("weight").sum().over("class")
        table = table.with_columns(
            share=pl.when(total > 0).then(pl.col("weight") / total).otherwise(0.0)
        )
        names = ["weight", "share", "discrimination", "phase", "mass", "support", "feature"]
        chosen = table.select("class", "attribute", "value", *names)
        if len(model.dimensions.names) == 1:
            return chosen
        dimensions = [list(model.dimensions.named(subset or ()))] * chosen.height
        return chosen.with_columns(dimensions=pl.Series(dimensions, dtype=pl.List(pl.String)))

    def top(self, n: int = 10) -> GlobalExplanation:
        """Return the strongest features of each class.

        Parameters
        ----------
        n : int, default=10
            Maximal number of features per class.

        Returns
        -------
        GlobalExplanation
            The rows of these features.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good good fun", "bad, bad"], ["+", "-"])
        >>> model.explain_global().top(1).table["feature"].to_list()
        ['good', 'bad']
        """
        refuse_without_pool()
        table = self.table.sort("weight", descending=True, maintain_order=True)
        strongest = table.group_by("class", maintain_order=True).head(n)
        return self._with(strongest.sort("class", maintain_order=True))

    def for_class(self, label: Any) -> GlobalExplanation:
        """Return the rows of one class.

        Parameters
        ----------
        label
            The class.

        Returns
        -------
        GlobalExplanation
            The rows of this class.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> print(model.explain_global().for_class("+"))
        +: fun (50 %), good (50 %)
        """
        name = self._names.column[self._names.index(label)]
        return self.filter(pl.col("class") == name)

    def compare(self, first: Any, second: Any) -> pl.DataFrame:
        """Compare the features of two classes.

        Parameters
        ----------
        first, second
            The classes.

        Returns
        -------
        polars.DataFrame
            One row per feature, the largest difference first: `attribute`, `value`, `first` and
            `second` (its share of the weights of each class), `difference` and `feature`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier(entropy=0).fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain_global().compare("x", "y").select("feature", "difference").rows()
        [('x1=b', 0.5), ('x1=c', -0.5), ('x0=a', 0.0)]
        """
        keys = [*_KEYS, *(["dimensions"] if "dimensions" in self.table.columns else [])]
        sides = [
            self.for_class(label).table.select(*keys, pl.col("share").alias(name))
            for label, name in ((first, "first"), (second, "second"))
        ]
        names = [*keys[:2], "first", "second", "difference", *keys[2:]]
        return differences(*sides).select(names)

    def discriminating(self, n: int = 10) -> pl.DataFrame:
        """Return the features that best tell the classes apart.

        Parameters
        ----------
        n : int, default=10
            Maximal number of features.

        Returns
        -------
        polars.DataFrame
            One row per feature, highest `discrimination` first, ties by `support`: `attribute`,
            `value`, `discrimination`, `support`, `class` (where its weight is highest) and
            `feature`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> found = model.explain_global().discriminating(2)
        >>> found.select("feature", "discrimination", "class").rows()
        [('x1=b', 1.0, 'x'), ('x1=c', 1.0, 'y')]
        """
        features = self.table.sort("weight", descending=True, maintain_order=True)
        best = features.group_by(_KEYS, maintain_order=True).agg(
            pl.col("discrimination", "class").first(), support=pl.col("support").sum()
        )
        columns = ["attribute", "value", "discrimination", "support", "class", "feature"]
        order = {"discrimination": True, "support": True, "feature": False}
        return sorted_rows(best, order).select(columns).head(n)

    def sentences(self, reasons: int = 3) -> list[str]:
        """Return one sentence per class, with its strongest features.

        Parameters
        ----------
        reasons : int, default=3
            Maximal number of features to name.

        Returns
        -------
        list of str
            One sentence per class.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> model.explain_global().sentences(1)
        ['+: fun (50 %)', '-: bad (59 %)']
        """
        strongest: dict[Any, list[str]] = {}
        for row in self.top(reasons).table.iter_rows(named=True):
            texts = strongest.setdefault(row["class"], [])
            if row["share"] >= WORTH_NAMING:
                texts.append(with_share(row["feature"], row["share"]))
        return [
            f"{label_text(label)}: {', '.join(texts) or 'no feature stands out'}"
            for label, texts in strongest.items()
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        lines = self.sentences()
        if len(lines) > _SHOWN_CLASSES:
            lines[_SHOWN_CLASSES:] = [f"... and {len(lines) - _SHOWN_CLASSES} more classes"]
        return "\n".join(lines)
