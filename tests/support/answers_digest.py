"""A digest of every answer of the conformance suite: the same before and after a refactoring.

Run with `PYTHONPATH=src python tests/support/answers_digest.py` in two trees and compare the
lines: each is a SHA-256 over the exact bytes of predictions, probabilities, coverage, scores,
explanations and corpora of one kind of model, in memory, after learning more and unlearning.
"""

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import stc

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.conformance import SETTINGS, Setting


def digest(*answers: Any) -> str:
    text = hashlib.sha256()
    for answer in answers:
        for part in answer if isinstance(answer, list) else [answer]:
            if isinstance(part, pl.DataFrame):
                part = part.rows()
            exact = part.tobytes() if isinstance(part, np.ndarray) and part.dtype != object else b""
            text.update(exact or repr(part).encode())
    return text.hexdigest()


def answers(model: Any, setting: Setting, frame: pl.DataFrame) -> list[Any]:
    X, y = setting.given(frame)
    labels = model.predict(X)
    shown = labels if isinstance(labels, np.ndarray) else [sorted(own) for own in labels]
    return [
        repr(shown if isinstance(shown, list) else shown.tolist()),
        model.predict_proba(X),
        model.predict_log_proba(X),
        model.coverage(X),
        model.score(X, y, setting.weights(frame)),
        model.explain_local(X).table,
        model.explain_global().table,
        model.corpus_,
    ]


def run() -> None:
    for name, setting in SETTINGS.items():
        frame = setting.data()
        half = frame.height // 2
        model = setting.model().fit(*setting.given(frame), setting.weights(frame))
        found = digest(*answers(model, setting, frame))
        first = setting.model().fit(*setting.given(frame[:half]), setting.weights(frame[:half]))
        rest = frame[half:]
        first.partial_fit(*setting.given(rest), sample_weight=setting.weights(rest))
        more = digest(*answers(first, setting, frame))
        first.unlearn(*setting.given(rest), setting.weights(rest))
        less = digest(*answers(first, setting, frame[:half]))
        print(f"{name}: {found[:16]} {more[:16]} {less[:16]}")
    X, y = stc.load_zoo()
    tuned = stc.SparseTensorClassifierCV(random_state=1).fit(X, y)
    print("tuned:", digest(tuned.predict_proba(X), repr(tuned.best_params_))[:16])


if __name__ == "__main__":
    run()
