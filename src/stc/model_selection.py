"""SparseTensorClassifierCV: hyper-parameters chosen by cross-validation, without refitting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from stc import learning
from stc._core.interactions import Interactions
from stc._core.observations import Observations
from stc._input.groups import read_groups
from stc._input.reader import Batch, BatchReader
from stc._training.candidates import Grids, grid_values
from stc._training.folds import Strata, enough_splits, make_splits
from stc._training.phases import PhaseLearner
from stc._training.problem import Problem
from stc._training.search import Search, Trial, make_scorer, results_table, run_searches
from stc._utils.validation import Interval, StrOptions
from stc.base import Learn, LearnerMixin, Unlearn, check_batch_id
from stc.classifier import SparseTensorClassifier
from stc.exceptions import DataError, ParameterError
from stc.fitted import FittedModel
from stc.sources import source_of

# Parameters that are passed on to SparseTensorClassifier.
_COMMON = ("continuous", "ordinal", "missing", "tokenizer", "targets", "max_tuples")
_CONSTRAINTS = SparseTensorClassifier._parameter_constraints
_GRID = [StrOptions({"auto"}), list, tuple, np.ndarray]
# X, y and sample_weight.
_Data = tuple[Any, Any, Any]


@dataclass(eq=False, repr=False)
class SparseTensorClassifierCV(LearnerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """SparseTensorClassifier with its hyper-parameters chosen by cross-validation.

    The corpus of each fold is counted once, and every setting is scored on it. Settings without
    phases are scored all at once. Phases are learnt for the best settings of a first round, which
    uses few items and iterations. At the end a SparseTensorClassifier is fitted to all items. It
    has all methods of that model.

    Parameters
    ----------
    power, balance, entropy : "auto", float or list of float, default="auto"
        Values to try.
    interactions : "auto", int or list of int, default="auto"
        Maximum number of attributes in a conjunction. "auto": up to 3, as the size of the data
        allows.
    ngrams : "auto", int or list of int, default="auto"
        For documents: maximum number of words in an n-gram. "auto": 1 and 2.
    phases : "auto", None, float or list of None and float, default="auto"
        Penalties (lambda) of phases to try. None learns no phases; infinity learns the sharpness
        of the probabilities and no phases.
    min_support : int or "auto", default="auto"
        Minimum number of items that have a conjunction. "auto": 2, and 3 from 5,000 items on.
    max_features : int, None or "auto", default="auto"
        Maximum number of conjunctions; the strongest are selected. "auto": 4,000, and so that an
        item has at most 200 of them on average.
    scoring : str or callable, default=None
        As in scikit-learn. None: accuracy minus a fifth of the log-loss, which breaks ties.
    cv : int or splitter, default=None
        Number of folds, or a splitter of scikit-learn. None: 5 folds, repeated twice with fewer
        than 2,000 items and three times with fewer than 1,000 (with groups, once).
    n_jobs : int, default=None
        Number of threads.
    random_state : int or RandomState, default=0
        Seed of the folds and of the phases at the start.
    verbose : bool, default=None
        Whether to show a progress bar. None: only on a terminal.
    continuous : default="auto"
        As in SparseTensorClassifier, where None is the default.
    missing : {"auto", "ignore", "category"}, default="auto"
        As in SparseTensorClassifier. "auto": the one with the better score without phases.
    ordinal, tokenizer, targets, max_tuples
        As in SparseTensorClassifier.

    Attributes
    ----------
    best_estimator_ : SparseTensorClassifier
        The model with the best setting, fitted to all items.
    best_params_ : dict
        Its parameters: `SparseTensorClassifier(**best_params_)` fitted to the same items gives the
        same model.
    best_score_ : float
        Mean score of that setting on the test items.
    best_index_ : int
        Its index in `cv_results_`.
    cv_results_ : dict of arrays
        As in GridSearchCV: `params`, `param_*`, `split*_test_score`, `mean_test_score`,
        `std_test_score`, `rank_test_score`; and `round`, 1 for trials on few items only.
    n_splits_ : int
        Number of splits in the last round.

    Examples
    --------
    >>> from stc import SparseTensorClassifierCV, load_zoo
    >>> X, y = load_zoo()
    >>> model = SparseTensorClassifierCV(entropy=[0, 1], phases=None, interactions=1).fit(X, y)
    >>> model.best_params_["entropy"], model.best_params_["interactions"]
    (1, 1)
    >>> model.predict(X[:2]).tolist()
    ['Mammal', 'Mammal']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: [*_GRID, *_CONSTRAINTS[name]] for name in ("power", "balance", "entropy")},
        **{name: [*_GRID, *_CONSTRAINTS[name]] for name in ("interactions", "ngrams")},
        "phases": [*_GRID, Interval(Real, 0, None, closed="both"), None],
        **{name: _CONSTRAINTS[name] for name in _COMMON},
        "missing": [*_CONSTRAINTS["missing"], StrOptions({"auto"})],
        "min_support": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_features": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left"), None],
        "scoring": [str, callable, None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose", None],
    }

    power: Any = "auto"
    balance: Any = "auto"
    entropy: Any = "auto"
    _: KW_ONLY
    interactions: Any = "auto"
    ngrams: Any = "auto"
    phases: Any = "auto"
    min_support: Any = "auto"
    max_features: Any = "auto"
    scoring: Any = None
    cv: Any = None
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: bool | None = None
    continuous: Any = "auto"
    ordinal: Any = None
    missing: str = "auto"
    tokenizer: Any = None
    targets: Any = None
    max_tuples: int = 10_000_000

    # --- fitting ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose the hyper-parameters, and fit a model with them to all items.

        Parameters
        ----------
        X, y, sample_weight
            As in `SparseTensorClassifier.fit`; y has one class for each item.
        groups : array-like of shape (n_items,), default=None
            The group of each item, such as a person, a thread or a day, if new items will belong
            to other groups. Items of a group are never in both parts of a split. A splitter given
            as `cv` gets the groups; a list of splits is used as it is.

        Returns
        -------
        SparseTensorClassifierCV
            Itself.

        Examples
        --------
        >>> from stc import SparseTensorClassifierCV
        >>> X = [[a, b] for a in "uvw" for b in "uvw"] * 10
        >>> model = SparseTensorClassifierCV(phases=None).fit(X, [a == b for a, b in X])
        >>> model.best_params_["interactions"], model.score(X, [a == b for a, b in X])
        (2, 1.0)
        """
        self.__dict__.update(self._tuned((X, y, sample_weight), groups))
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
        """Learn a batch; the first one chooses the hyper-parameters, as `fit` does.

        Parameters
        ----------
        X, y, classes, sample_weight, batch_id
            As in `SparseTensorClassifier.partial_fit`.

        Returns
        -------
        self
            The fitted model.

        Examples
        --------
        >>> from stc import SparseTensorClassifierCV
        >>> X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
        >>> model = SparseTensorClassifierCV(phases=None).partial_fit(X, y)
        >>> model.partial_fit([["c"]], ["z"]).predict([["c"], ["a"]]).tolist()
        ['z', 'x']
        """
        if hasattr(self, "best_estimator_"):
            return super().partial_fit(X, y, classes, sample_weight, batch_id=batch_id)
        check_batch_id(batch_id)
        found = self._tuned((X, y, sample_weight), None)

        def with_classes(fitted: FittedModel) -> FittedModel:
            return learning.declare(fitted, classes).with_batch(batch_id)

        found["best_estimator_"]._change(with_classes)
        self.__dict__.update(found)
        return self

    def _tuned(self, data: _Data, groups: Any) -> dict[str, Any]:
        """Return the attributes of the estimator after `fit`."""
        if source_of(data[0]) is not None:
            raise DataError(
                "tuning needs items in memory, and X is a source",
                hint="read a part of the source, and pass that",
            )
        self._validate_params()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        grids = self._checked_grids()
        searches = self._searches(data, groups, grids, seed)
        tried = [(search, trial) for search in searches for trial in search.trials]
        trials = [trial for _, trial in tried]
        parameters = [self._chosen(trial, search.problem, seed) for search, trial in tried]
        best = max((trial for trial in trials if trial.stage == 2), key=lambda trial: trial.mean)
        index = trials.index(best)
        estimator = SparseTensorClassifier(**parameters[index])
        return {
            "best_estimator_": estimator.fit(*data),
            "best_params_": parameters[index],
            "best_score_": best.mean,
            "best_index_": index,
            "cv_results_": results_table(trials, parameters),
            "n_splits_": max(len(trial.scores) for trial in trials),
        }

    def _common(self, missing: str = "ignore") -> dict[str, Any]:
        """Return the parameters that are passed on; `missing` is used if it is "auto"."""
        common = {name: getattr(self, name) for name in _COMMON}
        return common if self.missing != "auto" else common | {"missing": missing}

    def _checked_grids(self) -> Grids:
        """Return the grids, or raise an error for a value that cannot be tried."""
        grids = Grids(*(getattr(self, grid.name) for grid in fields(Grids)))
        for grid in fields(Grids):
            values = grid_values(getattr(grids, grid.name), ("auto",))
            if not values:
                hint = "give a value to try, or 'auto'"
                raise ParameterError(f"{grid.name}: the grid is empty", hint=hint)
            for value in values:
                if isinstance(value, (list, tuple, np.ndarray)):
                    raise ParameterError(f"{grid.name}: {value!r} is not a single value")
                type(self)(**{grid.name: value})._validate_params()
        return grids

    def _searches(self, data: _Data, groups: Any, grids: Grids, seed: int) -> list[Search]:
        """Return a finished search for each treatment of missing values."""
        batch = self._read(data)
        searches = [self._search(data, batch, grids, seed)]
        strata = _strata(batch, groups)
        splits = make_splits(strata, self.cv, seed)
        used = enough_splits(splits, strata) if grids.automatic_phases else splits
        if self.missing == "auto" and _has_gaps(batch.observed):
            again = self._read(data, "category")
            searches.append(self._search(data, again, grids, seed, "category"))
        run_searches(searches, grids, used, complete=len(used) == len(splits))
        return searches

    def _search(
        self, data: _Data, batch: Batch, grids: Grids, seed: int, missing: str = "ignore"
    ) -> Search:
        """Return the search on a batch, without trials."""
        items, target, weight = batch.weighted()
        grids.refuse_other_kinds(items.kind)
        observed: dict[int, Observations]
        if items.kind == "documents":
            observed = {
                n: items if n == 1 else self._read(data, missing, n).weighted()[0]
                for n in grids.ngram_orders()
            }
        else:
            orders = grids.interaction_orders(items, target.n_values, self.max_tuples)
            observed = {order: Interactions(order).apply(items) for order in orders}
        limits = self.min_support, self.max_features
        problem = Problem.of(observed, target, weight, *limits, missing)
        scorer = make_scorer(self.scoring, problem, batch.target.form)
        return Search(problem, scorer, seed, self.n_jobs, self.verbose)

    def _read(self, data: _Data, missing: str = "ignore", ngrams: int = 1) -> Batch:
        """Return the data as a SparseTensorClassifier reads it."""
        base = SparseTensorClassifier(ngrams=ngrams, **self._common(missing))
        base._validate_params()
        batch = BatchReader(base.get_params(deep=False)).batch(*data, None)
        if batch.target.form.multilabel:
            raise DataError(
                f"{type(self).__name__} needs one class for each item, and y has several labels",
                hint="use GridSearchCV with SparseTensorClassifier",
            )
        return batch

    def _chosen(self, trial: Trial, problem: Problem, seed: int) -> dict[str, Any]:
        """Return the parameters of a SparseTensorClassifier for a trial."""
        order, hyper, penalty = trial.candidate
        phases = None
        if penalty is not None:
            options: Any = {"validation": 0, "random_state": seed, "verbose": self.verbose}
            phases = PhaseLearner((penalty,), max_iter=max(trial.steps, 1), **options)
        chosen = {**self._common(problem.missing), **hyper._asdict(), "phases": phases}
        if order > 1:
            most = problem.max_features[order]
            chosen |= {"min_support": problem.min_support, "max_features": most}
        return chosen | {"ngrams" if problem.documents else "interactions": order}

    # --- the model that was chosen --------------------------------------------------------------

    def _best(self) -> SparseTensorClassifier:
        check_is_fitted(self)
        best: SparseTensorClassifier = self.best_estimator_
        return best

    def _checked(self) -> FittedModel:
        return self._best()._checked()

    def _learn_batch(self, learn: Learn, batch_id: str | None) -> None:
        self._best()._learn_batch(learn, batch_id)

    def _unlearn_batch(self, unlearn: Unlearn, batch_id: str | None) -> None:
        self._best()._unlearn_batch(unlearn, batch_id)

    def _change(self, changed: Callable[[FittedModel], FittedModel]) -> None:
        self._best()._change(changed)

    def _in_memory(self, fitted: FittedModel) -> SparseTensorClassifier:
        return self._best()._in_memory(fitted)

    def __sklearn_tags__(self) -> Any:
        tags = SparseTensorClassifier(**self._common()).__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        tags.target_tags.multi_output = False  # to scikit-learn, that includes multilabel
        return tags


def _strata(batch: Batch, groups: Any) -> Strata:
    """Return what splits depend on."""
    column = batch.target.column
    order = np.argsort(np.asarray(column.values))  # the order of first occurrence has no influence
    classes = np.argmax(column.matrix().toarray()[:, order], axis=1)
    return Strata(classes, batch.sample_weight > 0, read_groups(groups, len(classes)))


def _has_gaps(observed: Observations) -> bool:
    """Return whether a value is missing in a table."""
    columns = observed.columns if observed.kind == "table" else ()
    return any(not column.lengths().all() for column in columns if not column.complete)
