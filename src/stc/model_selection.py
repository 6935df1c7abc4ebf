"""SparseTensorClassifierCV: hyper-parameters by cross-validation, without fitting again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from stc._core.cascade import Hyper
from stc._core.formulas import Floats
from stc._core.interactions import Interactions
from stc._core.matrix import Layout
from stc._core.observations import Observations
from stc._core.schema import KINDS
from stc._input.reader import Batch, BatchReader
from stc._training.folds import Items, Split, enough, first_splits, groups_of, splits_of
from stc._training.phases import PhaseLearner
from stc._training.search import (
    Candidate,
    Problem,
    Search,
    Trial,
    accuracy_less_loss,
    results_of,
)
from stc.classifier import SparseTensorClassifier
from stc.explain import GlobalExplanation, LocalExplanation
from stc.sources import source_of

# What "auto" tries. Plain settings cost next to nothing; phases are learnt for few.
_PLAIN = {"power": (1 / 3, 0.5, 1.0), "balance": (0.0, 0.5, 1.0), "entropy": (0.0, 0.5, 1.0, 2.0)}
_WITH_PHASES = (Hyper(0.5, 1, 0), Hyper(0.5, 0.5, 0), Hyper(0.5, 0, 1))
_WITH_PHASES_IN_TEXT = (
    Hyper(0.5, 1, 1),
    Hyper(0.5, 0.5, 0.5),
    Hyper(0.5, 0.5, 0),
    Hyper(1 / 3, 1, 1),
)
# The first is tried with every setting, the others with the best of them.
_PENALTIES = (1.5, 10.0, 0.25)
_PENALTIES_IN_TEXT = (5.0, 15.0, 1.0)
# The most conjunctions to keep, and the most that an item may have on average.
_MOST_CONJUNCTIONS, _MOST_PER_ITEM = 4000, 200
_ORDERS, _NGRAMS = (1, 2, 3), (1, 2)
# Conjunctions of three are tried if the items have no more of them than this, times classes.
_FEW_TRIPLES = 10_000_000
# From so many items on, a conjunction must be shown by one more.
_MANY_ITEMS = 5000
# First round of the phases: iterations; how many are tried with other penalties, how many go on.
_FIRST_ROUND = (60,)
_PROMISING, _FINALISTS = 3, 2
# Last round: iterations after which the judged items are looked at.
_CHECKPOINTS = (40, 70, 120, 200)
# Parameters of SparseTensorClassifier that are not chosen, and what each may be.
_COMMON = ("continuous", "ordinal", "missing", "tokenizer", "targets", "max_tuples")
_CONSTRAINTS = SparseTensorClassifier._parameter_constraints
_GRID = [StrOptions({"auto"}), list, tuple, np.ndarray]
# Scores from here on cannot be told from the best there is.
_PERFECT = 0.9999


class _Given(NamedTuple):
    """What `fit` was given."""

    X: Any
    y: Any
    sample_weight: Any


class SparseTensorClassifierCV(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """SparseTensorClassifier with its hyper-parameters chosen by cross-validation.

    Each fold's corpus is built once, and every setting is judged on it. Settings without phases are
    judged all at once. Phases are learnt for the most promising ones, which a first round on few
    items and iterations finds. At the end a SparseTensorClassifier is fitted to everything.

    Parameters
    ----------
    power, balance, entropy : "auto", float or list of float, default="auto"
        What to try of each.
    interactions : "auto", int or list of int, default="auto"
        Up to how many attributes may be conjoined. "auto": up to 3, as the size of the data allows.
    ngrams : "auto", int or list of int, default="auto"
        For documents: up to how many neighbouring words may be features together. "auto": 1 and 2.
    phases : "auto", None, float or list of None and float, default="auto"
        Penalties (lambda) of phases to try; None: no phases; infinite: only the sharpness of the
        probabilities is learnt.
    min_support : int or "auto", default="auto"
        How many items must show a conjunction. "auto": 2, of 5,000 items or more 3.
    max_features : int, None or "auto", default="auto"
        The most conjunctions to keep, the strongest ones. "auto": 4,000, and no more than an item
        has 200 of on average.
    scoring : str or callable, default=None
        As in scikit-learn. None: accuracy, less a fifth of the log-loss to tell equals apart.
    cv : int or splitter, default=None
        Folds, or a splitter of scikit-learn. None: 5 folds, of fewer than 2,000 items dealt twice,
        of fewer than 1,000 three times (with groups, once).
    n_jobs : int, default=None
        Threads.
    random_state : int or RandomState, default=0
        Which items are in which fold, and where the phases start.
    progress : bool, default=None
        Whether to show a bar. None: on a terminal.
    continuous : default="auto"
        As in SparseTensorClassifier, where None is the default.
    missing : {"auto", "ignore", "category"}, default="auto"
        As in SparseTensorClassifier. "auto": with what the settings without phases do better.
    ordinal, tokenizer, targets, max_tuples
        As in SparseTensorClassifier.

    Attributes
    ----------
    best_estimator_ : SparseTensorClassifier
        Fitted to everything.
    best_params_ : dict
        Its parameters that were chosen.
    best_score_ : float
        Mean score of that setting on the items left out.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of arrays
        As GridSearchCV has it: `params`, `param_*`, `split*_test_score`, `mean_test_score`,
        `std_test_score`, `rank_test_score`; and `round`, 1 for what was tried on few items only.
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
        "progress": [bool, None],
    }

    def __init__(
        self,
        power: Any = "auto",
        balance: Any = "auto",
        entropy: Any = "auto",
        *,
        interactions: Any = "auto",
        ngrams: Any = "auto",
        phases: Any = "auto",
        min_support: Any = "auto",
        max_features: Any = "auto",
        scoring: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        progress: bool | None = None,
        continuous: Any = "auto",
        ordinal: Any = None,
        missing: str = "auto",
        tokenizer: Any = None,
        targets: Any = None,
        max_tuples: int = 10_000_000,
    ) -> None:
        self.power = power
        self.balance = balance
        self.entropy = entropy
        self.interactions = interactions
        self.ngrams = ngrams
        self.phases = phases
        self.min_support = min_support
        self.max_features = max_features
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.continuous = continuous
        self.ordinal = ordinal
        self.missing = missing
        self.tokenizer = tokenizer
        self.targets = targets
        self.max_tuples = max_tuples

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose the hyper-parameters, and fit a model with them to everything.

        Parameters
        ----------
        X, y, sample_weight
            As in `SparseTensorClassifier.fit`; y with one class an item.
        groups : array-like of shape (n_items,), default=None
            What some items share and new ones will not (a person, a thread, a day): items of one
            group are never learnt from and judged in the same split. Where `cv` is a splitter, it
            gets them; splits in a list stay as they are.

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
        if source_of(X) is not None:
            raise ValueError(
                "tuning needs items in memory: read some of the source, and give those"
            )
        self._validate_params()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._check_grids()
        searches = self._searched(_Given(X, y, sample_weight), groups, seed)
        tried = [(search, trial) for search in searches for trial in search.trials]
        trials = [trial for _, trial in tried]
        best = max((t for t in trials if t.stage == 2), key=lambda trial: trial.mean)
        chosen = [self._chosen(trial, search.problem, seed) for search, trial in tried]
        place = trials.index(best)
        estimator = SparseTensorClassifier(**self._common() | chosen[place])
        self.best_estimator_ = estimator.fit(X, y, sample_weight)
        self.best_params_, self.best_score_, self.best_index_ = chosen[place], best.mean, place
        self.cv_results_ = results_of(trials, chosen)
        self.n_splits_ = max(len(trial.scores) for trial in trials)
        return self

    def _common(self, missing: str = "ignore") -> dict[str, Any]:
        """Parameters that are not chosen, and what is tried of those that may be."""
        common = {name: getattr(self, name) for name in _COMMON}
        return common if self.missing != "auto" else common | {"missing": missing}

    def _searched(self, given: _Given, groups: Any, seed: int) -> list[Search]:
        """Everything tried: phases only with the better way to take what is missing."""
        batch = self._batch(given)
        search = self._search(given, batch, seed)
        items = _items(batch, groups)
        splits = splits_of(items, self.cv, seed)
        judging = enough(splits, items) if isinstance(self.phases, str) else splits
        searches = [search]
        if self.missing == "auto" and _with_gaps(batch.observed):
            searches.append(self._search(given, self._batch(given, "category"), seed, "category"))
        for own in searches:
            self._without_phases(own, judging)
        best = max(searches, key=lambda own: own.best)
        settled = len(judging) == len(splits) and best.best >= _PERFECT
        if not (settled and isinstance(self.phases, str)):  # else nothing is left to be better at
            self._with_phases(best, judging, seed)
        return searches

    def _search(self, given: _Given, batch: Batch, seed: int, missing: str = "ignore") -> Search:
        batches = self._batches(given, batch, missing)
        problem, classes = self._problem(batches, missing)
        scorer = self._scorer(problem, classes, next(iter(batches.values())))
        return Search(problem, scorer, seed, self.n_jobs, self.progress)

    def _check_grids(self) -> None:
        """Refuse what could not be tried, before anything is."""
        for name in ("power", "balance", "entropy", "interactions", "ngrams", "phases"):
            values = _grid(getattr(self, name), ("auto",))
            if not values:
                raise ValueError(f"{name}: the grid is empty; give a value to try, or 'auto'")
            for value in values:
                if isinstance(value, (list, tuple, np.ndarray)):
                    raise ValueError(f"{name}: {value!r} is no value to try")
                type(self)(**{name: value})._validate_params()

    def _batch(self, given: _Given, missing: str = "ignore") -> Batch:
        """The data as it was given."""
        base = SparseTensorClassifier(**self._common(missing))
        base._validate_params()
        batch = BatchReader(base.get_params(deep=False)).batch(*given, None)
        if batch.target.form.multilabel:
            raise ValueError(
                f"{type(self).__name__} tunes for one class an item; with several labels use "
                "GridSearchCV around SparseTensorClassifier"
            )
        return batch

    def _batches(self, given: _Given, batch: Batch, missing: str) -> dict[int, Batch]:
        """The data as each order of interactions, or of neighbouring words, sees it."""
        observed, column, weight = batch.weighted()
        target = replace(batch.target, column=column)
        batch = replace(batch, observed=observed, target=target, sample_weight=weight)
        self._refuse_meaningless(batch.observed.kind)
        if batch.observed.kind == "documents":
            return {n: self._with_ngrams(given, batch, n, missing) for n in self._ngrams()}
        return {
            order: replace(batch, observed=Interactions(order).applied(batch.observed))
            for order in self._orders(batch)
        }

    def _refuse_meaningless(self, kind: str) -> None:
        """Refuse conjunctions of what has no attributes, and neighbours of what has no words."""
        for name, needed in (("interactions", "table"), ("ngrams", "documents")):
            given = getattr(self, name)
            if kind != needed and any(value > 1 for value in _grid(given, (1,))):
                raise ValueError(f"{name}={given!r} is for {needed}; X holds {KINDS[kind]}")

    def _ngrams(self) -> list[int]:
        return [int(n) for n in _grid(self.ngrams, _NGRAMS)]

    def _with_ngrams(self, given: _Given, batch: Batch, n: int, missing: str) -> Batch:
        if n == 1:
            return batch
        base = SparseTensorClassifier(ngrams=n, **self._common(missing))
        base._validate_params()
        again = BatchReader(base.get_params(deep=False)).batch(*given, None)
        return replace(batch, observed=again.weighted()[0])

    def _orders(self, batch: Batch) -> list[int]:
        """The orders of interactions to try."""
        observed = batch.observed
        if observed.kind != "table":
            return [1]
        orders = [int(order) for order in _grid(self.interactions, _ORDERS)]
        if not isinstance(self.interactions, str):
            for order in orders:
                Interactions(order).refuse_large(observed, self.max_tuples)
            return orders
        return [order for order in orders if self._affordable(order, batch)]

    def _affordable(self, order: int, batch: Batch) -> bool:
        if order == 1:
            return True
        needed = Interactions(order).sizes(batch.observed).sum()
        few = order == 2 or needed * batch.target.column.n_values <= _FEW_TRIPLES
        return bool(order <= len(batch.observed.columns) and needed <= self.max_tuples and few)

    def _problem(self, batches: dict[int, Batch], missing: str) -> tuple[Problem, NDArray[Any]]:
        batch = next(iter(batches.values()))
        values = np.asarray(batch.target.column.values)
        order = np.argsort(values)
        truth = batch.target.column.matrix().toarray()[:, order]
        truth /= np.maximum(truth.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        used = truth.any(axis=0)
        support = 2 + (len(truth) >= _MANY_ITEMS)
        if self.min_support != "auto":
            support = self.min_support
        layouts = {n: Layout.of(own.observed) for n, own in batches.items()}
        weight = np.array(batch.sample_weight)
        truth = truth[:, used]
        documents = batch.observed.kind == "documents"
        limits = truth, weight, support, documents
        most = {n: self._most(own, *limits) for n, own in layouts.items()}
        problem = Problem(layouts, truth, weight, support, most, documents, missing)
        return problem, values[order][used]

    def _most(
        self, layout: Layout, truth: Floats, weight: Floats, min_support: int, documents: bool
    ) -> int | None:
        """The most conjunctions to keep."""
        if self.max_features != "auto":
            most: int | None = self.max_features
            return most
        affordable = layout.affordable(truth, weight, min_support, _MOST_PER_ITEM)
        return affordable if documents else min(_MOST_CONJUNCTIONS, affordable)

    def _scorer(self, problem: Problem, classes: NDArray[Any], batch: Batch) -> Any:
        """What judges probabilities of items."""
        truth, weight = problem.truth, problem.sample_weight
        if self.scoring is None:
            return lambda judged, P: accuracy_less_loss(P, truth[judged], weight[judged])
        if self.scoring == "accuracy":  # what scikit-learn computes, without its checks each time
            best = np.argmax(truth, axis=1)
            return lambda judged, P: float(np.mean(np.argmax(P, axis=1) == best[judged]))
        form = batch.target.form
        if form.kind == "joint":
            raise ValueError("with several targets, scoring is None or 'accuracy', of all of them")
        labels = form.shown_classes(classes)
        scorer = check_scoring(_Answers(labels, np.zeros((1, 1))), self.scoring)
        y = labels[np.argmax(truth, axis=1)]

        def score(judged: NDArray[Any], P: Floats) -> float:
            found = float(scorer(_Answers(labels, P), np.zeros((len(P), 1)), y[judged]))
            if np.isnan(found):
                raise ValueError(f"scoring={self.scoring!r} gave NaN for a split")
            return found

        return score

    def _without_phases(self, search: Search, splits: list[Split]) -> None:
        penalties = _grid(self.phases, (np.inf,))
        plain = [penalty for penalty in penalties if penalty is None or np.isinf(penalty)]
        settings = product(search.problem.layouts, self._hypers(_PLAIN), plain)
        search.plain([Candidate(*own) for own in settings], splits)

    def _with_phases(self, search: Search, splits: list[Split], seed: int) -> None:
        """Learn phases, for "auto" in two rounds."""
        settings = product(search.problem.layouts, self._phased(search.problem.documents))
        if isinstance(self.phases, str):
            candidates = self._first_round(search, settings, first_splits(splits, seed))
        else:
            penalties = [p for p in _grid(self.phases, ()) if p is not None and np.isfinite(p)]
            candidates = [Candidate(*own, float(p)) for own, p in product(settings, penalties)]
        if candidates:
            search.phases(candidates, splits, _CHECKPOINTS, stage=2)

    @staticmethod
    def _first_round(
        search: Search, settings: Iterable[tuple[int, Hyper]], splits: Sequence[Split]
    ) -> list[Candidate]:
        """The candidates that do best on few items with few iterations."""
        steps = _FIRST_ROUND
        text = search.problem.documents
        middle, *others = _PENALTIES_IN_TEXT if text else _PENALTIES
        first = [Candidate(*own, middle) for own in settings]
        tried = search.phases(first, splits, steps, stage=1)
        promising = sorted(tried, key=lambda trial: -trial.mean)[:_PROMISING]
        more = [
            trial.candidate._replace(penalty=penalty)
            for trial, penalty in product(promising, others)
        ]
        tried += search.phases(more, splits, steps, stage=1)
        tried.sort(key=lambda trial: -trial.mean)
        return [trial.candidate for trial in tried[:_FINALISTS]]

    def _hypers(self, auto: dict[str, tuple[float, ...]]) -> list[Hyper]:
        grids = [_grid(getattr(self, name), auto[name]) for name in ("power", "balance", "entropy")]
        return [Hyper(*own) for own in product(*grids)]

    def _phased(self, documents: bool) -> list[Hyper]:
        """The settings for which phases are learnt."""
        given = {n: getattr(self, n) for n in ("power", "balance", "entropy")}
        if not isinstance(self.phases, str):
            return self._hypers(_PLAIN)
        if all(isinstance(own, str) for own in given.values()):
            return list(_WITH_PHASES_IN_TEXT if documents else _WITH_PHASES)
        few = {"power": (0.5,), "balance": (0.5, 1.0), "entropy": (0.0, 1.0)}
        return self._hypers(few)

    def _chosen(self, trial: Trial, problem: Problem, seed: int) -> dict[str, Any]:
        """The parameters of a SparseTensorClassifier for a trial."""
        order, hyper, penalty = trial.candidate
        phases = None
        if penalty is not None:
            phases = PhaseLearner(
                (penalty,),
                max_iter=max(trial.steps, 1),
                validation=0,
                random_state=seed,
                progress=self.progress,
            )
        chosen: dict[str, Any] = {**hyper._asdict(), "phases": phases}
        if self.missing == "auto":
            chosen["missing"] = problem.missing
        if order > 1:
            most = problem.max_features[order]
            chosen |= {"min_support": problem.min_support, "max_features": most}
        return chosen | {"ngrams" if problem.documents else "interactions": order}

    # --- predicting -------------------------------------------------------------------------

    def _best(self) -> SparseTensorClassifier:
        check_is_fitted(self)
        return self.best_estimator_

    def predict(self, X: Any, theta: Any = None) -> Any:
        """Most probable class of each item; see `SparseTensorClassifier.predict`.

        Examples
        --------
        >>> from stc import SparseTensorClassifierCV
        >>> X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
        >>> SparseTensorClassifierCV(phases=None).fit(X, y).predict([["b"]]).tolist()
        ['y']
        """
        return self._best().predict(X, theta)

    def predict_proba(self, X: Any, theta: Any = None) -> Any:
        """Probability of each class; see `SparseTensorClassifier.predict_proba`.

        Examples
        --------
        >>> from stc import SparseTensorClassifierCV
        >>> X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
        >>> SparseTensorClassifierCV(phases=None).fit(X, y).predict_proba([["b"]]).tolist()
        [[0.0, 1.0]]
        """
        return self._best().predict_proba(X, theta)

    def predict_log_proba(self, X: Any, theta: Any = None) -> Any:
        """Logarithm of the probabilities; see `SparseTensorClassifier.predict_log_proba`.

        Examples
        --------
        >>> from stc import SparseTensorClassifierCV
        >>> X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
        >>> SparseTensorClassifierCV(phases=None).fit(X, y).predict_log_proba([["b"]]).tolist()
        [[-inf, 0.0]]
        """
        return self._best().predict_log_proba(X, theta)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy; see `SparseTensorClassifier.score`.

        Examples
        --------
        >>> from stc import SparseTensorClassifierCV
        >>> X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
        >>> SparseTensorClassifierCV(phases=None).fit(X, y).score(X, y)
        1.0
        """
        return self._best().score(X, y, sample_weight)

    def coverage(self, X: Any) -> Floats:
        """Share of each item that was ever seen; see `SparseTensorClassifier.coverage`.

        Examples
        --------
        >>> from stc import SparseTensorClassifierCV
        >>> X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
        >>> SparseTensorClassifierCV(phases=None).fit(X, y).coverage([["b"], ["c"]]).tolist()
        [1.0, 0.0]
        """
        found: Floats = self._best().coverage(X)
        return found

    @overload
    def explain(self, X: None = None, theta: None = None) -> GlobalExplanation: ...

    @overload
    def explain(self, X: Any, theta: Any = None) -> LocalExplanation: ...

    def explain(self, X: Any = None, theta: Any = None) -> LocalExplanation | GlobalExplanation:
        """Why each item gets its class; see `SparseTensorClassifier.explain`.

        Examples
        --------
        >>> from stc import SparseTensorClassifierCV
        >>> X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
        >>> print(SparseTensorClassifierCV(phases=None).fit(X, y).explain([["b"]]))
        y, 1.00: because x0=b (100 %)
        """
        found: LocalExplanation | GlobalExplanation = self._best().explain(X, theta)
        return found

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features; see `SparseTensorClassifier.get_feature_names_out`.

        Examples
        --------
        >>> from stc import SparseTensorClassifierCV
        >>> X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
        >>> SparseTensorClassifierCV(phases=None).fit(X, y).get_feature_names_out().tolist()
        ['x0=a', 'x0=b']
        """
        return self._best().get_feature_names_out(input_features)

    @property
    def classes_(self) -> Any:
        """The classes, sorted."""
        return self._known().classes_

    @property
    def n_features_in_(self) -> int:
        """Number of attributes learnt from."""
        return self._known().n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the attributes learnt from, if they had names."""
        return self._known().feature_names_in_

    def _known(self) -> SparseTensorClassifier:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"this {type(self).__name__} has not been fitted yet")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags = SparseTensorClassifier(**self._common()).__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        tags.target_tags.multi_output = False  # to scikit-learn that includes several labels
        return tags


class _Answers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Probabilities that are there already, in the shape of an estimator, for a scorer."""

    def __init__(self, classes: NDArray[Any], probabilities: Floats) -> None:
        self.classes_ = classes
        self.probabilities = probabilities

    def fit(self, X: Any, y: Any) -> Self:
        """Nothing is left to do."""
        return self

    def predict_proba(self, X: Any) -> Floats:
        return self.probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(self.probabilities, axis=1)])


def _items(batch: Batch, groups: Any) -> Items:
    """What splits are made by."""
    column = batch.target.column
    order = np.argsort(np.asarray(column.values))  # whatever the order in which they came
    classes = np.argmax(column.matrix().toarray()[:, order], axis=1)
    return Items(classes, batch.sample_weight > 0, groups_of(groups, len(classes)))


def _with_gaps(observed: Observations) -> bool:
    """Whether a value is missing in a table."""
    columns = observed.columns if observed.kind == "table" else ()
    return any(not column.lengths().all() for column in columns if not column.complete)


def _grid(given: Any, auto: Sequence[Any]) -> list[Any]:
    """What to try of a parameter."""
    if isinstance(given, str):
        return list(auto)
    return list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
