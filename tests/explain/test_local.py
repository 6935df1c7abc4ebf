"""Why, why not, what would change it, and what the model knows: all follow from the prediction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from stc import (
    Contrast,
    Counterfactual,
    GlobalExplanation,
    LocalExplanation,
    SparseTensorClassifier,
    SparseTensorClassifierCV,
    load_zoo,
)
from stc.explain import Answers
from support.oracle import Hyper, learn
from support.strategies import hypers

ZOO, KINDS = load_zoo()
ROWS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(["u", "v", "w", None]) for name in "abcd"}),
    min_size=4,
    max_size=9,
)


def zoo(**params: Any) -> SparseTensorClassifier:
    return SparseTensorClassifier(**params).fit(ZOO, KINDS)


DOCUMENTS = [
    "the cat sat on the mat with a cat",
    "a dog ran after the cat",
    "stocks fell as the market sat still",
    "the market ran up and stocks with it",
    "rain and wind after the sun",
    "the sun sat over the rain",
]
TOPICS = ["pets", "pets", "money", "money", "weather", "weather"]

MODELS: dict[str, Any] = {
    "plain": lambda: (zoo(), ZOO),
    "classical": lambda: (zoo(power=1, balance=0, entropy=0), ZOO),
    "interactions": lambda: (zoo(interactions=2), ZOO[:20]),
    "phases": lambda: (zoo(phases="learn"), ZOO),
    "dimensions": lambda: (
        zoo(
            dimensions={"body": ["hair", "feathers", "legs"], "life": ["milk", "eggs"]},
            policy=[["body", "life"], ["life"], []],
        ),
        ZOO,
    ),
    "documents": lambda: (SparseTensorClassifier().fit(DOCUMENTS, TOPICS), DOCUMENTS),
    "words in a row": lambda: (SparseTensorClassifier(ngrams=2).fit(DOCUMENTS, TOPICS), DOCUMENTS),
    "numbers": lambda: (
        SparseTensorClassifier(continuous=["n"], ordinal={"o": list("SML")}).fit(
            pl.DataFrame({"n": np.arange(60) / 7, "o": list("SML") * 20}), ["lo", "mid", "hi"] * 20
        ),
        pl.DataFrame({"n": np.arange(9) * 1.1, "o": list("SML") * 3}),
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def explained(request: pytest.FixtureRequest) -> tuple[Any, Any, LocalExplanation]:
    model, X = MODELS[request.param]()
    return model, X, model.explain(X)


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
            with pytest.raises(ValueError, match="itself"):
                explanation.why_not(item, label)
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
    explanation = zoo().explain(ZOO)
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
    explanation = zoo().explain(ZOO)
    assert explanation.labels.tolist() == zoo().predict(ZOO).tolist()
    assert explanation.coverage.min() == 1
    assert asked == []
    assert len(explanation.table) == len(explanation.table)
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
    model = SparseTensorClassifier(hyper.power, hyper.balance, hyper.entropy).fit(frame, y)
    label = data.draw(st.sampled_from(sorted(set(y))))
    found = model.explain(frame).impact(0, label)
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
    model = SparseTensorClassifier().fit(DOCUMENTS, TOPICS)
    for item, text in enumerate(DOCUMENTS):
        found = model.explain(DOCUMENTS).impact(item)
        assert set(found["value"]) == set(text.split())
        for word, probability in found.select("value", "probability").rows():
            left = " ".join(own for own in text.split() if own != word)
            column = model.classes_.tolist().index(TOPICS[item])
            assert probability == pytest.approx(model.predict_proba([left])[0, column], abs=1e-12)
    assert model.explain([""]).impact(0).height == 0


# ---------------------------------------------------------------- what was not seen, who answered


def test_what_was_never_seen_is_named() -> None:
    X = [{"a": "u", "b": "v"}, {"a": "w", "b": "v"}]
    model = SparseTensorClassifier().fit(X, ["x", "y"])
    asked = [{"a": "new", "b": "v"}, {"a": "u", "b": None}, {"a": "old", "c": "far"}]
    explanation = model.explain(asked)
    assert explanation.unseen.select("item", "feature").rows() == [
        (0, "a=new"),
        (2, "a=old"),
        (2, "c=far"),
    ]
    assert explanation.why(2).unseen["item"].to_list() == [2, 2]
    texts = SparseTensorClassifier(ngrams=2).fit(["a b", "c d"], ["x", "y"]).explain(["a q", "b a"])
    assert texts.unseen.select("item", "value").rows() == [(0, "q")]


def test_the_set_that_answered_is_named() -> None:
    model, X = MODELS["dimensions"]()
    asked = X[:3].with_columns(hair=pl.Series(["1", "never", None]).cast(pl.String))
    explanation = model.explain(asked)
    assert [tuple(own) for own in explanation.sets] == model.policy_used(asked).tolist()
    assert explanation.sets[1] == ["life"] or explanation.sets[1] == ["body", "life"]


# ---------------------------------------------------------------- what would change it


def variants(row: dict[str, Any], changes: Iterator[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([row | own for own in changes], schema=dict.fromkeys(row, pl.String))


def reaching(model: Any, row: dict[str, Any], label: Any, wanted: Any, size: int) -> bool:
    """Whether so many values away give another class (or the one wanted), by trying all."""
    present = [name for name, value in row.items() if value is not None]
    sets = list(combinations(present, size))
    if not sets:
        return False
    found = model.predict(variants(row, (dict.fromkeys(own) for own in sets)))
    return bool((found == wanted).any() if wanted is not None else (found != label).any())


def replaced(model: Any, row: dict[str, Any], label: Any, wanted: Any, values: Any, n: int) -> bool:
    """Whether so many values replaced do it, by trying all."""
    present = [name for name, value in row.items() if value is not None]
    options = [
        dict(zip(own, new, strict=True))
        for own in combinations(present, n)
        for new in product(*([v for v in values[name] if v != row[name]] for name in own))
    ]
    if not options:
        return False
    found = model.predict(variants(row, iter(options)))
    return bool((found == wanted).any() if wanted is not None else (found != label).any())


def assert_counterfactual(
    model: Any, frame: pl.DataFrame, item: int, wanted: Any, most: int, proved: bool = True
) -> Counterfactual:
    """It does what it says, and nothing smaller does, tried up to `most` values."""
    row = frame.row(item, named=True)
    explanation = model.explain(frame)
    label = explanation.labels[item]
    found = explanation.counterfactual(item, wanted)
    values = {name: frame[name].drop_nulls().unique().to_list() for name in frame.columns}
    for change in (found.removal, found.replacement):
        if change is None:
            continue
        new = {attribute: instead for attribute, _, instead, _ in change.values}
        assert all(row[attribute] == value for attribute, value, _, _ in change.values)
        asked = variants(row, iter([new]))
        assert model.predict(asked)[0] == change.label != label
        assert wanted is None or change.label == wanted
        assert change.probability == pytest.approx(model.predict_proba(asked).max(), abs=1e-12)
        assert change.smallest or not proved or wanted is not None
    removed = len(found.removal.values) if found.removal else 99
    sure = proved and (found.removal.smallest if found.removal else wanted is None)
    for size in range(1, min(removed - 1, most) + 1 if sure else 1):
        assert not reaching(model, row, label, wanted, size)
    other = len(found.replacement.values) if found.replacement else 99
    sure = proved and (found.replacement.smallest if found.replacement else wanted is None)
    for size in range(1, min(other - 1, most - 1) + 1 if sure else 1):
        assert not replaced(model, row, label, wanted, values, size)
    return found


@pytest.mark.parametrize("item", range(0, 101, 4))
def test_counterfactuals_of_animals_are_the_smallest(item: int) -> None:
    frame = ZOO.with_columns(pl.all().cast(pl.String))
    model = SparseTensorClassifier().fit(frame, KINDS)
    found = assert_counterfactual(model, frame, item, None, most=3)
    assert found.removal is not None
    assert found.replacement is not None
    assert found.table["way"].unique().sort().to_list() == ["with", "without"]


@settings(deadline=None, max_examples=100)
@given(st.data(), ROWS, hypers())
def test_counterfactuals_are_the_smallest(data: st.DataObject, rows: list, hyper: Hyper) -> None:
    y = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abcd", pl.String))
    model = SparseTensorClassifier(hyper.power, hyper.balance, hyper.entropy).fit(frame, y)
    item = data.draw(st.integers(0, len(rows) - 1))
    wanted = data.draw(st.sampled_from([None, *sorted(set(y))]))
    label = model.predict(frame)[item]
    if wanted == label:
        with pytest.raises(ValueError, match="already"):
            model.explain(frame).counterfactual(item, wanted)
        return
    assert_counterfactual(model, frame, item, wanted, most=4)


@pytest.mark.parametrize("name", ["interactions", "phases", "dimensions"])
@pytest.mark.parametrize("wanted", [None, "Fish"])
def test_counterfactuals_by_trying_do_what_they_say(name: str, wanted: Any) -> None:
    frame = ZOO.with_columns(pl.all().cast(pl.String))[:20]
    model = MODELS[name]()[0]
    model = SparseTensorClassifier(**model.get_params()).fit(
        ZOO.with_columns(pl.all().cast(pl.String)), KINDS
    )
    labels = model.predict(frame)
    for item in range(0, 20, 5):
        if labels[item] != wanted:
            found = assert_counterfactual(model, frame, item, wanted, most=4, proved=False)
            assert found.removal is not None or found.replacement is not None


def test_counterfactuals_of_words() -> None:
    for ngrams in (1, 2):
        model = SparseTensorClassifier(ngrams=ngrams).fit(DOCUMENTS, TOPICS)
        for item, text in enumerate(DOCUMENTS):
            found = model.explain(DOCUMENTS).counterfactual(item)
            assert found.replacement is None
            if found.removal is None:
                continue
            words = {value for _, value, _, _ in found.removal.values}
            if ngrams == 1:
                left = " ".join(word for word in text.split() if word not in words)
                assert model.predict([left])[0] == found.removal.label != TOPICS[item]


def test_numbers_and_orders_are_replaced_by_others_of_their_scale() -> None:
    model, X = MODELS["numbers"]()
    frame = X
    for item in range(frame.height):
        found = model.explain(frame).counterfactual(item)
        assert found.replacement is not None
        for change in (found.removal, found.replacement):
            if change is None:
                continue
            row = frame.row(item, named=True)
            for attribute, _, instead, _ in change.values:
                row[attribute] = instead if attribute == "o" or instead is None else float(instead)
            asked = pl.DataFrame([row], schema={"n": pl.Float64, "o": pl.String})
            assert model.predict(asked)[0] == change.label


def test_what_cannot_change_is_said() -> None:
    model = SparseTensorClassifier().fit([["a"], ["a"], ["b"]], ["x", "x", "x"])
    found = model.explain([["a"]]).counterfactual(0)
    assert found.removal is None
    assert found.replacement is None
    assert "nothing that could be away or replaced would change that" in str(found)
    assert found.table.height == 0


# ---------------------------------------------------------------- what the model knows


@settings(deadline=None, max_examples=60)
@given(st.data(), ROWS, hypers())
def test_weights_are_the_oracles(data: st.DataObject, rows: list, hyper: Hyper) -> None:
    y = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    model = SparseTensorClassifier(hyper.power, hyper.balance, hyper.entropy).fit(rows, y)
    bags = [{(k, v): 1 for k, v in row.items() if v is not None} for row in rows]
    truth = learn(bags, [{c: 1} for c in y], None)
    weights = truth.weights(hyper)
    columns = "class", "attribute", "value", "weight", "support"
    found = model.explain().table.select(columns).rows()
    assert len(found) == model.corpus_.height
    for label, attribute, value, weight, support in found:
        expected = float(weights.get(((attribute, value), label), 0))
        assert weight == pytest.approx(expected, rel=1e-9, abs=1e-12)
        shown = [own for row, own in zip(rows, y, strict=True) if row[attribute] == value]
        assert support == shown.count(label)


def test_the_whole_model_in_a_table() -> None:
    explanation = zoo().explain()
    assert isinstance(explanation, GlobalExplanation)
    assert explanation.classes == sorted(set(KINDS))
    shares = explanation.table.group_by("class").agg(pl.col("share").sum())["share"]
    assert_allclose(shares, 1.0)
    top = explanation.top(3)
    assert top.table.group_by("class").len()["len"].to_list() == [3] * 7
    for label in explanation.classes:
        own = explanation.for_class(label)
        assert own.table["class"].unique().to_list() == [label]
        assert own.top(3).table.equals(top.for_class(label).table)
        assert own.table["weight"].is_sorted(descending=True)
    compared = explanation.compare("Bird", "Fish")
    bird, fish = (explanation.for_class(c).table for c in ("Bird", "Fish"))
    assert compared["first"].sum() == pytest.approx(1.0)
    assert compared.height == len(set(bird["feature"]) | set(fish["feature"]))
    assert compared["difference"].abs().is_sorted(descending=True)
    best = explanation.discriminating(5)
    assert best["feature"][0] == "milk=1"
    assert best["discrimination"].to_list()[:3] == [1.0] * 3
    assert best["discrimination"].is_sorted(descending=True)
    assert str(explanation).splitlines()[1].startswith("Bird: feathers=1 (")


def test_phases_are_in_the_whole_model() -> None:
    model = zoo().set_params(phases={"Bird": {"feathers": {"1": 0.5}}})
    turned = model.explain().table.filter(pl.col("phase") != 0)
    assert turned.select("class", "feature", "phase").rows() == [("Bird", "feathers=1", 0.5)]


def test_several_dimensions_and_targets_in_the_whole_model() -> None:
    table = MODELS["dimensions"]()[0].explain().table
    assert sorted(map(tuple, table["dimensions"].unique().to_list())) == [
        ("body", "life"),
        ("life",),
    ]
    y = pl.DataFrame({"kind": KINDS, "milk": ZOO["milk"].cast(pl.String)})
    joint = SparseTensorClassifier().fit(ZOO.drop("milk"), y)
    explanation = joint.explain()
    assert explanation.classes[0] == ("Amphibian", "0")
    assert explanation.for_class(("Bird", "0")).table["class"].unique().to_list() == ["Bird, 0"]
    local = joint.explain(ZOO.drop("milk"))
    assert local.why(0, ("Fish", "0")).probabilities[0] < local.probabilities[0]
    assert "it would be" in str(local.counterfactual(0))
    with pytest.raises(ValueError, match=r"no class \('Fish', '7'\); there is \('Amphibian'"):
        local.why(0, ("Fish", "7"))


# ---------------------------------------------------------------- in every form


def everything(model: Any) -> list[Any]:
    local = model.explain(ZOO)
    return [local, local.why_not(0), local.counterfactual(0), model.explain()]


@pytest.mark.parametrize("place", range(4))
def test_tables_in_every_form(place: int) -> None:
    found, again = (everything(zoo())[place] for _ in range(2))
    assert found.to_polars() is found.table
    assert found.to_dicts() == found.table.to_dicts()
    frame = found.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == found.table.columns
    assert frame["feature"].tolist() == found.table["feature"].to_list()
    assert json.loads(found.to_json()) == found.to_dicts()
    for name in ("to_json", "__str__", "__repr__", "_repr_html_"):
        assert getattr(found, name)() == getattr(again, name)()
    few = found.filter(pl.col("feature").str.starts_with("milk"))
    assert type(few) is type(found)
    assert set(few.table["feature"].str.slice(0, 4)) <= {"milk"}
    assert found.table.height > few.table.height
    ordered = found.sort("feature", descending=True).table["feature"]
    assert ordered.to_list() == sorted(ordered.to_list(), reverse=True)


def test_notebooks_get_no_code_from_values() -> None:
    evil = "<script>alert(1)</script>"
    model = SparseTensorClassifier().fit([{evil: evil}, {evil: "b"}], [evil, "y"])
    for found in (model.explain([{evil: evil}]), model.explain()):
        assert "<script" not in found._repr_html_()
        assert "&lt;script&gt;" in found._repr_html_()


def test_many_items_are_shown_in_short() -> None:
    text = repr(zoo().explain(ZOO))
    assert text.splitlines()[:10] == zoo().explain(ZOO).sentences()[:10]
    assert text.endswith("... and 91 more items")


def test_the_tuned_model_explains_itself() -> None:
    model = SparseTensorClassifierCV(phases=None, interactions=1, cv=3).fit(ZOO, KINDS)
    assert model.explain().table.equals(model.best_estimator_.explain().table)
    assert str(model.explain(ZOO[:2])) == str(model.best_estimator_.explain(ZOO[:2]))


def test_what_there_is_not_is_refused() -> None:
    explanation = zoo().explain(ZOO[:3])
    for ask in (explanation.why, explanation.why_not, explanation.counterfactual):
        with pytest.raises(IndexError, match="no item 3 in this explanation of items 0 to 2"):
            ask(3)
        with pytest.raises(ValueError, match="there is no class 'Cat'; there is 'Amphibian', 'Bi"):
            ask(0, "Cat")
    with pytest.raises(ValueError, match="there is no class"):
        explanation.of_class("Cat")
    with pytest.raises(ValueError, match="there is no class"):
        zoo().explain().for_class("Cat")
    with pytest.raises(ValueError, match="theta is of items"):
        zoo().explain(theta=[[0.1]])
