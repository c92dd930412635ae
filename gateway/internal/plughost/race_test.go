//go:build race

package plughost_test

// underRace tells that the race detector runs, which makes everything ten times slower.
const underRace = true
