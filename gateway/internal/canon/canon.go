// Package canon makes requests that mean the same be the same before they are rendered, so that a
// prompt's prefix stays what it was a turn ago.
//
// The decoders of the surfaces do their part: a string is the same as an array of one text, and cache marks,
// ids of items and metadata are not decoded. What is left needs to know how clients behave; nothing
// here depends on the model.
package canon

import (
	"strings"

	"github.com/weirgate/weir/abi/conv"
)

// preamble opens a line of metadata that Claude Code puts in front of its system prompt. It carries a
// digest of the first user message, so that with it no two conversations share a prefix.
const preamble = "x-anthropic-billing-header:"

// StripPreamble removes the metadata line from every system text: the whole part if it holds nothing
// else, and the message if nothing of it is left. It returns req itself when there is none, else a copy
// that shares what did not change; req is never written to.
func StripPreamble(req *conv.Request) *conv.Request {
	if !hasPreamble(req) {
		return req
	}
	out := *req
	out.Messages = make([]conv.Message, 0, len(req.Messages))
	for _, m := range req.Messages {
		if m.Role == conv.System || m.Role == conv.Developer {
			had := len(m.Parts)
			if m.Parts = strip(m.Parts); had > 0 && len(m.Parts) == 0 {
				continue
			}
		}
		out.Messages = append(out.Messages, m)
	}
	return &out
}

// Preamble is the length of the metadata line, its end included, that a text begins with; 0 where it does not.
func Preamble(text string) int {
	if !strings.HasPrefix(text, preamble) {
		return 0
	}
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n + 1
	}
	return len(text)
}

func hasPreamble(req *conv.Request) bool {
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != conv.System && m.Role != conv.Developer {
			continue
		}
		for j := range m.Parts {
			if marked(&m.Parts[j]) {
				return true
			}
		}
	}
	return false
}

func marked(p *conv.Part) bool { return p.Kind == conv.Text && strings.HasPrefix(p.Text, preamble) }

// strip returns parts without metadata lines, as a new slice.
func strip(parts []conv.Part) []conv.Part {
	out := make([]conv.Part, 0, len(parts))
	for _, p := range parts {
		had := marked(&p)
		for marked(&p) {
			_, rest, _ := strings.Cut(p.Text, "\n")
			p.Text = strings.TrimLeft(rest, "\r\n")
		}
		if !had || p.Text != "" {
			out = append(out, p)
		}
	}
	return out
}
