"""SparseTensorClassifierCV: settings by leave-one-out, phases by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from stc import learning
from stc._core.formulas import Hyper
from stc._core.interactions import Interactions
from stc._core.labels import distinct_labels
from stc._core.observations import Observations
from stc._input.groups import read_groups
from stc._input.reader import Batch, BatchReader
from stc._training.candidates import (
    automatic_conjunctions,
    automatic_ngrams,
    automatic_penalties,
    settings_with_phases,
)
from stc._training.choice import SCORINGS, Goal, choose_settings
from stc._training.folds import Strata, enough_splits, make_splits
from stc._training.phases import PhaseLearner
from stc._training.problem import Layout, Problem
from stc._training.search import PERFECT, Search, Trial, make_scorer, results_table
from stc._utils.validation import Interval, StrOptions
from stc.base import Learn, LearnerMixin, Unlearn, check_batch_id
from stc.classifier import SparseTensorClassifier
from stc.exceptions import DataError, ParameterError
from stc.fitted import AUTO, FittedModel
from stc.sources import source_of

# Parameters that are passed on to SparseTensorClassifier.
_COMMON = ("continuous", "ordinal", "missing", "tokenizer", "targets", "max_entries")
# Parameters that are given, or chosen by leave-one-out.
_CHOSEN = (*Hyper._fields, "interactions", "ngrams")
_CONSTRAINTS = SparseTensorClassifier._parameter_constraints
_AUTO = StrOptions({AUTO})
_FINITE = Interval(Real, 0, None, closed="left")
# X, y and sample_weight.
_Data = tuple[Any, Any, Any]


@dataclass(eq=False, repr=False)
class SparseTensorClassifierCV(LearnerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """SparseTensorClassifier, with phases where cross-validation says that they are better.

    First comes the model of `SparseTensorClassifier`, whose settings, conjunctions and n-grams are
    chosen by exact leave-one-out. Then phases are learnt, with several settings, conjunctions and
    penalties, on the training items of each split: a first round on few items with few iterations
    selects candidates for the second. The model with the best score on the test items is fitted
    to all items, and this estimator has all its methods.

    Parameters
    ----------
    power, balance, entropy : "auto" or float, default="auto"
        As in SparseTensorClassifier. With phases, "auto" tries a few values.
    prior, sharpness, floor : "auto" or float, default="auto"
        As in SparseTensorClassifier. With phases, "auto" means 0, 1 and 0, since phases learn a
        sharpness of their own. No phases are tried with a prior above 0.
    interactions : "auto", int or list of tuples of str, default="auto"
        As in SparseTensorClassifier. With phases, "auto" tries what leave-one-out chose, and
        conjunctions of up to 1, 2 and 3 attributes, as the size of the data allows.
    ngrams : "auto" or int, default="auto"
        As in SparseTensorClassifier. With phases, "auto" tries 1 and 2.
    phases : "auto", None, float or list of float, default="auto"
        Penalties (lambda) of phases to try. None tries no phases.
    min_support : int or "auto", default="auto"
        As in SparseTensorClassifier. "auto": 1; with phases 2, and 3 from 5,000 items on.
    max_features : int, None or "auto", default="auto"
        As in SparseTensorClassifier. "auto": None; with phases 4,000, and so that an item has at
        most 200 conjunctions on average.
    scoring : str or callable, default=None
        As in scikit-learn. None: accuracy minus a fifth of the log-loss, which breaks ties. It
        compares phases with none, and with each other. Where SparseTensorClassifier has a
        `scoring` of this name, leave-one-out chooses by it.
    cv : int or splitter, default=None
        Number of folds, or a splitter of scikit-learn. None: 5 folds, repeated twice with fewer
        than 2,000 items and three times with fewer than 1,000 (with groups, once). If `phases` is
        "auto", as many of the splits are used as make 2,000 test items.
    n_jobs : int, default=None
        Number of threads.
    random_state : int or RandomState, default=0
        Seed of the folds and of the phases at the start.
    verbose : bool, default=None
        Whether to show a progress bar. None: only on a terminal.
    continuous : default="auto"
        As in SparseTensorClassifier, where None is the default.
    missing : {"auto", "ignore", "category"}, default="auto"
        As in SparseTensorClassifier. "auto": the one with the lower loss by leave-one-out.
    ordinal, tokenizer, targets, max_entries
        As in SparseTensorClassifier.

    Attributes
    ----------
    best_estimator_ : SparseTensorClassifier
        The best model, fitted to all items.
    best_params_ : dict
        Its parameters: `SparseTensorClassifier(**best_params_)` fitted to the same items gives the
        same answers.
    best_score_ : float
        Its mean score on the test items.
    best_index_ : int
        Its index in `cv_results_`; 0 is the model without phases.
    cv_results_ : dict of arrays
        As in GridSearchCV: `params`, `param_*`, `split*_test_score`, `mean_test_score`,
        `std_test_score`, `rank_test_score`; and `round`, 1 for trials on few items only.
    n_splits_ : int
        Number of splits in the last round.

    Notes
    -----
    For a grid of your own, use GridSearchCV with SparseTensorClassifier.

    Examples
    --------
    >>> from stc import SparseTensorClassifierCV, load_zoo
    >>> X, y = load_zoo()
    >>> model = SparseTensorClassifierCV(interactions=1, phases=1.5, cv=3).fit(X, y)
    >>> model.best_params_["phases"], round(model.loo_accuracy_, 2)     # none are better
    (None, 0.96)
    >>> model.predict(X[:2]).tolist()
    ['Mammal', 'Mammal']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: _CONSTRAINTS[name] for name in _CHOSEN},
        "phases": [_AUTO, _FINITE, list, tuple, np.ndarray, None],
        **{name: _CONSTRAINTS[name] for name in _COMMON},
        "missing": [*_CONSTRAINTS["missing"], _AUTO],
        "min_support": [_AUTO, *_CONSTRAINTS["min_support"]],
        "max_features": [_AUTO, *_CONSTRAINTS["max_features"]],
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
    prior: Any = "auto"
    sharpness: Any = "auto"
    floor: Any = "auto"
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
    max_entries: int = 10_000_000

    # --- fitting ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose the hyper-parameters, and fit a model with them to all items.

        Parameters
        ----------
        X, y, sample_weight
            As in `SparseTensorClassifier.fit`; y has one class for each item.
        groups : array-like of shape (n_items,), default=None
            The group of each item, such as a person, a thread or a day, if new items will belong
            to other groups. Leave-one-out leaves whole groups out, and items of a group are never
            in both parts of a split. A splitter given as `cv` gets the groups; a list of splits is
            used as it is.

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
        ([('x0', 'x1')], 1.0)
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
        penalties = self._given_penalties()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        batch = self._read(data)
        scorer = make_scorer(self.scoring, Problem.of(*batch.weighted()), batch.target.form)
        strata = _strata(batch, groups)
        splits = make_splits(strata, self.cv, seed)
        if penalties is None:
            splits = enough_splits(splits, strata)
        plain = self._plain(data, groups, _has_gaps(batch.observed))
        problem = Problem.of(*learning.phase_batch(plain.fitted_, *data).weighted())
        search = Search(problem, splits, scorer, seed, self.n_jobs, self.verbose)
        limits = plain.min_support, plain.max_features
        first = search.try_plain(plain.fitted_.cascade, *limits)
        if penalties is None:  # "auto"
            few = self._given().get("prior", 0) or first.mean >= PERFECT
            penalties = () if few else automatic_penalties(problem.documents)
        layouts = self._layouts(data, problem, plain) if penalties else {}
        if penalties:
            settings = settings_with_phases(self._given(), problem.documents)
            search.try_with_phases(layouts, settings, penalties)
        parameters = [self._parameters_of(trial, layouts, plain, seed) for trial in search.trials]
        last = [trial for trial in search.trials if trial.stage == 2]
        best = max(last, key=lambda trial: trial.mean)
        index = search.trials.index(best)
        if best is first:
            estimator = plain.set_params(**parameters[0])
        else:
            estimator = SparseTensorClassifier(**parameters[index]).fit(*data)
        return {
            "best_estimator_": estimator,
            "best_params_": parameters[index],
            "best_score_": best.mean,
            "best_index_": index,
            "cv_results_": results_table(search.trials, parameters),
            "n_splits_": len(splits),
        }

    def _loo_scoring(self) -> Any:
        """Return the score by which leave-one-out chooses."""
        return self.scoring if isinstance(self.scoring, str) and self.scoring in SCORINGS else None

    def _given(self) -> dict[str, Any]:
        """Return the settings that are not chosen."""
        return {name: value for name in Hyper._fields if (value := getattr(self, name)) != AUTO}

    def _common(self, missing: str = "ignore") -> dict[str, Any]:
        """Return the parameters that are passed on; `missing` is used if it is "auto"."""
        common = {name: getattr(self, name) for name in _COMMON}
        return common if self.missing != AUTO else common | {"missing": missing}

    def _given_penalties(self) -> tuple[float, ...] | None:
        """Return the penalties to try; None: they are "auto"."""
        given = self.phases
        if given is None or isinstance(given, str):
            return () if given is None else None
        penalties = tuple(given) if isinstance(given, (list, tuple, np.ndarray)) else (given,)
        for penalty in penalties:
            if not _FINITE.is_satisfied_by(penalty):
                raise ParameterError(
                    f"phases: {penalty!r} is not a penalty", hint="give finite numbers from 0 on"
                )
        if not penalties:
            raise ParameterError("phases: no penalty is given", hint="give one, or None")
        if prior := self._given().get("prior"):
            raise ParameterError(
                f"phases: none can be learnt with prior={prior:g}",
                hint="set prior=0 or phases=None",
            )
        return tuple(map(float, penalties))

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

    def _plain(self, data: _Data, groups: Any, gaps: bool) -> SparseTensorClassifier:
        """Return the model without phases, chosen by leave-one-out, with all its parameters."""
        ways = ("ignore", "category") if gaps and self.missing == AUTO else ("ignore",)
        models = [self._plain_with(data, groups, missing) for missing in ways]
        if len(models) == 1:
            return models[0]
        losses = [_loss(model.fitted_, data, groups) for model in models]
        return models[int(np.argmin(losses))]

    def _plain_with(self, data: _Data, groups: Any, missing: str) -> SparseTensorClassifier:
        chosen = {name: getattr(self, name) for name in _CHOSEN}
        limits: dict[str, Any] = {"min_support": 1, "max_features": None}
        limits |= {name: getattr(self, name) for name in limits if getattr(self, name) != AUTO}
        parameters = {**self._common(missing), **chosen, **limits, "scoring": self._loo_scoring()}
        model = SparseTensorClassifier(**parameters).fit(*data, groups=groups)
        model.set_params(**model.chosen_params_)
        return model

    def _layouts(
        self, data: _Data, problem: Problem, plain: SparseTensorClassifier
    ) -> dict[Interactions, Layout]:
        """Return the items with the conjunctions or n-grams to learn phases with."""
        items, chosen = problem.observed, replace(plain.fitted_.model.interactions, chosen=None)
        tried = [chosen]
        if problem.documents and self.ngrams == AUTO:
            tried = automatic_ngrams()
        elif not problem.documents and self.interactions == AUTO:
            orders = automatic_conjunctions(items, len(problem.classes), self.max_entries)
            tried = [*orders, chosen]
        observed: dict[Any, tuple[Interactions, Observations]] = {}
        for each in tried:
            same = each.ngrams == chosen.ngrams
            read = items if same else self._read(data, plain.missing, each.ngrams).weighted()[0]
            made = each.apply(read)
            columns = each.ngrams, frozenset(column.attribute for column in made.columns)
            observed.setdefault(columns, (each, made))
        limits = self.min_support, self.max_features
        return {each: Layout.of(made, problem, *limits) for each, made in observed.values()}

    def _parameters_of(
        self,
        trial: Trial,
        layouts: Mapping[Interactions, Layout],
        plain: SparseTensorClassifier,
        seed: int,
    ) -> dict[str, Any]:
        """Return the parameters of a SparseTensorClassifier for a trial."""
        interactions, hyper, penalty = trial.candidate
        selected: Any = plain if penalty is None else layouts[interactions]
        phases = None
        if penalty is not None:
            options: Any = {"validation": 0, "random_state": seed, "verbose": self.verbose}
            phases = PhaseLearner((penalty,), max_iter=max(trial.steps, 1), **options)
        return {
            **self._common(plain.missing),
            **hyper._asdict(),
            "phases": phases,
            "interactions": interactions.given,
            "ngrams": interactions.ngrams,
            "min_support": selected.min_support,
            "max_features": selected.max_features,
            "scoring": plain.scoring,
        }

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
    rank = distinct_labels(np.asarray(column.values))[1]
    order = np.argsort(rank)  # the order of first occurrence has no influence
    classes = np.argmax(column.matrix().toarray()[:, order], axis=1)
    return Strata(classes, batch.sample_weight > 0, read_groups(groups, len(classes)))


def _loss(fitted: FittedModel, data: _Data, groups: Any) -> float:
    """Return the loss of a model by leave-one-out; infinity with too few items."""
    batch = learning.phase_batch(fitted, *data, groups)
    items = batch.observed, batch.target.column, batch.sample_weight
    goal = Goal((), fitted.parameters["scoring"])
    choice = choose_settings(fitted.cascade, *items, goal, groups=batch.groups)
    return np.inf if choice is None else choice.loss


def _has_gaps(observed: Observations) -> bool:
    """Return whether a value is missing in a table."""
    columns = observed.columns if observed.kind == "table" else ()
    return any(not column.lengths().all() for column in columns if not column.complete)
