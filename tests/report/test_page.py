"""The page of the report, in a real browser."""

import io
import os
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from stc import SparseTensorClassifierCV, load_zoo
from stc.report import Report, report
from support.models import paper_model
from support.report_cases import REVIEWS, STARS, data_of, name_of

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


# --- numbers ------------------------------------------------------------------------------------


def _records():
    X = [{"a": ["x", "y"], "b": 1}, {"a": "x", "b": None}, {"b": 2, "c": 3}]
    return paper_model().fit(X, ["k", "l", "k"]), X, ["k", "l", "new"]


def _frame():
    X = pl.DataFrame({"size": np.linspace(0, 9, 30), "kind": ["u", "v", "w"] * 10})
    y = [k % 2 for k in range(30)]
    return paper_model(continuous=["size"], missing="category").fit(X, y), X, y


def _counts():
    X = sparse.csr_array(np.random.default_rng(0).integers(0, 3, (20, 6)))
    y = ["a", "b"] * 10
    return paper_model().fit(X, y), X, y


def _joint():
    X = [["a", "b"], ["a", "c"], ["d", "c"]]
    y = pl.DataFrame({"sky": ["grey", "blue", "blue"], "wind": [1, 2, 2]})
    return paper_model().fit(X, y), X, y


def _targets():
    X = pl.DataFrame({"month": [1, 7, 1], "sky": ["grey", "blue", "grey"], "wind": [5, 1, 1]})
    return paper_model(targets=["sky", "wind"]).fit(X), X, None


def _sets():
    X, y = [["a", "b"], ["b", "c"], ["a", "c"]], [{"x"}, {"y", "z"}, {"x", "z"}]
    return paper_model(label_threshold=0.5).fit(X, y), X, [{"x"}, {"y"}, {"new"}]


def _indicator():
    X, y = [["a", "b"], ["b", "c"], ["a", "c"]], np.array([[1, 0], [0, 1], [1, 1]])
    return paper_model(label_threshold=0.5).fit(X, y), X, y


def _soft():
    X, y = [["a"], ["b"]], [{"x": 0.9, "y": 0.1}, {"x": 0.2, "y": 0.8}]
    return paper_model().fit(X, y), X, y


def _interactions():
    X, y = load_zoo()
    return paper_model(interactions=2).fit(X, y), X[:12], y[:12]


def _dimensions():
    X, y = load_zoo()
    X = X.select("milk", "eggs", "legs")
    policy = [["milk", "eggs", "legs"], ["legs"]]
    return paper_model(dimensions="each", policy=policy).fit(X, y), X[:12], y[:12]


def _phases():
    X = [[a, b] for a in "uvw" for b in "uvw"] * 5
    y = [a == b for a, b in X]
    return paper_model(entropy=0).fit(X, y).learn_phases(X, y), X[:20], y[:20]


def _tuned():
    X, y = [[a, b] for a in "uvw" for b in "uvw"] * 4, list("xyzxxyyzz") * 4
    tuned = SparseTensorClassifierCV(balance=1.0, interactions=1, phases=None)
    return tuned.fit(X, y), X[:9], y[:9]


def _one_class():
    return paper_model().fit([["a"], ["b"]], ["x", "x"]), [["a"], ["c"]], ["x", "x"]


def _unlabelled():
    return paper_model().fit(REVIEWS, STARS), pl.Series(REVIEWS), None


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
    if not CHROMIUM.exists():
        missing = "the page is tested in Chromium, which is not installed: make browser"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
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
    explanation = model.explain_local(X)
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
    model = paper_model().fit(REVIEWS, STARS)
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
        assert "Items may have several labels" in page.html
        assert tab.locator(".confusion").count() == 0
    if kind in (_joint, _targets):
        assert tab.locator(".confusion").count() == 1
        assert "grey, " in tab.inner_text("#detail")
    if kind is _dimensions:
        assert "dimensions milk × eggs × legs" in tab.inner_text("#detail")
    assert (tab.locator("#evaluation").count() == 0) == (kind is _unlabelled)


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
    page = report(paper_model().fit(X, y), X, y, title=HOSTILE[1] + "\ud800")
    assert len(page.html) < 1_000_000
    unharmed(opened(page), range(0, 200, 13))


def test_hostile_classes(opened, monkeypatch):
    monkeypatch.setattr("stc.report.items._WORK", 30_000)
    X = [[k, k % 7] for k in range(200)]
    y = ["<script>alert('never learnt')</script>", *HOSTILE[1:]]
    page = report(paper_model().fit(X, HOSTILE), X, y)
    assert len(page.html) < 1_000_000
    unharmed(opened(page), range(0, 200, 13))


def test_a_class_of_a_million_signs(opened):
    page = report(paper_model().fit([["a"], ["b"]], [LONG, "x"]), [["a"]], [LONG])
    assert len(page.html) < 100_000
    assert "1,000,000 characters" in opened(page).inner_text("#detail")


def test_hostile_texts(opened):
    texts = [*HOSTILE, LONG, " ".join(HOSTILE)]
    y = [f"class{k % 3}" for k in range(len(texts))]
    model = paper_model(tokenizer=str.split).fit(texts, y)
    unharmed(opened(report(model, texts, y)), [*range(0, 200, 17), 200, 201])


def test_a_thousand_texts_are_small_and_open_fast(opened):
    rng = np.random.default_rng(0)
    words = np.array(["".join(map(chr, rng.integers(97, 123, 3 + k % 7))) for k in range(20_000)])
    frequency = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(words, (1000, 250), p=frequency / frequency.sum())
    texts = [" ".join(own) for own in drawn]
    model = paper_model().fit(texts[:900], rng.integers(0, 20, 900).astype(str))
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
