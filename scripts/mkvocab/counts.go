package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxPieces bounds the counts file; the rarest pieces teach nothing.
const maxPieces = 9000

// countTree counts the pieces of the Go and Markdown files below root.
func countTree(base *pieces, root string) (map[string]int, error) {
	counts := make(map[string]int)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for piece := range base.of(string(text)) {
			counts[piece]++
		}
		return nil
	})
	return counts, err
}

// byCount returns the pieces, the most frequent first, ties by their bytes.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

// formatCounts writes a line "count quoted-piece" for each of the most frequent pieces.
func formatCounts(counts map[string]int) []byte {
	var out []byte
	for i, piece := range byCount(counts) {
		if i == maxPieces || counts[piece] < 2 {
			break
		}
		out = strconv.AppendInt(out, int64(counts[piece]), 10)
		out = append(out, ' ')
		out = append(strconv.AppendQuoteToASCII(out, piece), '\n')
	}
	return out
}

func parseCounts(data []byte) (map[string]int, error) {
	counts := make(map[string]int)
	line := 0
	for text := range bytes.Lines(data) {
		line++
		number, quoted, ok := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 1 {
			return nil, fmt.Errorf("line %d: want a count and a quoted piece", line)
		}
		piece, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		counts[piece] += n
	}
	return counts, nil
}
