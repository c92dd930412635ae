package ledger_test

import (
	"testing"

	"github.com/weirgate/weir/gateway/internal/ledger"
)

// long is a prompt of 61,000 tokens and 201 KB in 400 parts. The first shared parts and tokens do not
// depend on seed.
func long(seed, shared int) *ledger.Prompt {
	const tokens, parts, bytes = 61_000, 400, 201_000
	own := prose(seed, 40_000)
	common := prose(0, 40_000)
	cut := bytes * shared / tokens
	p := &ledger.Prompt{
		IDs:   append(ids(0, tokens)[:shared:shared], ids(seed, tokens-shared)...),
		Text:  common[:cut] + own[:bytes-cut],
		Block: 16,
	}
	for i := range parts {
		at := i * (bytes / parts)
		part := ledger.Part{Kind: ledger.User, Message: i, Start: at + 20, End: at + bytes/parts}
		switch i % 4 {
		case 1:
			part.Kind = ledger.Reasoning
		case 2:
			part.Kind, part.Name = ledger.Call, "open"
		case 3:
			part.Kind = ledger.ToolResult
		}
		p.Parts = append(p.Parts, part)
	}
	p.Parts[0].Kind = ledger.System
	return p
}

// BenchmarkObserve gives the cost of a prompt of 61,000 tokens: of new conversations, of conversations of
// which 57,000 tokens are the same, and of one that goes on.
func BenchmarkObserve(b *testing.B) {
	for _, c := range []struct {
		name    string
		shared  int
		session bool // one for all, else one each
		bytes   bool
	}{
		{"first", 0, false, false},
		{"unique", 0, true, false},
		{"shared57k", 57_000, true, false},
		{"same", 61_000, true, false},
		{"bytes/unique", 0, true, true},
		{"bytes/shared57k", 57_000, true, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			prompts := make([]*ledger.Prompt, 16)
			for i := range prompts {
				prompts[i] = long(i+1, c.shared)
				prompts[i].Key = key
				if c.bytes {
					prompts[i].IDs = nil
				}
				if !c.session {
					prompts[i].Key = session(i)
				}
			}
			l := ledger.New(ledger.Options{Prompts: 8})
			for b.Loop() {
				p := prompts[0]
				prompts = append(prompts[1:], p)
				if !c.session {
					l = ledger.New(ledger.Options{})
				}
				l.Observe(p)
			}
		})
	}
}

// BenchmarkTurns goes through a conversation that grows to 61,000 tokens by 600 a turn, with its answers.
func BenchmarkTurns(b *testing.B) {
	p := long(1, 61_000)
	b.ReportAllocs()
	n, l := 0, ledger.New(ledger.Options{})
	for b.Loop() {
		if n += 600; n > len(p.IDs) || n == 600 {
			n, l = 30_000, ledger.New(ledger.Options{})
		}
		q := *p
		q.Key, q.IDs = key, p.IDs[:n]
		q.Text = p.Text[:len(p.Text)*n/len(p.IDs)]
		q.Parts = p.Parts[:len(p.Parts)*n/len(p.IDs)]
		l.Observe(&q)
	}
}
