"""The methods that estimators and stored models share: they delegate to a fitted model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc import learning
from stc._core.model import Model
from stc._input.targets import encode_sample_weight
from stc._training.phases import PhaseLearner
from stc._training.state import LooScore
from stc.evaluation import compare, evaluate_source
from stc.exceptions import ParameterError, ParameterTypeError
from stc.explain import GlobalExplanation, LocalExplanation
from stc.fitted import FittedModel
from stc.sources import MAX_EXPLAINED_ROWS, Source, source_of
from stc.sources.columns import LearningColumns, item_columns, items_in, source_of_frame
from stc.sources.prediction import predict_source

# From the model so far (None: nothing was learnt) and the parameters to the model with a batch.
Learn = Callable[[FittedModel | None, Mapping[str, Any]], FittedModel]
# From the model, and whether the counts of the batch are needed, to what is left of the model
# (None: nothing), and these counts.
Unlearn = Callable[[FittedModel, bool], tuple[FittedModel | None, Model | None]]


_NOT_CHOSEN = "no settings were chosen: set them to 'auto' and fit, or call choose"


class PredictorMixin(ABC):
    """Predictions, explanations and exports of the fitted model that `_checked` returns."""

    @abstractmethod
    def _checked(self) -> FittedModel:
        """Return the fitted model with its current parameters, or raise NotFittedError."""

    def predict(self, X: Any, theta: Any = None, *, to: Any = None) -> Any:
        """Predict the most probable class of each item; the first one in case of ties.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.
        to : path or str, default=None
            File, or for some sources table or folder, to write the answers to. None returns them.

        Returns
        -------
        ndarray of shape (n_items,)
            Classes, in the dtype of y. With several targets, the most probable combination, one
            column per target. With several labels, the predicted labels in the form of y: a list
            of sets (or lists), or an indicator matrix.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> model.predict(["what fun!"]).tolist()
        ['+']
        """
        chosen = _source_to(X, theta, to)
        if chosen is not None:
            return predict_source(self._checked(), chosen, "predict", to)
        return self._checked().predict(X, theta)

    def predict_proba(self, X: Any, theta: Any = None, *, to: Any = None) -> Any:
        """Predict the probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.
        to : path or str, default=None
            File, or for some sources table or folder, to write the answers to. None returns them.

        Returns
        -------
        ndarray of shape (n_items, n_classes), or a list of them
            Rows sum to 1. An item without known values gets the class frequencies. With several
            targets, a list with the probabilities of each target. For an indicator matrix, as in
            scikit-learn, the probability of each label by itself: above 1/2 if it is predicted.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a"], ["a"], ["b"]], [0, 1, 1])
        >>> model.predict_proba([["b"], ["never seen"]]).round(2).tolist()
        [[0.0, 1.0], [0.33, 0.67]]
        """
        chosen = _source_to(X, theta, to)
        if chosen is not None:
            return predict_source(self._checked(), chosen, "predict_proba", to)
        return self._checked().predict_proba(X, theta)

    def loo_predict_proba(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> Any:
        """Predict items that were learnt by the model without them: exact leave-one-out.

        The counts of an item are subtracted before it is predicted, so the probabilities are those
        of a model fitted without it. Of an item with a weight above 1, one unit is left out, as if
        it had been learnt so many times. Phases, knots of numbers, selected conjunctions, the
        policy and label thresholds stay as they were learnt.

        Parameters
        ----------
        X, y, sample_weight
            Learnt items, as they were learnt; any part of them.
        groups : array-like of shape (n_items,), default=None
            Group of each item; all items of a group in X are left out together, with their whole
            weights.

        Returns
        -------
        ndarray of shape (n_items, n_classes), or a list of them
            Probabilities, as by `predict_proba`.

        Raises
        ------
        NeverLearntError
            If an item was not learnt with this class and weight.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X, y = [["a"], ["a"], ["b"]], ["x", "x", "y"]
        >>> model = SparseTensorClassifier().fit(X, y)
        >>> model.predict_proba(X).tolist()
        [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
        >>> model.loo_predict_proba(X, y).tolist()      # nothing else is known of b
        [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
        """
        return self._checked().loo_predict_proba(
            _items(X, "loo_predict_proba"), y, sample_weight, groups
        )

    def predict_log_proba(self, X: Any, theta: Any = None, *, to: Any = None) -> Any:
        """Predict logarithms of the probabilities, also of those too small for a double.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.
        to : path or str, default=None
            File, or for some sources table or folder, to write the answers to. None returns them.

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
        chosen = _source_to(X, theta, to)
        if chosen is not None:
            return predict_source(self._checked(), chosen, "predict_log_proba", to)
        return self._checked().predict_log_proba(X, theta)

    def predict_joint(self, X: Any, theta: Any = None) -> pl.DataFrame:
        """Predict the probability of each combination of classes.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.

        Returns
        -------
        polars.DataFrame
            One row per item and combination: `item`, one column per target, `probability`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier(targets=["sky", "wind"])
        >>> days = [{"month": 1, "sky": "grey", "wind": 5}, {"month": 7, "sky": "blue", "wind": 1}]
        >>> model.fit(days).predict_joint([{"month": 7}]).rows()
        [(0, 'blue', 1, 1.0), (0, 'grey', 5, 0.0)]
        """
        return self._checked().predict_joint(_items(X, "predict_joint"), theta)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of items with all targets and all labels correct.

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
        fitted = self._checked()
        chosen = source_of(X)
        if chosen is not None:
            columns = LearningColumns.of(fitted.reader, chosen, y, sample_weight, fitted.state)
            weight = columns.reader.roles.weight
            return evaluate_source(fitted, chosen, columns.targets, weight).accuracy
        reader = replace(fitted.reader, roles=fitted.reader.roles_with(y, sample_weight))
        sample_weight = reader.weight(X, sample_weight)
        observed, target = reader.observe(X, fitted.model), reader.target(X, y, fitted.model)
        correct = compare(fitted, observed, target).correct
        weights = encode_sample_weight(sample_weight, len(correct))
        return float(np.average(correct, weights=weights))

    def policy_used(self, X: Any) -> NDArray[np.object_]:
        """Return the set of dimensions of the policy that predicts each item.

        Parameters
        ----------
        X
            Items, as in `fit`.

        Returns
        -------
        ndarray of tuples of str
            Names of the dimensions; () if the class frequencies are used.

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
        return self._checked().policy_used(_items(X, "policy_used"))

    def coverage(self, X: Any, *, to: Any = None) -> Any:
        """Return the share of each item's values that are known to the model.

        Parameters
        ----------
        X
            Items, as in `fit`.
        to : path or str, default=None
            File, or for some sources table or folder, to write the answers to. None returns them.

        Returns
        -------
        ndarray of shape (n_items,)
            From 0 (no known values: the prediction is the class frequencies) to 1 (all values are
            known). With several dimensions, for the first set of the policy with a known value.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"]], ["x"])
        >>> model.coverage([["a", "b"], ["a", "new"]]).tolist()
        [1.0, 0.5]
        """
        chosen = _source_to(X, None, to)
        if chosen is not None:
            return predict_source(self._checked(), chosen, "coverage", to)
        return self._checked().coverage(X)

    def explain_local(self, X: Any, theta: Any = None) -> LocalExplanation:
        """Explain the prediction of each item.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.

        Returns
        -------
        LocalExplanation
            A table of contributions. Printed, one sentence per item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> animals = [{"hair": 1, "legs": 4}, {"feathers": 1, "legs": 2}]
        >>> model = SparseTensorClassifier().fit(animals, ["mammal", "bird"])
        >>> print(model.explain_local([{"hair": 1, "legs": 4}]))
        mammal, 1.00: because hair=1 (50 %), legs=4 (50 %)
        """
        fitted = self._checked()
        chosen = _source_to(X, theta, None)
        return fitted.explain_local(X if chosen is None else _first_items(chosen, fitted), theta)

    def explain_global(self) -> GlobalExplanation:
        """Explain the model: the weights of the values for each class.

        Returns
        -------
        GlobalExplanation
            A table of weights. Printed, one sentence per class.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> animals = [{"hair": 1, "legs": 4}, {"feathers": 1, "legs": 2}]
        >>> model = SparseTensorClassifier().fit(animals, ["mammal", "bird"])
        >>> print(model.explain_global())
        bird: feathers=1 (50 %), legs=2 (50 %)
        mammal: hair=1 (50 %), legs=4 (50 %)
        """
        return self._checked().explain_global()

    # --- files and SQL ------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Save the model as a Parquet file.

        The rows are the corpus, the metadata is everything else; the file contains no code. It is
        written atomically: an error leaves the previous file.

        Parameters
        ----------
        path : str or path
            The file, usually with the suffix .stc.parquet.

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
        self._checked().save(path)

    def to_sql(
        self,
        dialect: str = "duckdb",
        *,
        form: Literal["long", "wide"] = "long",
        features: str = "features",
        data: str | None = None,
        item: str = "item",
    ) -> str:
        """Return the predicted probabilities as one SQL query, which runs without stc.

        Parameters
        ----------
        dialect : str, default="duckdb"
            SQL dialect: "duckdb", "sqlite", "postgres", or another one of sqlglot.
        form : {"long", "wide"}, default="long"
            One row per item and class, or one row per item and one column per class (faster).
        features : str, default="features"
            Table with the columns item, feature and weight, one row for each value of an item;
            features are named as by `get_feature_names_out`.
        data : str, default=None
            Table with one row per item and one column per attribute, used instead of `features`.
        item : str, default="item"
            Column of `data` that identifies the items.

        Returns
        -------
        str
            A SELECT statement that contains the weights for the current parameters.

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
        return self._checked().to_sql(dialect, form=form, features=features, data=data, item=item)

    # --- what was learnt ----------------------------------------------------------------------

    @property
    def fitted_(self) -> FittedModel:
        """The fitted model with the current parameters: immutable, usable without the estimator."""
        return self._checked()  # NotFittedError is an AttributeError: hasattr tells if it is fitted

    @property
    def classes_(self) -> Any:
        """Classes, sorted, in the dtype of y; with several targets, one array for each."""
        return self.fitted_.classes

    @property
    def joint_classes_(self) -> NDArray[Any]:
        """Combinations of classes that were learnt, one column per target."""
        model = self.fitted_.model
        return model.form.table(model.classes)

    @property
    def class_mass_(self) -> NDArray[np.float64]:
        """Total weight of the learnt items of each class (with several targets, combination)."""
        return self.fitted_.model.class_mass

    @property
    def corpus_(self) -> pl.DataFrame:
        """The corpus, one row per entry: attribute, value, class, mass, support."""
        return self.fitted_.corpus()

    @property
    def policy_(self) -> list[list[str]]:
        """Sets of dimensions of the policy in use, in order."""
        fitted = self.fitted_
        return [list(fitted.model.dimensions.named(subset)) for subset in fitted.policy]

    @property
    def policy_values_(self) -> pl.DataFrame:
        """Mean reward of each state that was tried while the policy was learnt."""
        values = self.fitted_.state.policy_values
        if values is None:
            raise AttributeError("the policy was given, not learnt: set policy='learn' and fit")
        return values

    @property
    def phase_history_(self) -> pl.DataFrame:
        """Steps of learning the phases: penalty, held-out fold, loss, held-out loss."""
        history = self.fitted_.state.phase_history
        if history is None:
            raise AttributeError("no phases were learnt: set phases='learn' and fit")
        return history

    @property
    def power_(self) -> float:
        """The power in use."""
        return self.fitted_.hyper.power

    @property
    def balance_(self) -> float:
        """The balance in use."""
        return self.fitted_.hyper.balance

    @property
    def entropy_(self) -> float:
        """The entropy in use."""
        return self.fitted_.hyper.entropy

    @property
    def prior_(self) -> float:
        """The prior in use."""
        return self.fitted_.hyper.prior

    @property
    def floor_(self) -> float:
        """The floor in use."""
        return self.fitted_.hyper.floor

    @property
    def interactions_(self) -> int | list[tuple[str, ...]]:
        """Largest number of attributes in a conjunction, or the attributes of each."""
        return self.fitted_.model.interactions.given

    @property
    def ngrams_(self) -> int:
        """Largest number of words in an n-gram."""
        return self.fitted_.model.interactions.ngrams

    @property
    def chosen_params_(self) -> dict[str, Any]:
        """The parameters, with the settings in use instead of "auto"."""
        fitted = self.fitted_
        conjunctions = {"interactions": self.interactions_, "ngrams": self.ngrams_}
        return {**fitted.parameters, **fitted.hyper._asdict(), **conjunctions}

    @property
    def choices_(self) -> pl.DataFrame:
        """What was tried to choose settings, with its loss by leave-one-out; the best first."""
        choices = self.fitted_.state.choices
        if choices is None:
            raise AttributeError(_NOT_CHOSEN)
        return choices

    @property
    def loo_accuracy_(self) -> float:
        """Accuracy by exact leave-one-out over the items that chose the settings."""
        return self._loo.accuracy

    @property
    def loo_log_loss_(self) -> float:
        """Log-loss by exact leave-one-out over the items that chose the settings."""
        return self._loo.log_loss

    @property
    def loo_items_(self) -> int:
        """Number of distinct items that chose the settings."""
        return self._loo.items

    @property
    def loo_baseline_(self) -> float:
        """Accuracy of always guessing the most frequent class."""
        return self._loo.baseline

    @property
    def _loo(self) -> LooScore:
        score = self.fitted_.state.loo
        if score is None:
            raise AttributeError(_NOT_CHOSEN)
        return score

    @property
    def sharpness_(self) -> float:
        """Inverse temperature: factor of the exponent 1/p of the probabilities; 1 if not learnt."""
        return self.fitted_.sharpness

    @property
    def label_threshold_(self) -> NDArray[np.float64]:
        """Smallest ratio of each label's probability to the highest at which it is predicted."""
        return self.fitted_.label_thresholds

    @property
    def n_features_in_(self) -> int:
        """Number of attributes seen in `fit`; 1 for documents."""
        return max(self.fitted_.model.schema.width, 1)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the attributes seen in `fit`, if they have names."""
        schema = self.fitted_.model.schema
        if not schema.named:
            raise AttributeError("the columns learnt from had no names")
        return np.array(schema.names, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features: "attribute=value", a word, or a column of counts.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str
            One name per feature, in the order of the model.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([{"legs": 4}, {"legs": 2}], ["dog", "hen"])
        >>> model.get_feature_names_out().tolist()
        ['legs=4', 'legs=2']
        """
        return np.array(self._checked().feature_names(), dtype=object)


class LearnerMixin(PredictorMixin):
    """Online learning into a fitted model that is kept in memory or in a store."""

    @abstractmethod
    def _learn_batch(self, learn: Learn, batch_id: str | None) -> None:
        """Replace the model by what `learn` makes of it, unless the batch was learnt before."""

    @abstractmethod
    def _unlearn_batch(self, unlearn: Unlearn, batch_id: str | None) -> None:
        """Replace the model by what `unlearn` leaves, unless the batch was unlearnt before."""

    @abstractmethod
    def _change(self, changed: Callable[[FittedModel], FittedModel]) -> None:
        """Replace the fitted model by what a function makes of it."""

    @abstractmethod
    def _in_memory(self, fitted: FittedModel) -> Any:
        """Return an estimator in memory with a fitted model."""

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        batch_id: str | None = None,
    ) -> Self:
        """Learn a batch in addition to what was learnt before.

        New values and new classes are accepted at any time, and new attributes in records.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, default=None
            Classes that the model has from now on, even if no item has them.
        batch_id : str, default=None
            Id of the batch. A batch whose id was learnt before is not counted again.

        Returns
        -------
        self
            The fitted model.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().partial_fit([["red"]], ["stop"])
        >>> model.partial_fit([["green"]], ["go"]).classes_.tolist()
        ['go', 'stop']
        """
        check_batch_id(batch_id)

        def learn(before: FittedModel | None, parameters: Mapping[str, Any]) -> FittedModel:
            return learning.learn_more(before, parameters, X, y, sample_weight, classes)

        self._learn_batch(learn, batch_id)
        return self

    def unlearn(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, batch_id: str | None = None
    ) -> Self:
        """Remove learnt items from the model, exactly as if they had never been learnt.

        Parameters
        ----------
        X, y, sample_weight
            Items, labels and weights as they were learnt.
        batch_id : str, default=None
            Id under which the batch was learnt. A batch that was unlearnt before is not subtracted
            again.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        NeverLearntError
            If some of the items, or the batch, were never learnt; the model is then unchanged.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> model.unlearn([["red"]], ["stop"]).classes_.tolist()
        ['go']
        """
        check_batch_id(batch_id)

        def unlearn(before: FittedModel, delta: bool) -> tuple[FittedModel | None, Model | None]:
            return learning.unlearn(before, X, y, sample_weight, delta=delta)

        self._unlearn_batch(unlearn, batch_id)
        return self

    def merge(self, other: PredictorMixin) -> Self:
        """Add the counts of another model to this one.

        Parameters
        ----------
        other : SparseTensorClassifier, SparseTensorClassifierCV or StoredModel
            A fitted model of the same attributes; it is not modified.

        Returns
        -------
        self
            The model, as if it had also learnt the items of the other one.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> north = SparseTensorClassifier().fit([["snow"]], ["winter"])
        >>> south = SparseTensorClassifier().fit([["sun"]], ["summer"])
        >>> (north + south).predict([["sun"], ["snow"]]).tolist()
        ['summer', 'winter']
        """
        if not isinstance(other, PredictorMixin):
            raise ParameterTypeError(f"can only merge a model of stc, got {type(other).__name__}")
        theirs = other._checked()
        self._checked()
        self._change(lambda before: learning.merge(before, theirs))
        return self

    def __add__(self, other: Any) -> Any:
        """Return a new model in memory with the counts of both; neither is modified."""
        if not isinstance(other, PredictorMixin):
            return NotImplemented
        return self._in_memory(self._checked()).merge(other)

    def choose(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None
    ) -> Self:
        """Choose the settings that are "auto" by exact leave-one-out, from learnt items.

        `fit` does this; a model that was only ever `partial_fit` has the settings of the paper
        until it is called. The counts stay as they are.

        Parameters
        ----------
        X, y, sample_weight
            Learnt items, as they were learnt; some thousands are enough.
        groups : array-like of shape (n_items,), default=None
            The group of each item; whole groups are left out, and must be there as a whole.

        Returns
        -------
        self
            The model with the chosen settings.

        Raises
        ------
        NeverLearntError
            If an item was not learnt with this class and weight.

        Examples
        --------
        >>> from stc import STC_Q, SparseTensorClassifier
        >>> X, y = [["a"], ["a"], ["b"], ["b"]] * 5, ["x", "x", "y", "x"] * 5
        >>> model = SparseTensorClassifier(**{**STC_Q, "balance": "auto"}).partial_fit(X, y)
        >>> model.balance_, model.choose(X, y).balance_
        (1.0, 0.25)
        """
        batch = learning.phase_batch(self._checked(), X, y, sample_weight, groups)
        self._change(lambda fitted: learning.choose(fitted, batch))
        return self

    def learn_phases(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, learner: Any = None
    ) -> Self:
        """Learn the phases of a fitted model by gradient descent, without changing its counts.

        A prior that was chosen becomes 0, because phases are learnt without one.

        Parameters
        ----------
        X, y, sample_weight
            Items as in `fit`. Learnt items are left out of the weights that predict them.
        learner : PhaseLearner, default=None
            Options. None uses those of the parameter `phases`, or the defaults.

        Returns
        -------
        self
            The fitted model. It has no phases if none improved the held-out loss.

        Examples
        --------
        >>> from stc import QUANTUM, SparseTensorClassifier
        >>> X = [[a, b] for a in "uvw" for b in "uvw"] * 20
        >>> y = [a == b for a, b in X]
        >>> model = SparseTensorClassifier(**QUANTUM).fit(X, y)
        >>> before = model.score(X, y)
        >>> model.learn_phases(X, y).score(X, y) > before
        True
        """
        fitted = self._checked()
        if learner is not None and not isinstance(learner, PhaseLearner):
            raise ParameterTypeError(f"learner is a PhaseLearner, got {type(learner).__name__}")
        batch = learning.phase_batch(fitted, X, y, sample_weight)
        self._change(lambda before: learning.learn_phases(before, batch, learner))
        return self


def check_batch_id(batch_id: str | None) -> None:
    """Raise an error for a batch id that cannot be kept in a ledger."""
    if batch_id is None:
        return
    if not isinstance(batch_id, str):
        raise ParameterTypeError(f"batch_id is a string, got {type(batch_id).__name__}")
    if not batch_id:
        raise ParameterError("batch_id is empty", hint="give each batch an id of its own, or None")
    if batch_id.startswith(learning.UNLEARNT):
        raise ParameterError(
            f"batch_id={batch_id!r}: an id cannot start with {learning.UNLEARNT!r}"
        )


def _source_to(X: Any, theta: Any, to: Any) -> Source | None:
    """Return the source that X is; with `to`, also a frame in memory is one."""
    chosen = source_of(X)
    if chosen is None and to is not None:
        chosen = Source(source_of_frame(X))
    if chosen is not None and theta is not None:
        raise ParameterError("theta is of items in memory: read some of the source, and give those")
    return chosen


def _items(X: Any, method: str) -> Any:
    """Return the items, refusing a source."""
    if source_of(X) is not None:
        raise ParameterError(
            f"{method} needs items in memory: read some of the source, and give those"
        )
    return X


def _first_items(chosen: Source, fitted: FittedModel) -> Any:
    """Return the items of a source that is small enough to be explained in memory."""
    columns = item_columns(chosen, fitted.state)
    frame = chosen.backend.head(columns, MAX_EXPLAINED_ROWS + 1)
    if frame.height > MAX_EXPLAINED_ROWS:
        raise ParameterError(
            f"the source has more than {MAX_EXPLAINED_ROWS:,} items, too many to explain at once",
            hint="give a part of it",
        )
    return items_in(frame, columns, fitted.state)
