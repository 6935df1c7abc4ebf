"""What was learnt, as one value that never changes: learning gives a new one.

So a call that fails, at whatever point, leaves the estimator with the model it had.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc.corpus import Corpus, Entries, NeverLearntError, count
from stc.observations import Column, Observations, run_starts
from stc.schema import Schema
from stc.vocabulary import Vocabulary, feature_name


@dataclass(frozen=True, eq=False)
class Model:
    """Schema, vocabulary, classes and corpus of a classifier.

    Attributes
    ----------
    schema
        The attributes of the items.
    vocabulary
        Feature (attribute, value) <-> row of the corpus.
    classes
        Class of each column of the corpus, sorted.
    declared
        Which classes were announced by the caller and so stay even without items.
    corpus
        The numbers.
    """

    schema: Schema
    classes: NDArray[Any]
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    declared: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    corpus: Corpus = field(default_factory=Corpus.empty)

    @classmethod
    def blank(cls, observed: Observations) -> Model:
        """A model of such items that has learnt nothing yet."""
        return cls(Schema.of(observed), np.zeros(0))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of features and of classes."""
        return self.vocabulary.size, len(self.classes)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Share of each class among all items."""
        mass = self.corpus.class_mass
        total = mass.sum()
        return mass / total if total else np.full(len(mass), 1 / max(len(mass), 1))

    def declaring(self, declared: NDArray[Any]) -> Model:
        """The model with these classes in it, learnt or not."""
        classes = union_of_classes(self.classes, declared)
        places = np.searchsorted(classes, self.classes)
        corpus = self.corpus.reindexed(
            np.arange(self.vocabulary.size), places, (self.vocabulary.size, len(classes))
        )
        return replace(
            self, classes=classes, corpus=corpus, declared=self._declared(classes, declared)
        )

    def _declared(
        self, classes: NDArray[Any], more: NDArray[Any] | None = None
    ) -> NDArray[np.bool_]:
        declared = np.isin(classes, self.classes[self.declared])
        return declared if more is None else declared | np.isin(classes, more)

    def learnt(
        self, observed: Observations, target: Column, sample_weight: NDArray[np.float64]
    ) -> Model:
        """The model after these items, too."""
        schema = self.schema.with_batch(Schema.of(observed))
        observed, target, sample_weight = _weighted(observed, target, sample_weight)
        per_column, per_class = count(observed, target, sample_weight)
        used = [entries.codes[run_starts(entries.codes)] for entries in per_column]
        vocabulary, lookups = self.vocabulary.extended(observed.columns, used)
        features = [
            lookup[entries.codes] for lookup, entries in zip(lookups, per_column, strict=True)
        ]
        new_classes = np.asarray(target.values)[per_class.classes]
        classes = union_of_classes(self.classes, new_classes)
        shape = (vocabulary.size, len(classes))
        delta = _delta(per_column, features, per_class, _places(classes, target), shape)
        corpus = delta
        if len(self.classes):
            before = np.searchsorted(classes, self.classes)
            corpus = self.corpus.reindexed(np.arange(self.vocabulary.size), before, shape)
            corpus = corpus.added(delta)
        return Model(schema, classes, vocabulary, self._declared(classes), corpus)

    def unlearnt(
        self, observed: Observations, target: Column, sample_weight: NDArray[np.float64]
    ) -> Model:
        """The model as if these items had never been learnt; what is gone leaves no trace."""
        numbers = np.flatnonzero(sample_weight)  # as the caller counts the items
        observed, target, sample_weight = _weighted(observed, target, sample_weight)
        self._refuse_unknown(observed, target, numbers)
        per_column, per_class = count(observed, target, sample_weight)
        features = [
            self.vocabulary.locate(column)[entries.codes]
            for column, entries in zip(observed.columns, per_column, strict=True)
        ]
        delta = _delta(per_column, features, per_class, _places(self.classes, target), self.shape)
        try:
            return replace(self, corpus=self.corpus.subtracted(delta)).compacted()
        except NeverLearntError as error:
            raise NeverLearntError(f"cannot unlearn: {self._described(error)}") from None

    def _described(self, error: NeverLearntError) -> str:
        label = f"class {shown(self.classes[error.class_])}"
        if error.feature is None:
            return f"items of {label} {error}"
        return f"{feature_name(*self.vocabulary.features()[error.feature])} and {label} {error}"

    def _refuse_unknown(
        self, observed: Observations, target: Column, numbers: NDArray[Any]
    ) -> None:
        items, codes, _ = target.entries()
        unknown = ~np.isin(np.asarray(target.values)[codes], self.classes)
        if unknown.any():
            first = int(np.flatnonzero(unknown)[0])
            label = shown(target.values[codes[first]])  # type: ignore[index]
            raise NeverLearntError(
                f"cannot unlearn: item {numbers[items[first]]} has class {label}, never learnt"
            )
        for column in observed.columns:
            items, codes, _ = column.entries()
            unseen = self.vocabulary.locate(column)[codes] == self.vocabulary.size
            if unseen.any():
                first = int(np.flatnonzero(unseen)[0])
                value = column.values[codes[first]]  # type: ignore[index]
                raise NeverLearntError(
                    f"cannot unlearn: item {numbers[items[first]]} has "
                    f"{feature_name(column.attribute, value)}, never learnt"
                )

    def compacted(self) -> Model:
        """The model without the features and classes that no item is left of."""
        classes = (self.corpus.class_support > 0) | self.declared
        features = np.diff(self.corpus.mass.indptr) > 0
        if not self.vocabulary.index:
            features[:] = True  # the columns of a sparse matrix keep their places
        return replace(
            self,
            classes=self.classes[classes],
            vocabulary=self.vocabulary.subset(features),
            declared=self.declared[classes],
            corpus=self.corpus.restricted(features, classes),
        )

    def merged(self, other: Model) -> Model:
        """The model that would have learnt what both have."""
        schema = self.schema.joined(other.schema, "the other model")
        vocabulary, theirs = self._vocabulary_with(other)
        classes = union_of_classes(self.classes, other.classes)
        shape = (vocabulary.size, len(classes))
        mine = self.corpus.reindexed(
            np.arange(self.vocabulary.size), np.searchsorted(classes, self.classes), shape
        )
        corpus = mine.added(
            other.corpus.reindexed(theirs, np.searchsorted(classes, other.classes), shape)
        )
        declared = self._declared(classes, other.classes[other.declared])
        return Model(schema, classes, vocabulary, declared, corpus)

    def _vocabulary_with(self, other: Model) -> tuple[Vocabulary, NDArray[np.int64]]:
        """Our vocabulary and theirs in one, and where their features are in it."""
        places = np.arange(other.vocabulary.size)
        if not other.vocabulary.index:
            return self.vocabulary, places
        columns = [
            Column(attribute, list(known), len(known), np.zeros(0, dtype=np.int64))
            for attribute, known in other.vocabulary.index.items()
        ]
        everything = [np.arange(column.n_values) for column in columns]
        vocabulary, numbers = self.vocabulary.extended(columns, everything)
        for known, number in zip(other.vocabulary.index.values(), numbers, strict=True):
            places[list(known.values())] = number
        return vocabulary, places


def union_of_classes(ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
    """Sorted classes of both, refusing to mix types that NumPy would silently convert."""
    if not len(ours):
        return np.unique(theirs)
    if not len(theirs):
        return ours
    kinds = [_kind(ours), _kind(theirs)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"the classes learnt so far are {kinds[0]} (such as {shown(ours[0])}), "
            f"these are {kinds[1]} (such as {shown(theirs[0])})"
        )
    return np.union1d(ours, theirs)


def shown(label: Any) -> str:
    """A label as Python writes it, without NumPy's type around it."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def _kind(classes: NDArray[Any]) -> str:
    kind = (
        classes.dtype.kind if classes.dtype.kind != "O" else np.array(classes.tolist()).dtype.kind
    )
    names = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers", "U": "strings"}
    return names.get(kind, f"of dtype {classes.dtype}")


def _weighted(
    observed: Observations, target: Column, sample_weight: NDArray[np.float64]
) -> tuple[Observations, Column, NDArray[np.float64]]:
    """Only the items that weigh something: weight zero is absence."""
    keep = sample_weight > 0
    if keep.all():
        return observed, target, sample_weight
    if not keep.any():
        raise ValueError("sample_weight is zero for every item: nothing to learn from")
    return observed.select(keep), target.select(keep), sample_weight[keep]


def _delta(
    per_column: list[Entries],
    features: list[NDArray[Any]],
    per_class: Entries,
    places: NDArray[Any],
    shape: tuple[int, int],
) -> Corpus:
    """Corpus of a batch whose entries' features and classes have been given their places."""
    columns = [entries._replace(classes=places[entries.classes]) for entries in per_column]
    totals = per_class._replace(classes=places[per_class.classes])
    return Corpus.of_entries(columns, features, totals, shape)


def _places(classes: NDArray[Any], target: Column) -> NDArray[Any]:
    """Place of each of the target's values among the classes (unused ones: anywhere)."""
    values = np.asarray(target.values)
    return np.minimum(np.searchsorted(classes, values), max(len(classes) - 1, 0))
