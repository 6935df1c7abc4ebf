"""The numbers of the report."""

import re

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from stc.exceptions import ParameterError
from stc.report import Report, report
from support.models import paper_model
from support.report_cases import REVIEWS, STARS, data_of, name_of


def cells_of(page: str, table: str) -> list[list[str]]:
    body = re.search(rf'<table class="{table}".*?</table>', page, re.S)[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[re.sub("<.*?>", "", cell) for cell in row] for row in cells]


def test_metrics_are_scikit_learns(zoo, zoo_page):
    model, X, y = zoo
    predicted = model.predict(X)
    assert f"{np.mean(predicted == y.to_numpy()) * 100:.1f} %</strong>" in zoo_page.html
    rows = {row[0]: row[1:] for row in cells_of(zoo_page.html, "numbers")[1:]}
    labels = np.unique(np.concatenate([predicted, y.to_numpy()]))
    figures = precision_recall_fscore_support(y, predicted, labels=labels, zero_division=0)
    for place, label in enumerate(labels):
        expected = [f"{own[place]:.3f}" for own in figures[:3]]
        assert rows[label] == [*expected, str(figures[3][place])]
    shown = [row[1:] for row in cells_of(zoo_page.html, "confusion")[1:]]
    assert np.array_equal(np.array(shown, int), confusion_matrix(y, predicted, labels=labels))


def test_calibration_is_scikit_learns(zoo, zoo_page):
    model, X, y = zoo
    P = model.predict_proba(X)
    right, said = calibration_curve(model.predict(X) == y.to_numpy(), P.max(axis=1), n_bins=10)
    table = re.search(r'id="calibration-table".*?</details>', zoo_page.html, re.S)[0]
    rows = re.findall(r"<td>([\d.]+) %</td><td>([\d.]+) %</td><td>(\d+)</td>", table)
    assert [row[:2] for row in rows] == [
        (f"{s * 100:.1f}", f"{r * 100:.1f}") for s, r in zip(said, right, strict=True)
    ]
    assert sum(int(row[2]) for row in rows) == len(X)


def test_items_are_those_of_the_explanation(zoo, zoo_page):
    model, X, y = zoo
    explanation = model.explain_local(X)
    data = data_of(zoo_page)
    assert [item["n"] for item in data["items"]] == list(range(len(X)))
    for item in data["items"][:8]:
        number = item["n"]
        assert data["labels"][item["p"]] == explanation.labels[number]
        assert item["x"] == (explanation.labels[number] != y[number])
        assert item["c"] == round(explanation.coverage[number] * 1e4)
        assert item["cf"] == explanation.counterfactual(number).sentence()
        for place, units in item["pr"]:
            assert units == round(explanation.proba[number, place] * 1e4)
        for slot, place in enumerate(item["k"]):
            table = explanation.why(number, data["labels"][place]).table
            expected = dict(zip(table["feature"], table["share"], strict=True))
            for reference, share in zip(item["u"], item["us"][slot], strict=True):
                assert share == pytest.approx(
                    expected.get(name_of(data, reference), 0) * 1e4, abs=1
                )


def test_why_not_can_be_rebuilt_from_the_page(zoo, zoo_page):
    model, X, _ = zoo
    data = data_of(zoo_page)
    item = data["items"][5]
    for slot, place in list(enumerate(item["k"]))[1:]:
        contrast = model.explain_local(X).why_not(5, data["labels"][place]).table
        expected = dict(zip(contrast["feature"], contrast["share"], strict=True))
        highest = max(item["sc"][0], item["sc"][slot])
        for k, reference in enumerate(item["u"]):
            adds = item["us"][0][k] * item["sc"][0] - item["us"][slot][k] * item["sc"][slot]
            name = name_of(data, reference)
            assert adds / highest / 1e4 == pytest.approx(expected.get(name, 0), abs=3e-4)


def test_classes_are_those_of_the_global_explanation(zoo, zoo_page):
    model, *_ = zoo
    data = data_of(zoo_page)
    for row in data["classes"]["rows"]:
        own = model.explain_global().for_class(data["classes"]["names"][row["class"]]).top(12).table
        assert [name_of(data, reference) for reference, _ in row["features"]] == (
            own["feature"].to_list()
        )
        assert [s for _, s in row["features"]] == [round(s * 1e6) for s in own["share"]]


def test_card(zoo, zoo_page):
    model, *_ = zoo
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", zoo_page.html))
    assert facts["Training items"] == f"{model.class_mass_.sum():.0f}"
    assert facts["Attributes"] == "16"
    assert facts["Features"] == str(len(model.get_feature_names_out()))
    assert facts["Gains and phases"] == "none"
    assert facts["Created by"].startswith("stc ")
    assert "<title>Zoo &amp; co</title>" in zoo_page.html


def test_marked_words_put_together_are_the_text():
    texts = ["What  good\nfun, don't!", "", "bad bad"]
    model = paper_model(ngrams=2).fit(REVIEWS, STARS)
    data = data_of(report(model, texts, ["+", "-", "?"]))
    assert ["".join(item["s"]) for item in data["items"]] == texts
    first = data["items"][0]
    words = [name_of(data, first["u"][k]) if k >= 0 else None for k in first["m"]]
    assert [word for word in words if word] == ["good", "fun", ","]
    assert data["labels"][data["items"][2]["t"][0]] == "?"
    assert data["items"][2]["x"] is True


def test_same_bytes_twice(zoo, zoo_page):
    assert report(*zoo, title="Zoo & co").html == zoo_page.html
    model = paper_model(tokenizer=lambda text: text.split()).fit(REVIEWS, STARS)
    assert report(model, REVIEWS).html == report(model, REVIEWS).html


def test_mistakes_are_kept_when_items_are_left_out(zoo):
    model, X, y = zoo
    wrong = np.flatnonzero(model.predict(X) != y.to_numpy())
    page = report(model, X, y, max_items=len(wrong))
    assert [item["n"] for item in data_of(page)["items"]] == wrong.tolist()
    assert f"{len(wrong)} of {len(X)} items are shown, mistakes first" in page.html
    with pytest.raises(ParameterError, match="max_items: at least 1 expected, got 0"):
        report(model, X, y, max_items=0)


def test_not_all_counterfactuals_are_computed():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (250, 3)).astype(str)
    y = X[:, 0]
    data = data_of(report(paper_model().fit(X, y), X))
    assert [item["cf"] is not None for item in data["items"]] == [k < 200 for k in range(250)]


def test_save_leaves_a_file_as_it_was_if_it_fails(tmp_path, zoo_page):
    path = zoo_page.save(tmp_path / "page.html")
    assert path.read_bytes() == zoo_page.html.encode("utf-8")
    with pytest.raises(UnicodeEncodeError):
        Report("\ud800").save(path)
    assert path.read_bytes() == zoo_page.html.encode("utf-8")
    assert list(tmp_path.iterdir()) == [path]
    assert 'sandbox="allow-scripts"' in zoo_page._repr_html_()
