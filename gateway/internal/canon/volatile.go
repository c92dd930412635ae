package canon

import (
	"slices"
	"strings"

	"github.com/weirgate/weir/abi/conv"
)

// Volatile describes blocks that a client puts at the end of a request and takes away again in the next.
type Volatile struct {
	Client string // who does it, for people
	Role   conv.Role
	Prefix string // what the block's text begins with
}

// VolatileBlocks are the blocks that are known. They were found by comparing recorded requests of one
// conversation with those that follow it: what ended the earlier one and is not in the later one.
//
//   - OpenClaw (2026.9.6) ends every request, on chat and on messages, with a user message of what it knows
//     of the moment, and leaves it out of the history.
//   - Claude Code (2.1.332) ends the request for a summary of the conversation, asked for or automatic, with
//     its instructions; what follows has the summary in place of the history.
//   - Codex (0.171.0) does the same with words of its own.
//
// Not here, though they look alike: the <system-reminder> texts and the system messages that Claude Code and
// Qwen Code add stay where they were put in every recorded conversation, and so does what Claude Code says
// after an answer that broke off, as far as the recordings show.
func VolatileBlocks() []Volatile {
	return []Volatile{
		{"OpenClaw", conv.User, "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"},
		{"Claude Code", conv.User, "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."},
		{"Codex", conv.User, "You are performing a CONTEXT CHECKPOINT COMPACTION."},
	}
}

// MarkVolatile marks the parts at the end of a conversation that rules describe: the last one and, while
// they are described too, those before it. It returns req itself when there is none, else a copy that
// shares what did not change; req is never written to.
func MarkVolatile(req *conv.Request, rules []Volatile) *conv.Request {
	out := req
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := &req.Messages[i]
		n := 0
		for n < len(m.Parts) && described(rules, m, &m.Parts[len(m.Parts)-1-n]) {
			n++
		}
		if n > 0 {
			if out == req {
				c := *req
				c.Messages = slices.Clone(req.Messages)
				out = &c
			}
			parts := slices.Clone(m.Parts)
			for j := len(parts) - n; j < len(parts); j++ {
				parts[j].Volatile = true
			}
			out.Messages[i].Parts = parts
		}
		if n < len(m.Parts) {
			break
		}
	}
	return out
}

func described(rules []Volatile, m *conv.Message, p *conv.Part) bool {
	return p.Kind == conv.Text && slices.ContainsFunc(rules, func(v Volatile) bool {
		return v.Role == m.Role && strings.HasPrefix(p.Text, v.Prefix)
	})
}
