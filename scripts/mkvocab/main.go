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

	"github.com/weirgate/weir/gateway/tokenizer/builtin"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
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
	base, err := newPieces()
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
func build(base *pieces, countsFile string) ([]byte, error) {
	data, err := os.ReadFile(countsFile)
	if err != nil {
		return nil, err
	}
	counts, err := parseCounts(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", countsFile, err)
	}
	addSpelled(base, counts)
	spec := newSpec(train(counts, vocabSize-256-len(builtin.Specials())), builtin.Specials())
	if _, err := vocab.New(spec); err != nil {
		return nil, err
	}
	return vocab.AppendImage(nil, spec), nil
}

// newSpec is the vocabulary of merges: the ids 0 to 255 are the bytes, the merges follow in the order of their
// rank, the special tokens come last. So every text has ids, and the ids of a text, decoded, are that text.
func newSpec(merges []pair, specials []string) *vocab.Spec {
	s := &vocab.Spec{
		Model: vocab.BPE, ByteLevel: true, Unknown: vocab.NoToken, Tokens: byteTokens(),
		Cut:    []vocab.Step{{Kind: vocab.Split, Text: pattern, Regex: true, Fancy: true}},
		Decode: []vocab.Step{{Kind: vocab.Bytes}},
	}
	for rank, p := range merges {
		s.Merges = append(s.Merges, vocab.Merge{Left: p.left, Right: p.right, ID: uint32(len(s.Tokens)), Rank: uint32(rank)})
		s.Tokens = append(s.Tokens, s.Tokens[p.left]+s.Tokens[p.right])
	}
	for i, text := range specials {
		s.Added = append(s.Added, vocab.Added{ID: uint32(len(s.Tokens) + i), Text: text, Special: true})
	}
	return s
}

// byteTokens are the tokens before the first merge.
func byteTokens() []string {
	tokens := make([]string, 256)
	for i := range tokens {
		tokens[i] = string([]byte{byte(i)})
	}
	return tokens
}
