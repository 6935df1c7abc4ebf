"""Several targets: the joint distribution is that of one target whose classes are tuples."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from polars.testing import assert_frame_equal
from sklearn.model_selection import GridSearchCV, cross_val_score

from stc import SparseTensorClassifier
from support.models import paper_model
from support.target_cases import (
    ASKED,
    FORMS,
    ROWS,
    Form,
    N,
    Rows,
    X,
    any_estimator,
    column,
    fitted,
    object_array,
    pairs,
    pandas,
    polars,
    texts,
)

any_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


# ---------------------------------------------------------------- the plain reading


def levels(rows: Rows) -> list[list[Any]]:
    """The sorted classes of each target."""
    return [sorted(set(column(rows, t))) for t in range(len(rows[0]))]


def label(row: Sequence[Any], known: list[list[Any]]) -> str:
    """A text for a tuple of classes; texts sort as the tuples do."""
    return "".join(f"{classes.index(cell):02d}" for cell, classes in zip(row, known, strict=True))


def joined(rows: Rows) -> list[str]:
    return [label(row, levels(rows)) for row in rows]


@dataclass(frozen=True)
class Reading:
    """The same model with one target, whose classes are the combinations."""

    single: SparseTensorClassifier
    combinations: Rows

    @staticmethod
    def of(rows: Rows, params: dict[str, Any]) -> "Reading":
        return Reading(paper_model(**params).fit(X, joined(rows)), sorted(set(rows)))

    def marginals(self, proba: np.ndarray) -> list[np.ndarray]:
        """The sum over the combinations with each class of a target."""
        return [
            np.column_stack(
                [
                    proba[:, [c[t] == value for c in self.combinations]].sum(axis=1)
                    for value in classes
                ]
            )
            for t, classes in enumerate(levels(self.combinations))
        ]

    def best(self, asked: Any) -> list[list[Any]]:
        places = np.searchsorted(self.single.classes_.astype(str), self.single.predict(asked))
        return [list(self.combinations[place]) for place in places]


@any_form
@any_estimator
def test_probabilities_are_marginals_of_the_joint(form: Form, params: dict[str, Any]) -> None:
    model, reading = fitted(form, params), Reading.of(form.rows, params)
    expected = reading.marginals(reading.single.predict_proba(ASKED))
    found = model.predict_proba(ASKED)
    assert isinstance(found, list)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert_allclose(ours, theirs, atol=1e-12)
        assert_allclose(ours.sum(axis=1), 1, atol=1e-12)


@any_form
@any_estimator
def test_logarithms_of_the_marginals(form: Form, params: dict[str, Any]) -> None:
    model = fitted(form, params)
    logs = model.predict_log_proba(ASKED)
    assert isinstance(logs, list)
    with np.errstate(divide="ignore"):
        for ours, proba in zip(logs, model.predict_proba(ASKED), strict=True):
            assert_allclose(ours, np.log(proba), rtol=1e-9, atol=1e-12)


@any_form
@any_estimator
def test_predictions_are_the_joint_argmax(form: Form, params: dict[str, Any]) -> None:
    predicted = fitted(form, params).predict(ASKED)
    assert isinstance(predicted, np.ndarray)
    assert predicted.shape == (ASKED.height, len(form.rows[0]))
    assert predicted.tolist() == Reading.of(form.rows, params).best(ASKED)


@any_form
def test_the_joint_argmax_is_a_combination_seen(form: Form) -> None:
    predicted = {tuple(row) for row in fitted(form, {}).predict(ASKED).tolist()}
    assert predicted <= set(form.rows)
    assert len(predicted) > 1


def test_the_joint_argmax_is_not_the_argmax_of_each() -> None:
    y = np.array([["p", "s"]] * 4 + [["q", "t"]] * 3 + [["q", "u"]] * 3)
    model = paper_model().fit([["x"]] * 10, y)
    asked = [["new"]]
    assert model.predict(asked).tolist() == [["p", "s"]]
    assert_allclose(model.predict_proba(asked)[0], [[0.4, 0.6]])
    assert_allclose(model.predict_proba(asked)[1], [[0.4, 0.3, 0.3]])


@any_form
def test_classes(form: Form) -> None:
    model = fitted(form, {})
    assert isinstance(model.classes_, list)
    assert [classes.tolist() for classes in model.classes_] == levels(form.rows)
    assert isinstance(model.joint_classes_, np.ndarray)
    assert model.joint_classes_.tolist() == [list(row) for row in sorted(set(form.rows))]


DTYPES = {
    "array of texts": "OU",
    "object array of texts": "OU",
    "array of numbers": "i",
    "array of whole floats": "f",
    "array of texts and numbers": "O",
    "polars": "OU",
    "polars of texts and numbers": "O",
    "pandas of three": "O",
}


@pytest.mark.parametrize(("name", "kinds"), DTYPES.items())
def test_dtypes(name: str, kinds: str) -> None:
    assert fitted(FORMS[name], {}).predict(X).dtype.kind in kinds


@pytest.mark.parametrize("make", [polars, pandas])
def test_each_target_keeps_its_type(make: Callable[[Rows], Any]) -> None:
    model = paper_model().fit(X, make(ROWS))
    for t, kinds in enumerate(["OU", "i", "b"]):
        assert model.classes_[t].dtype.kind in kinds
    assert [type(cell) for cell in model.predict(X)[0].tolist()] == [str, int, bool]


@any_form
@any_estimator
def test_the_joint_table(form: Form, params: dict[str, Any]) -> None:
    model, reading = fitted(form, params), Reading.of(form.rows, params)
    table = model.predict_joint(ASKED)
    assert isinstance(table, pl.DataFrame)
    assert table.columns == ["item", *form.names, "probability"]
    proba = reading.single.predict_proba(ASKED)
    expected = {
        (item, *combination): proba[item, place]
        for item in range(ASKED.height)
        for place, combination in enumerate(reading.combinations)
    }
    found = {row[:-1]: row[-1] for row in table.rows()}
    assert found.keys() == expected.keys()
    assert table.height == len(expected)
    assert_allclose([found[key] for key in expected], list(expected.values()), atol=1e-12)


@any_form
@any_estimator
def test_the_corpus_has_a_column_a_target(form: Form, params: dict[str, Any]) -> None:
    model, reading = fitted(form, params), Reading.of(form.rows, params)
    theirs = reading.single.corpus_
    place = theirs.columns.index("class")
    names = list(form.names)
    expected = [*theirs.columns[:place], *names, *theirs.columns[place + 1 :]]
    assert model.corpus_.columns == expected
    known = levels(form.rows)
    keys = model.corpus_.select(names).rows()
    ours = model.corpus_.drop(names).with_columns(
        pl.Series("class", [label(key, known) for key in keys])
    )
    order = [name for name in theirs.columns if name not in {"mass", "support"}]
    assert_frame_equal(
        ours.select(theirs.columns).sort(order), theirs.sort(order), rel_tol=1e-12, abs_tol=1e-12
    )


@any_form
@any_estimator
def test_score_is_the_share_of_items_with_all_right(form: Form, params: dict[str, Any]) -> None:
    model = fitted(form, params)
    right = [
        ours == list(row) for ours, row in zip(model.predict(X).tolist(), form.rows, strict=True)
    ]
    assert 0 < sum(right) < N or form is FORMS["one target alike"]
    assert model.score(X, form.y) == pytest.approx(np.mean(right))
    weights = np.arange(1.0, N + 1)
    assert model.score(X, form.y, sample_weight=weights) == pytest.approx(
        np.average(right, weights=weights)
    )


@pytest.mark.parametrize("pair", [("a", "s"), ("p", "t"), ("p", "new"), ("z", "z")])
def test_a_combination_never_seen_is_not_right(pair: tuple[str, str]) -> None:
    items = [["x"], ["y"]]
    model = paper_model().fit(items, np.array([["p", "s"], ["q", "t"]]))
    assert model.score(items, np.array([["p", "s"], ["q", "t"]])) == 1
    assert model.score(items, np.array([pair, ("q", "t")])) == 0.5


@any_estimator
def test_sample_weights(params: dict[str, Any]) -> None:
    weights = np.random.default_rng(1).integers(0, 3, N)
    weighted = paper_model(**params).fit(X, object_array(pairs()), sample_weight=weights)
    copies = np.repeat(np.arange(N), weights)
    repeated = paper_model(**params).fit(X[copies], object_array(pairs())[copies])
    for ours, theirs in zip(
        weighted.predict_proba(ASKED), repeated.predict_proba(ASKED), strict=True
    ):
        assert_allclose(ours, theirs, atol=1e-9)


def test_forms_agree() -> None:
    models = [fitted(FORMS[name], {}) for name in FORMS if FORMS[name].rows == texts()]
    assert len(models) == 4
    for model in models[1:]:
        for ours, theirs in zip(
            model.predict_proba(ASKED), models[0].predict_proba(ASKED), strict=True
        ):
            assert_array_equal(ours, theirs)


def test_predict_joint_with_one_target() -> None:
    model = paper_model().fit(X, column(ROWS, 0))
    table = model.predict_joint(ASKED)
    assert table.width == 3
    assert table["item"].to_list() == np.repeat(np.arange(ASKED.height), 2).tolist()
    assert table[:, 1].to_list() == ["cold", "hot"] * ASKED.height
    assert_allclose(table["probability"].to_numpy().reshape(-1, 2), model.predict_proba(ASKED))


@any_form
def test_pickles(form: Form) -> None:
    model = fitted(form, {})
    twin = pickle.loads(pickle.dumps(model))
    assert_array_equal(twin.predict(ASKED), model.predict(ASKED))
    assert_frame_equal(twin.predict_joint(ASKED), model.predict_joint(ASKED))


def test_cross_validation() -> None:
    scores = cross_val_score(paper_model(), X, np.array(texts()), cv=3)
    assert (scores > 0.2).all()
    search = GridSearchCV(paper_model(), {"power": [0.5, 1.0]}, cv=2)
    search.fit(X, np.array(texts()))
    assert search.predict(X).shape == (N, 2)
