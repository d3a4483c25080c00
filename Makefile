# Needs only Python 3.11+, git and make. Everything else goes into .venv, without root.

PYTHON ?= python3
# Many tests wait for other processes, so more of them run at a time than there are cores.
JOBS   ?= $(shell echo $$((1 + $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))))
ARGS   ?=

VENV := .venv
PY   := $(VENV)/bin/python
UV   := $(VENV)/bin/uv
DEV  := $(VENV)/.stamp-dev
RUN  := $(VENV)/.stamp-run
FUZZ := $(VENV)/fuzz/.stamp
BENCH := $(VENV)/bench/.stamp

# Trust the system's certificates, as pip does: behind some proxies nothing else works.
UV_SYSTEM_CERTS ?= 1
export UV_SYSTEM_CERTS

# Ignore an activated environment of another project.
unexport VIRTUAL_ENV
unexport PYTHONHOME
unexport PYTHONPATH
# Without bytecode every process recompiles everything: tests crawl and benchmarks mislead.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env up page pictures test coverage test-clients check mutants fuzz soak bench weekly contracts pins clean
.DELETE_ON_ERROR:

help: ## Show this list
	@echo 'Longhouse. Run `make` with one of:'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'Select tests or a benchmark with ARGS:  make test ARGS="-k claim"   make bench ARGS=jobs'

env: $(DEV) ## Create .venv with everything that tests and checks need
	@:

up: ## Start the server and print its address
	@if [ -e $(DEV) ]; then $(MAKE) -s --no-print-directory $(DEV); else $(MAKE) -s --no-print-directory $(RUN); fi
	@$(PY) -m tools.page
	@exec $(VENV)/bin/longhouse up $(ARGS)

page: $(DEV) ## Build the web page into the package (instant when nothing changed)
	@$(PY) -m tools.page

pictures: $(DEV) ## Retake the manual's pictures from the demo (review them before committing)
	@$(PY) -m tools.pictures

test: $(DEV) ## Run the tests on all cores
	@mkdir -p build
	@$(PY) -m tools.page
	@rm -f .pytest_cache/v/cache/lastfailed
	@$(PY) -m pytest -q -n $(JOBS) --dist worksteal --junitxml=build/junit.xml \
		$(if $(ARGS),$(ARGS),|| $(PY) -m tools.second_look $$?)
	@$(if $(ARGS),:,$(PY) -m tools.test_times)

coverage: $(DEV) ## Run the tests with branch coverage and compare it with each room's floor
	@mkdir -p build
	@$(PY) -m tools.page
	@$(PY) -m pytest -q -n $(JOBS) --dist worksteal --cov --cov-report= $(ARGS)
	@$(PY) -m tools.coverage_by_room

test-clients: $(DEV) ## Run the tests that drive real third-party clients
	@mkdir -p build
	@$(PY) -m tools.clients
	@$(PY) -m pytest -q -m clients --junitxml=build/junit-clients.xml $(ARGS)

check: $(DEV) ## Check format, lint, types, imports, file lengths, docs
	@$(PY) -m tools.check $(ARGS)

mutants: $(DEV) ## Break the code on purpose and count what the tests notice (ARGS="jobs --most 20")
	@mkdir -p build
	@$(PY) -m tools.mutants $(ARGS)

fuzz: $(DEV) $(FUZZ) ## Check HTTP responses against the OpenAPI document, as each role
	@$(PY) -m tools.fuzz $(ARGS)

soak: $(DEV) ## Kill whatever runs at random and compare (MINUTES=10 DATABASE=sqlite|postgres SEED=7)
	@$(PY) -m tools.soak --minutes $(or $(MINUTES),10) --database $(or $(DATABASE),sqlite) \
		$(if $(SEED),--seed $(SEED)) $(ARGS)

bench: $(DEV) $(BENCH) ## Measure every promise and print the ratios
	@$(PY) -m bench._run $(ARGS)

weekly: $(DEV) $(BENCH) $(FUZZ) ## Run bench, mutants, fuzz and test-clients, and write one report
	@$(PY) -m tools.weekly $(ARGS)

contracts: $(DEV) ## Show which clauses the last test run proved
	@$(PY) -m tools.contracts $(ARGS)

COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --custom-compile-command 'make pins' $(ARGS)

pins: $(DEV) ## Recompile requirements/*.txt (newest versions: ARGS=--upgrade)
	@$(COMPILE) requirements/boot.in -o requirements/boot.txt
	@$(COMPILE) pyproject.toml requirements/boot.in -c requirements/boot.txt -o requirements/run.txt
	@$(COMPILE) --all-extras pyproject.toml requirements/dev.in -c requirements/run.txt \
		-o requirements/dev.txt
	@$(COMPILE) requirements/node.in -o requirements/node.txt
	@$(COMPILE) requirements/fuzz.in -o requirements/fuzz.txt
	@$(COMPILE) requirements/bench.in -o requirements/bench.txt
	@if grep -nE '://|^--(extra-)?index|^--find-links' requirements/*.txt; then \
		echo 'pins: the lines above name a package source; do not commit them' >&2; exit 1; fi

clean: ## Remove everything that make created, including .venv
	@rm -rf $(VENV) build dist web/node_modules src/longhouse/surfaces/http/static .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find src tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +

# Install exactly the pinned, hash-checked packages in $(1), then this project.
define install
	@$(UV) pip sync --quiet --compile-bytecode --python $(PY) --require-hashes $(1)
	@$(UV) pip install --quiet --python $(PY) --no-deps --no-build-isolation --editable .
	@touch $@
endef

SOURCES := pyproject.toml src/longhouse/__about__.py

$(DEV): $(UV) requirements/dev.txt $(SOURCES)
	$(call install,requirements/dev.txt)

$(RUN): $(UV) requirements/run.txt $(SOURCES)
	$(call install,requirements/run.txt)

$(FUZZ): requirements/fuzz.txt $(UV)
	@$(UV) venv --quiet --clear --python $(PY) $(VENV)/fuzz
	@$(UV) pip sync --quiet --python $(VENV)/fuzz/bin/python --require-hashes requirements/fuzz.txt
	@touch $@

$(BENCH): requirements/bench.txt $(UV)
	@$(UV) venv --quiet --clear --python $(PY) $(VENV)/bench
	@$(UV) pip sync --quiet --python $(VENV)/bench/bin/python --require-hashes requirements/bench.txt
	@touch $@

$(UV): requirements/boot.txt
	@echo 'creating $(VENV); this happens once and takes about half a minute' >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"Longhouse needs Python 3.11 or newer, but %s is %s. Run: make PYTHON=/path/to/python3.11 ..." \
		% (sys.executable, sys.version.split()[0]))'
	@$(PYTHON) -m venv --clear $(VENV) || { \
		echo 'Python could not create $(VENV); on Debian, install the package python3-venv' >&2; exit 1; }
	@$(PY) -m pip -qq --disable-pip-version-check install --require-hashes -r requirements/boot.txt
	@touch $@
