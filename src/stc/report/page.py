"""The page: a template filled with plain data, as one self-contained file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from stc._core.model import Model
from stc._core.target import Target
from stc._input.columns import split_targets
from stc._input.reader import BatchReader
from stc._utils.atomic import atomic_write
from stc._utils.optional import optional
from stc.classifier import SparseTensorClassifier
from stc.evaluation import Comparison, compare
from stc.exceptions import ParameterError
from stc.explain import Answers, label_text
from stc.report.card import class_list, model_card
from stc.report.items import ItemData
from stc.report.metrics import evaluation
from stc.report.names import Names, clipped
from stc.stores import StoredModel

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
    model : SparseTensorClassifier, SparseTensorClassifierCV or StoredModel
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
    if isinstance(model, StoredModel):
        model = model.to_estimator()  # one state, whatever is learnt meanwhile
    answers = model.explain_local(X).answers
    target = _target(model.fitted_.reader, answers.model, X, y)
    comparison = None if target is None else compare(model.fitted_, answers, target)
    data = _page_data(model, answers, comparison, max_items)
    data["title"] = clipped(title or "Sparse Tensor Classifier")
    return Report(_rendered(data))


def _target(reader: BatchReader, model: Model, X: Any, y: Any) -> Target | None:
    """Return the true classes, if they are in y or, for every item, in columns of X."""
    if y is None:
        names = reader.target_names or ()
        columns = split_targets(X, names, needed=False)[1] if names else {}
        missing = any(value is None for column in columns.values() for value in column)
        if missing or not names or len(columns) < len(names):
            return None
    return reader.target(X, y, model)


def _page_data(
    model: SparseTensorClassifier, answers: Answers, comparison: Comparison | None, max_items: int
) -> dict[str, Any]:
    """Return the data of the page."""
    names = Names()
    n_items = answers.raw.n_items
    labels: Sequence[Any] = answers.names.labels
    mistaken, true = np.zeros(n_items, dtype=bool), None
    if comparison is not None:
        mistaken, true, labels = ~comparison.correct, comparison.true, comparison.labels
        if not comparison.multilabel:
            true = true[:, None] == np.arange(len(labels))
    # Mistakes first, then the others in order.
    shown = np.sort(np.argsort(~mistaken, kind="stable")[:max_items])
    items = ItemData(
        answers.select(np.isin(np.arange(n_items), shown)),
        shown,
        None if true is None else true[shown],
        mistaken[shown],
        model.fitted_.chosen_classes(answers)[shown],
        names,
    )
    classes = class_list(answers, names)
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
        "evaluation": None if comparison is None else evaluation(comparison, answers.probabilities),
        "classes": classes,
        "items": {"shown": len(shown), "all": n_items},
        "script": script,
    }


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
