"""A fitted state as plain data and back: a header of JSON values and a table of entries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.corpus import Amplitudes, Corpus, Entries
from stc._core.model import Model
from stc._core.schema import Schema
from stc._core.tensor import Subset, Tuples
from stc._core.vocabulary import Attribute, Feature, Value, Vocabulary
from stc._training.state import FittedState
from stc._utils.forking import refuse_without_pool
from stc.exceptions import ModelFileError
from stc.io.columns import NUMBERS
from stc.io.header import as_tuple, header_of, values_of
from stc.io.json_values import json_text, to_json

# A row for each entry of the corpus of each set of dimensions. Feature and class are JSON texts, so
# that `a` + `x: y` and `a: x` + `y`, the number 1 and the string "1" remain distinct.
ENTRIES = pl.Schema(
    {
        "set": pl.Int32(),  # index in the header's sets of dimensions
        "feature": pl.String(),
        "class": pl.String(),
        **NUMBERS,
    }
)
# The feature of the entries of the empty set, which hold the classes alone.
OF_CLASSES = "[]"


class Archive(NamedTuple):
    """A model as plain data.

    Attributes
    ----------
    header
        Everything but the entries, as `json.dumps` can write it.
    entries
        The entries, in the columns of ENTRIES, in any order.
    """

    header: dict[str, Any]
    entries: pl.DataFrame


class NumberedEntries(NamedTuple):
    """The entries of a model, with numbers for the features.

    Attributes
    ----------
    vocabulary, tuples
        The features.
    sets
        The entries of each set of the policy, with the gain and the phase of each.
    """

    vocabulary: Vocabulary
    tuples: Mapping[Subset, Tuples]
    sets: Sequence[tuple[Entries, Amplitudes]]


# --- to plain data ------------------------------------------------------------------------------


def to_archive(state: FittedState, parameters: Mapping[str, Any]) -> Archive:
    """Return a fitted state, and the parameters of its estimator, as plain data."""
    return Archive(header_of(state, parameters), entries_of(state.model))


def entries_of(model: Model) -> pl.DataFrame:
    """Return the entries of the corpora of all sets, in the columns of ENTRIES."""
    refuse_without_pool()
    classes = pl.Series([json_text(to_json(label)) for label in model.classes], dtype=pl.String)
    parts = []
    for number, subset in enumerate(model.policy):
        corpus = model.corpora[subset]
        mass = corpus.mass
        rows = np.repeat(np.arange(mass.shape[0]), np.diff(mass.indptr))
        amplitudes = corpus.amplitudes or Amplitudes.neutral(mass.nnz)
        columns = {
            "set": pl.repeat(number, mass.nnz, dtype=pl.Int32, eager=True),
            "feature": _feature_texts(model, subset).gather(rows),
            "class": classes.gather(mass.indices),
            "mass": mass.data,
            "support": corpus.support,
            "gain": amplitudes.gains,
            "phase": amplitudes.angles,
        }
        parts.append(pl.DataFrame(columns, schema=ENTRIES))
    return pl.concat(parts)


def _feature_texts(model: Model, subset: Subset) -> pl.Series:
    """Return the feature of each row of a set's corpus: an (attribute, value) per dimension.

    A column of a sparse matrix, which has no name, is its number.
    """
    if not subset:
        return pl.Series([OF_CLASSES], dtype=pl.String)
    if model.schema.kind == "counts":
        return pl.Series([f"[{k}]" for k in range(model.vocabulary.size)], dtype=pl.String)
    pairs = [""] * model.vocabulary.size
    for attribute, numbers in model.vocabulary.index.items():
        name = json_text(attribute)
        for value, number in numbers.items():
            pairs[number] = f"[{name},{json_text(value)}]"
    rows = [[k] for k in range(len(pairs))]
    if len(subset) > 1:
        rows = model.tuples[subset].rows.tolist()
    texts = ["[" + ",".join([pairs[k] for k in row]) + "]" for row in rows]
    return pl.Series(texts, dtype=pl.String)


# --- from plain data ----------------------------------------------------------------------------


def from_archive(archive: Archive) -> FittedState:
    """Return the fitted state of an archive; features are numbered by first appearance."""
    values = values_of(archive.header)
    return state_of(values, _numbered(values, archive.entries))


def state_of(values: Mapping[str, Any], entries: NumberedEntries) -> FittedState:
    """Return the fitted state with the values of a header and these entries."""
    return FittedState(
        model=_model_of(values, entries),
        policy_values=values["values"],
        threshold_counts=values["evidence"],
        warned=values["warned"],
        phase_history=values["history"],
        roles=values["roles"],
        chosen=values["chosen"],
        choices=values["choices"],
        loo=values["loo"],
        batches=values.get("batches", frozenset()),
    )


def _model_of(values: Mapping[str, Any], entries: NumberedEntries) -> Model:
    corpora = {}
    sets = zip(values["sets"], entries.sets, values["sharpness"], strict=True)
    for subset, (counted, amplitudes), sharpness in sets:
        size = entries.vocabulary.size if subset else 1
        if len(subset) > 1:
            size = entries.tuples[subset].size
        shape = size, len(values["classes"])
        used = None if sharpness is None else replace(amplitudes, sharpness=sharpness)
        corpora[subset] = Corpus.of_entries([counted], [counted.codes], shape, used)
    same = ("schema", "dimensions", "form", "classes", "declared", "scales", "interactions")
    return Model(
        policy=values["sets"],
        vocabulary=entries.vocabulary,
        tuples=entries.tuples,
        corpora=corpora,
        **{name: values[name] for name in same},
    )


def _numbered(values: Mapping[str, Any], entries: pl.DataFrame) -> NumberedEntries:
    """Replace the texts of features and classes by numbers."""
    class_numbers = {json_text(to_json(label)): k for k, label in enumerate(values["classes"])}
    unknown = next((text for text in entries["class"].unique() if text not in class_numbers), None)
    if unknown is not None:
        raise ModelFileError(f"an entry has the class {unknown:.80}, which is not in the header")
    vocabulary, parts = _features(values["schema"], entries)
    tuples, sets = {}, []
    for number, subset in enumerate(values["sets"]):
        rows = entries.filter(pl.col("set") == number)
        if len(subset) > 1:
            texts = rows["feature"].unique(maintain_order=True).to_list()
            table = np.array([parts[text] for text in texts], dtype=np.int64)
            tuples[subset] = Tuples(table.reshape(-1, len(subset)))
            feature_numbers = {text: k for k, text in enumerate(texts)}
        elif subset:
            feature_numbers = {text: part[0] for text, part in parts.items() if len(part) == 1}
        else:
            feature_numbers = {OF_CLASSES: 0}
        features = _looked_up(rows["feature"], feature_numbers)
        classes = _looked_up(rows["class"], class_numbers)
        mass, support, gains, angles = (rows[name].to_numpy() for name in NUMBERS)
        sets.append((Entries(features, classes, mass, support), Amplitudes(gains, angles)))
    return NumberedEntries(vocabulary, tuples, sets)


def _features(schema: Schema, entries: pl.DataFrame) -> tuple[Vocabulary, dict[str, list[int]]]:
    """Return the vocabulary, and for the text of each feature the numbers of its parts."""
    texts = entries["feature"].unique(maintain_order=True).to_list()
    if schema.kind == "counts":
        return Vocabulary({}, schema.width), {text: json.loads(text) for text in texts}
    numbers: dict[Feature, int] = {}
    parts: dict[str, list[int]] = {}
    for text in texts:
        pairs = [(as_tuple(attribute), as_tuple(value)) for attribute, value in json.loads(text)]
        parts[text] = [numbers.setdefault(pair, len(numbers)) for pair in pairs]
    return vocabulary_of(numbers), parts


def vocabulary_of(numbers: Mapping[Feature, int]) -> Vocabulary:
    """Return the vocabulary of features with these numbers."""
    index: dict[Attribute, dict[Value, int]] = {}
    for (attribute, value), number in numbers.items():
        index.setdefault(attribute, {})[value] = number
    return Vocabulary(index, len(numbers))


def _looked_up(column: pl.Series, numbers: Mapping[str, int]) -> NDArray[np.int64]:
    """Return the number of each text, with one look-up for each distinct text."""
    texts = column.unique(maintain_order=True)
    codes = column.cast(pl.Enum(texts)).to_physical().to_numpy()
    found = np.array([numbers[text] for text in texts.to_list()], dtype=np.int64)
    return found[codes] if len(codes) else found
