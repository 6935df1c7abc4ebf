"""The page: a template filled with plain data, as one self-contained file."""

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

from stc._utils.atomic import atomic_write
from stc._utils.optional import optional
from stc.classifier import SparseTensorClassifier
from stc.exceptions import ParameterError
from stc.explain import Answers, label_text
from stc.report.card import class_list, model_card
from stc.report.items import ItemData
from stc.report.metrics import evaluation
from stc.report.names import Names, clipped
from stc.report.truth import Truth, truth_of

# Characters that could end the script element with the data, or a line in it.
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Report:
    """A self-contained HTML page about a model and some items.

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
        """Write the page to a file atomically: if it fails, an existing file is unchanged.

        Parameters
        ----------
        path : str or path
            Path of the file.

        Returns
        -------
        Path
            The path of the file.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Report("<!doctype html>").save(Path(folder, "page.html")).name
        'page.html'
        """
        path = Path(path)
        with atomic_write(path) as part:
            part.write_text(self.html, encoding="utf-8", newline="")
        return path

    def _repr_html_(self) -> str:
        """Return the page in a sandboxed frame, for a notebook."""
        return (
            '<iframe sandbox="allow-scripts" title="Report" style="width:100%;height:800px;'
            f'border:1px solid #8884" srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report of {len(self.html.encode()):,} bytes: save(path) writes it to a file"


def report(
    model: Any, X: Any, y: Any = None, *, title: str | None = None, max_items: int = 1000
) -> Report:
    """Create a page about a model: model card, evaluation, classes, and explained items.

    Parameters
    ----------
    model : SparseTensorClassifier or SparseTensorClassifierCV
        A fitted model; of a search, the best estimator is used.
    X
        Items to explain and to evaluate on, as in `fit`; preferably not the training items.
    y : default=None
        Their classes, as in `fit`. None: the page has no evaluation.
    title : str, default=None
        Title of the page.
    max_items : int, default=1000
        Maximal number of items on the page, mistakes first. The evaluation uses all items.

    Returns
    -------
    Report
        The page. It is deterministic: the same model and items give the same bytes.

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
        raise ParameterError(f"max_items: at least 1 expected, got {max_items}")
    model = getattr(model, "best_estimator_", model)
    answers = model.explain(X).answers
    truth = truth_of(model, answers, X, y)
    data = _page_data(model, answers, truth, max_items)
    data["title"] = clipped(title or "Sparse Tensor Classifier")
    return Report(_rendered(data))


def _page_data(
    model: SparseTensorClassifier, answers: Answers, truth: Truth | None, max_items: int
) -> dict[str, Any]:
    """Return the data of the page."""
    names = Names()
    selected = _selected_items(answers, truth, max_items)
    items = ItemData(
        answers.select(selected),
        np.flatnonzero(selected),
        _selected_truth(truth, selected),
        model.fitted_.chosen_classes(answers)[selected],
        names,
    )
    classes = class_list(model, answers, names)
    labels = answers.names.labels if truth is None else truth.labels
    script = {
        "items": items.listed(),
        "classes": classes,
        "labels": [clipped(label_text(label)) for label in labels],
        "kind": answers.model.schema.kind,
        "dimensions": len(answers.model.dimensions.names),
        "names": names.listed(),
    }
    return {
        "card": model_card(model, answers),
        "evaluation": None if truth is None else evaluation(truth, answers.probabilities),
        "classes": classes,
        "items": {"shown": int(selected.sum()), "all": len(selected)},
        "script": script,
    }


def _selected_items(answers: Answers, truth: Truth | None, max_items: int) -> Any:
    """Return a mask of the items on the page: mistakes first, then the others in order."""
    n_items = answers.raw.n_items
    order = np.arange(n_items) if truth is None else np.argsort(~truth.mistaken, kind="stable")
    selected = np.zeros(n_items, dtype=bool)
    selected[order[:max_items]] = True
    return selected


def _selected_truth(truth: Truth | None, selected: Any) -> Truth | None:
    if truth is None:
        return None
    return replace(truth, true=truth.true[selected], predicted=truth.predicted[selected])


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
    # Characters that UTF-8 cannot encode (lone surrogates in a title) become question marks.
    return page.encode("utf-8", "replace").decode("utf-8")


def _embedded(data: dict[str, Any]) -> str:
    """Return data as JSON that is safe within a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_UNSAFE)
