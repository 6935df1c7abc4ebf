"""The command evaluate: predictions compared with the true classes."""

from __future__ import annotations

import typer

from stc.cli import options as opt
from stc.cli.data import DataArgument, named_column, opened


def evaluate(
    context: typer.Context,
    model: opt.ModelPath,
    data: opt.DataPath,
    target: opt.TargetOption = None,
    text: opt.TextOption = None,
    weight: opt.WeightOption = None,
    kind: opt.FormatOption = None,
    separator: opt.SeparatorOption = None,
    quiet: opt.QuietOption = False,
    json: opt.JsonOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Compare predictions with the truth: accuracy, figures of each class, confusion matrix."""
    from stc.cli import tables
    from stc.cli.lines import located_errors
    from stc.cli.models import load, source_with_text, truth_columns
    from stc.evaluation import evaluate_source
    from stc.exceptions import EmptySourceError

    estimator = load(model)
    fitted = estimator.fitted_
    with opened(DataArgument(data, kind, separator)) as files, context.obj.progress():
        with located_errors(files):
            chosen = source_with_text(files, text)
        targets = truth_columns(estimator, target or (), chosen, files)
        if weight:
            weight = named_column(weight, "--weight", chosen, files)
        elif fitted.state.roles.weight in chosen.backend.names:
            weight = fitted.state.roles.weight
        with located_errors(files, targets):
            evaluation = evaluate_source(fitted, chosen, targets, weight)
            if not evaluation.items:
                raise EmptySourceError("there is nothing to evaluate")
            figures = evaluation.figures(targets)
    if context.obj.json:
        context.obj.result(figures)
    else:
        tables.print_figures(figures)
