"""Local explanations: the contributions that a prediction is the sum of, item by item."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.formulas import Floats
from stc._core.tables import named_features, picked
from stc.explain.answers import Answers
from stc.explain.change import Counterfactual, counterfactual
from stc.explain.contrast import Contrast
from stc.explain.highlight import Highlight, highlight
from stc.explain.names import percent, text_of
from stc.explain.tabular import Tabular
from stc.explain.variants import impact

# Contributions that would round to 0 % are no reasons.
_WORTH_NAMING = 0.005
# Items that a short form shows.
_SHOWN_ITEMS = 10
# By the sign of the share: 1, 0, -1.
_EFFECTS = ["for", "neither", "against"]


class LocalExplanation(Tabular):
    """Why each item was given its class.

    Nothing is computed before it is asked for: the contributions to the predicted classes with
    `table`, those to another class with `why` or `of_class`.

    Attributes
    ----------
    labels, probabilities
        The class explained of each item, which is the predicted one unless another was asked for,
        and its probability.
    coverage
        Share of each item that was ever seen.
    items
        Number of each item in the batch that was given.
    classes
        The classes, in the order of the columns of `proba`.
    proba
        The probability of each class of each item.
    sets
        The dimensions of the policy that answered each item; none: the class frequencies did.
    unseen
        Values that were never learnt: a table with `item`, `attribute`, `value` and `feature`.
    table
        One row a contribution, strongest first within each item: `item`, `class`, `attribute`,
        `value`, `contribution` (the modulus of its addend in the score of the class), `share` (of
        that score: what it adds in the direction of the sum, below 0 if it works against it),
        `phase` (the angle between the two, in radians; 0 without phases), `effect` ("for" or
        "against": does it interfere constructively or destructively) and `feature` (its name).
        With several dimensions or interactions, `attribute` and `value` are lists.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
    >>> explanation = model.explain([["red"], ["green"]])
    >>> explanation.labels.tolist(), explanation.coverage.tolist()
    (['stop', 'go'], [1.0, 1.0])
    """

    def __init__(
        self,
        answers: Answers,
        explained: NDArray[Any] | None = None,
        items: NDArray[Any] | None = None,
    ) -> None:
        self._answers = answers
        self._explained = explained
        self.items = np.arange(answers.raw.n_items) if items is None else items

    def __len__(self) -> int:
        return len(self.items)

    @property
    def _classes(self) -> NDArray[Any]:
        """Number of the class that is explained of each item."""
        return self._answers.best if self._explained is None else self._explained

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The class explained of each item."""
        form, classes = self._answers.model.form, self._answers.model.classes
        shown = classes if form.kind == "joint" else form.shown_classes(classes)
        return form.predicted(shown, self._classes)

    @cached_property
    def probabilities(self) -> Floats:
        """The probability of that class."""
        found: Floats = self.proba[np.arange(len(self)), self._classes]
        return found

    @property
    def coverage(self) -> Floats:
        """Share of each item that was ever seen."""
        return self._answers.coverage

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of the columns of `proba`."""
        return self._answers.names.labels

    @property
    def proba(self) -> Floats:
        """The probability of each class of each item."""
        return self._answers.probabilities

    @property
    def sets(self) -> list[list[str]]:
        """The dimensions of the policy that answered each item."""
        return self._answers.sets()

    @property
    def unseen(self) -> pl.DataFrame:
        """Values that were never learnt."""
        found = self._answers.unseen()
        return found.with_columns(item=pl.Series(self.items, dtype=pl.Int64).gather(found["item"]))

    @property
    def documents(self) -> list[Any] | None:
        """The texts, if the items are documents."""
        texts = self._answers.documents
        return None if texts is None else list(texts)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row a contribution, strongest first within each item."""
        parts = self._answers.contributions(self._classes)
        along, phases = parts.along()
        shares = along / np.bincount(parts.items, along)[parts.items]
        order = parts.order()
        items = parts.items[order]
        named = named_features(self._answers.model, parts.features, parts.places[order])
        effects = 1 - np.sign(shares[order]).astype(np.int8)
        return pl.DataFrame(
            {
                "item": self.items[items],
                "class": self._answers.names.of(self._classes[items]),
                "attribute": named["attribute"],
                "value": named["value"],
                "contribution": parts.amounts[order],
                "share": shares[order],
                "phase": phases[order],
                "effect": picked(_EFFECTS, pl.String, effects),
                "feature": named["feature"],
            }
        )

    # --- one item -----------------------------------------------------------------------------

    def why(self, item: int, label: Any = None) -> LocalExplanation:
        """Why an item has the probability of a class that it has.

        Parameters
        ----------
        item : int
            Its number in the batch.
        label : default=None
            The class; None: the one explained, which is the predicted one.

        Returns
        -------
        LocalExplanation
            Of this item only.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["blue"], ["red"]], ["hot", "cold", "x"])
        >>> print(model.explain([["blue"], ["red"]]).why(1, "x"))
        x, 0.50: because x0=red (100 %)
        """
        place = self._place(item)
        explained = self._classes[place] if label is None else self._answers.names.place(label)
        return LocalExplanation(
            self._answers.one(place), np.array([explained]), self.items[[place]]
        )

    def why_not(self, item: int, label: Any = None) -> Contrast:
        """Why an item has the class explained and not another one: feature by feature.

        Parameters
        ----------
        item : int
            Its number in the batch.
        label : default=None
            The other class; None: the most probable of the others.

        Returns
        -------
        Contrast
            What each feature adds to the scores of both.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X = [["milk", 4], ["milk", 4], ["eggs", 4], ["eggs", 2]]
        >>> y = ["cat", "dog", "frog", "hen"]
        >>> model = SparseTensorClassifier(entropy=0).fit(X, y)
        >>> print(model.explain([["eggs", 4]]).why_not(0, "cat"))
        frog, 0.57, not cat, 0.14: because x0=eggs (50 %)
        """
        place = self._place(item)
        one = self._answers.one(place)
        first = int(self._classes[place])
        if label is None:
            others = self.proba[place].copy()
            others[first] = -1.0
            second = int(np.argmax(others))
        else:
            second = self._answers.names.place(label)
        if second == first:
            raise ValueError(f"item {item} is explained as {text_of(self.labels[place])} itself")
        return Contrast.of(one, int(self.items[place]), first, second)

    def impact(self, item: int, label: Any = None) -> pl.DataFrame:
        """How much each value of an item matters: the probability of the class without it.

        A contribution says what a value adds to the score of a class. This says what the value
        makes of the probability, other classes and all, by predicting again without it.

        Parameters
        ----------
        item : int
            Its number in the batch.
        label : default=None
            The class; None: the one explained, which is the predicted one.

        Returns
        -------
        polars.DataFrame
            One row a value, the one whose absence costs most first: `attribute`, `value`,
            `probability` (of the class without it), `drop` (from the probability with it) and
            `feature`. Words in a row go with each of their words, conjunctions with each part.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> found = model.explain(["good bad"]).impact(0, "+")
        >>> found["feature"].to_list(), found["drop"].round(2).to_list()
        (['good', 'bad'], [0.43, -0.57])
        """
        place = self._place(item)
        explained = int(self._classes[place] if label is None else self._answers.names.place(label))
        return impact(self._answers.one(place), explained)

    def highlight(self, item: int, label: Any = None) -> Highlight:
        """A document as it stands, its words marked by what they add to a class.

        Parameters
        ----------
        item : int
            Its number in the batch.
        label : default=None
            The class; None: the one explained, which is the predicted one.

        Returns
        -------
        Highlight
            In colour in a notebook and as `.html`, without as `.text`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> print(model.explain(["What  fun!"]).highlight(0).text)
        +, 1.00: [?What?]  [+fun+][?!?]
        """
        return highlight(self, item, label)

    def counterfactual(self, item: int, label: Any = None) -> Counterfactual:
        """What would have to be otherwise for an item to be given another class.

        Two answers: the fewest values that would have to be away, and the fewest single-valued
        attributes that would have to have another value. Both are verified by predicting again.
        They are the fewest there can be for a model without phases, interactions and dimensions;
        otherwise up to two values are tried exhaustively where there are few, and more of them one
        by one, the most effective first.

        Parameters
        ----------
        item : int
            Its number in the batch.
        label : default=None
            The class that it should have; None: any other.

        Returns
        -------
        Counterfactual
            Both answers.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X, y = [["milk", 4], ["eggs", 2], ["eggs", 0]], ["cat", "hen", "eel"]
        >>> model = SparseTensorClassifier().fit(X, y)
        >>> found = model.explain([["milk", 2]]).counterfactual(0)
        >>> found.removal.values, found.removal.label
        ((('x0', 'milk', None, 'x0=milk'),), 'hen')
        """
        place = self._place(item)
        wanted = None if label is None else self._answers.names.place(label)
        return counterfactual(self._answers.one(place), int(self.items[place]), wanted)

    def _place(self, item: int) -> int:
        """Where an item is in this explanation."""
        found = np.flatnonzero(self.items == item)
        if not len(found):
            known = f"items {self.items[0]} to {self.items[-1]}" if len(self) else "no item"
            raise IndexError(f"there is no item {item} in this explanation of {known}")
        return int(found[0])

    # --- all items ----------------------------------------------------------------------------

    def of_class(self, label: Any) -> LocalExplanation:
        """The same items, and what speaks for one class in each of them.

        Parameters
        ----------
        label
            The class.

        Returns
        -------
        LocalExplanation
            With this class explained of every item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> print(model.explain([["red"], ["green"]]).of_class("go"))
        go, 0.00: nothing speaks for it
        go, 1.00: because x0=green (100 %)
        """
        explained = np.full(len(self), self._answers.names.place(label))
        return LocalExplanation(self._answers, explained, self.items)

    def aggregate(self) -> pl.DataFrame:
        """The sum of the contributions of all items, class by class.

        Returns
        -------
        polars.DataFrame
            One row per class explained and feature, strongest first within each class: `class`,
            `attribute`, `value`, `items` (that have it), `contribution` (their sum), `share` (the
            sum of their shares over the items of that class: mean share where it is missing as 0)
            and `feature`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> total = model.explain(["good", "good fun", "bad"]).aggregate()
        >>> total.select("class", "feature", "items", "share").rows()
        [('+', 'good', 2, 0.75), ('+', 'fun', 1, 0.25), ('-', 'bad', 1, 1.0)]
        """
        keys = ["class", "attribute", "value", "feature"]
        labels = self._answers.names.of(self._classes)
        counted = labels.value_counts(name="explained")
        sums = self.table.group_by(keys, maintain_order=True).agg(
            items=pl.len().cast(pl.Int64),
            contribution=pl.col("contribution").sum(),
            share=pl.col("share").sum(),
        )
        total = sums.join(counted, on="class", how="left", maintain_order="left")
        order = {"class": False, "contribution": True, "feature": False}
        return (
            total.with_columns(share=pl.col("share") / pl.col("explained"))
            .sort(list(order), descending=list(order.values()), maintain_order=True)
            .select("class", "attribute", "value", "items", "contribution", "share", "feature")
        )

    # --- in words -----------------------------------------------------------------------------

    def sentences(self, reasons: int = 3) -> list[str]:
        """Each item in a sentence with its strongest reasons.

        Parameters
        ----------
        reasons : int, default=3
            How many contributions to name at the most.

        Returns
        -------
        list of str
            One sentence an item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> for sentence in model.explain(["what fun!", "hm"]).sentences():
        ...     print(sentence)
        +, 1.00: because fun (100 %)
        +, 0.50: nothing in it was seen before; the class frequencies decide
        """
        share = pl.col("share")
        pro = _named(self.table.filter(share >= _WORTH_NAMING), reasons)
        contra = _named(self.table.filter(share <= -_WORTH_NAMING), 1)
        return [
            f"{text_of(label)}, {probability:.2f}: {self._because(place, pro.get(item, []))}"
            + "".join(f"; despite {words}" for words in contra.get(item, []))
            for place, (item, label, probability) in enumerate(
                zip(self.items.tolist(), self.labels, self.probabilities, strict=True)
            )
        ]

    def _because(self, place: int, reasons: list[str]) -> str:
        if reasons:
            return f"because {', '.join(reasons)}"
        if self._answers.scores[place].any():
            return "nothing speaks for it"
        if self.coverage[place]:
            return "what is known of it says nothing; the class frequencies decide"
        tensor = len(self._answers.model.dimensions.names) > 1
        unseen = "no combination" if tensor else "nothing"
        return f"{unseen} in it was seen before; the class frequencies decide"

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        if len(self) <= _SHOWN_ITEMS:
            return str(self)
        kept = np.arange(len(self)) < _SHOWN_ITEMS
        few = self._answers.raw.select(kept)
        head = LocalExplanation(
            Answers(self._answers.cascade, few), self._classes[kept], self.items[kept]
        )
        return f"{head}\n... and {len(self) - _SHOWN_ITEMS} more items"


def _named(table: pl.DataFrame, reasons: int) -> dict[int, list[str]]:
    """The strongest contributions of each item, in words."""
    weight = pl.col("share").abs()
    strongest = table.sort(weight, descending=True, maintain_order=True)
    named: dict[int, list[str]] = {}
    for row in strongest.group_by("item", maintain_order=True).head(reasons).to_dicts():
        named.setdefault(row["item"], []).append(percent(row["feature"], row["share"]))
    return named
