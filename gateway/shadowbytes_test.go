package gateway_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/shadow"
	sf "github.com/weirgate/weir/gateway/internal/surface"
	chatsurface "github.com/weirgate/weir/gateway/internal/surface/chat"
	messagesurface "github.com/weirgate/weir/gateway/internal/surface/messages"
	"github.com/weirgate/weir/gateway/internal/transport"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// cut is an engine that gives a text in pieces of n bytes, one a delta.
type cut struct {
	text string
	n    int
}

func (cut) Capabilities() engines.Capabilities { return engines.Capabilities{} }

func (c cut) Generate(context.Context, *engines.Request) (engines.Stream, error) { return &c, nil }

func (c *cut) Next() (*engines.Delta, error) {
	if c.n == 0 {
		return nil, io.EOF
	}
	d := &engines.Delta{Bytes: []byte(c.text[:min(c.n, len(c.text))]), Tokens: 1}
	if c.text = c.text[len(d.Bytes):]; c.text == "" {
		c.n, d.Finish = 0, &engines.Finish{Reason: engines.ReasonStop}
	}
	return d, nil
}

func (*cut) Close() error { return nil }

// written is a client's sink whose frames and flushes are kept as they came.
type written struct {
	sf.Encoder
	buf bytes.Buffer
}

func (w *written) Write(f transport.Frame) error {
	w.buf.WriteString(f.Event + ": ")
	w.buf.Write(f.Data)
	w.buf.WriteByte('\n')
	return nil
}

func (w *written) Flush() (bool, error) {
	w.buf.WriteString("flush\n")
	return true, nil
}

// writer is a sink's other half: flushes come from the turn.
type writer struct{ *written }

func (writer) Flush() error { return nil }

type silent struct{}

func (silent) Tokens(int)              {}
func (silent) PluginFault(*host.Fault) {}

// TestShadowLeavesNoTrace wants every frame and every flush to be the same with a shadow and without, at any
// chunking, whatever the shadow makes of the stream.
func TestShadowLeavesNoTrace(t *testing.T) {
	t.Parallel()
	const text = "<think>\nso \u00e9\n</think>\n\nSure <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1, \"t\": \"x\"}}\n</tool_call> stop here, not"
	const both = `{"reasoning":"qwen3","tools":"hermes"}`
	plugin := builtinPlugin(t)
	open := func(config string) *plughost.Stream {
		t.Helper()
		r, err := plugin.Parser([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		st, err := r.Stream()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(st.Close)
		return st
	}
	for _, s := range []struct {
		surface sf.Surface
		request string
	}{
		{chatsurface.Surface{}, chat().body("m", "hi", chat().tools("f"), chat().stops("here"), streamed)},
		{messagesurface.Surface{}, messages().body("m", "hi", messages().tools("f"), messages().stops("here"), thinks, streamed)},
	} {
		for _, n := range []int{1, 2, 7, 64, len(text)} {
			var without string
			for _, c := range []struct {
				config string
				want   shadow.Result
			}{{"", ""}, {both, shadow.Same}, {`{}`, shadow.Different}, {`{"tools":"hermes"}`, shadow.Different}} {
				req, err := s.surface.Decode([]byte(s.request), nil)
				if err != nil {
					t.Fatal(err)
				}
				out := &written{}
				out.Encoder = s.surface.Encode(req, sf.Info{ID: "x", Model: "m", Created: time.Unix(1, 0)}, writer{out})
				tn := &turn.Turn{
					Request: &engines.Request{}, Prompt: &turn.Prompt{Start: guest.Start{Tools: true, Thinking: guest.ThinkingOn}.Append(nil)},
					Replicas: []turn.Replica{{Engine: cut{text, n}}}, Parser: open(both), Streamed: true, Sink: out, Meter: silent{},
					Assemble: assemble.Options{Tools: req.Tools, Choice: req.Choice, Stop: req.Stop},
					Times:    turn.Times{KeepAlive: time.Hour, HeaderWait: time.Hour},
				}
				var sh *shadow.Stream
				if c.config != "" {
					sh = shadow.New(shadow.Options{Guest: open(c.config), Assemble: tn.Assemble})
					tn.Shadow = sh
				}
				if o, err := tn.Run(t.Context()); err != nil || o.Fault != nil {
					t.Fatalf("%v, %v", err, o.Fault)
				}
				if sh == nil {
					without = out.buf.String()
					continue
				}
				if o := sh.Outcome(); o.Result != c.want {
					t.Errorf("%s in pieces of %d: shadow %s: %s, %+v", s.surface.Name(), n, c.config, o.Result, o.Difference)
				}
				if got := out.buf.String(); got != without {
					t.Errorf("%s in pieces of %d, shadow %s:\n%s\nwithout\n%s", s.surface.Name(), n, c.config, got, without)
				}
			}
		}
	}
}
