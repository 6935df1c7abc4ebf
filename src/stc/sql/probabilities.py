"""From scores to answers: probabilities, and those of each label of several."""

from __future__ import annotations

import numpy as np
from sqlglot import exp

from stc._core.formulas import Floats
from stc._training.label_thresholds import label_probabilities
from stc.sql import expressions as sql
from stc.sql.expressions import Node
from stc.sql.weights import Classes

# PostgreSQL raises an error for exp() of less, which underflows.
_MIN_EXPONENT = -700.0


def exponential(logarithm: Node) -> Node:
    """Return `exp()` of a logarithm; 0 if it is NULL or the result underflows."""
    fits = sql.greater(logarithm, sql.number(_MIN_EXPONENT))
    return sql.case((fits, exp.Exp(this=logarithm)), default=sql.number(0.0))


def label_probability(share: Node, threshold: Node, dialect: str) -> Node:
    """Return the probability of a label; see `label_thresholds.label_probabilities`."""
    whole = exp.Paren(this=exp.Add(this=share.copy(), expression=threshold.copy()))
    probability = sql.ratio(share, whole)
    above_half, tiny = float(np.nextafter(0.5, 1.0)), float(np.finfo(np.float64).tiny)
    return sql.case(
        (
            sql.at_least(share, threshold),
            sql.greatest([probability, sql.number(above_half)], dialect),
        ),
        default=sql.greatest([probability, sql.number(tiny)], dialect),
    )


def fallback(classes: Classes) -> Floats:
    """Return the probability of each class for an item without known features."""
    if classes.kind == "indicator" and classes.thresholds is not None:
        return np.ravel(label_probabilities(classes.frequencies[None], classes.thresholds))
    return classes.frequencies
