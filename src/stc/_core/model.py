"""What was learnt, as one value that never changes: learning gives a new one.

So a call that fails, at whatever point, leaves the estimator with the model it had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.corpus import Corpus, Phases
from stc._core.counting import Counted
from stc._core.interactions import Interactions
from stc._core.observations import Column, Observations
from stc._core.scales import Scale
from stc._core.schema import Schema
from stc._core.target import Form
from stc._core.tensor import Dimensions, Subset, Tuples, features_of
from stc._core.vocabulary import Feature, Vocabulary, feature_name, tuple_name
from stc.exceptions import NeverLearntError


@dataclass(frozen=True, eq=False)
class Model:
    """What was learnt: the corpora of the sets of dimensions that the policy uses.

    Attributes
    ----------
    schema
        The attributes of the items.
    dimensions
        How they are grouped.
    policy
        The sets of dimensions to score an item by, first ones first; the last is the empty one.
    form
        The form of y.
    classes
        Class of each column of the corpora, sorted.
    declared
        Which classes were announced by the caller and so stay even without items.
    vocabulary
        Feature (attribute, value) <-> number: the row in the corpus of a single dimension.
    tuples
        For each set of several dimensions: tuple of features <-> row of its corpus.
    corpora
        The numbers, for each set of the policy. That of the empty set has one row: all items.
    scales
        How the values of attributes that are numbers or orders become weights of categories.
    interactions
        Which conjunctions of attributes are features.
    """

    schema: Schema
    dimensions: Dimensions
    policy: tuple[Subset, ...]
    form: Form
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
        form: Form | None = None,
    ) -> Model:
        """A model of such items that has learnt nothing yet."""
        dimensions = dimensions or Dimensions()
        policy = policy or (dimensions.whole, ())
        return cls(
            Schema.of(observed),
            dimensions,
            policy,
            form or Form(),
            classes=np.zeros(0),
            declared=np.zeros(0, dtype=bool),
            vocabulary=Vocabulary(),
            tuples={subset: Tuples.empty(len(subset)) for subset in policy if len(subset) > 1},
            corpora={subset: Corpus.empty((int(not subset), 0)) for subset in policy},
        )

    @property
    def class_mass(self) -> NDArray[np.float64]:
        """Weight of the items of each class."""
        return self.corpora[()].class_mass()

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Share of each class among all items."""
        mass = self.class_mass
        total = mass.sum()
        return mass / total if total else np.full(len(mass), 1 / max(len(mass), 1))

    @property
    def phases(self) -> dict[Subset, Phases]:
        """The phases of each set for which some were learnt."""
        return {s: corpus.phases for s, corpus in self.corpora.items() if corpus.phases is not None}

    def index(self, subset: Subset) -> Vocabulary | Tuples:
        """Which row of the corpus of a set belongs to which feature."""
        return self.vocabulary if len(subset) == 1 else self.tuples[subset]

    def located(self, observed: Observations, subset: Subset) -> Observations:
        """A batch as a set sees it, ready for that set's index."""
        view = self.dimensions.view(self.interactions.applied(observed), subset)
        if len(subset) == 1:
            return view
        features = [self.vocabulary.locate(column) for column in observed.columns]
        lookups = self.dimensions.lookups(observed, subset, features)
        column = view.columns[0]
        rows = features_of(np.asarray(column.values), lookups)
        return replace(view, columns=(replace(column, values=rows),))

    def bare(self) -> Model:
        """The same classes and attributes, but no entries: what any batch of theirs adds to."""
        corpora = {}
        for subset, corpus in self.corpora.items():
            empty = Corpus.empty((int(not subset), len(self.classes)))
            phases = corpus.phases and replace(corpus.phases, angles=np.zeros(0))
            corpora[subset] = replace(empty, phases=phases)
        return replace(
            self,
            vocabulary=Vocabulary(),
            tuples={subset: Tuples.empty(len(subset)) for subset in self.tuples},
            corpora=corpora,
        )

    def blanked(self) -> Model:
        """A model of such items that has learnt nothing, not even phases or classes."""
        return replace(
            self.bare(),
            classes=self.classes[:0],
            declared=self.declared[:0],
            corpora={subset: Corpus.empty((int(not subset), 0)) for subset in self.corpora},
        )

    def refuse_large(self, observed: Observations, most: int) -> None:
        """Refuse a batch that would make too many combinations of values, before any is made."""
        self.interactions.refuse_large(observed, most)
        for subset in self.corpora:
            if len(subset) > 1:
                self.dimensions.refuse_large(observed, subset, most)

    def declaring(self, declared: NDArray[Any]) -> Model:
        """The model with these classes in it, learnt or not."""
        classes = union_of_classes(self.classes, declared)
        return replace(
            self,
            classes=classes,
            corpora=self._reclassed(classes),
            declared=self._declared(classes, declared),
        )

    def _reclassed(self, classes: NDArray[Any]) -> dict[Subset, Corpus]:
        """The corpora with more classes."""
        places = np.searchsorted(classes, self.classes)
        return {
            subset: corpus.reindexed(
                np.arange(corpus.mass.shape[0]), places, (corpus.mass.shape[0], len(classes))
            )
            for subset, corpus in self.corpora.items()
        }

    def _declared(
        self, classes: NDArray[Any], more: NDArray[Any] | None = None
    ) -> NDArray[np.bool_]:
        declared = np.isin(classes, self.classes[self.declared])
        return declared if more is None else declared | np.isin(classes, more)

    def learnt(
        self, observed: Observations, target: Column, sample_weight: NDArray[np.float64]
    ) -> Model:
        """The model after these items, too."""
        model = self.admitting(observed)
        return model.counting(model.counted(observed, target, sample_weight))

    def admitting(self, observed: Observations) -> Model:
        """The model with the attributes of these items, refusing those it cannot take in."""
        schema = self.schema.with_batch(Schema.of(observed))
        self.dimensions.refuse_more(schema)
        return replace(self, schema=schema)

    def counted(
        self, observed: Observations, target: Column, sample_weight: NDArray[np.float64]
    ) -> Counted:
        """These items as the sets of the policy count them."""
        observed = self.interactions.applied(observed)
        return Counted.of(self.dimensions, self.corpora, *weighted(observed, target, sample_weight))

    def counting(self, batch: Counted) -> Model:
        """The model after what was counted, too."""
        target = batch.target
        vocabulary, lookups = self.vocabulary.extended(batch.observed.columns, batch.used())
        new_classes = np.asarray(target.values)[batch.counted[()][0].classes]
        classes = union_of_classes(self.classes, new_classes)
        before = np.searchsorted(classes, self.classes)
        places = _places(classes, target)
        tuples, corpora = {}, {}
        for subset, corpus in self.corpora.items():
            size, features = (vocabulary.size if subset else 1), lookups
            if len(subset) > 1:
                rows = batch.tuples(subset, lookups)
                tuples[subset], numbers = self.tuples[subset].extended(rows)
                size, features = tuples[subset].size, [numbers]
            shape = (size, len(classes))
            corpora[subset] = batch.delta(subset, places, features, shape)
            if len(self.classes):
                old = corpus.reindexed(np.arange(corpus.mass.shape[0]), before, shape)
                corpora[subset] = old.added(corpora[subset])
        return replace(
            self,
            classes=classes,
            declared=self._declared(classes),
            vocabulary=vocabulary,
            tuples=tuples,
            corpora=corpora,
        )

    def unlearnt(
        self, observed: Observations, target: Column, sample_weight: NDArray[np.float64]
    ) -> Model:
        """The model as if these items had never been learnt; what is gone leaves no trace."""
        return self.without(observed, target, sample_weight).compacted()

    def without(
        self, observed: Observations, target: Column, sample_weight: NDArray[np.float64]
    ) -> Model:
        """The same, but features and classes that no item is left of keep their places."""
        numbers = np.flatnonzero(sample_weight)  # as the caller counts the items
        batch = self.counted(observed, target, sample_weight)
        self._refuse_unknown_classes(batch.target, numbers)
        lookups = [self.vocabulary.locate(column) for column in batch.observed.columns]
        places = _places(self.classes, target)
        corpora = {}
        for subset, corpus in self.corpora.items():
            features = lookups
            if len(subset) > 1:
                rows = batch.tuples(subset, lookups)
                features = [self.tuples[subset].find(rows)]
                self._refuse_unknown_tuples(batch, subset, rows, features[0], numbers)
            else:
                self._refuse_unknown_values(batch, subset, lookups, numbers)
            delta = batch.delta(subset, places, features, corpus.mass.shape)
            corpora[subset] = self._subtracted(subset, delta)
        self._refuse_crowded(corpora)
        return replace(self, corpora=corpora)

    def less(self, other: Model) -> Model:
        """The model without what another has learnt; what is gone keeps its place."""
        self.schema.joined(other.schema, "X")
        vocabulary, theirs = self._vocabulary_with(other)
        if vocabulary.size > self.vocabulary.size:
            name = feature_name(*vocabulary.features[self.vocabulary.size])
            raise NeverLearntError(f"cannot unlearn: an item has {name}, never learnt")
        strange = other.classes[~np.isin(other.classes, self.classes)]
        if len(strange):
            raise NeverLearntError(
                f"cannot unlearn: an item has class {shown(strange[0])}, never learnt"
            )
        places = np.searchsorted(self.classes, other.classes)
        corpora = {}
        for subset, corpus in self.corpora.items():
            rows = theirs if subset else np.zeros(1, dtype=np.int64)
            if len(subset) > 1:
                rows = self.tuples[subset].find(other.tuples[subset].renumbered(theirs).rows)
                if (rows == self.tuples[subset].size).any():
                    raise NeverLearntError(
                        "cannot unlearn: an item has a combination of values, never learnt"
                    )
            delta = other.corpora[subset].reindexed(rows, places, corpus.mass.shape)
            corpora[subset] = self._subtracted(subset, delta)
        self._refuse_crowded(corpora)
        return replace(self, corpora=corpora)

    def _subtracted(self, subset: Subset, delta: Corpus) -> Corpus:
        try:
            return self.corpora[subset].subtracted(delta)
        except NeverLearntError as error:
            raise NeverLearntError(self._described(subset, error)) from None

    def _described(self, subset: Subset, error: NeverLearntError) -> str:
        label = f"class {shown(self.classes[error.class_])}"
        if error.feature is None or not subset:
            reason = str(error).replace(" together", "")
            return f"cannot unlearn: items of {label} {reason}"
        what = self.feature_name(subset, error.feature)
        return f"cannot unlearn: {what} and {label} {error}"

    def features(self, subset: Subset, numbers: NDArray[Any]) -> list[tuple[Feature, ...]]:
        """The (attribute, value) pairs, one per dimension of the set, of these of its rows."""
        single = self.vocabulary.features
        if len(subset) == 1:
            return [(single[feature],) for feature in numbers.tolist()]
        rows = self.tuples[subset].rows[numbers]
        return [tuple(single[feature] for feature in row) for row in rows.tolist()]

    def feature_name(self, subset: Subset, number: int) -> str:
        """A row of the corpus of a set in words."""
        return tuple_name(self.features(subset, np.array([number]))[0])

    def _refuse_unknown_classes(self, target: Column, numbers: NDArray[Any]) -> None:
        items, codes, _ = target.entries()
        unknown = ~np.isin(np.asarray(target.values)[codes], self.classes)
        if unknown.any():
            first = int(np.flatnonzero(unknown)[0])
            label = shown(np.asarray(target.values)[codes[first]])
            raise NeverLearntError(
                f"cannot unlearn: item {numbers[items[first]]} has class {label}, never learnt"
            )

    def _refuse_unknown_values(
        self,
        batch: Counted,
        subset: Subset,
        lookups: list[NDArray[np.int64]],
        numbers: NDArray[Any],
    ) -> None:
        for place in batch.places(subset):
            column = batch.observed.columns[place]
            items, codes, _ = column.entries()
            unseen = lookups[place][codes] == self.vocabulary.size
            if unseen.any():
                first = int(np.flatnonzero(unseen)[0])
                values: Any = column.values
                value = values[codes[first]]
                raise NeverLearntError(
                    f"cannot unlearn: item {numbers[items[first]]} has "
                    f"{feature_name(column.attribute, value)}, never learnt"
                )

    def _refuse_unknown_tuples(
        self,
        batch: Counted,
        subset: Subset,
        rows: NDArray[np.int64],
        found: NDArray[np.int64],
        numbers: NDArray[Any],
    ) -> None:
        if not (found == self.tuples[subset].size).any():
            return
        unseen = int(np.flatnonzero(found == self.tuples[subset].size)[0])
        items, codes, _ = batch.views[subset].columns[0].entries()
        item = int(items[np.argmax(codes == batch.rows(subset)[0][unseen])])
        unknown = rows[unseen] == self.vocabulary.size
        dimension = self.dimensions.names[subset[int(np.argmax(unknown))]]
        what = f"a value of {dimension!r}" if unknown.any() else "a combination of values"
        raise NeverLearntError(f"cannot unlearn: item {numbers[item]} has {what}, never learnt")

    def _refuse_crowded(self, corpora: Mapping[Subset, Corpus]) -> None:
        """No class can have more mass in its entries than in its items."""
        for subset, corpus in corpora.items():
            wrong = corpus.crowded(corpora[()].class_mass(), self.class_mass) if subset else None
            if wrong is not None:
                raise NeverLearntError(
                    f"cannot unlearn: items of class {shown(self.classes[wrong])} "
                    "were learnt with other values"
                )

    def compacted(self) -> Model:
        """The model without the features and classes that no item is left of."""
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
        """The model that would have learnt what both have."""
        schema = self.schema.joined(other.schema, "the other model")
        self._refuse_other_features(other)
        form = self.form.joined(other.form, "the other model")
        sets = self._sets_of(other)
        vocabulary, theirs = self._vocabulary_with(other)
        classes = union_of_classes(self.classes, other.classes)
        mine = np.searchsorted(classes, self.classes)
        places = np.searchsorted(classes, other.classes)
        tuples, corpora = {}, {}
        for subset, corpus in self.corpora.items():
            size, rows = (vocabulary.size, theirs) if subset else (1, np.zeros(1, dtype=np.int64))
            same = tuple(sorted(sets[subset]))
            if len(subset) > 1:
                ranks = np.argsort(np.argsort(sets[subset]))  # our dimensions among theirs
                known = other.tuples[same].renumbered(theirs).rows[:, ranks]
                tuples[subset], rows = self.tuples[subset].extended(known)
                size = tuples[subset].size
            shape = (size, len(classes))
            ours = corpus.reindexed(np.arange(corpus.mass.shape[0]), mine, shape)
            corpora[subset] = ours.added(other.corpora[same].reindexed(rows, places, shape))
        return replace(
            self,
            schema=schema,
            form=form,
            classes=classes,
            declared=self._declared(classes, other.classes[other.declared]),
            vocabulary=vocabulary,
            tuples=tuples,
            corpora=corpora,
        )

    def _refuse_other_features(self, other: Model) -> None:
        """Refuse a model whose features are made in another way."""
        for name in {**self.scales, **other.scales}:
            if self.scales.get(name) != other.scales.get(name):
                raise ValueError(
                    f"the other model has another scale for {name!r}; to merge them, give both "
                    "the same knots, continuous={name: [knots]}, or the same order"
                )
        if self.interactions != other.interactions:
            raise ValueError(
                "the other model has other conjunctions; to merge them, fit both with the same "
                "interactions and ngrams, and with neither min_support nor max_features"
            )

    def _sets_of(self, other: Model) -> dict[Subset, Subset]:
        """For each of our sets the numbers that its dimensions have in the other model."""
        if not self.dimensions.same_as(other.dimensions):
            raise ValueError(
                f"the other model has the dimensions {list(other.dimensions.names)}, "
                f"this one {list(self.dimensions.names)}: they cannot be merged"
            )
        sets = {}
        for subset in self.corpora:
            names = list(self.dimensions.named(subset))
            sets[subset] = other.dimensions.numbers(names, "the policy")
            if tuple(sorted(sets[subset])) not in other.corpora:
                raise ValueError(
                    f"the other model's policy does not use the set {names}; to merge them, "
                    "fit both with the same policy"
                )
        return sets

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
    for mine, other in zip(_components(ours), _components(theirs), strict=True):
        kinds = [_kind(mine), _kind(other)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"the classes learnt so far are {kinds[0]} (such as {shown(mine[0])}), "
                f"these are {kinds[1]} (such as {shown(other[0])})"
            )
    return np.union1d(ours, theirs)


def _components(classes: NDArray[Any]) -> list[NDArray[Any]]:
    """The classes, or the labels of each target in classes that are tuples."""
    if not isinstance(classes[0], tuple):
        return [classes]
    return [np.array(labels) for labels in zip(*classes, strict=True)]


def shown(label: Any) -> str:
    """A label as Python writes it, without NumPy's type around it."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def _kind(classes: NDArray[Any]) -> str:
    kind = (
        classes.dtype.kind if classes.dtype.kind != "O" else np.array(classes.tolist()).dtype.kind
    )
    names = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers", "U": "strings"}
    return names.get(kind, f"of dtype {classes.dtype}")


def weighted(
    observed: Observations, target: Column, sample_weight: NDArray[np.float64]
) -> tuple[Observations, Column, NDArray[np.float64]]:
    """Only the items that weigh something: weight zero is absence."""
    keep = sample_weight > 0
    if keep.all():
        return observed, target, sample_weight
    if not keep.any():
        raise ValueError("sample_weight is zero for every item: nothing to learn from")
    return observed.select(keep), target.select(keep), sample_weight[keep]


def _places(classes: NDArray[Any], target: Column) -> NDArray[Any]:
    """Place of each of the target's values among the classes (unused ones: anywhere)."""
    values = np.asarray(target.values)
    return np.minimum(np.searchsorted(classes, values), max(len(classes) - 1, 0))
