# SPDX-FileCopyrightText: The kvxfer authors
# SPDX-License-Identifier: Apache-2.0

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
GO ?= go
# Arguments for `make run`, as in: make run ARGS="--transport tcp --count 5"
ARGS ?=
FUZZTIME ?= 30s
# How many times the quick suite is run to look for a flake.
RUNS ?= 200
# How many lives each property has, and how long a soak goes on.
LIVES ?= 60000
SOAK ?= 1h
BENCHRUNS ?= 8
# More flags of internal/mutate for the full run of the mutants.
MUTATE ?=
# What the version command prints where the Go tool cannot know it.
LDFLAGS = -X $(CLI).version=$(shell git describe --tags --always --dirty 2>/dev/null || echo devel) \
          -X $(CLI).commit=$(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
CLI = github.com/kvxfer/kvxfer/internal/cli/kvxfer

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

.PHONY: run
run: build nixl ## the main job: two processes move KV blocks through NIXL, owned on both sides
	@bin/kvxfer run $(ARGS)

.PHONY: build
build: ## build bin/kvxfer and bin/fsmgen
	@mkdir -p bin
	@$(GO) build -ldflags "$(LDFLAGS)" -o bin/ ./cmd/kvxfer ./cmd/fsmgen

.PHONY: nixl
nixl: build ## get the NIXL library (68 MB, pinned hashes) unless one is installed; without network, say so and go on
	@bin/kvxfer nixl fetch || echo "nixl: not available; what needs it will say so or skip" >&2

# A foreign client for the tests of nixl/interop and for bench-nixl.
.PHONY: nixl-python
nixl-python: ## get the official Python package of NIXL (90 MB, pinned hashes); without it, say so and go on
	@nixl/interop/install.sh .nixl/python/1.5.1 || echo "nixl: the tests with Python will skip" >&2

# Where the packages of Debian can be installed: Spin is compared with, and needs a C compiler.
.PHONY: spin
spin: ## install Spin where that is possible; without it, the comparisons with Spin skip
	@command -v spin >/dev/null && command -v cc >/dev/null || { \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get -qq update && \
	    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends spin gcc libc6-dev; } >/dev/null 2>&1 || \
	  echo "spin: not available; the comparisons with it skip" >&2; }

.PHONY: test
test: nixl nixl-python spin verify ## everything: installs what it needs, then all checks and tests (CI runs exactly this)

.PHONY: verify
verify: fmt-check mod-check lint gen-check nocgo race gpu explore coverage-quick mutate-spec mutate-sample faults ## all checks and tests, with what is installed

.PHONY: fmt-check
fmt-check: ## fail on files that gofmt would change
	@out="$$(gofmt -s -l $$(git ls-files '*.go'))"; if [ -n "$$out" ]; then echo "gofmt -s would change:"; echo "$$out"; exit 1; fi

.PHONY: mod-check
mod-check: ## fail if go.mod or go.sum is not tidy
	@$(GO) mod tidy -diff

.PHONY: lint
lint: ## go vet and staticcheck (pinned in tools/go.mod)
	@$(GO) vet ./...
	@$(GO) tool -modfile=tools/go.mod staticcheck ./...

.PHONY: generate
generate: ## rebuild gen/ and docs/machines/ from spec/
	@$(GO) run ./cmd/fsmgen generate

.PHONY: proto
proto: ## rebuild transfer/rpc/pb from control.proto (gets protoc from PyPI)
	@bash transfer/rpc/generate.sh

.PHONY: ptx
ptx: ## rebuild cuda/gather/copy.ptx from copy.cu (gets NVRTC from PyPI; needs no GPU and no CUDA toolkit)
	@bash cuda/gather/generate.sh

.PHONY: gpu
gpu: ## the tests that need a GPU; without one, their number and names
	@$(GO) test -race -v -run GPU ./cuda/... | grep -E '^(GPU: |--- FAIL|FAIL|ok)'

.PHONY: gen-check
gen-check: build ## fail if a generated file differs from its spec
	@bin/fsmgen generate --check

.PHONY: nocgo
nocgo: ## the module builds without a C compiler
	@CGO_ENABLED=0 $(GO) build ./...

.PHONY: race
race: ## all tests, race detector on, random order
	@$(GO) test -race -shuffle=on -timeout 15m ./...

QUICK = proptest ownership scenario transfer
.PHONY: quick
quick: ## the quick suite: properties, ownership, scenarios and transfers, race detector on, random order
	@$(GO) test -count=1 -race -shuffle=on $(addprefix ./,$(QUICK))

# What fails leaves its output, in which the seed of the order stands.
.PHONY: flakes
flakes: ## the quick suite RUNS times (default 200); output of failures is kept in bin/flakes
	@rm -rf bin/flakes && mkdir -p bin/flakes
	@for p in $(QUICK); do $(GO) test -race -c -o bin/flakes/$$p.test ./$$p; done
	@failed=0; for i in $$(seq $(RUNS)); do \
	  for p in $(QUICK); do \
	    out=$$PWD/bin/flakes/$$p-$$i.txt; \
	    if (cd $$p && nice -n 19 ../bin/flakes/$$p.test -test.shuffle on -test.timeout 15m -test.v) >$$out 2>&1; then rm $$out; \
	    else failed=$$((failed + 1)); echo "flakes: run $$i: $$p failed, see $$out" >&2; fi; \
	  done; \
	  echo "flakes: $$i of $(RUNS) runs, $$failed failures" >&2; \
	done; \
	echo "flakes: $(RUNS) runs of $(QUICK): $$failed failures"; [ $$failed = 0 ]

# One goroutine explores: the race detector would only slow it, so these tests leave
# their long parts to a run without it.
.PHONY: explore
explore: ## the exhaustive explorations, the comparisons with Spin, and the long walks
	@$(GO) test -shuffle=on ./fsm/check ./fsm/codegen ./fsm/export ./fsm/interpret

# Machines and tables have their changes tried by a test of package spec. A fifth of the
# changes of systems is tried each time; a printed seed tries the same fifth again.
.PHONY: mutate-spec
mutate-spec: build ## change the systems of spec/ in one place at a time, a fifth of the places by chance: a property finds each
	@bin/fsmgen check --mutate --part 20 --replicas 1..2 --max-memory 512

.PHONY: mutate-spec-all
mutate-spec-all: build ## the same in all places (two minutes of a core)
	@bin/fsmgen check --mutate --replicas 1..2 --max-memory 512

# Verdicts are kept in bin/_mutate: a run that was stopped goes on, and one after new tests
# judges the survivors alone. MUTATE="-shard 1/4" takes a part.
.PHONY: mutate
mutate: mutate-spec-all ## change spec/, ownership and transfer in one place at a time: the tests notice (an hour of a core)
	@rc=0; for pkg in ownership transfer; do \
	  $(GO) run ./internal/mutate -pkg $$pkg -suites $$pkg,scenario,proptest $(MUTATE) || rc=1; done; exit $$rc

# By chance, with tests that are quick, for a bounded processor time: the bar is lower than
# that of the full run, as few mutants are judged.
.PHONY: mutate-sample
mutate-sample: ## change ownership in places chosen by chance; a printed seed chooses the same again
	@$(GO) run ./internal/mutate -pkg ownership -suites ownership,proptest -most 100ms -cpu 10s -least 85

# A third of the faults, chosen by chance, each time; FAULTS=all makes it all of them, and a
# printed seed the same third again.
.PHONY: faults
faults: ## scenarios must fail on a library with a mistake put into it: the tests are tested
	@$(GO) test -v -count=1 -tags faults -run '^TestFaultsAreFound$$' ./scenario
	@$(GO) test -v -count=1 -tags faults -run '^TestNetworkFindsFaults$$' ./proptest

# A seed is printed; SEED makes the same choices again.
SEED ?= 0
.PHONY: chaos
chaos: build nixl ## faults done to real processes over TCP and CMA, and every byte checked; 1,000 cancels
	@bin/kvxfer chaos --full --seed $(SEED)

# Each fault alone, a few at a time: their leases want a processor now and then.
.PHONY: chaos-ranks
chaos-ranks: ## ranks as processes on a real etcd, with every fault and an end between any two steps
	@$(GO) test -v -count=1 -timeout 15m -run 'Chaos' -parallel 3 ./internal/cli/kvxfer/ranks -chaos

# Each row is sampled in turn with the others, BENCHRUNS times: code layout and
# a noisy machine move single runs, so only medians of one run are compared.
.PHONY: bench
bench: ## a typed step beside a switch and looplab/fsm, then the cost of ownership
	@mkdir -p bin
	@$(GO) test -c -o bin/bench-fsm ./fsm/bench && $(GO) test -c -o bin/bench-ownership ./ownership
	@rm -f bin/fsm.txt bin/ownership.txt
	@for i in $$(seq $(BENCHRUNS)); do echo "run $$i of $(BENCHRUNS)" >&2; \
	  bin/bench-fsm -test.run '^$$' -test.bench . -test.benchtime 100ms -test.benchmem >>bin/fsm.txt; \
	  bin/bench-ownership -test.run '^$$' -test.bench 'Life|Tick|Storm' -test.benchtime 200ms -test.benchmem >>bin/ownership.txt; done
	@bin/bench-ownership -test.run '^$$' -test.bench Memory -test.benchtime 1x >>bin/ownership.txt
	@bin/bench-ownership -test.run '^$$' -test.bench Growth -test.benchtime 100x -test.count 3 >>bin/ownership.txt
	@$(GO) tool -modfile=tools/go.mod benchstat -row .name -col /by bin/fsm.txt
	@$(GO) tool -modfile=tools/go.mod benchstat bin/ownership.txt

.PHONY: bench-cuda
bench-cuda: BENCHCUDA = -test.run '^$$' -test.bench . -test.benchtime 200ms
bench-cuda: ## gather by kernel, copy engine and CPU, raw beside owned, and polls of events; GPU rows where a GPU is
	@mkdir -p bin
	@$(GO) test -c -o bin/bench-cuda ./cuda && $(GO) test -c -o bin/bench-gather ./cuda/gather
	@rm -f bin/cuda.txt
	@for i in $$(seq $(BENCHRUNS)); do echo "run $$i of $(BENCHRUNS)" >&2; \
	  (cd cuda && ../bin/bench-cuda $(BENCHCUDA) >>../bin/cuda.txt); (cd cuda/gather && ../../bin/bench-gather $(BENCHCUDA) >>../../bin/cuda.txt); done
	@$(GO) tool -modfile=tools/go.mod benchstat -row .name,/driver -col /by -filter '.name:Poll' bin/cuda.txt
	@$(GO) tool -modfile=tools/go.mod benchstat -row .name,/by -filter '.name:Build' bin/cuda.txt
	@$(GO) tool -modfile=tools/go.mod benchstat -row .name,/bytes,/block,/by -col /side -filter '.name:(CPU OR GPU)' bin/cuda.txt
	@if grep -q '^GPU: ' bin/cuda.txt; then echo "GPU rows: not yet measured on a GPU"; grep -m1 '^GPU: ' bin/cuda.txt; else nvidia-smi -L || true; fi

# Four pairs of processes take turns: a bare loop in C (needs cc), the same through the
# binding, Python where it is, and ours. At most 160 s for each transport.
.PHONY: bench-nixl
bench-nixl: nixl nixl-python ## owned transfers beside a bare loop in C and the official Python API, TCP and CMA (BENCHNIXL=flags)
	@$(GO) build -o bin/bench-nixl ./internal/bench
	@bin/bench-nixl -python .nixl/python/1.5.1 $(BENCHNIXL) | tee bin/nixl.md

.PHONY: bench-spin
bench-spin: ## fsmgen check beside Spin on the same model (needs the Debian packages spin and gcc)
	@$(GO) test -run '^$$' -bench Explore -benchtime 3x ./fsm/export

.PHONY: coverage
coverage: ## which cells, combinations, guards and invariants of the spec the quick suites meet, as a heat map (bin/coverage/index.html); fails below all of them
	@$(GO) run ./internal/coverage $(COVERAGE)

# The three suites that meet all of it, in twenty seconds of a core. Statements are not counted.
.PHONY: coverage-quick
coverage-quick: COVERAGE = -statements=false -suites spec,scenario,proptest
coverage-quick: coverage ## the same of the three suites that meet most

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 30s)
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg; done; done

# A life of a network, of ranks or beside an interpreter costs as much as ten of a
# registry. Each half is one goroutine's work.
.PHONY: proptest
proptest: ## the property suite in full: LIVES lives (default 60000) of each machine beside the model
	@mkdir -p bin && $(GO) test -c -o bin/proptest.test ./proptest
	@cd proptest && rc=0; \
	../bin/proptest.test -test.timeout 0 -test.run 'Owner|Registry|Pins|Machines' -rapid.checks=$(LIVES) & \
	../bin/proptest.test -test.timeout 0 -test.run 'Network|Ranks|Systems' -rapid.checks=$$(($(LIVES) / 10)) || rc=1; \
	wait $$! || rc=1; exit $$rc

.PHONY: soak
soak: ## the property suite with fresh seeds until SOAK (default 1h) is over
	@mkdir -p bin && $(GO) test -c -o bin/proptest.test ./proptest
	@cd proptest && ../bin/proptest.test -test.run '^TestSoak$$' -test.timeout 0 -proptest.soak $(SOAK)

# The database is asked over the network: without it nothing was checked, and that is no success.
.PHONY: vuln
vuln: ## known vulnerabilities in what is called, after vuln.go.dev (needs the network)
	@$(GO) tool -modfile=tools/go.mod govulncheck ./... || { code=$$?; [ $$code = 3 ] || \
	  echo "vuln: nothing was checked: the database at $${GOVULNDB:-https://vuln.go.dev} cannot be asked, or the code not be loaded" >&2; exit $$code; }

# Frames that no endpoint sends, from a peer with a place of its own; memory before and after.
.PHONY: hostile
hostile: ## a million hostile frames against one endpoint
	@$(GO) test -count=1 -v -timeout 30m -run '^TestHostileFrames$$' ./transfer/rpc -hostile 1000000

.PHONY: bench-control
bench-control: ## the control plane: a round trip, and reports a second, over each carrier
	@$(GO) test -run '^$$' -bench . -benchtime 2s ./transfer/rpc

.PHONY: clean
clean: ## remove what was built (the NIXL library stays; it is in .nixl/)
	@rm -rf bin
