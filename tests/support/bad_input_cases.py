"""Good data of each kind, the same data spoilt, and what a refusal must leave."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from stc import SparseTensorClassifier
from support.models import paper_model

NAN, INF = float("nan"), float("inf")
EITHER = (ValueError, TypeError)
Errors = type[Exception] | tuple[type[Exception], ...]
LABELS = ["p", "q", "p"]
# Good data of each kind: three items, of which tests spoil the last (number 2).
GOOD: dict[str, Any] = {
    "frame": pl.DataFrame({"color": ["red", "blue", "red"], "size": ["big", "small", "small"]}),
    "structs": pl.DataFrame({"color": ["red", "blue", "red"], "tags": [{"a": 1.0, "b": 2.0}] * 3}),
    "records": [
        {"color": "red", "tags": {"a": 1, "b": 2}},
        {"color": "blue", "tags": ["a", "b"]},
        {"color": "red", "tags": "b"},
    ],
    "array": np.array([["red", "big"], ["blue", "small"], ["red", "small"]], dtype=object),
    "documents": ["red big", "blue small", "red small"],
    "sparse": sp.csr_array([[1.0, 0, 2], [0, 1, 0], [1, 1, 0]]),
}
any_kind = pytest.mark.parametrize("kind", GOOD)


def fitted(kind: str, **params: Any) -> SparseTensorClassifier:
    """A model that knows the good data."""
    return paper_model(**params).fit(GOOD[kind], LABELS)


def state(model: SparseTensorClassifier, probe: Any) -> Any:
    """All that can be seen of a model, comparable by ==."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return sorted(name for name in vars(model) if name.endswith("_"))
    return (
        model.corpus_.rows(),
        model.classes_.tolist(),
        model.class_mass_.tolist(),
        model.n_features_in_,
        model.get_feature_names_out().tolist(),
        model.predict_proba(probe).tolist(),
        model.get_params(),
    )


@contextmanager
def refused(model: SparseTensorClassifier, kind: str, error: Errors, *words: str) -> Iterator[None]:
    """The block raises ``error``, whose message has all the words, and changes nothing."""
    before = state(model, GOOD[kind])
    with pytest.raises(error) as caught:
        yield
    for word in words:
        assert re.search(word, str(caught.value)), f"no {word!r} in: {caught.value}"
    assert state(model, GOOD[kind]) == before


@dataclass(frozen=True)
class Bad:
    """One bad call of a method that learns; what is not given is good."""

    kind: str
    words: tuple[str, ...] = ()
    X: Any = None
    y: Any = None
    weight: Any = None
    error: Errors = ValueError

    def call(self, model: SparseTensorClassifier, method: str) -> None:
        """Learn from it, or unlearn it."""
        X = GOOD[self.kind] if self.X is None else self.X
        y = LABELS if self.y is None else self.y
        getattr(model, method)(X, y, sample_weight=self.weight)


ITEM = r"\b2\b"


def spoilt_sparse(weight: float, layout: str = "csr") -> Any:
    """The good sparse data with a bad weight in column x1 of item 2."""
    dense = GOOD["sparse"].toarray()
    dense[2, 1] = weight
    return sp.coo_array(dense).asformat(layout)


def spoilt_weights(weight: Any) -> dict[str, Bad]:
    """A bad weight, everywhere a weight may be."""
    cell = {"a": 1.0, "b": weight}
    colors = ["red", "blue", "red"]
    cells = [{"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0}, cell]
    named = ("tags", ITEM)
    return {
        f"weight {weight} in {where}": bad
        for where, bad in {
            "records": Bad(
                "records", named, [*GOOD["records"][:2], {"color": "red", "tags": cell}]
            ),
            "polars": Bad("structs", named, pl.DataFrame({"color": colors, "tags": cells})),
            "pandas": Bad("structs", named, pd.DataFrame({"color": colors, "tags": cells})),
            "pyarrow": Bad("structs", named, pa.table({"color": colors, "tags": cells})),
            "array": Bad("array", ("x1", ITEM), [*GOOD["array"][:2].tolist(), ["red", cell]]),
            "csr": Bad("sparse", (r"\bx?1\b", ITEM), spoilt_sparse(weight)),
            "csc": Bad("sparse", (r"\bx?1\b", ITEM), spoilt_sparse(weight, "csc")),
            "coo": Bad("sparse", (r"\bx?1\b", ITEM), spoilt_sparse(weight, "coo")),
            "sample_weight": Bad("frame", ("sample_weight", ITEM), weight=[1, 1, weight]),
            "y": Bad("frame", ("y", ITEM), y=[{"p": 1}, {"q": 1}, {"p": 1, "q": weight}]),
        }.items()
    }


WEIGHTS = {name: bad for w in (-7.0, NAN, INF, -INF) for name, bad in spoilt_weights(w).items()}
MORE_WEIGHTS = {
    "text as a weight": Bad(
        "records", ("tags", ITEM), [*GOOD["records"][:2], {"tags": {"a": "heavy"}}], error=EITHER
    ),
    "text as sample_weight": Bad("frame", weight=["1", "1", "heavy"], error=EITHER),
    "all sample weights zero": Bad("frame", ("zero",), weight=[0, 0, 0]),
    "all sample weights zero, documents": Bad("documents", ("zero",), weight=np.zeros(3)),
    "two weights an item": Bad(
        "frame", ("sample_weight|[Ss]ample weights",), weight=np.ones((3, 2))
    ),
}
EMPTY = {
    "no records": Bad("records", X=[], y=[]),
    "no rows in polars": Bad("frame", X=GOOD["frame"][:0], y=[]),
    "no rows in pandas": Bad("frame", X=pd.DataFrame({"color": [], "size": []}), y=[]),
    "no rows in an array": Bad("array", X=np.empty((0, 2), dtype=object), y=[]),
    "no rows in a sparse array": Bad("sparse", X=sp.csr_array((0, 3)), y=[]),
    "no documents": Bad("documents", X=np.array([], dtype=str), y=[]),
    "no columns in an array": Bad("array", X=np.empty((3, 0), dtype=object)),
    "no columns in pandas": Bad("frame", X=pd.DataFrame(index=range(3))),
}
LENGTHS = {
    f"{kind}, {n} labels": Bad(kind, (r"\b3\b", rf"\b{n}\b"), y=["p"] * n)
    for kind in GOOD
    for n in (2, 4)
} | {f"{n} sample weights": Bad("frame", (r"\b3\b", rf"\b{n}\b"), weight=[1] * n) for n in (2, 4)}
Y_ITEM = (r"\b[yY]\b", ITEM)
NO_LABEL = {
    "None": ["p", "q", None],
    "NaN among texts": ["p", "q", NAN],
    "NaN": [0.0, 1.0, NAN],
    "NaN in an array": np.array([0.0, 1.0, NAN]),
    "None in an object array": np.array(["p", "q", None], dtype=object),
    "NaT": np.array(["2024-01-02", "2024-01-03", "NaT"], dtype="M8[D]"),
    "pandas NA": pd.Series(["p", "q", pd.NA], dtype="string"),
    "pandas NaN": pd.Series(["p", "q", None]),
    "pandas category": pd.Series(["p", "q", None], dtype="category"),
    "pandas Int64": pd.Series([0, 1, None], dtype="Int64"),
    "polars null": pl.Series(["p", "q", None]),
    "polars NaN": pl.Series([0.0, 1.0, NAN]),
    "pyarrow null": pa.array(["p", "q", None]),
    "no weight at all": [{"p": 1}, {"q": 1}, {}],
    "only zeros": [{"p": 1}, {"q": 1}, {"p": 0, "q": 0}],
    "weight of a missing class": [{"p": 1}, {"q": 1}, {None: 1}],
}
LABELLESS = {f"label: {name}": Bad("frame", Y_ITEM, y=y) for name, y in NO_LABEL.items()}
TARGETS = {
    "y of three dimensions": Bad("frame", y=np.zeros((3, 2, 2))),
    "y of measurements": Bad("frame", ("label",), y=[0.5, 1.25, 2.125]),
    "y of infinities": Bad("frame", y=[0.0, 1.0, INF]),
    "y of texts and numbers": Bad("frame", y=["p", 1, "q"], error=EITHER),
    "y of labels and distributions": Bad(
        "frame", (r"\b[02]\b",), y=["p", "q", {"p": 1}], error=EITHER
    ),
    "y of distributions and labels": Bad(
        "frame", (ITEM,), y=[{"p": 1}, {"q": 1}, "p"], error=EITHER
    ),
    "y of texts as weights": Bad(
        "frame", (ITEM,), y=[{"p": 1}, {"q": 1}, {"p": "much"}], error=EITHER
    ),
    "a single label": Bad("frame", y="pqp", error=EITHER),
}


class Opaque:
    """Nothing that could be a category."""


KINDS = {
    "numbers in 1-D": Bad("array", ("Reshape your data",), np.arange(3)),
    "numbers in a list": Bad("array", ("Reshape your data",), [1, 2, 3]),
    "numbers in a Series": Bad("array", X=pd.Series([1.5, 2.5, 3.5]), error=EITHER),
    "one string": Bad("documents", X="red", error=EITHER),
    "one record": Bad("records", X={"color": "red"}, error=EITHER),
    "a number": Bad("array", X=5, error=EITHER),
    "three dimensions": Bad("array", X=np.ones((3, 2, 2)), error=EITHER),
    "complex numbers": Bad("array", ("[Cc]omplex",), np.ones((3, 2)) * 1j),
    "a ragged list": Bad("array", X=[["red", "big"], ["blue", "small"], ["red"]]),
    "a number among documents": Bad("documents", (ITEM,), ["red", "blue", 5], error=EITHER),
    "a text among records": Bad("records", (ITEM,), [*GOOD["records"][:2], "red"], error=EITHER),
    "a record among texts": Bad("documents", (ITEM,), ["red", "blue", {"a": "b"}], error=EITHER),
    "an opaque cell in records": Bad(
        "records", ("color",), [*GOOD["records"][:2], {"color": Opaque()}], error=EITHER
    ),
    "an opaque cell in an array": Bad(
        "array", ("x1",), [["red", "big"], ["blue", "small"], ["red", Opaque()]], error=EITHER
    ),
    "bytes that are not text": Bad(
        "records", ("color",), [*GOOD["records"][:2], {"color": b"\xff"}]
    ),
    "two columns of one name": Bad(
        "frame", ("color",), pd.DataFrame([["red", "big"]] * 3, columns=["color", "color"])
    ),
}
# Half a surrogate pair has no UTF-8: no corpus could be written down with it in.
HALVES = {
    "half a character": Bad("records", ("color",), [*GOOD["records"][:2], {"color": "\ud800"}]),
    "half a character in a document": Bad("documents", X=["red", "blue", "\ud800"]),
}
BAD = WEIGHTS | MORE_WEIGHTS | EMPTY | LENGTHS | LABELLESS | TARGETS | KINDS | HALVES
OTHER_KINDS = [
    (one, other)
    for one in ("frame", "array", "records", "documents", "sparse")
    for other in ("frame", "array", "records", "documents", "sparse")
    if other != one and {one, other} - {"frame", "array", "records"}
]
