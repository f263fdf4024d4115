# Every target sets up its own environment in .venv and needs nothing but Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= demo-result

.PHONY: demo test bench picture clean

demo: $(VENV)/.installed
	$(BIN)/kerncause discover examples/sachs.csv --out $(OUT)

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

bench: $(VENV)/.installed-baselines
	$(BIN)/python -m benchmarks

# The picture in the README; needs Graphviz's `dot`.
picture: demo
	dot -Tsvg $(OUT)/graph.dot -o docs/images/sachs.svg

clean:
	rm -rf $(VENV) $(OUT)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kerncause needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(VENV)/.installed $@

$(VENV)/.installed-baselines: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,baselines]'
	touch $@
