# Needs GNU make and Python 3.11 or newer; tests that need another program are left out where it is missing, as they say.
# Another interpreter: rm -rf .venv && make setup PYTHON=python3.12
PYTHON ?= python3
# How many tests run at once: two for each processor, as many wait. Each worker collects all tests (11 s of CPU).
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')
AT_ONCE = -n $(WORKERS) --dist worksteal
BIN := .venv/bin
FRAMEWORKS := .venv-frameworks/bin
unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes: compile once

NEW_ENOUGH = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mockserver needs Python 3.11 or newer; choose one: make PYTHON=python3.12")'

.PHONY: setup serve fmt check lint docs house test compile slow browser quick frameworks agents interpreters npm fuzz crash cover bench bench-check tour lock lock-frameworks

# The pip that a new environment has may be years old, and reads the registry three times as slowly.
NEW_PIP = sed -n '/^pip==/,/[^\\]$$/p' constraints.txt | \
	  $(1)/python -m pip install --quiet --no-deps --require-hashes --requirement /dev/stdin

# --no-deps: the locks name everything, and pip would look for newer releases of what is named without its extras.
# --no-compile: a tenth of these modules is ever imported, and compiled then.
setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt tests/previous.txt
	@$(NEW_ENOUGH)
	@echo "Installing what the tests need, once (about 350 MB; some minutes) ..."
	$(PYTHON) -m venv .venv
	$(call NEW_PIP,$(BIN))
	$(BIN)/python -m pip install --quiet --no-deps --no-compile --require-hashes --requirement constraints.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	rm -rf .venv/previous && $(BIN)/python -m pip install --quiet --no-deps --no-compile --require-hashes --target .venv/previous \
	  --requirement tests/previous.txt
	@touch $@

.venv-frameworks/ready: pyproject.toml tests/frameworks/constraints.txt
	$(PYTHON) -m venv .venv-frameworks
	$(call NEW_PIP,$(FRAMEWORKS))
	$(FRAMEWORKS)/python -m pip install --quiet --no-deps --no-compile --require-hashes --requirement tests/frameworks/constraints.txt
	$(FRAMEWORKS)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# What serving needs, about 100 MB; in .venv there is more than that, if it was made.
SERVING := $(if $(wildcard .venv/ready),.venv,.venv-serve)

.venv-serve/ready: constraints-serve.txt
	@$(NEW_ENOUGH)
	@echo "Installing what the server needs, once (about 100 MB; half a minute) ..."
	@$(PYTHON) -m venv .venv-serve
	@.venv-serve/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@.venv-serve/bin/python -m compileall -q mockserver
	@touch $@

serve: $(SERVING)/ready
	$(SERVING)/bin/python -m mockserver serve rules.yaml

fmt: setup
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

check: lint house

lint: setup
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

docs: setup  # the site, in build/site; DOCS="serve" shows pages while you write
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/mkdocs $(or $(DOCS),build --quiet --strict)

house: setup
	$(BIN)/pytest -q $(AT_ONCE) tests/house

test: setup  # tests/house is part of make check. SLOW=1: with those of make slow, sooner than one after the other
	@echo "All tests but tests/house, tests/browser and those of make slow: about four minutes on two cores."
	$(BIN)/pytest $(AT_ONCE) --ignore tests/house $(if $(SLOW),,-m "not slow")

compile: setup  # what every worker would compile at its start, once; make test tells what is wrong with it
	-@$(BIN)/pytest -q --collect-only --ignore tests/house > /dev/null

slow: setup  # the previous pytest, schemathesis, endurance, bombs: marked @pytest.mark.slow
	@echo "The tests that only need to pass before a merge: about three minutes on two cores."
	$(BIN)/pytest $(AT_ONCE) --ignore tests/house -m slow

browser: setup  # in Debian's Chromium
	$(BIN)/pytest -n0 tests/browser

QUICK := core config wire state rules engine delivery reports dialects/test_cases.py dialects/test_requests.py
quick: setup  # what to run while working: nearly all of it starts no process
	@echo "The tests of the packages and of what dialects answer: under a minute on two cores."
	$(BIN)/pytest -q -n $(WORKERS) -m "not slow" $(addprefix tests/,$(QUICK))

frameworks: .venv-frameworks/ready  # agents of public frameworks; resources that those leave open are not ours
	$(FRAMEWORKS)/python -m pytest -q -W default -p no:unraisableexception --disable-warnings tests/frameworks

agents: setup  # the coding agents themselves, 1.3 GB from npm's registry, once; NEWEST=1: those of today
	$(BIN)/pytest -q -n0 tests/agents

interpreters: setup  # golden answers and the wheel: make interpreters PYTHONS="/usr/bin/python3.12 python3.14"
	PYTHONS="$(PYTHONS)" $(BIN)/pytest -q -n0 tests/interpreters

npm: setup  # what tests take from npm's registry, once
	$(BIN)/python -m tests.kit.npm

fuzz: setup  # longer than in the suite, with new inputs each time
	FUZZ=$(or $(TIMES),20) $(BIN)/pytest -n auto tests/fuzz

crash: setup  # kill processes while they record, more often than the suite does
	ROUNDS=$(or $(TIMES),100) $(BIN)/pytest -q -n auto tests/cassettes/test_crash.py

cover: setup
	$(BIN)/coverage run -m pytest && $(BIN)/coverage report --show-missing --skip-covered

bench: setup
	$(BIN)/python benchmarks/run.py

bench-check: setup  # before a release, on a machine without other work: is a ratio above its limit or a tenth above the last release's?
	$(BIN)/python benchmarks/compare.py

tour: setup  # record cassettes/tour.yaml again, after a change of rules.yaml or of an answer
	$(BIN)/python -m tests.record.tour

lock: setup  # the newest version of everything, with hashes; constraints-serve.txt is also what the image installs
	CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras \
	  --all-extras --all-build-deps --allow-unsafe --no-annotate --no-emit-options \
	  --output-file constraints.txt pyproject.toml
	CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --generate-hashes --strip-extras \
	  --extra redis --extra metrics --allow-unsafe --no-annotate --no-emit-options --constraint constraints.txt \
	  --output-file constraints-serve.txt pyproject.toml

lock-frameworks: setup
	CUSTOM_COMPILE_COMMAND="make lock-frameworks" $(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras \
	  --allow-unsafe --no-annotate --no-emit-options \
	  --output-file tests/frameworks/constraints.txt pyproject.toml tests/frameworks/requirements.in
