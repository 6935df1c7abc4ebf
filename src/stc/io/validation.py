"""Checks that a file holds a model: of its header before it is used, of the model afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from stc._core.cascade import Cascade
from stc._core.model import Model
from stc._core.scales import Knots, Ranks
from stc._core.schema import Schema
from stc._training.state import FittedState
from stc.exceptions import ModelFileError
from stc.io.header import SHAPE, check_format
from stc.io.shapes import COUNT, object_with

# The most memory that the labels of a target may take.
_MAX_BYTES = 1 << 28


def damaged(message: str) -> ModelFileError:
    """Return the error of a file that no version of stc has written."""
    return ModelFileError(f"{message}: it is damaged")


def require(condition: bool, message: str) -> None:
    """Raise the error of a damaged file unless a condition holds."""
    if not condition:
        raise damaged(message)


def check_header(header: Any) -> None:
    """Raise an error if a header is not one, or its fields contradict each other."""
    object_with(format=COUNT).check(header, "header")
    check_format(header)
    SHAPE.check(header, "header")
    known = {field.name for field in fields(Schema)}
    require(set(header["schema"]) == known, "header.schema has unknown fields")
    sets, names = header["sets"], header["dimensions"]["names"]
    groups, size = header["dimensions"]["attributes"], len(names)
    require(len(set(names)) == size > 0, "the names of its dimensions are not unique")
    require(groups is None or len(groups) == size, "the number of its dimensions is not that named")
    require(groups is not None or size == 1, "its dimensions have no attributes")
    grouped = {name for group in groups or () for name in group}
    require(grouped <= set(header["schema"]["names"]), "a dimension has an unknown attribute")
    require(sets[-1:] == [[]] and sets.count([]) == 1, "its last set is not the only empty one")
    ascending = all(sorted(set(one)) == one and max(one, default=0) < size for one in sets)
    unique = len(set(map(tuple, sets))) == len(sets)
    require(ascending and unique, "its sets are not sets of its dimensions")
    for name, length in {"sharpness": len(sets), "entries": len(sets), "evidence": 4}.items():
        require(len(header[name]) == length, f"header.{name} does not have length {length}")
    form, class_names = header["form"], header["class_names"]
    columns = form["width"] if form["kind"] == "joint" else 1
    require(len(class_names) == columns > 0, "its classes are not those of its targets")
    named = not form["names"] or len(form["names"]) == form["width"]
    require(named, "its targets have other names")
    same_length = len(set(map(len, class_names.values()))) == 1
    require(same_length, "the columns of its classes differ in length")


def check_dtypes(names: Sequence[str], count: int) -> None:
    """Raise an error if dtypes are not of labels, or `count` labels would take too much memory."""
    for name in names:
        try:
            dtype = np.dtype(name)
        except TypeError:
            raise ModelFileError(f"{name!r:.80} is not a dtype of labels") from None
        require(dtype.itemsize * count <= _MAX_BYTES, "its labels take too much memory")
        require(dtype.kind in "biufcmMUSO", f"{name!r:.80} is not a dtype of labels")


def check_state(state: FittedState) -> None:
    """Raise an error if a fitted state contradicts itself."""
    model, schema = state.model, state.model.schema
    _check_classes(model)
    for attribute, scale in model.scales.items():
        require(attribute in schema.names, "a scale has an unknown attribute")
        _check_scale(scale)
    count = len(schema.names)
    require(len(set(schema.names)) == count, "an attribute is repeated")
    require(schema.kind == "counts" or schema.width == count, "its width is not that of its names")
    text = state.roles.text is None or schema.kind == "documents"
    require(text, "it has a text column and did not learn from documents")
    counted = model.corpora[()].used_classes
    require(bool((counted | model.declared).all()), "a class has no items")
    for subset, corpus in model.corpora.items():
        if subset:
            crowded = corpus.crowded(model.class_mass, model.class_mass)
            require(crowded is None, "a class has more mass in its entries than in its items")
    evidence = state.threshold_counts
    labels, thresholds = len(evidence.classes), type(evidence).none().right.shape[1]
    shapes = {evidence.right.shape, evidence.chosen.shape}
    fits = shapes == {(labels, thresholds)} and evidence.true.shape == (labels,)
    require(fits, "the arrays of its evidence have other shapes")


def _check_classes(model: Model) -> None:
    classes, form = model.classes, model.form
    listed = isinstance(classes, np.ndarray) and classes.ndim == 1
    require(listed and len(classes) > 0, "it has no list of classes")
    require(
        model.declared.shape == classes.shape, "header.declared has another length than classes"
    )
    try:
        ordered = all(bool(a < b) for a, b in pairwise(classes))
    except TypeError:
        ordered = False
    require(ordered, "its classes are not in order")
    if form.kind == "joint":
        tuples = all(isinstance(each, tuple) and len(each) == form.width for each in classes)
        fits = tuples and len(form.dtypes) == form.width
        require(fits, "its classes are not those of its targets")
    if form.kind == "indicator":
        require(len(classes) == form.width, "its labels are not those of its columns")


def _check_scale(scale: Knots | Ranks) -> None:
    if isinstance(scale, Knots):
        knots = np.array(scale.knots, dtype=np.float64)
        rising = len(knots) > 0 and np.isfinite(knots).all() and (np.diff(knots) > 0).all()
        require(bool(rising), "the knots of a number are not ascending")
    else:
        require(0 < len(scale.order) == len(set(scale.order)), "a value of an order is repeated")


def check_predictions(cascade: Cascade) -> None:
    """Raise an error if a model cannot predict: all of its weights are computed once."""
    for subset in filter(None, cascade.policy):
        cascade.scorer(subset)
    finite = bool(np.isfinite(cascade.model.frequencies).all())
    require(finite, "its class frequencies are not finite")
