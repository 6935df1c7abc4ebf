"""Phases and theta that make no sense are refused in words."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from stc import PhaseLearner
from stc.exceptions import ParameterError, ParameterTypeError
from support.phase_cases import LABELS_OF, PLAIN, ROWS, model

BAD_PHASES = [
    ({"never": {"x0": {"u": 1.0}}}, ValueError, "'never'"),
    ({"A": {"never": {"u": 1.0}}}, ValueError, "'never'"),
    ({"A": {"x0": {"u": "left"}}}, TypeError, "'left'"),
    ({"A": {"x0": {"u": "0.5"}}}, TypeError, "'0.5'"),
    ({"A": {"x0": {"u": None}}}, TypeError, "'u'"),
    ({"A": {"x0": {"u": math.nan}}}, ValueError, "'u'"),
    ({"A": {"x0": {"u": -math.inf}}}, ValueError, "finite"),
    ({"A": {"x0": 1.0}}, TypeError, "'x0'"),
    ({"A": [1.0, 2.0]}, TypeError, "phases"),
    (np.zeros((3, 3)), ValueError, r"\(3, 3\).*\(3, 2\)"),
    (np.zeros(3), ValueError, "shape"),
    (np.zeros((3, 1)), ValueError, "shape"),
    (np.zeros((1, 2)), ValueError, "shape"),
    ([], ValueError, "shape"),
    ([["a", "b"]] * 3, TypeError, "phases"),
    ([["0.5", "0.5"]] * 3, TypeError, "phases"),
    (np.full((3, 2), np.nan), ValueError, "finite"),
    (np.full((3, 2), np.inf), ValueError, "finite"),
    ("lern", ValueError, "'phases'"),
    (3, ValueError, "'phases'"),
]


@pytest.mark.parametrize(("phases", "kind", "words"), BAD_PHASES)
def test_bad_phases_are_told(phases: Any, kind: type[Exception], words: str) -> None:
    fitted = model(PLAIN).fit(ROWS, LABELS_OF)
    expected = fitted.predict_proba(ROWS)
    fitted.set_params(phases=phases)
    for ask in (
        fitted.predict_proba,
        fitted.predict,
        fitted.explain_local,
        fitted.predict_log_proba,
    ):
        with pytest.raises(kind, match=words):
            ask(ROWS)
    np.testing.assert_array_equal(fitted.set_params(phases=None).predict_proba(ROWS), expected)


@pytest.mark.parametrize(
    ("by_attribute", "column"),
    [
        ({"never": {"u": 1.0}}, "never"),
        ({"x0": 1.0}, "x0"),
        ({"x1": {"v": "left"}}, "x1"),
        ({"x1": {"v": math.nan}}, "x1"),
        ([1.0, 2.0], None),
    ],
)
def test_an_error_in_the_phases_of_an_attribute_has_its_column(
    by_attribute: Any, column: str | None
) -> None:
    fitted = model(PLAIN).fit(ROWS, LABELS_OF).set_params(phases={"A": by_attribute})
    with pytest.raises((ParameterError, ParameterTypeError)) as caught:
        fitted.predict(ROWS)
    assert caught.value.column == column


def test_bad_parameters_of_phases_are_told_by_fit() -> None:
    for phases in ("lern", 3, PhaseLearner):
        with pytest.raises(ValueError, match="'phases'"):
            model(phases=phases).fit(ROWS, LABELS_OF)


def test_the_class_frequencies_have_no_phases() -> None:
    fitted = model(PLAIN, policy=[[]], phases={"A": {"x0": {"u": 1.0}}}).fit(ROWS, LABELS_OF)
    np.testing.assert_array_equal(fitted.predict_proba(ROWS), [[0.5, 0.5]] * 2)


def test_phases_can_be_given_for_one_dimension_only() -> None:
    fitted = model(dimensions="each", phases={"A": {"x0": {"u": 1.0}}}).fit(ROWS, LABELS_OF)
    with pytest.raises(ValueError, match="one dimension"):
        fitted.predict(ROWS)
    assert fitted.set_params(phases={}).predict(ROWS).tolist() == LABELS_OF


BAD_THETA = [
    ([[0.0, 0.0]], ValueError, r"theta"),
    ([[0.0], [0.0]], ValueError, r"\(2, 1\).*\(2, 2\)"),
    (np.zeros((2, 3)), ValueError, "theta"),
    (3.0, ValueError, "theta"),
    ([[0.0, math.nan], [0.0, 0.0]], ValueError, "column 'x1', item 0: .*theta.*finite"),
    ([[0.0, 0.0], [math.inf, 0.0]], ValueError, "column 'x0', item 1: .*theta.*finite"),
    ([["left", 0.0], [0.0, 0.0]], TypeError, "theta"),
    ([["0.5", "0.0"], ["0.0", "0.0"]], TypeError, "theta"),
    ([{"x0": 1.0}], ValueError, "theta has 1 items, X has 2"),
    ([{"x0": "left"}, {}], TypeError, "column 'x0': .*theta.*number"),
    ([{"x0": "0.5"}, {}], TypeError, "column 'x0': .*theta.*number"),
    ([{"x0": math.nan}, {}], ValueError, "column 'x0', item 0: .*theta.*finite"),
    ([{"x0": 1.0}, 3.0], TypeError, "theta"),
    ("left", TypeError, "theta"),
]


@pytest.mark.parametrize(("theta", "kind", "words"), BAD_THETA)
def test_bad_theta_is_told(theta: Any, kind: type[Exception], words: str) -> None:
    fitted = model(PLAIN).fit(ROWS, LABELS_OF)
    expected = fitted.predict_proba(ROWS)
    asks = (fitted.predict, fitted.predict_proba, fitted.predict_log_proba, fitted.explain_local)
    for ask in (*asks, fitted.predict_joint):
        with pytest.raises(kind, match=words):
            ask(ROWS, theta=theta)
    np.testing.assert_array_equal(fitted.predict_proba(ROWS), expected)


@pytest.mark.parametrize(
    ("theta", "kind", "words"),
    [
        ([{"to": 1.0}], ValueError, "theta has 1 items, X has 2"),
        ({"to": 1.0}, TypeError, "theta"),
        (3.0, TypeError, "theta"),
        ([1.0, 2.0], TypeError, "theta"),
        ([{"to": "left"}, {}], TypeError, "theta"),
        ([{}, {"or": math.nan}], ValueError, "item 1: .*theta.*finite"),
    ],
)
def test_bad_theta_of_documents_is_told(theta: Any, kind: type[Exception], words: str) -> None:
    fitted = model(PLAIN).fit(["to be", "or not"], LABELS_OF)
    with pytest.raises(kind, match=words):
        fitted.predict(["to be", "or not"], theta=theta)


@pytest.mark.parametrize(
    ("theta", "kind", "words"),
    [
        (np.zeros((2, 3)), ValueError, r"\(2, 3\).*\(2, 2\)"),
        (sparse.csr_array((3, 2)), ValueError, r"\(3, 2\).*\(2, 2\)"),
        (np.full((2, 2), np.nan), ValueError, "item 0: .*theta.*finite"),
        ([["left", "right"]] * 2, TypeError, "theta"),
    ],
)
def test_bad_theta_of_counts_is_told(theta: Any, kind: type[Exception], words: str) -> None:
    X = sparse.csr_array(np.eye(2))
    fitted = model(PLAIN).fit(X, LABELS_OF)
    with pytest.raises(kind, match=words):
        fitted.predict(X, theta=theta)


def test_a_frame_of_theta_needs_every_column_of_x() -> None:
    X = pd.DataFrame(ROWS, columns=["a", "b"])
    fitted = model(PLAIN).fit(X, LABELS_OF)
    with pytest.raises(ValueError, match="theta has no column 'b'"):
        fitted.predict(X, theta=pd.DataFrame({"a": [0.0, 1.0]}))
