"""Model files of this version, to be read by every later one, and what they answer.

`python tests/support/golden_files.py` writes those of a format that has none yet; those that are
there are never written again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":  # run alone, it finds its neighbours too
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import stc
from stc.io.header import FORMAT
from support.conformance import SETTINGS
from support.models import paper_model

FOLDER = Path(__file__).parents[1] / "io" / "golden"
KINDS = {
    "zoo": None,
    "settings": "prior, sharpness and floor",
    "phases": "learnt phases",
    "gains": "given gains",
    "tensor": "several dimensions",
    "policy": "a learnt policy",
    "conjunctions": "interactions",
    "numbers": "numbers",
    "order": "an order",
    "missing": "missing is a category",
    "targets": "several targets",
    "text": "text",
    "labels": "learnt thresholds",
}


def learnt(kind: str) -> tuple[stc.SparseTensorClassifier, Any]:
    """A model of a kind, and items to ask it about."""
    name = KINDS[kind]
    if name is None:
        X, y = stc.load_zoo()
        model = paper_model().partial_fit(X, y, batch_id="the zoo")
        return model, X
    setting = SETTINGS[name]
    frame = setting.data()
    model = setting.model().fit(*setting.given(frame), setting.weights(frame))
    return model, setting.features(frame)


def answers(model: stc.SparseTensorClassifier, items: Any) -> Any:
    """The probabilities, exactly."""
    found = model.predict_proba(items)
    arrays = found if isinstance(found, list) else [found]
    return [np.asarray(own).tolist() for own in arrays]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for kind in KINDS:
        path = FOLDER / f"format-{FORMAT}-{kind}.stc.parquet"
        if not path.exists():
            model, items = learnt(kind)
            model.save(path)
            path.with_suffix(".json").write_text(json.dumps(answers(model, items)) + "\n")
            print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
