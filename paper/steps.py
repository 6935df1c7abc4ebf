"""Steps that run once: each writes its parts to a JSON file, and resumes from it."""

from __future__ import annotations

import json
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import harness

from stc._utils.progress import Progress

PACKAGES = ["sparse-tensor-classifier", "numpy", "scipy", "scikit-learn", "polars", "nltk", "lime"]
CORES = 2

Work = tuple[Callable[..., Any], tuple[Any, ...]]


def hyper_parameters(setting: Mapping[str, Any]) -> dict[str, float]:
    """Return what is recorded of a setting of the paper; the rest of it are our defaults."""
    return {name: setting[name] for name in ("power", "balance", "entropy")}


@dataclass(frozen=True)
class Step:
    """Work in named, independent parts.

    A result is reused if its settings are the same, so `settings` holds everything it depends on.
    Parts whose times are compared run one after the other (`jobs` 1). `before` creates what all
    parts need, so that no two processes create it at once. `kept` is the folder of models that
    other steps use.
    """

    name: str
    settings: dict[str, Any]
    parts: dict[str, Work] = field(repr=False)
    jobs: int = CORES
    before: Callable[[], Any] | None = None
    kept: Path | None = None

    def file(self, folder: Path) -> Path:
        """Return the file of the results."""
        return folder / f"{self.name}.json"


def forget(step: Step, folder: Path) -> None:
    """Delete the results of a step, and its models."""
    step.file(folder).unlink(missing_ok=True)
    if step.kept is not None:
        shutil.rmtree(step.kept, ignore_errors=True)


def read(file: Path) -> dict[str, Any]:
    """Read the results of a step."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _begun(step: Step, folder: Path) -> dict[str, Any]:
    """Return the results so far; none if the settings differ."""
    file = step.file(folder)
    if file.exists():
        found = read(file)
        if found["settings"] == json.loads(json.dumps(step.settings)):
            return found
    return {"settings": step.settings, "environment": {}, "wall_seconds": 0.0, "parts": {}}


def _write(file: Path, result: dict[str, Any]) -> None:
    parts = ",\n".join(
        f"  {json.dumps(key)}: {json.dumps(value, sort_keys=True)}"
        for key, value in sorted(result["parts"].items())
    )
    head = json.dumps({key: value for key, value in result.items() if key != "parts"}, indent=1)
    draft = file.with_suffix(".draft")
    # A line for each part: short to read, and a changed part is a changed line.
    draft.write_text(f'{head[:-2]},\n "parts": {{\n{parts}\n }}\n}}\n', encoding="utf-8")
    draft.replace(file)  # an interrupted run must not leave an incomplete file


def _timed(key: str, function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[str, Any]:
    with warnings.catch_warnings():
        # Small training sets lack members of a class in some fold; LIME is older than its peers.
        warnings.simplefilter("ignore")
        return key, function(*given)


def run(step: Step, folder: Path) -> dict[str, Any]:
    """Run the remaining parts of a step, and return its results."""
    folder.mkdir(parents=True, exist_ok=True)
    result = _begun(step, folder)
    left = {key: work for key, work in step.parts.items() if key not in result["parts"]}
    start = time.perf_counter()
    took_before = result["wall_seconds"]
    if left and step.before is not None:
        step.before()
    # joblib replaces processes that have grown, and warns of it.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
    with Progress(step.name) as bar, parallel_config("loky", inner_max_num_threads=1):
        finished = Parallel(n_jobs=step.jobs, return_as="generator_unordered", batch_size=1)(
            delayed(_timed)(key, *work) for key, work in left.items()
        )
        for key, value in finished:
            result["parts"][key] = value
            result["wall_seconds"] = round(took_before + time.perf_counter() - start, 1)
            result["environment"] = harness.environment(PACKAGES)
            _write(step.file(folder), result)
            bar.update(len(result["parts"]), len(step.parts), key)
    return result


def complete(step: Step, folder: Path) -> bool:
    """Return whether all parts have results with these settings."""
    return set(step.parts) <= set(_begun(step, folder)["parts"])
