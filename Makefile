# `make demo` and `make test` do all their own set-up: git, make and Python 3.11 or later are enough.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
RUN = $(VENV)/.run-installed
DEV = $(VENV)/.dev-installed
FUZZ = $(VENV)/.fuzz-installed

.PHONY: demo test check lint format types imports unused unit man bench chaos fuzz mutants clean

demo: $(RUN)
	$(BIN)/postroom demo

$(RUN): requirements/run.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

$(DEV): $(RUN) requirements/dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	touch $@

test: check unit

check: lint types imports unused

lint: $(DEV)
	$(BIN)/ruff check daemon tests benchmarks
	$(BIN)/ruff format --check daemon tests benchmarks

format: $(DEV)
	$(BIN)/ruff check --fix daemon tests benchmarks
	$(BIN)/ruff format daemon tests benchmarks

types: $(DEV)
	$(BIN)/mypy

imports: $(DEV)
	$(BIN)/lint-imports

unused: $(DEV)
	$(BIN)/vulture
	$(BIN)/deptry daemon

unit: $(DEV)
	$(BIN)/python -m pytest

# The manual pages that are made from the code, written anew; a test holds them against it.
man: $(DEV)
	POSTROOM_GOLDEN=write $(BIN)/python -m pytest -q tests/test_manual.py -k made_from_the_code

bench: $(DEV)
	$(BIN)/python -m benchmarks

# `make chaos RUNS=100`: the whole selftest, and so many random runs of ten deaths each beside it.
RUNS = 100
chaos: $(RUN)
	$(BIN)/postroom selftest --runs $(RUNS)

# `make fuzz TARGETS="mail html" SECONDS=600`: Linux, and a Python that atheris has wheels for (docs/decisions/0019).
SECONDS = 60
$(FUZZ): $(DEV) pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check 'atheris>=3,<4'
	touch $@

fuzz: $(FUZZ)
	mkdir -p build/fuzz
	cd build/fuzz && PYTHONPATH=$(CURDIR)/daemon:$(CURDIR)/tests $(abspath $(BIN))/python -m fuzz --seconds $(SECONDS) $(TARGETS)

# `make mutants MODULES="pace gates"`: a change at a time, and whether a test notices; a minute or two a module (docs/decisions/0032).
mutants: $(DEV)
	PYTHONPATH=$(CURDIR)/daemon:$(CURDIR)/tests $(BIN)/python -m mutants $(MODULES)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
