# Every target is one line; `make help` lists them. TRACE=FILE is the trace that smoke replays.
HARNESS := .venv/bin/harness
TRACE ?= tests/data/sample.jsonl
.NOTPARALLEL:
.PHONY: help setup images wheels check lint rust smoke test revision release publish bench lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

setup: ## make .venv: the harness and, once built, both wheels
	@scripts/setup

images: setup ## build the wheels and the CPU and GPU image
	@$(HARNESS) images build && scripts/setup

wheels: setup ## build the wheels only
	@$(HARNESS) images build --wheels-only && scripts/setup

check: setup ## compare every pin and the pinned source revision (offline, seconds)
	@$(HARNESS) pins check && $(HARNESS) source check

lint: setup ## ruff and mypy
	@.venv/bin/ruff check && .venv/bin/ruff format --check && .venv/bin/mypy

rust: setup ## format, lint and test the crates in the builder image
	@$(HARNESS) images rust-check

smoke: setup ## install the wheelhouse cleanly and run the acceptance cases everywhere
	@$(HARNESS) smoke --trace "$(TRACE)"

test: check lint images rust smoke ## everything that CI runs
	@.venv/bin/pytest

revision: setup ## see that HEAD is the commit REVISION=<40 hex>
	@$(HARNESS) release revision "$(REVISION)"

release: setup ## install the built wheels from a package index on loopback
	@$(HARNESS) release check

publish: setup ## push the built images to REGISTRY=HOST[:PORT][/PREFIX], and pull them back
	@$(HARNESS) images push "$(REGISTRY)"

lock: setup ## refresh every lock
	@$(HARNESS) pins lock && $(HARNESS) images lock-bases && $(HARNESS) pins lock --record

bench: images ## measure, as ratios
	@.venv/bin/python tests/bench

clean: ## remove what was built (images stay in the engine)
	@rm -rf build target
