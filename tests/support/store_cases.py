"""What every store must do: one suite, whatever the database."""

from __future__ import annotations

import json
import os
from contextlib import closing
from itertools import islice, product
from threading import Thread

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from stc.exceptions import DataError, ParameterError, ParameterTypeError, StcError, StoreError
from stc.io import ENTRIES, Archive
from stc.stores import Store, Writing, open_store
from support import store_stress

NASTY = (
    "", " ", "\t", "\n", "\r\n", "'", '"', "''", '"";', ";", "--", "/*", "*/", "\\", "\\\\", "\\'",
    "\\n", "\\N", "\\.", "\\x00", "\\u0000", "\\\\u0000", "%", "%s", "%(name)s", "%%", "?", "?1",
    ":name", "::text", ":1", "$1", "$model", "@p", "{}", "{0}", "{name}", "${HOME}", "`id`", "NULL",
    "null", "None", "nan", "NaN", "true", "0", "1e5", "-0", "a,b", "a|b", "[1]", '{"a": 1}',
    "'; DROP TABLE stc_models; --", '"; DROP TABLE stc_entries; --', "' OR '1'='1",
    "1; DELETE FROM stc_batches", "x'); ATTACH 'y' AS z; --", "Robert'); DROP TABLE students;--",
    "SELECT", "select * from stc_models", "UNION ALL SELECT", "stc_models", "main", "public",
    "\U0001f600", "\U0001f468‍\U0001f469‍\U0001f467", "‮abc", "‏", "‎",
    "⁦x⁩", "﻿", "é", "é", "ß", "SS", "ı", "I", "İ", "i", "ﬀ", "Å",
    "Å", " ", "　", " ", "\x01", "\x07", "\x1b[31m", "\x7f", "\x85", "￿",
    "\U0010ffff", "漢字", "العربية", "עברית", "ไทย", "a\x0bb",
)  # fmt: skip
LONG = "longer than an index takes '" * 40_000


def injections(count: int = 500) -> list[str]:
    """As many different strings, each of which has broken something somewhere."""
    pairs = (one + other for one, other in product(NASTY, reversed(NASTY)))
    distinct = dict.fromkeys((*NASTY, LONG, *pairs))
    return list(islice(distinct, count))


def entries(*rows: tuple[object, ...]) -> pl.DataFrame:
    """Entries of feature, class, mass and support, and if need be set and phase."""
    full = [(*row, *(0, 0.0)[len(row) - 4 :]) for row in rows]
    names = ["feature", "class", "mass", "support", "set", "phase"]
    frame = pl.DataFrame(full, schema=names, orient="row") if full else ENTRIES.to_frame()
    return frame.select(*ENTRIES.names()).cast(dict(ENTRIES))


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def assert_entries(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert found.schema == ENTRIES
    assert_frame_equal(found, expected, check_row_order=False, check_exact=True)


RED = entries(('["colour", "red"]', '"stop"', 1.5, 3), ('["colour", "red"]', '"go"', 0.1, 1))
GREEN = entries(('["colour", "green"]', '"go"', 0.3, 2, 1, 0.25))
HEADER = {"power": 0.5, "classes": ["stop", "go"], "nothing": None}


def learnt(store: Store, name: str = "zoo", header: object = HEADER) -> None:
    store.write(name, lambda writing: writing.add(header, pl.concat([RED, GREEN])))


def corpus_of(store: Store, name: str = "zoo") -> pl.DataFrame:
    found = store.read(name)
    assert found is not None
    assert found[1] is not None
    return found[1].entries


def schema_of(url: str) -> list[tuple[object, ...]]:
    """All tables, with their columns."""
    if url.startswith("duckdb"):
        import duckdb

        query = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
        with duckdb.connect(url.removeprefix("duckdb:///")) as connection:
            return sorted(connection.execute(query).fetchall())
    from sqlalchemy import create_engine, inspect

    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with closing(engine.connect()) as connection:
        look = inspect(connection)
        found = sorted(
            (table, column["name"], str(column["type"]))
            for table in look.get_table_names()
            for column in look.get_columns(table)
        )
    engine.dispose()
    return found


class StoreCases:
    """Cases for a `url` fixture that gives the address of an empty database."""

    @pytest.fixture
    def store(self, url):
        store = open_store(url)
        yield store
        store.close()

    def test_an_empty_database_has_nothing_and_stays_empty(self, store, url):
        assert store.names() == []
        assert store.version("zoo") is store.read("zoo") is store.header("zoo") is None
        store.remove("zoo")

        def look(writing: Writing) -> None:
            assert writing.version is None
            assert writing.header is None
            assert not writing.has("batch")
            assert writing.batches() == frozenset()
            writing.forget()
            writing.clear()

        store.write("zoo", look)
        assert store.names() == []
        store.close()
        assert schema_of(url) == []

    def test_what_is_written_is_read(self, store, url):
        learnt(store)
        version, archive = store.read("zoo")
        assert version == store.version("zoo")
        assert archive.header == store.header("zoo") == HEADER
        assert_entries(archive.entries, pl.concat([RED, GREEN]))
        store.close()
        again = open_store(url)
        assert again is not store
        assert again.read("zoo")[0] == version
        assert_entries(corpus_of(again), pl.concat([RED, GREEN]))
        again.close()

    def test_numbers_are_exact(self, store):
        masses = [
            0.1,
            1 / 3,
            5e-324,
            1.7976931348623157e308,
            2**53 + 0.0,
            1e-7,
            123456789.123456789,
        ]
        rows = entries(*((text(m), '"c"', m, 2**62, 0, m) for m in masses))
        store.write("zoo", lambda writing: writing.add({}, rows))
        assert_entries(corpus_of(store), rows)

    def test_add_sums_and_keeps_the_phase(self, store):
        learnt(store)
        more = entries(
            ('["colour", "red"]', '"stop"', 0.25, 4, 0, 9.0), ('["size", 1]', '"new"', 7.0, 1)
        )
        store.write("zoo", lambda writing: writing.add({"power": 2}, more))
        sums = entries(
            ('["colour", "red"]', '"stop"', 1.75, 7), ('["colour", "red"]', '"go"', 0.1, 1),
            ('["size", 1]', '"new"', 7.0, 1),
        )  # fmt: skip
        assert_entries(corpus_of(store), pl.concat([sums, GREEN]))
        assert store.header("zoo") == {"power": 2}

    def test_one_delta_may_name_an_entry_twice(self, store):
        store.write("zoo", lambda writing: writing.add({}, pl.concat([GREEN, GREEN])))
        twice = GREEN.with_columns(pl.col("mass", "support") * 2)
        assert_entries(corpus_of(store), twice)

    def test_what_no_item_supports_is_gone(self, store):
        learnt(store)
        less = RED.with_columns(-pl.col("mass"), -pl.col("support"))
        store.write("zoo", lambda writing: writing.add(HEADER, less))
        assert_entries(corpus_of(store), GREEN)
        store.write("zoo", lambda writing: writing.add(HEADER, RED))
        assert_entries(corpus_of(store), pl.concat([RED, GREEN]))

    def test_a_text_that_is_unlearnt_is_stored_no_more(self, store, url):
        learnt(store)
        less = RED.with_columns(-pl.col("mass"), -pl.col("support"))
        store.write("zoo", lambda writing: writing.add(HEADER, less))
        store.close()
        assert not holds(url, "red")
        assert not holds(url, '"stop"')
        assert holds(url, "green")

    def test_an_empty_delta_keeps_the_header(self, store):
        store.write("zoo", lambda writing: writing.add({"a": 1}, entries()))
        assert store.header("zoo") == {"a": 1}
        assert corpus_of(store).schema == ENTRIES
        assert corpus_of(store).is_empty()

    def test_the_ledger(self, store):
        def once(writing: Writing) -> bool:
            if writing.has("batch 1"):
                return False
            writing.note("batch 1")
            writing.add(HEADER, RED)
            return True

        assert [store.write("zoo", once) for _ in range(3)] == [True, False, False]
        assert_entries(corpus_of(store), RED)
        assert store.write("zoo", lambda writing: writing.batches()) == {"batch 1"}
        assert not store.write("other", lambda writing: writing.has("batch 1"))
        store.write("zoo", lambda writing: writing.forget())
        assert store.write("zoo", once)

    def test_there_is_no_model_to_read(self, store):
        for _ in range(2):  # never learnt, then everything unlearnt
            with pytest.raises(StoreError, match="the store has no model 'zoo'"):
                store.write("zoo", lambda writing: writing.read())
            learnt(store)
            store.write("zoo", lambda writing: writing.clear())

    def test_versions_grow_and_never_repeat(self, store):
        seen = []
        for _ in range(3):
            assert store.write("zoo", lambda writing: writing.version) is None
            told = store.write("zoo", lambda writing: (writing.note("b"), writing.next_version)[1])
            seen.append(store.version("zoo"))
            assert told == seen[-1]
            learnt(store)
            seen.append(store.version("zoo"))
            store.write("zoo", lambda writing: writing.read())
            assert store.version("zoo") == seen[-1]
            store.remove("zoo")
            assert store.version("zoo") is None
        assert seen == sorted(set(seen))

    def test_an_exception_leaves_nothing(self, store, url):
        class OwnError(Exception):
            pass

        failure = OwnError("no")

        def fail(writing: Writing) -> None:
            writing.note("batch")
            writing.add({"other": 1}, GREEN)
            writing.replace(Archive({"other": 2}, RED))
            raise failure

        with pytest.raises(OwnError) as caught:
            store.write("zoo", fail)
        assert caught.value is failure
        assert store.names() == []
        learnt(store)
        before = store.read("zoo")
        with pytest.raises(OwnError):
            store.write("zoo", fail)
        assert store.version("zoo") == before[0]
        assert store.header("zoo") == HEADER
        assert_entries(corpus_of(store), before[1].entries)
        assert store.write("zoo", lambda writing: writing.batches()) == frozenset()

    def test_replace_clear_and_remove(self, store):
        learnt(store)
        store.write("zoo", lambda writing: writing.note("batch"))
        store.write("zoo", lambda writing: writing.replace(Archive({"new": 1}, GREEN)))
        assert store.header("zoo") == {"new": 1}
        assert_entries(corpus_of(store), GREEN)
        store.write("zoo", lambda writing: writing.clear())
        version, nothing = store.read("zoo")
        assert nothing is None
        assert version == store.version("zoo")
        assert store.header("zoo") is None
        assert store.write("zoo", lambda writing: (writing.header, writing.batches())) == (
            None,
            {"batch"},
        )
        learnt(store)
        assert_entries(corpus_of(store), pl.concat([RED, GREEN]))
        store.remove("zoo")
        assert store.read("zoo") is None
        learnt(store)
        assert store.write("zoo", lambda writing: writing.batches()) == frozenset()

    def test_a_transaction_sees_what_it_wrote(self, store):
        def work(writing: Writing) -> None:
            writing.add({"a": 1}, RED)
            writing.add({"a": 2}, GREEN)
            assert writing.header == {"a": 2}
            assert_entries(writing.read().entries, pl.concat([RED, GREEN]))
            writing.clear()
            assert writing.header is None
            writing.add({"a": 3}, GREEN)
            assert_entries(writing.read().entries, GREEN)
            writing.note("x")
            assert writing.has("x")

        store.write("zoo", work)
        assert_entries(corpus_of(store), GREEN)

    def test_models_do_not_meet(self, store):
        for name, rows in {"zoo": RED, "Zoo": GREEN, "ZOO": pl.concat([RED, GREEN])}.items():
            store.write(name, lambda writing, rows=rows: writing.add({"n": 1}, rows))
        assert store.names() == ["ZOO", "Zoo", "zoo"]
        store.remove("ZOO")
        assert_entries(corpus_of(store, "zoo"), RED)
        assert_entries(corpus_of(store, "Zoo"), GREEN)
        store.write("zoo", lambda writing: writing.clear())
        assert_entries(corpus_of(store, "Zoo"), GREEN)

    def test_what_differs_in_case_or_type_differs(self, store):
        features = ['["a", 1]', '["A", 1]', '["a", "1"]', '["a", "x: y"]', '["a: x", "y"]', '["á"]']
        rows = entries(*((f, c, 1.0, 1) for f in features for c in ('"k"', '"K"', "1", '"1"')))
        store.write("zoo", lambda writing: writing.add({}, rows))
        store.write("zoo", lambda writing: writing.add({}, rows))
        doubled = rows.with_columns(pl.col("mass", "support") * 2)
        assert_entries(corpus_of(store), doubled)

    def test_injections_as_values(self, store, url):
        learnt(store, "first")
        store.close()
        before = schema_of(url)
        strings = injections()
        assert len(strings) == 500
        rows = entries(
            *((text([s, s]), text(strings[-n]), n / 8, n + 1, n) for n, s in enumerate(strings))
        )
        header = {"values": strings, **dict.fromkeys(strings, 1)}

        def work(writing: Writing) -> None:
            for string in strings:
                writing.note(string)
            writing.add(header, rows)

        store.write("zoo", work)
        assert store.header("zoo") == header
        assert_entries(corpus_of(store), rows)
        assert store.write("zoo", lambda writing: writing.batches()) == set(strings)
        assert store.write("zoo", lambda writing: all(map(writing.has, strings)))
        less = rows.with_columns(-pl.col("mass"), -pl.col("support"))
        store.write("zoo", lambda writing: writing.add(header, less))
        assert corpus_of(store).is_empty()
        store.close()
        assert schema_of(url) == before

    def test_injections_as_names(self, store, url):
        learnt(store, "first")
        store.close()
        before = schema_of(url)
        strings = injections()
        versions = {}
        for string in strings:
            versions[string] = store.write(
                string, lambda writing: (writing.note("b"), writing.next_version)[1]
            )
        assert store.names() == sorted([*strings, "first"])
        assert {string: store.version(string) for string in strings} == versions
        store.close()
        assert schema_of(url) == before

    @pytest.mark.parametrize("bad", ["a\x00b", "\x00", "a\ud800", "\udc00b"])
    def test_nul_and_lone_surrogates_are_refused(self, store, bad):
        nul = "\x00" in bad
        escaped = json.dumps(["a", bad])
        works = [
            lambda writing: writing.note(bad),
            lambda writing: writing.has(bad),
            lambda writing: writing.add({"value": bad}, RED),
            lambda writing: writing.add({bad: 1}, RED),
            lambda writing: writing.add({}, entries((escaped, '"c"', 1.0, 1))),
            lambda writing: writing.add({}, entries(('"f"', escaped, 1.0, 1))),
            lambda writing: writing.replace(Archive({"value": bad}, RED)),
            lambda writing: writing.replace(Archive({}, entries((escaped, '"c"', 1.0, 1)))),
        ]
        for work in works:
            with pytest.raises(StcError, match="NUL" if nul else "surrogate") as caught:
                store.write("zoo", work)
            assert isinstance(caught.value, ValueError)
            assert caught.value.hint == "remove it"
        for ask in (
            store.version,
            store.read,
            store.header,
            store.remove,
            lambda n: learnt(store, n),
        ):
            with pytest.raises(ParameterError, match="NUL" if nul else "surrogate"):
                ask(bad)
        with pytest.raises(ParameterTypeError, match="the name must be a string, got int"):
            store.version(7)
        assert store.names() == []

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), None])
    def test_numbers_that_are_none_are_refused(self, store, bad):
        for name in ("mass", "phase"):
            rows = RED.with_columns(pl.lit(bad, dtype=pl.Float64).alias(name))
            with pytest.raises(DataError, match=r"finite|lacks"):
                store.write("zoo", lambda writing, rows=rows: writing.add({}, rows))
        assert store.names() == []

    def test_a_failure_that_the_work_keeps_to_itself_is_not_committed(self, store):
        learnt(store)
        version = store.version("zoo")

        def work(writing: Writing) -> None:
            writing.note("batch")
            with pytest.raises(ValueError, match="finite"):
                writing.add({}, RED.with_columns(mass=pl.lit(float("nan"))))
            raise ValueError("out")

        with pytest.raises(ValueError, match="out"):
            store.write("zoo", work)
        assert store.version("zoo") == version

    def test_threads_share_a_store(self, store):
        failures = []

        def learn(number: int) -> None:
            try:
                for batch in range(10):
                    delta = store_stress.delta(number, batch)
                    store.write("zoo", lambda writing, delta=delta: writing.add({}, delta))
                    assert store.version("zoo") is not None
            except BaseException as error:
                failures.append(error)

        threads = [Thread(target=learn, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        batches = [(number, batch) for number in range(4) for batch in range(10)]
        assert_entries(corpus_of(store), store_stress.expected(batches))

    def test_one_address_is_one_store(self, store, url):
        assert open_store(url) is store
        store.close()
        assert open_store(url) is not store
        open_store(url).close()

    @pytest.mark.parametrize("times", [3, pytest.param(100, marks=pytest.mark.slow)])
    def test_killed_at_any_moment(self, url, times):
        store_stress.kill(url, times=times, seed=7)


class SharedStoreCases(StoreCases):
    """Cases for stores that several processes may write to."""

    @pytest.mark.parametrize("batches", [5, pytest.param(100, marks=pytest.mark.slow)])
    def test_processes_write_at_once(self, url, batches):
        store_stress.concurrency(url, processes=8, batches=batches)

    def test_a_forked_child_has_connections_of_its_own(self, store):
        learnt(store)
        child = os.fork()
        if child == 0:
            # No polars here: it does not survive a fork.
            try:
                good = store.header("zoo") == HEADER
                store.write("zoo", lambda writing: writing.note("from the child"))
                os._exit(0 if good else 1)
            except BaseException:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert store.write("zoo", lambda writing: writing.batches()) == {"from the child"}
        learnt(store)


def holds(url: str, needle: str) -> bool:
    """Whether any column of any table holds a text."""
    if url.startswith("duckdb"):
        import duckdb

        with duckdb.connect(url.removeprefix("duckdb:///")) as connection:
            tables = {table for table, *_ in schema_of_connection(connection)}
            rows = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
        return any(
            needle in repr(row) for table in rows for row in table if "power" not in repr(row)
        )
    from sqlalchemy import create_engine, select

    from stc.stores import tables as stc_tables

    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    kept = [t for t in stc_tables.metadata.sorted_tables if t.name != "stc_models"]
    with engine.connect() as connection:
        rows = [row for table in kept for row in connection.execute(select(table)).all()]
    engine.dispose()
    return any(needle in repr(row) for row in rows)


def schema_of_connection(connection):
    query = "SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal"
    return connection.execute(query).fetchall()
