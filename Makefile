# make check is what CI runs, and all of it.
.PHONY: check test bench build

check:
	bash .ci/run

test:
	go test ./...

build:
	CGO_ENABLED=0 go build -trimpath -o assay ./cmd/assay

# The layer's cost beside the engines' own APIs, and the harness's own.
bench:
	go test -run '^$$' -bench 'Thin|OverheadNull' ./engines/... ./lab/bench
