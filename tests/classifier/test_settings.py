"""The settings of the paper, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import stc
from stc import SparseTensorClassifier, load_zoo

SETTINGS = {
    "STC_Q": (0.5, 1.0, 1.0),
    "STC_C": (1.0, 0.0, 1.0),
    "QUANTUM": (0.5, 1.0, 0.0),
    "CLASSICAL": (1.0, 0.0, 0.0),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_has_the_hyper_parameters_of_the_paper(name: str) -> None:
    setting: Mapping[str, Any] = getattr(stc, name)
    model = SparseTensorClassifier(**setting)
    assert (model.power, model.balance, model.entropy) == SETTINGS[name]
    assert (model.interactions, model.ngrams, model.phases) == (1, 1, None)
    assert "auto" not in model.get_params().values()


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_answers_by_the_formulas(name: str) -> None:
    """Plain loops over the formulas of the paper: single values, no sharpness."""
    p, b, h = SETTINGS[name]
    frame, labels = load_zoo()
    model = SparseTensorClassifier(**getattr(stc, name)).fit(frame, labels)
    classes, rows = model.classes_.tolist(), frame.rows()
    C: dict[tuple[str, tuple[int, Any]], float] = {}
    for row, label in zip(rows, labels, strict=True):
        for j in enumerate(row):
            C[label, j] = C.get((label, j), 0.0) + 1 / len(row)
    features = sorted({j for _, j in C})
    of_feature = {j: sum(C.get((i, j), 0.0) for i in classes) for j in features}
    of_class = {i: sum(C.get((i, j), 0.0) for j in features) for i in classes}
    H = {}
    for j in features:
        P = np.array([C.get((i, j), 0.0) / of_class[i] for i in classes])
        P = P[P > 0] / P.sum()
        H[j] = 1 + (P * np.log(P)).sum() / np.log(len(classes))
    for row, found in zip(rows[:20], model.predict_proba(frame[:20]), strict=True):
        U = np.zeros(len(classes))
        for k, i in enumerate(classes):
            for j in enumerate(row):
                B = C.get((i, j), 0.0) / (of_feature[j] ** (1 - b) * of_class[i] ** b)
                U[k] += (max(H[j], 0) ** h if h else 1) * B**p * (1 / len(row)) ** p
        expected = U ** (1 / p) / (U ** (1 / p)).sum()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_setting_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match="does not support item assignment"):
        stc.STC_Q["power"] = 1  # type: ignore[index]
