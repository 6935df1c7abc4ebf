"""The report: its numbers, and the page itself in a real browser."""

import io
import json
import re
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from stc import SparseTensorClassifier, SparseTensorClassifierCV, load_zoo
from stc.report import Report, report

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
REVIEWS = ["good fun", "bad, bad", "a good bore", "fun film"]
STARS = ["+", "-", "-", "+"]


def data_of(page: Report) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.S)
    return json.loads(found[1])


def name_of(data: dict, reference: int) -> str:
    name = data["names"][reference]
    return name if isinstance(name, str) else f"{data['names'][name[0]]}={name[1]}"


@pytest.fixture(scope="module")
def zoo():
    X, y = load_zoo()
    train = np.arange(len(X)) % 3 != 0
    model = SparseTensorClassifier().fit(X.filter(train), y.filter(train))
    return model, X.filter(~train), y.filter(~train)


@pytest.fixture(scope="module")
def zoo_page(zoo) -> Report:
    return report(*zoo, title="Zoo & co")


# --- numbers ------------------------------------------------------------------------------------


def cells_of(page: str, table: str) -> list[list[str]]:
    body = re.search(rf'<table class="{table}".*?</table>', page, re.S)[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[re.sub("<.*?>", "", cell) for cell in row] for row in cells]


def test_figures_are_scikit_learns(zoo, zoo_page):
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
    explanation = model.explain(X)
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
        contrast = model.explain(X).why_not(5, data["labels"][place]).table
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
        own = model.explain().for_class(data["classes"]["names"][row["class"]]).top(12).table
        assert [name_of(data, reference) for reference, _ in row["features"]] == (
            own["feature"].to_list()
        )
        assert [s for _, s in row["features"]] == [round(s * 1e6) for s in own["share"]]


def test_card(zoo, zoo_page):
    model, *_ = zoo
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", zoo_page.html))
    assert facts["Items learnt"] == f"{model.class_mass_.sum():.0f}"
    assert facts["Attributes"] == "16"
    assert facts["Features"] == str(len(model.get_feature_names_out()))
    assert facts["Phases"] == "none"
    assert facts["Made by"].startswith("stc ")
    assert "<title>Zoo &amp; co</title>" in zoo_page.html


def test_marked_words_put_together_are_the_text():
    texts = ["What  good\nfun, don't!", "", "bad bad"]
    model = SparseTensorClassifier(ngrams=2).fit(REVIEWS, STARS)
    data = data_of(report(model, texts, ["+", "-", "?"]))
    assert ["".join(item["s"]) for item in data["items"]] == texts
    first = data["items"][0]
    words = [name_of(data, first["u"][k]) if k >= 0 else None for k in first["m"]]
    assert [word for word in words if word] == ["good", "fun", ","]
    assert data["labels"][data["items"][2]["t"][0]] == "?"
    assert data["items"][2]["x"] is True


def test_same_bytes_twice(zoo, zoo_page):
    assert report(*zoo, title="Zoo & co").html == zoo_page.html
    model = SparseTensorClassifier(tokenizer=lambda text: text.split()).fit(REVIEWS, STARS)
    assert report(model, REVIEWS).html == report(model, REVIEWS).html


def test_mistakes_are_kept_when_items_are_left_out(zoo):
    model, X, y = zoo
    wrong = np.flatnonzero(model.predict(X) != y.to_numpy())
    page = report(model, X, y, max_items=len(wrong))
    assert [item["n"] for item in data_of(page)["items"]] == wrong.tolist()
    assert f"{len(wrong)} of {len(X)} items are here, mistakes first" in page.html
    with pytest.raises(ValueError, match="max_items"):
        report(model, X, y, max_items=0)


def test_not_all_counterfactuals_are_computed():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (250, 3)).astype(str)
    y = X[:, 0]
    data = data_of(report(SparseTensorClassifier().fit(X, y), X))
    assert [item["cf"] is not None for item in data["items"]] == [k < 200 for k in range(250)]


def test_save_leaves_a_file_as_it_was_if_it_fails(tmp_path, zoo_page):
    path = zoo_page.save(tmp_path / "page.html")
    assert path.read_bytes() == zoo_page.html.encode("utf-8")
    with pytest.raises(UnicodeEncodeError):
        Report("\ud800").save(path)
    assert path.read_bytes() == zoo_page.html.encode("utf-8")
    assert list(tmp_path.iterdir()) == [path]
    assert 'sandbox="allow-scripts"' in zoo_page._repr_html_()


def _records():
    X = [{"a": ["x", "y"], "b": 1}, {"a": "x", "b": None}, {"b": 2, "c": 3}]
    return SparseTensorClassifier().fit(X, ["k", "l", "k"]), X, ["k", "l", "new"]


def _frame():
    X = pl.DataFrame({"size": np.linspace(0, 9, 30), "kind": ["u", "v", "w"] * 10})
    y = [k % 2 for k in range(30)]
    return SparseTensorClassifier(continuous=["size"], missing="category").fit(X, y), X, y


def _counts():
    X = sparse.csr_array(np.random.default_rng(0).integers(0, 3, (20, 6)))
    y = ["a", "b"] * 10
    return SparseTensorClassifier().fit(X, y), X, y


def _joint():
    X = [["a", "b"], ["a", "c"], ["d", "c"]]
    y = pl.DataFrame({"sky": ["grey", "blue", "blue"], "wind": [1, 2, 2]})
    return SparseTensorClassifier().fit(X, y), X, y


def _targets():
    X = pl.DataFrame({"month": [1, 7, 1], "sky": ["grey", "blue", "grey"], "wind": [5, 1, 1]})
    return SparseTensorClassifier(targets=["sky", "wind"]).fit(X), X, None


def _sets():
    X, y = [["a", "b"], ["b", "c"], ["a", "c"]], [{"x"}, {"y", "z"}, {"x", "z"}]
    return SparseTensorClassifier(label_threshold=0.5).fit(X, y), X, [{"x"}, {"y"}, {"new"}]


def _indicator():
    X, y = [["a", "b"], ["b", "c"], ["a", "c"]], np.array([[1, 0], [0, 1], [1, 1]])
    return SparseTensorClassifier(label_threshold=0.5).fit(X, y), X, y


def _soft():
    X, y = [["a"], ["b"]], [{"x": 0.9, "y": 0.1}, {"x": 0.2, "y": 0.8}]
    return SparseTensorClassifier().fit(X, y), X, y


def _interactions():
    X, y = load_zoo()
    return SparseTensorClassifier(interactions=2).fit(X, y), X[:12], y[:12]


def _dimensions():
    X, y = load_zoo()
    X = X.select("milk", "eggs", "legs")
    policy = [["milk", "eggs", "legs"], ["legs"]]
    return SparseTensorClassifier(dimensions="each", policy=policy).fit(X, y), X[:12], y[:12]


def _phases():
    X = [[a, b] for a in "uvw" for b in "uvw"] * 5
    y = [a == b for a, b in X]
    return SparseTensorClassifier(entropy=0).fit(X, y).learn_phases(X, y), X[:20], y[:20]


def _tuned():
    X, y = [[a, b] for a in "uvw" for b in "uvw"] * 4, list("xyzxxyyzz") * 4
    tuned = SparseTensorClassifierCV(balance=[1.0], entropy=[0.0, 1.0], interactions=1, phases=None)
    return tuned.fit(X, y), X[:9], y[:9]


def _one_class():
    return SparseTensorClassifier().fit([["a"], ["b"]], ["x", "x"]), [["a"], ["c"]], ["x", "x"]


def _unlabelled():
    return SparseTensorClassifier().fit(REVIEWS, STARS), pl.Series(REVIEWS), None


KINDS = [
    _records,
    _frame,
    _counts,
    _joint,
    _targets,
    _sets,
    _indicator,
    _soft,
    _interactions,
    _dimensions,
    _phases,
    _tuned,
    _one_class,
    _unlabelled,
]


# --- in the browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    assert CHROMIUM.exists(), "the page is tested in Chromium: apt-get install -y chromium"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page; in the end there was no error, and no request but for the file itself."""
    pages, complaints, requests = [], [], []

    def open_page(page: Report, **options):
        path = page.save(tmp_path / f"page{len(pages)}.html")
        tab = browser.new_page(**options)
        pages.append(tab)
        tab.add_init_script("window.fired = 0; window.alert = () => { window.fired += 1; };")
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: (complaints.append("dialog"), dialog.dismiss()))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready=yes]", state="attached")
        return tab

    yield open_page
    for tab in pages:
        tab.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file://", "data:,"))] == []
    assert len([url for url in requests if url.startswith("file://")]) == len(pages)


def test_search_filters_classes_and_features(opened, zoo_page):
    tab = opened(zoo_page)
    cards = tab.locator("#class-list > .card")
    tab.fill("#class-search", "milk=1")
    assert [card for card in cards.all() if card.is_visible()] != []
    visible = [text for text in cards.locator("h3 > span:first-child").all() if text.is_visible()]
    assert [text.inner_text() for text in visible] == ["Mammal"]
    assert tab.locator("#class-list li:visible .name").all_inner_texts() == ["milk=1"]
    tab.fill("#class-search", "bird")
    assert len(tab.locator("#class-list li:visible").all()) == 12
    tab.fill("#class-search", "")
    assert len([card for card in cards.all() if card.is_visible()]) == 7


def test_pick_an_item_and_ask_why_not(opened, zoo, zoo_page):
    model, X, _ = zoo
    explanation = model.explain(X)
    tab = opened(zoo_page)
    tab.click("#option-4")
    label, others = explanation.labels[4], explanation.proba[4].argsort()[::-1]
    assert tab.inner_text("#detail .heading") == "Item 4"
    assert tab.inner_text("#announcement").startswith(f"Item 4: {label}, ")
    strongest = explanation.why(4).table.row(0, named=True)
    assert tab.inner_text("#why li:first-child .name") == strongest["feature"]
    assert tab.inner_text("#why li:first-child .amount") == f"+{strongest['share'] * 100:.1f} %"
    assert tab.inner_text("#counterfactual") == explanation.counterfactual(4).sentence() + "."
    for place in others[1:3]:
        tab.select_option("#other", label=explanation.classes[place])
        first = explanation.why_not(4, explanation.classes[place]).table.row(0, named=True)
        assert tab.inner_text("#why-not li:first-child .name") == first["feature"]
        assert tab.evaluate("document.activeElement.id") == "other"
    tab.select_option("#colours", "why-not")
    assert tab.locator(".cells tbody tr").count() == 16


def test_keyboard(opened, zoo_page):
    tab = opened(zoo_page, viewport={"width": 1400, "height": 800})
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the items"
    tab.keyboard.press("Enter")
    for _ in range(3):
        tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") == "item-list"
    chosen = '[aria-selected="true"]'
    for key, place in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 33)):
        tab.keyboard.press(key)
        assert tab.get_attribute(chosen, "id") == f"option-{place}"
        assert tab.get_attribute("#item-list", "aria-activedescendant") == f"option-{place}"
    assert tab.inner_text("#detail .heading") == "Item 33"
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", (
        "the focus is visible"
    )


def test_filters_of_items(opened, zoo_page):
    data = data_of(zoo_page)
    wrong = [item["n"] for item in data["items"] if item["x"]]
    tab = opened(zoo_page)
    tab.select_option("#item-filter", "mistakes")
    assert tab.locator(".option:visible").count() == len(wrong)
    assert tab.inner_text("#item-count") == f"{len(wrong)} of {len(data['items'])} items"
    assert tab.inner_text("#detail .heading") == f"Item {wrong[0]}"
    tab.select_option("#item-filter", "all")
    tab.fill("#item-search", "feathers=1")
    feathers = [k for k, item in enumerate(data["items"]) if "feathers=1" in names(data, item)]
    assert 0 < tab.locator(".option:visible").count() == len(feathers)


def names(data: dict, item: dict) -> list[str]:
    return [name_of(data, reference) for reference in item["u"]]


def test_every_control_has_a_label(opened, zoo_page):
    tab = opened(zoo_page)
    bare = tab.evaluate(
        "[...document.querySelectorAll('input, select')].filter(e => !e.labels.length).length"
    )
    assert bare == 0
    assert tab.locator("main").count() == tab.locator("header").count() == 1
    assert tab.locator("[aria-live=polite]").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1400])
def test_screenshots(opened, zoo_page, scheme, width):
    from PIL import Image

    tab = opened(zoo_page, color_scheme=scheme, viewport={"width": width, "height": 900})
    image = Image.open(io.BytesIO(tab.screenshot())).convert("L")
    brightness = np.asarray(image).mean()
    assert brightness > 200 if scheme == "light" else brightness < 80
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_text_page(opened):
    model = SparseTensorClassifier().fit(REVIEWS, STARS)
    text = "What  good\n<b>fun</b>, don't!"
    tab = opened(report(model, [text, "bad"], ["+", "+"]))
    marks = tab.locator(".text mark.for")
    assert "fun" in [own.split(" (")[0] for own in marks.all_text_contents()]
    shown = tab.evaluate(
        "(() => { const box = document.querySelector('.text').cloneNode(true);"
        "box.querySelectorAll('.hidden').forEach(e => e.remove()); return box.textContent; })()"
    )
    assert shown == text
    assert "don't" in tab.locator("#unseen li").all_inner_texts()
    tab.click("#option-1")
    tab.select_option("#colours", "why-not")
    assert tab.locator(".text mark.for").count() == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
def test_all_kinds_of_models(opened, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, X, y = kind()
        page = report(model, X, y)
    tab = opened(page)
    last = len(data_of(page)["items"]) - 1
    tab.click(f"#option-{last}")
    assert tab.inner_text("#detail .heading") == f"Item {last}"
    if kind in (_sets, _indicator):
        assert "An item may have several labels here" in page.html
        assert tab.locator(".confusion").count() == 0
    if kind in (_joint, _targets):
        assert tab.locator(".confusion").count() == 1
        assert "grey, " in tab.inner_text("#detail")
    if kind is _dimensions:
        assert "judged by milk × eggs × legs" in tab.inner_text("#detail")
    assert (tab.locator("#figures").count() == 0) == (kind is _unlabelled)


FIRES = "alert(1)"
HOSTILE = [
    f"<script>{FIRES}</script>",
    f"</script><script>{FIRES}</script>",
    f"</SCRIPT ><img src=x onerror={FIRES}>",
    f"<!--<script>{FIRES}",
    "<!--",
    "-->",
    "]]>",
    f"<svg/onload={FIRES}>",
    f'" onmouseover="{FIRES}" x="',
    f"' onfocus='{FIRES}' autofocus='",
    f"` onclick={FIRES} `",
    f"javascript:{FIRES}",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{# comment #}",
    "${7*7}",
    "\u202eright to left\u202c",
    "\u200f\u200e\u2066",
    "nul\x00here",
    "\x01\x02\x1b[31m",
    "line\u2028separators\u2029",
    "\ufeff\ufffe\uffff",
    "</title></style></textarea>",
    f"<iframe srcdoc='<script>{FIRES}</script>'>",
    f"<style>@import url(javascript:{FIRES})</style>",
    "<base href=https://example.org/>",
    "<meta http-equiv=refresh content=0>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<img src=https://example.org/x.png>",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "toString",
    "\\u003cscript\\u003e",
    "\\",
    '"',
    "&lt;script&gt;",
    "&#60;script&#62;",
    "a" * 5000,
    "é̂̂̂" * 50,
]
HOSTILE += [f"{a}{b}" for a in HOSTILE[:16] for b in HOSTILE[:10]]
LONG = "long" * 250_000


def unharmed(tab, picks) -> None:
    for place in picks:
        tab.click(f"#option-{place}")
        if tab.locator("#other").count():
            tab.locator("#other").select_option(index=0)
    tab.fill("#class-search", "<script")
    tab.fill("#item-search", "alert")
    tab.wait_for_timeout(50)
    assert tab.evaluate("window.fired") == 0
    assert tab.locator("script").count() == 2
    assert tab.locator("iframe, img, base, svg:not(.curve)").count() == 0
    assert tab.locator("link").count() == 1


def test_hostile_attributes_and_values(opened, monkeypatch):
    assert len(set(HOSTILE)) == 200
    monkeypatch.setattr("stc.report.items._WORK", 30_000)  # few counterfactuals, to be fast
    X = [{name: name, f"{name} too": LONG, "same": name} for name in HOSTILE]
    y = [HOSTILE[k % 2] for k in range(200)]
    page = report(SparseTensorClassifier().fit(X, y), X, y, title=HOSTILE[1] + "\ud800")
    assert len(page.html) < 1_000_000
    unharmed(opened(page), range(0, 200, 13))


def test_hostile_classes(opened, monkeypatch):
    monkeypatch.setattr("stc.report.items._WORK", 30_000)
    X = [[k, k % 7] for k in range(200)]
    y = ["<script>alert('never learnt')</script>", *HOSTILE[1:]]
    page = report(SparseTensorClassifier().fit(X, HOSTILE), X, y)
    assert len(page.html) < 1_000_000
    unharmed(opened(page), range(0, 200, 13))


def test_a_class_of_a_million_signs(opened):
    page = report(SparseTensorClassifier().fit([["a"], ["b"]], [LONG, "x"]), [["a"]], [LONG])
    assert len(page.html) < 100_000
    assert "1,000,000 characters" in opened(page).inner_text("#detail")


def test_hostile_texts(opened):
    texts = [*HOSTILE, LONG, " ".join(HOSTILE)]
    y = [f"class{k % 3}" for k in range(len(texts))]
    model = SparseTensorClassifier(tokenizer=str.split).fit(texts, y)
    unharmed(opened(report(model, texts, y)), [*range(0, 200, 17), 200, 201])


def test_a_thousand_texts_are_small_and_open_fast(opened):
    rng = np.random.default_rng(0)
    words = np.array(["".join(map(chr, rng.integers(97, 123, 3 + k % 7))) for k in range(20_000)])
    frequency = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(words, (1000, 250), p=frequency / frequency.sum())
    texts = [" ".join(own) for own in drawn]
    model = SparseTensorClassifier().fit(texts[:900], rng.integers(0, 20, 900).astype(str))
    y = model.predict(texts)
    y[:100] = "0"
    start = time.perf_counter()
    page = report(model, texts, y)
    made = time.perf_counter() - start
    size = len(page.html.encode())
    tab = opened(page)
    entry = "performance.getEntriesByType('navigation')[0].loadEventEnd"
    tab.wait_for_function(f"{entry} > 0")
    seconds = tab.evaluate(entry) / 1000
    print(f"{size / 1e6:.2f} MB, made in {made:.1f} s, opened in {seconds:.2f} s")
    assert size < 5_000_000
    assert seconds < 2
    tab.click("#option-3")
    assert tab.inner_text("#detail .heading") == "Item 3"
