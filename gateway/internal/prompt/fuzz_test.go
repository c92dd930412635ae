package prompt_test

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/jinja"
)

// conversation makes a request from random numbers: roles, parts and texts of all kinds, in any order.
func conversation(rng *rand.Rand, size int) *conv.Request {
	words := []string{"", "a", "\n", " b ", "<think>", "</e>", "é\xff", `{"k": "v"}`, `{"a":[1,{"b":null}],"c":"x\ny"}`, "[1,", "<|user|>", strings.Repeat("w", 300), "null", "{}"}
	word := func() string { return words[rng.IntN(len(words))] }
	req := &conv.Request{}
	for range rng.IntN(4) {
		req.Tools = append(req.Tools, conv.ToolDef{Name: word(), Description: word(), Namespace: word(), Schema: []byte(word()), Deferred: rng.IntN(3) == 0, Kind: conv.ToolKind(rng.IntN(2))})
	}
	for range rng.IntN(size) {
		m := conv.Message{Role: conv.Role(1 + rng.IntN(5)), Name: words[rng.IntN(2)]}
		for range rng.IntN(4) {
			var p conv.Part
			switch k := rng.IntN(8); {
			case m.Role == conv.Assistant && k < 3:
				p = call(word(), word(), word())
				p.Call.Kind = conv.ToolKind(rng.IntN(2))
			case m.Role == conv.Assistant && k < 5:
				p = think(word())
			case (m.Role == conv.User || m.Role == conv.Tool) && k < 3:
				p = result(word(), text(word()), conv.Part{Kind: conv.Reference, Text: word()})
			case k == 5:
				p = conv.Part{Kind: conv.Reference, Text: word()}
			case k == 6 && rng.IntN(8) == 0:
				p = conv.Part{Kind: conv.MediaPart, Media: &conv.Media{Type: "image"}}
			default:
				p = text(word())
			}
			m.Parts = append(m.Parts, p)
		}
		req.Messages = append(req.Messages, m)
	}
	req.Prompting.Continue, req.Prompting.NoGeneration = rng.IntN(6) == 0, rng.IntN(6) == 0
	if rng.IntN(4) == 0 {
		req.TemplateArgs = []byte(`{"thinking": false}`)
	}
	return req
}

// input adds what a host knows: turns that are remembered, a plan that fits, a family that writes.
func input(rng *rand.Rand, req *conv.Request) *prompt.Input {
	in := &prompt.Input{Request: req, Sum: sum, Origins: true}
	if rng.IntN(2) == 0 {
		in.Write = write
	}
	if rng.IntN(2) == 0 {
		n := rng.IntN(3)
		in.Turns = func(i int) *prompt.Turn {
			if i%3 != n {
				return nil
			}
			return &prompt.Turn{Before: []string{"", "</e>\n<t>assistant\n"}[i%2], Text: "words </e> a", IDs: []uint32{1}, Reasoning: []string{"", "R"}[i%2]}
		}
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			op := plan.Op{Message: uint32(i), Part: uint16(j)}
			switch k := req.Messages[i].Parts[j].Kind; {
			case req.Messages[i].Role != conv.Assistant:
				continue
			case k == conv.Reasoning:
				op.Kind, op.Action = plan.PartOp, plan.PartAction(rng.IntN(3))
			case k == conv.Call && rng.IntN(2) == 0:
				op.Kind, op.Value = plan.CallIDOp, "id"
			default:
				continue
			}
			in.Plan = append(in.Plan, op)
		}
	}
	return in
}

// FuzzRender makes conversations of all kinds, with templates of all kinds: a render ends with a prompt
// whose origins cover it, or with a fault.
func FuzzRender(f *testing.F) {
	var models []*prompt.Model
	for _, name := range []string{"loop", "strict", "single", "parts"} {
		models = append(models, own(f, name))
	}
	for seed := range uint64(300) {
		f.Add(seed, uint8(seed%20), "")
	}
	f.Add(uint64(1), uint8(9), read(f, filepath.Join("testdata", "parts.jinja")))
	f.Fuzz(func(t *testing.T, seed uint64, size uint8, template string) {
		for _, m := range models {
			rng := rand.New(rand.NewPCG(seed, 1))
			req := conversation(rng, 1+int(size%24))
			req.Prompting.Template = template
			in := input(rng, req)
			p, err := m.Render(t.Context(), in)
			if err != nil {
				if _, ok := errors.AsType[*fault.Error](err); !ok {
					t.Fatalf("error %v is no fault", err)
				}
				continue
			}
			covers(t, p)
			for _, s := range p.Spans {
				if s.Origin.Kind == jinja.FromUser && int(s.Origin.Message) < len(req.Messages) {
					if r := req.Messages[s.Origin.Message].Role; r != conv.User && r != conv.Tool && req.TemplateArgs == nil {
						t.Fatalf("bytes of a user in a message of %s", r)
					}
				}
			}
			again, err := m.Render(t.Context(), in)
			if err != nil || again.Text != p.Text {
				t.Fatalf("the same request, another prompt: %v", err)
			}
		}
	})
}
