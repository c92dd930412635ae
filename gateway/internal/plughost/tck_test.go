package plughost_test

import (
	"context"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/abi/tck"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// TestConformance takes this host through the kit for hosts.
func TestConformance(t *testing.T) {
	t.Parallel()
	h := newHost(t, plughost.Options{})
	tck.Run(t, kitHost{ctx: t.Context(), h: h})
	if n := h.Live(); n != 0 {
		t.Errorf("%d plugins live", n)
	}
}

type kitHost struct {
	ctx context.Context //nolint:containedctx // the test's; the kit has no contexts
	h   *plughost.Host
}

func (k kitHost) Load(wasm []byte) (tck.Plugin, error) {
	p, err := k.h.Load(k.ctx, "", wasm, "kit")
	if err != nil {
		return nil, err
	}
	return kitPlugin{p}, nil
}

type kitPlugin struct{ p *plughost.Plugin }

func (k kitPlugin) Close() { k.p.Retire() }

func (k kitPlugin) Render(config []byte, in *plan.RenderInput) (*plan.Rendered, error) {
	return k.p.Render("", config, in)
}

func (k kitPlugin) Open(config []byte) (tck.Parser, error) {
	r, err := k.p.Parser(config)
	if err != nil {
		return nil, err
	}
	return kitParser{r}, nil
}

type kitParser struct{ r *plughost.Parser }

func (k kitParser) Start(block []byte, sink tck.Sink) (tck.Stream, error) {
	g, err := k.r.Stream()
	if err != nil {
		return nil, err
	}
	s, _ := host.Open(g, kitSink{sink}, block) // the fault of a start is the stream's
	return kitStream{Stream: s, guest: g}, nil
}

type kitSink struct{ to tck.Sink }

func (k kitSink) Accept(recs []record.Record, in []byte) bool {
	name := recs[len(recs)-1]
	return k.to.Accept(in[name.Ptr : name.Ptr+name.Len])
}

func (k kitSink) Record(r record.Record, b []byte) error {
	k.to.Record(r, b)
	return nil
}

type kitStream struct {
	*host.Stream
	guest *plughost.Stream
}

func (k kitStream) Finish(why abi.Why) error { return k.Stream.Finish(why) }

func (k kitStream) Fault() string {
	if f := k.Stream.Fault(); f != nil {
		return f.Export
	}
	return ""
}

func (k kitStream) Close() { k.guest.Close() }
