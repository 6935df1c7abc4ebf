"""The fitted model without an estimator: immutable, picklable, and free of scikit-learn."""

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from stc import SparseTensorClassifier, load_zoo
from stc.evaluation import compare
from stc.exceptions import DataError, ParameterError
from stc.fitted import FittedModel
from support.models import paper_model

X, Y = load_zoo()


@pytest.fixture
def model() -> SparseTensorClassifier:
    return paper_model().fit(X, Y)


def test_it_answers_as_the_estimator_does(model: SparseTensorClassifier) -> None:
    fitted, batch = model.fitted_, model.fitted_.observe(X)
    for method in ("predict", "predict_proba", "predict_log_proba", "coverage"):
        expected = getattr(model, method)(X)
        for items in (X, batch):  # raw and encoded
            np.testing.assert_array_equal(getattr(fitted, method)(items), expected)
    assert fitted.explain_local(X).table.equals(model.explain_local(X).table)
    assert fitted.explain_global().table.equals(model.explain_global().table)
    assert fitted.to_sql() == model.to_sql()
    assert fitted.corpus().equals(model.corpus_)


def test_it_never_changes(model: SparseTensorClassifier) -> None:
    fitted = model.fitted_
    before = fitted.predict_proba(X)
    model.partial_fit(X[:10], Y[:10]).set_params(power=0.2)
    np.testing.assert_array_equal(fitted.predict_proba(X), before)
    with pytest.raises(FrozenInstanceError):
        fitted.state = model.fitted_.state  # type: ignore[misc]


def test_the_weights_follow_the_parameters_and_are_kept(model: SparseTensorClassifier) -> None:
    first = model.fitted_
    assert model.fitted_ is first
    model.power = 0.25
    changed = model.fitted_
    assert changed is not first
    assert changed.cascade is model.fitted_.cascade
    assert changed.cascade.hyper.power == 0.25
    model.power = 0.5
    assert model.fitted_ is first


def test_what_is_changed_in_place_is_seen() -> None:
    phases = {"Mammal": {"milk": {1: 0.0}}}
    model = paper_model(phases=phases).fit(X, Y)
    before = model.predict_proba(X)
    phases["Mammal"]["milk"][1] = 2.0
    assert not np.array_equal(model.predict_proba(X), before)


def test_bad_parameters_set_later_are_refused(model: SparseTensorClassifier) -> None:
    model.power = -1
    with pytest.raises(ValueError, match="'power' parameter"):
        model.predict(X)
    model.power = 0.5
    assert model.predict(X).tolist() == paper_model().fit(X, Y).predict(X).tolist()


def test_a_pickle_holds_no_weights(model: SparseTensorClassifier) -> None:
    fitted = model.fitted_
    before = len(pickle.dumps(fitted))
    expected = fitted.predict_proba(X)
    assert len(pickle.dumps(fitted)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), expected)


def test_a_file_without_an_estimator(model: SparseTensorClassifier, tmp_path) -> None:
    path = tmp_path / "zoo.stc.parquet"
    model.fitted_.save(path)
    again = FittedModel.load(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    words = ["good fun", "bad"]
    paper_model(tokenizer=str.split).fit(words, ["+", "-"]).save(path)
    with pytest.raises(ParameterError, match="tokenizer") as refused:
        FittedModel.load(path)
    assert refused.value.path == str(path)
    assert FittedModel.load(path, tokenizer=str.split).predict(words).tolist() == ["+", "-"]


def test_no_scikit_learn_is_needed_to_predict(model: SparseTensorClassifier, tmp_path) -> None:
    path = tmp_path / "zoo.stc.parquet"
    model.save(path)
    code = (
        "import sys; from stc.fitted import FittedModel; "
        f"fitted = FittedModel.load({str(path)!r}); "
        "print(fitted.predict([{'milk': 1, 'legs': 4}]).tolist(), 'sklearn' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "['Mammal'] False\n"


def test_labels_of_another_type_are_not_compared(model: SparseTensorClassifier) -> None:
    with pytest.raises(ValueError, match=r"strings .* numbers"):
        model.score(X, np.arange(len(X)))
    target = model.fitted_.reader.target(None, Y[:3], model.fitted_.model)
    with pytest.raises(DataError, match="X has 101 items, y has 3"):
        compare(model.fitted_, model.fitted_.observe(X), target)
