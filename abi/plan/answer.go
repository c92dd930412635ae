package plan

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// Field is what a segment of an answer holds.
type Field uint8

// Fields. Those up to CallID are of the row Segment.Index, those behind it of a tool.
const (
	Literal         Field = iota // text of the renderer's own
	Text                         // of a text, reasoning, result or reference part
	Arguments                    // of a call
	Name                         // the tool's, of a call or result
	CallID                       // of a call or result
	ToolName                     // of a tool, as all behind it
	ToolDescription              //
	ToolSchema                   //
)

// Escape says how bytes that are referred to are written.
type Escape uint8

// Escapes. Bytes that are not what an escape reads are written as they are: they may be anything that a
// client sends.
const (
	Verbatim     Escape = iota // as they are
	JSONString                 // as the inside of a JSON string
	XMLAttribute               // with entities for & < > and "
	JSONText                   // they are the inside of a JSON string: the text that it stands for
	JSONValue                  // they are a JSON value: with ", " and ": " and no other white space, strings escaped no more than they must be
)

// Segment is a piece of a prompt: bytes From to To of a field.
type Segment struct {
	Field    Field
	Escape   Escape
	Index    uint32 // of a row or tool; 0 for a literal
	From, To uint32
}

// Answer is what a renderer makes of a conversation.
type Answer struct {
	Segments []Segment
	Literals string
	Ops      []Op // of the kinds PartOp (keep, drop), StopOp, TokenOp and StartOp
}

// segmentSize is the size of an encoded segment in bytes.
const segmentSize = 16

// AppendAnswer encodes a: u32 version, segments, bytes of instructions, bytes of literals; the segments (u8
// field, u8 escape, u16 0, u32 index, u32 from, u32 to); the instructions, as in a plan; the literals.
func AppendAnswer(dst []byte, a *Answer) []byte {
	var w Writer
	for _, s := range a.Segments {
		w.segment(s)
	}
	for _, op := range a.Ops {
		w.ops = AppendOp(w.ops, op)
	}
	w.literals = append(w.literals, a.Literals...)
	return w.encode(dst)
}

// ParseAnswer decodes an answer and checks all that can be checked without the input it is for.
func ParseAnswer(b []byte) (*Answer, error) {
	le := binary.LittleEndian
	if len(b) < headerSize || le.Uint32(b) != 1 {
		return nil, fault("answer header")
	}
	n, ops, literals := uint64(le.Uint32(b[4:])), uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))
	if n > MaxSegments || len(b) > MaxAnswer || headerSize+n*segmentSize+ops+literals != uint64(len(b)) {
		return nil, fault("answer of " + strconv.Itoa(len(b)) + " bytes with " + strconv.FormatUint(n, 10) + " segments")
	}
	a := &Answer{Segments: make([]Segment, n), Literals: string(b[headerSize+n*segmentSize+ops:])}
	for i := range a.Segments {
		at := b[headerSize+i*segmentSize:]
		s := Segment{Field: Field(at[0]), Escape: Escape(at[1]), Index: le.Uint32(at[4:]), From: le.Uint32(at[8:]), To: le.Uint32(at[12:])}
		if s.Field > ToolSchema || s.Escape > JSONValue || le.Uint16(at[2:]) != 0 || s.From > s.To {
			return nil, fault("segment " + strconv.Itoa(i))
		}
		if s.Field == Literal && (s.Escape != Verbatim || s.Index != 0 || uint64(s.To) > literals) {
			return nil, fault("literal of segment " + strconv.Itoa(i))
		}
		a.Segments[i] = s
	}
	var err error
	if a.Ops, err = Parse(b[headerSize+n*segmentSize : headerSize+n*segmentSize+ops]); err != nil {
		return nil, err
	}
	for i, op := range a.Ops {
		switch op.Kind {
		case PartOp:
			if op.Action == Splice {
				return nil, fault("instruction " + strconv.Itoa(i) + " splices in an answer")
			}
		case StopOp, TokenOp, StartOp:
		default:
			return nil, fault("instruction " + strconv.Itoa(i) + " has kind " + strconv.Itoa(int(op.Kind)) + " in an answer")
		}
	}
	return a, nil
}

// Writer puts an answer together. The zero value is ready. What goes over a limit is left out, and Append
// tells of it.
type Writer struct {
	segments, literals, ops []byte
	open                    bool // the last segment is a literal
	full                    bool
}

// Grow makes room for so many segments and bytes of literals at once, within the limits of an answer.
func (w *Writer) Grow(segments, literals int) {
	w.segments = slices.Grow(w.segments, min(segments, MaxSegments)*segmentSize)
	w.literals = slices.Grow(w.literals, min(literals, MaxAnswer))
}

// Literal writes text of the renderer's own.
func (w *Writer) Literal(s string) {
	if s == "" || !w.room(len(s)) {
		return
	}
	from := uint32(len(w.literals))
	w.literals = append(w.literals, s...)
	to := uint32(len(w.literals))
	if w.open {
		binary.LittleEndian.PutUint32(w.segments[len(w.segments)-4:], to)
		return
	}
	w.segment(Segment{From: from, To: to})
	w.open = true
}

// Refer writes bytes from to to of a field of a row or tool.
func (w *Writer) Refer(f Field, e Escape, index int, from, to uint32) {
	if from == to || !w.room(segmentSize) {
		return
	}
	w.segment(Segment{Field: f, Escape: e, Index: uint32(index), From: from, To: to})
	w.open = false
}

// Op adds an instruction.
func (w *Writer) Op(op Op) {
	if w.room(headerSize + len(op.Key) + len(op.Value)) {
		w.ops = AppendOp(w.ops, op)
	}
}

// Ops adds instructions that are encoded already.
func (w *Writer) Ops(encoded []byte) {
	if w.room(len(encoded)) {
		w.ops = append(w.ops, encoded...)
	}
}

// Append appends the answer to dst. It fails if the answer is over a limit.
func (w *Writer) Append(dst []byte) ([]byte, error) {
	if w.full || len(w.segments) > MaxSegments*segmentSize {
		return dst, fault("the answer is larger than an answer may be")
	}
	return w.encode(dst), nil
}

// room reports whether n bytes more, and the segment that may hold them, fit.
func (w *Writer) room(n int) bool {
	w.full = w.full || headerSize+len(w.segments)+len(w.literals)+len(w.ops)+segmentSize+n > MaxAnswer
	return !w.full
}

func (w *Writer) segment(s Segment) {
	var b [segmentSize]byte
	b[0], b[1] = byte(s.Field), byte(s.Escape)
	binary.LittleEndian.PutUint32(b[4:], s.Index)
	binary.LittleEndian.PutUint32(b[8:], s.From)
	binary.LittleEndian.PutUint32(b[12:], s.To)
	w.segments = append(w.segments, b[:]...)
}

func (w *Writer) encode(dst []byte) []byte {
	dst = slices.Grow(dst, headerSize+len(w.segments)+len(w.ops)+len(w.literals))
	le := binary.LittleEndian
	for _, v := range [4]int{1, len(w.segments) / segmentSize, len(w.ops), len(w.literals)} {
		dst = le.AppendUint32(dst, uint32(v))
	}
	return append(append(append(dst, w.segments...), w.ops...), w.literals...)
}
