"""The header has one description; what is written, read, checked and documented follows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stc
from stc import SparseTensorClassifier
from stc.exceptions import ParameterTypeError
from stc.io import Archive, header_table, read_archive, to_archive
from stc.io.header import FIELDS, FORMAT, header_of, header_shape, values_of
from support.conformance import SETTINGS
from support.models import paper_model

FORMAT_PAGE = Path(__file__).parents[2] / "docs" / "format.md"


def test_the_table_in_the_docs_is_that_of_the_description() -> None:
    text = FORMAT_PAGE.read_text()
    assert header_table.table() in text
    assert header_table.updated(text) == text, "python -m stc.io.header_table docs/format.md"


def test_every_field_is_described_in_one_sentence() -> None:
    for name, field in FIELDS.items():
        assert field.meaning[0].isupper(), name
        assert field.meaning.endswith("."), name
        assert "|" not in field.meaning + field.shape.text, name


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_written_is_what_is_read(name: str) -> None:
    setting = SETTINGS[name]
    frame = setting.data()
    model = setting.model().fit(*setting.given(frame), setting.weights(frame))
    state, parameters = model.fitted_.state, model.fitted_.parameters
    header = json.loads(json.dumps(header_of(state, parameters, file=True)))
    assert list(header) == list(FIELDS)
    header_shape(file=True).check(header, "header")
    values = values_of(header)
    assert values["format"] == FORMAT
    for part in ("schema", "dimensions", "form", "scales", "interactions"):
        assert values[part] == getattr(state.model, part), part
    assert values["sets"] == state.model.policy
    assert values["roles"] == state.roles
    assert values["classes"].tolist() == state.model.classes.tolist()
    stored = header_of(state, parameters)
    assert set(header) - set(stored) == {"class_names", "entries", "order", "batches"}


def test_a_header_of_a_later_format_is_not_read() -> None:
    message = f"format {FORMAT + 1}, this version reads up to {FORMAT}"
    with pytest.raises(stc.ModelFileError, match=message) as caught:
        values_of({"format": FORMAT + 1})
    assert caught.value.hint == "upgrade stc"


def test_a_parameter_that_is_not_plain_data(tmp_path: Path) -> None:
    model = paper_model().fit([["a"]], ["x"])
    state, parameters = model.fitted_.state, model.fitted_.parameters
    with pytest.raises(ParameterTypeError, match="power: a value of type object cannot be saved"):
        header_of(state, {**parameters, "power": object()})


def conjunctions() -> SparseTensorClassifier:
    X = [{"a": a, "b": b} for a in "uv" for b in "uv"] * 3
    return paper_model(interactions=2, min_support=2).fit(X, ["x", "y"] * 6)


def ngrams() -> SparseTensorClassifier:
    X = ["one two three", "two three four"] * 3
    return paper_model(ngrams=2, min_support=2).fit(X, ["x", "y"] * 3)


@pytest.mark.parametrize("model", [conjunctions(), ngrams()], ids=["conjunctions", "n-grams"])
@pytest.mark.parametrize("value", [None, True, 5, float("inf"), "x", ["x"], ["x", 5], [["x"], "y"]])
def test_a_conjunction_that_no_model_has_is_refused(
    model: SparseTensorClassifier, value: object
) -> None:
    """It would not be among the features, and predictions would differ without a word."""
    header, entries = to_archive(model.fitted_.state, model.fitted_.parameters)
    text = json.dumps(header)
    names, values = header["interactions"]["chosen"][0]
    places = [("names", k) for k in range(len(names))] + [("values", k) for k in range(len(values))]
    read_archive(Archive(json.loads(text), entries))
    for part, number in places:
        header = json.loads(text)
        header["interactions"]["chosen"][0][part == "values"][number] = value
        with pytest.raises(stc.ModelFileError, match=r"header\.interactions"):
            read_archive(Archive(header, entries))
