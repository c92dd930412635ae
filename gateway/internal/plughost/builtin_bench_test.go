package plughost_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/plughost"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
	"github.com/weirgate/weir/plugins/builtin"
)

// answer64 is an answer of 64 tokens that thinks, speaks and calls, as an engine cuts it.
func answer64() []string {
	prose := strings.SplitAfter(" the| river| falls| over| a| low| wall|,| so|", "|")
	var out []string
	words := func() {
		for _, w := range prose {
			if w != "" {
				out = append(out, strings.TrimSuffix(w, "|"))
			}
		}
	}
	out = append(out, "<think>", "\n")
	words()
	out = append(out, "\n", "</think>", "\n\n")
	words()
	out = append(out, "<tool_call>", "\n", `{"`, `name`, `":`, ` "`, `write`, `_file`, `",`, ` "`, `arguments`, `":`,
		` {"`, `path`, `":`, ` "`, `notes`, `.md`, `",`, ` "`, `content`, `":`, ` "`)
	words()
	return append(out, `"}}`, "\n", "</tool_call>")
}

// builtinPlugin is the built-in guest.
func builtinPlugin(b *testing.B) *plughost.Plugin {
	b.Helper()
	return load(b, newHost(b, plughost.Options{CacheDir: once.cache}), builtin.Wasm())
}

// BenchmarkStream is the whole parse of an answer of 64 tokens by the built-in guest, from start to finish:
// fed token by token, and as the one piece that waits when the engine is ahead.
func BenchmarkStream(b *testing.B) {
	tokens := answer64()
	p, err := builtinPlugin(b).Parser([]byte(`{"reasoning":"qwen3","tools":"hermes"}`))
	if err != nil {
		b.Fatal(err)
	}
	start := guest.Start{Tools: true, Thinking: guest.ThinkingOn, Tail: []byte("<|im_start|>assistant\n")}.Append(nil)
	for _, c := range []struct {
		name   string
		pieces []string
	}{
		{"tokens", tokens},
		{"burst", []string{strings.Join(tokens, "")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var pieces [][]byte
			for _, t := range c.pieces {
				pieces = append(pieces, []byte(t))
			}
			sink := &discard{}
			b.ReportAllocs()
			for b.Loop() {
				g, err := p.Stream()
				if err != nil {
					b.Fatal(err)
				}
				s, err := host.Open(g, sink, start)
				if err != nil {
					b.Fatal(err)
				}
				for _, t := range pieces {
					if err := s.Feed(t, nil, false); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.Finish(abi.WhyStop); err != nil || s.Fault() != nil {
					b.Fatalf("%v, %v", err, s.Fault())
				}
				g.Close()
			}
		})
	}
}

// BenchmarkBuiltinFeed is one feed of 8 bytes in each part of an answer.
func BenchmarkBuiltinFeed(b *testing.B) {
	for _, c := range []struct{ name, config, before, piece string }{
		{"text", `{"reasoning":"qwen3","tools":"hermes"}`, "So: ", "plain te"},
		{"json string", `{"reasoning":"qwen3","tools":"hermes"}`, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"t\": \"", "plain te"},
		{"json numbers", `{"reasoning":"qwen3","tools":"hermes"}`, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"t\": [", "12, -3.5,"},
		{"xml value", `{"reasoning":"qwen3","tools":"qwen3_coder"}`, "<tool_call>\n<function=f>\n<parameter=t>\n", "plain te"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := builtinPlugin(b).Parser([]byte(c.config))
			if err != nil {
				b.Fatal(err)
			}
			s, err := host.Open(p, &discard{}, guest.Start{Tools: true}.Append(nil))
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Feed([]byte(c.before), nil, false); err != nil {
				b.Fatal(err)
			}
			piece := []byte(c.piece)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Feed(piece, nil, false); err != nil {
					b.Fatal(err)
				}
			}
			if s.Fault() != nil {
				b.Fatal(s.Fault())
			}
		})
	}
}

// BenchmarkPlan is one call of the built-in template policy: a first turn, and a tool loop of 60 messages.
func BenchmarkPlan(b *testing.B) {
	p, err := builtinPlugin(b).Planner([]byte(`{"policy":"qwen3"}`))
	if err != nil {
		b.Fatal(err)
	}
	row := func(m int, role conv.Role, kind conv.PartKind, flags uint16) plan.Row {
		return plan.Row{Message: uint32(m), Role: uint8(role), Kind: uint8(kind), Length: 100, Flags: flags}
	}
	rows := []plan.Row{row(0, conv.System, conv.Text, 0), row(1, conv.User, conv.Text, plan.RowLastUser)}
	loop := rows
	for m := 2; m < 60; m += 2 {
		call := row(m, conv.Assistant, conv.Call, 0)
		call.Part, call.Name = 1, "write_file"
		result := row(m+1, conv.Tool, conv.Result, 0)
		result.Name = "call_0123456789abcdef"
		loop = append(loop, row(m, conv.Assistant, conv.Reasoning, 0), call, result)
	}
	for _, c := range []struct {
		name string
		rows []plan.Row
	}{{"first", rows}, {"loop", loop}} {
		outline := plan.AppendOutline(nil, &plan.Outline{Rows: c.rows, Switches: []byte(`{"thinking":"on","default":"on","tools":1}`)})
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Ops(outline); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRoundRobin is one feed of 8 bytes of prose, on 10,000 streams in turn: their windows are cold, the
// instance is hot. tiny is a guest that does next to nothing, and so the price of the path.
func BenchmarkRoundRobin(b *testing.B) {
	c, err := os.ReadFile("../../../plugins/examples/built/c-parser.wasm")
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name, config string
		wasm         []byte
	}{
		{"tiny", `{}`, tiny{}.wasm()},
		{"c", `{}`, c},
		{"builtin", `{"reasoning":"qwen3","tools":"hermes"}`, builtin.Wasm()},
	} {
		b.Run(bench.name, func(b *testing.B) {
			p, err := load(b, newHost(b, plughost.Options{CacheDir: once.cache}), bench.wasm).Parser([]byte(bench.config))
			if err != nil {
				b.Fatal(err)
			}
			streams := make([]*host.Stream, 10_000)
			for k := range streams {
				if streams[k], err = host.Open(p, &discard{}, guest.Start{Tools: true}.Append(nil)); err != nil {
					b.Fatal(err)
				}
				if err := streams[k].Feed([]byte("So:"), nil, false); err != nil {
					b.Fatal(err)
				}
			}
			piece := []byte(" plain t")
			b.ReportAllocs()
			for k := 0; b.Loop(); k++ {
				if k == len(streams) {
					k = 0
				}
				if err := streams[k].Feed(piece, nil, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEmptyCall is what the engine takes for a call of a function that does nothing: the measure for
// BenchmarkRoundRobin, since it differs between machines and hours.
func BenchmarkEmptyCall(b *testing.B) {
	m := &w.Module{}
	typ := m.Type([]byte{w.I32, w.I32, w.I32}, []byte{w.I64})
	m.Export("f", w.Func, m.Func(typ, nil, w.I64Const(0)))
	rt := wazero.NewRuntime(b.Context())
	defer rt.Close(b.Context())
	mod, err := rt.Instantiate(b.Context(), m.Bytes())
	if err != nil {
		b.Fatal(err)
	}
	f, stack := mod.ExportedFunction("f"), make([]uint64, 3)
	for b.Loop() {
		if err := f.CallWithStack(b.Context(), stack); err != nil {
			b.Fatal(err)
		}
	}
}
