// Command mkvocab makes the vocabulary that gateway/tokenizer/builtin embeds: byte-level merges trained
// on counts of the project's own text and on words that this program spells out.
//
//	go run ./scripts/mkvocab           # train on counts.txt, write vocab.bin
//	go run ./scripts/mkvocab -check    # train, compare with vocab.bin, write nothing
//	go run ./scripts/mkvocab -count    # count the pieces of the repository's text anew first
//
// The counts are a file of their own so that the vocabulary does not change with each source file: ids
// are stable until someone decides to count again.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weirgate/weir/gateway/tokenizer"
	"github.com/weirgate/weir/gateway/tokenizer/builtin"
)

const (
	vocabPath  = "gateway/tokenizer/builtin/vocab.bin"
	countsPath = "scripts/mkvocab/counts.txt"
	vocabSize  = 14336 // ids in all; the image must stay below 200 KB
)

func main() {
	check := flag.Bool("check", false, "compare with the committed vocabulary, write nothing")
	count := flag.Bool("count", false, "count the repository's text anew first")
	root := flag.String("root", ".", "the repository's root")
	flag.Parse()
	if err := run(*root, *check, *count); err != nil {
		fmt.Fprintln(os.Stderr, "mkvocab:", err)
		os.Exit(1)
	}
}

func run(root string, check, count bool) error {
	base, err := tokenizer.New(nil, builtin.Specials())
	if err != nil {
		return err
	}
	countsFile := filepath.Join(root, countsPath)
	if count {
		counts, err := countTree(base, root)
		if err != nil {
			return err
		}
		if err := os.WriteFile(countsFile, formatCounts(counts), 0o644); err != nil {
			return err
		}
	}
	image, err := build(base, countsFile)
	if err != nil {
		return err
	}
	vocabFile := filepath.Join(root, vocabPath)
	if !check {
		return os.WriteFile(vocabFile, image, 0o644)
	}
	have, err := os.ReadFile(vocabFile)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, image) {
		return fmt.Errorf("%s is not what training gives: run go run ./scripts/mkvocab", vocabPath)
	}
	return nil
}

// build trains on the counted pieces and the spelled-out ones and returns the image.
func build(base *tokenizer.Tokenizer, countsFile string) ([]byte, error) {
	data, err := os.ReadFile(countsFile)
	if err != nil {
		return nil, err
	}
	counts, err := parseCounts(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", countsFile, err)
	}
	addSpelled(base, counts)
	specials := builtin.Specials()
	tok, err := tokenizer.New(train(counts, vocabSize-256-len(specials)), specials)
	if err != nil {
		return nil, err
	}
	return tok.AppendImage(nil), nil
}
