"""The page: plain data in a template, one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from stc._utils.atomic import beside
from stc._utils.optional import optional
from stc.classifier import SparseTensorClassifier
from stc.explain import Answers
from stc.explain.names import text_of
from stc.report.card import class_list, model_card
from stc.report.figures import evaluation
from stc.report.items import ItemData
from stc.report.names import Names, clipped
from stc.report.truth import Truth, truth_of

# Signs that could end the script that holds the data, or a line of it.
_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Report:
    """A page about a model and some items, in one file without any other.

    Attributes
    ----------
    html
        The page.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.report import report
    >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
    >>> page = report(model, [["red"], ["green"]], ["stop", "go"])
    >>> page.html[:15]
    '<!doctype html>'
    """

    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; if that fails, a file that was there stays as it was.

        Parameters
        ----------
        path : str or path
            Where to.

        Returns
        -------
        Path
            The same.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Report("<!doctype html>").save(Path(folder, "page.html")).name
        'page.html'
        """
        path = Path(path)
        with beside(path) as part:
            part.write_text(self.html, encoding="utf-8", newline="")
        return path

    def _repr_html_(self) -> str:
        """The page within a notebook, shut off from it."""
        return (
            '<iframe sandbox="allow-scripts" title="Report" style="width:100%;height:800px;'
            f'border:1px solid #8884" srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report of {len(self.html.encode()):,} bytes: save(path) writes it to a file"


def report(
    model: Any, X: Any, y: Any = None, *, title: str | None = None, max_items: int = 1000
) -> Report:
    """Make a page about a model: its card, its figures, its classes, and items explained.

    Parameters
    ----------
    model : SparseTensorClassifier or SparseTensorClassifierCV
        A fitted model; of a tuned one, the best.
    X
        Items to show and to judge by, as in `fit`; better not those it was learnt from.
    y : default=None
        Their classes, as in `fit`. None: there are no figures, and no mistakes.
    title : str, default=None
        Of the page.
    max_items : int, default=1000
        How many items can be looked at: mistakes first. The figures are of all of them.

    Returns
    -------
    Report
        The page; the same for the same model and items, byte by byte.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.report import report
    >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
    >>> page = report(model, ["what fun!"], title="Reviews")
    >>> "<title>Reviews</title>" in page.html
    True
    """
    if max_items < 1:
        raise ValueError(f"max_items is at least 1, got {max_items}")
    model = getattr(model, "best_estimator_", model)
    explanation = model.explain(X)
    documents = explanation.documents
    answers = replace(explanation.answers, documents=documents)
    truth = truth_of(model, answers, X, y)
    data = _page_data(model, answers, truth, max_items)
    data["title"] = clipped(title or "Sparse Tensor Classifier")
    return Report(_rendered(data))


def _page_data(
    model: SparseTensorClassifier, answers: Answers, truth: Truth | None, max_items: int
) -> dict[str, Any]:
    """All that is on the page."""
    names = Names()
    kept = _kept(answers, truth, max_items)
    items = ItemData(
        _selected(answers, kept),
        np.flatnonzero(kept),
        _truth_of_kept(truth, kept),
        model.fitted_.chosen_classes(answers)[kept],
        names,
    )
    classes = class_list(model, answers, names)
    labels = answers.names.labels if truth is None else truth.labels
    script = {
        "items": items.listed(),
        "classes": classes,
        "labels": [clipped(text_of(label)) for label in labels],
        "kind": answers.model.schema.kind,
        "dimensions": len(answers.model.dimensions.names),
        "multilabel": answers.model.form.multilabel,
        "judged": truth is not None,
        "names": names.listed(),
    }
    return {
        "card": model_card(model, answers),
        "figures": None if truth is None else evaluation(truth, answers.probabilities),
        "classes": classes,
        "items": {"shown": int(kept.sum()), "all": len(kept)},
        "script": script,
    }


def _kept(answers: Answers, truth: Truth | None, most: int) -> Any:
    """Which items the page shows: mistakes first, then the rest in their order."""
    n_items = answers.raw.n_items
    order = np.arange(n_items) if truth is None else np.argsort(~truth.mistaken, kind="stable")
    kept = np.zeros(n_items, dtype=bool)
    kept[order[:most]] = True
    return kept


def _selected(answers: Answers, kept: Any) -> Answers:
    texts = answers.documents
    documents = None if texts is None else [texts[k] for k in np.flatnonzero(kept).tolist()]
    return Answers(answers.cascade, answers.raw.select(kept), documents)


def _truth_of_kept(truth: Truth | None, kept: Any) -> Truth | None:
    if truth is None:
        return None
    return replace(truth, true=truth.true[kept], predicted=truth.predicted[kept])


def _rendered(data: dict[str, Any]) -> str:
    jinja2 = optional("jinja2", "report", "a report")
    folder = resources.files("stc.report") / "templates"
    script = folder.joinpath("page.js").read_text(encoding="utf-8").strip()
    template = folder.joinpath("page.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    markup = environment.filters["safe"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page: str = environment.from_string(template).render(
        data,
        style=markup(folder.joinpath("page.css").read_text(encoding="utf-8").strip()),
        code=markup(script),
        digest=digest,
        json=markup(_embedded(data["script"])),
    )
    # What is no text in UTF-8 (half a surrogate pair in a title) becomes a question mark.
    return page.encode("utf-8", "replace").decode("utf-8")


def _embedded(data: dict[str, Any]) -> str:
    """JSON that can stand within a script element, whatever it holds."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_UNSAFE)
