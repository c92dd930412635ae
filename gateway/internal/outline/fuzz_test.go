package outline_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/outline"
)

// conversation makes a request of random parts, with texts from words.
func conversation(rng *rand.Rand, words []string) *conv.Request {
	word := func() string { return words[rng.IntN(len(words))] }
	var inner func(depth int) []conv.Part
	inner = func(depth int) []conv.Part {
		var out []conv.Part
		for range rng.IntN(3) {
			switch k := rng.IntN(8); {
			case k == 0 && depth < 3:
				out = append(out, result(word(), inner(depth+1)...))
			case k == 1:
				out = append(out, reference(word()))
			default:
				out = append(out, text(word()))
			}
		}
		return out
	}
	part := func() conv.Part {
		p := conv.Part{Kind: conv.PartKind(1 + rng.IntN(6)), Text: word(), Seal: word()}
		switch p.Kind {
		case conv.Call:
			if p.Text = ""; rng.IntN(8) > 0 {
				p.Call = &conv.ToolCall{ID: word(), Namespace: word(), Name: word(), Arguments: word(), Kind: conv.ToolKind(rng.IntN(2))}
			}
		case conv.Result:
			if p.Text = ""; rng.IntN(8) > 0 {
				p.Result = &conv.ToolResult{CallID: word(), IsError: rng.IntN(2) == 0, Parts: inner(0)}
			}
		case conv.MediaPart:
			if rng.IntN(4) > 0 {
				return text(word())
			}
			p = conv.Part{Kind: conv.MediaPart, Media: []*conv.Media{nil, {Data: word()}, {URL: word()}}[rng.IntN(3)]}
		}
		return p
	}
	req := &conv.Request{Prompting: conv.Prompting{NoGeneration: rng.IntN(2) == 0, Continue: rng.IntN(2) == 0}}
	for range rng.IntN(8) {
		m := conv.Message{Role: conv.Role(1 + rng.IntN(5))}
		for range rng.IntN(4) {
			m.Parts = append(m.Parts, part())
		}
		req.Messages = append(req.Messages, m)
	}
	for range rng.IntN(4) {
		req.Tools = append(req.Tools, conv.ToolDef{
			Kind: conv.ToolKind(rng.IntN(2)), Namespace: word(), Name: word(), Description: word(), Schema: []byte(word()), Format: []byte(word()),
			Strict: rng.IntN(2) == 0, Deferred: rng.IntN(2) == 0,
		})
	}
	req.Thinking = conv.Thinking{Mode: conv.ThinkingMode(rng.IntN(4)), Effort: word()}
	if rng.IntN(3) == 0 {
		req.TemplateArgs = []byte(word())
	}
	return req
}

// What is written can be read and is the same again, a row for each part; what cannot be written is a fault.
func FuzzOutline(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, "text", `{"a": 1}`, "<system-reminder>x</system-reminder>")
	}
	f.Fuzz(func(t *testing.T, seed uint64, a, b, c string) {
		words := []string{"", "w", " ", a, b, c, a + b, "{}", "<system-reminder>" + a + "</system-reminder>", "<tool_response>" + b + "</tool_response>"}
		req := conversation(rand.New(rand.NewPCG(seed, 3)), words)
		parts, tools := 0, 0
		for i := range req.Messages {
			parts += len(req.Messages[i].Parts)
		}
		for i := range req.Tools {
			if !req.Tools[i].Deferred {
				tools++
			}
		}
		doc, err := outline.Of(req, seed%2 == 0, toolname.Of)
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok || req.TemplateArgs == nil {
				t.Fatal(err)
			}
			return
		}
		o, err := plan.ParseOutline(doc)
		if err != nil || len(o.Rows) != parts || !jsonscan.Valid(o.Switches) {
			t.Fatalf("%d rows of %d parts, switches %q, %v", len(o.Rows), parts, o.Switches, err)
		}
		in, err := outline.Input(req, seed%2 == 0, toolname.Of)
		if err != nil {
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.Unsupported {
				t.Fatal(err)
			}
			return
		}
		if len(in.Rows) != parts || len(in.Tools) != tools || !jsonscan.Valid(in.Switches) {
			t.Fatalf("%d rows of %d parts, %d tools of %d, switches %q", len(in.Rows), parts, len(in.Tools), tools, in.Switches)
		}
		for i, r := range in.Rows {
			w := o.Rows[i]
			if r.Message != w.Message || r.Part != w.Part || r.Kind != w.Kind || r.Role != w.Role || r.Flags&^plan.RowCustom != w.Flags {
				t.Fatalf("row %d is %+v for a renderer, %+v for a policy", i, r, w)
			}
			if conv.PartKind(r.Kind) == conv.Call && len(r.Name) < 1<<16 && r.Name != w.Name {
				t.Fatalf("row %d names %q for a renderer, %q for a policy", i, r.Name, w.Name)
			}
		}
		in.Content = plan.ReadAll
		encoded, err := plan.AppendRenderInput(nil, in)
		if err != nil {
			if !errors.Is(err, plan.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		got, err := plan.ParseRenderInput(encoded)
		if err != nil {
			t.Fatal(err)
		}
		in.Rows, in.Tools = append([]plan.RenderRow{}, in.Rows...), append([]plan.RenderTool{}, in.Tools...)
		if !reflect.DeepEqual(got, in) {
			t.Fatalf("read %+v\nwrote %+v", got, in)
		}
	})
}

// BenchmarkOf is what a conversation of 200 parts costs a request.
func BenchmarkOf(b *testing.B) {
	req := request()
	for range 50 {
		req.Messages = append(req.Messages, user("Go on."), msg(conv.Assistant, text("Next."), call("a", "edit", "{}")), msg(conv.Tool, result("a", text("output"))))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := outline.Of(req, true, toolname.Of); err != nil {
			b.Fatal(err)
		}
	}
}
