# The two commands of the README do all the set-up: `make demo` and `make test`.
# A stamp file remembers what is installed, so that a second run installs nothing again.

PYTHON ?= python3
# Processes that test at once, one more than cores since tests of the app wait; 0 for one that shows what it does.
WORKERS ?= 3
# One that hangs is ended by tests/conftest.py; begun again, it would hang again.
AT_ONCE := --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0
# The models whose figures are in the tables.
MEASURED := qwen2.5-coder-1.5b qwen2.5-coder-0.5b bge-small-en ms-marco-minilm-l12 all-minilm-l6-v2
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo check test lint types contracts pytest test-slow soak bench evaluation box clean

help:
	@echo "make demo       set everything up, read the sample library, answer a question about it"
	@echo "make check      set everything up; lint, types, layer contracts, the fast tests: two minutes"
	@echo "make test       the same with all tests"
	@echo "make test-slow  the tests that take minutes with the 1.5B model"
	@echo "make soak       kill processes, fill disks and run several at once, for an hour, and keep the table"
	@echo "make bench      measure speed and size on this machine, and print the tables"
	@echo "make evaluation compare whole systems on the dev files in DATA, for hours; continues where it was"
	@echo "make box        make the reader, the planner, the adapter and the policies that come with the package, from DATA and READING"
	@echo "make clean      remove the virtual environment and everything built"

$(VENV)/.python: 
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "deepthink needs Python 3.11 or newer; name one: make PYTHON=python3.12 …" >&2; exit 1; }
	@command -v cmake >/dev/null && command -v c++ >/dev/null \
	  || { echo "llama.cpp is compiled during set-up (about five minutes, once): install cmake and a C++ compiler." >&2; exit 1; }
	@echo "Setting up, once: a virtual environment …"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --upgrade pip
	@touch $@

# llama.cpp's code for AMX, which some server processors have, crashes when GCC 12 compiled it. Not every compiler
# knows the option that leaves it out.
NO_AMX = $(shell c++ -mno-amx-int8 -x c++ -E /dev/null >/dev/null 2>&1 && echo -mno-amx-int8)

# torch by its exact version first, without a hash: where a CPU build is offered that version resolves to it,
# while an open range may bring gigabytes of GPU libraries. It brings what it needs itself; all else is checked
# by hash. pip cannot check the checkout, so its requirements are installed before it.
REQUIREMENTS = import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  print(*project["dependencies"], *(r for e in sys.argv[1:] for r in project["optional-dependencies"][e]), sep="\n")

$(VENV)/.installed: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Setting up, 1 of 2: torch …"
	@$(PIP) install "$$(grep '^torch==' constraints.txt)"
	@echo "Setting up, 2 of 2: the rest. llama.cpp is compiled, which takes about five minutes …"
	@$(BIN)/python -c '$(REQUIREMENTS)' > $(VENV)/requirements.txt
	@CFLAGS="$$CFLAGS $(NO_AMX)" CXXFLAGS="$$CXXFLAGS $(NO_AMX)" $(PIP) install --constraint constraints.txt --requirement $(VENV)/requirements.txt
	@$(PIP) install --no-deps --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@$(BIN)/python -c '$(REQUIREMENTS)' test > $(VENV)/requirements.txt
	$(PIP) install --quiet --constraint constraints.txt --requirement $(VENV)/requirements.txt
	@touch $@

demo: $(VENV)/.installed
	@$(BIN)/deepthink demo

# Everything but the app, real models, other processes, benchmarks and soak: what to run after each change.
check: lint types contracts $(VENV)/.installed-test
	$(BIN)/python -m pytest -m "not outer" $(AT_ONCE)

test: lint types contracts pytest

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

contracts: $(VENV)/.installed-test
	$(BIN)/lint-imports

# Files go by their names after the longest (tests/conftest.py), not by their number of tests: one that has few and
# is slow would come last, and every other process would wait for it.
pytest: $(VENV)/.installed-test
	$(BIN)/deepthink models pull qwen2.5-coder-0.5b bge-small-en ms-marco-minilm-l12 all-minilm-l6-v2 smollm2-135m
	$(BIN)/python -m pytest -m "not slow" $(AT_ONCE)

test-slow: $(VENV)/.installed-test
	$(BIN)/deepthink models pull
	$(BIN)/python -m pytest -m slow

soak: $(VENV)/.installed-test
	$(BIN)/python -m tests.soak --keep
	$(BIN)/python -m tests.soak.fuzz 5000
	$(BIN)/python -m tests.soak.attacks --keep

bench: $(VENV)/.installed-test
	$(BIN)/deepthink models pull $(MEASURED)
	$(BIN)/python -m tests.benchmarks

# MODELS names some of the models; a killed run goes on from its rows.
evaluation: $(VENV)/.installed-test
	$(BIN)/deepthink models pull $(MEASURED)
	$(BIN)/python -m tests.benchmarks.evaluation $(MODELS) --data $(DATA)

# What is collected and trained stays in WORK, so that a killed run goes on.
DATA   ?= ../shared/data/multihop
READING ?= ../shared/data/reading
OWN    ?= ../shared/data/own
WORK   ?= build/box
# The first of them decides where a person has chosen none.
METHODS ?= forest reward

box: $(VENV)/.installed-test
	$(BIN)/deepthink models pull bge-small-en ms-marco-minilm-l12 all-minilm-l6-v2 qwen2.5-coder-0.5b qwen2.5-coder-1.5b
	$(BIN)/python -m tests.benchmarks.reader make $(READING) --multihop $(DATA) --work $(WORK)/reader
	$(BIN)/python -m tests.benchmarks.planner make $(READING) --multihop $(DATA) --work $(WORK)/planner
	$(BIN)/python -m tests.benchmarks.answerer make $(READING) --multihop $(DATA) --work $(WORK)/answerer
	$(BIN)/python -m tests.benchmarks.policies $(DATA) --own $(OWN) --work $(WORK)/policies $(METHODS:%=--method %) --box policy/box

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
