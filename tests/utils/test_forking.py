"""Forked processes: answers without polars' threads, or an error at once."""

import multiprocessing
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import stc
from stc._input.documents import TOKEN_PATTERN, _python_tokenizer
from stc._utils import forking
from stc.exceptions import ForkedProcessError
from support.examples import many

pytestmark = [
    pytest.mark.skipif(
        "fork" not in multiprocessing.get_all_start_methods(), reason="the system does not fork"
    ),
    # Python warns of what is tested.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

# Far more than an answer takes; a child that waits for polars' threads waits forever.
SECONDS = 60
N = 300
CODES = np.arange(N) % 4
WORDS = [f"ü{code}" for code in CODES]
Y = ["u", "v", "w"] * (N // 3)
FLOATS = np.where(CODES > 2, np.nan, CODES + np.arange(N) / 7)
# A container of each kind, with values of each type; some have nulls.
DATA = {
    "records": [{"é": word, "n": int(k)} for word, k in zip(WORDS, CODES, strict=True)],
    "lists": [{"a": [word, "y"], "b": {"k": 2.0, word: 1}} for word in WORDS],
    "mixed": [{"a": k if k % 2 else "é", "b": None if k == 2 else True} for k in CODES.tolist()],
    "texts": [f"gut, é {word} don't" for word in WORDS],
    "rows": [[word, "b"] for word in WORDS],
    "objects": np.array([[word, "b"] for word in WORDS], dtype=object),
    "strings": np.array([[word, "b"] for word in WORDS]),
    "integers": np.c_[CODES, CODES + 1],
    "floats": np.c_[FLOATS, CODES.astype(float)],
    "booleans": np.c_[CODES > 1, CODES > 2],
    "sparse": sparse.csr_matrix(np.eye(4)[CODES]),
    "pandas": pd.DataFrame(
        {
            "a": [None if word == "ü1" else word for word in WORDS],
            "f": FLOATS,
            "t": pd.Timestamp("2020-01-01") + pd.to_timedelta(CODES, unit="D"),
            "c": pd.Categorical(WORDS),
        }
    ),
    "polars": pl.DataFrame(
        {
            "a": [None if word == "ü1" else word for word in WORDS],
            "i": [None if k == 1 else k for k in CODES.tolist()],
            "b": [None if k == 1 else k > 2 for k in CODES.tolist()],
            "f": pl.Series(FLOATS, nan_to_null=True),
            "l": [["u", word] for word in WORDS],
            "s": [{"p": 1.0, "q": float(k)} for k in CODES],
            "c": pl.Series(WORDS, dtype=pl.Categorical),
        }
    ).with_columns(d=pl.date(2020, 1, 1) + pl.duration(days=pl.col("i"))),
}
DATA["arrow"] = DATA["polars"].select("a", "i", "f").to_arrow()
MODELS: dict[str, stc.SparseTensorClassifier] = {}


def in_fork(function: Any, *arguments: Any) -> Any:
    """Call a function in a forked worker of a pool."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply_async(function, arguments).get(timeout=SECONDS)


def model_of(name: str, **parameters: Any) -> stc.SparseTensorClassifier:
    return stc.SparseTensorClassifier(**parameters).fit(DATA[name], Y)


def answers(name: str) -> list[Any]:
    model, few = MODELS[name], DATA[name][:20]
    return [model.predict_proba(DATA[name]), model.predict_log_proba(few), model.coverage(few)]


def accuracy(name: str) -> float:
    return MODELS[name].score(DATA[name], Y)


def learnt(name: str) -> list[Any]:
    """Fit, learn more, unlearn and choose settings in the child."""
    X, given = DATA[name], model_of(name, **stc.STC_Q)
    given.partial_fit(X, Y).unlearn(X, Y).merge(MODELS[name])
    chosen = stc.SparseTensorClassifier().fit(X, Y)
    return [given.predict_proba(X), chosen.predict_proba(X)]


@pytest.mark.parametrize("name", DATA)
def test_predictions_are_answered(name: str) -> None:
    MODELS[name] = model_of(name, **stc.STC_Q)
    for forked, ours in zip(in_fork(answers, name), answers(name), strict=True):
        np.testing.assert_array_equal(forked, ours)
    assert in_fork(accuracy, name) == accuracy(name)


@pytest.mark.parametrize("name", DATA)
def test_learning_in_memory_is_answered(name: str) -> None:
    MODELS[name] = model_of(name, **stc.STC_Q)
    for forked, ours in zip(in_fork(learnt, name), learnt(name), strict=True):
        np.testing.assert_array_equal(forked, ours)


def learnt_beyond_counts(parameters: dict[str, Any]) -> Any:
    return model_of("mixed", **parameters).predict_proba(DATA["mixed"])


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"phases": "learn"}, {"interactions": 2}])
def test_what_is_learnt_beyond_counts(parameters: dict[str, Any]) -> None:
    forked = in_fork(learnt_beyond_counts, parameters)
    np.testing.assert_array_equal(forked, learnt_beyond_counts(parameters))


PATH = ""
EXPLANATIONS: list[Any] = []
REFUSED = {
    "explain_local": lambda: MODELS["texts"].explain_local(DATA["texts"]),
    "explain_global": lambda: MODELS["texts"].explain_global(),
    "a local explanation of the parent": lambda: str(EXPLANATIONS[0]),
    "a global explanation of the parent": lambda: str(EXPLANATIONS[1]),
    "corpus_": lambda: MODELS["texts"].corpus_,
    "save": lambda: MODELS["texts"].save(f"{PATH}/again.stc.parquet"),
    "load": lambda: stc.load(f"{PATH}/model.stc.parquet"),
    "predict": lambda: MODELS["texts"].predict(f"{PATH}/data.csv"),
    "source": lambda: stc.source(f"{PATH}/data.csv"),
    "a model of a store": lambda: stc.open_store(f"sqlite:///{PATH}/models.db")["texts"],
    "lazy frame": lambda: MODELS["texts"].predict(pl.LazyFrame({"a": ["b"]})),
}


def refused(name: str) -> tuple[str, str | None]:
    try:
        REFUSED[name]()
    except ForkedProcessError as error:
        return error.message, error.hint
    return "answered", None


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_the_threads_of_polars_is_refused_at_once(name: str, tmp_path: Path) -> None:
    global PATH
    PATH = str(tmp_path)
    MODELS["texts"] = model_of("texts", **stc.STC_Q)
    MODELS["texts"].save(tmp_path / "model.stc.parquet")
    (tmp_path / "data.csv").write_text("a\nb\n")
    EXPLANATIONS[:] = MODELS["texts"].explain_local(["gut"]), MODELS["texts"].explain_global()
    _ = EXPLANATIONS[0].table, EXPLANATIONS[1].table
    with stc.open_store(f"sqlite:///{tmp_path}/models.db") as store:
        store.create("texts", MODELS["texts"])
    message, hint = in_fork(refused, name)
    assert "polars' threads" in message
    assert hint is not None
    assert "'spawn'" in hint
    assert "'forkserver'" in hint


def test_a_lock_that_a_thread_holds_is_free_in_the_child() -> None:
    model = MODELS["rows"] = stc.SparseTensorClassifier(**stc.STC_Q).fit(DATA["rows"], Y)
    model.set_params(power=0.7)  # the child computes weights, under the lock
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with model._fitted._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        forked = in_fork(answers, "rows")
    finally:
        done.set()
        thread.join()
    np.testing.assert_array_equal(forked[0], answers("rows")[0])


def test_a_process_forked_before_polars_is_used_explains() -> None:
    script = """
        import multiprocessing
        import stc

        def explained(_):
            model = stc.SparseTensorClassifier(**stc.STC_Q).fit(["good fun", "bad"], ["+", "-"])
            return str(model.explain_local(["fun"]))

        import stc.classifier  # polars is imported, its threads are not started
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.map_async(explained, [0]).get(timeout=120)[0])
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert found.stdout == "+, 1.00: because fun (100 %)\n", found.stderr


@many()
@given(st.lists(st.text() | st.text(alphabet="aé_'.-@ \n\u200d²٣\x1c") | st.none(), max_size=5))
def test_words_without_polars_threads_are_the_same(texts: list[str | None]) -> None:
    tokens = _python_tokenizer(texts)
    found = [None if text is None else list(tokens(text)) for text in texts]
    series = pl.Series(texts, dtype=pl.String)
    assert found == series.str.extract_all(TOKEN_PATTERN).to_list()


def test_where_threads_have_no_names_they_are_taken_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert forking._pool_runs()
    monkeypatch.setattr(forking, "_THREADS", "/no/such/folder")
    assert forking._pool_runs()
    monkeypatch.delitem(sys.modules, "polars")
    assert not forking._pool_runs()
