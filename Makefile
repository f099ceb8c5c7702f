# Two commands do everything: `make demo` and `make test`. Each creates the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SERVE ?= 1

.PHONY: setup demo test check lint browser studies clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "lingvis needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/lingvis demo --out demo $(if $(filter 0,$(SERVE)),--no-serve)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The tests of the search page want Debian's chromium; without it they are skipped, unless LINGVIS_NEED_BROWSER=1.
browser:
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get -qq update && apt-get -qq install --yes --no-install-recommends chromium > /dev/null; } || echo "no chromium here: the tests in a browser are skipped; install it with: apt install chromium"

# Lint, types and unit tests: under a minute on two cores once the types are cached.
check: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m 'not slow'

# One thread for each of two workers: more would fight for the cores.
test:
	$(MAKE) --no-print-directory --jobs=2 lint browser
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2

studies: setup
	$(BIN)/python -m studies pooling
	$(BIN)/python -m studies ranks
	$(BIN)/python -m studies search

clean:
	rm -rf $(VENV) demo build dist
