"""The command demo: fit, evaluate and explain on the Zoo data of the package."""

from __future__ import annotations

from typing import Annotated

import typer

from stc.cli import options as opt
from stc.cli.output import Output


def demo(
    context: typer.Context,
    csv: Annotated[
        opt.Name,
        typer.Option("--csv", metavar="OUT", help="Write the Zoo data to a file instead."),
    ] = None,
    quiet: opt.QuietOption = False,
    debug: opt.DebugOption = False,
) -> None:
    """Fit, evaluate and explain on the Zoo data, in a second."""
    if csv is None:
        _tour()
    else:
        _write_csv(context.obj, csv)


def _write_csv(output: Output, path: str) -> None:
    """Write the Zoo data to a file, to try the other commands with."""
    from importlib import resources
    from pathlib import Path

    from stc._utils.atomic import atomic_write
    from stc.cli.data import check_output
    from stc.cli.errors import writing

    check_output(path)
    data = (resources.files("stc.datasets") / "zoo.csv").read_bytes()
    with writing(path), atomic_write(Path(path)) as part:
        part.write_bytes(data)
    output.note(f"101 animals, their names, 16 attributes and class_type, their class -> {path}")


def _tour() -> None:
    import numpy as np
    from sklearn.metrics import classification_report
    from sklearn.model_selection import train_test_split

    import stc

    X, y, names = stc.load_zoo(names=True)
    print(f"Zoo: {len(X)} animals, {X.width} attributes, {y.n_unique()} classes.\n")
    train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=0)
    model = stc.SparseTensorClassifier().fit(X[train], y[train])
    predicted = model.predict(X[test])
    print(f"Learnt from {len(train)} animals, tried on the {len(test)} others:\n")
    print(classification_report(y[test], predicted, zero_division=0))
    correct = int((predicted == y[test].to_numpy()).sum())
    print(f"{correct} of {len(test)} are right. Each prediction is a sum of named parts:\n")
    for place in range(5):
        item = int(test[place])
        print(f"  {names[item]:10} -> {model.explain_local(X[[item]])}")
    print("\nIt goes on learning, and forgets exactly what it is told to forget:\n")
    unicorn = [{"hair": 1, "milk": 1, "legs": 4, "airborne": 1, "horn": "one"}]
    print(f"  unicorn    -> {model.explain_local(unicorn)}")
    print(f"  of it, {model.coverage(unicorn)[0]:.0%} was ever seen (a horn never was)")
    birds = train[(y[train] == "Bird").to_numpy()]
    model.unlearn(X[birds], y[birds])
    print(f"  classes left without the birds: {', '.join(model.classes_)}")
