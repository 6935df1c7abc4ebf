"""Documents with words marked by what they add to the score of a class."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from stc._input.documents import TOKEN_PATTERN
from stc.exceptions import ParameterError
from stc.explain.names import label_text, with_probability
from stc.explain.perturbation import Perturbations

if TYPE_CHECKING:
    from stc.explain.local import LocalExplanation

# Words with less than this fraction of the largest share are not marked.
_FAINT = 0.1
# Marks in plain text.
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
    """A piece of a document.

    Attributes
    ----------
    text
        The text of the piece.
    share
        Share of the score of the class; below 0 if it works against the class.
    effect
        "for", "against", "unseen" (not seen in training), or "" if its share is small or 0.
    """

    text: str
    share: float = 0.0
    effect: str = ""


@dataclass(frozen=True)
class Highlight:
    """A document with marked words; shown in colour in a notebook.

    Attributes
    ----------
    label, probability
        The class that the words are marked for, and its probability.
    parts
        The document in pieces: their texts, concatenated, are the document.
    left_out
        Tokens that were not located in the document, the largest shares first.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.explain.highlight import highlight
    >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
    >>> print(highlight(model.explain_local(["What  fun!"]), 0).text)
    +, 1.00: [?What?]  [+fun+][?!?]
    """

    label: Any
    probability: float
    parts: tuple[Part, ...]
    left_out: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """The document as plain text: `[+for+]`, `[-against-]`, `[?never seen?]`.

        Examples
        --------
        >>> Highlight("spam", 0.9, (Part("free", 0.8, "for"), Part(" lunch"))).text
        'spam, 0.90: [+free+] lunch'
        """
        words = "".join(map(_marked_text, self.parts))
        more = ", ".join(map(_marked_text, self.left_out))
        under = f"\nnot in the text as they stand: {more}" if more else ""
        return f"{with_probability(self.label, self.probability)}: {words}{under}"

    @property
    def html(self) -> str:
        """The document as a self-contained fragment of HTML.

        Examples
        --------
        >>> "<mark" in Highlight("spam", 0.9, (Part("free", 0.8, "for"),)).html
        True
        """
        strongest = max((abs(part.share) for part in (*self.parts, *self.left_out)), default=0.0)
        name = html.escape(label_text(self.label))
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
        meaning = html.escape(self._meaning(part))
        return (
            f'<mark class="stc-{part.effect}{strong}" style="--stc-w:{weight:.2f}" '
            f'title="{meaning}">{text}<span class="stc-hidden"> ({meaning})</span></mark>'
        )

    def _meaning(self, part: Part) -> str:
        if part.effect == "unseen":
            return "never seen"
        return (
            f"{part.share:+.1%}".replace("%", " %") + f" of the score of {label_text(self.label)}"
        )

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.text


def highlight(explanation: LocalExplanation, item: int, label: Any = None) -> Highlight:
    """Mark the words of a document by what they add to the score of a class.

    Parameters
    ----------
    explanation : LocalExplanation
        An explanation of documents.
    item : int
        Number of the document in the batch.
    label : default=None
        The class; None: the class explained, which is the predicted one.

    Returns
    -------
    Highlight
        The document in pieces. The share of an n-gram is divided equally among its words. A word
        that occurs several times has the same share everywhere.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
    >>> explanation = model.explain_local(["good, but bad"])
    >>> print(highlight(explanation, 0).text)
    -, 0.80: good[+,+] [?but?] [+bad+]
    >>> print(highlight(explanation, 0, "+").text)
    +, 0.20: [+good+], [?but?] bad
    """
    if explanation.answers.documents is None:
        raise ParameterError(
            "not a document, so there is no text to highlight",
            item=item,
            hint=f"see why({item}).table",
        )
    why = explanation.why(item, label)
    (document,) = why.documents or [None]
    text = document_text(document)
    unseen = set(why.unseen["value"].to_list())
    shares = _word_shares(why.table)
    strongest = max(map(abs, shares.values()), default=0.0)
    tokens = {value.value for value in Perturbations(why.answers).values}
    spans = token_spans(text, tokens)
    located = {token for _, _, token in spans}
    words = {token: _part(token, shares, unseen, strongest) for token in tokens}
    left_out = [part for token, part in words.items() if token not in located and part.effect]
    return Highlight(
        why.classes[int(why.explained[0])],
        float(why.probabilities[0]),
        tuple(_parts(text, spans, words)),
        tuple(sorted(left_out, key=lambda part: (-abs(part.share), part.text))),
    )


def _parts(
    text: str, spans: Iterable[tuple[int, int, str]], words: Mapping[str, Part]
) -> Iterable[Part]:
    """Yield the pieces of a text: words, and what is between them."""
    at = 0
    for start, end, token in spans:
        if start > at:
            yield Part(text[at:start])
        yield words[token]._replace(text=text[start:end])
        at = end
    if at < len(text):
        yield Part(text[at:])


def _part(token: str, shares: Mapping[str, float], unseen: Set[str], strongest: float) -> Part:
    if token in unseen:
        return Part(token, 0.0, "unseen")
    share = shares.get(token, 0.0)
    if not share or abs(share) < _FAINT * strongest:
        return Part(token, share)
    return Part(token, share, "for" if share > 0 else "against")


def _marked_text(part: Part) -> str:
    sign = _SIGNS.get(part.effect)
    return part.text if sign is None else f"[{sign}{part.text}{sign}]"


def document_text(document: Any) -> str:
    """Return a document as text; a list of words is joined by spaces."""
    if document is None:
        return ""
    if isinstance(document, bytes):
        return document.decode("utf-8")
    if isinstance(document, Iterable) and not isinstance(document, str):
        return " ".join(str(word) for word in document if word is not None)
    return str(document)


def _word_shares(table: pl.DataFrame) -> dict[str, float]:
    """Return the share of each word; that of an n-gram is divided equally among its words."""
    shares: dict[str, float] = {}
    for value, share in zip(table["value"].to_list(), table["share"].to_list(), strict=True):
        words = value if isinstance(value, list) else [value]
        for word in words:
            if word is not None and math.isfinite(share):
                shares[word] = shares.get(word, 0.0) + share / len(words)
    return shares


def token_spans(text: str, tokens: Set[str]) -> list[tuple[int, int, str]]:
    """Locate the tokens of a text: start, end, token.

    Tokens of the default tokenizer are located exactly. Those of a custom tokenizer are searched as
    whole words, the longest first, and in lower case where the text has them in another case.
    """
    in_order = pl.Series([text]).str.extract_all(TOKEN_PATTERN)[0].to_list()
    if set(in_order) != tokens:
        return _search_tokens(text, tokens)
    spans, at = [], 0
    for token in in_order:  # there is only white space between them
        start = text.index(token, at)
        at = start + len(token)
        spans.append((start, at, token))
    return spans


def _search_tokens(text: str, tokens: Set[str]) -> list[tuple[int, int, str]]:
    lengths: dict[str, set[int]] = {}
    for token in filter(None, tokens):
        lengths.setdefault(token[0].lower(), set()).add(len(token))
    longest_first = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}
    spans, at = [], 0
    while at < len(text):
        for length in longest_first.get(text[at].lower(), ()):
            piece = text[at : at + length]
            token = piece if piece in tokens else piece.lower()
            if token in tokens and _is_whole_word(text, at, at + len(piece)):
                spans.append((at, at + len(piece), token))
                at += len(piece)
                break
        else:
            at += 1
    return spans


def _is_whole_word(text: str, start: int, end: int) -> bool:
    """Return whether this piece of a text is not part of a longer word."""
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    continues_before = before.isalnum() and text[start].isalnum()
    return not (continues_before or (after.isalnum() and text[end - 1].isalnum()))
