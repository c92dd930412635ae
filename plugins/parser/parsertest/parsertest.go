// Package parsertest is the corpus of the built-in parsers: inputs with the traces they must give, run
// natively by package parser and through Wasm by whoever hosts the built-in plugin.
package parsertest

import (
	"strings"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/record"
)

// Family is one open config and the cases it must pass.
type Family struct {
	Name   string
	Config string
	Cases  []guesttest.Case
}

// Families is the whole corpus.
func Families() []Family {
	return []Family{
		thinkOnly(), thinkInside(), thinkSpans(),
		hermes(), hermesSpans(), longcat(), toolCall(), qwen3(),
		coder(), qwen35(), seed(),
	}
}

// Starts of streams.
var (
	plain    = guest.Start{}
	tools    = guest.Start{Tools: true}
	none     = guest.Start{Tools: true, Choice: guest.ChoiceNone}
	off      = guest.Start{Tools: true, Thinking: guest.ThinkingOff}
	prompted = guest.Start{Tools: true, Thinking: guest.ThinkingOn, Tail: []byte("<think>\n")}
	closed   = guest.Start{Tools: true, Thinking: guest.ThinkingOff, Tail: []byte("<think>\n\n</think>\n\n")}
)

// known are the names a host with declared tools accepts.
var known = []string{"get_stock", "get_news", "ping", "write"}

// c is a case.
func c(name string, start guest.Start, input string, want ...string) guesttest.Case {
	return guesttest.Case{Name: name, Start: start, Input: input, Accept: known, Want: strings.Join(want, "\n")}
}

// marked is a case whose input has special tokens: text between « and » is one, by its id in ids.
func marked(name string, start guest.Start, ids map[string]uint32, input string, want ...string) guesttest.Case {
	out := c(name, start, "", want...)
	for {
		before, rest, ok := strings.Cut(input, "«")
		out.Input += before
		if !ok {
			return out
		}
		text, after, _ := strings.Cut(rest, "»")
		out.Spans = append(out.Spans, record.Span{Off: uint32(len(out.Input)), Len: uint32(len(text)), Token: ids[text]})
		out.Input += text
		input = after
	}
}
