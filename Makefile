# nlink: `make demo` and `make test` do everything on a fresh machine with Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
OLDEST_TESTS := $(patsubst %,tests/test_%.py,\
  contract simulation scenario lagrange integrators runfile released streaming cli plot animate maps ensemble_store ensemble_dask studio)

PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help setup system demo test test-all test-oldest torture mutants lint format bench docs wheel clean

help:
	@echo "make demo    set up, simulate five rods, leave the run, plots, an animation and a page in demo/"
	@echo "make test    set up, run the tests that take few seconds each"
	@echo "make test-all  run all tests, as CI does"
	@echo "make test-oldest  run part of the tests with the lowest versions that pyproject.toml admits"
	@echo "make torture attack nlink with hostile inputs, faults and signals; write docs/reliability.md"
	@echo "make mutants change the mechanics one small thing at a time; list what no test notices"
	@echo "make docs    build the site into docs/_build/html; its code blocks and examples are run, warnings are errors"
	@echo "make wheel   build the package into dist/"
	@echo "make lint    style, types and layers"
	@echo "make bench   compare the speed with other packages"

$(VENV)/core: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "nlink needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/dev: $(VENV)/core
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/bench: $(VENV)/core
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

$(VENV)/docs: $(VENV)/core
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

setup: $(VENV)/dev

# Debian packages that tests use: a virtual display for the live window, a browser for the pages.
system:
	@command -v Xvfb >/dev/null && command -v chromium >/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends xvfb chromium; } >/dev/null

demo: $(VENV)/core
	@mkdir -p demo
	$(BIN)/nlink run chaotic-5 -o demo/run.nc
	$(BIN)/nlink plot demo/run.nc -o demo/plots
	$(BIN)/nlink animate demo/run.nc -o demo/animation.gif
	$(BIN)/nlink animate demo/run.nc -o demo/run.html
	@echo "look into demo/: run.nc, plots/, animation.gif, and run.html for the browser"

test: $(VENV)/dev
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

test-all: $(VENV)/dev
	$(BIN)/python -m pytest $(PARALLEL)

$(OLDEST)/ready: pyproject.toml scripts/oldest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(PYTHON) scripts/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt --editable '.[web,video,dae,cluster]' \
	  pytest pytest-xdist hypothesis mpmath httpx
	@touch $@

# Old libraries warn of what newer ones have changed, so that a warning is no failure here.
test-oldest: $(OLDEST)/ready
	$(OLDEST)/bin/python -m pytest -n 2 --dist loadfile -W default $(OLDEST_TESTS)

torture: $(VENV)/dev
	PYTHONPATH=tests $(BIN)/python -m torture

mutants: $(VENV)/dev
	$(BIN)/python scripts/mutants.py

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	PYTHONPATH=src $(BIN)/lint-imports

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/bench
	$(BIN)/python benchmarks/first_minute.py
	$(BIN)/python benchmarks/main_road.py
	$(BIN)/python benchmarks/formulations.py
	$(BIN)/python benchmarks/loops.py
	$(BIN)/python benchmarks/linkages.py
	$(BIN)/python benchmarks/mechanisms.py
	$(BIN)/python benchmarks/stability.py
	$(BIN)/python benchmarks/maps.py
	$(BIN)/python benchmarks/precision.py
	$(BIN)/python benchmarks/loads.py
	$(BIN)/python benchmarks/ensembles.py
	$(BIN)/python benchmarks/studio.py
	PYTHONPATH=benchmarks $(BIN)/python -m peers.speed

docs: $(VENV)/docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

wheel: $(VENV)/core
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*.whl

clean:
	rm -rf docs/_build docs/gallery docs/commands.md docs/api.md
	rm -rf $(VENV) $(OLDEST) demo dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
