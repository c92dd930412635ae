package template

import (
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
)

// sheet is a plan in the making. Once it is full it takes no more.
type sheet struct {
	dst   []byte
	limit int // length that dst may not pass
	full  bool
}

// opSize is what an instruction takes beside its key and value.
const opSize = 16

func (w *sheet) op(op plan.Op) {
	if w.full = w.full || len(w.dst)+opSize+len(op.Key)+len(op.Value) > w.limit; !w.full {
		w.dst = plan.AppendOp(w.dst, op)
	}
}

// kwarg sets a template argument to a JSON value; an empty one says nothing.
func (w *sheet) kwarg(a arg, value string) {
	if value != "" {
		w.op(plan.Op{Kind: plan.KwargOp, Key: argNames[a], Value: value})
	}
}

// callID writes the id of a call, which is n-th in the conversation.
func (w *sheet) callID(r plan.RowView, name []byte, how ids, n int) {
	if w.full = w.full || len(w.dst)+opSize+len(name)+maxIDExtra > w.limit; w.full {
		return
	}
	// The value is put together in place, so that a long history allocates no string for each of its calls.
	at := len(w.dst)
	w.dst = plan.AppendOp(w.dst, plan.Op{Kind: plan.CallIDOp, Message: r.Message(), Part: r.Part()})
	from := len(w.dst)
	switch how {
	case idsFunctions:
		w.dst = append(append(append(w.dst, "functions."...), name...), ':')
		w.dst = strconv.AppendInt(w.dst, int64(n), 10)
	case idsNine:
		w.dst = appendNine(w.dst, n)
	}
	binary.LittleEndian.PutUint32(w.dst[at+valueLength:], uint32(len(w.dst)-from))
}

const (
	valueLength = 12 // offset of the value's length in an instruction
	maxIDExtra  = 40 // what an id has beside the call's name, at most
)

// appendNine appends nine letters and digits, different for each n. They look like those that the models
// have seen, and depend on the place of the call alone, so they stay as the history grows.
func appendNine(dst []byte, n int) []byte {
	const (
		alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		all      = 13537086546263552 // 62^9
		step     = 8366379594239857  // has no factor in common with it, so that multiplying permutes
	)
	hi, lo := bits.Mul64(uint64(n)+1, step)
	v := bits.Rem64(hi, lo, all)
	for range 9 {
		dst = append(dst, alphabet[v%62])
		v /= 62
	}
	return dst
}

// replay says which reasoning is kept.
type replay uint8

const (
	replayNone   replay = iota
	replayAll           // of every turn
	replayLoop          // of the turns after the last message that a user wrote
	replayAnswer        // of the turns after the last one that called no tool
	replayTools         // of every turn if the request has tools, else as replayLoop
)

// rule is the replay of one request. The client may ask for more or less by the template's own argument.
func (f *family) rule(sw *switches, thinks bool) replay {
	r := f.replay
	if r == replayTools {
		if r = replayLoop; sw.tools {
			r = replayAll
		}
	}
	needsOn := f.whenOn
	switch said := sw.said[f.history.arg]; {
	case said == unset:
	case said == f.history.all:
		r, needsOn = replayAll, needsOn && !f.history.evenOff
	case f.history.less:
		r = replayLoop
	}
	if needsOn && !thinks {
		return replayNone
	}
	return r
}

// parts writes what happens to the parts of the assistant's messages.
func (p *Policy) parts(w *sheet, o *plan.View, rule replay) {
	n := o.Len()
	from := since(o, rule)
	calls := 0
	for i := 0; i < n && !w.full; {
		r, first := o.Row(i), i
		m := r.Message()
		for i++; i < n && o.Row(i).Message() == m; i++ {
		}
		if conv.Role(r.Role()) != conv.Assistant {
			continue
		}
		keep := rule != replayNone && uint64(m) >= from
		if keep && p.callsOnly {
			keep = has(o, first, i, conv.Call)
		}
		p.message(w, o, first, i, keep)
		if p.ids != idsFree {
			calls = p.callIDs(w, o, first, i, calls)
		}
	}
}

// since is the first message whose reasoning the rule keeps.
func since(o *plan.View, rule replay) uint64 {
	switch rule {
	case replayLoop:
		// Without a user's message all is one loop.
		for i := o.Len() - 1; i >= 0; i-- {
			if r := o.Row(i); r.Flags()&plan.RowLastUser != 0 {
				return uint64(r.Message()) + 1
			}
		}
	case replayAnswer:
		for end := o.Len(); end > 0; {
			r, from := o.Row(end-1), end-1
			for from > 0 && o.Row(from-1).Message() == r.Message() {
				from--
			}
			if conv.Role(r.Role()) == conv.Assistant && !has(o, from, end, conv.Call) {
				return uint64(r.Message()) + 1
			}
			end = from
		}
	}
	return 0
}

// has reports a part of a kind in rows from to end.
func has(o *plan.View, from, end int, kind conv.PartKind) bool {
	for i := from; i < end; i++ {
		if conv.PartKind(o.Row(i).Kind()) == kind {
			return true
		}
	}
	return false
}

// message writes the instructions for one message of the assistant, rows from to end. What is simply kept
// needs none: a plan has a size limit, and long conversations have many parts.
func (f *family) message(w *sheet, o *plan.View, from, end int, keep bool) {
	// Parts in another order than the template prints come of several rounds.
	spliced, rank := false, 0
	for i := from; i < end && f.rounds; i++ {
		if r := o.Row(i); stays(r, keep) {
			k := order(conv.PartKind(r.Kind()))
			spliced = spliced || k < rank
			rank = max(rank, k)
		}
	}
	told := false
	for i := from; i < end; i++ {
		r := o.Row(i)
		action := plan.Splice
		switch {
		case !stays(r, keep):
			action = plan.Drop
		case !spliced || told:
			continue
		default:
			told = true // one part's splice is the whole message's
		}
		w.op(plan.Op{Kind: plan.PartOp, Message: r.Message(), Part: r.Part(), Action: action})
	}
}

// stays reports a part that is replayed; keep says that the reasoning of its message is.
func stays(r plan.RowView, keep bool) bool {
	return conv.PartKind(r.Kind()) != conv.Reasoning || keep && r.Flags()&plan.RowEmpty == 0
}

// order is the place of a kind of part in what a template prints.
func order(k conv.PartKind) int {
	switch k {
	case conv.Reasoning:
		return 0
	case conv.Call:
		return 2
	}
	return 1
}

// callIDs writes the ids of the calls in rows from to end, n calls into the conversation.
func (f *family) callIDs(w *sheet, o *plan.View, from, end, n int) int {
	for i := from; i < end; i++ {
		if r := o.Row(i); conv.PartKind(r.Kind()) == conv.Call {
			w.callID(r, o.Name(r), f.ids, n)
			n++
		}
	}
	return n
}
