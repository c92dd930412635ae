package main

import (
	"iter"
	"strings"

	"github.com/weirgate/weir/gateway/tokenizer/builtin"
	"github.com/weirgate/weir/gateway/tokenizer/split"
	"github.com/weirgate/weir/gateway/tokenizer/tiktoken"
)

// pattern cuts text into pieces, which merges never cross: that of the widely used vocabularies of 100,000
// tokens, with numbers in groups of three.
const pattern = tiktoken.CL100K

// pieces cuts text as the vocabulary will.
type pieces struct {
	pattern  *split.Pattern
	specials *strings.Replacer // puts a cut in the place of each special token
}

// noText stands where text is cut. No text has it: bytes that are no UTF-8 are taken out first.
const noText = "\xff"

func newPieces() (*pieces, error) {
	p, err := split.Compile(pattern, split.Fancy)
	if err != nil {
		return nil, err
	}
	var cuts []string
	for _, s := range builtin.Specials() {
		cuts = append(cuts, s, noText)
	}
	return &pieces{pattern: p, specials: strings.NewReplacer(cuts...)}, nil
}

// of yields the pieces of text, special tokens aside, in order.
func (p *pieces) of(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for plain := range strings.SplitSeq(p.specials.Replace(strings.ToValidUTF8(text, "")), noText) {
			for from := 0; from < len(plain); {
				start, end := p.pattern.Next(plain, from)
				if start < end && !yield(plain[start:end]) {
					return
				}
				from = end
			}
		}
	}
}
