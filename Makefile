# Needs GNU make and Python 3.11 or newer. Another interpreter: rm -rf .venv && make setup PYTHON=python3.12
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup serve fmt check test cover bench lock

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mockserver needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --requirement constraints.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

serve: setup
	$(BIN)/mockserver serve rules.yaml

fmt: setup
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

check: setup
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/pytest -q tests/house

test: setup
	$(BIN)/pytest -n auto

cover: setup
	$(BIN)/coverage run -m pytest && $(BIN)/coverage report --show-missing --skip-covered

bench: setup
	$(BIN)/python benchmarks/run.py

lock: setup  # the newest versions of everything, with hashes
	CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras \
	  --all-extras --all-build-deps --allow-unsafe --no-annotate --no-emit-options \
	  --output-file constraints.txt pyproject.toml
