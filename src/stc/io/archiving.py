"""A fitted state <-> plain data: a header that JSON can write, and the entries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.corpus import Corpus, Entries, Phases
from stc._core.interactions import Interactions
from stc._core.model import Model
from stc._core.scales import Knots, Ranks, Scale
from stc._core.schema import Schema
from stc._core.target import Form
from stc._core.tensor import Dimensions, Subset, Tuples
from stc._core.vocabulary import Attribute, Feature, Value, Vocabulary
from stc._input.reader import Roles
from stc._training.label_thresholds import Evidence
from stc._training.phases import HISTORY
from stc._training.policy_search import STATES
from stc._training.state import FittedState
from stc.io.archive import ENTRIES, Archive
from stc.io.plain import from_plain, to_plain

# The version of the header and of the entries.
FORMAT = 1

_CONTAINERS: dict[str, type] = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}


class SetEntries(NamedTuple):
    """The entries of one set's corpus: the row and the class of each, and its numbers."""

    rows: NDArray[np.int64]
    classes: NDArray[np.int64]
    mass: NDArray[np.float64]
    support: NDArray[np.int64]
    phase: NDArray[np.float64]


class Numbered(NamedTuple):
    """The entries of a model with their features numbered.

    Attributes
    ----------
    vocabulary, tuples
        The features.
    sets
        The entries of each set of the policy.
    """

    vocabulary: Vocabulary
    tuples: Mapping[Subset, Tuples]
    sets: Sequence[SetEntries]


def written(value: Any) -> str:
    """A plain value as JSON, always in the same words."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- to plain data ------------------------------------------------------------------------------


def archived(learnt: FittedState, parameters: Mapping[str, Any]) -> Archive:
    """All that was learnt, and the parameters it was learnt with, as plain data."""
    return Archive(header_of(learnt, parameters), entries_of(learnt.model))


def header_of(learnt: FittedState, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Everything but the numbers."""
    model = learnt.model
    return {
        "format": FORMAT,
        "parameters": {name: _parameter(name, value) for name, value in parameters.items()},
        "schema": asdict(model.schema),
        "dimensions": asdict(model.dimensions),
        "sets": [list(subset) for subset in model.policy],
        "form": _form_to_plain(model.form),
        "classes": to_plain(model.classes),
        "declared": model.declared.tolist(),
        "scales": {name: asdict(scale) for name, scale in model.scales.items()},
        "interactions": _interactions_to_plain(model.interactions),
        "sharpness": [
            None if phases is None else phases.sharpness
            for phases in map(model.phases.get, model.policy)
        ],
        "values": _frame_to_plain(learnt.values),
        "history": _frame_to_plain(learnt.history),
        "evidence": [
            to_plain(part)
            for part in (
                learnt.evidence.classes,
                learnt.evidence.right,
                learnt.evidence.chosen,
                learnt.evidence.true,
            )
        ],
        "warned": learnt.warned,
        "roles": learnt.roles._asdict(),
    }


def _parameter(name: str, value: Any) -> Any:
    if name == "tokenizer" and value is not None:
        return {"given": getattr(value, "__qualname__", type(value).__name__)}
    try:
        return to_plain(value)
    except TypeError as error:
        raise TypeError(f"{name}: {error}; a store holds plain data only") from None


def _form_to_plain(form: Form) -> dict[str, Any]:
    plain = {**vars(form), "dtypes": [dtype.str for dtype in form.dtypes]}
    return {**plain, "container": form.container.__name__}


def _interactions_to_plain(interactions: Interactions) -> dict[str, Any]:
    chosen = interactions.chosen
    listed = None if chosen is None else [[k, sorted(v, key=repr)] for k, v in chosen.items()]
    return {
        "order": int(interactions.order),
        "ngrams": int(interactions.ngrams),
        "chosen": listed,
    }


def _frame_to_plain(frame: pl.DataFrame | None) -> dict[str, Any] | None:
    if frame is None:
        return None
    return {name: to_plain(own) for name, own in frame.to_dict(as_series=False).items()}


def entries_of(model: Model) -> pl.DataFrame:
    """The numbers: a row for each entry of each set's corpus."""
    classes = pl.Series([written(to_plain(label)) for label in model.classes], dtype=pl.String)
    parts = [
        _entries_of_set(number, model.corpora[subset], feature_texts(model, subset), classes)
        for number, subset in enumerate(model.policy)
    ]
    return pl.concat(parts)


def _entries_of_set(
    number: int, corpus: Corpus, features: pl.Series, classes: pl.Series
) -> pl.DataFrame:
    mass = corpus.mass
    rows = np.repeat(np.arange(mass.shape[0]), np.diff(mass.indptr))
    angles = np.zeros(mass.nnz) if corpus.phases is None else corpus.phases.angles
    return pl.DataFrame(
        {
            "set": pl.repeat(number, mass.nnz, dtype=pl.Int32, eager=True),
            "feature": features.gather(rows),
            "class": classes.gather(mass.indices),
            "mass": mass.data,
            "support": corpus.support,
            "phase": angles,
        },
        schema=ENTRIES,
    )


def feature_texts(model: Model, subset: Subset) -> pl.Series:
    """The feature of each row of a set's corpus: a pair (attribute, value) for each dimension.

    The columns of a sparse matrix have no names: their numbers stand for them.
    """
    if not subset:
        return pl.Series(["[]"], dtype=pl.String)
    if model.schema.kind == "counts":
        return pl.Series([f"[{k}]" for k in range(model.vocabulary.size)], dtype=pl.String)
    single = [""] * model.vocabulary.size
    for attribute, known in model.vocabulary.index.items():
        name = written(attribute)
        for value, number in known.items():
            single[number] = f"[{name},{written(value)}]"
    if len(subset) == 1:
        return pl.Series([f"[{text}]" for text in single], dtype=pl.String)
    rows = model.tuples[subset].rows.tolist()
    return pl.Series(
        ["[" + ",".join([single[k] for k in row]) + "]" for row in rows], dtype=pl.String
    )


# --- from plain data ----------------------------------------------------------------------------


def restored(archive: Archive) -> FittedState:
    """All that was learnt, out of plain data; features are numbered as they first appear."""
    return learnt_of(archive.header, _model(archive.header, archive.entries))


def learnt_of(
    header: Mapping[str, Any], model: Model, batches: frozenset[str] = frozenset()
) -> FittedState:
    """All that was learnt, given what the header says beside the model."""
    if header["format"] > FORMAT:
        raise ValueError(
            f"the model is of format {header['format']}, this version reads up to {FORMAT}: "
            "upgrade stc"
        )
    right = [from_plain(part) for part in header["evidence"]]
    return FittedState(
        model,
        _frame(header["values"], STATES),
        Evidence(*right),
        header["warned"],
        _frame(header["history"], pl.Schema(HISTORY)),
        Roles(**{**header["roles"], "targets": tuple(header["roles"]["targets"])}),
        batches,
    )


def parameters_of(header: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that the model was learnt with.

    A tokenizer is code, which is not stored: it is given as text that names it.
    """
    parameters = dict(header["parameters"])
    tokenizer = parameters.pop("tokenizer", None)
    plain = {name: from_plain(value) for name, value in parameters.items()}
    return {**plain, "tokenizer": tokenizer and tokenizer["given"]}


def _frame(columns: Any, schema: pl.Schema) -> pl.DataFrame | None:
    if columns is None:
        return None
    return pl.DataFrame({name: from_plain(own) for name, own in columns.items()}, schema=schema)


def schema_of(header: Mapping[str, Any]) -> Schema:
    """The attributes of the items."""
    return Schema(**{**header["schema"], "names": tuple(header["schema"]["names"])})


def policy_of(header: Mapping[str, Any]) -> tuple[Subset, ...]:
    """The sets of dimensions that items are scored by."""
    return tuple(tuple(subset) for subset in header["sets"])


def _model(header: Mapping[str, Any], entries: pl.DataFrame) -> Model:
    return model_of(header, _numbered(header, entries))


def _numbered(header: Mapping[str, Any], entries: pl.DataFrame) -> Numbered:
    """Entries whose features and classes are texts."""
    policy = policy_of(header)
    places = _places(from_plain(header["classes"]), entries["class"])
    vocabulary, features = _features(schema_of(header), entries)
    tuples, sets = {}, []
    for number, subset in enumerate(policy):
        own = entries.filter(pl.col("set") == number)
        if len(subset) > 1:
            tuples[subset], numbers = _tuples(features, own["feature"], len(subset))
        elif subset:
            numbers = {text: own[0] for text, own in features.items() if len(own) == 1}
        else:
            numbers = {"[]": 0}
        rows, classes = _looked_up(own["feature"], numbers), _looked_up(own["class"], places)
        columns = [own[name].to_numpy() for name in ("mass", "support", "phase")]
        sets.append(SetEntries(rows, classes, *columns))
    return Numbered(vocabulary, tuples, sets)


def model_of(header: Mapping[str, Any], numbered: Numbered) -> Model:
    """The model that a header tells of, with these entries."""
    policy, classes = policy_of(header), from_plain(header["classes"])
    corpora = {}
    for subset, own, sharpness in zip(policy, numbered.sets, header["sharpness"], strict=True):
        size = numbered.vocabulary.size if subset else 1
        if len(subset) > 1:
            size = numbered.tuples[subset].size
        corpora[subset] = _corpus(own, (size, len(classes)), sharpness)
    return Model(
        schema_of(header),
        _dimensions(header["dimensions"]),
        policy,
        _form(header["form"]),
        classes,
        np.array(header["declared"], dtype=bool),
        numbered.vocabulary,
        numbered.tuples,
        corpora,
        {name: _scale(own) for name, own in header["scales"].items()},
        _interactions(header["interactions"]),
    )


def _places(classes: NDArray[Any], column: pl.Series) -> dict[str, int]:
    """Where each class is that the entries name."""
    places = {written(to_plain(label)): place for place, label in enumerate(classes)}
    strange = next((text for text in column.unique() if text not in places), None)
    if strange is not None:
        raise ValueError(f"an entry is of class {strange:.80}, which the header does not have")
    return places


def _features(schema: Schema, entries: pl.DataFrame) -> tuple[Vocabulary, dict[str, list[int]]]:
    """The vocabulary, and the number of each single feature in the features of the entries."""
    texts = entries["feature"].unique(maintain_order=True).to_list()
    if schema.kind == "counts":
        found = {text: json.loads(text) for text in texts}
        return Vocabulary({}, schema.width), found
    numbers: dict[Feature, int] = {}
    features: dict[str, list[int]] = {}
    for text in texts:
        parts = [(_tupled(attribute), _tupled(value)) for attribute, value in json.loads(text)]
        features[text] = [numbers.setdefault(part, len(numbers)) for part in parts]
    return vocabulary_of(numbers), features


def vocabulary_of(numbers: Mapping[Feature, int]) -> Vocabulary:
    """The vocabulary of features that have these numbers."""
    index: dict[Attribute, dict[Value, int]] = {}
    for (attribute, value), number in numbers.items():
        index.setdefault(attribute, {})[value] = number
    return Vocabulary(index, len(numbers))


def _tupled(own: Any) -> Any:
    return tuple(own) if isinstance(own, list) else own


def _tuples(
    features: Mapping[str, list[int]], column: pl.Series, width: int
) -> tuple[Tuples, dict[str, int]]:
    texts = column.unique(maintain_order=True).to_list()
    rows = np.array([features[text] for text in texts], dtype=np.int64).reshape(-1, width)
    return Tuples(rows), {text: place for place, text in enumerate(texts)}


def _corpus(entries: SetEntries, shape: tuple[int, int], sharpness: float | None) -> Corpus:
    rows, classes, mass, support, angles = entries
    phases = None if sharpness is None else Phases(angles, sharpness)
    counted = Entries(rows, classes.astype(np.int32), mass, support)
    return Corpus.of_entries([counted], [rows], shape, phases)


def _looked_up(column: pl.Series, numbers: Mapping[str, int]) -> NDArray[np.int64]:
    """The number of each text: one look-up for each distinct one."""
    texts = column.unique(maintain_order=True)
    codes = column.cast(pl.Enum(texts)).to_physical().to_numpy()
    found = np.array([numbers[text] for text in texts.to_list()], dtype=np.int64)
    return found[codes] if len(codes) else found


def _dimensions(plain: Mapping[str, Any]) -> Dimensions:
    groups = plain["attributes"]
    return Dimensions(
        tuple(plain["names"]), groups and tuple(map(tuple, groups)), bool(plain["each"])
    )


def _form(plain: Mapping[str, Any]) -> Form:
    return Form(
        plain["kind"],
        tuple(plain["names"]),
        tuple(map(np.dtype, plain["dtypes"])),
        plain["width"],
        _CONTAINERS[plain["container"]],
    )


def _scale(plain: Mapping[str, Any]) -> Scale:
    return Knots(tuple(plain["knots"])) if "knots" in plain else Ranks(tuple(plain["order"]))


def _interactions(plain: Mapping[str, Any]) -> Interactions:
    chosen = plain["chosen"]
    if chosen is not None:
        chosen = {tuple(names): frozenset(map(_tupled, values)) for names, values in chosen}
    return Interactions(plain["order"], chosen, plain["ngrams"])
