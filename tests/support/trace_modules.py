"""How many modules of stc three typical calls cross, and how often they switch between them.

Run with `python tests/support/trace_modules.py`. A module counts when one of its functions is
called. A switch is a pair of functions of different modules of which one calls the other; how
often it does so depends on the data, mostly on the number of columns, and is shown beside.
"""

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

if __name__ == "__main__":  # run alone, it finds its neighbours too
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import stc
from stc.cli import main
from support.models import paper_model


class Trace:
    """Modules entered, and calls from one to another, in the main thread."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.switches: set[tuple[CodeType, CodeType]] = set()
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        # Code of a module itself runs when it is imported, or when an annotation is evaluated.
        if event != "call" or not module.startswith("stc.") or frame.f_code.co_name == "<module>":
            return
        self.modules.add(module)
        caller = frame.f_back
        while caller is not None and not caller.f_globals.get("__name__", "").startswith("stc."):
            caller = caller.f_back
        if caller is not None and caller.f_globals["__name__"] != module:
            self.switches.add((caller.f_code, frame.f_code))
            self.calls += 1


def traced(work: Callable[[], object]) -> Trace:
    trace = Trace()
    sys.setprofile(trace)
    try:
        work()
    finally:
        sys.setprofile(None)
    return trace


def paths(folder: str) -> dict[str, Callable[[], object]]:
    """The three calls; each is run once before it is traced, so that imports do not count."""
    X, y = stc.load_zoo()
    frame = X.to_pandas()
    labels = y.to_pandas()
    csv = Path(folder, "zoo.csv")
    X.with_columns(y).write_csv(csv)
    model = str(Path(folder, "zoo.stc.parquet"))
    store = stc.open_store(f"sqlite:///{folder}/zoo.db")
    stored = store.create("zoo", paper_model())
    return {
        "fit(pandas, y)": lambda: paper_model().fit(frame, labels),
        "stc fit": lambda: main(["fit", str(csv), "--target", "class_type", "-o", model, "-q"]),
        "partial_fit with a store": lambda: stored.partial_fit(frame, labels),
    }


def report() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, work in paths(folder).items():
            with contextlib.redirect_stdout(io.StringIO()):
                work()
                trace = traced(work)
            packages = {module.split(".")[1] for module in trace.modules}
            counts = f"{len(trace.modules)} modules in {len(packages)} packages"
            print(f"{name}: {counts}, {len(trace.switches)} switches ({trace.calls} calls)")


if __name__ == "__main__":
    report()
