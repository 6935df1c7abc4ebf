"""Local explanations: the contributions to the prediction of each item."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.formulas import Floats
from stc._core.tables import gather, named_features
from stc._utils.forking import refuse_without_pool
from stc.exceptions import ParameterError
from stc.explain.answers import Answers
from stc.explain.contrast import Contrast
from stc.explain.counterfactual import Counterfactual, find_counterfactual
from stc.explain.highlight import Highlight, highlight
from stc.explain.names import WORTH_NAMING, label_text, with_probability, with_share
from stc.explain.perturbation import impact
from stc.explain.table import TableMixin, sorted_rows

# Maximal number of items that the short form shows.
_SHOWN_ITEMS = 10
# By the sign of the share: 1, 0, -1.
_EFFECTS = ["for", "neither", "against"]


class LocalExplanation(TableMixin):
    """Why each item was given its class.

    Everything is computed on first use: the contributions to the predicted classes by `table`,
    those to other classes by `why` or `of_class`.

    Attributes
    ----------
    labels, probabilities
        The class explained of each item, which is the predicted one unless another was chosen,
        and its probability.
    coverage
        Share of each item that was seen in training.
    items
        Number of each item in the batch.
    classes
        The classes, in the order of the columns of `proba`.
    proba
        The probability of each class of each item.
    sets
        The dimensions of the policy that scored each item; none where class frequencies did.
    unseen
        Values not seen in training: a table with `item`, `attribute`, `value` and `feature`.
    answers
        The scores, probabilities and contributions behind the explanation.
    explained
        Column in `proba` of the class explained of each item.
    table
        One row per contribution, strongest first within each item: `item`, `class`, `attribute`,
        `value`, `contribution` (the modulus of its addend in the score of the class), `share` (of
        that score: its projection on the sum, below 0 if it works against the class), `phase`
        (the angle between the two, in radians; 0 without phases), `effect` ("for" or "against":
        constructive or destructive interference) and `feature` (its name). With several
        dimensions or interactions, `attribute` and `value` are lists.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
    >>> explanation = model.explain_local([["red"], ["green"]])
    >>> explanation.labels.tolist(), explanation.coverage.tolist()
    (['stop', 'go'], [1.0, 1.0])
    """

    def __init__(
        self,
        answers: Answers,
        explained: NDArray[Any] | None = None,
        items: NDArray[Any] | None = None,
    ) -> None:
        self.answers = answers
        self._chosen = explained
        self.items = np.arange(answers.raw.n_items) if items is None else items

    def __len__(self) -> int:
        return len(self.items)

    @property
    def explained(self) -> NDArray[Any]:
        """Column in `proba` of the class explained of each item."""
        return self.answers.best if self._chosen is None else self._chosen

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The class explained of each item."""
        form, classes = self.answers.model.form, self.answers.model.classes
        shown = classes if form.kind == "joint" else form.public_classes(classes)
        return form.predicted(shown, self.explained)

    @cached_property
    def probabilities(self) -> Floats:
        """The probability of the class explained of each item."""
        return np.asarray(self.proba[np.arange(len(self)), self.explained])

    @property
    def coverage(self) -> Floats:
        """Share of each item that was seen in training."""
        return self.answers.coverage

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of the columns of `proba`."""
        return self.answers.names.labels

    @property
    def proba(self) -> Floats:
        """The probability of each class of each item."""
        return self.answers.probabilities

    @property
    def sets(self) -> list[list[str]]:
        """The dimensions of the policy that scored each item."""
        return self.answers.sets()

    @property
    def unseen(self) -> pl.DataFrame:
        """Values not seen in training."""
        table = self.answers.unseen()
        return table.with_columns(item=pl.Series(self.items, dtype=pl.Int64).gather(table["item"]))

    @property
    def documents(self) -> list[Any] | None:
        """The texts, if the items are documents."""
        texts = self.answers.documents
        return None if texts is None else list(texts)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per contribution, strongest first within each item."""
        parts = self.answers.contributions(self.explained)
        along, phases = parts.along()
        shares = along / np.bincount(parts.items, along)[parts.items]
        order = parts.order()
        items = parts.items[order]
        features = named_features(self.answers.model, parts.features, parts.places[order])
        effects = 1 - np.sign(shares[order]).astype(np.int8)
        return pl.DataFrame(
            {
                "item": self.items[items],
                "class": self.answers.names.take(self.explained[items]),
                "attribute": features["attribute"],
                "value": features["value"],
                "contribution": parts.amounts[order],
                "share": shares[order],
                "phase": phases[order],
                "effect": gather(_EFFECTS, pl.String, effects),
                "feature": features["feature"],
            }
        )

    # --- one item -----------------------------------------------------------------------------

    def why(self, item: int, label: Any = None) -> LocalExplanation:
        """Explain the probability of a class of one item.

        Parameters
        ----------
        item : int
            Number of the item in the batch.
        label : default=None
            The class; None: the class explained, which is the predicted one.

        Returns
        -------
        LocalExplanation
            The explanation of this item only.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["blue"], ["red"]], ["hot", "cold", "x"])
        >>> print(model.explain_local([["blue"], ["red"]]).why(1, "x"))
        x, 0.50: because x0=red (100 %)
        """
        place = self._place(item)
        explained = np.array([self._class(place, label)])
        return LocalExplanation(self.answers.one(place), explained, self.items[[place]])

    def why_not(self, item: int, label: Any = None) -> Contrast:
        """Explain why an item has the class explained and not another one.

        Parameters
        ----------
        item : int
            Number of the item in the batch.
        label : default=None
            The other class; None: the most probable of the others.

        Returns
        -------
        Contrast
            What each feature adds to the scores of the two classes.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X = [["milk", 4], ["milk", 4], ["eggs", 4], ["eggs", 2]]
        >>> y = ["cat", "dog", "frog", "hen"]
        >>> model = SparseTensorClassifier(entropy=0).fit(X, y)
        >>> print(model.explain_local([["eggs", 4]]).why_not(0, "cat"))
        frog, 0.57, not cat, 0.14: because x0=eggs (50 %)
        """
        place = self._place(item)
        first = self._class(place)
        if label is None:
            others = self.proba[place].copy()
            others[first] = -1.0
            second = int(np.argmax(others))
        else:
            second = self._class(place, label)
        if second == first:
            raise ParameterError(
                f"label={label_text(self.labels[place])!r} is the class that is explained",
                item=item,
                hint="compare it with another class",
            )
        return Contrast.of(self.answers.one(place), int(self.items[place]), first, second)

    def impact(self, item: int, label: Any = None) -> pl.DataFrame:
        """Return the probability of a class without each value of an item.

        A contribution is what a value adds to the score of a class. The impact is what the value
        changes in the probability, which depends on the scores of the other classes too. It is
        computed by predicting again without the value.

        Parameters
        ----------
        item : int
            Number of the item in the batch.
        label : default=None
            The class; None: the class explained, which is the predicted one.

        Returns
        -------
        polars.DataFrame
            One row per value, the largest drop first: `attribute`, `value`, `probability` (of the
            class without the value), `drop` (from the probability with it) and `feature`. Without
            a value, the n-grams and conjunctions that contain it are missing too.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> impact = model.explain_local(["good bad"]).impact(0, "+")
        >>> impact["feature"].to_list(), impact["drop"].round(2).to_list()
        (['good', 'bad'], [0.43, -0.57])
        """
        place = self._place(item)
        return impact(self.answers.one(place), self._class(place, label))

    def highlight(self, item: int, label: Any = None) -> Highlight:
        """Mark the words of a document by what they add to the score of a class.

        Parameters
        ----------
        item : int
            Number of the item in the batch.
        label : default=None
            The class; None: the class explained, which is the predicted one.

        Returns
        -------
        Highlight
            With colours in a notebook and as `.html`, without colours as `.text`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> print(model.explain_local(["What  fun!"]).highlight(0).text)
        +, 1.00: [?What?]  [+fun+][?!?]
        """
        return highlight(self, item, label)

    def counterfactual(self, item: int, label: Any = None) -> Counterfactual:
        """Find the smallest changes of an item that change its class.

        There are two kinds of change: the fewest values to remove, and the fewest single-valued
        attributes to give another value. Both are verified by predicting again. They are minimal
        for a model without phases, interactions and dimensions. Otherwise one or two changes are
        searched exhaustively unless there are too many pairs, and more changes greedily.

        Parameters
        ----------
        item : int
            Number of the item in the batch.
        label : default=None
            The class to reach; None: any other class.

        Returns
        -------
        Counterfactual
            Both kinds of change.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X, y = [["milk", 4], ["eggs", 2], ["eggs", 0]], ["cat", "hen", "eel"]
        >>> model = SparseTensorClassifier().fit(X, y)
        >>> counterfactual = model.explain_local([["milk", 2]]).counterfactual(0)
        >>> counterfactual.removal.values, counterfactual.removal.label
        ((('x0', 'milk', None, 'x0=milk'),), 'hen')
        """
        place = self._place(item)
        target = None if label is None else self._class(place, label)
        return find_counterfactual(self.answers.one(place), int(self.items[place]), target)

    def _place(self, item: int) -> int:
        """Return the index of an item in this explanation."""
        places = np.flatnonzero(self.items == item)
        if not len(places):
            known = f"items {self.items[0]} to {self.items[-1]}" if len(self) else "no item"
            raise IndexError(f"there is no item {item} in this explanation of {known}")
        return int(places[0])

    def _class(self, place: int, label: Any = None) -> int:
        """Return the number of the class with this label, or of the class explained."""
        return int(self.explained[place] if label is None else self.answers.names.index(label))

    # --- all items ----------------------------------------------------------------------------

    def of_class(self, label: Any) -> LocalExplanation:
        """Explain the probability of one class for every item.

        Parameters
        ----------
        label
            The class.

        Returns
        -------
        LocalExplanation
            The explanation of this class for every item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> print(model.explain_local([["red"], ["green"]]).of_class("go"))
        go, 0.00: nothing speaks for it
        go, 1.00: because x0=green (100 %)
        """
        explained = np.full(len(self), self.answers.names.index(label))
        return LocalExplanation(self.answers, explained, self.items)

    def aggregate(self) -> pl.DataFrame:
        """Sum the contributions of all items, class by class.

        Returns
        -------
        polars.DataFrame
            One row per class explained and feature, strongest first within each class: `class`,
            `attribute`, `value`, `items` (number of items with the feature), `contribution` (the
            sum), `share` (the mean share over the items of that class, 0 for items without the
            feature) and `feature`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> total = model.explain_local(["good", "good fun", "bad"]).aggregate()
        >>> total.select("class", "feature", "items", "share").rows()
        [('+', 'good', 2, 0.75), ('+', 'fun', 1, 0.25), ('-', 'bad', 1, 1.0)]
        """
        keys = ["class", "attribute", "value", "feature"]
        counts = self.answers.names.take(self.explained).value_counts(name="explained")
        sums = self.table.group_by(keys, maintain_order=True).agg(
            items=pl.len().cast(pl.Int64),
            contribution=pl.col("contribution").sum(),
            share=pl.col("share").sum(),
        )
        means = sums.join(counts, on="class", how="left", maintain_order="left").with_columns(
            share=pl.col("share") / pl.col("explained")
        )
        columns = ["class", "attribute", "value", "items", "contribution", "share", "feature"]
        order = {"class": False, "contribution": True, "feature": False}
        return sorted_rows(means, order).select(columns)

    # --- text ---------------------------------------------------------------------------------

    def sentences(self, reasons: int = 3) -> list[str]:
        """Return one sentence per item, with its strongest contributions.

        Parameters
        ----------
        reasons : int, default=3
            Maximal number of contributions to name.

        Returns
        -------
        list of str
            One sentence per item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> for sentence in model.explain_local(["what fun!", "hm"]).sentences():
        ...     print(sentence)
        +, 1.00: because fun (100 %)
        +, 0.50: nothing in it was seen before; the class frequencies decide
        """
        refuse_without_pool()
        share = pl.col("share")
        pro = _strongest_texts(self.table.filter(share >= WORTH_NAMING), reasons)
        contra = _strongest_texts(self.table.filter(share <= -WORTH_NAMING), 1)
        return [
            f"{with_probability(label, probability)}: {self._because(place, pro.get(item, []))}"
            + "".join(f"; despite {text}" for text in contra.get(item, []))
            for place, (item, label, probability) in enumerate(
                zip(self.items.tolist(), self.labels, self.probabilities, strict=True)
            )
        ]

    def _because(self, place: int, reasons: list[str]) -> str:
        if reasons:
            return f"because {', '.join(reasons)}"
        if np.isfinite(self.answers.log_scores[place]).any():
            return "nothing speaks for it"
        if self.coverage[place]:
            return "what is known of it says nothing; the class frequencies decide"
        tensor = len(self.answers.model.dimensions.names) > 1
        unseen = "no combination" if tensor else "nothing"
        return f"{unseen} in it was seen before; the class frequencies decide"

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        if len(self) <= _SHOWN_ITEMS:
            return str(self)
        mask = np.arange(len(self)) < _SHOWN_ITEMS
        head = LocalExplanation(self.answers.select(mask), self.explained[mask], self.items[mask])
        return f"{head}\n... and {len(self) - _SHOWN_ITEMS} more items"


def _strongest_texts(table: pl.DataFrame, reasons: int) -> dict[int, list[str]]:
    """Return the strongest contributions of each item as text."""
    strongest = table.sort(pl.col("share").abs(), descending=True, maintain_order=True)
    texts: dict[int, list[str]] = {}
    for row in strongest.group_by("item", maintain_order=True).head(reasons).to_dicts():
        texts.setdefault(row["item"], []).append(with_share(row["feature"], row["share"]))
    return texts
