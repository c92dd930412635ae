package plughost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/tetratelabs/wazero/api"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
)

// Parser is a parser plugin with one configuration: a pool of instances, any of which serves any stream
// for one call. It is a host.Guest that is safe for concurrent use, as long as somebody holds its plugin
// (see Plugin.Acquire); streams should use the guest that Stream returns, which does. The error of a
// call that found no instance is ErrBusy or ErrRetired.
type Parser struct {
	plugin   *Plugin
	config   []byte
	template []byte
	pool     *pool
	streams  int    // open ones, guarded by plugin.mu
	used     uint64 // when it was used last, guarded by plugin.mu
}

// errSticky tells of a plugin without a state window used as if it had one.
var errSticky = errors.New("plugin keeps state of its own: use Stream")

func newParser(p *Plugin, config []byte) (*Parser, error) {
	r := &Parser{plugin: p, config: append([]byte(nil), config...)}
	r.pool = newPool(p.host.o.Instances, p.host.o.Wait, r.instance)
	first, err := r.pool.take(true)
	if err != nil {
		return nil, err
	}
	r.template = bytes.Clone(first.state)
	if r.Sticky() {
		r.pool.drop(first) // the first stream gets an instance of its own
		r.pool.open = func() (*instance, error) { return nil, errSticky }
	} else {
		r.pool.place(first)
	}
	return r, nil
}

// instance makes an open instance whose window has the size that streams have.
func (r *Parser) instance() (*instance, error) {
	i, err := newInstance(context.Background(), r.plugin, false)
	if err != nil {
		return nil, err
	}
	if err = i.configure(r.config); err == nil && r.template != nil && len(i.state) != len(r.template) {
		err = protocolf("state window of %d bytes, was %d in another instance", len(i.state), len(r.template))
	}
	if err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// Plugin is the version this parser belongs to.
func (r *Parser) Plugin() *Plugin { return r.plugin }

// Sticky reports that the plugin has no state window, so that each stream needs an instance.
func (r *Parser) Sticky() bool { return len(r.template) == 0 }

// Instances is the number of pooled instances, idle or in use.
func (r *Parser) Instances() int { return int(r.pool.live.Load()) }

// Template is the window of a new stream. It must not be changed.
func (r *Parser) Template() []byte { return r.template }

// Start begins a stream; a plugin that does not export weir1_start is not called.
func (r *Parser) Start(window, start []byte) error { return r.begin(window, start, true) }

func (r *Parser) begin(window, start []byte, wait bool) error {
	i, err := r.pool.take(wait)
	if err == nil {
		err = r.pool.settle(i, i.begin(window, start))
	}
	return err
}

// Feed runs weir1_feed. It allocates nothing as long as c.Records has room.
func (r *Parser) Feed(c *host.Call) error { return r.runFeed(c, true) }

func (r *Parser) runFeed(c *host.Call, wait bool) error {
	i, err := r.pool.take(wait)
	if err == nil {
		err = r.pool.settle(i, i.run(i.feed, abi.ExportFeed, c, c.Flags))
	}
	return err
}

// Finish runs weir1_finish.
func (r *Parser) Finish(c *host.Call, why abi.Why) error { return r.runFinish(c, why, true) }

func (r *Parser) runFinish(c *host.Call, why abi.Why, wait bool) error {
	i, err := r.pool.take(wait)
	if err == nil {
		err = r.pool.settle(i, i.run(i.finish, abi.ExportFinish, c, uint32(why)))
	}
	return err
}

// Stream returns the guest of one stream and holds the plugin until its Close. It fails with ErrRetired
// when the version takes no new streams, and with ErrBusy when a sticky plugin has too many.
func (r *Parser) Stream() (*Stream, error) {
	if err := r.plugin.acquire(r); err != nil {
		return nil, err
	}
	s := &Stream{parser: r}
	if !r.Sticky() {
		return s, nil
	}
	if n := r.plugin.sticky.Add(1); int(n) > r.plugin.host.o.Sticky {
		s.Close()
		return nil, fmt.Errorf("%w: %d sticky streams", ErrBusy, r.plugin.host.o.Sticky)
	}
	i, err := r.instance()
	if err != nil {
		s.Close()
		return nil, err
	}
	s.pinned = i
	return s, nil
}

// Stream is the guest of one stream: the parser itself, or an instance of its own if the plugin is
// sticky. It is used by one goroutine.
type Stream struct {
	parser *Parser
	pinned *instance
	tenant string
	// impatient streams do not wait for an instance.
	impatient bool
	failed    error // of a pinned instance, whose state is unknown since
	closed    atomic.Bool
}

// NoWait makes calls that find no instance fail with ErrBusy at once: it is for a stream that must not hold up
// what it runs beside. It comes before the first call.
func (s *Stream) NoWait() { s.impatient = true }

// Template is the window of a new stream.
func (s *Stream) Template() []byte { return s.parser.template }

// Start begins the stream.
func (s *Stream) Start(window, start []byte) error {
	if !s.parser.Sticky() {
		return s.parser.begin(window, start, !s.impatient)
	}
	return s.own(func(i *instance) error { return i.begin(window, start) })
}

// Feed runs weir1_feed.
func (s *Stream) Feed(c *host.Call) error {
	if !s.parser.Sticky() {
		return s.parser.runFeed(c, !s.impatient)
	}
	return s.own(func(i *instance) error { return i.runSticky(i.feed, abi.ExportFeed, c, c.Flags) })
}

// Finish runs weir1_finish.
func (s *Stream) Finish(c *host.Call, why abi.Why) error {
	if !s.parser.Sticky() {
		return s.parser.runFinish(c, why, !s.impatient)
	}
	return s.own(func(i *instance) error { return i.runSticky(i.finish, abi.ExportFinish, c, uint32(why)) })
}

// runSticky is run for an instance that keeps the state: a refused call cannot be taken back, so that the
// stream must pass as text from there.
func (i *instance) runSticky(f api.Function, name string, c *host.Call, third uint32) error {
	if n := len(c.Spans); n > 0 && c.Spans[n-1].Token == abi.RefusedToken {
		return fmt.Errorf("%w: a refused call cannot be taken back", errSticky)
	}
	return i.run(f, name, c, third)
}

func (s *Stream) own(f func(i *instance) error) error {
	if s.failed == nil && s.pinned == nil {
		s.failed = errors.New("stream is closed")
	}
	if s.failed != nil {
		return s.failed
	}
	s.failed = f(s.pinned)
	return s.failed
}

// Close ends the stream's hold on its plugin. It may be called twice.
func (s *Stream) Close() {
	if s.closed.Swap(true) {
		return
	}
	if s.parser.Sticky() {
		s.parser.plugin.sticky.Add(-1)
		if s.pinned != nil {
			s.pinned.close()
			s.pinned = nil
		}
	}
	s.parser.plugin.release(s.parser)
}

// Report counts a fault of the stream; see Plugin.Report.
func (s *Stream) Report(err error) { s.parser.plugin.Report(s.tenant, err) }

// Plugin is the version that the stream runs on.
func (s *Stream) Plugin() *Plugin { return s.parser.plugin }

var (
	_ host.Guest = (*Parser)(nil)
	_ host.Guest = (*Stream)(nil)
)
