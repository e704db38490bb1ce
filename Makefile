# What a person runs in a checkout: set-up, demo, checks. Everything lies in this folder; no system package is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo
# Cores that the tests may keep busy.
WORKERS ?= 2

# Caches of pip, matplotlib and the like, so that nothing is written into the home folder.
export XDG_CACHE_HOME := $(CURDIR)/.cache
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Each start of the bot would compile all of it anew, and tests start it hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo docs test lint integration hostile fleet trials chaos image image-of-systemd bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.project ## virtual environment in .venv, with what the bot needs to run

demo: setup $(DEMO)/.snapshot ## replay the bundled competition with the built-in model: no key, Docker or root; 3 minutes
	$(BIN)/bot replay $(DEMO)/snapshot --model builtin --time 2m --out $(DEMO)/runs

# A test that waits for processes and clocks may fail beside others and pass alone: what failed runs once more, with nothing beside it.
# A lane that broke off stays failed.
LANES = .cache/lanes/$@
lane = $(2) -o cache_dir=$(LANES)/$(1) $(3) || echo $$? >$(LANES)/$(1).failed
again = for lane in $$(cd $(LANES) && ls | sed -n 's/\.failed$$//p'); do \
  if [ "$$(cat $(LANES)/$$lane.failed)" != 1 ]; then echo "$$lane broke off"; failed=1; continue; fi; \
  echo "once more, alone: what failed in $$lane"; \
  $(1) -o cache_dir=$(LANES)/$$lane --last-failed --last-failed-no-failures none tests || failed=1; done

# Type checking takes one core alone: the tests go on beside it. These wait for processes and clocks for a third of their time: one more
# of them at a time than there are cores keeps the cores busy.
test: $(VENV)/.dev ## all quick checks: lint, types, import arrows, tests
	@rm -rf $(LANES); mkdir -p $(LANES); failed=0; $(MAKE) lint >.cache/lint.log 2>&1 & beside=$$!; \
	$(call lane,quick,$(BIN)/python -m pytest,-n $$(($(WORKERS) + 1)) --dist worksteal); \
	wait $$beside || failed=1; cat .cache/lint.log; $(call again,$(BIN)/python -m pytest); exit $$failed

lint: $(VENV)/.dev ## ruff, mypy, import-linter, and what nothing in the product uses
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.reach

# Most of these wait for a clock or a process: twice as many at a time as there are cores keep them busy, and one more. That one tries
# the sandboxes, attacks them, and boots systemd: attacks look at the host before and after, and a limit that is tried must not have
# another one beside it. A rehearsal's weeks are minutes, in which its scripts must have time to run: these are left to the end.
APART := tests/sandbox tests/hostile/test_hostile.py tests/systemd
# A cluster of four Ray nodes needs the cores to itself, or its nodes are taken for dead: `make fleet`.
FLEET := tests/bot/fleet/test_fleet_sandbox.py tests/bot/engine/test_fleet_run.py tests/bot/research/bench/test_fleet_bench.py
FLEET += tests/bot/fleet/test_labs.py tests/bot/engine/test_fleet_labs.py
WEEKS := tests/bot/daemon/test_rehearsals.py
CHECK := $(BIN)/python -m pytest -m 'integration and not trial' --durations 0 --durations-min 10
integration: $(VENV)/.dev ## tests that need bubblewrap, an engine with the image, systemd, a browser, snapshots, or more than a second
	@rm -rf $(LANES); mkdir -p $(LANES); failed=0; \
	{ for place in $(APART); do $(call lane,$$(basename $$place .py),$(CHECK),$$place $(addprefix --ignore ,$(FLEET))); done; } >.cache/apart.log 2>&1 & apart=$$!; \
	$(call lane,main,$(CHECK),-n $$((2 * $(WORKERS))) --dist worksteal $(addprefix --ignore ,$(APART) $(WEEKS) $(FLEET))); \
	wait $$apart || failed=1; cat .cache/apart.log; \
	$(call lane,rehearsals,$(CHECK),-n 2 $(WEEKS)); \
	$(call again,$(CHECK)); exit $$failed

docs: $(VENV)/.dev ## write the parts of docs/ that are generated: commands.md, and the table of attacks
	$(BIN)/python -m tests.commands
	$(BIN)/python -m tests.hostile.table --write

hostile: $(VENV)/.dev ## what hostile code tries, in bubblewrap and (with an engine and make image) in docker; 7 minutes
	$(BIN)/python -m pytest -m integration tests/hostile

image: setup ## image of the docker sandbox; needs an engine, and a registry or debootstrap
	$(BIN)/python -m sandbox.image.build

image-of-systemd: $(VENV)/.dev
	$(BIN)/python -m tests.systemd.container

fleet: $(VENV)/.dev ## scripts and labs on the nodes of a Ray cluster, of which some die, and the bot too; on an idle machine, 20 minutes
	$(BIN)/python -m pytest -m integration $(FLEET)

trials: $(VENV)/.dev ## long trials: whole runs on real competitions, notebooks, kills everywhere; on an idle machine, 30 minutes
	$(BIN)/python -m pytest -m trial --durations 25

chaos: $(VENV)/.dev ## the long kill test: 200 kills at random, one at every boundary, a cap, all snapshots (BOT_SNAPSHOTS); 30 minutes
	$(BIN)/python -m tests.chaos $(PARTS)

bench: $(VENV)/.dev ## benchmarks; each prints ratios (bench_solve runs apart: it needs packages of its own)
	@for file in $(filter-out %/bench_solve.py,$(wildcard tests/bench/bench_*.py)); do echo "$$file"; $(BIN)/python -m tests.bench.$$(basename $$file .py) || exit 1; done

lock: $(VENV)/.dev ## compile all lock files anew, those of scripts' environments too
	$(BIN)/uv pip compile pyproject.toml $(LOCKING) -o requirements.lock
	$(BIN)/uv pip compile --group dev $(LOCKING) -c requirements.lock -o requirements-dev.lock
	cd sandbox/environments && printf '%s\n' xgboost xgboost-cpu $(TORCH) | cat *.in - | \
		../../$(BIN)/uv pip compile - $(FOR_SCRIPTS) -o packages.txt

clean: ## remove the environment, caches and the demo; runs/ stays
	rm -rf $(VENV) .cache $(DEMO) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# One file for every Python from 3.11 on and every system, without addresses of where packages come from.
LOCKING := --universal --python-version 3.11 --annotation-style line --no-emit-index-url --no-emit-find-links \
	--upgrade --quiet --cache-dir .cache/uv --custom-compile-command "make lock"

# The release of torch that has builds for the CPU everywhere; torchvision goes with it.
TORCH := torch==2.13.0
FOR_SCRIPTS := --python-version 3.11 --python-platform x86_64-manylinux_2_28 --no-annotate --no-emit-index-url \
	--no-emit-find-links --upgrade --quiet --cache-dir ../../.cache/uv --custom-compile-command "make lock"

# pip compiles on one core, this on all; a sandbox cannot compile what it reads. Templates among the files are no Python; packages' own
# tests are never run, and Ray only by `make fleet`: these are a third.
INSTALL := $(BIN)/python -m pip install -q --no-compile
COMPILE := @$(BIN)/python -m compileall -qq -j 0 -x '/(tests|ray)/' $(VENV)/lib || true

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "No $(PYTHON) here. Install Python 3.11 or later, or name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than Python 3.11. Name a newer one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu install the package python3-venv." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: requirements.lock $(VENV)/.made
	@echo "Installing what the bot needs to run into $(VENV): a minute or two the first time."
	$(INSTALL) -r requirements.lock
	$(COMPILE)
	@touch $@

$(VENV)/.project: pyproject.toml $(VENV)/.runtime
	$(BIN)/python -m pip install -q --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.project
	@echo "Installing the development tools into $(VENV)."
	$(INSTALL) -r requirements-dev.lock
	$(COMPILE)
	@touch $@

$(DEMO)/.snapshot: $(VENV)/.project $(wildcard scrapers/snapshots/demo*.py scrapers/snapshots/demo_data/*)
	rm -rf $(DEMO)/snapshot
	$(BIN)/bot snapshot demo $(DEMO)/snapshot
	@touch $@
