"""The facts about a model in the report."""

from stc import SparseTensorClassifier
from stc.report.card import model_card
from support.models import paper_model

X = [[a, b] for a in "uvw" for b in "uvw"] * 20
Y = [a == b for a, b in X]


def phases_in_card(model: SparseTensorClassifier) -> str:
    return model_card(model, model.fitted_.answers(X))["facts"]["Phases"]


def test_where_the_phases_come_from() -> None:
    model = paper_model(entropy=0).fit(X, Y)
    assert phases_in_card(model) == "none"
    model.learn_phases(X, Y)
    assert phases_in_card(model).startswith("learnt, sharpness ")
    given = paper_model(phases={True: {"x0": {"u": 0.5}}}).fit(X, Y)
    assert phases_in_card(given) == "given, sharpness 1"
