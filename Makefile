# make help lists the verbs. Another Python: make PYTHON=python3.12 install
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KERNELS := $(VENV)/.kernels
RUNTIME := $(VENV)/.runtime
TOOLS := $(VENV)/.tools
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Tests and benchmarks read optional data sets from here; without them they are skipped.
DEVFNN_DATA ?= $(abspath $(wildcard ../shared/data))
export DEVFNN_DATA

# Where it is set, each of the many processes would compile all of NumPy, SciPy and Numba again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: install run test compiled test-plain test-streams test-model test-rest test-most test-kernels check format cover bench flops fleet adapters select record results reading kills threads soak fuzz docs tutorials build clean help

install: $(TOOLS)  ## create .venv with the project and its tools, once and when pyproject.toml changes

# What kernels are compiled with comes first, so that this begins while all else is installed.
$(KERNELS): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	  { echo "Python 3.11 or newer is needed, for instance: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c "import ensurepip, venv" 2> /dev/null || \
	  { echo "Python's venv is incomplete; on Debian or Ubuntu: sudo apt install python3-venv"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --no-compile --upgrade pip  # a newer one finds the packages in half the time
	$(PIP) install --quiet --no-compile numba scipy
	@touch $@

$(RUNTIME): $(KERNELS)
	$(PIP) install --quiet --no-compile --editable .
	@touch $@

$(TOOLS): $(KERNELS)
	$(PIP) install --quiet --no-compile --editable ".[dev]"
	@touch $(RUNTIME) $@

run: $(RUNTIME)  ## train on a stream with drift and show the result; options: make run ARGS="--rows 20000"
	$(BIN)/python -m devfnn run $(ARGS)

test: $(KERNELS)  ## check, the whole suite, and the kernels once more as plain Python; on two cores
	@$(MAKE) --no-print-directory --jobs 2 TWO_CORES=yes test-streams test-kernels

# What one core does after the other, so that both end at about the same time.
ifdef TWO_CORES
test-streams: | test-rest
test-plain: | check
test-model: | test-plain
test-most: | test-model
test-kernels: | test-most
endif

# Begins before the package is installed, so it takes it from its folder.
compiled: $(KERNELS)
	PYTHONPATH=src $(BIN)/python -c "from devfnn.model import compiling as c; [c.ensure_compiled(p) for p in c.everything()]"

test-plain: $(TOOLS)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/kernels tests/model/test_threads.py tests/model/test_memory.py

MODEL := tests/model tests/golden tests/storage
# All that start Java or import PyTorch are together, so that this is done once.
REST := src tests/cli tests/baselines tests/evaluation tests/experiments tests/adapters tests/test_examples.py tests/test_site.py tests/test_tutorials.py
APART := tests/kernels tests/streams $(MODEL) $(filter tests/%,$(REST))

test-streams: $(TOOLS)
	$(BIN)/python -m pytest tests/streams

test-model: compiled $(TOOLS)
	$(BIN)/python -m pytest $(MODEL)

test-rest: compiled $(TOOLS)
	$(BIN)/python -m pytest $(REST)

test-most: compiled $(TOOLS)
	$(BIN)/python -m pytest tests $(APART:%=--ignore %)

test-kernels: compiled $(TOOLS)
	$(BIN)/python -m pytest tests/kernels

check: install  ## style, types and the direction of imports
	$(BIN)/ruff format --check && $(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install  ## format the code
	$(BIN)/ruff check --fix --exit-zero && $(BIN)/ruff format

cover: install  ## lines that no test reaches, kernels included
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --cov --timeout 1200

bench: install  ## accuracy and speed, as a table and JSON
	$(BIN)/python benchmarks/run.py $(ARGS)

flops: install  ## the learning kernel against a plain loop of as many floating point operations
	$(BIN)/python benchmarks/flops.py $(ARGS)

fleet: install  ## a thousand small models at once, against loops over them
	$(BIN)/python benchmarks/fleet.py

adapters: install  ## rows predicted and learned one by one inside River and CapyMOA, against River's GaussianNB
	$(BIN)/python benchmarks/adapters.py $(ARGS)

select: install  ## candidates for the default on generated streams and the first fifth of each file
	$(BIN)/python benchmarks/selection.py $(ARGS)

record: install  ## the benchmark of record: all systems on all streams; takes hours, resumes where it stopped
	$(BIN)/python benchmarks/record.py $(ARGS)

TABLE := $(BIN)/devfnn table --folder results/table --jobs 1 --format markdown
results: install  ## the tables of results/: Table 1 of the paper, ablations; takes hours, resumes where it stopped
	$(TABLE) --output results/table1.md $(ARGS)
	$(TABLE) --ablations --output results/ablations.md $(ARGS)

reading: install  ## speed of generators, and of a 1 GB CSV file against pyarrow's reader
	$(BIN)/python benchmarks/reading.py $(ARGS)

kills: install  ## a thousand kill -9 of processes that run, learn, save and compare: nothing lost, twice or torn
	$(BIN)/python benchmarks/kills.py $(ARGS)

threads: install  ## a million predictions while classes and features appear, and how fast readers are beside a writer
	$(BIN)/python benchmarks/threads.py $(ARGS)

soak: install  ## ten million rows of drift, glitches and new classes; overnight: make soak ARGS="--rows 100000000"
	$(BIN)/python benchmarks/soak.py $(ARGS)

fuzz: install  ## a million mutants of files and 100,000 hostile calls; ARGS="--mutants 1000 --seed 3"
	$(BIN)/python benchmarks/fuzz.py $(ARGS)

docs: install  ## the documentation as a site, in site/index.html; makes its figures first
	$(BIN)/python docs/figures.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

tutorials: install  ## run the code of the pages, and record its output
	$(BIN)/python docs/pages.py --write

build: install  ## a wheel in dist/
	$(PIP) wheel --quiet --no-deps --wheel-dir dist .

clean:  ## remove everything that can be made again, .venv too
	rm -rf $(VENV) dist build site docs/figures .coverage .*_cache .hypothesis
	find src tests benchmarks examples docs -name __pycache__ -prune -exec rm -rf {} + 2> /dev/null || true

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*  ## /\1|/p' Makefile | while IFS='|' read -r verb text; do printf '%-9s %s\n' "$$verb" "$$text"; done
