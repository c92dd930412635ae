# Recipes only name commands and scripts; the scripts say what they do.

# List the recipes.
default:
    @just --list

# Compile everything.
build:
    go build ./...

# Test, with the race detector and in random order.
test:
    go test -race -shuffle=on ./...

# Format, vet and lint, for the host and for guests.
lint:
    scripts/lint.sh

# Run every fuzz target for a while.
fuzz time="10s":
    scripts/fuzz.sh {{time}}

# Build the built-in plugins.
plugins:
    go run ./scripts/buildplugins

# Check that the committed plugins are what the sources give.
plugins-check:
    go run ./scripts/buildplugins -check

# Build and check the example plugins, in each language whose tool can be had.
examples:
    go run ./scripts/examples

# Check that the committed vocabulary is what its counts give.
vocab-check:
    go run ./scripts/mkvocab -check

# Run all benchmarks.
bench:
    go test -run '^$' -bench . -benchmem ./...

# Start a gateway with the simulated engine.
run *args:
    go run ./gateway/cmd/weir serve {{args}}

# Run the real clients against a gateway.
e2e *args:
    go run ./scripts/e2e {{args}}

# Put the gateway's cost a token beside a bare reverse proxy's.
bench-stream *args:
    go run ./scripts/bench/stream {{args}}

# Put rendering and tokenizing beside Jinja2 and the Rust tokenizers.
bench-tokens *args:
    go run ./scripts/bench/tokens {{args}}

# Put the cost of a long prompt beside a bare reverse proxy's.
bench-prompt *args:
    go run ./scripts/bench/prompt {{args}}

# Everything that must hold before a change goes in.
ci *steps:
    .ci/run {{steps}}
