package plughost_test

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/plughost"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
	"github.com/weirgate/weir/plugins/builtin"
	"github.com/weirgate/weir/plugins/template"
)

// talk is a conversation with each kind of part, of some length.
func talk(turns int) *plan.RenderInput {
	in := &plan.RenderInput{
		Tools:    []plan.RenderTool{{Name: "get", Description: "gets", Schema: `{"type":"object"}`}},
		Switches: []byte(`{"thinking":"on","tools":1}`),
		Content:  plan.ReadAll,
	}
	add := func(message int, role conv.Role, kind conv.PartKind, r plan.RenderRow) {
		r.Message, r.Role, r.Kind = uint32(message), uint8(role), uint8(kind)
		if n := len(in.Rows); n > 0 && in.Rows[n-1].Message == r.Message {
			r.Part = in.Rows[n-1].Part + 1
		}
		in.Rows = append(in.Rows, r)
	}
	for k := range turns {
		m, id := 3*k, fmt.Sprint("call_", k)
		add(m, conv.User, conv.Text, plan.RenderRow{Text: strings.Repeat("what? ", 50)})
		add(m+1, conv.Assistant, conv.Reasoning, plan.RenderRow{Text: "I look."})
		add(m+1, conv.Assistant, conv.Call, plan.RenderRow{Name: "get", ID: id, Text: `{"path":"a\nb","lines":[1,2]}`})
		add(m+2, conv.Tool, conv.Result, plan.RenderRow{Name: "get", ID: id, Text: strings.Repeat("line\n", 100)})
	}
	return in
}

func builtinRenderer(tb testing.TB, name string) *plughost.Renderer {
	tb.Helper()
	r, err := load(tb, newHost(tb, plughost.Options{CacheDir: once.cache}), builtin.Wasm()).Renderer([]byte(`{"renderer": "` + name + `"}`))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestRenderAsNatively wants of the module what the package makes natively, whatever went before.
func TestRenderAsNatively(t *testing.T) {
	t.Parallel()
	r := builtinRenderer(t, "deepseek_v4")
	var native template.Renderer
	if err := native.Open([]byte(`{"renderer": "deepseek_v4"}`)); err != nil {
		t.Fatal(err)
	}
	for _, turns := range []int{1, 2000, 0, 5} {
		in := talk(turns)
		want, err := guest.Rendered(&native, in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Render(in)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d turns: %d bytes, natively %d", turns, len(got.Text), len(want.Text))
		}
	}
}

func TestRenderAtOnce(t *testing.T) {
	t.Parallel()
	p := load(t, newHost(t, plughost.Options{CacheDir: once.cache, Instances: 3}), builtin.Wasm())
	config := []byte(`{"renderer": "deepseek_v3_2"}`)
	want, err := p.Render("", config, talk(3))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for range 20 {
				got, err := p.Render(fmt.Sprint("tenant", k%2), config, talk(3))
				if err != nil || got.Text != want.Text {
					t.Errorf("got %d bytes, %v", len(got.Text), err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := p.Holders(); n != 0 {
		t.Errorf("%d holders", n)
	}
}

// writer is a guest whose weir1_render returns an answer that lies in its memory.
func writer(members string, answer []byte, code ...string) tiny {
	const at = 0xc000
	return tiny{
		manifest: `{"name": "writer", "version": "1", "abi": 1, "kinds": ["template"], "renderers": ["w"]` + members + `}`,
		more: func(m *w.Module) {
			m.Data(at, answer)
			code = append(code, w.I64Const(at<<32|int64(len(answer))))
			m.Export(abi.ExportRender, w.Func, m.Func(m.Type([]byte{w.I32}, []byte{w.I64}), nil, code...))
		},
	}
}

func encoded(a *plan.Answer) []byte { return plan.AppendAnswer(nil, a) }

func TestRenderFaults(t *testing.T) {
	t.Parallel()
	in := talk(1)
	whole := encoded(&plan.Answer{Literals: "hi", Segments: []plan.Segment{{To: 2}}})
	loop := "\x03\x40" + w.Br(0) + w.End
	for _, c := range []struct {
		name  string
		guest tiny
		kind  plughost.Kind
		text  string
	}{
		{"nothing", writer("", nil, w.I64Const(0), w.Return), plughost.KindProtocol, "answer header"},
		{"an error", writer("", nil, w.I64Const(-2), w.Return), plughost.KindRefused, "weir1_render returned -2"},
		{"a trap", writer("", nil, w.Unreachable), plughost.KindTrap, "unreachable"},
		{"no end", writer("", nil, loop), plughost.KindFuel, "out of"},
		{"outside the memory", writer("", nil, w.I64Const(0x1fff0<<32|32), w.Return), plughost.KindRecords, "in a memory of"},
		{"too long", writer("", nil, w.I64Const(plan.MaxAnswer+1), w.Return), plughost.KindRecords, "at most 4194304"},
		{"cut", writer("", whole[:len(whole)-1]), plughost.KindProtocol, "bad outline or plan"},
		{"a part that is not there", writer("", encoded(&plan.Answer{Segments: []plan.Segment{{Field: plan.Text, Index: 99, To: 1}}})), plughost.KindProtocol, "refers to what is not there"},
		{"bytes that are not there", writer("", encoded(&plan.Answer{Segments: []plan.Segment{{Field: plan.Name, Index: 2, To: 4}}})), plughost.KindProtocol, "refers to what is not there"},
		{"a tail", writer("", encoded(&plan.Answer{Ops: []plan.Op{{Kind: plan.TailOp}}})), plughost.KindProtocol, "instruction 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := load(t, newHost(t, plughost.Options{}), c.guest.wasm())
			r, err := p.Renderer([]byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time on another instance
				_, err = r.Render(in)
				wantErr(t, err, nil, c.text)
				f, ok := errors.AsType[*plughost.Fault](err)
				if !ok || f.Kind != c.kind || f.Export != abi.ExportRender || plughost.KindOf(err) != c.kind {
					t.Errorf("got %#v, want kind %s", err, c.kind)
				}
			}
		})
	}
}

// TestRenderHidesContent wants a guest to get what it asks for of what is granted: it answers with the word
// of the input that says what can be read.
func TestRenderHidesContent(t *testing.T) {
	t.Parallel()
	in := talk(1)
	in.Rows = in.Rows[:1]
	for _, c := range []struct {
		asks    string
		granted plan.Content
		want    plan.Content
	}{
		{"", plan.ReadAll, 0},
		{`, "content": false`, plan.ReadAll, 0},
		{`, "content": true`, plan.ReadAll, plan.ReadAll},
		{`, "content": true`, 0, 0},
		{`, "content": ["arguments", "tools"]`, plan.ReadAll, plan.ReadArguments | plan.ReadTools},
		{`, "content": ["text", "tools"]`, plan.ReadText | plan.ReadArguments, plan.ReadText},
	} {
		// The answer refers to as many bytes of the text as the word says.
		const at = 0xc000
		g := writer(c.asks, encoded(&plan.Answer{Segments: []plan.Segment{{Field: plan.Text}}}), w.I32Const(at+16+12), w.I32Const(inAt), w.Load(24), w.Store(0))
		r, err := load(t, newHost(t, plughost.Options{}), g.wasm()).Renderer([]byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		in.Content = c.granted
		got, err := r.Render(in)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Text) != int(c.want) || !strings.HasPrefix("what? w", got.Text) {
			t.Errorf("asks%s, granted %d: got %q, want %d", c.asks, c.granted, got.Text, c.want)
		}
		if in.Content != c.granted {
			t.Error("the input was changed")
		}
	}
}

func TestRendererIsRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, plughost.Options{CacheDir: once.cache})
	p := load(t, h, builtin.Wasm())
	_, err := p.Renderer([]byte(`{"renderer": "no-such"}`))
	wantErr(t, err, plughost.ErrConfig, "weir1_open returned -1")
	_, err = p.Renderer(make([]byte, abi.MaxConfig+1))
	wantErr(t, err, nil, "at most 65536")
	_, err = load(t, h, tiny{}.wasm()).Renderer([]byte("{}"))
	wantErr(t, err, nil, "plugin tiny is not a renderer")
	_, err = load(t, h, tiny{}.wasm()).Render("a", []byte("{}"), talk(1))
	wantErr(t, err, nil, "plugin tiny is not a renderer")

	r, err := p.Renderer([]byte(`{"renderer": "deepseek_v4"}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Plugin() != p {
		t.Error("the renderer is another plugin's")
	}
	large := talk(1)
	large.Rows = make([]plan.RenderRow, plan.MaxRows+1)
	_, err = r.Render(large)
	wantErr(t, err, plan.ErrFormat, "input of 65537 parts")
	if _, ok := errors.AsType[*plughost.Fault](err); ok {
		t.Error("a conversation that is too long is the plugin's fault")
	}
	p.Retire()
	_, err = r.Render(talk(1))
	wantErr(t, err, plughost.ErrRetired, "")
}

// TestRenderersMakeRoom has more tenants than a plugin keeps pools for.
func TestRenderersMakeRoom(t *testing.T) {
	t.Parallel()
	p := load(t, newHost(t, plughost.Options{}), writer("", encoded(&plan.Answer{Literals: "hi", Segments: []plan.Segment{{To: 2}}})).wasm())
	for k := range 300 {
		got, err := p.Render(strconv.Itoa(k), []byte("{}"), talk(1))
		if err != nil || got.Text != "hi" {
			t.Fatalf("tenant %d: %v", k, err)
		}
	}
	p.Trim()
	p.Trim()
}

func TestRenderersLoad(t *testing.T) {
	t.Parallel()
	manifest := func(members string) tiny {
		return tiny{manifest: `{"name": "x", "version": "1", "abi": 1` + members + `}`}
	}
	fault := func(g tiny) string {
		_, err := newHost(t, plughost.Options{}).Load(t.Context(), "", g.wasm(), "x")
		return fmt.Sprint(err)
	}
	for _, c := range []struct {
		name  string
		guest tiny
		want  string
	}{
		{"no render", manifest(`, "kinds": ["template"], "renderers": ["x"]`), "export weir1_render: missing"},
		{"no plan", writer(`, "policies": ["p"]`, nil), "export weir1_plan: missing"},
		{"no kind", manifest(`, "kinds": ["parser"], "renderers": ["x"]`), `"renderers": "kinds" has no "template"`},
		{"unknown content", writer(`, "content": ["all"]`, nil), `"content": got "all", want "text", "arguments" or "tools"`},
		{"content of another type", writer(`, "content": 1`, nil), `"content": byte`},
		{"a bad name", manifest(`, "kinds": ["template"], "renderers": ["X"]`), `"renderers": "X" is not a name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fault(c.guest); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if got := fault(writer("", nil)); got != "<nil>" {
		t.Errorf("a renderer without policies: %s", got)
	}
}

// TestRenderReports counts the faults of one tenant's prompts against the plugin.
func TestRenderReports(t *testing.T) {
	t.Parallel()
	p := load(t, newHost(t, plughost.Options{}), writer("", nil, w.Unreachable).wasm())
	for range 3 {
		if _, err := p.Render("a", []byte("{}"), talk(1)); err == nil {
			t.Fatal("no error")
		}
	}
	if n := p.Faults(); n != 3 {
		t.Errorf("%d faults counted", n)
	}
}

func BenchmarkRender(b *testing.B) {
	r := builtinRenderer(b, "deepseek_v4")
	in := talk(400)
	out, err := r.Render(in)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(out.Text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Render(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRenderNative(b *testing.B) {
	var r template.Renderer
	if err := r.Open([]byte(`{"renderer": "deepseek_v4"}`)); err != nil {
		b.Fatal(err)
	}
	in := talk(400)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := guest.Rendered(&r, in); err != nil {
			b.Fatal(err)
		}
	}
}
