# The front door. `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

step := ./scripts/step
tool := ./scripts/tool

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: setup ## build Onyx, make a home if there is none, serve it
	@./scripts/run

.PHONY: test
test: setup ## run every test
	@$(step) "tests" ./scripts/test

.PHONY: test-delays
test-delays: setup ## the Rust tests with background work held up where it begins and ends (PART=short, DELAY=40)
	@$(step) "delays" ./scripts/test-delays $(PART)

.PHONY: sim
sim: setup ## run more simulated schedules (SEEDS=10000..30000), or one again (SEED=17)
	@ONYX_SIM_SEEDS=$(or $(SEED),$(SEEDS),10000..30000) cargo test --quiet --workspace --locked --tests chosen_seeds_hold -- --ignored --nocapture

.PHONY: soak
soak: setup ## faults of every kind against a server, for MINUTES=10; as the dice say, or the same again (SEED=17)
	@./scripts/soak

.PHONY: test-bedrock
test-bedrock: setup ## test the Bedrock leaf, which everyday builds leave out
	@$(step) "bedrock" cargo test --locked --package onyx-bedrock --features sdk
	@$(step) "bedrock in onyx" cargo check --locked --package onyx --features bedrock

.PHONY: release
release: setup ## build the binary with everything in it
	@$(step) "release" cargo build --locked --release --package onyx --features bedrock $$(./scripts/llama)

.PHONY: test-live
test-live: setup ## the real small model through the whole stack (builds llama.cpp)
	@$(step) "live" ./scripts/test-live

.PHONY: check
check: rules lint ## formatting, lints, layers, licences, unused dependencies, spelling

.PHONY: lint
lint: setup ## clippy alone
	@$(step) "clippy" cargo clippy --workspace --all-targets --locked -- -D warnings

.PHONY: rules
rules: setup ## all of check but clippy
	@$(step) "format" cargo fmt --all --check
	@$(step) "tidy" cargo xtask tidy
	@$(step) "docs drift" cargo xtask docs --check
	@$(step) "client types" ./scripts/sdk-types --check
	@$(step) "shell" bash -n .ci/run $(wildcard scripts/*)
	@$(step) "deny" $(tool) cargo-deny --workspace --locked check --hide-inclusion-graph licenses bans sources
	@$(step) "spelling" $(tool) typos

.PHONY: bench
bench: setup ## measure a release build, its search index and how well searches answer
	@./scripts/bench

.PHONY: judge
judge: setup ## judge search on the labelled set: by words, by meaning, by both
	@./scripts/judge

.PHONY: bench-index
bench-index: setup ## measure the search index at 100,000 chunks, beside SQLite's FTS5
	@./scripts/bench-index

.PHONY: bench-peers
bench-peers: setup ## measure Onyx beside nanobot, LiteLLM and OpenClaw, installed in a scratch folder
	@./scripts/bench-peers

.PHONY: bench-ui
bench-ui: setup ## measure the web app in Chromium and print the table of targets
	@./scripts/bench-ui

.PHONY: screenshots
screenshots: setup ## take every page in its five states into docs/screenshots
	@./scripts/screenshots

.PHONY: dev
dev: setup ## serve with hot reload of the web app; rebuild and restart when a Rust source changes
	@./scripts/dev

.PHONY: docs
docs: ## write the generated pages of docs/ anew
	@cargo xtask docs
	@ONYX_WRITE_DOCS=1 cargo test -q -p onyx-api --test it openapi::the_committed >/dev/null
	@./scripts/sdk-types

.PHONY: setup
setup: ## install what the build needs and this machine lacks
	@./scripts/setup
