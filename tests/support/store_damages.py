"""Damages to the rows, the columns, the tables and the files of a store."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from stc.stores.keys import text_key
from support.damaged_stores import COLUMNS, KEYS, NAME, OTHER_NAME, Trial, damage

INF, NAN = math.inf, math.nan
INT32, INT64 = 2**31 - 1, 2**63 - 1

# --- rows -----------------------------------------------------------------------------------------


@damage("entries|stc_|ledger has")
def rows_deleted(trial: Trial) -> Any:
    table = trial.choose(*KEYS)
    keys = trial.some(table)
    for key in keys:
        trial.run(f"DELETE FROM {table}" + trial.where(table), *trial.values(table, key))
    return table, len(keys)


@damage("no model 'zoo'", gone=True)
def model_deleted(trial: Trial) -> Any:
    return trial.run("DELETE FROM stc_models WHERE name = ?", NAME)


@damage("stc_.* (repeated|several rows)")
def rows_repeated(trial: Trial) -> Any:
    table = trial.choose(*COLUMNS)
    keys = trial.some(table)
    trial.loosen(table)
    for key in keys:
        repeat = f"INSERT INTO {table} SELECT * FROM {table}" + trial.where(table)
        trial.run(repeat, *trial.values(table, key))
    return table, len(keys)


@damage("entries|stc_|ledger has")
def rows_given_to_another_model(trial: Trial) -> Any:
    table = trial.choose(*KEYS)
    other = trial.choose(0, -1, INT32, trial.model + 1, trial.model - 1)
    for key in (keys := trial.some(table)):
        trial.update(table, "model", other, key)
    return table, other, len(keys)


@damage("entries")
def entries_added(trial: Trial) -> Any:
    (feature,), (number,) = trial.one("stc_features"), trial.one("stc_classes")
    trial.need((feature, 0, number) not in trial.keys("stc_entries"))
    row = trial.model, feature, 0, number, 1.0, 1, 1.0, 0.0
    return trial.run("INSERT INTO stc_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)


@damage("ledger has")
def batches_added(trial: Trial) -> Any:
    name = trial.choose("never learnt", "unlearnt: never", "")
    row = trial.model, text_key(name), name, "2026-01-01"
    return trial.run("INSERT INTO stc_batches VALUES (?, ?, ?, ?)", *row)


# --- types ----------------------------------------------------------------------------------------


# What SQLite keeps as it is, whatever the type of the column.
STRANGE = {
    "integer": ["x", b"x", 0.5, None],
    "text": [b"x", b"\xff\0", b"", None],
    "blob": ["x", "", 5, 0.5, None],
    "real": ["x", b"x", None],
}
TYPES = {
    "integer": "id version checksum batches model number set class support",
    "text": "name header feature batch written_at",
    "blob": "name_key header_key key",
    "real": "mass gain phase",
}


def _type(table: str, column: str) -> str:
    if column == "feature" and table == "stc_entries":
        return "blob"
    if column == "class" and table == "stc_classes":
        return "text"
    return next(kind for kind, names in TYPES.items() if column in names.split())


def _column(trial: Trial) -> tuple[str, str]:
    table = trial.choose(*COLUMNS)
    return table, trial.choose(*COLUMNS[table])


@damage("stc_|entries|no model|ledger has", "sqlite", gone=True)
def values_of_another_type(trial: Trial) -> Any:
    table, column = _column(trial)
    # A model without rows does not miss its number, and nobody reads the time.
    trial.need(column != "written_at" and (column != "id" or trial.keys("stc_entries")))
    value = trial.rng.choice(STRANGE[_type(table, column)])
    keys = trial.some(table)
    if loose := trial.choose(True, value is None):
        trial.loosen(table)
    for key in keys:
        trial.update(table, column, value, key)
    return table, column, value, loose


@damage("column '\\w+' is not UTF-8", "sqlite")
def texts_that_are_not_utf_8(trial: Trial) -> Any:
    table, column = _column(trial)
    trial.need(_type(table, column) == "text" and column != "written_at")
    change = f"UPDATE {table} SET \"{column}\" = CAST(x'ff80' AS TEXT)" + trial.where(table)
    for key in trial.some(table):
        trial.run(change, *trial.values(table, key))
    return table, column


@damage("stc_|entries|no model|ledger has", "duckdb", "postgresql", gone=True)
def values_are_null(trial: Trial) -> Any:
    table, column = _column(trial)
    trial.need(column != "written_at" and (column != "id" or trial.keys("stc_entries")))
    keys = trial.some(table)
    trial.loosen(table)
    for key in keys:
        trial.update(table, column, None, key)
    return table, column


OTHER_TYPES = {
    "duckdb": "VARCHAR BLOB DOUBLE FLOAT HUGEINT SMALLINT INTEGER BIGINT UBIGINT DECIMAL(38,3) "
    "BOOLEAN VARCHAR[] JSON UUID TIMESTAMP",
    "postgresql": "text bytea varchar real numeric smallint integer bigint jsonb text[] boolean "
    "double_precision char(99) uuid timestamp",
}


@damage("the column '.*' of the table stc_", "duckdb", "postgresql")
def columns_of_another_type(trial: Trial) -> Any:
    table, column = _column(trial)
    kind = trial.rng.choice(OTHER_TYPES[trial.dialect].split()).replace("_", " ")
    before = _column_type(trial, table, column)
    text = "VARCHAR" if trial.dialect == "duckdb" else "text"
    value = f'CAST(CAST("{column}" AS {text}) AS {kind})'
    if kind.endswith("[]"):
        value = f'ARRAY[CAST("{column}" AS {text})]'
    change = f'ALTER TABLE {table} ALTER COLUMN "{column}"'
    if trial.dialect == "postgresql" and column == "id":
        trial.run(f"{change} DROP DEFAULT")
    trial.run(f"{change} TYPE {kind} USING {value}")
    trial.need(_column_type(trial, table, column) != before)
    return table, column, kind


def _column_type(trial: Trial, table: str, column: str) -> Any:
    query = (
        "SELECT data_type, character_maximum_length FROM information_schema.columns"
        " WHERE table_name = ? AND column_name = ?"
    )
    if trial.dialect == "postgresql":
        query += " AND table_schema = current_schema()"
    return trial.run(query, table, column)


# --- numbers --------------------------------------------------------------------------------------


def _number(trial: Trial, column: str, value: Any) -> Any:
    """Set a number of one, some or all entries; the value may depend on the one there is."""
    nan = isinstance(value, float) and math.isnan(value)
    trial.need(not (nan and trial.dialect == "sqlite"))  # SQLite has no NaN
    keys = trial.some("stc_entries")
    for key in keys:
        before = trial.get("stc_entries", column, key)
        after = value(before) if callable(value) else value
        trial.update("stc_entries", column, after, key)
    return column, value, len(keys)


@damage("an entry has mass|more mass in its entries")
def masses(trial: Trial) -> Any:
    total = trial.run("SELECT sum(mass) FROM stc_entries WHERE model = ?", trial.model)[0][0]
    heavy = 10 * (total or 0) + 1
    value = trial.choose(NAN, INF, -INF, -1.0, 0.0, 1e308, 1e301, 5e-324, 1e-310, _negative, heavy)
    if value == heavy:  # one of a feature: the mass of the items cannot be too large
        keys = [key for key in trial.keys("stc_entries") if key[1] == 0]
        trial.need(keys)
        trial.update("stc_entries", "mass", heavy, trial.rng.choice(keys))
        return "mass", heavy
    return _number(trial, "mass", value)


def _negative(number: Any) -> Any:
    return -number


@damage("entries|support")
def supports(trial: Trial) -> Any:
    value = trial.choose(
        0, -1, 1 << 62, INT64, -INT64, _negative, lambda n: n + 1, lambda n: n - 1, lambda n: 2 * n
    )
    return _number(trial, "support", value)


@damage("an entry has support")
def supports_sealed(trial: Trial) -> Any:
    done = _number(trial, "support", trial.choose(0, -1, 1 << 62, INT64, -INT64, _negative))
    trial.seal()
    return done


@damage("an entry has phase")
def phases(trial: Trial) -> Any:
    return _number(trial, "phase", trial.choose(NAN, INF, -INF))


@damage("an entry has gain")
def gains(trial: Trial) -> Any:
    return _number(trial, "gain", trial.choose(NAN, INF, -INF, -1.0))


@damage("entries|an entry")
def sets(trial: Trial) -> Any:
    count = len(trial.header().get("sets", ()))
    value = trial.choose(-1, count, INT32, -INT32, *range(count))
    key = trial.one("stc_entries")
    trial.need(key[1] != value)
    trial.update("stc_entries", "set", value, key)
    return key, value


@damage("an entry has set|an entry is of a set|feature")
def sets_sealed(trial: Trial) -> Any:
    count = len(trial.header().get("sets", ()))
    done = _number(trial, "set", trial.choose(-1, count, INT32, -INT32))
    trial.seal()
    return done


@damage("entries have a class|stc_classes|stc_entries is repeated")
def numbers_of_classes(trial: Trial) -> Any:
    value = trial.choose(-1, len(trial.keys("stc_classes")), INT32, -INT32)
    if trial.choose(True, False):
        return _number(trial, "class", value)
    key = trial.one("stc_classes")
    trial.update("stc_classes", "number", value, key)
    return key, value


@damage("entries were")
def two_entries_exchanged(trial: Trial) -> Any:
    """Two entries exchange their features, their classes or their support."""
    keys = trial.keys("stc_entries")
    trial.need(len(keys) > 1)
    column = trial.choose("feature", "class", "support")
    one, two = trial.rng.sample(keys, 2)
    values = [trial.get("stc_entries", column, key) for key in (one, two)]
    trial.need(values[0] != values[1])
    if column == "support":
        trial.update("stc_entries", column, values[1], one)
        trial.update("stc_entries", column, values[0], two)
        return column, one, two
    place = KEYS["stc_entries"].index(column)
    swapped = [(*k[:place], v, *k[place + 1 :]) for k, v in ((one, values[1]), (two, values[0]))]
    trial.need(not set(swapped) & set(keys))
    trial.update("stc_entries", column, values[1], one)
    trial.update("stc_entries", column, values[0], two)
    return column, one, two


# --- keys and texts -------------------------------------------------------------------------------


@damage("key|entries have a feature|entries were|ledger|is repeated")
def keys_changed(trial: Trial) -> Any:
    table = trial.choose("stc_features", "stc_entries", "stc_batches")
    column, key = KEYS[table][0], trial.one(table)
    others = [other for (other,) in trial.keys("stc_features") if other != key[0]]
    strange = [trial.rng.randbytes(16), trial.rng.randbytes(7), b"", key[0][:15], key[0] + b"\0"]
    value = trial.rng.choice([*strange, *others[:5]])
    trial.update(table, column, value, key)
    return table, value


@damage("key of another|no table has")
def features_changed(trial: Trial) -> Any:
    key = trial.one("stc_features")
    before = trial.get("stc_features", "feature", key)
    other = trial.get("stc_features", "feature", trial.one("stc_features"))
    value = trial.choose("", "x", before[:-1], before + " ", before.upper(), other, "[]", "null")
    trial.need(value != before)
    trial.update("stc_features", "feature", value, key)
    return before, value


def _wrong_features(trial: Trial, text: str) -> list[str]:
    """Texts of features that the model cannot have."""
    parts = json.loads(text)
    one_more = [*parts, *(parts or [["a", "b"]])[:1]]
    broken = ["", "x", text[:-1], text + "]", "null", "5", '"x"', "{}", "[" * 5000]
    wrong = [
        one_more,
        [[]],
        [None],
        [["never", "x"]] * len(parts) or [["never", "x"]],
        [{"a": "b"}],
    ]
    wrong += [[["never", "a", "b"]], [[["never"], ["a", "b"]]], [[None, 5]], [[[], 5]], [True]]
    if parts and trial.header()["schema"]["kind"] == "counts":
        wrong += [[12], [-1], [0.5], ["0"], [None], [10**30], [0, 1]]
    elif parts:
        attribute, value = parts[0]
        rest = parts[1:]
        wrong += [parts[:-1], [[attribute, 5], *rest], [[attribute], *rest], [value, *rest]]
        wrong += [[["never", value], *rest], [[attribute, [value]], *rest], [[5, value], *rest]]
        wrong += [[[attribute, {"a": 1}], *rest], [[attribute, value, value], *rest]]
    return broken + [json.dumps(each, ensure_ascii=False) for each in wrong]


@damage("the feature|stc_features is repeated")
def features_changed_sealed(trial: Trial) -> Any:
    (key,) = trial.one("stc_features")
    before = trial.get("stc_features", "feature", (key,))
    value = trial.rng.choice(_wrong_features(trial, before))
    trial.need(value != before)
    change = "UPDATE stc_entries SET feature = ? WHERE model = ? AND feature = ?"
    trial.run(change, text_key(value), trial.model, key)
    change = "UPDATE stc_features SET key = ?, feature = ? WHERE model = ? AND key = ?"
    trial.run(change, text_key(value), value, trial.model, key)
    trial.seal()
    return before, value[:99]


@damage("entries were|stc_classes")
def classes_changed(trial: Trial) -> Any:
    keys = trial.keys("stc_classes")
    trial.need(keys)
    key = trial.rng.choice(keys)
    before = trial.get("stc_classes", "class", key)
    if len(keys) > 1 and trial.choose(True, False):  # two classes are exchanged
        other = trial.rng.choice([each for each in keys if each != key])
        value = trial.get("stc_classes", "class", other)
        trial.update("stc_classes", "class", before, other)
    else:
        value = trial.choose("", "x", '"x"', "null", before + " ", before[:-1], "5", "[" * 5000)
    trial.need(value != before)
    trial.update("stc_classes", "class", value, key)
    return before, value


@damage("an entry has the class")
def classes_changed_sealed(trial: Trial) -> Any:
    key = trial.one("stc_classes")
    value = trial.choose("", "x", '"never"', "null", "5.5", "[]", "{}", '["p","never"]', "[" * 5000)
    trial.update("stc_classes", "class", value, key)
    trial.seal()
    return key, value


@damage("stc_classes")
def classes_twice_sealed(trial: Trial) -> Any:
    """An entry is two entries of classes of the same text: the checksum stays."""
    keys = [k for k in trial.keys("stc_entries") if trial.get("stc_entries", "support", k) > 1]
    trial.need(keys)
    feature, number, class_ = key = trial.rng.choice(keys)
    text, more = trial.get("stc_classes", "class", (class_,)), len(trial.keys("stc_classes")) + 5
    mass, support = (trial.get("stc_entries", name, key) for name in ("mass", "support"))
    trial.run("INSERT INTO stc_classes VALUES (?, ?, ?)", trial.model, more, text)
    row = trial.model, feature, number, more, mass / 2, 1, 1.0, 0.0
    trial.run("INSERT INTO stc_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)
    trial.update("stc_entries", "mass", mass / 2, key)
    trial.update("stc_entries", "support", support - 1, key)
    return key, more


@damage("key of another batch|stc_batches")
def batches_changed(trial: Trial) -> Any:
    key = trial.one("stc_batches")
    value = trial.choose("", "x", "never learnt", "unlearnt: never")
    trial.update("stc_batches", "batch", value, key)
    return value


# --- the row of the model -------------------------------------------------------------------------


@damage("stc_models has the name")
def name_changed(trial: Trial) -> Any:
    value = trial.choose("", "Zoo", "zo", "zoo ", OTHER_NAME)
    return trial.run("UPDATE stc_models SET name = ? WHERE name = ?", value, NAME)


@damage("name|no model", gone=True)
def key_of_the_name_changed(trial: Trial) -> Any:
    value = trial.choose(trial.rng.randbytes(16), b"", b"zoo", text_key("zoo")[:15])
    return trial.run("UPDATE stc_models SET name_key = ? WHERE name = ?", value, NAME)


@damage("entries|ledger has|stc_")
def number_of_the_model_changed(trial: Trial) -> Any:
    trial.need(trial.keys("stc_entries") or trial.keys("stc_batches"))
    value = trial.choose(0, -1, INT32, trial.model + 1, trial.model - 1)
    trial.run("UPDATE stc_models SET id = ? WHERE name = ?", value, NAME)
    return value


@damage("checksum")
def checksum_changed(trial: Trial) -> Any:
    before = trial.get("stc_models", "checksum")
    value = trial.choose(0, -1, INT64, -INT64, before + 1, before - 1, -before, before // 2, 12345)
    trial.need(value != before)
    trial.update("stc_models", "checksum", value)
    return before, value


@damage("ledger has")
def number_of_batches_changed(trial: Trial) -> Any:
    before = trial.get("stc_models", "batches")
    value = trial.choose(0, -1, INT64, before + 1, before - 1, -before)
    trial.need(value != before)
    trial.update("stc_models", "batches", value)
    return before, value


# --- tables ---------------------------------------------------------------------------------------


@damage("table|no model", gone=True)
def tables_dropped(trial: Trial) -> Any:
    tables = trial.rng.sample(list(COLUMNS), trial.rng.randint(1, 5))
    for table in tables:
        trial.run(f"DROP TABLE {table}")
    return tables


@damage("table")
def tables_renamed(trial: Trial) -> Any:
    table = trial.choose(*COLUMNS)
    name = trial.choose("stc", f"{table}_old", f"x{table}", table[:-1])
    return trial.run(f"ALTER TABLE {table} RENAME TO {name}"), name


@damage("table")
def tables_are_views(trial: Trial) -> Any:
    table = trial.choose(*COLUMNS)
    trial.run(f"ALTER TABLE {table} RENAME TO rows_elsewhere")
    trial.run(f"CREATE VIEW {table} AS SELECT * FROM rows_elsewhere")
    if dangling := trial.dialect != "postgresql" and trial.choose(True, False):
        trial.run("DROP TABLE rows_elsewhere")
    return table, dangling


@damage("the table stc_.* has no column")
def tables_of_other_columns(trial: Trial) -> Any:
    table = trial.choose(*COLUMNS)
    trial.run(f"DROP TABLE {table}")
    trial.run(f"CREATE TABLE {table} (id INTEGER, title TEXT)")
    return trial.run(f"INSERT INTO {table} VALUES (1, 'zoo')"), table


@damage("the table stc_.* has no column")
def columns_dropped(trial: Trial) -> Any:
    table, column = _column(trial)
    trial.loosen(table)
    trial.run(f'ALTER TABLE {table} DROP COLUMN "{column}"')
    return table, column


@damage("the table stc_.* has no column")
def columns_renamed(trial: Trial) -> Any:
    table, column = _column(trial)
    trial.run(f'ALTER TABLE {table} RENAME COLUMN "{column}" TO other')
    return table, column


@damage("the table stc_|column 'name_key' is not UTF-8")
def tables_of_another_program(trial: Trial) -> Any:
    """The same names, columns of another program, or the same columns with texts only."""
    texts = trial.choose(True, False)
    for table, columns in COLUMNS.items():
        if texts:
            casts = ", ".join(f'CAST("{name}" AS TEXT) AS "{name}"' for name in columns)
            trial.run(f"CREATE TABLE more AS SELECT {casts} FROM {table}")
        else:
            trial.run("CREATE TABLE more (id INTEGER, name TEXT, price DOUBLE PRECISION)")
            trial.run("INSERT INTO more VALUES (1, 'zoo', 9.5)")
        trial.run(f"DROP TABLE {table}")
        trial.run(f"ALTER TABLE more RENAME TO {table}")
    return texts


# --- files ----------------------------------------------------------------------------------------


def _file(trial: Trial) -> Path:
    """The file of the store, which nobody has open any more."""
    assert trial.path is not None
    if trial.dialect == "sqlite":
        trial.run("COMMIT")
    trial.connection.close()
    path, trial.path = trial.path, None
    return path


FILE_WORDS = "not a (SQLite|DuckDB) database|damaged|cannot be (opened|read)"


@damage(FILE_WORDS, "sqlite", "duckdb")
def file_cut_short(trial: Trial) -> Any:
    raw = (path := _file(trial)).read_bytes()
    size = trial.rng.randrange(1, len(raw) - 4095)  # at least a page is missing
    path.write_bytes(raw[:size])
    return size, len(raw)


@damage(FILE_WORDS, "sqlite", "duckdb")
def file_with_another_beginning(trial: Trial) -> Any:
    raw = (path := _file(trial)).read_bytes()
    size = trial.choose(16, 100, 4096)
    path.write_bytes(trial.rng.randbytes(size) + raw[size:])
    return size


@damage(FILE_WORDS, "sqlite", "duckdb")
def file_of_another_format(trial: Trial) -> Any:
    path = _file(trial)
    other = "duckdb" if trial.dialect == "sqlite" else "sqlite"
    text = b"a text, and no database at all\n" * 500
    raws = {"text": text, "zeros": bytes(9000), "noise": trial.rng.randbytes(9000)}
    name = trial.rng.choice([*raws, other, "folder"])
    path.unlink()
    if name == "folder":
        path.mkdir()
    elif name == "sqlite":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE stc_models (id INTEGER)")
    elif name == "duckdb":
        duckdb.connect(path).close()
    else:
        path.write_bytes(raws[name])
    return name
