#!/bin/sh
# Runs every fuzz target of the module for a while each: scripts/fuzz.sh [time], 10s if none is given.
set -eu
cd "$(dirname "$0")/.."
time=${1:-10s}
go list -f '{{.Dir}}' ./... | while read -r dir; do
	grep -hso '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //' | sort -u | while read -r target; do
		echo "== ${dir##*/}: $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir" </dev/null
	done
done
