"""The header has one description; what is written, read, checked and documented follows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stc
from stc import SparseTensorClassifier
from stc.exceptions import ParameterTypeError
from stc.io import header_table
from stc.io.header import FIELDS, FORMAT, SHAPE, header_of, values_of
from support.conformance import SETTINGS

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
    SHAPE.check(header, "header")
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
    with pytest.raises(stc.ModelFileError, match="format 2, this version reads up to 1") as caught:
        values_of({"format": FORMAT + 1})
    assert caught.value.hint == "upgrade stc"


def test_a_parameter_that_is_not_plain_data(tmp_path: Path) -> None:
    model = SparseTensorClassifier().fit([["a"]], ["x"])
    state, parameters = model.fitted_.state, model.fitted_.parameters
    with pytest.raises(ParameterTypeError, match="power: a value of type object cannot be saved"):
        header_of(state, {**parameters, "power": object()})
