"""One suite for every store and every source: the same model as in memory, to 1e-9."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import stc
from stc import (
    NeverLearntError,
    PhaseLearner,
    SparseTensorClassifier,
    StoredModel,
    StoreError,
    learning,
    open_store,
)
from stc._core.formulas import Hyper
from support.marking import slow_but
from support.models import paper_model
from support.stores import another_store, opened

EXACT = 1e-9


def table(rows: int = 90) -> pl.DataFrame:
    """Items with two easy columns, one with gaps, one of whole numbers, an id and a weight."""
    rng = random.Random(5)
    made = []
    for k in range(rows):
        kind = rng.choice(["p", "q", "r"])
        made.append(
            {
                "id": f"item {k}",
                "colour": rng.choice({"p": "xxy", "q": "yyz", "r": "zxz"}[kind]),
                "size": rng.choice([None, "s", "m", "l"]),
                "legs": rng.choice({"p": [0, 2], "q": [2, 4], "r": [4, 8]}[kind]),
                "living": rng.random() < 0.5,
                "class": kind,
                "mood": rng.choice(["good", "bad"]),
                "weight": rng.choice([0.0, 0.5, 1.0, 3.0]),
            }
        )
    return pl.DataFrame(made)


def documents(rows: int = 40) -> pl.DataFrame:
    rng = random.Random(6)
    words = {"good": ["fun", "bright", "new"], "bad": ["dull", "old", "new"]}
    kinds = [rng.choice(["good", "bad"]) for _ in range(rows)]
    texts = [" ".join(rng.choices([*words[kind], "film"], k=6)) for kind in kinds]
    return pl.DataFrame({"id": list(range(rows)), "body": texts, "class": kinds})


def tagged(rows: int = 50) -> pl.DataFrame:
    """Items with several values in a cell, and several labels."""
    rng = random.Random(7)
    tags = [rng.sample(["a", "b", "c", "d"], rng.randint(0, 3)) for _ in range(rows)]
    labels = [sorted({"l" if "a" in own else "m", rng.choice("mn")}) for own in tags]
    return pl.DataFrame(
        {"tags": tags, "size": rng.choices(["s", "m"], k=rows), "labels": labels},
        schema_overrides={"tags": pl.List(pl.String), "labels": pl.List(pl.String)},
    )


def kinds_of_tagged(rows: int = 50) -> pl.DataFrame:
    """The same, with one class."""
    return tagged(rows).with_columns(kind=pl.col("labels").list.first())


ITEMS = ["colour", "size", "legs", "living"]
# What a model is without any parameter, whatever `paper_model` says.
DEFAULTS = SparseTensorClassifier().get_params()


@dataclass(frozen=True)
class Setting:
    """A kind of model: its parameters and what it learns from."""

    params: dict[str, Any] = field(default_factory=dict)
    data: Callable[[], pl.DataFrame] = table
    items: Any = tuple(ITEMS)
    target: Any = "class"
    weight: str | None = None
    text: str | None = None

    def model(self) -> SparseTensorClassifier:
        return paper_model(**self.params)

    def stored(self, url: str) -> StoredModel:
        return open_store(url).create("zoo", self.model())

    def features(self, frame: pl.DataFrame) -> Any:
        return frame[self.text] if self.text else frame.select(self.items)

    def y(self, frame: pl.DataFrame) -> Any:
        return frame[self.target] if isinstance(self.target, str) else frame.select(self.target)

    def given(self, frame: pl.DataFrame) -> tuple[Any, Any]:
        return self.features(frame), self.y(frame)

    def weights(self, frame: pl.DataFrame) -> Any:
        return None if self.weight is None else frame[self.weight].to_numpy()


SETTINGS = {
    "plain": Setting(),
    "other parameters": Setting({"power": 0.3, "balance": 0.5, "entropy": 2.0}),
    "prior, sharpness and floor": Setting({"prior": 0.2, "sharpness": 1.5, "floor": 0.05}),
    "chosen settings": Setting(dict.fromkeys(Hyper._fields, "auto"), weight="weight"),
    "chosen conjunctions": Setting({"interactions": "auto", "floor": 0.01}),
    "defaults": Setting(DEFAULTS, partial(table, 400), weight="weight"),
    "defaults, text": Setting(DEFAULTS, partial(documents, 200), target="class", text="body"),
    "defaults, numbers": Setting({**DEFAULTS, "continuous": ["legs"]}),
    "defaults, several values": Setting(
        DEFAULTS, partial(kinds_of_tagged, 200), ("tags", "size"), "kind"
    ),
    "defaults, several labels": Setting(DEFAULTS, tagged, ("tags", "size"), "labels"),
    "weights": Setting(weight="weight"),
    "missing is a category": Setting({"missing": "category"}),
    "several dimensions": Setting(
        {"dimensions": "each", "policy": [["colour", "legs", "size"], ["colour", "legs"], ["legs"]]}
    ),
    "groups of attributes": Setting(
        {
            "dimensions": {"look": ["colour", "size"], "body": ["legs", "living"]},
            "policy": [["look"], ["body"]],
        },
        weight="weight",
    ),
    "a learnt policy": Setting({"dimensions": "each", "policy": "learn"}),
    "learnt phases": Setting({"phases": PhaseLearner(penalties=(1.0, 0.25)), "entropy": 0.0}),
    "given phases": Setting({"phases": {"p": {"colour": {"x": 0.7}}}}),
    "given gains": Setting({"gains": {"p": {"colour": {"x": 0.3}}}}),
    "interactions": Setting({"interactions": 2, "min_support": 2}),
    "an order": Setting({"ordinal": {"size": ["s", "m", "l"]}}),
    "numbers": Setting({"continuous": {"legs": [0, 3, 8]}}),
    "several targets": Setting(target=["class", "mood"]),
    "text": Setting({"ngrams": 2}, documents, target="class", text="body"),
    "several values": Setting(data=kinds_of_tagged, items=("tags", "size"), target="kind"),
    "several labels": Setting({"label_threshold": 0.6}, tagged, ("tags", "size"), "labels"),
    "learnt thresholds": Setting(data=tagged, items=("tags", "size"), target="labels"),
}
QUICK = (
    "plain", "chosen settings", "defaults", "defaults, text", "weights",
    "missing is a category", "several dimensions", "learnt phases", "interactions",
    "several targets", "text", "several labels",
)  # fmt: skip
ANY_SETTING = slow_but(SETTINGS, QUICK)


def assert_same(one: Any, other: Any) -> None:
    """Answers are equal: arrays, lists of arrays, lists of labels."""
    if isinstance(one, list) and one and isinstance(one[0], np.ndarray):
        for own, theirs in zip(one, other, strict=True):
            assert_same(own, theirs)
    elif isinstance(one, np.ndarray) and one.dtype.kind == "f":
        np.testing.assert_allclose(np.asarray(other), one, rtol=0, atol=EXACT)
    else:
        assert list(map(_plain, one)) == list(map(_plain, other))


def _plain(label: Any) -> Any:
    return label.tolist() if isinstance(label, (np.ndarray, np.generic)) else label


def corpus(model: SparseTensorClassifier | StoredModel) -> list[tuple[Any, ...]]:
    """The corpus without names of columns, in an order of its own."""
    rows = [(*map(str, row[:-2]), round(row[-2], 9), row[-1]) for row in model.corpus_.rows()]
    return sorted(rows)


def assert_same_model(
    one: SparseTensorClassifier | StoredModel, other: SparseTensorClassifier | StoredModel, X: Any
) -> None:
    """Two models have learnt the same and answer the same."""
    assert corpus(one) == corpus(other)
    assert_same(one.predict_proba(X), other.predict_proba(X))
    assert_same(one.predict(X), other.predict(X))
    assert_same(one.coverage(X), other.coverage(X))
    assert one.policy_ == other.policy_
    if one.fitted_.model.form.multilabel:
        assert_same(one.label_threshold_, other.label_threshold_)
    assert one.fitted_.hyper == pytest.approx(other.fitted_.hyper, abs=EXACT)
    figures = [
        None if m.fitted_.state.loo is None else asdict(m.fitted_.state.loo) for m in (one, other)
    ]
    assert figures[0] == (figures[1] and pytest.approx(figures[1], rel=EXACT))
    assert one.sharpness_ == pytest.approx(other.sharpness_, abs=EXACT)
    phases = [
        [p and p.angles.sum() for p in (m.fitted_.model.amplitudes.values())] for m in (one, other)
    ]
    assert phases[0] == pytest.approx(phases[1], abs=1e-7)


@pytest.mark.parametrize("name", ANY_SETTING)
class StoreConformance:
    """Cases for a fixture `url`: a store without models, and closed after each test."""

    def test_a_fitted_model_is_restored_whole(self, url: str, name: str) -> None:
        setting = SETTINGS[name]
        frame = setting.data()
        X, y = setting.given(frame)
        weights = setting.weights(frame)
        memory = setting.model().fit(X, y, weights)
        setting.stored(url).fit(X, y, weights)
        open_store(url).create("copy", memory)
        for stored in (opened(url), opened(url, "copy")):
            assert_same_model(memory, stored, X)
            assert_same_model(memory, stored.to_estimator(), X)
            one, other = (
                model.explain_local(X).table["contribution"].to_numpy().round(9)
                for model in (memory, stored)
            )
            assert_same(one, other)
            parameters = stored.get_params(deep=False)
            for parameter, value in memory.get_params(deep=False).items():
                if parameter != "phases":
                    assert parameters[parameter] == value
            assert isinstance(parameters["phases"], type(memory.phases))

    def test_batches_add_up(self, url: str, name: str) -> None:
        setting = SETTINGS[name]
        frame = setting.data()
        memory, stored = setting.model(), setting.stored(url)
        for k, part in enumerate(_parts(frame, 3)):
            for model in (memory, stored):
                for _ in range(2):  # a retried batch counts once
                    model.partial_fit(
                        *setting.given(part), sample_weight=setting.weights(part), batch_id=f"b{k}"
                    )
        assert_same_model(memory, stored, setting.features(frame))
        assert_same_model(memory, opened(url), setting.features(frame))

    def test_what_was_learnt_can_be_unlearnt(self, url: str, name: str) -> None:
        setting = SETTINGS[name]
        frame = setting.data()
        first, second = _parts(frame, 2)
        memory, stored = setting.model(), setting.stored(url)
        parameters = repr(stored.get_params())
        for model in (memory, stored):
            for batch_id, part in (("1", first), ("2", second)):
                model.partial_fit(
                    *setting.given(part), sample_weight=setting.weights(part), batch_id=batch_id
                )
            for _ in range(2):
                model.unlearn(
                    *setting.given(second), sample_weight=setting.weights(second), batch_id="2"
                )
        assert_same_model(memory, stored, setting.features(frame))
        assert_same_model(memory, opened(url), setting.features(frame))
        for model in (memory, stored):
            model.unlearn(*setting.given(first), sample_weight=setting.weights(first))
        with pytest.raises(NotFittedError):
            opened(url).predict(setting.features(frame))
        assert repr(opened(url).get_params()) == parameters
        stored.partial_fit(*setting.given(first), sample_weight=setting.weights(first))
        memory.partial_fit(*setting.given(first), sample_weight=setting.weights(first))
        assert_same_model(memory, stored, setting.features(frame))
        assert_same_model(memory, opened(url), setting.features(frame))

    def test_another_writer_comes_first(
        self, url: str, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        setting = SETTINGS[name]
        parts = _parts(setting.data(), 4)
        memory, stored = setting.model(), setting.stored(url)
        other, learn_more = opened(url), learning.learn_more

        def learn(model: Any, part: pl.DataFrame) -> None:
            model.partial_fit(*setting.given(part), sample_weight=setting.weights(part))

        for first, second in (parts[:2], parts[2:]):  # into an empty model, and into that

            def interrupted(*arguments: Any, first: pl.DataFrame = first) -> Any:
                # The other process commits after this one has read the header of the model.
                monkeypatch.undo()
                learn(other, first)
                return learn_more(*arguments)

            monkeypatch.setattr(learning, "learn_more", interrupted)
            learn(stored, second)
            for part in (first, second):
                learn(memory, part)
            assert_same_model(memory, stored, setting.features(second))
            assert_same_model(memory, other, setting.features(second))
        assert_same_model(memory, opened(url), setting.features(setting.data()))

    def test_a_model_is_merged_into_it(self, url: str, name: str) -> None:
        setting = SETTINGS[name]
        first, second = _parts(setting.data(), 2)
        other = setting.model().fit(*setting.given(second), setting.weights(second))
        memory = setting.model().fit(*setting.given(first), setting.weights(first))
        stored = setting.stored(url).fit(*setting.given(first), setting.weights(first))
        chosen = [
            [model.fitted_.model.interactions, model.fitted_.policy] for model in (memory, other)
        ]
        if name in ("a learnt policy", "interactions", "chosen conjunctions"):
            assert chosen[0] != chosen[1]
        if chosen[0] != chosen[1]:  # models apart choose other features
            for model in (memory, stored):
                with pytest.raises(ValueError, match="to merge them"):
                    model.merge(other)
        else:
            stored.merge(other)
            memory.merge(other)
        assert_same_model(memory, opened(url), setting.features(first))


def _parts(frame: pl.DataFrame, count: int) -> list[pl.DataFrame]:
    """Every so manyth row, so that each part has all kinds."""
    return [frame[k::count] for k in range(count)]


def created(url: str, **parameters: Any) -> StoredModel:
    """Create the model "zoo"."""
    return open_store(url).create("zoo", paper_model(**parameters))


class StoreBehaviour:
    """Cases for a fixture `url` that need no setting."""

    def test_two_stores_see_each_other(self, url: str) -> None:
        frame = table()
        one, two = created(url), opened(url)
        one.partial_fit(frame.select(ITEMS)[:50], frame["class"][:50])
        assert two.class_mass_.sum() == 50
        two.partial_fit(frame.select(ITEMS)[50:], frame["class"][50:])
        assert one.class_mass_.sum() == 90
        memory = paper_model().fit(frame.select(ITEMS), frame["class"])
        assert_same_model(memory, one, frame.select(ITEMS))
        del two.store["zoo"]
        with pytest.raises(KeyError, match="there is no model 'zoo'"):
            one.predict(frame.select(ITEMS))

    def test_a_bad_batch_leaves_nothing(self, url: str) -> None:
        frame = table()
        model = created(url).fit(frame.select(ITEMS), frame["class"])
        before = corpus(model)
        with pytest.raises(ValueError, match=r"NaN|missing"):
            model.partial_fit(frame.select(ITEMS)[:3], ["p", None, "q"], batch_id="bad")
        with pytest.raises(ValueError, match=r"are numbers|these are"):
            model.partial_fit(frame.select(ITEMS)[:2], [1, 2], batch_id="bad")
        with pytest.raises(NeverLearntError, match=r"^item 0: .* class 'never', which"):
            model.unlearn(frame.select(ITEMS)[:1], ["never"])
        assert corpus(opened(url)) == before
        model.partial_fit(frame.select(ITEMS)[:3], ["p", "p", "q"], batch_id="bad")
        assert model.class_mass_.sum() == 93
        with pytest.raises(NeverLearntError, match=r"^item 0: .* class 'never', which"):
            model.unlearn(frame.select(ITEMS)[:1], ["never"], batch_id="bad")
        model.unlearn(frame.select(ITEMS)[:3], ["p", "p", "q"], batch_id="bad")
        assert corpus(opened(url)) == before

    def test_only_a_batch_that_was_learnt_is_unlearnt(self, url: str) -> None:
        model = created(url).partial_fit([["a"]], ["x"], batch_id="1")
        model.partial_fit([["b"]], ["x"])
        before, version = corpus(model), model.store._database.version("zoo")
        with pytest.raises(NeverLearntError, match="batch '2' was never learnt"):
            model.unlearn([["b"]], ["x"], batch_id="2")
        for learn in (model.partial_fit, model.unlearn):
            with pytest.raises(ValueError, match="batch_id is empty"):
                learn([["a"]], ["x"], batch_id="")
            with pytest.raises(TypeError, match="batch_id is a string, got int"):
                learn([["a"]], ["x"], batch_id=1)
        assert model.store._database.version("zoo") == version
        assert corpus(opened(url)) == before

    def test_unlearning_the_last_batch_again_changes_nothing(self, url: str) -> None:
        model = created(url, power=0.4).partial_fit([["a"]], ["x"], batch_id="1")
        for _ in range(2):  # as a client does that did not hear of the first time
            model.unlearn([["a"]], ["x"], batch_id="1")
        with pytest.raises(NotFittedError):
            opened(url).predict([["a"]])
        # The ledger outlives the counts.
        model.partial_fit([["a"]], ["x"], batch_id="1")
        with pytest.raises(NotFittedError):
            opened(url).predict([["a"]])
        opened(url).partial_fit([["a"]], ["x"], batch_id="2")
        assert model.class_mass_.tolist() == [1.0]
        assert model.get_params()["power"] == 0.4

    def test_several_models_live_in_one_place(self, url: str) -> None:
        frame = table()
        names = ["zoo", "Zoo", "zoo'; DROP TABLE x; --", "動物園 \u202e", "a" * 3000]
        for k, name in enumerate(names, 2):
            open_store(url).create(name, paper_model()).fit(
                frame.select(ITEMS)[: 10 * k], frame["class"][: 10 * k]
            )
        other = another_store(url)
        assert list(other) == sorted(names)
        for k, name in enumerate(names, 2):
            assert other[name].class_mass_.sum() == 10 * k
        for name in names:
            del other[name]
            assert name not in open_store(url)
        assert len(open_store(url)) == 0

    def test_strange_names_go_round(self, url: str) -> None:
        strange = [
            "'",
            '"; DROP TABLE stc_models; --',
            "%s",
            ":x",
            "\\",
            "😀",
            "\u200f",
            " ",
            "a",
            "A",
        ]
        records = [{name: value} for name in strange for value in strange]
        labels = [strange[k % len(strange)] for k in range(len(records))]
        memory = paper_model().fit(records, labels)
        stored = created(url)
        stored.partial_fit(records, labels, batch_id="'; --")
        stored.partial_fit(records, labels, batch_id="'; --")
        assert_same_model(memory, opened(url), records)

    def test_what_cannot_be_stored_is_refused(self, url: str) -> None:
        model = created(url).fit([["a"]], ["x"])
        for X, y in ((["a\0b"], "x"), (["a"], "x\0y")):
            with pytest.raises(ValueError, match="NUL"):
                model.partial_fit([X], [y])
        with pytest.raises(ValueError, match="NUL"):
            model.partial_fit([["a"]], ["x"], batch_id="b\0")
        with pytest.raises(ValueError, match="surrogate"):
            model.partial_fit([["a"]], ["x"], batch_id="\ud800")
        assert model.class_mass_.sum() == opened(url).class_mass_.sum() == 1
        unstorable = paper_model().fit([["a\0b"]], ["x"])
        with pytest.raises(ValueError, match="NUL"):
            open_store(url).create("new", unstorable)
        with pytest.raises(ValueError, match="NUL"):
            open_store(url).create("zoo", unstorable, overwrite=True)
        assert list(open_store(url)) == ["zoo"]
        assert opened(url).class_mass_.sum() == 1

    def test_kinds_of_classes_come_back(self, url: str) -> None:
        X = [["a"], ["b"]]
        days = np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]")
        for k, labels in enumerate(
            [[1, 2], [True, False], np.array(["x", "yy"]), days, [0.0, 1.0]]
        ):
            memory = paper_model().fit(X, labels)
            open_store(url).create(str(k), paper_model()).fit(X, labels)
            stored = opened(url, str(k))
            assert stored.classes_.dtype == memory.classes_.dtype
            assert stored.classes_.tolist() == memory.classes_.tolist()

    def test_counts_and_an_indicator(self, url: str) -> None:
        X = sparse.random(40, 12, 0.4, format="csr", random_state=1)
        y = np.eye(3, dtype=int)[np.arange(40) % 3] | np.eye(3, dtype=int)[np.arange(40) % 2]
        memory = paper_model().fit(X, y)
        stored = created(url).fit(X, y)
        other = opened(url)
        assert_same_model(memory, other, X)
        for model in (memory, stored):
            model.partial_fit(X[:10], y[:10])
        assert_same_model(memory, other, X)

    def test_declared_classes_stay(self, url: str) -> None:
        model = created(url)
        model.partial_fit([["a"]], ["x"], classes=["x", "y"])
        model.partial_fit([["a"]], ["z"])
        assert opened(url).classes_.tolist() == ["x", "y", "z"]

    def test_new_attributes_of_records_are_taken_in(self, url: str) -> None:
        created(url).partial_fit([{"a": 1}], ["x"]).partial_fit([{"b": 1}], ["y"])
        assert opened(url).feature_names_in_.tolist() == ["a", "b"]
        assert opened(url).predict([{"b": 1}]).tolist() == ["y"]

    def test_phases_are_learnt_in_place(self, url: str) -> None:
        X = [[a, b] for a in "uvw" for b in "uvw"] * 20
        y = [a == b for a, b in X]
        model = created(url, entropy=0.0).fit(X, y)
        before = model.score(X, y)
        model.learn_phases(X, y)
        other = opened(url)
        assert other.score(X, y) > before
        model.partial_fit([["u", "new"]], [False])
        assert other.score(X, y) > before  # phases survive what is learnt later

    def test_fit_starts_anew(self, url: str) -> None:
        model = created(url)
        model.partial_fit([["a"]], ["x"], batch_id="1")
        model.fit([["b"]], ["y"])
        assert model.classes_.tolist() == ["y"]
        model.partial_fit([["a"]], ["x"], batch_id="1")  # of the old model, so not learnt yet
        assert model.class_mass_.sum() == opened(url).class_mass_.sum() == 2

    def test_a_tokenizer_is_given_again(self, url: str) -> None:
        created(url, tokenizer=str.split).fit(["a-b c", "d"], ["x", "y"])
        other = opened(url)
        with pytest.raises(ValueError, match="tokenizer"):
            other.predict(["a-b"])
        assert other.set_params(tokenizer=str.split).predict(["a-b"]).tolist() == ["x"]

    def test_batches_of_merged_models_count_once(self, url: str) -> None:
        stored = created(url)
        stored.partial_fit([["a"]], ["x"], batch_id="1")
        other = paper_model().partial_fit([["a"]], ["x"], batch_id="1")
        with pytest.raises(ValueError, match="batch '1'"):
            stored.merge(other)
        stored.merge(paper_model().partial_fit([["a"]], ["x"], batch_id="2"))
        stored.partial_fit([["a"]], ["x"], batch_id="2")
        assert stored.class_mass_.tolist() == opened(url).class_mass_.tolist() == [2.0]

    def test_batches_of_a_created_model_count_once(self, url: str) -> None:
        learnt = paper_model().partial_fit([["a"]], ["x"], batch_id="1")
        stored = open_store(url).create("zoo", learnt)
        for model in (stored, opened(url)):
            model.partial_fit([["a"]], ["x"], batch_id="1")
            assert model.class_mass_.tolist() == [1.0]
        # Replacing a model replaces its ledger.
        stored = open_store(url).create("zoo", paper_model(), overwrite=True)
        stored.partial_fit([["a"]], ["x"], batch_id="1")
        assert opened(url).class_mass_.tolist() == [1.0]

    def test_a_model_that_is_not_there_is_named(self, url: str) -> None:
        store = open_store(url)
        with pytest.raises(KeyError, match=r"there is no model 'zoo'$"):
            store["zoo"]
        created(url)
        for ask in (lambda: store["zo"], lambda: store.__delitem__("zo")):
            with pytest.raises(StoreError, match="there is no model 'zo'; there are 'zoo'"):
                ask()


@dataclass(frozen=True)
class Place:
    """Where a table is, for the cases of sources.

    `put` makes a source of a frame, `collected` an answer of that source a polars frame; `gaps`
    are the settings that it cannot hold, and why.
    """

    put: Callable[[pl.DataFrame], Any]
    collected: Callable[[Any], pl.DataFrame]
    gaps: dict[str, str] = field(default_factory=dict)
    refused: tuple[type[Exception], ...] = (Exception,)
    to: Any = None
    _asked: Any = field(default_factory=count)

    def answer(self, method: Any, data: Any) -> Any:
        """Ask for answers, in kind or where they have to be written."""
        return method(data) if self.to is None else method(data, to=f"{self.to}{next(self._asked)}")


# Learning a second source is the same for all settings but these.
SECOND = ["plain", "weights", "several dimensions", "several targets", "text", "several labels"]


class SourceConformance:
    """Cases for a fixture `place`."""

    @pytest.mark.parametrize("name", ANY_SETTING)
    def test_the_same_model_as_in_memory(self, place: Place, name: str) -> None:
        setting = SETTINGS[name]
        frame = setting.data()
        used = self._used(setting, frame)
        if name in place.gaps:  # it fails when the gap closes
            with pytest.raises(place.refused):
                place.put(used)
            return
        data = place.put(used)
        memory = setting.model().fit(*setting.given(frame), setting.weights(frame))
        source = self._source(setting, data)
        fitted = setting.model().fit(source, setting.target, setting.weight)
        assert_same_model(memory, fitted, setting.features(frame))
        self._check_answers(memory, fitted, place, source, setting, frame)

    @pytest.mark.parametrize("name", SECOND)
    def test_learning_more_and_unlearning(self, place: Place, name: str) -> None:
        setting = SETTINGS[name]
        if name in place.gaps:
            return  # the case before says so
        first, second = _parts(setting.data(), 2)
        sources = [
            self._source(setting, place.put(self._used(setting, part))) for part in (first, second)
        ]
        memory, fitted = setting.model(), setting.model()
        for part, source in zip((first, second), sources, strict=True):
            memory.partial_fit(*setting.given(part), sample_weight=setting.weights(part))
            for _ in range(2):
                fitted.partial_fit(
                    source, setting.target, sample_weight=setting.weight, batch_id=str(part[0])
                )
        assert_same_model(memory, fitted, setting.features(first))
        memory.unlearn(*setting.given(second), sample_weight=setting.weights(second))
        fitted.unlearn(sources[1], setting.target, sample_weight=setting.weight)
        assert_same_model(memory, fitted, setting.features(first))
        with pytest.raises(
            NeverLearntError, match=r"cannot unlearn(:| .*, which was never learnt$)"
        ):
            fitted.unlearn(sources[1], setting.target, sample_weight=setting.weight)
        assert_same_model(memory, fitted, setting.features(first))

    @staticmethod
    def _used(setting: Setting, frame: pl.DataFrame) -> pl.DataFrame:
        """The columns that matter, and an id that is carried along."""
        targets = [setting.target] if isinstance(setting.target, str) else list(setting.target)
        items = [setting.text] if setting.text else list(setting.items)
        more = [] if setting.weight is None else [setting.weight]
        chosen = frame.select(*items, *(name for name in targets if name not in items), *more)
        return chosen.with_row_index("key")

    @staticmethod
    def _source(setting: Setting, data: Any) -> Any:
        return stc.source(data, ignore=["key"], text=setting.text)

    @staticmethod
    def _check_answers(
        memory: SparseTensorClassifier,
        fitted: SparseTensorClassifier,
        place: Place,
        source: Any,
        setting: Setting,
        frame: pl.DataFrame,
    ) -> None:
        X = setting.features(frame)
        answers = place.answer(fitted.predict_proba, source)
        expected = memory.predict_proba(X)
        if source.backend.ordered:
            assert_same(expected, answers)
            assert_same(memory.predict(X), fitted.predict(source))
        else:
            found = place.collected(answers).sort("key")
            columns = [name for name in found.columns if name.startswith("probability_")]
            both = np.column_stack(expected) if isinstance(expected, list) else expected
            assert_same(both, found.select(columns).to_numpy())
            assert place.collected(place.answer(fitted.predict, source)).height == frame.height
        if setting.target != "labels" or setting.params:
            assert fitted.score(source) == pytest.approx(
                memory.score(X, setting.y(frame), setting.weights(frame)), abs=EXACT
            )
        assert fitted.explain_local(source).labels is not None


class SourceBehaviour:
    """Cases for a fixture `place` that need no setting."""

    def test_answers_come_with_the_other_columns(self, place: Place) -> None:
        frame = table().select("id", *ITEMS, "class")
        data = place.put(frame)
        model = paper_model().fit(stc.source(data, ignore=["id"]), "class")
        answers = place.answer(model.predict, data)
        memory = model.predict(frame.select(ITEMS))
        if isinstance(answers, np.ndarray):
            assert answers.tolist() == memory.tolist()
            return
        found = place.collected(answers)
        assert sorted(found.columns) == ["class", "id", "prediction"]
        expected = dict(zip(frame["id"], memory, strict=True))
        assert dict(zip(found["id"], found["prediction"], strict=True)) == expected

    def test_coverage_of_values_never_seen(self, place: Place) -> None:
        frame = table().select(*ITEMS, "class")
        model = paper_model().fit(place.put(frame), "class")
        strange = frame.with_columns(pl.lit("never").alias("colour")).drop("class")
        found = place.answer(model.coverage, place.put(strange))
        shares = found if isinstance(found, np.ndarray) else place.collected(found)["coverage"]
        expected = model.coverage(strange)
        assert sorted(map(float, shares)) == pytest.approx(sorted(expected.tolist()), abs=EXACT)

    def test_bad_data_leaves_the_model_as_it_was(self, place: Place) -> None:
        frame = table().select(*ITEMS, "class")
        model = paper_model().fit(place.put(frame), "class")
        before = corpus(model)
        without = frame.with_columns(pl.when(pl.col("legs") != 8).then("class").alias("class"))
        for bad, target in ((without, "class"), (frame.drop("legs"), "class"), (frame, "clas")):
            with pytest.raises(ValueError, match=r"NaN|missing|column"):
                model.partial_fit(place.put(bad), target)
        assert corpus(model) == before
        with pytest.raises(ValueError, match="'legs'"):
            place.answer(model.predict, place.put(frame.drop("legs")))
        with pytest.raises(ValueError, match="theta"):
            model.predict(place.put(frame), theta=np.zeros(4))


def two_files(frame: pl.DataFrame, folder: Path) -> Path:
    """A new folder in this one, with the rows in two files."""
    own = Path(mkdtemp(dir=folder))
    half = frame.height // 2
    frame[:half].write_parquet(own / "a.parquet")
    frame[half:].write_parquet(own / "b.parquet")
    return own
