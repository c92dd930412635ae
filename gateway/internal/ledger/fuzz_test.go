package ledger_test

import (
	"encoding/binary"
	"testing"

	"github.com/weirgate/weir/gateway/internal/ledger"
)

// FuzzShared observes prompts that are made of an input: each is a piece of an earlier one, then tokens
// (or bytes) of its own, and some have answers. What is shared must be what a plain comparison with all that are kept finds.
func FuzzShared(f *testing.F) {
	f.Add([]byte("\x00\x40\x01\x00\x41\x01\x01\x00\x02"), false)
	f.Add([]byte("\x00\xff\x01\x00\xff\x01\x01\xff\x02\x02\x80\x03"), true)
	f.Add([]byte("\x00\x3f\x01\x00\x40\x07\x00\x41\x07\x01\x81\x07"), false)
	f.Add([]byte("\x80\x40\x01\x80\x41\x01\x81\x20\x02"), false)
	f.Fuzz(func(t *testing.T, in []byte, bytes bool) {
		const keep = 4
		l := ledger.New(ledger.Options{Prompts: keep})
		var all []*ledger.Prompt
		for len(in) >= 3 && len(all) < 24 {
			p := &ledger.Prompt{Key: key}
			if n := len(all); n > 0 {
				from := all[n-1-int(in[0])%min(n, keep)]
				cut := int(binary.LittleEndian.Uint16(in[1:])) % (len(from.IDs) + len(from.Text) + 1)
				if bytes {
					p.Text = from.Text[:cut]
				} else {
					p.IDs = append(p.IDs, from.IDs[:cut]...)
				}
			}
			for i := range int(in[1]) * 3 {
				if bytes {
					p.Text += string(rune('a' + (int(in[2])+i)%7))
				} else {
					p.IDs = append(p.IDs, uint32(in[2])<<16+uint32(i))
				}
			}
			p.Tokens = len(p.Text)
			more := in[0] >= 128
			in = in[3:]
			if len(p.IDs)+len(p.Text) == 0 {
				continue
			}
			// A prompt that goes on from another takes its place, so more than the last few may count; none
			// of those that are gone may share more.
			least, most := 0, 0
			for i, q := range all {
				n := naive(p, q)
				most = max(most, n)
				if len(all)-i <= keep {
					least = max(least, n)
				}
			}
			r := l.Observe(p)
			if r.Shared < least || r.Shared > most {
				t.Fatalf("prompt %d: shared %d, want %d to %d", len(all), r.Shared, least, most)
			}
			if r.Expected > r.Shared || r.Expected >= r.Tokens || r.Expected%64 != 0 {
				t.Fatalf("%+v", r)
			}
			if more {
				a := ledger.Answer{Text: p.Text[:len(p.Text)/2], IDs: p.IDs[:len(p.IDs)/2]}
				l.Append(r.Ref, a)
				p.Text, p.IDs = p.Text+a.Text, append(p.IDs, a.IDs...)
			}
			all = append(all, p)
		}
	})
}

// FuzzParts observes parts that are anything.
func FuzzParts(f *testing.F) {
	f.Add("the north gate and the south gate", []byte("\x02\x00\x05\x04\x06\x09"), []byte("\x02\x00\x05\x04\x06\x0a"))
	f.Add("", []byte("\x04\x00\x31"), []byte("\x05\x00\x31"))
	f.Add("the north gate", []byte("\x07\x03\x03\x05\x06\x09"), []byte("\x07\x01\x03\x05\x06\x09"))
	f.Fuzz(func(t *testing.T, text string, a, b []byte) {
		l := ledger.New(ledger.Options{})
		for _, in := range [][]byte{a, b, a} {
			p := &ledger.Prompt{Key: key, Text: text}
			for ; len(in) >= 3; in = in[3:] {
				p.Parts = append(p.Parts, ledger.Part{
					Kind: ledger.Kind(in[0] & 15), Flags: ledger.Flags(in[0] >> 4), Message: int(in[1]) / 3, Name: text[:min(len(text), int(in[0])&1)],
					Start: int(in[1]), End: int(in[2]), Canonical: uint64(in[0] & 3),
				})
			}
			r := l.Observe(p)
			if r.Shared > r.Tokens || r.Cause.Break() && r.BrokeAt > r.Tokens || r.Header() == "" {
				t.Fatalf("%+v", r)
			}
			l.Append(r.Ref, ledger.Answer{Text: text, Parts: p.Parts})
		}
	})
}
