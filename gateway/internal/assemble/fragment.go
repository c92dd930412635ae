package assemble

import (
	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/engines"
)

// Limits of structured calls that wait for their turn.
const (
	maxQueued     = 256
	maxQueuedArgs = 4 << 20 // bytes
)

// fragments orders the calls of an engine that parsed already. Blocks never overlap, so a call that
// begins while another has no whole arguments yet waits until it has, or until the turn ends.
type fragments struct {
	active bool
	index  int
	early  []byte // arguments that came before the name
	queue  []queuedCall
	bytes  int  // in the queue
	lost   bool // something of a call was dropped
	closed map[int]struct{}
	buf    []byte
}

type queuedCall struct {
	index    int
	id, name string
	args     []byte
}

// Fragment takes a piece of output that the engine parsed already. Empty pieces say nothing.
func (a *Assembler) Fragment(f engines.Fragment) error {
	s := &a.frags
	if a.ended || a.over {
		a.stats.Dropped += len(f.Text)
		return nil
	}
	if f.Kind == engines.FragmentCall {
		return a.fragmentCall(f)
	}
	if f.Text == "" {
		return nil
	}
	if err := a.endFragments(event.CauseTruncated, true); err != nil || a.ended {
		return err
	}
	s.buf = append(s.buf[:0], f.Text...)
	if f.Kind == engines.FragmentReasoning {
		return a.reasoning(s.buf)
	}
	return a.text(s.buf, event.PhaseNone)
}

func (a *Assembler) fragmentCall(f engines.Fragment) error {
	s := &a.frags
	switch {
	case s.active && f.Index == s.index:
		if err := a.feedFragment(f); err != nil {
			return err
		}
	case s.isClosed(f.Index):
		a.late([]byte(f.Text))
	case s.active && (!a.fragmentWhole() || len(s.queue) > 0):
		a.enqueue(f)
	default:
		if err := a.endFragment(true, event.CauseTruncated); err != nil || a.ended {
			return err
		}
		if err := a.openFragment(f); err != nil {
			return err
		}
	}
	for len(s.queue) > 0 && a.fragmentWhole() && !a.ended {
		if err := a.endFragment(true, event.CauseTruncated); err != nil {
			return err
		}
		if err := a.dequeue(); err != nil {
			return err
		}
	}
	return nil
}

func (s *fragments) isClosed(index int) bool {
	_, ok := s.closed[index]
	return ok
}

// late counts argument bytes that have no place any more. When they say something a call is not what the
// model wrote, and the turn must not end as if it were.
func (a *Assembler) late(b []byte) {
	a.stats.Late += len(b)
	a.frags.lost = a.frags.lost || len(trimLeft(b)) > 0
}

func (a *Assembler) enqueue(f engines.Fragment) {
	s := &a.frags
	at := 0
	for at < len(s.queue) && s.queue[at].index != f.Index {
		at++
	}
	if at == maxQueued || s.bytes+len(f.Text) > maxQueuedArgs {
		a.late([]byte(f.Text))
		s.lost = true
		return
	}
	if at == len(s.queue) {
		s.queue = append(s.queue, queuedCall{index: f.Index})
	}
	q := &s.queue[at]
	if q.id == "" {
		q.id = f.ID
	}
	if q.name == "" {
		q.name = f.Name
	}
	q.args = append(q.args, f.Text...)
	s.bytes += len(f.Text)
}

// dequeue opens the call that has waited longest, unless the turn is over.
func (a *Assembler) dequeue() error {
	s := &a.frags
	q := s.queue[0]
	s.queue = s.queue[1:]
	s.bytes -= len(q.args)
	if a.ended {
		a.stats.Dropped += len(q.args)
		return nil
	}
	return a.openFragment(engines.Fragment{Kind: engines.FragmentCall, Index: q.index, ID: q.id, Name: q.name, Text: string(q.args)})
}

func (a *Assembler) openFragment(f engines.Fragment) error {
	s := &a.frags
	a.beginCall(false)
	s.active, s.index, s.early = true, f.Index, s.early[:0]
	return a.feedFragment(f)
}

// feedFragment adds to the open structured call; id and name count once.
func (a *Assembler) feedFragment(f engines.Fragment) error {
	s, c := &a.frags, &a.call
	if len(c.id) == 0 {
		c.addID([]byte(f.ID))
	}
	s.buf = append(s.buf[:0], f.Text...)
	if !c.named && !c.returned {
		if len(s.early)+len(s.buf) > abi.MaxEarlyArgs {
			c.bad = true
			a.late(s.buf)
			s.buf = s.buf[:0]
		}
		s.early = append(s.early, s.buf...)
		if f.Name == "" {
			return nil
		}
		if err := a.nameFragment(f.Name); err != nil {
			return err
		}
		s.buf, s.early = append(s.buf[:0], s.early...), s.early[:0]
	}
	if len(s.buf) == 0 {
		return nil
	}
	if c.returned {
		return a.text(s.buf, a.textPhase())
	}
	err := a.content(record.Record{Kind: record.Args, Aux: record.ArgsJSON}, s.buf)
	switch {
	case err != nil:
		return err
	case c.lost.yes:
		return a.breakOff(s.buf)
	}
	return a.keep(s.buf)
}

// nameFragment names the open structured call. Its raw bytes are lost with the engine's parser; what
// stands for them is the plainest form of a call.
func (a *Assembler) nameFragment(name string) error {
	head := jsonscan.AppendString([]byte(`{"name": `), name)
	if err := a.keep(append(head, `, "arguments": `...)); err != nil {
		return err
	}
	if !a.setName([]byte(name)) {
		return a.giveBack()
	}
	return nil
}

// fragmentWhole reports whether nothing but white space can follow in the open structured call.
func (a *Assembler) fragmentWhole() bool {
	c := &a.call
	switch c.class {
	case jsonArgs:
		return c.json.at == jsonEnd || c.json.at == jsonNullEnd || c.json.at == jsonEmpty
	case rawArgs:
		return c.custom.at == customRest && c.custom.all.Status() == jsonscan.Done
	}
	return false
}

// endFragment ends the open structured call. whole says that the engine did not cut it.
func (a *Assembler) endFragment(whole bool, cause event.Cause) error {
	s := &a.frags
	if !s.active {
		return nil
	}
	s.active = false
	c := &a.call
	if s.closed == nil {
		s.closed = make(map[int]struct{})
	}
	s.closed[s.index] = struct{}{}
	if !c.named && !c.returned {
		a.open = false
		a.stats.Returned++
		return a.text(s.early, event.PhaseNone)
	}
	whole = whole || a.fragmentWhole() && cause != event.CauseFault
	if whole {
		if c.returned {
			a.open = false
			return a.text([]byte{'}'}, a.textPhase())
		}
		if err := a.keep([]byte{'}'}); err != nil {
			return err
		}
	}
	return a.endCall(whole, cause)
}

// endFragments ends the open structured call and those that wait.
func (a *Assembler) endFragments(cause event.Cause, whole bool) error {
	s := &a.frags
	if err := a.endFragment(whole, cause); err != nil {
		return err
	}
	for len(s.queue) > 0 {
		if err := a.dequeue(); err != nil {
			return err
		}
		if err := a.endFragment(whole, cause); err != nil {
			return err
		}
	}
	return nil
}
