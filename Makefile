# The one way to run things; CI runs the same targets. `make help` lists them.

SHELL := bash
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.installed
WORKS := $(VENV)/.installed-dev

export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false

# Each worker and each process of the tests would compile the library and the tests anew.
unexport PYTHONDONTWRITEBYTECODE

# An interpreter counts only if it runs, has the right version and can make a virtual environment: the first
# name on the PATH may be a version manager's shim with nothing behind it, so every folder is tried.
SUITS := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

define find_python
given="$(PYTHON)"; python=""; \
for name in $${given:-python3.13 python3.12 python3.11 python3}; do \
	case "$$name" in */*) places="$$name" ;; *) places=$$(type -ap "$$name" || true) ;; esac; \
	while IFS= read -r place; do \
		if [ -n "$$place" ] && "$$place" -c "$(SUITS)" >/dev/null 2>&1; then python="$$place"; break 2; fi; \
	done <<< "$$places"; \
done; \
if [ -z "$$python" ]; then \
	echo "Slowwave needs Python 3.11, 3.12 or 3.13 with the venv module; none that works was found as" \
		"$${given:-python3.13, python3.12, python3.11 or python3} on the PATH." >&2; \
	echo "Install one (on Debian also python3-venv), or name it: make PYTHON=/path/to/python3.12 ..." >&2; \
	exit 1; \
fi
endef

.PHONY: help setup run demo ui test test-all lint format notebook bench lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 10

setup: $(WORKS) ## the virtual environment with every locked dependency (the other targets make what they need)

# A working .venv is kept, whoever made it; one that does not run, or has another Python, is made again.
# uv installs when it is there and works, for speed; pip does the same from the same hashes. A lock is whole, so
# nothing is resolved again (`--no-deps`): older pips take a newer release for "name[extra]" and then miss its hash.
define install
@set -e; \
if ! $(BIN)/python -c "$(SUITS)" >/dev/null 2>&1; then \
	$(find_python); \
	echo "making $(VENV) with $$python"; \
	"$$python" -m venv --clear $(VENV); \
fi; \
if uv --version >/dev/null 2>&1; then \
	install="uv pip install --quiet --python $(BIN)/python"; \
else \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null; \
	install="$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile"; \
fi; \
echo "installing $< (the first time takes a minute or two)"; \
$$install --require-hashes --no-deps -r $<; \
$$install --no-deps --no-build-isolation -e .; \
if $(BIN)/python -m pip --version >/dev/null 2>&1; then $(BIN)/python -m pip check; fi
endef

$(RUNS): requirements.lock pyproject.toml
	$(install)
	@touch $@

$(WORKS): requirements-dev.lock pyproject.toml # it holds all that running needs, in the same versions
	$(install)
	@touch $(RUNS) $@

run: $(RUNS) ## the main job on the sample conversations: one night with recorded answers, then one question
	$(BIN)/python benchmarks/demo.py

demo: $(RUNS) ## the same night as a longer tour of what the memory became
	$(BIN)/python benchmarks/demo.py --tour

ui: $(RUNS) ## Prefect's pages with all deployments and the schedule
	$(BIN)/slowwave ui

# What takes long or touches more than its own process carries one of these marks (pyproject.toml explains them).
LONG := benchmark or nights or prefect or processes or year
PYTEST := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder

test: $(WORKS) ## the tests that a change needs, in under five minutes
	$(PYTEST) -n 2 --hypothesis-profile=quick -m "not ($(LONG))"

test-all: $(WORKS) ## all tests: also servers, killed processes, benchmarks and long lives
	$(PYTEST) -n 3

lint: $(WORKS) ## format, rules, types, import contracts and spelling; changes nothing
	@status=0; \
	for check in "ruff format --check ." "ruff check ." mypy "lint-imports --no-logo" codespell; do \
		echo "== $$check"; $(BIN)/$$check || status=1; \
	done; \
	exit $$status

format: $(WORKS) ## put the code into its standard form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

notebook: $(WORKS) ## what the memory holds, as a page: marimo on the loopback
	MARIMO_SKIP_UPDATE_CHECK=1 $(BIN)/marimo run notebooks/memory_quality.py

bench: $(WORKS) ## speed and quality measurements
	$(BIN)/python benchmarks/night.py
	$(BIN)/python benchmarks/topics.py
	$(BIN)/python benchmarks/redaction.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/hooks.py
	$(BIN)/python benchmarks/server.py

COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --group build \
	--custom-compile-command "make lock" --quiet pyproject.toml

lock: ## resolve the dependencies of pyproject.toml into both locks again (needs uv)
	@uv --version >/dev/null 2>&1 || { echo "make lock needs uv on the PATH" >&2; exit 1; }
	$(COMPILE) -o requirements.lock
	$(COMPILE) --extra dev --extra onnx --constraints requirements.lock -o requirements-dev.lock

clean: ## remove caches and build leftovers; memories below data/ and .venv stay
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist *.egg-info
	find . -path ./$(VENV) -prune -o -path './data/*home' -prune -o -name __pycache__ -type d -exec rm -rf {} +
