# Everything works on a fresh machine with python3 and make: targets set up their own .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo fuzz test test-all test-servers lint types imports unit browser servers paper paper-quick bench bench-cli bench-sql bench-scale bench-accuracy bench-explain bench-policies bench-labels clean

demo: .venv/core
	$(BIN)/stc demo

# What a contributor runs before each commit: a few minutes, and no system packages.
test: lint types imports unit

# The same with the long tails: every variant, many kills, many malformed files, many examples.
test-all: export STC_EXAMPLES = 2000
test-all: lint types imports .venv/dev
	$(BIN)/pytest -n 2 --ignore=tests/servers

# Random input for every way into stc, FUZZ_SECONDS long; the seed is printed.
fuzz: export FUZZ_SECONDS ?= 600
fuzz: .venv/dev
	$(BIN)/python tests/support/fuzz.py

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev
	$(BIN)/mypy

imports: .venv/dev
	$(BIN)/lint-imports

unit: .venv/dev
	$(BIN)/pytest -n 2 -m "not slow" --ignore=tests/servers

# Stores and sources that need a server: a real PostgreSQL, a Dask and a Spark cluster on loopback.
test-servers: .venv/servers servers
	$(BIN)/pytest tests/servers

# The browser in which the page of a report is tested.
browser:
	@test -x /usr/bin/chromium || (apt-get update -qq && apt-get install -y -qq chromium)

# The servers that `make test-servers` needs.
servers:
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 && which java > /dev/null || \
	  (apt-get update -qq && apt-get install -y -qq postgresql default-jre-headless)

# The paper's experiments, beside its figures: less than an hour; for CI, a few of its runs in minutes.
paper: .venv/paper
	$(BIN)/python paper/run.py

paper-quick: .venv/paper
	$(BIN)/python paper/run.py --quick

bench: .venv/bench
	$(BIN)/python benchmarks/speed.py

bench-accuracy: .venv/bench
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/accuracy.py --text

bench-scale: .venv/servers servers
	$(BIN)/python benchmarks/scale.py

bench-cli: .venv/bench
	$(BIN)/python benchmarks/cli.py --json benchmarks/results/cli.json

bench-sql: .venv/servers servers
	$(BIN)/python benchmarks/sql.py

bench-explain: .venv/bench
	$(BIN)/python benchmarks/explain.py

bench-policies: .venv/bench
	$(BIN)/python benchmarks/policies.py

bench-labels: .venv/bench
	$(BIN)/python benchmarks/multilabel.py

.venv/core: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[cli]"
	touch $@

.venv/dev: .venv/core
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

.venv/servers: .venv/dev
	$(BIN)/python -m pip install --quiet --editable ".[servers]"
	touch $@

.venv/paper: .venv/core
	$(BIN)/python -m pip install --quiet --editable ".[paper]"
	touch $@

.venv/bench: .venv/core
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

clean:
	rm -rf .venv .bench_cache .paper_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
