#!/bin/sh
# Runs vet and golangci-lint for the host and for guests. LINT names another linter binary.
set -eu
cd "$(dirname "$0")/.."
lint=${LINT:-go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0}
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	echo "not formatted: $unformatted" >&2
	exit 1
fi
go vet ./...
GOOS=wasip1 GOARCH=wasm go vet ./abi/... ./plugins/...
$lint run ./...
