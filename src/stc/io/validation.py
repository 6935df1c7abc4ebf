"""Checks of a stored model: of its header before it is used, of the model afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from stc.io.header import check_format, header_shape, upgraded
from stc.io.shapes import COUNT, object_with

# The most memory that the labels of a target may take.
_MAX_BYTES = 1 << 28


def damaged(message: str) -> ModelFileError:
    """Return the error of a file that no version of stc has written."""
    return ModelFileError(f"{message}: it is damaged")


@contextmanager
def damage_as_error() -> Iterator[None]:
    """Raise every error in reading a model as a ModelFileError.

    A model may be wrong in ways that no check foresees: these are errors of the model, too.
    """
    try:
        yield
    except (MemoryError, OSError):
        raise
    except ModelFileError as error:
        raise _load_error(f"{error.message:.300}", error.hint) from None
    except Exception as error:
        cause = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise _load_error(f"it is damaged ({cause:.200})") from error
    except BaseException as error:
        # A panic in the Rust code of polars is not an Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise _load_error("its rows cannot be decoded") from None


def _load_error(cause: str, hint: str | None = None) -> ModelFileError:
    return ModelFileError(f"cannot be loaded as a model: {cause}".replace("\n", " "), hint=hint)


def require(condition: bool, message: str) -> None:
    """Raise the error of a damaged file unless a condition holds."""
    if not condition:
        raise damaged(message)


def check_header(header: Any, *, file: bool) -> None:
    """Raise an error if a header is not one, or its fields contradict each other."""
    object_with(format=COUNT).check(header, "header")
    check_format(header)
    header = upgraded(header)
    header_shape(file).check(header, "header")
    _check_fields(header)
    if file:
        _check_class_names(header)


def _check_fields(header: dict[str, Any]) -> None:
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
    for name, length in {"sharpness": len(sets), "evidence": 4}.items():
        require(len(header[name]) == length, f"header.{name} does not have length {length}")
    form = header["form"]
    named = not form["names"] or len(form["names"]) == form["width"]
    require(named, "its targets have other names")
    check_dtypes(form["dtypes"], len(header["declared"]))


def _check_class_names(header: dict[str, Any]) -> None:
    form, class_names, sets = header["form"], header["class_names"], header["sets"]
    fits = len(header["entries"]) == len(sets)
    require(fits, f"header.entries does not have length {len(sets)}")
    columns = form["width"] if form["kind"] == "joint" else 1
    require(len(class_names) == columns > 0, "its classes are not those of its targets")
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


def _check_chosen(chosen: Mapping[str, float]) -> None:
    """Raise an error if a chosen setting is not valid."""
    for name, value in chosen.items():
        positive = value > 0 if name in ("power", "sharpness") else value >= 0
        below = value < (1 if name == "floor" else sys.float_info.max)
        require(positive and below, f"the setting {name} was chosen to be {value!r:.40}")


def check_state(state: FittedState) -> None:
    """Raise an error if a fitted state contradicts itself."""
    model, schema = state.model, state.model.schema
    _check_classes(model)
    for attribute, scale in model.scales.items():
        require(attribute in schema.names, "a scale has an unknown attribute")
        _check_scale(scale)
    _check_interactions(model)
    count = len(schema.names)
    require(len(set(schema.names)) == count, "an attribute is repeated")
    require(schema.kind == "counts" or schema.width == count, "its width is not that of its names")
    text = state.roles.text is None or schema.kind == "documents"
    require(text, "it has a text column and did not learn from documents")
    counted = model.corpora[()].used_classes
    require(bool((counted | model.declared).all()), "a class has no items")
    for subset, corpus in model.corpora.items():
        if subset:
            crowded = corpus.crowded(model.class_mass)
            require(crowded is None, "a class has more mass in its entries than in its items")
    _check_chosen(state.chosen)
    evidence = state.threshold_counts
    labels, thresholds = len(evidence.classes), type(evidence).none().right.shape[1]
    shapes = {evidence.right.shape, evidence.chosen.shape}
    fits = shapes == {(labels, thresholds)} and evidence.true.shape == (labels,)
    require(fits, "the arrays of its evidence have other shapes")
    for counts in (evidence.right, evidence.chosen, evidence.true):
        valid = counts.dtype == np.float64 and np.isfinite(counts).all() and (counts >= 0).all()
        require(bool(valid), "its evidence is not made of counts")


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


def _check_interactions(model: Model) -> None:
    """Raise an error if a chosen conjunction is not one of values of attributes, or of words."""
    for names, values in (model.interactions.chosen or {}).items():
        known = set(names) <= set(model.schema.names)
        require(known, "a conjunction in header.interactions has an unknown attribute")
        sizes = {len(names)} if names else range(2, model.interactions.ngrams + 1)
        valid = all(
            isinstance(value, tuple)
            and len(value) in sizes
            and all(isinstance(part, str | None) for part in value)
            for value in values
        )
        require(valid, "a conjunction in header.interactions does not consist of values")


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
