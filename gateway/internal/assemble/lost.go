package assemble

import (
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/unescape"
)

// lost says that the wrapped input of a custom tool broke where what was delivered of it, unwrapped, cannot
// go on: the call ends there, as incomplete, and what follows is text.
type lost struct {
	yes    bool
	n      int    // bytes at the end of the record, from the break on
	before []byte // bytes of earlier records that belong to them
}

// lose marks the break before tail, which ends where the record of size bytes does.
func (c *call) lose(tail []byte, size int) {
	c.bad = true
	n := min(len(tail), size)
	c.lost.yes, c.lost.n = true, n
	c.lost.before = append(c.lost.before[:0], tail[:len(tail)-n]...)
}

// breakOff ends the open call within b, where its arguments broke.
func (a *Assembler) breakOff(b []byte) error {
	c := &a.call
	if n := len(c.lost.before); n <= len(c.raw) {
		c.raw = c.raw[:len(c.raw)-n]
	}
	at := len(b) - c.lost.n
	if err := a.keep(b[:at]); err != nil {
		return err
	}
	return a.breakAt(b[at:])
}

// breakAt ends the open call; what its records still bring is text, after rest.
func (a *Assembler) breakAt(rest []byte) error {
	c := &a.call
	if err := a.endCall(false, event.CauseMalformed); err != nil {
		return err
	}
	a.open, c.returned = true, true
	if err := a.text(c.lost.before, event.PhaseNone); err != nil {
		return err
	}
	return a.text(rest, event.PhaseNone)
}

// unquote follows the text of one JSON string that holds an object, to the byte at which that breaks.
type unquote struct {
	esc unescape.Decoder
	obj jsonscan.Machine
}

// broken returns where in raw, the inside of the string, an escape or byte begins with which no object goes
// on, and the object's text before it. ends says that the string is closed behind raw; what breaks
// nothing breaks at its end.
func (u *unquote) broken(dst, raw []byte, ends bool) (at int, text []byte) {
	text = dst
	for i := range raw {
		n := len(text)
		text = u.esc.Append(text, raw[i:i+1])
		own, ok := u.feed(text[n:])
		text = text[:n+own]
		if !ok {
			return at, text
		}
		at = i + 1 - len(u.esc.Held())
	}
	if !ends {
		return at, text
	}
	n := len(text)
	text = u.esc.Flush(text)
	own, ok := u.feed(text[n:])
	if !ok {
		return at, text[:n]
	}
	return len(raw), text[:n+own]
}

// feed goes on with the object: own is how much of text belongs to it; white space may follow.
func (u *unquote) feed(text []byte) (own int, ok bool) {
	if u.obj.Status() == jsonscan.More {
		n, s := u.obj.Feed(text)
		if s == jsonscan.Bad {
			return 0, false
		}
		own = n
	}
	return own, len(trimLeft(text[own:])) == 0
}

// loseQuoted gives up on the quoted arguments, whose object broke within the first n bytes of b: from there
// on they pass as they are, so that the bytes of the call stay together. s is how the string around the
// object stands, and was what it was before b.
func (a *Assembler) loseQuoted(was unquote, b []byte, n int, s jsonscan.Status) error {
	if s == jsonscan.Done {
		n--
	}
	held := len(was.esc.Held())
	raw := append(append([]byte(nil), was.esc.Held()...), b...)
	started := was.obj.Started()
	was.esc.Reset(record.EscJSON)
	at, text := was.broken(a.tmp[:0], raw[:held+n], s == jsonscan.Done)
	a.tmp = text
	if !started {
		text = trimLeft(text)
	}
	if err := a.emitArgs(text); err != nil {
		return err
	}
	a.call.bad, a.call.json.at = true, jsonVerbatim
	return a.emitArgs(raw[at:])
}
