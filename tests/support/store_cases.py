"""What every store must do: one suite, whatever the database."""

from __future__ import annotations

import json
import os
from contextlib import closing
from itertools import islice, product
from multiprocessing import Pipe
from threading import Thread

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from stc.exceptions import DataError, ParameterError, ParameterTypeError, StcError, StoreError
from stc.io import ENTRIES, Archive
from stc.stores import open_store
from stc.stores.database import Database
from stc.stores.transaction import Writing
from support import store_stress
from support.conformance import assert_same_model
from support.edge_cases import FRAME, ITEMS, plain
from support.stores import another_store, close_stores, database_of, opened

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
    """Entries of feature, class, mass and support, and if need be set, gain and phase."""
    full = [(*row, *(0, 1.0, 0.0)[len(row) - 4 :]) for row in rows]
    names = ["feature", "class", "mass", "support", "set", "gain", "phase"]
    frame = pl.DataFrame(full, schema=names, orient="row") if full else ENTRIES.to_frame()
    return frame.select(*ENTRIES.names()).cast(dict(ENTRIES))


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def assert_entries(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert found.schema == ENTRIES
    assert_frame_equal(found, expected, check_row_order=False, check_exact=True)


RED = entries(('["colour", "red"]', '"stop"', 1.5, 3), ('["colour", "red"]', '"go"', 0.1, 1))
GREEN = entries(('["colour", "green"]', '"go"', 0.3, 2, 1, 0.5, 0.25))
HEADER = {"power": 0.5, "classes": ["stop", "go"], "nothing": None}


def learnt(database: Database, name: str = "zoo", header: object = HEADER) -> None:
    database.write(name, lambda writing: writing.add(header, pl.concat([RED, GREEN])))


def corpus_of(database: Database, name: str = "zoo") -> pl.DataFrame:
    found = database.read(name)
    assert found is not None
    return found.archive.entries


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
    def database(self, url):
        yield database_of(url)
        close_stores(url)

    def test_an_empty_database_has_nothing_and_stays_empty(self, database, url):
        assert database.names() == []
        assert database.version("zoo") is database.read("zoo") is database.header("zoo") is None
        database.remove("zoo")

        def look(writing: Writing) -> None:
            assert writing.version is None
            assert writing.header is None
            assert not writing.has("batch")
            assert writing.batches() == frozenset()
            writing.forget()

        database.write("zoo", look)
        assert database.names() == []
        database.release()
        assert schema_of(url) == []

    def test_what_is_written_is_read(self, database, url):
        learnt(database)
        version, archive, batches = database.read("zoo")
        assert version == database.version("zoo")
        assert archive.header == database.header("zoo") == HEADER
        assert_entries(archive.entries, pl.concat([RED, GREEN]))
        assert batches == frozenset()
        database.release()
        again = another_store(url)._database
        assert again is not database
        assert again.read("zoo").version == version
        assert_entries(corpus_of(again), pl.concat([RED, GREEN]))

    def test_numbers_are_exact(self, database):
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
        database.write("zoo", lambda writing: writing.add({}, rows))
        assert_entries(corpus_of(database), rows)

    def test_add_sums_and_keeps_the_phase(self, database):
        learnt(database)
        more = entries(
            ('["colour", "red"]', '"stop"', 0.25, 4, 0, 9.0), ('["size", 1]', '"new"', 7.0, 1)
        )
        database.write("zoo", lambda writing: writing.add({"power": 2}, more))
        sums = entries(
            ('["colour", "red"]', '"stop"', 1.75, 7), ('["colour", "red"]', '"go"', 0.1, 1),
            ('["size", 1]', '"new"', 7.0, 1),
        )  # fmt: skip
        assert_entries(corpus_of(database), pl.concat([sums, GREEN]))
        assert database.header("zoo") == {"power": 2}

    def test_one_delta_may_name_an_entry_twice(self, database):
        database.write("zoo", lambda writing: writing.add({}, pl.concat([GREEN, GREEN])))
        twice = GREEN.with_columns(pl.col("mass", "support") * 2)
        assert_entries(corpus_of(database), twice)

    def test_what_no_item_supports_is_gone(self, database):
        learnt(database)
        less = RED.with_columns(-pl.col("mass"), -pl.col("support"))
        database.write("zoo", lambda writing: writing.add(HEADER, less))
        assert_entries(corpus_of(database), GREEN)
        database.write("zoo", lambda writing: writing.add(HEADER, RED))
        assert_entries(corpus_of(database), pl.concat([RED, GREEN]))

    def test_a_text_that_is_unlearnt_is_stored_no_more(self, database, url):
        learnt(database)
        less = RED.with_columns(-pl.col("mass"), -pl.col("support"))
        database.write("zoo", lambda writing: writing.add(HEADER, less))
        database.release()
        assert not holds(url, "red")
        assert not holds(url, '"stop"')
        assert holds(url, "green")

    def test_an_empty_delta_keeps_the_header(self, database):
        database.write("zoo", lambda writing: writing.add({"a": 1}, entries()))
        assert database.header("zoo") == {"a": 1}
        assert corpus_of(database).schema == ENTRIES
        assert corpus_of(database).is_empty()

    def test_the_ledger(self, database):
        def once(writing: Writing) -> bool:
            if writing.has("batch 1"):
                return False
            writing.note("batch 1")
            writing.add(HEADER, RED)
            return True

        assert [database.write("zoo", once) for _ in range(3)] == [True, False, False]
        assert_entries(corpus_of(database), RED)
        assert database.write("zoo", lambda writing: writing.batches()) == {"batch 1"}
        assert database.read("zoo").batches == {"batch 1"}
        assert not database.write("other", lambda writing: writing.has("batch 1"))
        database.write("zoo", lambda writing: writing.forget())
        assert database.write("zoo", once)

    def test_there_is_no_model_to_read(self, database):
        for _ in range(2):  # never written, then removed
            with pytest.raises(StoreError, match="the store has no model 'zoo'"):
                database.write("zoo", lambda writing: writing.read())
            learnt(database)
            database.write("zoo", lambda writing: writing.remove())

    def test_versions_grow_and_never_repeat(self, database):
        seen = []
        for _ in range(3):
            assert database.write("zoo", lambda writing: writing.version) is None
            told = database.write(
                "zoo", lambda writing: (writing.note("b"), writing.next_version)[1]
            )
            seen.append(database.version("zoo"))
            assert told == seen[-1]
            learnt(database)
            seen.append(database.version("zoo"))
            database.write("zoo", lambda writing: writing.read())
            assert database.version("zoo") == seen[-1]
            database.remove("zoo")
            assert database.version("zoo") is None
        assert seen == sorted(set(seen))

    def test_an_exception_leaves_nothing(self, database, url):
        class OwnError(Exception):
            pass

        failure = OwnError("no")

        def fail(writing: Writing) -> None:
            writing.note("batch")
            writing.add({"other": 1}, GREEN)
            writing.replace(Archive({"other": 2}, RED))
            raise failure

        with pytest.raises(OwnError) as caught:
            database.write("zoo", fail)
        assert caught.value is failure
        assert database.names() == []
        learnt(database)
        before = database.read("zoo")
        with pytest.raises(OwnError):
            database.write("zoo", fail)
        assert database.version("zoo") == before.version
        assert database.header("zoo") == HEADER
        assert_entries(corpus_of(database), before.archive.entries)
        assert database.write("zoo", lambda writing: writing.batches()) == frozenset()

    def test_replace_clear_and_remove(self, database):
        learnt(database)
        database.write("zoo", lambda writing: writing.note("batch"))
        database.write("zoo", lambda writing: writing.replace(Archive({"new": 1}, GREEN)))
        assert database.header("zoo") == {"new": 1}
        assert_entries(corpus_of(database), GREEN)
        database.write("zoo", lambda writing: writing.clear({"empty": 1}))
        version, archive, batches = database.read("zoo")
        assert version == database.version("zoo")
        assert archive.header == database.header("zoo") == {"empty": 1}
        assert_entries(archive.entries, entries())
        assert batches == {"batch"}
        assert database.write("zoo", lambda writing: (writing.header, writing.batches())) == (
            {"empty": 1},
            {"batch"},
        )
        learnt(database)
        assert_entries(corpus_of(database), pl.concat([RED, GREEN]))
        database.remove("zoo")
        assert database.read("zoo") is None
        learnt(database)
        assert database.write("zoo", lambda writing: writing.batches()) == frozenset()

    def test_a_transaction_sees_what_it_wrote(self, database):
        def work(writing: Writing) -> None:
            writing.add({"a": 1}, RED)
            writing.add({"a": 2}, GREEN)
            assert writing.header == {"a": 2}
            assert_entries(writing.read().entries, pl.concat([RED, GREEN]))
            writing.clear({"a": 0})
            assert writing.header == {"a": 0}
            assert writing.read().entries.is_empty()
            writing.add({"a": 3}, GREEN)
            assert_entries(writing.read().entries, GREEN)
            writing.note("x")
            assert writing.has("x")
            assert writing.batches() == {"x"}

        database.write("zoo", work)
        assert_entries(corpus_of(database), GREEN)

    def test_models_do_not_meet(self, database):
        for name, rows in {"zoo": RED, "Zoo": GREEN, "ZOO": pl.concat([RED, GREEN])}.items():
            database.write(name, lambda writing, rows=rows: writing.add({"n": 1}, rows))
        assert database.names() == ["ZOO", "Zoo", "zoo"]
        database.remove("ZOO")
        assert_entries(corpus_of(database, "zoo"), RED)
        assert_entries(corpus_of(database, "Zoo"), GREEN)
        database.write("zoo", lambda writing: writing.clear({}))
        assert_entries(corpus_of(database, "Zoo"), GREEN)

    def test_what_differs_in_case_or_type_differs(self, database):
        features = ['["a", 1]', '["A", 1]', '["a", "1"]', '["a", "x: y"]', '["a: x", "y"]', '["á"]']
        rows = entries(*((f, c, 1.0, 1) for f in features for c in ('"k"', '"K"', "1", '"1"')))
        database.write("zoo", lambda writing: writing.add({}, rows))
        database.write("zoo", lambda writing: writing.add({}, rows))
        doubled = rows.with_columns(pl.col("mass", "support") * 2)
        assert_entries(corpus_of(database), doubled)

    def test_injections_as_values(self, database, url):
        learnt(database, "first")
        database.release()
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

        database.write("zoo", work)
        assert database.header("zoo") == header
        assert_entries(corpus_of(database), rows)
        assert database.write("zoo", lambda writing: writing.batches()) == set(strings)
        assert database.write("zoo", lambda writing: all(map(writing.has, strings)))
        less = rows.with_columns(-pl.col("mass"), -pl.col("support"))
        database.write("zoo", lambda writing: writing.add(header, less))
        assert corpus_of(database).is_empty()
        database.release()
        assert schema_of(url) == before

    def test_injections_as_names(self, database, url):
        learnt(database, "first")
        database.release()
        before = schema_of(url)
        strings = injections()
        versions = {}
        for string in strings:
            versions[string] = database.write(
                string, lambda writing: (writing.note("b"), writing.next_version)[1]
            )
        assert database.names() == sorted([*strings, "first"])
        assert {string: database.version(string) for string in strings} == versions
        database.release()
        assert schema_of(url) == before

    @pytest.mark.parametrize("bad", ["a\x00b", "\x00", "a\ud800", "\udc00b"])
    def test_nul_and_lone_surrogates_are_refused(self, database, bad):
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
            lambda writing: writing.clear({"value": bad}),
            lambda writing: writing.set_header({"value": bad}),
            lambda writing: writing.replace(Archive({}, entries((escaped, '"c"', 1.0, 1)))),
        ]
        for work in works:
            with pytest.raises(StcError, match="NUL" if nul else "surrogate") as caught:
                database.write("zoo", work)
            assert isinstance(caught.value, ValueError)
            assert caught.value.hint == "remove it"
        for ask in (
            database.version,
            database.read,
            database.header,
            database.remove,
            lambda n: learnt(database, n),
        ):
            with pytest.raises(ParameterError, match="NUL" if nul else "surrogate"):
                ask(bad)
        with pytest.raises(ParameterTypeError, match="the name must be a string, got int"):
            database.version(7)
        assert database.names() == []

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), None])
    def test_numbers_that_are_none_are_refused(self, database, bad):
        for name in ("mass", "gain", "phase"):
            rows = RED.with_columns(pl.lit(bad, dtype=pl.Float64).alias(name))
            with pytest.raises(DataError, match=r"finite|lacks"):
                database.write("zoo", lambda writing, rows=rows: writing.add({}, rows))
        assert database.names() == []

    def test_a_failure_that_the_work_keeps_to_itself_is_not_committed(self, database):
        learnt(database)
        version = database.version("zoo")

        def work(writing: Writing) -> None:
            writing.note("batch")
            with pytest.raises(ValueError, match="finite"):
                writing.add({}, RED.with_columns(mass=pl.lit(float("nan"))))
            raise ValueError("out")

        with pytest.raises(ValueError, match="out"):
            database.write("zoo", work)
        assert database.version("zoo") == version

    def test_threads_share_a_store(self, database):
        failures = []

        def learn(number: int) -> None:
            try:
                for batch in range(10):
                    delta = store_stress.delta(number, batch)
                    database.write("zoo", lambda writing, delta=delta: writing.add({}, delta))
                    assert database.version("zoo") is not None
            except BaseException as error:
                failures.append(error)

        threads = [Thread(target=learn, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        batches = [(number, batch) for number in range(4) for batch in range(10)]
        assert_entries(corpus_of(database), store_stress.expected(batches))

    def test_one_address_is_one_store(self, url):
        store = open_store(url)
        assert open_store(url) is store
        store.close()
        assert open_store(url) is not store
        open_store(url).close()

    def test_a_closed_store_opens_again_when_it_is_used(self, url):
        store = open_store(url)
        learnt(store._database)
        store.close()
        assert list(store) == ["zoo"]
        learnt(open_store(url)._database, "new")  # another object, the same database
        assert list(store) == list(open_store(url)) == ["new", "zoo"]
        store.close()
        open_store(url).close()

    @pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("work", [store_stress.ROWS, store_stress.MODELS], ids=str)
    def test_killed_at_any_moment(self, url, work, times):
        store_stress.kill(url, work, times=times, seed=7)


class SharedStoreCases(StoreCases):
    """Cases for stores that several processes may write to."""

    @pytest.mark.parametrize("batches", [5, pytest.param(100, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("work", [store_stress.ROWS, store_stress.MODELS], ids=str)
    def test_processes_write_at_once(self, url, work, batches):
        store_stress.concurrency(url, work, processes=8, batches=batches)

    def test_a_process_that_was_running_learns_with_the_new_parameters(self, url):
        given = ITEMS, FRAME["class"]
        model = open_store(url).create("zoo", plain()).set_params(power=0.4)
        here, there = Pipe()
        process = store_stress.started(store_stress.learn_when_told, url, there)
        there.close()
        assert here.recv() == 0.4  # it has read the model
        model.set_params(power=1.0)
        here.send("learn")
        assert here.recv() == 1.0
        process.join()
        assert process.exitcode == 0
        assert model.get_params()["power"] == opened(url).get_params()["power"] == 1.0
        expected = plain().set_params(power=1.0).partial_fit(*given)
        assert model.class_mass_.tolist() == expected.class_mass_.tolist()
        assert_same_model(expected, opened(url), ITEMS)

    def test_a_forked_child_has_connections_of_its_own(self, database):
        learnt(database)
        child = os.fork()
        if child == 0:
            # No polars here: it does not survive a fork.
            try:
                good = database.header("zoo") == HEADER
                database.write("zoo", lambda writing: writing.note("from the child"))
                os._exit(0 if good else 1)
            except BaseException:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert database.write("zoo", lambda writing: writing.batches()) == {"from the child"}
        learnt(database)


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
