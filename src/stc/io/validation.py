"""Whether what a file says can be a model: asked before anything is made of it, and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any, get_args

import numpy as np

from stc._core.cascade import Cascade
from stc._core.model import Model
from stc._core.observations import Missing
from stc._core.scales import Knots, Ranks
from stc._core.schema import KINDS, Schema
from stc._core.target import FORMS
from stc._training.state import FittedState
from stc.exceptions import ModelFileError
from stc.io.archiving import FORMAT

# A shape of plain data: what a value must be, or a word for it and a question.
Shape = Any

# The most room that the labels of a target may take.
_MOST_BYTES = 1 << 28


def _each(shape: Shape) -> Callable[[Any, str], None]:
    """A list of values of one shape."""

    def check(value: Any, where: str) -> None:
        _fits(value, list, where)
        for place, own in enumerate(value):
            _fits(own, shape, f"{where}[{place}]")

    return check


def _either(*shapes: Shape) -> Callable[[Any, str], None]:
    """One of several shapes; the error is that of the last."""

    def check(value: Any, where: str) -> None:
        for shape in shapes[:-1]:
            try:
                return _fits(value, shape, where)
            except ModelFileError:
                continue
        return _fits(value, shapes[-1], where)

    return check


def _one_of(*words: Any) -> Callable[[Any, str], None]:
    def check(value: Any, where: str) -> None:
        if value not in words:
            known = ", ".join(map(str, words))
            raise ModelFileError(f"{where} is {value!r:.80}, not one of {known}")

    return check


def _count(value: Any, where: str) -> None:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ModelFileError(f"{where} is {value!r:.80}, not a number of things")


def _positive(value: Any, where: str) -> None:
    if type(value) not in (int, float) or not 0 < value < np.inf:
        raise ModelFileError(f"{where} is {value!r:.80}, not a number above 0")


def _mapped(shape: Shape) -> Callable[[Any, str], None]:
    """An object whose values have one shape."""

    def check(value: Any, where: str) -> None:
        _fits(value, dict, where)
        for name, own in value.items():
            _fits(own, shape, f"{where}.{name}")

    return check


def _fits(value: Any, shape: Shape, where: str) -> None:
    """Refuse a value that is not of a shape."""
    if isinstance(shape, dict):
        _fits(value, dict, where)
        absent = [name for name in shape if name not in value]
        if absent:
            raise ModelFileError(f"{where} has no {absent[0]!r}")
        for name, own in shape.items():
            _fits(value[name], own, f"{where}.{name}")
    elif not isinstance(shape, type):
        shape(value, where)
    elif type(value) is not shape:
        wanted = {"str": "a text", "bool": "true or false", "dict": "an object"}
        what = wanted.get(shape.__name__, f"a {shape.__name__}")
        raise ModelFileError(f"{where} is {value!r:.80}, not {what}")


def _nothing(value: Any, where: str) -> None:
    if value is not None:
        raise ModelFileError(f"{where} is not null")


_TEXTS = _each(str)
_HEADER: dict[str, Shape] = {
    "parameters": dict,
    "schema": {
        "kind": _one_of(*KINDS),
        "names": _TEXTS,
        "named": bool,
        "closed": bool,
        "missing": _one_of(*get_args(Missing)),
        "width": _count,
    },
    "dimensions": {"names": _TEXTS, "attributes": _either(_nothing, _each(_TEXTS)), "each": bool},
    "sets": _each(_each(_count)),
    "entries": _each(_count),
    "order": _either(_nothing, _each(_count)),
    "form": {
        "kind": _one_of(*FORMS),
        "names": _TEXTS,
        "dtypes": _TEXTS,
        "width": _count,
        "container": _one_of("list", "tuple", "set", "frozenset"),
    },
    "classes": dict,
    "class_names": _mapped(_TEXTS),
    "declared": _each(bool),
    "scales": _mapped(_either({"knots": _each(_either(float, int))}, {"order": _TEXTS})),
    "interactions": {"order": _positive, "ngrams": _positive, "chosen": _either(_nothing, list)},
    "sharpness": _each(_either(_nothing, _positive)),
    "values": _either(_nothing, _mapped(list)),
    "history": _either(_nothing, _mapped(list)),
    "evidence": _each(dict),
    "warned": bool,
    "roles": {
        "targets": _TEXTS,
        "weight": _either(_nothing, str),
        "text": _either(_nothing, str),
    },
    "batches": _TEXTS,
}


def check_header(header: Any) -> None:
    """Refuse a header that cannot be one, before anything is made of it."""
    _fits(header, dict, "the header")
    _fits(header, {"format": _count}, "the header")
    if not 1 <= header["format"] <= FORMAT:
        raise ModelFileError(
            f"it is of format {header['format']}, this version reads up to {FORMAT}: upgrade stc"
        )
    _fits(header, _HEADER, "the header")
    if set(header["schema"]) != {own.name for own in fields(Schema)}:
        raise ModelFileError("the header's schema is not one")
    sets, dimensions = header["sets"], header["dimensions"]
    size, groups = len(dimensions["names"]), dimensions["attributes"]
    _ask(len(set(dimensions["names"])) == size > 0, "its dimensions have no names of their own")
    _ask(groups is None or len(groups) == size, "its dimensions are not those it names")
    _ask(groups is not None or size == 1, "its dimensions have no attributes")
    listed = [name for group in groups or () for name in group]
    _ask(set(listed) <= set(header["schema"]["names"]), "a dimension is of no attribute")
    _ask(sets[-1:] == [[]] and sets.count([]) == 1, "its last set is not that of the classes alone")
    ascending = all(sorted(set(own)) == own and max(own, default=0) < size for own in sets)
    _ask(ascending and len(set(map(tuple, sets))) == len(sets), "its sets are not of dimensions")
    several = {"sharpness": len(sets), "entries": len(sets), "evidence": 4}
    for name, wanted in several.items():
        _ask(len(header[name]) == wanted, f"its {name} are not {wanted}")
    form, names = header["form"], header["class_names"]
    columns = form["width"] if form["kind"] == "joint" else 1
    _ask(len(names) == columns > 0, "its classes are not those of its targets")
    _ask(not form["names"] or len(form["names"]) == form["width"], "its targets have other names")
    _ask(len(set(map(len, names.values()))) == 1, "its classes do not have a name each")


def _ask(right: bool, wrong: str) -> None:
    if not right:
        raise ModelFileError(f"{wrong}: it is damaged")


def check_dtypes(names: Sequence[str], count: int) -> None:
    """Refuse types of labels that are none, or that would need too much room."""
    for name in names:
        try:
            dtype = np.dtype(name)
        except TypeError:
            raise ModelFileError(f"{name!r:.80} is no type of labels") from None
        _ask(dtype.itemsize * count <= _MOST_BYTES, "its labels need too much room")
        _ask(dtype.kind in "biufcmMUSO", f"{name!r:.80} is no type of labels")


def check_learnt(learnt: FittedState) -> None:
    """Refuse a model that contradicts itself."""
    model = learnt.model
    _check_classes(model)
    for scale_of, scale in model.scales.items():
        _ask(scale_of in model.schema.names, "a scale is of no attribute")
        _check_scale(scale)
    wanted = len(model.schema.names)
    _ask(len(set(model.schema.names)) == wanted, "it has an attribute twice")
    _ask(model.schema.kind == "counts" or model.schema.width == wanted, "it has other attributes")
    text = learnt.roles.text
    _ask(text is None or model.schema.kind == "documents", "it reads a text, and was not learnt so")
    counted = model.corpora[()].used_classes
    _ask(bool((counted | model.declared).all()), "a class has no items")
    for subset, corpus in model.corpora.items():
        if subset:
            strange = corpus.crowded(model.class_mass, model.class_mass)
            _ask(strange is None, "a class has more in its entries than in its items")
    evidence = learnt.evidence
    count = len(evidence.classes)
    shapes = {evidence.right.shape, evidence.chosen.shape}
    _ask(shapes == {(count, type(evidence).none().right.shape[1])}, "its evidence is not one")
    _ask(evidence.true.shape == (count,), "its evidence is not one")


def _check_classes(model: Model) -> None:
    classes, form = model.classes, model.form
    _ask(isinstance(classes, np.ndarray) and classes.ndim == 1, "its classes are no list")
    _ask(len(classes) > 0, "it has no class")
    _ask(model.declared.shape == classes.shape, "its classes are not those it declares")
    try:
        ordered = all(bool(a < b) for a, b in pairwise(classes))
    except TypeError:
        ordered = False
    _ask(ordered, "its classes are not in order")
    if form.kind == "joint":
        tuples = all(isinstance(own, tuple) and len(own) == form.width for own in classes)
        _ask(tuples and len(form.dtypes) == form.width, "its classes are not those of its targets")
    if form.kind == "indicator":
        _ask(len(classes) == form.width, "its labels are not those of its columns")


def _check_scale(scale: Knots | Ranks) -> None:
    if isinstance(scale, Knots):
        knots = np.array(scale.knots, dtype=np.float64)
        rising = len(knots) > 0 and np.isfinite(knots).all() and (np.diff(knots) > 0).all()
        _ask(bool(rising), "the knots of a number are not ascending")
    else:
        _ask(0 < len(scale.order) == len(set(scale.order)), "an order has a value twice")


def check_answers(cascade: Cascade) -> None:
    """Refuse a model that cannot answer: all its weights are computed once."""
    for subset in filter(None, cascade.policy):
        cascade.scorer(subset)
    _ask(bool(np.isfinite(cascade.model.frequencies).all()), "its frequencies are not finite")
