// Package guest is the Go SDK for plugin authors. A plugin implements Program (or Planner, if it is a
// template policy, or Renderer, if it writes prompts itself), hands it to Export from an init function of its main package, since main does not run
// in c-shared mode, and is built with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w -buildid="
//
// It imports the standard library and abi alone. Natively the same Program runs under guesttest. A whole
// plugin, which takes capital letters for reasoning:
//
//	package main
//
//	type acme struct{ window [1]byte }
//
//	func init() { guest.Export(&acme{}) }
//	func main() {}
//
//	func (*acme) Manifest() string {
//		return `{"name":"acme","version":"1.0.0","abi":1,"kinds":["parser"]}`
//	}
//	func (*acme) Open(config []byte) error   { return nil }
//	func (a *acme) Window() []byte           { return a.window[:] }
//	func (*acme) Start(s guest.Start) error  { return nil }
//	func (*acme) Feed(in *guest.Input, out *guest.Out) {
//		for _, c := range in.Bytes {
//			kind := record.Text
//			if c >= 'A' && c <= 'Z' {
//				kind = record.Reasoning
//			}
//			out.Extend(kind, 0, 0, 1)
//		}
//	}
//	func (a *acme) Finish(in *guest.Input, _ abi.Why, out *guest.Out) { a.Feed(in, out) }
package guest

import (
	"encoding/binary"
	"errors"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/record"
)

// Program is a parser plugin. One instance serves many streams, one call at a time: what differs
// between streams must live in the memory that Window returns, and nothing else may be kept between
// calls. The host copies a stream's window in before a call and out after it.
type Program interface {
	// Manifest is the plugin's manifest JSON; ABI.md gives its fields.
	Manifest() string
	// Open configures the instance, once. When it returns, the window is the template of a new stream.
	Open(config []byte) error
	// Window is the state window: fixed memory of at most abi.MaxWindow bytes, without Go pointers in
	// it, best a [N]byte view of a struct (see WindowOf). Empty means sticky: an instance a stream.
	Window() []byte
	// Start begins a stream in the window; see Start for its input.
	Start(s Start) error
	// Feed segments in from its first byte and emits records for what is decided; what it does not
	// emit it gets again, in front of the next bytes. It must return directly after a name record, and
	// directly after a call_begin whose name comes last.
	Feed(in *Input, out *Out)
	// Finish is Feed at the end of the stream. It is repeated until nothing is left and then once
	// more with no bytes; each call with bytes must consume some. The last one must close what is open.
	Finish(in *Input, why abi.Why, out *Out)
}

// Input is what one call of Feed or Finish reads. Its slices are valid until the call returns.
type Input struct {
	Bytes []byte
	Spans []record.Span
	Flags uint32
}

// Out collects the records of one call, at most abi.MaxRecords; one more panics. Records are emitted in
// order and without gaps, so that every byte of the input up to the last record is accounted for.
type Out struct {
	n    int
	next uint32 // where the next record points to
	base uint32
	recs [abi.MaxRecords]record.Record // no slice, so that Emit has nothing to grow and can be part of its caller
}

// Emit says that the next n bytes of the input are of this kind.
func (o *Out) Emit(k record.Kind, f record.Flags, aux uint32, n int) {
	r := &o.recs[o.n]
	o.n++
	r.Kind, r.Flags, r.Ptr, r.Len, r.Aux = k, f, o.next, uint32(n), aux
	o.next += uint32(n)
}

// Extend lengthens the last record by n bytes if it is of this kind, flags and aux, else emits one. It
// keeps the number of records small where content is found in several steps.
func (o *Out) Extend(k record.Kind, f record.Flags, aux uint32, n int) {
	if o.n > 0 {
		r := &o.recs[o.n-1]
		if r.Kind == k && r.Flags == f && r.Aux == aux {
			r.Len += uint32(n)
			o.next += uint32(n)
			return
		}
	}
	o.Emit(k, f, aux, n)
}

// Pos is the offset in the input up to which records were emitted.
func (o *Out) Pos() int { return int(o.next - o.base) }

// Len is the number of records emitted so far.
func (o *Out) Len() int { return o.n }

// Records returns what was emitted, with offsets relative to base. It is valid until Reset.
func (o *Out) Records() []record.Record { return o.recs[:o.n] }

// Reset empties o; records will point to base.
func (o *Out) Reset(base uint32) { o.n, o.next, o.base = 0, base, base }

// Thinking says whether the prompt asked the model to think.
type Thinking uint32

// Values of Start.Thinking.
const (
	ThinkingUnknown Thinking = 0
	ThinkingOn      Thinking = 1
	ThinkingOff     Thinking = 2
)

// Choice is the request's tool choice.
type Choice uint32

// Values of Start.Choice.
const (
	ChoiceAuto     Choice = 0
	ChoiceNone     Choice = 1
	ChoiceRequired Choice = 2
	ChoiceNamed    Choice = 3
)

// Start is what a parser is told when a stream begins. On the wire: four little-endian u32 (thinking,
// choice, tools present 0|1, tail length) and the tail's bytes.
type Start struct {
	Thinking Thinking
	Choice   Choice
	Tools    bool   // the request has tools; without them, and with ChoiceNone, nothing is a call
	Tail     []byte // what follows the last turn marker of the prompt, at most abi.MaxPromptTail bytes
}

var errStart = errors.New("start block is malformed")

// Append encodes s; a longer tail is cut to its end.
func (s Start) Append(dst []byte) []byte {
	tail := s.Tail
	if n := len(tail) - abi.MaxPromptTail; n > 0 {
		tail = tail[n:]
	}
	tools := uint32(0)
	if s.Tools {
		tools = 1
	}
	for _, v := range [4]uint32{uint32(s.Thinking), uint32(s.Choice), tools, uint32(len(tail))} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return append(dst, tail...)
}

// ParseStart decodes a start block. The tail aliases b.
func ParseStart(b []byte) (Start, error) {
	if len(b) < 16 {
		return Start{}, errStart
	}
	n := binary.LittleEndian.Uint32(b[12:])
	if uint64(n) != uint64(len(b)-16) || n > abi.MaxPromptTail {
		return Start{}, errStart
	}
	return Start{
		Thinking: Thinking(binary.LittleEndian.Uint32(b)),
		Choice:   Choice(binary.LittleEndian.Uint32(b[4:])),
		Tools:    binary.LittleEndian.Uint32(b[8:]) != 0,
		Tail:     b[16:],
	}, nil
}

// Planner is a template-policy plugin: an outline in (see abi/plan), a plan out. It may be the same
// value as a Program or stand alone.
type Planner interface {
	Manifest() string
	Open(config []byte) error
	// Plan reads an encoded outline and appends an encoded plan to dst.
	Plan(dst, outline []byte) ([]byte, error)
}

// Renderer is a template plugin that writes the prompt itself: a conversation in (see plan.RenderInput), the
// segments of its prompt out. It may be the same value as a Planner or a Program, or stand alone.
type Renderer interface {
	Manifest() string
	Open(config []byte) error
	// Render reads an encoded input and appends an encoded answer to dst. It keeps nothing between calls.
	Render(dst, input []byte) ([]byte, error)
}

// Rendered runs an opened Renderer natively, as a host runs one: it gives in, holds the answer to the ABI and
// puts the prompt together. Errors that wrap plan.ErrFormat tell of an input or an answer that breaks it.
func Rendered(r Renderer, in *plan.RenderInput) (*plan.Rendered, error) {
	b, err := plan.AppendRenderInput(nil, in)
	if err != nil {
		return nil, err
	}
	if b, err = r.Render(nil, b); err != nil {
		return nil, err
	}
	a, err := plan.ParseAnswer(b)
	if err != nil {
		return nil, err
	}
	return plan.Assemble(in, a)
}
