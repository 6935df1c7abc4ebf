"""Why and why not: all follows from the prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from stc import Contrast, LocalExplanation
from stc.exceptions import ParameterError
from stc.explain import Answers
from support.explanation_cases import DOCUMENTS, MODELS, ROWS, TOPICS, ZOO, variants, zoo
from support.models import paper_model
from support.oracle import Hyper
from support.strategies import hypers


@pytest.fixture(scope="module", params=MODELS)
def explained(request: pytest.FixtureRequest) -> tuple[Any, Any, LocalExplanation]:
    model, X = MODELS[request.param]()
    return model, X, model.explain_local(X)


# ---------------------------------------------------------------- contributions are the prediction


def amounts(explanation: LocalExplanation) -> np.ndarray:
    """`U_i` of each item for the class explained, from the table alone."""
    table = explanation.table.with_columns(
        along=pl.col("contribution") * pl.col("phase").cos(),
        across=pl.col("contribution") * pl.col("phase").sin(),
    )
    sums = dict.fromkeys(explanation.items.tolist(), 0.0)
    for item, along, across in table.group_by("item").agg("along", "across").iter_rows():
        sums[item] = abs(complex(sum(along), sum(across)))
    return np.array(list(sums.values()))


def test_contributions_to_all_classes_rebuild_the_probabilities(explained: Any) -> None:
    model, X, explanation = explained
    U = np.column_stack([amounts(explanation.of_class(c)) for c in explanation.classes])
    tau = getattr(model, "sharpness_", 1.0) / model.power
    proba = model.predict_proba(X)
    with np.errstate(divide="ignore"):
        logarithms = tau * (np.log(U) - np.log(U.max(axis=1, keepdims=True)))
    rebuilt = np.exp(logarithms) / np.exp(logarithms).sum(axis=1, keepdims=True)
    assert U.any(axis=1).all()
    assert_allclose(rebuilt, proba, rtol=0, atol=1e-12)
    assert_array_equal(explanation.proba, proba)
    assert_array_equal(explanation.labels, model.predict(X))


def test_why_is_the_items_part_of_the_table(explained: Any) -> None:
    _, _, explanation = explained
    for item in explanation.items[:5].tolist():
        alone = explanation.why(item)
        assert alone.items.tolist() == [item]
        own = explanation.filter(pl.col("item") == item).table
        assert alone.table.drop("contribution", "share", "phase").equals(
            own.drop("contribution", "share", "phase")
        )
        for name in ("contribution", "share"):
            assert_allclose(alone.table[name], own[name], rtol=1e-12)
        for label in explanation.classes:
            other = explanation.why(item, label)
            assert other.probabilities[0] == pytest.approx(
                explanation.proba[np.flatnonzero(explanation.items == item)[0]][
                    explanation.classes.index(label)
                ],
                abs=1e-12,
            )
            assert set(other.table["class"].to_list()) <= {label}


def test_effect_is_the_sign_of_the_share(explained: Any) -> None:
    table = explained[2].table
    signs = {1: "for", 0: "neither", -1: "against"}
    assert table["effect"].to_list() == [
        signs[s] for s in np.sign(table["share"].to_numpy()).tolist()
    ]


def test_contrasts_are_differences_of_contributions(explained: Any) -> None:
    _, _, explanation = explained
    item = int(explanation.items[1])
    place = 1
    for label in explanation.classes:
        if label == explanation.labels[place]:
            explained = r"^item 1: label='\w+' is the class that is explained; compare it with"
            with pytest.raises(ParameterError, match=explained) as caught:
                explanation.why_not(item, label)
            assert caught.value.item == item
            continue
        contrast = explanation.why_not(item, label)
        assert isinstance(contrast, Contrast)
        for column, own in (("adds", explanation.labels[place]), ("adds_to_other", label)):
            part = explanation.why(item, own)
            total = amounts(part)[0]
            expected = dict(zip(part.table["feature"], part.table["share"] * total, strict=True))
            found = dict(zip(contrast.table["feature"], contrast.table[column], strict=True))
            for feature, value in found.items():
                assert value == pytest.approx(expected.get(feature, 0.0), rel=1e-9, abs=1e-13)
            assert sum(found.values()) == pytest.approx(total, rel=1e-9, abs=1e-13)
        assert_allclose(
            contrast.table["difference"], contrast.table["adds"] - contrast.table["adds_to_other"]
        )
        assert (np.diff(contrast.table["difference"].abs().to_numpy()) <= 1e-15).all()
        assert contrast.probability >= contrast.probability_of_other


def test_why_not_is_about_the_runner_up() -> None:
    explanation = zoo().explain_local(ZOO)
    for item in range(0, 101, 10):
        second = np.argsort(-explanation.proba[item], kind="stable")[1]
        assert explanation.why_not(item).other == explanation.classes[second]
        assert str(explanation.why_not(item)).startswith(f"{explanation.labels[item]}, 0.")


def test_the_sum_of_all_is_the_sum_of_each(explained: Any) -> None:
    _, _, explanation = explained
    for part in (explanation, explanation.of_class(explanation.classes[0])):
        sums: dict[tuple[Any, str], list[float]] = {}
        for item in explanation.items.tolist():
            label = part.labels[item]
            one = explanation.why(item, label).table
            for class_, feature, amount, share in one.select(
                "class", "feature", "contribution", "share"
            ).iter_rows():
                own = sums.setdefault((class_, feature), [0, 0.0, 0.0])
                own[0], own[1], own[2] = own[0] + 1, own[1] + amount, own[2] + share
        counts = {c: part.labels.tolist().count(c) for c in explanation.classes}
        total = part.aggregate()
        assert total.height == len(sums)
        columns = "class", "feature", "items", "contribution", "share"
        for class_, feature, items, amount, share in total.select(columns).iter_rows():
            expected = sums[class_, feature]
            assert items == expected[0]
            assert amount == pytest.approx(expected[1], rel=1e-9)
            assert share == pytest.approx(expected[2] / counts[class_], rel=1e-9, abs=1e-12)


def test_nothing_is_computed_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    contributions = Answers.contributions

    def counted(self: Answers, classes: np.ndarray) -> Any:
        asked.append(len(classes))
        return contributions(self, classes)

    monkeypatch.setattr(Answers, "contributions", counted)
    explanation = zoo().explain_local(ZOO)
    assert explanation.labels.tolist() == zoo().predict(ZOO).tolist()
    assert explanation.coverage.min() == 1
    assert asked == []
    table = explanation.table
    assert set(table["item"]) == set(range(101))
    assert explanation.table is table
    assert asked == [101]  # one class of each item, once
    explanation.why(3, "Fish").sentences()
    assert asked == [101, 1]
    explanation.why_not(7, "Bird")
    assert asked == [101, 1, 1, 1]


@settings(deadline=None, max_examples=40)
@given(st.data(), ROWS, hypers())
def test_impact_is_what_predicting_again_says(data: Any, rows: list, hyper: Hyper) -> None:
    y = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abcd", pl.String))
    model = paper_model(hyper.power, hyper.balance, hyper.entropy).fit(frame, y)
    label = data.draw(st.sampled_from(sorted(set(y))))
    found = model.explain_local(frame).impact(0, label)
    row = frame.row(0, named=True)
    assert set(found["attribute"]) == {name for name, value in row.items() if value is not None}
    before = model.predict_proba(frame)[0, model.classes_.tolist().index(label)]
    for attribute, probability, drop in found.select("attribute", "probability", "drop").rows():
        asked = variants(row, iter([{attribute: None}]))
        again = model.predict_proba(asked)[0, model.classes_.tolist().index(label)]
        assert probability == pytest.approx(again, abs=1e-12)
        assert drop == pytest.approx(before - again, abs=1e-12)
    assert found["drop"].is_sorted(descending=True)


def test_impact_of_words() -> None:
    model = paper_model().fit(DOCUMENTS, TOPICS)
    for item, text in enumerate(DOCUMENTS):
        found = model.explain_local(DOCUMENTS).impact(item)
        assert set(found["value"]) == set(text.split())
        for word, probability in found.select("value", "probability").rows():
            left = " ".join(own for own in text.split() if own != word)
            column = model.classes_.tolist().index(TOPICS[item])
            assert probability == pytest.approx(model.predict_proba([left])[0, column], abs=1e-12)
    assert model.explain_local([""]).impact(0).height == 0


# ---------------------------------------------------------------- what was not seen, who answered


def test_what_was_never_seen_is_named() -> None:
    X = [{"a": "u", "b": "v"}, {"a": "w", "b": "v"}]
    model = paper_model().fit(X, ["x", "y"])
    asked = [{"a": "new", "b": "v"}, {"a": "u", "b": None}, {"a": "old", "c": "far"}]
    explanation = model.explain_local(asked)
    assert explanation.unseen.select("item", "feature").rows() == [
        (0, "a=new"),
        (2, "a=old"),
        (2, "c=far"),
    ]
    assert explanation.why(2).unseen["item"].to_list() == [2, 2]
    texts = paper_model(ngrams=2).fit(["a b", "c d"], ["x", "y"]).explain_local(["a q", "b a"])
    assert texts.unseen.select("item", "value").rows() == [(0, "q")]


def test_the_set_that_answered_is_named() -> None:
    model, X = MODELS["dimensions"]()
    asked = X[:3].with_columns(hair=pl.Series(["1", "never", None]).cast(pl.String))
    explanation = model.explain_local(asked)
    assert [tuple(own) for own in explanation.sets] == model.policy_used(asked).tolist()
    assert explanation.sets[1] == ["life"] or explanation.sets[1] == ["body", "life"]
