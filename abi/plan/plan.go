// Package plan is what crosses the boundary to a template-policy plugin: an outline of the conversation
// in, a plan out. A policy decides what of the history is replayed and where the model starts; it sees
// shapes and names, not content. Experimental until templates are built whole (ABI.md).
package plan

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// Kinds and roles of outline rows are those of package conv, as numbers.

// Row flags.
const (
	RowSealed   uint16 = 1 << 0 // reasoning with a seal
	RowEmpty    uint16 = 1 << 1 // no text
	RowLastUser uint16 = 1 << 2 // of the last message a user wrote (not a tool result)
	RowError    uint16 = 1 << 3 // tool result that is an error
	RowCustom   uint16 = 1 << 4 // call of a custom tool, whose arguments are text; in a render input alone
)

// Row is one part of the conversation.
type Row struct {
	Message uint32
	Part    uint16
	Kind    uint8  // conv.PartKind
	Role    uint8  // conv.Role
	Length  uint32 // bytes of its text, arguments or data
	Name    string // tool name of a call; call id of a result
	Flags   uint16
}

// Outline is the conversation as a policy sees it.
type Outline struct {
	Rows []Row
	// Switches is a JSON object: {"thinking": "on|off|adaptive"|absent, "effort": ..|absent, "kwargs": {..},
	// "default": "on|off", "tools": n}; default is what the host's configuration says where the client is
	// silent. What the client said under kwargs is never overridden by a policy.
	Switches []byte
}

// PartAction is what to do with a reasoning part.
type PartAction uint8

// Actions.
const (
	Keep PartAction = iota
	Drop
	Splice // render the whole message in the family's own form, parts in order
)

// StartState is where the model's output begins.
type StartState uint8

// Start states.
const (
	StartAuto      StartState = iota // by the prompt's tail
	StartContent                     // thinking is over or off
	StartReasoning                   // the prompt opened a reasoning block
)

// Op is one instruction of a plan.
type Op struct {
	Kind    OpKind
	Message uint32     // PartOp, CallIDOp
	Part    uint16     // PartOp, CallIDOp
	Action  PartAction // PartOp
	State   StartState // StartOp
	Key     string     // KwargOp
	Value   string     // KwargOp: JSON; CallIDOp: the id; StopOp, TokenOp: the text; TailOp: prompt text
}

// OpKind is the kind of an instruction.
type OpKind uint16

// Kinds of instructions; a host refuses others.
const (
	KwargOp  OpKind = 1 + iota // set a template argument the client did not set
	PartOp                     // keep, drop or splice a part
	CallIDOp                   // the id a call has in the prompt
	StopOp                     // a stop string of the family
	TokenOp                    // a special token that must survive detokenizing
	StartOp                    // where the model's output begins
	TailOp                     // text to append after the generation prompt (a native renderer's thinking switch)
)

// Limits.
const (
	MaxRows = 65536
	MaxOps  = 65536
)

// ErrFormat is wrapped by decoding errors.
var ErrFormat = errors.New("bad outline or plan")

// fault is made without fmt, which would add 0.8 MB to each plugin that imports this package.
type fault string

func (f fault) Error() string { return ErrFormat.Error() + ": " + string(f) }
func (f fault) Unwrap() error { return ErrFormat }

// Bytes of an outline's or an instruction's header, and of a row.
const (
	headerSize = 16
	rowSize    = 24
)

// AppendOutline encodes o: u32 version, rows, bytes of switches, bytes of names; the rows (u32 message,
// u16 part, u8 kind, u8 role, u32 length, u32 name offset, u16 name length, u16 flags, u32 0); the
// switches; the names.
func AppendOutline(dst []byte, o *Outline) []byte {
	le := binary.LittleEndian
	names := 0
	for _, r := range o.Rows {
		names += len(r.Name)
	}
	for _, v := range [4]int{1, len(o.Rows), len(o.Switches), names} {
		dst = le.AppendUint32(dst, uint32(v))
	}
	off := 0
	for _, r := range o.Rows {
		dst = le.AppendUint32(dst, r.Message)
		dst = le.AppendUint16(dst, r.Part)
		dst = append(dst, r.Kind, r.Role)
		dst = le.AppendUint32(dst, r.Length)
		dst = le.AppendUint32(dst, uint32(off))
		dst = le.AppendUint16(dst, uint16(len(r.Name)))
		dst = le.AppendUint16(dst, r.Flags)
		dst = le.AppendUint32(dst, 0)
		off += len(r.Name)
	}
	dst = append(dst, o.Switches...)
	for _, r := range o.Rows {
		dst = append(dst, r.Name...)
	}
	return dst
}

// ParseOutline decodes an outline. ViewOutline reads one without decoding it.
func ParseOutline(b []byte) (*Outline, error) {
	v, err := ViewOutline(b)
	if err != nil {
		return nil, err
	}
	o := &Outline{Rows: make([]Row, v.Len()), Switches: v.Switches}
	for i := range o.Rows {
		r := v.Row(i)
		o.Rows[i] = Row{
			Message: r.Message(), Part: r.Part(), Kind: r.Kind(), Role: r.Role(), Length: r.Length(),
			Name: string(v.Name(r)), Flags: r.Flags(),
		}
	}
	return o, nil
}

// AppendOp encodes one instruction: u16 kind, u8 action or state, u8 0, u32 message, u16 part, u16 key
// length, u32 value length, the key, the value.
func AppendOp(dst []byte, op Op) []byte {
	le := binary.LittleEndian
	var h [headerSize]byte
	le.PutUint16(h[:], uint16(op.Kind))
	h[2] = uint8(op.Action)
	if op.Kind == StartOp {
		h[2] = uint8(op.State)
	}
	le.PutUint32(h[4:], op.Message)
	le.PutUint16(h[8:], op.Part)
	le.PutUint16(h[10:], uint16(len(op.Key)))
	le.PutUint32(h[12:], uint32(len(op.Value)))
	dst = append(dst, h[:]...)
	dst = append(dst, op.Key...)
	return append(dst, op.Value...)
}

// Parse decodes a plan.
func Parse(b []byte) ([]Op, error) {
	n, err := count(b)
	if err != nil || n == 0 {
		return nil, err
	}
	le := binary.LittleEndian
	ops := make([]Op, n)
	text := string(b) // all keys and values are parts of one string
	for i, at := 0, 0; i < n; i++ {
		h := b[at : at+headerSize]
		key := at + headerSize
		value := key + int(le.Uint16(h[10:]))
		at = value + int(le.Uint32(h[12:]))
		op := &ops[i]
		*op = Op{Kind: OpKind(le.Uint16(h)), Message: le.Uint32(h[4:]), Part: le.Uint16(h[8:]), Key: text[key:value], Value: text[value:at]}
		switch {
		case op.Kind < KwargOp || op.Kind > TailOp:
			return nil, fault("instruction " + strconv.Itoa(i) + " has unknown kind " + strconv.Itoa(int(op.Kind)))
		case op.Kind == StartOp:
			op.State = StartState(h[2])
		default:
			op.Action = PartAction(h[2])
		}
		if op.Action > Splice || op.State > StartReasoning {
			return nil, fault("instruction " + strconv.Itoa(i) + " has action " + strconv.Itoa(int(h[2])))
		}
	}
	return ops, nil
}

// count is the number of instructions in a plan of whole ones.
func count(b []byte) (n int, err error) {
	le := binary.LittleEndian
	for ; len(b) > 0; n++ {
		if len(b) < headerSize || n == MaxOps {
			return 0, fault("plan after " + strconv.Itoa(n) + " instructions")
		}
		size := headerSize + uint64(le.Uint16(b[10:])) + uint64(le.Uint32(b[12:]))
		if size > uint64(len(b)) {
			return 0, fault("instruction " + strconv.Itoa(n) + " overruns the plan")
		}
		b = b[size:]
	}
	return n, nil
}
