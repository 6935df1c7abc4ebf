"""`make fuzz`: every target runs, and a finding is shown with the line that repeats it."""

import math
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support import fuzz


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_a_target_runs(target: str) -> None:
    command = [sys.executable, fuzz.__file__, "--target", target, "--seed", "1", "--trials", "2"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert found.stdout == f"seed 1\n{target}: 2\n", found.stdout + found.stderr
    assert found.returncode == 0


@pytest.mark.parametrize(
    "error", [RuntimeError("not in words"), AssertionError("a NaN"), BaseException("a panic")]
)
def test_a_finding_is_shown_and_repeated(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[float] = []

    def failing(rng: random.Random, _: Path) -> None:
        tried.append(rng.random())
        if len(tried) > 2:
            raise error

    monkeypatch.setitem(fuzz.TARGETS, "failing", failing)
    assert fuzz.run(60, 5, ["failing"], 3) == 1
    shown = capsys.readouterr().out
    assert f"FINDING failing: {type(error).__name__} in test_fuzz.py" in shown
    assert "again: python tests/support/fuzz.py --target failing --seed 7 --trials 1\n" in shown
    assert fuzz.run(60, 7, ["failing"], 1) == 1
    assert tried[-1] == tried[-2]  # the same input


class Wrong:
    """A model with probabilities as they must not be."""

    def __init__(self, proba: list[float]) -> None:
        self.proba = np.array([proba])

    def predict_proba(self, _: object) -> np.ndarray:
        return self.proba

    def predict_log_proba(self, _: object) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.log(self.proba)

    def coverage(self, _: object) -> np.ndarray:
        return np.ones(1)


@pytest.mark.parametrize("proba", [[math.nan, 1.0], [0.5, 0.4], [1.5, -0.5], [math.inf, 0.0]])
def test_wrong_probabilities_are_findings(proba: list[float]) -> None:
    fuzz.check_probabilities(Wrong([0.5, 0.5]), None)
    with pytest.raises(AssertionError):
        fuzz.check_probabilities(Wrong(proba), None)
