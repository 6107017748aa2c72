# make check is what CI runs, and all of it.
.PHONY: check test short bench build mutants soak sqlite

check:
	bash .ci/run

test:
	go test ./...

# For between: what it leaves out is larger, repeated, or the same on other engines.
short:
	go test -short ./...

build:
	CGO_ENABLED=0 go build -trimpath -o assay ./cmd/assay

# The layer's cost beside the engines' own APIs, and the harness's own.
bench:
	go test -run '^$$' -bench 'Thin|OverheadNull' ./engines/... ./stores/... ./lab/bench

# Deliberate faults of the simulator and of the proof, each of which their tests must find, and of drivers and stores, which
# the proof must find. Up to an hour; Linux, as root.
mutants:
	ASSAY_MUTANTS=1 ASSAY_PLANTED=90s go test ./internal/mutants -run 'Caught|Found' -count 1 -timeout 0 -v

# The kill tests of every engine and store again and again, on a busy machine: "make soak DURATION=2h".
soak:
	bash .ci/soak

# SQLite through C: with the address sanitizer, statically with musl, the tests of other drivers on ours, and the publication
# about it by a command with -race beside one without. Each compiles SQLite anew, some minutes in all; needs gcc and musl-tools.
sqlite:
	go test -asan -short ./sqlite/...
	ASSAY_MUSL=1 go test -timeout 20m -run Musl -v ./sqlite
	ASSAY_THEIRS=1 go test -timeout 20m -run Theirs -v ./sqlite/sqldriver
	ASSAY_RACE=1 go test -timeout 20m -run BothBuilds -v ./cmd/assay
