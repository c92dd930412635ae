package sim

import (
	"bytes"
	"sort"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/engines"
)

// BlockKind is what a block of a turn is.
type BlockKind uint8

// Kinds of blocks.
const (
	Reasoning BlockKind = 1 + iota
	Text
	Call
)

// Block is one piece of a turn: reasoning or text, or a call with its arguments as JSON (a custom
// tool's input as it is).
type Block struct {
	Kind BlockKind
	Text string
	Call conv.ToolCall
}

// Turn is what the model says, in order.
type Turn struct {
	Blocks []Block
	// PromptTail is the end of the rendered prompt, for a renderer that must not write again what a
	// template has prefilled. Empty for prompts that came as ids alone, unless there is a vocabulary.
	PromptTail string
	// Fails breaks the stream off after FailAfter tokens.
	Fails     bool
	FailAfter int
}

// Mood is what beside the request decides a turn.
type Mood struct {
	Thinking   bool // think first
	Seed       uint64
	Constraint engines.Constraint // what the text must satisfy
}

// Render writes a turn with <think> and <tool_call> tags around JSON, as many model families do.
func Render(t Turn, _ string) []byte {
	var b []byte
	for _, block := range t.Blocks {
		switch block.Kind {
		case Reasoning:
			if !bytes.HasSuffix(bytes.TrimSpace([]byte(t.PromptTail)), []byte("<think>")) || len(b) > 0 {
				b = append(b, "<think>\n"...)
			}
			b = append(append(b, block.Text...), "\n</think>\n\n"...)
		case Text:
			b = append(b, block.Text...)
		case Call:
			if len(b) > 0 && b[len(b)-1] != '\n' {
				b = append(b, '\n')
			}
			b = jsonscan.AppendString(append(b, "<tool_call>\n{\"name\": "...), toolname.Of(block.Call.Namespace, block.Call.Name))
			b = append(b, `, "arguments": `...)
			if block.Call.Kind == conv.Custom {
				b = append(jsonscan.AppendString(append(b, `{"input": `...), block.Call.Arguments), '}')
			} else {
				b = append(b, block.Call.Arguments...)
			}
			b = append(b, "}\n</tool_call>"...)
		}
	}
	return b
}

// mark is a special token in the output.
type mark struct {
	from, to int
	id       uint32
}

// marks finds the special tokens that the renderer wrote. A special token's text inside what the
// actor said is only text.
func marks(out []byte, t *Turn, special []Special) []mark {
	if len(special) == 0 {
		return nil
	}
	literal := quoted(out, t, special)
	var found []mark
	for _, sp := range special {
		if sp.Text == "" {
			continue
		}
		for at := 0; ; {
			i := bytes.Index(out[at:], []byte(sp.Text))
			if i < 0 {
				break
			}
			m := mark{at + i, at + i + len(sp.Text), sp.ID}
			at = m.to
			if !overlaps(literal, m) {
				found = append(found, m)
			}
		}
	}
	// Where one special token's text contains another's, the longer one that begins first is it.
	sort.Slice(found, func(i, j int) bool {
		return found[i].from < found[j].from || found[i].from == found[j].from && found[i].to > found[j].to
	})
	kept := found[:0]
	end := 0
	for _, m := range found {
		if m.from >= end {
			kept = append(kept, m)
			end = m.to
		}
	}
	return kept
}

func overlaps(list []mark, m mark) bool {
	for _, l := range list {
		if m.from < l.to && l.from < m.to {
			return true
		}
	}
	return false
}

// quoted finds where the actor's own words stand that contain the text of a special token.
func quoted(out []byte, t *Turn, special []Special) []mark {
	var found []mark
	from := 0
	for i := range t.Blocks {
		said := t.Blocks[i].Text
		if t.Blocks[i].Kind == Call {
			said = t.Blocks[i].Call.Arguments
		}
		for _, sp := range special {
			if sp.Text == "" || !bytes.Contains([]byte(said), []byte(sp.Text)) {
				continue
			}
			if at := bytes.Index(out[from:], []byte(said)); at >= 0 {
				found = append(found, mark{from: from + at, to: from + at + len(said)})
				from += at + len(said)
			}
			break
		}
	}
	return found
}

// cutStop cuts the output at the first stop string. One that is a special token matches only as such.
func cutStop(out []byte, found []mark, stops []string, special []Special) (cut []byte, stop string) {
	at := len(out)
	for _, s := range stops {
		if s == "" {
			continue
		}
		i := -1
		if isSpecial(special, s) {
			for _, m := range found {
				if string(out[m.from:m.to]) == s {
					i = m.from
					break
				}
			}
		} else {
			i = bytes.Index(out, []byte(s))
		}
		if i >= 0 && i < at {
			at, stop = i, s
		}
	}
	return out[:at], stop
}

func isSpecial(special []Special, text string) bool {
	for _, sp := range special {
		if sp.Text == text {
			return true
		}
	}
	return false
}

// piece is the length of the next token-like piece of out: a special token whole, else up to six
// bytes that end before a space or other break, now and then inside a character.
func piece(out []byte, at int, next int, random uint64) int {
	end := len(out)
	if next > at {
		end = min(end, next)
	}
	n := 1 + int(random%6)
	for i := 1; i < n && at+i < end; i++ {
		if c := out[at+i]; c == ' ' || c == '\n' || c == '"' || c == '<' || c == '{' {
			return i
		}
	}
	return min(n, end-at)
}

// random is a step of a 64-bit xorshift generator.
func random(x uint64) uint64 {
	x |= 1 // it never leaves zero
	x ^= x << 13
	x ^= x >> 7
	return x ^ x<<17
}
