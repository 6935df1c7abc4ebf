"""A document with its words marked by what they add to a class, and by what they take from it."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from stc._input.documents import TOKEN_PATTERN
from stc.explain.names import text_of
from stc.explain.variants import Variants

if TYPE_CHECKING:
    from stc.explain.local import LocalExplanation

# Words that weigh less than this share of the strongest one are not marked.
FAINT = 0.1
# How marks look without colour: plain text, and what a screen reader says.
_SIGNS = {"for": "+", "against": "-", "unseen": "?"}
_STYLE = (
    "<style>"
    ".stc-highlight{font-family:system-ui,sans-serif;line-height:1.7;max-width:50em}"
    ".stc-highlight p{margin:.4em 0}"
    ".stc-text{white-space:pre-wrap;overflow-wrap:anywhere}"
    ".stc-highlight mark{color:inherit;background:none;border-radius:.2em;padding:0 .1em}"
    ".stc-for{background:rgb(37 99 235/calc(.08 + .3*var(--stc-w)))!important;"
    "text-decoration:underline solid 2px rgb(37 99 235);text-underline-offset:.2em}"
    ".stc-against{background:rgb(217 90 10/calc(.08 + .3*var(--stc-w)))!important;"
    "text-decoration:underline wavy 1px rgb(217 90 10);text-underline-offset:.2em}"
    ".stc-strong{font-weight:650}"
    ".stc-unseen{font-style:italic;text-decoration:underline dotted 1px;"
    "text-underline-offset:.2em;opacity:.75}"
    ".stc-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);"
    "white-space:nowrap;user-select:none}"
    ".stc-legend{font-size:.85em}"
    "</style>"
)


class Part(NamedTuple):
    """A stretch of a document.

    Attributes
    ----------
    text
        As it stands there.
    share
        What it adds to the score of the class, as a share of it; below 0 if it works against it.
    effect
        "for", "against", "unseen" (never learnt), or "" where it says little or nothing.
    """

    text: str
    share: float = 0.0
    effect: str = ""


@dataclass(frozen=True)
class Highlight:
    """A document with its words marked; shown in colour in a notebook.

    Attributes
    ----------
    label, probability
        The class that words speak for or against, and its probability.
    parts
        The document in pieces: put together, their texts are the document.
    left_out
        Words of a tokenizer that do not stand in the document as they are, strongest first.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.explain.highlight import highlight
    >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
    >>> print(highlight(model.explain(["What  fun!"]), 0).text)
    +, 1.00: [?What?]  [+fun+][?!?]
    """

    label: Any
    probability: float
    parts: tuple[Part, ...]
    left_out: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """Without colour: `[+for+]`, `[-against-]`, `[?never seen?]`.

        Examples
        --------
        >>> Highlight("spam", 0.9, (Part("free", 0.8, "for"), Part(" lunch"))).text
        'spam, 0.90: [+free+] lunch'
        """
        words = "".join(map(_marked_text, self.parts))
        more = ", ".join(map(_marked_text, self.left_out))
        under = f"\nnot in the text as they stand: {more}" if more else ""
        return f"{text_of(self.label)}, {self.probability:.2f}: {words}{under}"

    @property
    def html(self) -> str:
        """A fragment of HTML that needs nothing else.

        Examples
        --------
        >>> "<mark" in Highlight("spam", 0.9, (Part("free", 0.8, "for"),)).html
        True
        """
        strongest = max((abs(part.share) for part in (*self.parts, *self.left_out)), default=0.0)
        name = html.escape(text_of(self.label))
        words = "".join(self._marked_html(part, strongest) for part in self.parts)
        more = ", ".join(self._marked_html(part, strongest) for part in self.left_out)
        under = f"<p>Not in the text as they stand: {more}</p>" if more else ""
        return (
            f'{_STYLE}<div class="stc-highlight"><p><strong>{name}</strong>, '
            f'{self.probability:.2f}</p><div class="stc-text">{words}</div>{under}'
            f'<p class="stc-legend"><mark class="stc-for" style="--stc-w:.5">for {name}</mark> '
            f'<mark class="stc-against" style="--stc-w:.5">against it</mark> '
            f'<mark class="stc-unseen">never seen</mark></p></div>'
        )

    def _marked_html(self, part: Part, strongest: float) -> str:
        text = html.escape(part.text)
        if not part.effect:
            return text
        weight = abs(part.share) / (strongest or 1.0)
        strong = " stc-strong" if weight > 0.5 else ""
        said = html.escape(self._said(part))
        return (
            f'<mark class="stc-{part.effect}{strong}" style="--stc-w:{weight:.2f}" '
            f'title="{said}">{text}<span class="stc-hidden"> ({said})</span></mark>'
        )

    def _said(self, part: Part) -> str:
        if part.effect == "unseen":
            return "never seen"
        return f"{part.share:+.1%}".replace("%", " %") + f" of the score of {text_of(self.label)}"

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.text


def highlight(explanation: LocalExplanation, item: int, label: Any = None) -> Highlight:
    """Mark the words of a document by what they add to a class.

    Parameters
    ----------
    explanation : LocalExplanation
        Of documents.
    item : int
        Number of the document in the batch.
    label : default=None
        The class; None: the one explained, which is the predicted one.

    Returns
    -------
    Highlight
        The document in pieces. A word's share is its own and, with words in a row, its equal part
        of theirs; a word that occurs several times has the same share at every place.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
    >>> explanation = model.explain(["good, but bad"])
    >>> print(highlight(explanation, 0).text)
    -, 0.80: good[+,+] [?but?] [+bad+]
    >>> print(highlight(explanation, 0, "+").text)
    +, 0.20: [+good+], [?but?] bad
    """
    texts = explanation.documents
    if texts is None:
        raise ValueError(
            f"item {item} is no document, so it has no text to highlight: see why({item}).table"
        )
    why = explanation.why(item, label)
    text = document_text(texts[explanation._place(item)])
    unseen = set(why.unseen["value"].to_list())
    shares = word_shares(why.table)
    strongest = max(map(abs, shares.values()), default=0.0)
    tokens = {unit.value for unit in Variants(why._answers).units}
    spans = token_spans(text, tokens)
    found = {token for _, _, token in spans}
    words = {token: _part(token, token, shares, unseen, strongest) for token in tokens}
    left_out = [part for token, part in words.items() if token not in found and part.effect]
    return Highlight(
        why.classes[int(why._classes[0])],
        float(why.probabilities[0]),
        tuple(_parts(text, spans, words)),
        tuple(sorted(left_out, key=lambda part: (-abs(part.share), part.text))),
    )


def _parts(
    text: str, spans: Iterable[tuple[int, int, str]], words: Mapping[str, Part]
) -> Iterable[Part]:
    """The text in pieces: words, and what stands between them."""
    at = 0
    for start, end, token in spans:
        if start > at:
            yield Part(text[at:start])
        yield words[token]._replace(text=text[start:end])
        at = end
    if at < len(text):
        yield Part(text[at:])


def _part(
    text: str, token: str, shares: Mapping[str, float], unseen: Set[str], strongest: float
) -> Part:
    if token in unseen:
        return Part(text, 0.0, "unseen")
    share = shares.get(token, 0.0)
    if not share or abs(share) < FAINT * strongest:
        return Part(text, share)
    return Part(text, share, "for" if share > 0 else "against")


def _marked_text(part: Part) -> str:
    sign = _SIGNS.get(part.effect)
    return part.text if sign is None else f"[{sign}{part.text}{sign}]"


def document_text(document: Any) -> str:
    """A document as text; of a bag of words, the words with blanks between them."""
    if document is None:
        return ""
    if isinstance(document, bytes):
        return document.decode("utf-8")
    if isinstance(document, Iterable) and not isinstance(document, str):
        return " ".join(str(word) for word in document if word is not None)
    return str(document)


def word_shares(table: pl.DataFrame) -> dict[str, float]:
    """What each word adds: its own share, and its equal part of those of words in a row."""
    shares: dict[str, float] = {}
    for value, share in zip(table["value"].to_list(), table["share"].to_list(), strict=True):
        words = value if isinstance(value, list) else [value]
        for word in words:
            if word is not None and math.isfinite(share):
                shares[word] = shares.get(word, 0.0) + share / len(words)
    return shares


def token_spans(text: str, tokens: Set[str]) -> list[tuple[int, int, str]]:
    """Where the tokens of a text stand in it: start, end, token.

    Without a tokenizer of the user's own, exactly; otherwise where they stand as whole words, the
    longest first, and in lower case if they do not stand there as they are.
    """
    in_order = pl.Series([text]).str.extract_all(TOKEN_PATTERN)[0].to_list()
    if set(in_order) != tokens:
        return _located(text, tokens)
    spans, at = [], 0
    for token in in_order:  # nothing but blanks stands between two of them
        start = text.index(token, at)
        at = start + len(token)
        spans.append((start, at, token))
    return spans


def _located(text: str, tokens: Set[str]) -> list[tuple[int, int, str]]:
    lengths: dict[str, set[int]] = {}
    for token in filter(None, tokens):
        lengths.setdefault(token[0].lower(), set()).add(len(token))
    longest_first = {first: sorted(own, reverse=True) for first, own in lengths.items()}
    spans, at = [], 0
    while at < len(text):
        for length in longest_first.get(text[at].lower(), ()):
            piece = text[at : at + length]
            token = piece if piece in tokens else piece.lower()
            if token in tokens and _stands_alone(text, at, at + len(piece)):
                spans.append((at, at + len(piece), token))
                at += len(piece)
                break
        else:
            at += 1
    return spans


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no word goes on before or after this piece of a text."""
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    goes_on_before = before.isalnum() and text[start].isalnum()
    return not (goes_on_before or (after.isalnum() and text[end - 1].isalnum()))
