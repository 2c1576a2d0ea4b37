# Everything a person needs: `make quickstart` to see it work, `make test` to check it.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# One stamp a set of requirements: touching a pyproject.toml installs again.
PROJECTS = core/pyproject.toml $(wildcard plugins/*/pyproject.toml)

.PHONY: help install install-dev quickstart test lint docs bench clean

help:
	@echo "make quickstart   train and evaluate a small model (about 3 minutes after installing)"
	@echo "make test         run the linters and every test"
	@echo "make lint         ruff, mypy, import-linter"
	@echo "make docs         build the documentation into docs/_build"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt $(PROJECTS) | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements.txt
	@touch $@

# Not on top of the above: the development pins shall not first be installed in other versions.
$(VENV)/.installed-dev: requirements-dev.txt requirements.txt $(PROJECTS) | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements-dev.txt
	@touch $(VENV)/.installed $@

install: $(VENV)/.installed
install-dev: $(VENV)/.installed-dev

quickstart: install
	$(BIN)/reid-train --config osnet/osnet_x0_25

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy core/src $(wildcard plugins/*/src)
	$(BIN)/lint-imports

# One thread a process: several processes that each take all cores only wait for each other.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup

docs: install-dev
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(VENV) docs/_build
