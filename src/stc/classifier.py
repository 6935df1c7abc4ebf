"""SparseTensorClassifier: the scikit-learn estimator. It validates, and delegates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.tables import corpus_table, feature_names, joint_table
from stc._input import column_of, encode_sample_weight
from stc._input.reader import NO_ROLES
from stc._training.label_thresholds import cross_fitted, each_alone, ratios
from stc._training.phases import PhaseLearner, with_phases
from stc._training.policy_search import PolicyAgent
from stc._training.state import FittedState
from stc.explain import Answers, GlobalExplanation, LocalExplanation
from stc.io import read_model, write_model
from stc.sources import BATCH, source_of
from stc.sources import streaming as streams
from stc.sql import to_sql
from stc.stores.stored_model import twice
from stc.workings import Workings


class SparseTensorClassifier(ClassifierMixin, Workings):  # type: ignore[misc]
    """Explainable probabilistic classifier for categorical data.

    An item is a bag of values; the model is one sparse table of numbers, the corpus; a prediction
    is a sum of named contributions.

    Parameters
    ----------
    power : float, default=0.5
        p: how contributions add up. 1 adds probabilities, 1/2 amplitudes; smaller is bolder.
    balance : float, default=1.0
        b: how far frequent classes lose their advantage. 0 keeps it, 1 makes classes equal.
    entropy : float, default=1.0
        h: how much values that occur in all classes alike are discounted. 0: not at all.
    dimensions : "each", list of lists of str, dict name -> list of str, default=None
        Which attributes share a dimension of the tensor: all of them (None), every attribute has
        its own ("each"), or groups; attributes in no group are left out. With several dimensions
        a feature is a combination, one value of each.
    policy : list of lists of str, "learn" or PolicyAgent, default=None
        Sets of dimensions that an item is scored by, one after the other until one can; the class
        frequencies, [], come last. None: all dimensions. "learn" learns it, in `fit`.
    phases : dict, array, "learn" or PhaseLearner, default=None
        Angles (radians) that turn contributions against each other: {class: {attribute: {value:
        radians}}}, {class: {word: radians}}, or an array features x classes. "learn" learns them,
        in `fit`. None: those that were learnt, if any; {}: none at all.
    interactions : int, default=1
        Up to how many attributes have their conjunctions as features, too: `milk=1 and legs=4`.
    min_support : int, default=1
        How many items of the first batch must show a conjunction (or words in a row) to keep it.
    max_features : int, default=None
        The most conjunctions to keep: those that tell the classes apart best, by entropy.
    ngrams : int, default=1
        Up to how many neighbouring words of a document are features together.
    continuous : "auto", list of str, or dict name -> knots, default=None
        Columns of numbers. A number is part of two neighbouring intervals; knots are quantiles of
        the first batch (20 of them, or as many as the dict says), or those given. "auto": columns
        of floats with more than 20 distinct values.
    ordinal : dict name -> list of values, default=None
        Columns whose values have an order, lowest first: half of a value's weight is its
        neighbours'.
    targets : str or list of str, default=None
        Columns of the data that are the targets; then `fit` takes no y.
    label_threshold : float, default=None
        With several labels an item: how probable a label must be, beside the most probable one,
        to be predicted. None: chosen for each label, for the best micro-F1 on items held out.
    missing : {"ignore", "category"}, default="ignore"
        Whether a missing value contributes nothing or is a category of its own.
    tokenizer : callable, default=None
        How a document (a string) becomes a list of tokens. None: words and punctuation.
    max_tuples : int, default=10_000_000
        The most combinations of values that a set of dimensions may need for a batch of items.
    store : str, default=None
        Where the model lives: "duckdb:///file", "sqlite:///file", "postgresql://...". A model that
        is there already is restored when it is first used, with the parameters it was learnt with
        in the place of those left at their defaults. None: in memory.
    name : str, default="model"
        Its name in the store.

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray
        The classes, sorted, in the dtype of y; a list of them for several targets.
    joint_classes_ : ndarray of shape (n_joint, n_targets)
        The combinations of classes that were seen.
    policy_ : list of lists of str
        The policy in use.
    policy_values_ : polars.DataFrame
        The value of each state that was tried in learning the policy.
    label_threshold_ : ndarray
        The threshold of each label.
    phase_history_ : polars.DataFrame
        Each step of learning the phases: penalty, fold held out, loss, held-out loss and accuracy.
    sharpness_ : float
        What the exponent 1/p of the probabilities is multiplied by.
    n_features_in_ : int
        Number of attributes (columns, or keys of the records) learnt from.
    feature_names_in_ : ndarray of str
        Their names, if they had any.
    class_mass_ : ndarray
        Weight of the items learnt, per class.
    corpus_ : polars.DataFrame
        What was learnt: attribute, value, class, mass, support.

    Notes
    -----
    `power`, `balance` and `entropy` act at prediction time: change them with `set_params` and
    predict again, without fitting again.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> animals = [{"hair": 1, "legs": 4}, {"feathers": 1, "legs": 2}, {"fins": 1, "legs": 0}]
    >>> model = SparseTensorClassifier().fit(animals, ["mammal", "bird", "fish"])
    >>> model.predict([{"legs": 2}, {"fins": 1, "hair": None}]).tolist()
    ['bird', 'fish']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "power": [Interval(Real, 0, None, closed="neither")],
        "balance": [Interval(Real, 0, None, closed="left")],
        "entropy": [Interval(Real, 0, None, closed="left")],
        "dimensions": [StrOptions({"each"}), list, tuple, Mapping, None],
        "policy": [StrOptions({"learn"}), list, tuple, PolicyAgent, None],
        "phases": [StrOptions({"learn"}), Mapping, "array-like", PhaseLearner, None],
        "interactions": [Interval(Integral, 1, None, closed="left")],
        "min_support": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
        "ngrams": [Interval(Integral, 1, None, closed="left")],
        "continuous": [StrOptions({"auto"}), list, tuple, Mapping, None],
        "ordinal": [Mapping, None],
        "targets": [str, list, tuple, None],
        "label_threshold": [Interval(Real, 0, 1, closed="right"), None],
        "missing": [StrOptions({"ignore", "category"})],
        "tokenizer": [callable, None],
        "max_tuples": [Interval(Integral, 1, None, closed="left")],
        "store": [str, None],
        "name": [str],
    }

    def __init__(
        self,
        power: float = 0.5,
        balance: float = 1.0,
        entropy: float = 1.0,
        *,
        dimensions: Any = None,
        policy: Any = None,
        phases: Any = None,
        interactions: int = 1,
        min_support: int = 1,
        max_features: int | None = None,
        ngrams: int = 1,
        continuous: Any = None,
        ordinal: Mapping[str, Sequence[Any]] | None = None,
        targets: str | Sequence[str] | None = None,
        label_threshold: float | None = None,
        missing: Literal["ignore", "category"] = "ignore",
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        max_tuples: int = 10_000_000,
        store: str | None = None,
        name: str = "model",
    ) -> None:
        self.power = power
        self.balance = balance
        self.entropy = entropy
        self.dimensions = dimensions
        self.policy = policy
        self.phases = phases
        self.interactions = interactions
        self.min_support = min_support
        self.max_features = max_features
        self.ngrams = ngrams
        self.continuous = continuous
        self.ordinal = ordinal
        self.targets = targets
        self.label_threshold = label_threshold
        self.missing = missing
        self.tokenizer = tokenizer
        self.max_tuples = max_tuples
        self.store = store
        self.name = name

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from nothing.

        Parameters
        ----------
        X : frame, list of dicts, 2-D array, sparse matrix, strings, or a source
            The items: see the guide to inputs. Never changed. A source is data that is not in
            memory: a path, a relation of DuckDB, a Dask or Spark DataFrame, `stc.source(...)`.
        y : array-like of labels, list of dicts class -> weight, list of sets, or several columns
            The class of each item, or a distribution over classes; several labels an item, as
            lists, sets or an indicator; or several targets, one column each. Or the name of a
            column of X (of a source, also a list of names). None if `targets` names them.
        sample_weight : array-like or str, default=None
            Weight of each item, or the name of a column of X; zero is absence.

        Returns
        -------
        SparseTensorClassifier
            Itself.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> model.predict([["green"]]).tolist()
        ['go']
        """
        self._validate_params()
        learns = isinstance(self.phases, (str, PhaseLearner))
        learner = self._learner() if learns else None
        chosen = source_of(X)
        if chosen is not None:
            learnt = self._learn_source(chosen, y, sample_weight, None, learner)
        else:
            batch = self._intake(NO_ROLES).batch(X, y, sample_weight, None)
            learnt = self._learn(self._blank(batch), batch, learner)
        if self.store is not None:
            self._kept(moving=False).replace(learnt, self._parameters())
        self._become(learnt)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        batch_id: str | None = None,
    ) -> Self:
        """Learn more. New values and classes may come at any time; in records, attributes too.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, default=None
            Classes to have from now on even if no item shows them; optional.
        batch_id : str, default=None
            A name for this batch: learnt a second time, it does not count again.

        Returns
        -------
        SparseTensorClassifier
            Itself.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().partial_fit([["red"]], ["stop"])
        >>> model.partial_fit([["green"]], ["go"]).classes_.tolist()
        ['go', 'stop']
        """
        self._validate_params()
        chosen = source_of(X)

        def learn(before: FittedState | None) -> FittedState:
            if before:
                self._refuse_other_tensor(before.model)
            if chosen is not None:
                return self._learn_source(chosen, y, sample_weight, before, None, classes)
            known = before.model if before else None
            roles = before.roles if before else NO_ROLES
            batch = self._intake(roles).batch(X, y, sample_weight, known)
            return self._learn(self._declaring(before or self._blank(batch), classes), batch)

        self._add(learn, batch_id)
        return self

    def unlearn(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, batch_id: str | None = None
    ) -> Self:
        """Forget items that were learnt: exactly, as if they had never been seen.

        Parameters
        ----------
        X, y, sample_weight
            The items as they were learnt.
        batch_id : str, default=None
            A name for this unlearning: done a second time, it takes nothing away again.

        Returns
        -------
        SparseTensorClassifier
            Itself.

        Raises
        ------
        ValueError
            If some of it was never learnt; the model stays as it was.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> model.unlearn([["red"]], ["stop"]).classes_.tolist()
        ['go']
        """
        self._fitted_model()
        chosen = source_of(X)

        def take(before: FittedState) -> tuple[FittedState | None, Model]:
            model = before.model
            if chosen is not None:
                reading = self._reading(chosen, y, sample_weight, before)
                part = chosen.source.learn(reading.task(model.blanked(), self.max_tuples))
                part = model.blanked() if part is None else part
                model = model.less(part).compacted()
            else:
                batch = self._intake(before.roles).batch(X, y, sample_weight, model)
                model.refuse_large(batch.observed, self.max_tuples)
                given = batch.observed, batch.target.column, batch.sample_weight
                part = model.blanked().learnt(*given) if self.store else model
                model = model.unlearnt(*given)
            left = model.class_mass.any() or model.declared.any()
            return replace(before, model=model) if left else None, part

        self._take_away(take, batch_id)
        return self

    def merge(self, other: SparseTensorClassifier) -> Self:
        """Learn all that another model has learnt.

        Parameters
        ----------
        other : SparseTensorClassifier
            A fitted model of the same attributes; it is not changed.

        Returns
        -------
        SparseTensorClassifier
            Itself, the same as if it had learnt the other's items.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> north = SparseTensorClassifier().fit([["snow"]], ["winter"])
        >>> south = SparseTensorClassifier().fit([["sun"]], ["summer"])
        >>> (north + south).predict([["sun"], ["snow"]]).tolist()
        ['summer', 'winter']
        """
        if not isinstance(other, SparseTensorClassifier):
            raise TypeError(f"can only merge a SparseTensorClassifier, got {type(other).__name__}")
        theirs = other._fitted_model()
        self._fitted_model()
        batches = other._batches()

        def joined(before: FittedState) -> FittedState:
            both = sorted(before.batches & batches)
            if both:
                raise ValueError(twice(both[0]))
            model = before.model.merged(theirs)
            evidence = before.evidence + other._learnt.evidence
            return replace(before, model=model, evidence=evidence, batches=before.batches | batches)

        self._change(joined)
        return self

    def __add__(self, other: Any) -> SparseTensorClassifier:
        """Merge two models into a new one; neither is changed."""
        if not isinstance(other, SparseTensorClassifier):
            return NotImplemented
        check_is_fitted(self)
        both = self._in_memory()
        both._become(replace(both._learnt, batches=self._batches()))
        return both.merge(other)

    def learn_phases(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, learner: Any = None
    ) -> Self:
        """Learn the phases of a fitted model by gradient; its counts stay as they are.

        Parameters
        ----------
        X, y, sample_weight
            Items as in `fit`: those the model has learnt, or others. Those it has learnt are left
            out of the weights that they are judged by.
        learner : PhaseLearner, default=None
            How to learn. None: as `phases` says, or the defaults.

        Returns
        -------
        SparseTensorClassifier
            Itself. If no phases are better than none, it has none.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X = [[a, b] for a in "uvw" for b in "uvw"] * 20
        >>> y = [a == b for a, b in X]
        >>> model = SparseTensorClassifier(entropy=0).fit(X, y)
        >>> before = model.score(X, y)
        >>> model.learn_phases(X, y).score(X, y) > before
        True
        """
        model = self._fitted_model()
        if learner is not None and not isinstance(learner, PhaseLearner):
            raise TypeError(f"learner is a PhaseLearner, got {type(learner).__name__}")
        chosen = source_of(X)
        if chosen is not None:  # as many items as learning in memory can take
            reading = self._reading(chosen, y, sample_weight, self._learnt)
            batch = reading.intake.batch(reading.first(BATCH), None, None, model)
        else:
            batch = self._intake().batch(X, y, sample_weight, model)
        model.refuse_large(batch.observed, self.max_tuples)

        def turned(before: FittedState) -> FittedState:
            how = learner or self._learner()
            model, history = with_phases(how, before.model, *batch.weighted(), self._hyper())
            evidence = before.evidence
            if model.form.multilabel and self.label_threshold is None:
                found = cross_fitted(model, *batch.weighted(), self._hyper(), self.max_tuples)
                evidence = found if found.true.any() else evidence
            return replace(before, model=model, history=history, evidence=evidence)

        self._change(turned)
        return self

    # --- predicting -------------------------------------------------------------------------

    def predict(self, X: Any, theta: Any = None, *, to: Any = None) -> Any:
        """Most probable class of each item; of equals, the first.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of their values in radians, in the form of X: an angle a cell, or a dict
            word -> radians a document. None: 0.

        Returns
        -------
        ndarray of shape (n_items,)
            Classes, in the dtype of y. With several targets the most probable combination, a
            column per target. With several labels those that are probable enough, in the form of
            y: a list of sets (or lists), or an indicator.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> model.predict(["what fun!"]).tolist()
        ['+']
        """
        model = self._fitted_model()
        if (chosen := self._afar(X, theta, to)) is not None:
            return self._answered(chosen, "predict", streams.predictions, to)
        observed = self._intake().observe(X, model, theta)
        if model.form.multilabel:
            return model.form.labels(model.classes, self._predicted(model, observed))
        return model.form.predicted(model.classes, self._cascade().most_probable(observed))

    def predict_proba(self, X: Any, theta: Any = None, *, to: Any = None) -> Any:
        """Probability of each class for each item, in the order of `classes_`.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of their values in radians, in the form of X: an angle a cell, or a dict
            word -> radians a document. None: 0.

        Returns
        -------
        ndarray of shape (n_items, n_classes), or a list of them
            Rows sum to 1. An item of which nothing is known gets the class frequencies. With
            several targets a list with the probabilities of each of them. For an indicator, by
            scikit-learn's convention, of each label on its own: above 1/2 where it is predicted.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a"], ["a"], ["b"]], [0, 1, 1])
        >>> model.predict_proba([["b"], ["never seen"]]).round(2).tolist()
        [[0.0, 1.0], [0.33, 0.67]]
        """
        model = self._fitted_model()
        if (chosen := self._afar(X, theta, to)) is not None:
            return self._answered(chosen, "predict_proba", streams.probabilities, to)
        joint = self._cascade().probabilities(self._intake().observe(X, model, theta))
        if model.form.kind == "indicator":
            return each_alone(joint, self.label_threshold_)
        return model.form.marginals(joint, model.classes, logarithms=False)

    def predict_log_proba(self, X: Any, theta: Any = None, *, to: Any = None) -> Any:
        """Logarithm of the probabilities, exact also where they are too small for a double.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of their values in radians, in the form of X: an angle a cell, or a dict
            word -> radians a document. None: 0.

        Returns
        -------
        ndarray of shape (n_items, n_classes), or a list of them
            Natural logarithms, -inf for probability 0.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"])
        >>> model.predict_log_proba([["a"]]).tolist()
        [[0.0, -inf]]
        """
        model = self._fitted_model()
        if (chosen := self._afar(X, theta, to)) is not None:
            return self._answered(chosen, "predict_log_proba", streams.log_probabilities, to)
        if model.form.kind == "indicator":
            return np.log(self.predict_proba(X, theta))
        joint = self._cascade().log_probabilities(self._intake().observe(X, model, theta))
        return model.form.marginals(joint, model.classes, logarithms=True)

    def predict_joint(self, X: Any, theta: Any = None) -> pl.DataFrame:
        """Probability of each combination of classes, for each item.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of their values in radians, in the form of X: an angle a cell, or a dict
            word -> radians a document. None: 0.

        Returns
        -------
        polars.DataFrame
            A row per item and combination seen: `item`, a column per target, `probability`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier(targets=["sky", "wind"])
        >>> days = [{"month": 1, "sky": "grey", "wind": 5}, {"month": 7, "sky": "blue", "wind": 1}]
        >>> model.fit(days).predict_joint([{"month": 7}]).rows()
        [(0, 'blue', 1, 1.0), (0, 'grey', 5, 0.0)]
        """
        model = self._fitted_model()
        observed = self._intake().observe(self._here(X, "predict_joint"), model, theta)
        return joint_table(model, self._cascade().probabilities(observed))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the items that are predicted right: in all targets, with all their labels.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
            Accuracy, from 0 to 1.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X, y = [["a"], ["b"]], [{"x"}, {"y", "z"}]
        >>> SparseTensorClassifier(label_threshold=0.5).fit(X, y).score(X, y)
        1.0
        """
        model = self._fitted_model()
        if (chosen := source_of(X)) is not None:
            return self._scored(chosen, y, sample_weight)
        intake = self._intake()
        intake = replace(intake, roles=intake.roles_now(y, sample_weight))
        sample_weight = intake.weight(X, sample_weight)
        taken = self.targets is not None or intake.roles.targets or intake.roles.weight
        if model.form.kind == "labels" and not taken:
            return float(super().score(X, y, sample_weight))
        observed, target = intake.observe(X, model), intake.target(X, y, model)
        model.form.joined(target.form)
        likely = self._predicted(model, observed)
        items, codes, _ = target.column.entries()
        values = np.asarray(target.column.values)
        known = np.isin(values, model.classes)
        places = np.minimum(np.searchsorted(model.classes, values), len(model.classes) - 1)
        truth = np.zeros_like(likely)
        truth[items, places[codes]] = True
        right = (truth == likely).all(axis=1)
        right[items[~known[codes]]] = False  # a label never seen is never predicted
        weights = encode_sample_weight(sample_weight, len(right))
        return float(np.average(right, weights=weights))

    def _predicted(self, model: Model, observed: Observations) -> NDArray[np.bool_]:
        """Which classes are predicted for each item."""
        if model.form.multilabel:
            return ratios(self._cascade().probabilities(observed)) >= self.label_threshold_
        best = self._cascade().most_probable(observed)
        return np.equal(best[:, None], np.arange(len(model.classes)))

    def policy_used(self, X: Any) -> NDArray[np.object_]:
        """Which set of the policy answers for each item.

        Parameters
        ----------
        X
            Items, as in `fit`.

        Returns
        -------
        ndarray of tuples of str
            Names of the dimensions; () where the class frequencies answer.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> policy = [["coat", "legs"], ["coat"]]
        >>> model = SparseTensorClassifier(dimensions="each", policy=policy)
        >>> animals = [{"coat": "hair", "legs": 4}, {"coat": "feathers", "legs": 2}]
        >>> model = model.fit(animals, ["mammal", "bird"])
        >>> model.policy_used([animals[0], {"coat": "hair", "legs": 2}, {"legs": 4}]).tolist()
        [('coat', 'legs'), ('coat',), ()]
        """
        model = self._fitted_model()
        X = self._here(X, "policy_used")
        cascade = self._cascade()
        names = np.empty(len(cascade.policy), dtype=object)
        names[:] = [model.dimensions.named(subset) for subset in cascade.policy]
        used: NDArray[np.object_] = names[cascade.scores(self._intake().observe(X, model))[1]]
        return used

    def coverage(self, X: Any, *, to: Any = None) -> Any:
        """Share of each item that was ever seen in learning; 0 for an item without values.

        Parameters
        ----------
        X
            Items, as in `fit`.

        Returns
        -------
        ndarray of shape (n_items,)
            From 0 (the prediction is the class frequencies) to 1 (all values known). With several
            dimensions, of the first set of the policy that knows anything of the item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"]], ["x"])
        >>> model.coverage([["a", "b"], ["a", "new"]]).tolist()
        [1.0, 0.5]
        """
        model = self._fitted_model()
        if (chosen := self._afar(X, None, to)) is not None:
            return self._answered(chosen, "coverage", streams.coverages, to)
        return self._cascade().coverage(self._intake().observe(X, model))

    @overload
    def explain(self, X: None = None, theta: None = None) -> GlobalExplanation: ...

    @overload
    def explain(self, X: Any, theta: Any = None) -> LocalExplanation: ...

    def explain(self, X: Any = None, theta: Any = None) -> LocalExplanation | GlobalExplanation:
        """Why each item gets the class it gets; without items, what the model knows of each class.

        Parameters
        ----------
        X
            Items, as in `fit`. None: the whole model.
        theta
            Phases of their values in radians, in the form of X: an angle a cell, or a dict
            word -> radians a document. None: 0.

        Returns
        -------
        LocalExplanation or GlobalExplanation
            A table of contributions, or of weights; printed, a sentence an item, or a class.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> animals = [{"hair": 1, "legs": 4}, {"feathers": 1, "legs": 2}]
        >>> model = SparseTensorClassifier().fit(animals, ["mammal", "bird"])
        >>> print(model.explain([{"hair": 1, "legs": 4}]))
        mammal, 1.00: because hair=1 (50 %), legs=4 (50 %)
        >>> print(model.explain())
        bird: feathers=1 (50 %), legs=2 (50 %)
        mammal: hair=1 (50 %), legs=4 (50 %)
        """
        model = self._fitted_model()
        if X is None:
            if theta is not None:
                raise ValueError("theta is of items: give them, too")
            return GlobalExplanation(self._cascade())
        if (chosen := self._afar(X, theta, None)) is not None:
            X = self._gathered(chosen)
        raw = self._intake().raw(X, model, theta)
        text = self._learnt.roles.text
        texts = None
        if raw.kind == "documents":
            texts = list(X if text is None else column_of(X, text))
        answers = Answers(self._cascade(), raw, texts)
        answers.score()  # what cannot be scored is refused now, not when it is first looked at
        return LocalExplanation(answers)

    # --- files --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the model to a file, whole or not at all: a Parquet table that others can read.

        Its rows are what was learnt, its metadata all else; it holds nothing that could run.

        Parameters
        ----------
        path : str or path
            Where to; by custom it ends with .stc.parquet.

        Examples
        --------
        >>> import tempfile
        >>> from stc import SparseTensorClassifier, load
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/lights.stc.parquet")
        ...     load(f"{folder}/lights.stc.parquet").predict([["green"]]).tolist()
        ['go']
        """
        self._fitted_model()
        self._cascade()  # what could not answer could not be loaded
        learnt = replace(self._learnt, batches=self._batches())
        write_model(learnt, self._parameters(), path)

    @classmethod
    def load(
        cls, path: str | Path, *, tokenizer: Callable[[str], Sequence[str]] | None = None
    ) -> Self:
        """Open a model that `save` has written: it answers the same, and goes on learning.

        Parameters
        ----------
        path : str or path
            The file.
        tokenizer : callable, default=None
            The tokenizer that the model was learnt with, if it had one of its own: it is code,
            which a file does not hold.

        Returns
        -------
        SparseTensorClassifier
            In memory, with the parameters it was saved with.

        Raises
        ------
        ModelFileError
            If the file is not a model, is damaged, or is of a later version.

        Examples
        --------
        >>> import tempfile
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier(power=0.4).fit(["good fun", "bad, bad"], ["+", "-"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/film.stc.parquet")
        ...     again = SparseTensorClassifier.load(f"{folder}/film.stc.parquet")
        >>> again.power, again.partial_fit(["so so"], ["0"]).predict(["so good"]).tolist()
        (0.4, ['0'])
        """
        learnt, parameters = read_model(path)
        return cls._restored(path, learnt, parameters, tokenizer)

    def to_sql(
        self,
        dialect: str = "duckdb",
        *,
        form: Literal["long", "wide"] = "long",
        features: str = "features",
        data: str | None = None,
        item: str = "item",
    ) -> str:
        """The probabilities as one query, for a database that never saw this library.

        Parameters
        ----------
        dialect : str, default="duckdb"
            The language of the database: "duckdb", "sqlite", "postgres", or another of sqlglot's.
        form : {"long", "wide"}, default="long"
            A row per item and class, or a row per item and a column per class, which is faster.
        features : str, default="features"
            A table (item, feature, weight) with a row for each value of an item, in the words of
            `get_feature_names_out`.
        data : str, default=None
            Instead: a table with a row per item and a column per attribute.
        item : str, default="item"
            The column of `data` that tells the items apart.

        Returns
        -------
        str
            A SELECT that holds the weights, for the parameters of now.

        Examples
        --------
        >>> import duckdb
        >>> from stc import SparseTensorClassifier
        >>> lights = [{"light": "red"}, {"light": "green"}]
        >>> model = SparseTensorClassifier().fit(lights, ["stop", "go"])
        >>> with duckdb.connect() as database:
        ...     _ = database.execute("CREATE TABLE lights AS SELECT 7 AS id, 'red' AS light")
        ...     sql = model.to_sql("duckdb", data="lights", item="id")
        ...     database.execute(sql + " ORDER BY class").fetchall()
        [(7, 'go', 0.0), (7, 'stop', 1.0)]
        """
        model = self._fitted_model()
        thresholds = self.label_threshold_ if model.form.multilabel else None
        return to_sql(
            self._cascade(),
            dialect,
            form=form,
            features=features,
            data=data,
            item=item,
            thresholds=thresholds,
        )

    # --- what was learnt ----------------------------------------------------------------------

    @property
    def classes_(self) -> Any:
        """The classes, sorted, in the dtype of y; a list of them for several targets."""
        model = self._known()
        return model.form.shown_classes(model.classes)

    @property
    def joint_classes_(self) -> NDArray[Any]:
        """The combinations of classes that were seen, a column per target."""
        model = self._known()
        return model.form.table(model.classes)

    @property
    def class_mass_(self) -> NDArray[np.float64]:
        """Weight of the items learnt, per class (combination of classes, for several targets)."""
        return self._known().class_mass

    @property
    def corpus_(self) -> pl.DataFrame:
        """What was learnt, one row an entry: attribute, value, class, mass, support."""
        return corpus_table(self._known())

    @property
    def policy_(self) -> list[list[str]]:
        """The sets of dimensions that items are scored by, first ones first."""
        model = self._known()
        return [list(model.dimensions.named(subset)) for subset in self._active_policy(model)]

    @property
    def policy_values_(self) -> pl.DataFrame:
        """Each state that was tried in learning the policy, and its mean reward."""
        self._known()
        if self._learnt.values is None:
            raise AttributeError("the policy was given, not learnt: set policy='learn' and fit")
        return self._learnt.values

    @property
    def phase_history_(self) -> pl.DataFrame:
        """Each step of learning the phases: penalty, fold held out, loss, held-out loss."""
        self._known()
        if self._learnt.history is None:
            raise AttributeError("no phases were learnt: set phases='learn' and fit")
        return self._learnt.history

    @property
    def sharpness_(self) -> float:
        """What the exponent 1/p of the probabilities is multiplied by; 1 unless it was learnt."""
        phases = self._known().phases.get(self._active_policy(self._learnt.model)[0])
        return 1.0 if phases is None else phases.sharpness

    @property
    def label_threshold_(self) -> NDArray[np.float64]:
        """How probable each label must be, beside the most probable one, to be predicted."""
        model = self._known()
        if not model.form.multilabel:
            raise AttributeError("the model was not learnt from several labels an item")
        if self.label_threshold is not None:
            return np.full(len(model.classes), float(self.label_threshold))
        return self._learnt.evidence.thresholds(model.classes)

    @property
    def n_features_in_(self) -> int:
        """Number of attributes learnt from; documents are one."""
        return max(self._known().schema.width, 1)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the attributes learnt from, if they had names."""
        schema = self._known().schema
        if not schema.named:
            raise AttributeError("the columns learnt from had no names")
        return np.array(schema.names, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features: "attribute=value", a word, or a column of counts.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Not used; there because scikit-learn passes it.

        Returns
        -------
        ndarray of str
            One name a feature, in the model's order.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([{"legs": 4}, {"legs": 2}], ["dog", "hen"])
        >>> model.get_feature_names_out().tolist()
        ['legs=4', 'legs=2']
        """
        return np.array(feature_names(self._fitted_model()), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        named = self.dimensions, self.ordinal, self.continuous
        plain = named[:2] == (None, None) and (named[2] is None or isinstance(named[2], str))
        tags.input_tags.sparse = plain and self.interactions == self.ngrams == 1
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.required = self.targets is None
        return tags


def load(
    path: str | Path, *, tokenizer: Callable[[str], Sequence[str]] | None = None
) -> SparseTensorClassifier:
    """Open a model that `save` has written: see `SparseTensorClassifier.load`.

    Parameters
    ----------
    path : str or path
        The file.
    tokenizer : callable, default=None
        The tokenizer that the model was learnt with, if it had one of its own.

    Returns
    -------
    SparseTensorClassifier
        In memory, with the parameters it was saved with.

    Examples
    --------
    >>> import tempfile
    >>> import stc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stc.SparseTensorClassifier().fit(*stc.load_zoo()).save(f"{folder}/zoo.stc.parquet")
    ...     print(stc.load(f"{folder}/zoo.stc.parquet").explain([{"milk": 1, "legs": 4}]))
    Mammal, 0.88: because milk=1 (74 %), legs=4 (26 %)
    """
    return SparseTensorClassifier.load(path, tokenizer=tokenizer)
