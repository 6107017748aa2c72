#!/usr/bin/env bash
# Has every call that may wait end with its context, on each engine, and prints how late it did:
# docs/contexts.sh >docs/figures/contexts.txt && go test ./internal/lint -run TableOfCalls -update. Two minutes; PostgreSQL must
# be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

# try ENGINE PACKAGE TEST: a line for each thing that stands in the way, with all calls beside it.
try() {
	printf '$ go -C engines/%s test -count=1 -v -run "%s$/(no_call|long_upkeep)" .\nengine %s\n' "$2" "$3" "$1"
	go -C "engines/$2" test -count=1 -v -run "^$3\$/(no_call|long_upkeep)" . | awk '
		/^ *--- FAIL|^FAIL/ { failed = 1 }
		sub(/^ +contexts\.go:[0-9]+: /, "") && / after its context: / {
			way = substr($0, 1, 32); call = substr($0, 34, 12); rest = substr($0, 47)
			sub(/ +$/, "", way); sub(/ +$/, "", call)
			split(rest, word, " ") # returned 2ms after its context: canceled
			sub(/^.*its context: /, "", rest)
			if (way != last) printf "%s%s:", n++ ? "\n" : "", way
			else printf ","
			printf " %s %s %s", call, word[2], rest
			last = way
		}
		END { if (n) print ""; exit failed }'
}

try bbolt bboltkv TestConformance
try BuntDB buntkv TestConformance
try Pebble pebblekv TestConformance
try LevelDB levelkv TestConformance
try Badger badgerkv TestConformance
try SQLite sqlitekv TestConformanceWAL
try SQLite,_DELETE sqlitekv TestConformanceDelete
try sqlite-wasm sqlitewasmkv TestConformanceWAL
try sqlite-c sqliteckv TestConformanceWAL
try moss mosskv TestConformance
try DuckDB duckdbkv TestConformance
try etcd etcdkv TestConformance
try PostgreSQL postgreskv TestConformance
