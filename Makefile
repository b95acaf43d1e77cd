# The front door. `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

step := ./scripts/step
tool := ./scripts/tool
# A build script finds these files, so cargo fmt does not find them automatically.
listed_tools := $(wildcard crates/tools/src/builtin/plain/*.rs)

.PHONY: help
help: # list the targets by group
	@awk -F':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Use it

.PHONY: run
run: setup-run ## build Onyx, create a home if there is none, start the server
	@./scripts/run

.PHONY: dev
dev: setup-run ## serve with hot reload of the web app; rebuild and restart when a Rust source changes
	@./scripts/dev

.PHONY: release
release: setup-run docs-site ## build the binary with everything in it, llama.cpp, Bedrock and the manual too
	@$(step) "release" cargo build --locked --release --package onyx --features bedrock $$(./scripts/llama --always)

.PHONY: package
package: setup-run ## a .deb and a tarball of a release build, into target/package (TARGET=aarch64-unknown-linux-gnu)
	@$(step) "package" ./scripts/package all

##@ Test it

.PHONY: test
test: setup ## run every test
	@$(step) "tests" ./scripts/test

.PHONY: test-delays
test-delays: setup ## run the Rust tests with background work delayed at its beginning and end (PART=short, DELAY=40)
	@$(step) "delays" ./scripts/test-delays $(PART)

.PHONY: test-loaded
test-loaded: setup ## every test five times under `nice`, beside a busy loop on each core (ROUNDS=5)
	@$(step) "loaded" ./scripts/test-loaded

.PHONY: test-live
test-live: setup ## test the real small model through the whole stack, and the real Claude CLI and Pi sidecar (test-runtimes)
	@$(step) "live" ./scripts/test-live

.PHONY: pi
pi: ## build the Pi sidecar beside the binaries (needs Node 20)
	@$(step) "pi" ./scripts/pi

.PHONY: test-runtimes
test-runtimes: setup-check ## test the real Claude CLI and Pi sidecar, fetched by package, with a scripted model as their upstream
	@$(step) "runtimes" ./scripts/test-runtimes

.PHONY: test-clients
test-clients: setup ## test other makers' programs and libraries (CLIENT=codex); writes the tables of docs/clients.md
	@./scripts/test-clients $(CLIENT)

.PHONY: test-clients-heavy
test-clients-heavy: setup ## test whole applications of other makers: Open WebUI (2 GB to install)
	@./scripts/test-clients open_webui

.PHONY: test-sdk
test-sdk: setup ## test both clients (clients/ts, clients/py): types, packages, documents, a live server
	@$(step) "build" cargo build --locked --quiet --package onyx --bin onyx
	@$(step) "scripted model" cargo build --locked --quiet --package onyx-test-support --bin scripted-model
	@$(step) "sdk" ./scripts/test-sdk

.PHONY: test-bedrock
test-bedrock: setup-check ## test the Bedrock leaf, which everyday builds leave out
	@$(step) "bedrock" cargo test --locked --package onyx-bedrock --features sdk
	@$(step) "bedrock in onyx" cargo check --locked --package onyx --features bedrock

.PHONY: sim
sim: setup ## run more simulated schedules (SEEDS=10000..30000), or repeat one (SEED=17)
	@ONYX_SIM_SEEDS=$(or $(SEED),$(SEEDS),10000..30000) cargo test --quiet --workspace --locked --tests chosen_seeds_hold -- --ignored --nocapture

.PHONY: cluster
cluster: setup ## test gateways on one database with faults of every kind and a checker; storage tests on SeaweedFS (ROUNDS=2 LENGTH=25 SEED=7)
	@cargo build --locked --quiet --package onyx --bin onyx
	@$(step) "cluster" ./scripts/cluster --rounds $(or $(ROUNDS),2) --seconds $(or $(LENGTH),25) $(if $(SEED),--seed $(SEED))
	@$(step) "storage on SeaweedFS" env ONYX_TEST_OBJECTS=seaweedfs cargo test --locked --quiet --package onyx-storage --test it on_server

.PHONY: cluster-short
cluster-short: setup ## play two short rounds with a fixed seed, as CI does
	@cargo build --locked --quiet --package onyx --bin onyx
	@$(step) "cluster" ./scripts/cluster --rounds 2 --seconds 25 --seed 1

.PHONY: cluster-rounds
cluster-rounds: setup ## play rounds of 60 s that continue docs/bench/cluster.json and are added to it (ROUNDS=10)
	@cargo build --locked --quiet --package onyx --bin onyx
	@./scripts/cluster --rounds $(or $(ROUNDS),10) --seconds 60 --record docs/bench/cluster.json

.PHONY: cluster-broken
cluster-broken: setup ## run two builds with a deliberate mistake; passes when the checker finds both
	@$(step) "broken builds" ./scripts/cluster-broken

.PHONY: soak
soak: setup ## run faults of every kind against a server, for MINUTES=10; random, or repeated (SEED=17)
	@./scripts/soak

.PHONY: proof-backup
proof-backup: setup ## back up and restore a home of 10,000 sessions and 100,000 files, byte for byte
	@cargo test --quiet --package onyx-backup --locked --test it large:: -- --ignored --nocapture

.PHONY: proof-connectors
proof-connectors: setup ## test 1,000 conversations with each network as it misbehaves, 10,000 strangers, a kill at every write
	@ONYX_ALL_SEEDS=1 cargo test --quiet --package onyx-connectors --locked --test it -- --nocapture seeds:: whatever_the_receiver_does
	@# This test runs alone, because it measures the memory of the whole process.
	@ONYX_ALL_SEEDS=1 cargo test --quiet --package onyx-connectors --locked --test it -- --nocapture ten_thousand_strangers
	@ONYX_ALL_SEEDS=1 cargo test --quiet --package onyx --locked --test it connectors::killed -- --nocapture

.PHONY: redteam
redteam: setup ## attack with a model that obeys every text it reads, in every way at every tier (PART=short: as in CI): attacks by class, questions of 40 tasks
	@./scripts/redteam $(PART)

.PHONY: fuzz
fuzz: setup ## feed random input to every reader of foreign text, MINUTES=5 in all; failing cases are kept (SEED=…)
	@./scripts/fuzz

##@ Check it

.PHONY: check
check: rules lint ## run all checks: formatting, lints, layers, licences, advisories, unused dependencies, spelling

.PHONY: lint
lint: setup-check ## run clippy alone
	@$(step) "clippy" cargo clippy --workspace --all-targets --locked -- -D warnings

.PHONY: rules
rules: setup-check ## run all checks but clippy
	@$(step) "format" cargo fmt --all --check -- $(listed_tools)
	@$(step) "web format and lint" $(tool) biome ci --error-on-warnings
	@$(step) "web types" ./scripts/web check
	@$(step) "tidy" cargo xtask tidy
	@$(step) "docs drift" cargo xtask docs --check
	@$(step) "client types" ./scripts/sdk-types --check
	@$(step) "shell" bash -n .ci/run $(wildcard scripts/*)
	@$(step) "unused dependencies" $(tool) cargo-machete --with-metadata
	@$(step) "deny" $(tool) cargo-deny --workspace --locked check --hide-inclusion-graph licenses bans sources
	@$(step) "advisories" ./scripts/advisories
	@$(step) "spelling" $(tool) typos

.PHONY: format
format: setup-check ## format Rust and TypeScript
	@cargo fmt --all -- $(listed_tools)
	@$(tool) biome check --write

##@ Measure it

.PHONY: bench
bench: setup ## measure a release build, its search index and how well searches answer
	@./scripts/bench

.PHONY: bench-cluster
bench-cluster: setup ## measure a turn on PostgreSQL and S3: CPU, round trips, time, by gateways, sessions and people
	@cargo build --locked --release --package onyx --bin onyx
	@./scripts/bench-cluster --out docs/bench/cluster-cost.json

.PHONY: bench-index
bench-index: setup ## measure the search index at 100,000 chunks, beside SQLite's FTS5
	@./scripts/bench-index

.PHONY: bench-peers
bench-peers: setup ## measure Onyx beside nanobot, LiteLLM and OpenClaw, installed in a scratch folder
	@./scripts/bench-peers

.PHONY: bench-ui
bench-ui: setup ## measure the web app in Chromium and print the table of targets
	@./scripts/bench-ui

.PHONY: bench-build
bench-build: setup-run ## measure `make run` from nothing and again: the time for building, fetching and answering
	@./scripts/bench-build

.PHONY: judge
judge: setup ## judge search on the labelled set: by words, by meaning, by both
	@./scripts/judge

##@ Write it down

.PHONY: docs
docs: setup-check ## write the generated pages of docs/
	@ONYX_WRITE_DOCS=1 cargo test -q -p onyx-api --test it openapi::the_committed >/dev/null
	@cargo xtask docs
	@./scripts/sdk-types
	@cargo build --quiet --locked --package onyx --bin onyx
	@./scripts/docs-reference

.PHONY: docs-site
docs-site: setup-check ## build the manual that the binary serves at /manual
	@./scripts/docs-site

.PHONY: terminal
terminal: setup-check ## record the terminal picture of the README
	@./scripts/terminal-picture

.PHONY: screenshots
screenshots: setup ## take the screenshots of the docs
	@./scripts/screenshots

##@ Prepare the machine

.PHONY: setup-run setup-check setup
setup-run: ## install what building and serving need
	@./scripts/setup run
setup-check: ## install what the checks need
	@./scripts/setup check
setup: ## install what the tests need: all of it, with Chromium, strace, a keyring, the models
	@./scripts/setup test
