"""The long form: a row per item and class."""

from __future__ import annotations

from sqlglot import exp

from stc.sql.answers import alone, otherwise, vanishing
from stc.sql.reading import Found
from stc.sql.scoring import amounts, ids, left_over, length, logarithm, sums
from stc.sql.terms import Answers, Term, Terms
from stc.sql.tree import (
    Node,
    Query,
    Values,
    case,
    column,
    integer,
    kind_of,
    number,
    table,
    union,
)


def long_scores(query: Query, terms: Terms, answers: Answers, found: Found) -> str | None:
    """A subquery (item, class, power): `U_i^(1/p)` as a share of the item's highest."""
    parts = []
    for place, step in enumerate(terms.steps):
        name = sums(query, terms, place, found, _entries, ["class"])
        score: Node = column("x", "s")
        if step.turned:
            score = length(score, column("y", "s"), column("r", "s"))
        above = exp.GT(this=score.copy(), expression=integer(0))
        select = exp.select(column("item", "s"), column("class", "s"), score.as_("score"))
        scores = query.add(
            f"stc_scores_{place}", select.from_(table(name, "s")).where(above), once=True
        )
        if place + 1 < len(terms.steps):
            found = left_over(query, found, scores, place + 1)
        top = exp.Window(
            this=exp.Max(this=column("score", "u")), partition_by=[column("item", "u")]
        )
        share = logarithm(column("score", "u"), top, step).as_("logarithm")
        select = exp.select(column("item", "u"), column("class", "u"), share)
        parts.append(select.from_(table(scores, "u")))
    if not parts:
        return None
    every = union(parts)
    name = query.add("stc_logarithms", every)
    power = vanishing(column("logarithm", "l")).as_("power")
    select = exp.select(column("item", "l"), column("class", "l"), power)
    return query.add("stc_powers", select.from_(table(name, "l")))


def _entries(term: Term, turned: bool) -> dict[str, Values]:
    """A row for each weight."""
    classes = Values("bigint", term.classes.tolist())
    weights = {
        name: Values("double", own.tolist())
        for name, own in zip("xyr", amounts(term, turned), strict=False)
    }
    return {**ids(term.parts[term.places]), "class": classes, **weights}


def long_answers(query: Query, powers: str | None, answers: Answers) -> exp.Select:
    """The probability of each class for each item."""
    _add_classes(query, answers)
    totals = _add_grid(query, powers)
    known = exp.GT(this=column("total", "g"), expression=integer(0))
    share: Node = exp.Div(this=column("power", "g"), expression=column("total", "g"))
    if answers.kind == "indicator":
        share = alone(column("power", "g"), column("threshold", "c"), query.dialect)
    probability = case((known, share), default=column("otherwise", "c"))
    label = column("id" if answers.joint else "class", "c").as_("class")
    select = exp.select(column("item", "g"), label, probability.as_("probability"))
    same = exp.EQ(this=column("id", "c"), expression=column("class", "g"))
    select = select.from_(table(totals, "g")).join(table("stc_classes", "c"), on=same)
    return _marginals(query, select, answers) if answers.joint else select


def _add_grid(query: Query, powers: str | None) -> str:
    """All classes of all items: (item, class, power, total); 0 where there is no score.

    By adding, not by an outer join, which SQLite would do row by row.
    """
    every: Node = exp.select(
        column("item", "i"), column("id", "c").as_("class"), number(0.0).as_("power")
    )
    every = every.from_(table("stc_items", "i"))
    every = every.join(table("stc_classes", "c"), join_type="cross")
    if powers is not None:
        names = [column(own, "p") for own in ("item", "class", "power")]
        some = exp.select(*names).from_(table(powers, "p"))
        every = union([every, some])
    keys = [column(own, "e") for own in ("item", "class")]
    select = exp.select(*keys, exp.Sum(this=column("power", "e")).as_("power"))
    select = select.from_(every.subquery("e")).group_by(*(own.copy() for own in keys))
    grid = query.add("stc_grid", select)
    whole = exp.Window(this=exp.Sum(this=column("power", "g")), partition_by=[column("item", "g")])
    names = [column(own, "g") for own in ("item", "class", "power")]
    select = exp.select(*names, whole.as_("total")).from_(table(grid, "g"))
    return query.add("stc_totals", select)


def _add_classes(query: Query, answers: Answers) -> None:
    columns = {
        "id": Values("bigint", range(answers.size)),
        "otherwise": Values("double", otherwise(answers).tolist()),
    }
    if not answers.joint:
        columns["class"] = Values(kind_of(answers.labels[0]), answers.labels[0])
    if answers.kind == "indicator" and answers.thresholds is not None:
        columns["threshold"] = Values("double", answers.thresholds.tolist())
    query.add_values("stc_classes", columns)


def _marginals(query: Query, joint: exp.Select, answers: Answers) -> exp.Select:
    """The probabilities of each target's labels: sums over the classes that have them."""
    name = query.add("stc_joint", joint)
    kind = kind_of(label for own in answers.labels for label in own)
    columns = {
        "id": Values("bigint", [*range(answers.size)] * len(answers.targets)),
        "target": Values("text", [own for own in answers.targets for _ in range(answers.size)]),
        "class": Values(kind, [label for own in answers.labels for label in own]),
    }
    labels = query.add_values("stc_labels", columns)
    keys = [column("item", "j"), column("target", "c"), column("class", "c")]
    select = exp.select(*keys, exp.Sum(this=column("probability", "j")).as_("probability"))
    on = exp.EQ(this=column("id", "c"), expression=column("class", "j"))
    select = select.from_(table(name, "j")).join(table(labels, "c"), on=on)
    return select.group_by(*(key.copy() for key in keys))
