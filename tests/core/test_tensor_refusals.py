"""Bad dimensions and policies: the culprit is named, the model stays."""

import re
from typing import Any

import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from stc.exceptions import ParameterError, ParameterTypeError
from support.tensor_cases import (
    ASKED_RECORDS,
    CONTAINERS,
    TABLE,
    TABLE_RECORDS,
    TABLE_Y,
    build,
    refusal,
    snapshot,
)

BAD_DIMENSIONS = {
    "an unknown attribute": ([["a", "zebra"], ["c"]], ["zebra", "'a'", "'b'", "'c'"]),
    "an unknown attribute of a dict": ({"p": "a", "q": ["zebra"]}, ["zebra"]),
    "one attribute in two groups": ([["a", "b"], ["b", "c"]], ["b"]),
    "one attribute twice in a group": ([["b", "b"]], ["b"]),
    "one attribute twice, bare": ({"p": "b", "q": ["a", "b"]}, ["b"]),
    "an empty group": ([["a"], []], ["empty|no attribute|without"]),
    "an empty group of a dict": ({"p": "a", "hollow": []}, ["hollow"]),
    "no group": ([], ["dimensions"]),
    "no group of a dict": ({}, ["dimensions"]),
    "a word that is none": ("all of them", ["each"]),
    "a number": (3, ["dimensions"]),
}


@pytest.mark.parametrize(("bad", "said"), BAD_DIMENSIONS.values(), ids=BAD_DIMENSIONS.keys())
@pytest.mark.parametrize("frame", [False, True])
def test_bad_dimensions(bad: Any, said: list[str], frame: bool) -> None:
    X = pl.DataFrame(TABLE) if frame else TABLE_RECORDS
    model = build(dimensions="each").fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    message = refusal(model.set_params(dimensions=bad).fit, X, TABLE_Y)
    assert all(re.search(word, message) for word in said), message
    assert snapshot(model.set_params(dimensions="each"), ASKED_RECORDS) == before


def test_two_dimensions_of_one_name() -> None:
    X = [{"a": 1, "b": 2, "a+b": 3}]
    with pytest.raises(ValueError, match=r"two dimensions have the name 'a\+b'"):
        build(dimensions=[["a", "b"], "a+b"]).fit(X, ["A"])
    spelt = {"p": ["a", "b"], "q": "a+b"}
    assert build(dimensions=spelt).fit(X, ["A"]).policy_ == [["p", "q"], []]


@pytest.mark.parametrize("bad", [[[0, 9]], [[0], [9]], [[0, "x9"]], [[-1], [0]]])
def test_positions_that_are_not_there(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"names column (9|-1);|no column 'x9'"):
        build(dimensions=bad).fit(CONTAINERS["array"](TABLE), TABLE_Y)


@pytest.mark.parametrize("bad", [[[0], ["x0"]], [[1, 1], [0]]])
def test_one_position_twice(bad: Any) -> None:
    with pytest.raises(ParameterError, match="named twice in dimensions") as caught:
        build(dimensions=bad).fit(CONTAINERS["array"](TABLE), TABLE_Y)
    assert caught.value.column == f"x{bad[0][0]}"


@pytest.mark.parametrize("spelt", ["each", [[0], [1]], {"p": ["x0"]}], ids=str)
@pytest.mark.parametrize(
    "X",
    [["red and blue", "blue"], sparse.csr_array([[1.0, 0.0], [0.0, 2.0]])],
    ids=["text", "counts"],
)
def test_documents_and_counts_have_one_dimension(X: Any, spelt: Any) -> None:
    with pytest.raises(ValueError, match="dimensions"):
        build(dimensions=spelt).fit(X, ["A", "B"])
    assert build().fit(X, ["A", "B"]).policy_ == [["all"], []]


BAD_POLICIES = {
    "an unknown dimension": ([["a", "zebra"], ["a"]], ["zebra", "'a'", "'b'", "'c'"]),
    "a dimension twice in a set": ([["a", "b", "a"]], ["a"]),
    "a set twice": ([["a"], ["b"], ["a"]], ["a"]),
    "a set twice in another order": ([["a", "b"], ["b", "a"]], ["a", "b"]),
    "nothing before something": ([["a"], [], ["b"]], [r"\[\]"]),
    "nothing twice": ([["a"], [], []], [r"\[\]"]),
    "a word that is none": ("guess", ["learn"]),
    "a number": (3, ["policy"]),
}


@pytest.mark.parametrize(("bad", "said"), BAD_POLICIES.values(), ids=BAD_POLICIES.keys())
@pytest.mark.parametrize("act", ["fit", "predict"])
def test_bad_policies(bad: Any, said: list[str], act: str) -> None:
    good = [["a", "b"], ["a"], ["b"]]
    model = build(dimensions="each", policy=good).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    arguments = [TABLE_RECORDS] if act == "predict" else [TABLE_RECORDS, TABLE_Y]
    message = refusal(getattr(model.set_params(policy=bad), act), *arguments)
    assert all(re.search(word, message) for word in said), message
    assert snapshot(model.set_params(policy=good), ASKED_RECORDS) == before


@pytest.mark.parametrize(("bad", "said"), BAD_POLICIES.values(), ids=BAD_POLICIES.keys())
def test_a_bad_policy_learns_nothing(bad: Any, said: Any) -> None:
    model = build(dimensions="each", policy=bad)
    message = refusal(model.partial_fit, TABLE_RECORDS, TABLE_Y)
    assert all(re.search(word, message) for word in said), message
    with pytest.raises(NotFittedError):
        model.set_params(policy=None).predict(TABLE_RECORDS)


def test_an_item_half_wrong_leaves_all_sets_as_they_were() -> None:
    model = build(dimensions="each", policy=[["a", "b"], ["c"]]).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    with pytest.raises(ValueError, match=r"'c', item 1"):
        model.partial_fit([TABLE_RECORDS[0], {"a": "u", "b": "x", "c": {"1": -1}}], ["A", "B"])
    assert snapshot(model, ASKED_RECORDS) == before


@pytest.mark.parametrize("bad", [[1.5], [None], {"p": None}, {"p": [["a"]]}], ids=str)
def test_dimensions_of_other_types(bad: Any) -> None:
    with pytest.raises(ParameterTypeError, match="attributes are given by their names"):
        build(dimensions=bad).fit(TABLE_RECORDS, TABLE_Y)


@pytest.mark.parametrize("bad", [[1], [None], ["a"]], ids=str)
def test_policies_of_other_types(bad: Any) -> None:
    with pytest.raises(ParameterError, match=r"is not a list of dimensions; give a list of lists"):
        build(dimensions="each", policy=bad).fit(TABLE_RECORDS, TABLE_Y)
