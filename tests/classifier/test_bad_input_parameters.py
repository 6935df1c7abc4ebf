"""Bad parameters, and parameters that do not fit the data."""

from typing import Any

import pytest
from sklearn.exceptions import NotFittedError

from support.bad_input_cases import BAD, GOOD, LABELS, NAN, Bad, fitted, refused, state
from support.models import paper_model

HYPER = [
    *((name, value) for name in ("power", "balance", "entropy") for value in (-0.1, NAN, "much")),
    ("power", 0),
    ("power", 0.0),
    ("power", None),
]
OTHER_PARAMS = [
    *(("missing", value) for value in ("drop", None)),
    *(("tokenizer", value) for value in ("words", 3)),
    *(("interactions", value) for value in (0, -1, 1.5, "two", None)),
    *(("min_support", value) for value in (0, -1, 0.5, None)),
    *(("max_features", value) for value in (-1, 0.5, "all")),
    *(("ngrams", value) for value in (0, -1, 1.5, None, (1, 2))),
    *(("continuous", value) for value in ("age", 3, True)),
    *(("ordinal", value) for value in ("auto", ["small", "big"], 3)),
    *(("phases", value) for value in ("guess", 3)),
    *(("scoring", value) for value in ("f1", 3)),
]


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("name", "value"), [*HYPER, *OTHER_PARAMS])
def test_bad_parameters_are_refused_when_learning(name: str, value: Any, method: str) -> None:
    model = paper_model(**{name: value})
    with refused(model, "documents", ValueError, f"'{name}' parameter of SparseTensorClassifier"):
        getattr(model, method)(GOOD["documents"], LABELS)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize(("name", "value"), HYPER)
def test_bad_parameters_are_refused_at_prediction(name: str, value: Any, method: str) -> None:
    model = fitted("frame")
    before = state(model, GOOD["frame"])
    good = model.get_params()[name]
    model.set_params(**{name: value})
    with pytest.raises(ValueError, match=f"'{name}' parameter of SparseTensorClassifier"):
        getattr(model, method)(GOOD["frame"])
    assert state(model.set_params(**{name: good}), GOOD["frame"]) == before


# What asks for something that the data does not have.
MISFITS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    f"{name} of {kind}": (kind, params, words)
    for name, params, words, kinds in (
        ("conjunctions", {"interactions": 2}, ("interactions=2",), ("documents", "sparse")),
        ("numbers", {"continuous": ["size"]}, ("continuous",), ("documents", "sparse")),
        ("order", {"ordinal": {"size": ["big"]}}, ("ordinal",), ("documents", "sparse")),
        ("rows", {"ngrams": 2}, ("ngrams=2", "documents"), ("frame", "records", "array", "sparse")),
        ("unknown numbers", {"continuous": ["age"]}, ("'age'", "color"), ("frame", "records")),
        ("unknown order", {"ordinal": {"age": ["1"]}}, ("'age'", "color"), ("frame", "records")),
        ("unnamed numbers", {"continuous": ["size"]}, ("'size'", "x0"), ("array",)),
        ("words as numbers", {"continuous": ["color"]}, ("'color'", "'red'"), ("frame", "records")),
        ("half an order", {"ordinal": {"color": ["red"]}}, ("'color'", "'blue'", "1"), ("frame",)),
        (
            "conjunctions in a tensor",
            {"interactions": 2, "dimensions": "each"},
            ("interactions=2", "dimensions=None"),
            ("frame", "records", "array"),
        ),
        (
            "too many conjunctions",
            {"interactions": 2, "max_entries": 5},
            ("interactions=2", r"\b(9|13) entries", "max_entries=5"),
            ("frame", "records"),
        ),
    )
    for kind in kinds
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("kind", "params", "words"), MISFITS.values(), ids=MISFITS.keys())
def test_parameters_that_do_not_fit_the_data(
    kind: str, params: dict[str, Any], words: tuple[str, ...], method: str
) -> None:
    empty = paper_model(**params)
    with refused(empty, kind, ValueError, *words):
        getattr(empty, method)(GOOD[kind], LABELS)
    with pytest.raises(NotFittedError):
        empty.predict(GOOD[kind])


@pytest.mark.parametrize(("kind", "params", "words"), MISFITS.values(), ids=MISFITS.keys())
def test_a_model_survives_parameters_that_do_not_fit(
    kind: str, params: dict[str, Any], words: tuple[str, ...]
) -> None:
    model = fitted(kind)
    before = state(model, GOOD[kind])[:-1]
    model.set_params(**{name: value for name, value in params.items() if name != "dimensions"})
    assert state(model, GOOD[kind])[:-1] == before
    model.set_params(**params)
    with pytest.raises(ValueError, match=words[0]):
        model.fit(GOOD[kind], LABELS)
    model.set_params(**{name: paper_model().get_params()[name] for name in params})
    assert state(model, GOOD[kind])[:-1] == before


CHANGED = [
    ("frame", {"interactions": 2}),
    ("records", {"interactions": 3}),
    ("documents", {"ngrams": 2}),
]


@pytest.mark.parametrize(("kind", "params"), CHANGED)
def test_a_model_does_not_go_on_with_other_features(kind: str, params: dict[str, Any]) -> None:
    model = fitted(kind).set_params(**params)
    ((name, value),) = params.items()
    with refused(model, kind, ValueError, f"{name}=1", f"{name}={value}", "fit again"):
        model.partial_fit(GOOD[kind], LABELS)
    model.set_params(**{name: 1}).partial_fit(GOOD[kind], LABELS)


FEATURES = {kind: {"interactions": 2} for kind in ("frame", "structs", "records", "array")}
FEATURES["documents"] = {"ngrams": 2}
BAD_OF_FEATURES = {name: bad for name, bad in BAD.items() if bad.kind in FEATURES}


@pytest.mark.parametrize("bad", BAD_OF_FEATURES.values(), ids=BAD_OF_FEATURES.keys())
@pytest.mark.parametrize("method", ["partial_fit", "unlearn"])
def test_a_model_of_conjunctions_refuses_to_learn(bad: Bad, method: str) -> None:
    model = fitted(bad.kind, **FEATURES[bad.kind])
    with refused(model, bad.kind, bad.error, *bad.words):
        bad.call(model, method)
