"""The model: an immutable value with the corpora and all that is needed to read them.

Learning returns a new model, so a call that fails leaves the previous one as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.corpus import Amplitudes, Corpus
from stc._core.counting import BatchCounts, RunningCounts
from stc._core.domain import MOST, class_too_heavy
from stc._core.formulas import Floats, floor_of
from stc._core.interactions import Interactions
from stc._core.labels import label_repr, places_of, union_of_classes
from stc._core.observations import Column, Observations
from stc._core.scales import Scale
from stc._core.schema import Schema
from stc._core.target import TargetForm
from stc._core.tensor import Dimensions, Subset, Tuples, features_of
from stc._core.vocabulary import Feature, Vocabulary, feature_name, tuple_name
from stc.exceptions import DataError, NeverLearntError, ParameterError

# Values and conjunctions of items that are counted at a time.
_MOST_CONJUNCTIONS = 1 << 23


@dataclass(frozen=True, eq=False)
class Model:
    """The corpora of the sets of dimensions in the policy, and what describes their entries.

    Attributes
    ----------
    schema
        The attributes of the items.
    dimensions
        The groups of attributes.
    policy
        The sets of dimensions to score an item by, in this order; the last is the empty one.
    form
        The form of y.
    classes
        The class of each column of the corpora, sorted.
    declared
        Which classes were declared by the caller and are kept without items.
    vocabulary
        Number of each feature (attribute, value): its row in the corpus of a single dimension.
    tuples
        For each set of several dimensions, the row of each tuple of features in its corpus.
    corpora
        The corpus of each set of the policy. That of the empty set has one row: all items.
    scales
        Scales of the attributes that are numbers or ordinal values.
    interactions
        Which conjunctions are features.
    """

    schema: Schema
    dimensions: Dimensions
    policy: tuple[Subset, ...]
    form: TargetForm
    classes: NDArray[Any]
    declared: NDArray[np.bool_]
    vocabulary: Vocabulary
    tuples: Mapping[Subset, Tuples]
    corpora: Mapping[Subset, Corpus]
    scales: Mapping[str, Scale] = field(default_factory=dict)
    interactions: Interactions = field(default_factory=Interactions)

    @classmethod
    def blank(
        cls,
        observed: Observations,
        dimensions: Dimensions | None = None,
        policy: tuple[Subset, ...] | None = None,
        form: TargetForm | None = None,
    ) -> Model:
        """Return a model for such items that has learnt nothing yet."""
        dimensions = dimensions or Dimensions()
        policy = policy or (dimensions.whole, ())
        return cls(
            Schema.of(observed),
            dimensions,
            policy,
            form or TargetForm(),
            classes=np.zeros(0),
            declared=np.zeros(0, dtype=bool),
            vocabulary=Vocabulary(),
            tuples={subset: Tuples.empty(len(subset)) for subset in policy if len(subset) > 1},
            corpora={subset: Corpus.empty((int(not subset), 0)) for subset in policy},
        )

    @property
    def class_mass(self) -> Floats:
        """Sum of the weights of the items of each class."""
        return self.corpora[()].class_mass()

    @property
    def frequencies(self) -> Floats:
        """Share of each class among all items."""
        mass = self.class_mass
        total = mass.sum()
        return mass / total if total else np.full(len(mass), 1 / max(len(mass), 1))

    def floor(self, share: float) -> Floats | None:
        """Return the least probability of each class; None if the share m is 0."""
        return None if share == 0 else floor_of(self.class_mass, share)

    @property
    def amplitudes(self) -> dict[Subset, Amplitudes]:
        """The gains and phases of each set that has any."""
        found = {subset: corpus.amplitudes for subset, corpus in self.corpora.items()}
        return {subset: each for subset, each in found.items() if each is not None}

    def index(self, subset: Subset) -> Vocabulary | Tuples:
        """Return the numbering of the rows of the corpus of a set."""
        return self.vocabulary if len(subset) == 1 else self.tuples[subset]

    def columns_for(self, observed: Observations, subset: Subset) -> Observations:
        """Return a batch as the columns of a set, with values that `index(subset)` locates."""
        view = self.dimensions.view(self.interactions.apply(observed), subset)
        if len(subset) == 1:
            return view
        features = [self.vocabulary.locate(column) for column in observed.columns]
        lookups = self.dimensions.lookups(observed, subset, features)
        column = view.columns[0]
        rows = features_of(np.asarray(column.values), lookups)
        return replace(view, columns=(replace(column, values=rows),))

    def without_entries(self) -> Model:
        """Return the model with its classes, attributes and sharpness, but without entries."""
        corpora = {}
        for subset, corpus in self.corpora.items():
            empty = Corpus.empty((int(not subset), len(self.classes)))
            amplitudes = corpus.amplitudes and corpus.amplitudes.take(np.zeros(0, dtype=np.int64))
            corpora[subset] = replace(empty, amplitudes=amplitudes)
        return replace(
            self,
            vocabulary=Vocabulary(),
            tuples={subset: Tuples.empty(len(subset)) for subset in self.tuples},
            corpora=corpora,
        )

    def cleared(self) -> Model:
        """Return a model for such items that has learnt nothing, without amplitudes and classes."""
        return replace(
            self.without_entries(),
            classes=self.classes[:0],
            declared=self.declared[:0],
            corpora={subset: Corpus.empty((int(not subset), 0)) for subset in self.corpora},
        )

    def check_size(self, observed: Observations, most: int) -> None:
        """Raise if a batch would have too many tuples or conjunctions, before any is made."""
        self.interactions.check_size(observed, most)
        for subset in self.corpora:
            if len(subset) > 1:
                self.dimensions.check_size(observed, subset, most)

    def with_classes(self, declared: NDArray[Any]) -> Model:
        """Return the model with these classes added, even if no item has them."""
        classes = union_of_classes(self.classes, declared)
        return replace(
            self,
            classes=classes,
            corpora={
                subset: self._resized(subset, corpus.mass.shape[0], classes)
                for subset, corpus in self.corpora.items()
            },
            declared=self._declared(classes, declared),
        )

    def _resized(self, subset: Subset, n_features: int, classes: NDArray[Any]) -> Corpus:
        """Return a corpus with more features, appended, and with more classes."""
        corpus = self.corpora[subset]
        places = places_of(classes, self.classes)
        shape = (n_features, len(classes))
        return corpus.reindexed(np.arange(corpus.mass.shape[0]), places, shape)

    def _declared(
        self, classes: NDArray[Any], more: NDArray[Any] | None = None
    ) -> NDArray[np.bool_]:
        known = self.classes[self.declared]
        declared = places_of(known, classes) < len(known)
        return declared if more is None else declared | (places_of(more, classes) < len(more))

    def with_items(self, observed: Observations, target: Column, sample_weight: Floats) -> Model:
        """Return the model after learning these items."""
        model = self.with_attributes_of(observed)
        parts = model.counted_parts(observed, target, sample_weight)
        first, second = next(parts), next(parts, None)
        if second is None:
            return model.with_counts(first)
        tally = RunningCounts(model.dimensions, tuple(model.corpora))
        for part in chain((first, second), parts):
            tally.add(part)
        counted = tally.counted()
        assert counted is not None
        return model.with_counts(counted)

    def with_attributes_of(self, observed: Observations) -> Model:
        """Return the model with the attributes of these items, or raise if it cannot."""
        schema = self.schema.with_batch(Schema.of(observed))
        self.dimensions.refuse_more(schema)
        return replace(self, schema=schema)

    def counted(self, observed: Observations, target: Column, sample_weight: Floats) -> BatchCounts:
        """Return the counts of these items for the sets of the policy."""
        observed = self.interactions.apply(observed)
        return BatchCounts.of(
            self.dimensions, self.corpora, *weighted(observed, target, sample_weight)
        )

    def counted_parts(
        self, observed: Observations, target: Column, sample_weight: Floats
    ) -> Iterator[BatchCounts]:
        """Yield the counts of parts of these items that are so small that conjunctions fit."""
        if self.interactions.order == 1:
            yield self.counted(observed, target, sample_weight)
            return
        items = weighted(observed, target, sample_weight)
        block = np.cumsum(self.interactions.sizes(items[0])) // _MOST_CONJUNCTIONS
        bounds = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), items[0].n_items]
        for start, stop in pairwise(bounds):
            rows = np.arange(start, stop)
            observed, target = items[0].take(rows), items[1].take(rows)
            yield self.counted(observed, target, items[2][start:stop])

    def with_counts(self, batch: BatchCounts) -> Model:
        """Return the model with the counts of a batch added."""
        target = batch.target
        vocabulary, lookups = self.vocabulary.extended(batch.observed.columns, batch.used())
        new_classes = np.asarray(target.values)[batch.counted[()][0].classes]
        classes = union_of_classes(self.classes, new_classes)
        places = _places(classes, target)
        tuples, corpora = {}, {}
        for subset in self.corpora:
            size, features = (vocabulary.size if subset else 1), lookups
            if len(subset) > 1:
                rows = batch.tuples(subset, lookups)
                tuples[subset], numbers = self.tuples[subset].extended(rows)
                size, features = tuples[subset].size, [numbers]
            shape = (size, len(classes))
            corpora[subset] = batch.delta(subset, places, features, shape)
            if len(self.classes):
                corpora[subset] = self._resized(subset, size, classes).added(corpora[subset])
        return replace(
            self,
            classes=classes,
            declared=self._declared(classes),
            vocabulary=vocabulary,
            tuples=tuples,
            corpora=corpora,
        )._checked()

    def _checked(self) -> Model:
        """Return the model, or raise if the sum of the weights of a class is too large."""
        mass = self.class_mass
        heavy = np.flatnonzero(mass > MOST)
        if len(heavy):
            class_ = heavy[0]
            raise class_too_heavy(label_repr(self.classes[class_]), float(mass[class_]))
        return self

    def without_items(self, observed: Observations, target: Column, sample_weight: Floats) -> Model:
        """Return the model without these items, as if they had never been learnt."""
        return self.subtract_items(observed, target, sample_weight).compacted()

    def subtract_items(
        self, observed: Observations, target: Column, sample_weight: Floats
    ) -> Model:
        """Return the model without these items; features and classes keep their numbers."""
        numbers = np.flatnonzero(sample_weight)  # of the items in the data of the caller
        batch = self.counted(observed, target, sample_weight)
        self._check_classes(batch.target, numbers)
        lookups = [self.vocabulary.locate(column) for column in batch.observed.columns]
        places = _places(self.classes, target)
        corpora = {}
        for subset, corpus in self.corpora.items():
            features = lookups
            if len(subset) > 1:
                rows = batch.tuples(subset, lookups)
                features = [self.tuples[subset].find(rows)]
                self._check_tuples(batch, subset, rows, features[0], numbers)
            else:
                self._check_values(batch, subset, lookups, numbers)
            delta = batch.delta(subset, places, features, corpus.mass.shape)
            corpora[subset] = self._subtracted(subset, delta)
        self._check_class_mass(corpora)
        return replace(self, corpora=corpora)

    def subtract_model(self, other: Model) -> Model:
        """Return the model without another one; features and classes keep their numbers."""
        self.schema.merged(other.schema, "X")
        vocabulary, theirs = self._vocabulary_with(other)
        if vocabulary.size > self.vocabulary.size:
            name = feature_name(*vocabulary.features[self.vocabulary.size])
            raise _never_learnt(name)
        places = places_of(self.classes, other.classes)
        unknown = other.classes[places == len(self.classes)]
        if len(unknown):
            raise _never_learnt(f"class {label_repr(unknown[0])}")
        corpora = {}
        for subset, corpus in self.corpora.items():
            rows = theirs if subset else np.zeros(1, dtype=np.int64)
            if len(subset) > 1:
                rows = self.tuples[subset].find(other.tuples[subset].renumbered(theirs).rows)
                if (rows == self.tuples[subset].size).any():
                    raise _never_learnt("a combination of values")
            delta = other.corpora[subset].reindexed(rows, places, corpus.mass.shape)
            corpora[subset] = self._subtracted(subset, delta)
        self._check_class_mass(corpora)
        return replace(self, corpora=corpora)

    def _subtracted(self, subset: Subset, delta: Corpus) -> Corpus:
        try:
            return self.corpora[subset].subtracted(delta)
        except NeverLearntError as error:
            raise NeverLearntError(self._described(subset, error)) from None

    def _described(self, subset: Subset, error: NeverLearntError) -> str:
        label = f"class {label_repr(self.classes[error.class_])}"
        if error.feature is None or not subset:
            reason = error.message.replace(" together", "")
            return f"cannot unlearn: items of {label} {reason}"
        what = self.feature_name(subset, error.feature)
        return f"cannot unlearn: {what} and {label} {error.message}"

    def features(self, subset: Subset, numbers: NDArray[Any]) -> list[tuple[Feature, ...]]:
        """Return the (attribute, value) pairs, one per dimension, of rows of a set."""
        single = self.vocabulary.features
        if len(subset) == 1:
            return [(single[feature],) for feature in numbers.tolist()]
        rows = self.tuples[subset].rows[numbers]
        return [tuple(single[feature] for feature in row) for row in rows.tolist()]

    def feature_name(self, subset: Subset, number: int) -> str:
        """Return the name of a row of the corpus of a set."""
        return tuple_name(self.features(subset, np.array([number]))[0])

    def _check_classes(self, target: Column, numbers: NDArray[Any]) -> None:
        """Raise if an item has an unknown class."""
        values = np.asarray(target.values)
        item, code = target.first_entry(places_of(self.classes, values) == len(self.classes))
        if item is not None:
            raise _never_learnt(f"class {label_repr(values[code])}", numbers[item])

    def _check_values(
        self,
        batch: BatchCounts,
        subset: Subset,
        lookups: list[NDArray[np.int64]],
        numbers: NDArray[Any],
    ) -> None:
        """Raise if an item has an unknown value in a set of one dimension."""
        for place in batch.places(subset):
            column = batch.observed.columns[place]
            item, code = column.first_entry(lookups[place] == self.vocabulary.size)
            if item is not None:
                values: Any = column.values
                raise _never_learnt(feature_name(column.attribute, values[code]), numbers[item])

    def _check_tuples(
        self,
        batch: BatchCounts,
        subset: Subset,
        rows: NDArray[np.int64],
        places: NDArray[np.int64],
        numbers: NDArray[Any],
    ) -> None:
        """Raise if an item has an unknown tuple in a set of several dimensions."""
        unknown = np.flatnonzero(places == self.tuples[subset].size)
        if not len(unknown):
            return
        first = int(unknown[0])
        items, codes, _ = batch.views[subset].columns[0].entries()
        item = int(items[np.argmax(codes == batch.rows(subset)[0][first])])
        unknown_values = rows[first] == self.vocabulary.size
        dimension = self.dimensions.names[subset[int(np.argmax(unknown_values))]]
        what = f"a value of {dimension!r}" if unknown_values.any() else "a combination of values"
        raise _never_learnt(what, numbers[item])

    def _check_class_mass(self, corpora: Mapping[Subset, Corpus]) -> None:
        """Raise if the entries of a class have more mass than its items."""
        for subset, corpus in corpora.items():
            wrong = corpus.crowded(corpora[()].class_mass(), self.class_mass) if subset else None
            if wrong is not None:
                raise NeverLearntError(
                    f"cannot unlearn: items of class {label_repr(self.classes[wrong])} "
                    "were learnt with other values"
                )

    def compacted(self) -> Model:
        """Return the model without the features and classes that have no items."""
        classes = self.corpora[()].used_classes | self.declared
        used = {subset: corpus.used_rows for subset, corpus in self.corpora.items()}
        used[()] = np.ones(1, dtype=bool)
        tuples = {subset: known.subset(used[subset]) for subset, known in self.tuples.items()}
        features = np.zeros(self.vocabulary.size, dtype=bool)
        if not self.vocabulary.index:
            features[:] = True  # the columns of a sparse matrix keep their places
        for subset in self.corpora:
            if len(subset) > 1:
                features[tuples[subset].rows] = True
            elif subset:
                features |= used[subset]
        used.update({subset: features for subset in self.corpora if len(subset) == 1})
        numbers = np.cumsum(features) - 1
        return replace(
            self,
            classes=self.classes[classes],
            vocabulary=self.vocabulary.subset(features),
            declared=self.declared[classes],
            tuples={subset: known.renumbered(numbers) for subset, known in tuples.items()},
            corpora={
                subset: corpus.restricted(used[subset], classes)
                for subset, corpus in self.corpora.items()
            },
        )

    def merged(self, other: Model) -> Model:
        """Return the model that has learnt the items of both."""
        schema = self.schema.merged(other.schema, "the other model")
        self._check_same_features(other)
        form = self.form.merged(other.form, "the other model")
        sets = self._sets_of(other)
        vocabulary, theirs = self._vocabulary_with(other)
        classes = union_of_classes(self.classes, other.classes)
        places = places_of(classes, other.classes)
        tuples, corpora = {}, {}
        for subset in self.corpora:
            size, rows = (vocabulary.size, theirs) if subset else (1, np.zeros(1, dtype=np.int64))
            other_subset = tuple(sorted(sets[subset]))
            if len(subset) > 1:
                ranks = np.argsort(np.argsort(sets[subset]))  # of our dimensions in the other
                known = other.tuples[other_subset].renumbered(theirs).rows[:, ranks]
                tuples[subset], rows = self.tuples[subset].extended(known)
                size = tuples[subset].size
            added = other.corpora[other_subset].reindexed(rows, places, (size, len(classes)))
            corpora[subset] = self._resized(subset, size, classes).added(added)
        return replace(
            self,
            schema=schema,
            form=form,
            classes=classes,
            declared=self._declared(classes, other.classes[other.declared]),
            vocabulary=vocabulary,
            tuples=tuples,
            corpora=corpora,
        )._checked()

    def _check_same_features(self, other: Model) -> None:
        """Raise if the features of another model are made in another way."""
        for name in {**self.scales, **other.scales}:
            if self.scales.get(name) != other.scales.get(name):
                raise ParameterError(
                    "the other model has another scale",
                    column=name,
                    hint="to merge them, give both the same knots, continuous={name: [knots]}, "
                    "or the same order",
                )
        if self.interactions != other.interactions:
            raise ParameterError(
                "the other model has other conjunctions",
                hint="to merge them, fit both with the same interactions and ngrams (the "
                "chosen_params_ of one of them), and with neither min_support nor max_features",
            )

    def _sets_of(self, other: Model) -> dict[Subset, Subset]:
        """Return for each set the numbers of its dimensions in the other model."""
        if not self.dimensions.same_as(other.dimensions):
            raise ParameterError(
                "the models cannot be merged: the other one has the dimensions "
                f"{list(other.dimensions.names)}, this one {list(self.dimensions.names)}"
            )
        sets = {}
        for subset in self.corpora:
            names = list(self.dimensions.named(subset))
            sets[subset] = other.dimensions.numbers(names, "the policy")
            if tuple(sorted(sets[subset])) not in other.corpora:
                raise ParameterError(
                    f"the policy of the other model does not have the set {names}",
                    hint="to merge them, fit both with the same policy",
                )
        return sets

    def _vocabulary_with(self, other: Model) -> tuple[Vocabulary, NDArray[np.int64]]:
        """Return the union of both vocabularies, and the numbers of the other's features in it."""
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


def _never_learnt(what: str, item: Any = None) -> NeverLearntError:
    """Return an error for something that no item has, of an item of the data to unlearn."""
    number = None if item is None else int(item)
    return NeverLearntError(f"cannot unlearn {what}, which was never learnt", item=number)


def weighted(
    observed: Observations, target: Column, sample_weight: Floats
) -> tuple[Observations, Column, Floats]:
    """Return the items with a positive weight; an item of weight 0 counts as absent."""
    keep = sample_weight > 0
    if keep.all():
        return observed, target, sample_weight
    if not keep.any():
        raise DataError("sample_weight is zero for every item: nothing to learn from")
    return observed.select(keep), target.select(keep), sample_weight[keep]


def _places(classes: NDArray[Any], target: Column) -> NDArray[Any]:
    """Return the index of each value of the target among the classes (any for unused ones)."""
    places = places_of(classes, np.asarray(target.values))
    return np.minimum(places, max(len(classes) - 1, 0))
