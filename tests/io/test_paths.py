"""What is taken as the path of a model file, and systems that lack what others have."""

import io
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stc
from stc.exceptions import ParameterError, ParameterTypeError
from stc.fitted import FittedModel

LOADERS = [stc.load, stc.SparseTensorClassifier.load, FittedModel.load]


def model() -> stc.SparseTensorClassifier:
    return stc.SparseTensorClassifier(**stc.STC_Q).fit([["a"], ["b"]], ["x", "y"])


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("kind", ["None", "BytesIO", "handle", "bytes", "number"])
def test_load_of_anything_but_a_path(load: Callable[[Any], Any], kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.stc.parquet"
    model().save(path)
    with path.open("rb") as handle:
        given = {
            "None": None,
            "BytesIO": io.BytesIO(path.read_bytes()),
            "handle": handle,
            "bytes": str(path).encode(),
            "number": 3,
        }[kind]
        with pytest.raises(ParameterTypeError, match="a path is a str or a Path, got ") as caught:
            load(given)
    assert isinstance(caught.value, TypeError)
    assert type(given).__name__ in str(caught.value)


@pytest.mark.parametrize("given", [None, io.BytesIO(), b"model.stc.parquet", 3])
def test_save_to_anything_but_a_path(given: Any) -> None:
    with pytest.raises(ParameterTypeError, match="a path is a str or a Path, got "):
        model().save(given)


def test_a_nul_in_a_path() -> None:
    with pytest.raises(ParameterError, match="a path holds no NUL"):
        model().save("a\0b")


def test_a_system_without_owners_locks_and_forks(tmp_path: Path) -> None:
    """What needs them is refused; all else works."""
    script = f"""
        import os, signal, sys
        for name in ("chown", "register_at_fork", "fork", "sched_getaffinity", "geteuid"):
            delattr(os, name)
        for name in ("SIGHUP", "siginterrupt"):
            delattr(signal, name)
        sys.modules["fcntl"] = None

        from pathlib import Path
        import stc
        from stc.cli import main

        folder = Path({str(tmp_path)!r})
        model = stc.SparseTensorClassifier(**stc.STC_Q).fit([["a"], ["b"]], ["x", "y"])
        for _ in range(2):  # a new file, and one that exists
            model.save(folder / "model.stc.parquet")
        assert stc.load(folder / "model.stc.parquet").predict([["b"]]).tolist() == ["y"]
        for kind in ("sqlite", "duckdb"):
            with stc.open_store(f"{{kind}}:///{{folder}}/{{kind}}.db") as store:
                store.create("m", model)
                store["m"].partial_fit([["c"]], ["y"])
                assert store["m"].predict([["c"]]).tolist() == ["y"]
        data, learnt = str(folder / "data.csv"), str(folder / "learnt.stc.parquet")
        Path(data).write_text("a,c\\n1,u\\n2,v\\n")
        out = ["-q", "-o", str(folder / "out.csv")]
        codes = [
            main(["fit", data, "--target", "c", "-q", "-o", learnt]),
            main(["predict", learnt, data, *out]),
            main(["merge", learnt, learnt, "-q", "-o", str(folder / "both.stc.parquet")]),
            main(["update", learnt, data]),
        ]
        print(codes)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert found.stdout == "[0, 0, 0, 3]\n", found.stderr
    assert "stc: fcntl is unavailable" in found.stderr
