package kit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// Bounds of law L3, in bytes. ABI.md allows a header of 512 bytes and white space of 32 in front of a
// marker; a marker of 64 is longer than any in use.
const (
	maxMarker = 64
	maxHeld   = maxMarker + abi.MaxHeader + abi.MaxSpace
	maxLag    = 2*maxMarker + abi.MaxSpace // of arguments and values: what closes them, and what follows it
)

// observer stands between the host and the guest of one stream and keeps what the host took. It is used
// by one goroutine.
type observer struct {
	guest  host.Guest
	accept []string // as guesttest.Case has it: nil accepts every name
	pieces []piece
	at     int    // bytes of the stream that have records
	held   int    // most that a call left, early returns aside
	late   string // the first content that waited for longer than L3 allows
	calls  int
}

// piece is a record as ABI.md compares them: likes that adjoin are one.
type piece struct {
	kind  record.Kind
	flags record.Flags
	aux   uint32
	at    int // in the stream
	text  []byte
	whole bool // nothing is added to it
}

func (p piece) String() string {
	s := fmt.Sprintf("%v %s", p.kind, clip(string(p.text)))
	if p.flags != 0 {
		s += fmt.Sprintf(" flags %#x", uint16(p.flags))
	}
	if p.aux != 0 {
		s += fmt.Sprintf(" aux %d", p.aux)
	}
	return s
}

// clip quotes s, shortened in the middle where it is long.
func clip(s string) string {
	const most = 160
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q..%q (%d bytes)", s[:most/2], s[len(s)-most/2:], len(s))
}

// Template is the guest's.
func (o *observer) Template() []byte { return o.guest.Template() }

// Start begins a stream.
func (o *observer) Start(window, start []byte) error { return o.guest.Start(window, start) }

// Feed runs the guest and looks at what it returned.
func (o *observer) Feed(c *host.Call) error {
	err := o.guest.Feed(c)
	if err == nil {
		o.look(c)
	}
	return err
}

// Finish runs the guest and looks at what it returned.
func (o *observer) Finish(c *host.Call, why abi.Why) error {
	err := o.guest.Finish(c, why)
	if err == nil {
		o.look(c)
	}
	return err
}

func (o *observer) look(c *host.Call) {
	o.calls++
	pos := 0
	for _, r := range c.Records {
		if int(r.Ptr) != pos || int(r.Len) > len(c.In)-pos {
			return // the host faults it
		}
		pos += int(r.Len)
	}
	early := false
	if n := len(c.Records); n > 0 {
		last := c.Records[n-1]
		early = last.Kind == record.Name || last.Kind == record.CallBegin
		if last.Kind == record.Name && o.accept != nil && !slices.Contains(o.accept, string(c.In[last.Ptr:last.Ptr+last.Len])) {
			return // the call is taken back
		}
	}
	fed := o.at + len(c.In)
	for _, r := range c.Records {
		o.add(r, c.In[r.Ptr:r.Ptr+r.Len], fed)
	}
	if !early {
		o.held = max(o.held, len(c.In)-pos)
	}
}

func (o *observer) add(r record.Record, b []byte, fed int) {
	from := o.at
	o.at += len(b)
	lag := fed - from
	if o.late == "" && (r.Kind == record.Args || r.Kind == record.Value) && len(b) > 0 && lag > maxLag {
		o.late = fmt.Sprintf("%v %s at byte %d came after %d more bytes, at most %d may be waited for", r.Kind, clip(string(b)), from, lag-len(b), maxLag)
	}
	content := r.Kind == record.Text || r.Kind == record.Reasoning || r.Kind == record.Args
	if content && len(b) == 0 {
		return
	}
	flags := r.Flags
	if r.Kind == record.Value {
		flags &^= record.Fin
	}
	if k := len(o.pieces) - 1; k >= 0 {
		p := &o.pieces[k]
		if !p.whole && p.kind == r.Kind && p.flags == flags && p.aux == r.Aux {
			p.text = append(p.text, b...)
			p.whole = r.Kind == record.Value && r.Flags&record.Fin != 0
			return
		}
	}
	whole := false
	switch r.Kind {
	case record.Text, record.Reasoning, record.Args, record.Marker:
	case record.Value:
		whole = r.Flags&record.Fin != 0
	default:
		whole = r.Kind < record.KindIgnored
	}
	o.pieces = append(o.pieces, piece{kind: r.Kind, flags: flags, aux: r.Aux, at: from, text: slices.Clone(b), whole: whole})
}

// differ says where got is not want, or nothing.
func differ(got, want []piece) string {
	for k := range max(len(got), len(want)) {
		switch {
		case k == len(got):
			return fmt.Sprintf("at byte %d: expected %v, got nothing more", want[k].at, want[k])
		case k == len(want):
			return fmt.Sprintf("at byte %d: expected nothing more, got %v", got[k].at, got[k])
		}
		g, w := got[k], want[k]
		if g.kind != w.kind || g.flags != w.flags || g.aux != w.aux || g.whole != w.whole || string(g.text) != string(w.text) {
			return fmt.Sprintf("at byte %d: expected %v, got %v", w.at, w, g)
		}
	}
	return ""
}

// oneLine is an error's text on one line.
func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\ntrace:")
	return strings.Join(strings.Fields(text), " ")
}
