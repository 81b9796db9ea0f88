# Every verb does its own set-up: Python 3.11+, pip and make are all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOWEST := .venv-lowest
NEWEST := .venv-newest

.PHONY: help demo label test test-all lowest newest check format bench bench-check docs build smoke dist clean

help:  ## list the verbs
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

# The stamp is newer than pyproject.toml once the environment matches it: a second call does nothing.
$(READY): pyproject.toml src/linkshift/__init__.py  # where the version is
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "linkshift needs Python 3.11 or newer; call make with PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV) (once, a minute or two) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(READY)  ## cluster a data set with and without links, print a table, draw a picture
	$(BIN)/python examples/demo.py

label: $(READY)  ## the labelling page in the browser, on handwritten digits; answers go to digits.linkshift
	@test -e digits.csv || $(BIN)/linkshift datasets digits --quiet -o digits.csv
	$(BIN)/linkshift label digits.csv --image pixels:8x8

# Two workers share the cores: threads of OpenMP that spin while they wait would take them from the
# other worker, and did so for half of the time.
test test-all lowest newest: export OMP_WAIT_POLICY := passive
# Tests are kept as bytecode: without it every worker takes ten seconds to prepare them.
test test-all lowest newest: export PYTHONDONTWRITEBYTECODE :=

test: $(READY)  ## the tests (without those marked slow, and with a third of hypothesis's examples)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" --hypothesis-profile=few

test-all: $(READY)  ## every test
	$(BIN)/python -m pytest -n 2 --dist loadfile

# `make lowest SELECT=` runs the slow tests as well; `WITH=,deep` installs torch, too: gigabytes.
lowest newest: SELECT ?= -m "not slow"
# numba keeps code of one version only.
lowest: export NUMBA_CACHE_DIR := $(CURDIR)/$(LOWEST)/numba
newest: export NUMBA_CACHE_DIR := $(CURDIR)/$(NEWEST)/numba

$(LOWEST)/.ready: pyproject.toml release/lowest.py release/project.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
		|| { echo "The lowest versions are those of Python 3.11: PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) -m release.lowest > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --progress-bar off --disable-pip-version-check -c $(LOWEST)/constraints.txt \
		-e ".[test,$$($(PYTHON) -m release.project)$(WITH)]"
	@touch $@

# Old versions use what newer ones of their own dependencies advise against: no fault of ours.
lowest: $(LOWEST)/.ready  ## the tests, with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest -n 2 --dist loadfile -W default::DeprecationWarning $(SELECT)

# What pip finds today, so the environment is made anew each time. An extra that holds others back is
# left out: anndata takes no pandas 3. `make newest LEFT_OUT=` has it, and the list of what is
# outdated then says what it holds back.
newest: LEFT_OUT ?= anndata
newest:  ## the tests, with the newest versions that pip finds; PRE=1 takes pre-releases, too
	$(PYTHON) -m venv --clear $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --upgrade pip
	$(NEWEST)/bin/python -m pip install --progress-bar off --prefer-binary $(if $(PRE),--pre) \
		-e ".[test,docs,$$($(PYTHON) -m release.project $(LEFT_OUT))$(WITH)]" polars
	$(NEWEST)/bin/python -m pip list --outdated $(if $(PRE),--pre)
	$(NEWEST)/bin/python -m pytest -n 2 --dist loadfile $(SELECT)

check: $(READY)  ## format, lint, types, and which room may import which
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## put the code into the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## speed against the peers; ARGS="cms --full --repeats 5" for a paper's tables
	$(BIN)/python -m benchmarks.run $(ARGS)

bench-check: $(READY)  ## what became slower or worse, by ratios and scores of a few quick suites
	$(BIN)/python -m benchmarks.bench_check $(ARGS)

docs: $(READY)  ## the documentation, into docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx -b html -W --keep-going -n docs docs/_build/html

dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m release.contents dist

# Environments that are removed again. EXTRAS="none deep" picks what is installed with it.
build: dist  ## wheel and sdist, into dist; what they hold is checked, and the wheel with each extra
	$(BIN)/python -m release.tryout dist $(EXTRAS)

smoke: dist  ## the same, with the wheel tried without extras and with `all` only
	$(BIN)/python -m release.tryout dist none all

clean:  ## remove the environment and what tools left behind
	rm -rf $(VENV) $(LOWEST) $(NEWEST) .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
	rm -rf docs/_build docs/api docs/gallery
	find . -name '*.nb[ic]' -delete
