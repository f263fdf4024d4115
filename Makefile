# Every target sets up its own environment in .venv and needs nothing but Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= demo-result
# Asked for by its exact version, torch installs without the gigabytes of its GPU libraries where a CPU build is at hand.
TORCH ?= 2.13.0

.PHONY: demo test test-long test-baselines test-browser test-effects bench methods picture screenshots docs clean

demo: $(VENV)/.installed
	$(BIN)/kerncause discover examples/sachs.csv --out $(OUT)

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --ignore tests/baselines --ignore tests/browser --ignore tests/effects

# What takes a minute or more: worked analyses, runs that are killed again and again.
test-long: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 -m long --ignore tests/baselines --ignore tests/browser --ignore tests/effects

# What needs the libraries of others, which take a gigabyte; in an environment of its own.
test-baselines: $(VENV)/.installed-baselines
	$(BIN)/pytest tests/baselines

# DoWhy wants an older scipy, so it has an environment to itself.
test-effects: $(VENV)-effects/.installed
	$(VENV)-effects/bin/pytest tests/effects

# The report in a real browser: Debian's Chromium, or the one that CHROMIUM names.
test-browser: $(VENV)/.installed-browser
	tools/ensure_chromium.sh
	$(BIN)/pytest tests/browser

bench: $(VENV)/.installed-baselines
	$(BIN)/python -m benchmarks

# Every method on one table of every kind, written to benchmarks/METHODS.md.
methods: $(VENV)/.installed-baselines
	$(BIN)/python -m benchmarks.methods

# The picture in the README.
picture: demo
	$(BIN)/kerncause plot $(OUT) docs/images/sachs.svg

# The pictures of the report in docs/images.
screenshots: $(VENV)/.installed-browser
	tools/ensure_chromium.sh
	$(BIN)/python tools/screenshots.py

# The documentation as a site, in site/. Anything doubtful, such as a link that leads nowhere, is an error.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(VENV)-effects $(OUT) site

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kerncause needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(VENV)/.installed $@

$(VENV)-effects/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-effects
	$(VENV)-effects/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev,effects]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

$(VENV)/.installed-browser: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,browser]'
	touch $@

$(VENV)/.installed-baselines: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'torch==$(TORCH)'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,baselines]'
	touch $@
