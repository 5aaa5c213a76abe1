# make demo and make test do all the set-up: Python 3.11+, make and a C++20 compiler are enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
NATIVE := $(wildcard native/*.cpp native/*.hpp) CMakeLists.txt pyproject.toml
PYTEST ?= $(BIN)/python -m pytest

.PHONY: demo test lint types bench docs sanitize clean

demo: $(STAMP)
	$(BIN)/wordferry demo

test: lint types
	$(PYTEST)

lint: $(STAMP)
	$(BIN)/ruff check src tests benchmarks tools examples
	$(BIN)/ruff format --check src tests benchmarks tools examples

types: $(STAMP)
	$(BIN)/mypy

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# An editable install: Python sources are used from the tree, so only native code or metadata need it again.
$(STAMP): $(VENV)/bin/python $(NATIVE)
	$(BIN)/python -m pip install -q "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.26" ninja
	$(BIN)/python -m pip install -q --no-build-isolation -C cmake.define.WORDFERRY_WERROR=$(if $(CI),ON,OFF) -e ".[dev]"
	touch $(STAMP)

clean:
	rm -rf build dist $(VENV) docs/_build

docs: $(STAMP)
	$(BIN)/python tools/make_cli_reference.py
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"
