package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/canon"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// Cost is what one step of a request takes, on average: the processor time of the thread that does it, 0 where the
// system does not tell that.
type Cost struct {
	Step string
	Time time.Duration
}

// steps are those of a prompt, in order.
var steps = [...]string{"decode", "history", "plan", "prepare", "render", "tokenize", "ledger", "hand-over"}

// MeasurePrompt runs chat completions requests, one after the other and then from the first on again, through the
// steps from the body to the engine, and returns what each takes. hand-over ends when the engine has answered the
// request with its headers. The key is that of a tenant. Nothing else should be done meanwhile.
func (g *Gateway) MeasurePrompt(ctx context.Context, key string, bodies [][]byte, rounds int) ([]Cost, error) {
	costs := make([]Cost, len(steps))
	for i, name := range steps {
		costs[i].Step = name
	}
	runtime.LockOSThread() // each thread has a clock of its own
	defer runtime.UnlockOSThread()
	for i := range rounds {
		if err := g.measure(ctx, key, bodies[i%len(bodies)], costs); err != nil {
			return nil, err
		}
	}
	for i := range costs {
		costs[i].Time /= time.Duration(max(rounds, 1))
	}
	return costs, nil
}

// measure adds what each step of one request takes.
func (g *Gateway) measure(ctx context.Context, key string, body []byte, costs []Cost) error {
	last, step := plughost.ThreadTime(), 0
	done := func() {
		now := plughost.ThreadTime()
		costs[step].Time += now - last
		last = now
		step++
	}
	decoded, err := g.chat.Decode(body, http.Header{"Authorization": {"Bearer " + key}})
	if err != nil {
		return err
	}
	done()
	s := g.current.Load()
	t, cm, err := s.tenants.Admit(key, decoded.Model)
	if err != nil {
		return err
	}
	m := s.models[cm.ID]
	if m.enginePrompts() || m.Renderer != "" || m.vocab == nil {
		return fault.At(fault.Unsupported, "model", "weir has no template and vocabulary of model %s", m.ID)
	}
	req := canon.MarkVolatile(canon.StripPreamble(decoded.Request), g.volatile)
	p := &made{req: req, history: g.history(m, t, req)}
	done()
	ops, err := g.plan(ctx, m, t, req)
	if err != nil {
		return err
	}
	done()
	in := g.input(m, req, ops, p.history)
	in.Prepared = done
	if p.page, err = m.assets.template.Render(ctx, in); err != nil {
		return err
	}
	p.Text = p.page.Text
	done()
	g.count(ctx, m, t, p)
	defer g.release(p)
	done()
	g.ledger.Observe(&ledger.Prompt{Key: ledger.Key{Tenant: t.Name, Model: m.ID, Session: req.Session}, IDs: p.IDs, Text: p.Text, Parts: p.page.Parts})
	done()
	stream, err := m.engines[0].Generate(ctx, turn.RequestFor("", m.engineModel(), "", req, &p.Prompt, 1))
	if err != nil {
		return err
	}
	done()
	return drained(stream)
}

func drained(s engines.Stream) error {
	defer s.Close() //nolint:errcheck // read to its end
	for {
		if _, err := s.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
