package guesttest

import (
	"errors"
	"fmt"

	"github.com/weirgate/weir/abi/record"
)

// grammar checks law L6, the order of records:
//
//	stream = { text | reasoning | block_end | marker | call }
//	call   = call_begin { name | id | marker } ( { args } | { member } ) call_end
//	member = key ( value.. value(FIN) | open { member } close )
//
// with markers and one name and id anywhere in a call, members of an array without keys, arguments of
// one type a call, and a truncated call ending anywhere, also in a value, which then has no FIN.
type grammar struct {
	inCall, weak, named, identified bool
	args, keys                      bool
	argsType                        uint32
	stack                           []uint32 // aux of open containers; the parameters are the object beneath
	inValue                         bool
	valueType                       uint32
	valueEsc                        record.Flags
	keyed                           bool // a key waits for its value
	ended                           bool
}

func (g *grammar) record(r record.Record) error {
	if err := g.check(r); err != nil {
		return fmt.Errorf("%w: L6: %v: %w", ErrLaw, r.Kind, err)
	}
	return nil
}

func (g *grammar) check(r record.Record) error {
	if g.ended {
		return errors.New("after end_turn")
	}
	switch r.Kind {
	case record.Text, record.Reasoning, record.BlockEnd:
		if g.inCall {
			return errors.New("inside a call")
		}
		return nil
	case record.Marker:
		if g.ended = r.Flags&record.EndTurn != 0; g.ended && g.inCall {
			return errors.New("end_turn inside a call")
		}
		return nil
	case record.CallBegin:
		if g.inCall {
			return errors.New("inside a call")
		}
		*g = grammar{inCall: true, weak: r.Flags&record.Weak != 0}
		return nil
	}
	if !g.inCall {
		return errors.New("outside a call")
	}
	if g.inValue && r.Kind != record.Value && (r.Kind != record.CallEnd || r.Aux == record.CallComplete) {
		return errors.New("inside a value without its FIN")
	}
	switch r.Kind {
	case record.Name:
		return g.name()
	case record.ID:
		if g.identified && r.Flags&record.InID == 0 {
			return errors.New("twice in a call")
		}
		g.identified = true
		return nil
	case record.CallEnd:
		return g.end(r)
	}
	if g.weak && !g.named {
		return errors.New("before the name of a weak call")
	}
	if r.Kind == record.Args {
		return g.arguments(r)
	}
	if g.args {
		return errors.New("in a call that has args")
	}
	g.keys = true
	return g.member(r)
}

func (g *grammar) name() error {
	if g.named {
		return errors.New("twice in a call")
	}
	g.named = true
	return nil
}

func (g *grammar) arguments(r record.Record) error {
	if g.keys {
		return errors.New("in a call that has keys")
	}
	if g.args && g.argsType != r.Aux {
		return fmt.Errorf("type %d after type %d", r.Aux, g.argsType)
	}
	g.args, g.argsType = true, r.Aux
	return nil
}

// member checks keys, values and containers. The parameters are an object.
func (g *grammar) member(r record.Record) error {
	in := record.ContainerObject
	if n := len(g.stack); n > 0 {
		in = g.stack[n-1]
	}
	switch r.Kind {
	case record.Key:
		if in == record.ContainerArray {
			return errors.New("in an array")
		}
		if g.keyed {
			return errors.New("after a key without a value")
		}
		g.keyed = true
	case record.Value:
		esc := r.Flags & record.EscMask
		if g.inValue && (g.valueType != r.Aux || g.valueEsc != esc) {
			return errors.New("pieces of one value differ in type or escape")
		}
		if !g.inValue && !g.keyed && in == record.ContainerObject {
			return errors.New("without a key")
		}
		g.keyed, g.valueType, g.valueEsc = false, r.Aux, esc
		g.inValue = r.Flags&record.Fin == 0
	case record.Open:
		if !g.keyed && in == record.ContainerObject {
			return errors.New("without a key")
		}
		g.keyed = false
		g.stack = append(g.stack, r.Aux)
	case record.Close:
		switch {
		case len(g.stack) == 0:
			return errors.New("nothing is open")
		case in != r.Aux:
			return fmt.Errorf("of container %d, open is %d", r.Aux, in)
		case g.keyed:
			return errors.New("after a key without a value")
		}
		g.stack = g.stack[:len(g.stack)-1]
	}
	return nil
}

func (g *grammar) end(r record.Record) error {
	if r.Aux == record.CallComplete {
		switch {
		case !g.named:
			return errors.New("complete without a name")
		case g.keyed:
			return errors.New("complete after a key without a value")
		case len(g.stack) > 0:
			return fmt.Errorf("complete with %d containers open", len(g.stack))
		}
	}
	*g = grammar{}
	return nil
}

// close checks the end of a stream; ended tells that the guest saw the end of the turn.
func (g *grammar) close(ended bool) error {
	if g.inCall && !ended {
		return fmt.Errorf("%w: L6: a call is open after finish", ErrLaw)
	}
	return nil
}
