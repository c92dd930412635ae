// Package record is the binary encoding that crosses the plugin boundary: 16-byte records out,
// 12-byte spans in, both little-endian and fixed by ABI version 1.
package record

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// Kind says what the bytes of a record are.
type Kind uint16

// Kinds of version 1. Kinds from KindIgnored up are skipped by a host but count for coverage; other
// unknown kinds are a fault.
const (
	Text      Kind = 1  // content; Aux is a Phase
	Reasoning Kind = 2  // reasoning content
	BlockEnd  Kind = 3  // a boundary where like adjoins like
	Marker    Kind = 4  // consumed markup
	CallBegin Kind = 5  // opener of a call, up to its name or id; a feed returns directly after one whose name comes last
	Name      Kind = 6  // the whole name of a call; a feed returns directly after it
	ID        Kind = 7  // the whole native id of a call
	Args      Kind = 8  // argument bytes, cut anywhere; Aux is an ArgsType
	Key       Kind = 9  // a whole parameter or member name
	Value     Kind = 10 // bytes of a value, cut anywhere; Aux is a ValueType
	Open      Kind = 11 // begins an object or array; Aux is a Container
	Close     Kind = 12 // ends it; Aux is a Container
	CallEnd   Kind = 13 // ends a call; Aux is an Ending

	KindIgnored Kind = 0x8000
)

// Flags qualify a record; each kind allows a few of them (see Check).
type Flags uint16

// Flags of version 1. The two lowest bits are an Escape.
const (
	EscMask   Flags = 3
	Fin       Flags = 1 << 2 // value: last piece; obligatory, but for a value that a truncated call leaves open
	Malformed Flags = 1 << 3 // text: markup that did not parse
	Junk      Flags = 1 << 4 // marker: dropped and counted
	EndTurn   Flags = 1 << 5 // marker: the model's turn is over; the host cancels the engine
	InID      Flags = 1 << 6 // marker, name, id: part of the native id, in order
	Weak      Flags = 1 << 7 // call_begin: no wrapper, or a textual marker in open reasoning
)

// Escapes: how the host must unescape the bytes of a name, id, key or value.
const (
	EscNone   Flags = 0
	EscJSON   Flags = 1
	EscPython Flags = 2
	EscXML    Flags = 3
)

// Phase is Aux of a text record.
const (
	PhaseNone       uint32 = 0
	PhaseCommentary uint32 = 1
	PhaseFinal      uint32 = 2
)

// Aux of an args record.
const (
	ArgsJSON uint32 = 0 // a JSON value, passed through byte for byte
	ArgsText uint32 = 1 // raw input of a custom tool
	ArgsAuto uint32 = 2 // the host decides by tool kind and first byte
)

// Aux of a value record.
const (
	ValueString uint32 = 0 // always a string
	ValueJSON   uint32 = 1 // JSON text
	ValueSchema uint32 = 2 // typed by the tool's schema
)

// Aux of open and close records.
const (
	ContainerObject uint32 = 0
	ContainerArray  uint32 = 1
	ContainerAuto   uint32 = 2 // by schema, else by whether the first member is `item`
)

// Aux of a call_end record.
const (
	CallComplete  uint32 = 0
	CallTruncated uint32 = 1
)

// Size is the encoded size of a Record, SpanSize of a Span, in bytes.
const (
	Size     = 16
	SpanSize = 12
)

// Record is one segment of a parser's input. Ptr is an address in the guest's memory on the wire; the
// host rewrites it to an offset into the input it gave.
type Record struct {
	Kind  Kind
	Flags Flags
	Ptr   uint32
	Len   uint32
	Aux   uint32
}

// Span says that input bytes [Off, Off+Len) are the text of one special token.
type Span struct {
	Off   uint32
	Len   uint32
	Token uint32
}

// ErrRecord is wrapped by every error of Decode and Check.
var ErrRecord = errors.New("bad record")

// fault is made without fmt, which would add 0.8 MB to each plugin that imports this package.
type fault string

func (f fault) Error() string { return ErrRecord.Error() + ": " + string(f) }
func (f fault) Unwrap() error { return ErrRecord }

func hex(f Flags) string { return "0x" + strconv.FormatUint(uint64(f), 16) }

var kindNames = [...]string{"", "text", "reasoning", "block_end", "marker", "call_begin", "name", "id", "args", "key", "value", "open", "close", "call_end"}

// String returns the kind's name in ABI.md.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k > 0 {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// allowed lists the flags and the largest Aux of each kind.
var allowed = [...]struct {
	flags Flags
	aux   uint32
}{
	Text:      {Malformed, PhaseFinal},
	Reasoning: {0, 0},
	BlockEnd:  {0, 0},
	Marker:    {Junk | EndTurn | InID, 0},
	CallBegin: {Weak, 0},
	Name:      {EscMask | InID, 0},
	ID:        {EscMask | InID, 0},
	Args:      {0, ArgsAuto},
	Key:       {EscMask, 0},
	Value:     {EscMask | Fin, ValueSchema},
	Open:      {0, ContainerAuto},
	Close:     {0, ContainerAuto},
	CallEnd:   {0, CallTruncated},
}

// Check reports a record that version 1 does not allow. It does not look at Ptr and Len.
func Check(r Record) error {
	if r.Kind >= KindIgnored {
		return nil
	}
	if r.Kind == 0 || int(r.Kind) >= len(allowed) {
		return fault("unknown kind " + strconv.Itoa(int(r.Kind)))
	}
	a := allowed[r.Kind]
	if r.Flags&^a.flags != 0 {
		return fault(r.Kind.String() + " with flags " + hex(r.Flags) + ", allowed " + hex(a.flags))
	}
	if r.Aux > a.aux {
		return fault(r.Kind.String() + " with aux " + strconv.FormatUint(uint64(r.Aux), 10) + ", largest " + strconv.FormatUint(uint64(a.aux), 10))
	}
	return nil
}

// Append encodes r.
func Append(dst []byte, r Record) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(r.Kind))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(r.Flags))
	dst = binary.LittleEndian.AppendUint32(dst, r.Ptr)
	dst = binary.LittleEndian.AppendUint32(dst, r.Len)
	return binary.LittleEndian.AppendUint32(dst, r.Aux)
}

// Get decodes the record at the start of b, which must hold Size bytes.
func Get(b []byte) Record {
	_ = b[Size-1]
	return Record{
		Kind:  Kind(binary.LittleEndian.Uint16(b)),
		Flags: Flags(binary.LittleEndian.Uint16(b[2:])),
		Ptr:   binary.LittleEndian.Uint32(b[4:]),
		Len:   binary.LittleEndian.Uint32(b[8:]),
		Aux:   binary.LittleEndian.Uint32(b[12:]),
	}
}

// Decode appends the records encoded in b to dst. b must be a whole number of records, at most max.
func Decode(dst []Record, b []byte, max int) ([]Record, error) {
	if len(b)%Size != 0 {
		return dst, fault(strconv.Itoa(len(b)) + " bytes are not a multiple of " + strconv.Itoa(Size))
	}
	if len(b)/Size > max {
		return dst, fault(strconv.Itoa(len(b)/Size) + " records, at most " + strconv.Itoa(max))
	}
	for ; len(b) > 0; b = b[Size:] {
		dst = append(dst, Get(b))
	}
	return dst, nil
}

// AppendSpan encodes s.
func AppendSpan(dst []byte, s Span) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, s.Off)
	dst = binary.LittleEndian.AppendUint32(dst, s.Len)
	return binary.LittleEndian.AppendUint32(dst, s.Token)
}

// GetSpan decodes the span at the start of b, which must hold SpanSize bytes.
func GetSpan(b []byte) Span {
	_ = b[SpanSize-1]
	return Span{
		Off:   binary.LittleEndian.Uint32(b),
		Len:   binary.LittleEndian.Uint32(b[4:]),
		Token: binary.LittleEndian.Uint32(b[8:]),
	}
}
