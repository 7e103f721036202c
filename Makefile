# Everything a person does with this repository. `make help` lists it.

VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench golden clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## Make the Python environment in .venv (nothing to do when it is fresh)

demo: setup ## Show what Cepheid does, on your machine
	@$(BIN)/cepheid demo

test: lint ## Check style, types and layers, then run the tests, the fast ones first
	$(BIN)/pytest -m "not spark"
	$(BIN)/pytest -m spark

lint: setup ## Check style, types and layers only
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: setup ## Measure the kernel, patterns, windows, pushes, the simulator, then Spark
	$(BIN)/cepheid bench kernel
	$(BIN)/cepheid bench patterns
	$(BIN)/cepheid bench windows
	$(BIN)/cepheid bench latency
	$(BIN)/cepheid bench simulation
	$(BIN)/cepheid bench spark
	$(BIN)/cepheid bench prediction

golden: setup ## Renew the expected results of the golden tests; read the difference before you keep it
	$(BIN)/pytest --golden-update

clean: ## Remove the environment and everything that tools left behind
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf spark-warehouse metastore_db derby.log artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Build tools are installed and pinned like everything else, instead of fetched at their newest for each build:
# hatchling and editables build Cepheid, setuptools builds pyspark, which comes as source.
# The environment is made anew when a version changes, and brought up to date when only pyproject.toml does.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
FIND_JAVA := $(BIN)/python -c 'from cepheid.execution.spark.java import find_java; find_java()'

$(VENV)/.installed: pyproject.toml $(VENV)/.created
	@echo "Installing Cepheid and what it needs into $(VENV) (a minute or two the first time)"
	@$(PIP_INSTALL) --no-build-isolation --editable '.[test]'
	@$(FIND_JAVA) 2>/dev/null || { \
		echo "No Java 17 or newer on this machine: installing one into $(VENV)"; \
		$(PIP_INSTALL) --no-build-isolation --editable '.[test,java]' && $(FIND_JAVA); }
	@echo "Compiling the kernels (a minute or two, once)"
	@$(BIN)/python -c 'from cepheid.kernel.compiled.warm_up import compile_kernels; compile_kernels()'
	@$(BIN)/python -c 'from cepheid.simulation.compiled.warm_up import compile_engine; compile_engine()'
	@touch $@

$(VENV)/.created: constraints.txt
	@python=; for each in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
		if $$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$each; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "Cepheid needs Python 3.11 or newer: install it, or name it with make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	if ! $$python -c 'import ensurepip, venv' 2>/dev/null; then \
		version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		echo "Python $$version here cannot make environments: install python$$version-venv (apt) or a full Python" >&2; exit 1; \
	fi; \
	$$python -m venv --clear $(VENV)
	@$(PIP_INSTALL) hatchling editables setuptools
	@touch $@
