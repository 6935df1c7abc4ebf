"""The command demo: a tour on the Zoo data that ships in the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
from sklearn.metrics import classification_report
from sklearn.model_selection import train_test_split

import stc
from stc._utils.atomic import beside
from stc.cli.data import check_output
from stc.cli.desk import Desk
from stc.cli.failing import writing


def write_csv(desk: Desk, path: str) -> None:
    """Write the Zoo data to a file, to try the other commands with."""
    check_output(path)
    data = (resources.files("stc") / "data" / "zoo.csv").read_bytes()
    with writing(path), beside(Path(path)) as part:
        part.write_bytes(data)
    desk.say(f"101 animals, their names, 16 attributes and class_type, their class -> {path}")


def demo() -> None:
    """Fit, evaluate and explain."""
    X, y, names = stc.load_zoo(names=True)
    print(f"Zoo: {len(X)} animals, {X.width} attributes, {y.n_unique()} classes.\n")
    rows = np.arange(len(X))
    train, test = train_test_split(rows, test_size=0.3, random_state=0)
    model = stc.SparseTensorClassifier().fit(X[train], y[train])
    predicted = model.predict(X[test])
    print(f"FittedState from {len(train)} animals, tried on the {len(test)} others:\n")
    print(classification_report(y[test], predicted, zero_division=0))
    right = int((predicted == y[test].to_numpy()).sum())
    print(f"{right} of {len(test)} are right. Each prediction is a sum of named parts:\n")
    for place in range(5):
        item = int(test[place])
        print(f"  {names[item]:10} -> {model.explain(X[[item]])}")
    print("\nIt goes on learning, and forgets exactly what it is told to forget:\n")
    unicorn = [{"hair": 1, "milk": 1, "legs": 4, "airborne": 1, "horn": "one"}]
    print(f"  unicorn    -> {model.explain(unicorn)}")
    print(f"  of it, {model.coverage(unicorn)[0]:.0%} was ever seen (a horn never was)")
    birds = train[(y[train] == "Bird").to_numpy()]
    model.unlearn(X[birds], y[birds])
    print(f"  classes left without the birds: {', '.join(model.classes_)}")
