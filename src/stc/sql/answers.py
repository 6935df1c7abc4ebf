"""What becomes of scores: shares, and the probability of each label on its own."""

from __future__ import annotations

import numpy as np
from sqlglot import exp

from stc._core.formulas import Floats
from stc._training.label_thresholds import each_alone
from stc.sql.terms import Answers
from stc.sql.tree import Node, case, greatest, integer, number

# PostgreSQL refuses exp() of less, which is no double.
_LEAST = -700.0


def vanishing(logarithm: Node) -> Node:
    """`exp()` of a logarithm; 0 where there is none, or nothing that a double can hold."""
    there = exp.GT(this=logarithm.copy(), expression=number(_LEAST))
    return case((there, exp.Exp(this=logarithm)), default=number(0.0))


def alone(ratio: Node, threshold: Node, dialect: str) -> Node:
    """Probability of a label on its own: the formula of `label_thresholds.each_alone`."""
    whole = exp.Paren(this=exp.Add(this=ratio.copy(), expression=threshold.copy()))
    share = exp.Div(this=ratio.copy(), expression=whole)
    enough, least = float(np.nextafter(0.5, 1.0)), float(np.finfo(np.float64).tiny)
    given = exp.GTE(this=ratio.copy(), expression=threshold.copy())
    return case(
        (given, greatest([share, number(enough)], dialect)),
        default=greatest([share.copy(), number(least)], dialect),
    )


def otherwise(answers: Answers) -> Floats:
    """The probability of each class for an item of which nothing is known."""
    if answers.kind == "indicator" and answers.thresholds is not None:
        return np.ravel(each_alone(answers.frequencies[None], answers.thresholds))
    return answers.frequencies


def given(ratio: Node, threshold: Node) -> Node:
    """1 if a label is probable enough, beside the most probable one, else 0."""
    enough = exp.GTE(this=ratio, expression=threshold)
    return case((enough, integer(1)), default=integer(0))
