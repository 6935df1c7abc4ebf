"""The facts about a model in the report."""

from stc import SparseTensorClassifier
from stc.report.card import model_card
from support.models import paper_model

X = [[a, b] for a in "uvw" for b in "uvw"] * 20
Y = [a == b for a, b in X]


def phases_in_card(model: SparseTensorClassifier) -> str:
    return model_card(model, model.fitted_.answers(X))["facts"]["Gains and phases"]


def test_repeated_rows_are_noted() -> None:
    """Rows that repeat inside a group only are left out together."""
    groups = [f"{row} {label}" for row, label in zip(X, Y, strict=True)]
    for groups_, notes in (
        (None, ["100% of the rows occur more than once: new rows may be harder"]),
        (groups, []),
    ):
        model = SparseTensorClassifier().fit(X, Y, groups=groups_)
        facts = model_card(model, model.fitted_.answers(X))["facts"]
        assert [facts[name] for name in facts if name == "Repeated rows"] == notes


def test_where_the_phases_come_from() -> None:
    model = paper_model(entropy=0).fit(X, Y)
    assert phases_in_card(model) == "none"
    model.learn_phases(X, Y)
    assert phases_in_card(model).startswith("learnt, sharpness ")
    given = paper_model(phases={True: {"x0": {"u": 0.5}}}).fit(X, Y)
    assert phases_in_card(given) == "given, sharpness 1"
