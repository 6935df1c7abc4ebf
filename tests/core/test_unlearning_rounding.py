"""Unlearning after weights that differ by many powers of ten: exact, or refused truthfully."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc import NeverLearntError, SparseTensorClassifier
from support.examples import many
from support.models import paper_model


def masses(model: SparseTensorClassifier) -> dict[tuple[Any, ...], float]:
    """The counts of values, and those of classes."""
    classes = zip(model.classes_.tolist(), model.class_mass_.tolist(), strict=True)
    values = {row[:3]: row[3] for row in model.corpus_.iter_rows()}
    return {**values, **{(label,): mass for label, mass in classes}}


@pytest.mark.parametrize("large", [1e15, 1e16, 1e20, 1e99])
@pytest.mark.parametrize("small", [1.3, 0.1, 1e-20])
def test_what_rounding_has_lost_is_refused(large: float, small: float) -> None:
    model = paper_model().fit([["a"], ["a"], ["b"]], ["p", "p", "q"], [large, small, 1.0])
    before = masses(model)
    words = "cannot unlearn: x0=a and class 'p' would be left with less than 1e-11"
    with pytest.raises(NeverLearntError, match=words):
        model.unlearn([["a"]], ["p"], [large])
    assert masses(model) == before
    model.unlearn([["a"]] * 2, ["p"] * 2, [large, small])  # both, of which nothing is left
    assert masses(model) == {("x0", "b", "q"): 1.0, ("q",): 1.0}


@pytest.mark.parametrize("large", [1e9, 1e12, 1e15])
def test_integers_are_exact(large: float) -> None:
    model = paper_model().fit([["a"], ["a"], ["b"]], ["p", "p", "q"], [large, 1.0, 1.0])
    model.unlearn([["a"]], ["p"], [large])
    assert set(masses(model).values()) == {1.0}
    with pytest.raises(NeverLearntError, match="x0=a and class 'p' would be left with"):
        model.partial_fit([["a"]], ["p"]).unlearn([["a"]], ["p"], [2.0])
    with pytest.raises(NeverLearntError, match="x0=a and class 'p' were learnt with other weights"):
        model.unlearn([["a"]], ["p"], [3.0])


ITEMS = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from("cd"),
    st.sampled_from("pq"),
    st.floats(1.01, 9, exclude_min=True),
    st.integers(-99, 98),
)


@many()
@given(st.lists(ITEMS, min_size=2, max_size=8), st.data())
def test_unlearning_is_exact_or_refused(items: list[Any], draws: st.DataObject) -> None:
    X, y = [[a, b] for a, b, *_ in items], [label for *_, label, _, _ in items]
    w = [number * 10.0**exponent for *_, number, exponent in items]
    cut = draws.draw(st.integers(1, len(items) - 1))
    model = paper_model().fit(X, y, w)
    before = masses(model)
    rest = masses(paper_model().fit(X[cut:], y[cut:], w[cut:]))
    # Nothing is lost of a sum of which more than 1e-10 is left, and nothing said of less.
    if all(mass > 1e-10 * before[entry] for entry, mass in rest.items()):
        model.unlearn(X[:cut], y[:cut], w[:cut])
        assert masses(model) == pytest.approx(rest, rel=1e-4)
    elif any(mass < 1e-12 * before[entry] for entry, mass in rest.items()):
        with pytest.raises(NeverLearntError, match="less than 1e-11 of their mass"):
            model.unlearn(X[:cut], y[:cut], w[:cut])
        assert masses(model) == before
