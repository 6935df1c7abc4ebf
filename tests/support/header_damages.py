"""Damages to the header of a stored model, and to the parameters in it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import stc
from stc.io.json_values import from_json, to_json
from support.damaged_stores import NAME, Trial, damage, model_of

INF, NAN = math.inf, math.nan

# --- the header -----------------------------------------------------------------------------------


# Fields that may be null, or hold a text instead of it.
NULLABLE = ("values", "history", "attributes", "chosen", "weight", "text")
OBJECTS = ("schema", "dimensions", "form", "interactions", "roles")
OTHER_VALUES = [None, True, 0.5, 5, -1, NAN, INF, 2**70, "x", "", [], [[]], {}, {"x": 1}]
# Not bool, which is a number in Python.
JSON_TYPES = {bool: "boolean", int: "number", float: "number", str: "text", list: "list"}


def _json_type(value: Any) -> str:
    return "null" if value is None else JSON_TYPES.get(type(value), "object")


def _nodes(value: Any, *, deep: bool) -> Iterator[tuple[Any, Any]]:
    """Each place in the header that holds a value; the parameters are damaged elsewhere."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(pairs):
        yield value, key
        if key != "parameters" and isinstance(item, dict | list) and (deep or key in OBJECTS):
            yield from _nodes(item, deep=deep)


@damage("the header .* is not")
def header_is_not_an_object(trial: Trial) -> Any:
    text = trial.get("stc_models", "header")
    cut = text[: trial.rng.randrange(len(text))]
    strange = [cut, cut, "", "x", "[]", "null", "5", "NaN", '"x"', "[" * 100_000, "1" * 5000]
    value = trial.rng.choice([*strange, text + "}", text[1:], f"[{text}]", json.dumps(text)])
    trial.set_header(value)
    return value[:80]


@damage("header has no")
def header_is_empty(trial: Trial) -> Any:
    header = trial.header()
    value = trial.choose({}, {"format": 1}, {"parameters": header["parameters"]}, {"x": 1})
    trial.set_header(value)
    return value


@damage("header has no|header\\.\\w+ has no|entries and no schema|unknown fields")
def header_fields_missing(trial: Trial) -> Any:
    header = trial.header()
    holder, key = trial.rng.choice(list(_nodes(header, deep=False)))
    del holder[key]
    trial.set_header(header)
    return key


@damage("header\\.|parameters do not fit|its (dimensions|attributes)|shape")
def header_fields_of_another_type(trial: Trial) -> Any:
    header = trial.header()
    holder, key = trial.rng.choice(list(_nodes(header, deep=False)))
    return _changed_type(trial, header, holder, key)


@damage("header\\.|class|parameters do not fit|its (dimensions|attributes)|shape")
def header_values_of_another_type(trial: Trial) -> Any:
    header = trial.header()
    holder, key = trial.rng.choice(list(_nodes(header, deep=True)))
    tables = [
        table for name in ("values", "history") for table in (header.get(name) or {}).values()
    ]
    null = any(holder is column for column in tables)  # a step may lack a value
    # A set without phases may have a sharpness.
    trial.need(holder is not header.get("sharpness"))
    return _changed_type(trial, header, holder, key, nullable=null)


def _changed_type(
    trial: Trial, header: Any, holder: Any, key: Any, *, nullable: bool = False
) -> Any:
    before = holder[key]
    same = {_json_type(before), *(["null"] if nullable or key in NULLABLE else [])}
    same |= {"weight": {"text"}, "text": {"text"}, "chosen": {"list"}}.get(key, set())
    holder[key] = trial.rng.choice([v for v in OTHER_VALUES if _json_type(v) not in same])
    trial.set_header(header)
    return key, str(before)[:50], holder[key]


@damage("header|format|parameters|knots|columns|width")
def header_numbers(trial: Trial) -> Any:
    header = trial.header()
    places = [(header, "format")]
    if "schema" in header:
        places += [(header["schema"], "width"), (header["form"], "width")]
        places += [(header["interactions"], name) for name in ("order", "ngrams")]
        places += [(scale["knots"], 0) for scale in header["scales"].values() if "knots" in scale]
        places += [(one, 0) for one in header["sets"] if one]
    holder, key = trial.rng.choice(places)
    holder[key] = trial.choose(NAN, INF, -INF, -1, 0.5, 2**70, -(2**70), 10**30)
    knots = isinstance(holder, list) and key == 0 and len(holder) > 1
    # A knot may be any number below the next.
    trial.need(not knots or not holder[0] < holder[1])
    trial.set_header(header)
    return key, holder[key]


@damage("the header in the table stc_models was changed")
def header_edited(trial: Trial) -> Any:
    """Another valid value, without the key of the new header."""
    header = trial.header()
    if "sharpness" in header and trial.choose(True, False):
        header["sharpness"][0] = value = trial.choose(0.5, 5, 2**70)
    else:
        header["parameters"]["power"] = value = trial.choose(0.4, 1, 2.5)
    text = json.dumps(header)
    trial.need(text != trial.get("stc_models", "header"))
    trial.set_header(trial.choose(text, text.replace(": ", ":")), sealed=False)
    return value


@damage("the header in the table stc_models was changed")
def header_key_changed(trial: Trial) -> Any:
    before = trial.get("stc_models", "header_key")
    value = trial.choose(trial.rng.randbytes(16), b"", before[:15], before[::-1], before + b"\0")
    trial.update("stc_models", "header_key", value)
    return value


@damage("header.sharpness")
def sharpness_changed(trial: Trial) -> Any:
    header = trial.header()
    trial.need("sharpness" in header)
    place = trial.rng.randrange(len(header["sharpness"]))
    header["sharpness"][place] = trial.choose(NAN, INF, -INF, -1, 0, 0.0, "x", [], 2**2000)
    if trial.choose(True, False):
        header["sharpness"] = trial.choose([], header["sharpness"] * 2)
    trial.set_header(header)
    return header["sharpness"]


DTYPES = (
    "<i8", "<i4", "<f8", "<f4", "|b1", "<c16", "<M8[D]", "|S8", "<U1", "<U400000000", "|O", "|V8",
    "objects", "strange",
)  # fmt: skip


@damage("class|labels")
def classes_of_the_header(trial: Trial) -> Any:
    header = trial.header()
    trial.need("classes" in header)
    classes = from_json(header["classes"])
    name, shape, data = header["classes"]["array"]
    changes: dict[str, Callable[[], Any]] = {
        "reversed": lambda: to_json(classes[::-1].copy()),
        "repeated": lambda: to_json(np.concatenate([classes, classes])),
        "one less": lambda: to_json(classes[:-1].copy()),
        "none": lambda: to_json(classes[:0].copy()),
        "as a column": lambda: to_json(classes.reshape(-1, 1)),
        "another shape": lambda: {"array": [name, [len(classes) + 1], data]},
        "another dtype": lambda: {"array": [_other_dtype(trial, name), shape, data]},
        "as a list": lambda: to_json(classes.tolist()),
        "no data": lambda: {"array": [name, shape]},
        "of an unknown type": lambda: {trial.choose("evil", "os.system", "pickle"): "true"},
        "of another type": lambda: to_json(np.array(["no", "yes"] if name[1] != "U" else [1, 2])),
    }
    change = trial.rng.choice(list(changes))
    trial.need(len(classes) > 1)
    header["classes"] = changes[change]()
    trial.set_header(header)
    return change, header["classes"]


def _other_dtype(trial: Trial, name: str) -> str:
    # Texts may be an array of strings or of objects.
    same = "bU" if name == "objects" or name[1] == "U" else name[1]
    return str(trial.choose(*(other for other in DTYPES if other[1] not in same)))


@damage("declared|class")
def declared_changed(trial: Trial) -> Any:
    header = trial.header()
    trial.need("declared" in header)
    declared = header["declared"]
    header["declared"] = trial.choose([], declared[1:], [*declared, True], [declared])
    trial.set_header(header)
    return header["declared"]


@damage("sets?|length|feature|policy")
def sets_of_the_header(trial: Trial) -> Any:
    header = trial.header()
    trial.need("sets" in header)
    given = header["sets"]
    values = [[], [[]], given[:-1], [*given, []], [*given[:-1], [99], []], [*given[:1], *given]]
    header["sets"] = trial.rng.choice([*values, given[::-1], [[[]]], [[0, 0], *given[1:]]])
    trial.need(header["sets"] != given)
    trial.set_header(header)
    return given, header["sets"]


@damage("feature|class|entr|header|parameter|column")
def header_of_another_model(trial: Trial) -> Any:
    header = trial.header()
    trial.need("schema" in header)
    other = trial.choose("plain", "counts", "text", "several dimensions", "several labels")
    given = stored_header(other)
    what = "kind" if given["schema"]["kind"] != header["schema"]["kind"] else "names"
    trial.need(given["schema"][what] != header["schema"][what])
    trial.set_header(given)
    return trial.kind, other


@cache
def stored_header(kind: str) -> dict[str, Any]:
    with stc.open_store("sqlite:///:memory:") as store:
        store.create(NAME, model_of(kind))
        header = store._database.header(NAME)
    assert header is not None
    return header


# --- parameters -----------------------------------------------------------------------------------


WRONG_PARAMETERS: dict[str, list[Any]] = {
    "power": [0, -1, NAN, INF, "x", None, [], {}, {"float": "nan"}, 10**400],
    "balance": [-1, NAN, INF, -INF, "x", None, [1], 10**400],
    "entropy": [-0.5, NAN, INF, "x", None, []],
    "dimensions": ["x", 5, 0.5, [["never"]], {"mapping": [["a", ["never"]]]}],
    "policy": ["x", 5, [["never"]], [[["x"]]], {"mapping": []}, {"PolicyAgent": 5}],
    "phases": ["x", 5, {"PhaseLearner": {"mapping": [["evil", 1]]}}, {"mapping": [["never", 1]]}],
    "interactions": [0, -1, 0.5, "x", None, 7, 10**30],
    "min_support": [0, -1, 0.5, "x", None],
    "max_features": [-1, 0.5, "x", []],
    "ngrams": [0, -1, 0.5, "x", None, 7, 10**30],
    "continuous": ["x", 5, 0.5],
    "ordinal": ["x", 5, [], 0.5],
    "targets": [5, 0.5, {"mapping": []}],
    "label_threshold": [0, -1, 2, NAN, "x", []],
    "missing": ["x", 5, None, []],
    "tokenizer": [5, "x", [], {}, {"x": 1}, {"given": 5}],
    "max_entries": [0, -1, 0.5, "x", None],
    "scoring": ["f1", 5, []],
}


@damage("parameter")
def parameters_of_wrong_values(trial: Trial) -> Any:
    header = trial.header()
    name = trial.choose(*WRONG_PARAMETERS)
    header["parameters"][name] = value = trial.rng.choice(WRONG_PARAMETERS[name])
    # Before a model is fitted, nothing contradicts them.
    fits = [["never"]], 7, 10**30, {"mapping": [["a", ["never"]]]}, {"mapping": [["never", 1]]}
    trial.need("schema" in header or value not in fits)
    trial.set_header(header)
    return name, value


@damage("parameter")
def parameters_that_there_are_not(trial: Trial) -> Any:
    header = trial.header()
    name = trial.choose("store", "name", "evil", "progress", "__class__", "", "Power", "self")
    value = trial.choose(None, 1, "x", "sqlite:////tmp/evil.db", {"x": 1}, [])
    header["parameters"][name] = value
    trial.set_header(header)
    return name, value


@damage("parameter")
def parameters_are_no_object(trial: Trial) -> Any:
    header = trial.header()
    header["parameters"] = trial.choose(None, [], "x", 5, [["power", 0.5]], {"mapping": []})
    trial.set_header(header)
    return header["parameters"]
