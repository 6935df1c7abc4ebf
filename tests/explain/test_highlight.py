"""Highlighted documents: every word where it stands, with the share that the explanation has."""

import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc import SparseTensorClassifier
from stc.exceptions import ParameterError
from stc.explain.highlight import Highlight, Part, highlight, token_spans
from support.models import paper_model

DOCUMENTS = ["Good fun, good film!", "Bad, bad: a bore.", "A good bore", "not good"]
CLASSES = ["+", "-", "-", "-"]


class _Words(HTMLParser):
    """The text of a fragment as a reader sees it, and the title of each mark."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.titles, self.classes, self._path = "", [], [], []

    def handle_starttag(self, tag, attrs) -> None:
        own = dict(attrs)
        self._path.append(own.get("class") or "")
        if tag == "mark" and "stc-text" in self._path:
            self.titles.append(own["title"])
            self.classes.append(own["class"])

    def handle_endtag(self, tag) -> None:
        self._path.pop()

    def handle_data(self, data) -> None:
        if "stc-text" in self._path and "stc-hidden" not in self._path:
            self.text += data


def read(found: Highlight) -> _Words:
    parser = _Words()
    parser.feed(found.html)
    return parser


def fitted(**parameters) -> SparseTensorClassifier:
    return paper_model(**parameters).fit(DOCUMENTS, CLASSES)


def test_shares_are_those_of_the_explanation():
    explanation = fitted().explain_local(["A good, GOOD\n\tfilm"])
    found = highlight(explanation, 0)
    table = explanation.why(0).table
    shares = dict(zip(table["value"], table["share"], strict=True))
    words = {part.text: part for part in found.parts}
    assert found.label == "+"
    for word in ("good", ",", "film"):
        assert words[word].share == shares[word]
    assert words["GOOD"].effect == "unseen"
    assert words["film"].effect == "for"


@given(st.text(alphabet="good bad,.!<&>\"'\n\t\u0301éकि–", max_size=40))
def test_text_is_kept_exactly(text: str):
    found = highlight(fitted().explain_local([text]), 0)
    assert "".join(part.text for part in found.parts) == text
    # An HTML parser reads a carriage return as a newline; there is none here.
    assert read(found).text == text


def test_text_marks_are_readable_without_colour():
    found = highlight(fitted().explain_local(["good   fun\nquel film"]), 0, "+")
    assert found.text.endswith(": good   [+fun+]\n[?quel?] [+film+]")
    assert str(found) == found.text
    words = read(found)
    assert any("stc-unseen" in own for own in words.classes)
    assert "never seen" in words.titles
    assert found._repr_html_() == found.html


def test_words_of_a_row_share_its_contribution():
    model = fitted(ngrams=2)
    explanation = model.explain_local(["not good fun"])
    found = highlight(explanation, 0, "-")
    table = explanation.why(0, "-").table
    expected: dict[str, float] = {}
    for words, share in zip(table["value"].to_list(), table["share"], strict=True):
        for word in words:
            expected[word] = expected.get(word, 0.0) + share / len(words)
    shares = {part.text: part.share for part in found.parts if part.text.strip()}
    assert shares == pytest.approx({"not": 0.0, "good": 0.0, "fun": 0.0} | expected)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_words_against_a_class_look_otherwise():
    phases = {"-": {"good": np.pi}, "+": {"fun": 0.0}}
    model = paper_model(phases=phases, entropy=0).fit(DOCUMENTS, CLASSES)
    found = highlight(model.explain_local(["Bad bore, good"]), 0, "-")
    effects = {part.text: part.effect for part in found.parts}
    assert effects["good"] == "against"
    assert effects["bore"] == "for"
    assert "[-good-]" in found.text
    assert any("stc-against" in own for own in read(found).classes)


def test_own_tokenizer_in_lower_case():
    model = fitted(tokenizer=lambda text: re.findall(r"[a-z]+", text.lower()))
    found = highlight(model.explain_local(["GOOD-ness, Fun"]), 0, "+")
    assert [part.text for part in found.parts if part.effect] == ["ness", "Fun"]
    assert "".join(part.text for part in found.parts) == "GOOD-ness, Fun"


def test_tokens_that_do_not_stand_in_the_text_are_listed_under_it():
    model = fitted(tokenizer=lambda text: [word[:3].upper() for word in text.split()])
    found = highlight(model.explain_local(["fun film"]), 0, "+")
    assert [part.text for part in found.parts] == ["fun film"]
    assert {part.text for part in found.left_out} == {"FUN", "FIL"}
    assert "not in the text as they stand: " in found.text
    assert "FUN" in found.html


def test_whole_words_only_and_the_longest_first():
    spans = token_spans("new york newer", {"new", "york", "new york"})
    assert spans == [(0, 8, "new york")]
    assert token_spans("concat cat", {"cat"}) == [(7, 10, "cat")]


def test_default_tokens_are_where_the_model_found_them():
    text = "don't e-mail: someone@home.org don "
    tokens = {"don't", "e-mail", ":", "someone@home.org", "don"}
    assert [text[start:end] for start, end, _ in token_spans(text, tokens)] == [
        "don't",
        "e-mail",
        ":",
        "someone@home.org",
        "don",
    ]


def test_bags_of_words_and_empty_documents():
    model = paper_model().fit(pl.Series([["a", "b"], ["c"]]), ["x", "y"])
    assert highlight(model.explain_local(pl.Series([["a", "b"]])), 0).text == "x, 1.00: [+a+] [+b+]"
    assert highlight(fitted().explain_local(["", "good"]), 0).parts == ()


def test_hostile_text_is_escaped():
    text = "<script>alert(1)</script> \"good\" 'fun' &amp; <img onerror=x>"
    found = highlight(fitted().explain_local([text]), 0)
    assert read(found).text == text
    assert "<script" not in found.html
    assert "<img" not in found.html
    named = Highlight("<b>", 0.5, (Part('"><i>', 0.5, "for"),)).html
    assert "<b>" not in named
    assert "<i>" not in named


def test_tables_have_no_text():
    explanation = paper_model().fit([["a"], ["b"]], ["x", "y"]).explain_local([["a"]])
    with pytest.raises(ParameterError, match="item 0: not a document, so there is no") as caught:
        highlight(explanation, 0)
    assert caught.value.item == 0
    assert caught.value.hint == "see why(0).table"


def test_numbers_of_a_part_of_the_batch():
    explanation = fitted().explain_local(["fun", "bad"])
    only = explanation.why(1)
    assert "".join(part.text for part in highlight(only, 1).parts) == "bad"
