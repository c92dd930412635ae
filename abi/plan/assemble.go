package plan

import (
	"bytes"
	"strconv"

	"github.com/weirgate/weir/abi/jsonscan"
)

// Source is whose bytes a span of a prompt has.
type Source uint8

// Sources.
const (
	FromRenderer  Source = iota // a literal
	FromSystem                  // a system message
	FromDeveloper               // a developer's
	FromUser                    // a user's, results aside
	FromAssistant               // the model's
	FromResult                  // a tool's result, in whatever message
	FromTool                    // the definition of a tool
)

// Span is a stretch of a prompt with one source.
type Span struct {
	Start, End    int // bytes
	Source        Source
	Message, Part int // of the conversation; Message is the tool's index where a tool is the source
}

// Rendered is a prompt that a renderer made.
type Rendered struct {
	Text  string
	Spans []Span // cover all of Text, in order, neighbours of one source and part put together
	Ops   []Op
}

// Assemble puts the content of in where a refers to it. It fails if a reference is not within the bytes that
// it is of, and if the prompt is larger than MaxRendered.
func Assemble(in *RenderInput, a *Answer) (*Rendered, error) {
	t := assembly{in: in, from: a, out: &Rendered{Ops: a.Ops}}
	size := 0
	for i, s := range a.Segments { // before anything is written: many references to long content cost nothing
		if _, _, ok := t.bytes(s); !ok {
			return nil, fault("segment " + strconv.Itoa(i) + " refers to what is not there")
		}
		if size += int(s.To - s.From); size > MaxRendered {
			return nil, large(i)
		}
	}
	t.text = make([]byte, 0, size+size/16)
	for i, s := range a.Segments {
		if t.add(s); len(t.text) > MaxRendered {
			return nil, large(i)
		}
	}
	t.out.Text = string(t.text)
	return t.out, nil
}

func large(i int) error {
	return fault("segment " + strconv.Itoa(i) + " makes the prompt larger than " + strconv.Itoa(MaxRendered) + " bytes")
}

// assembly is a prompt in the making.
type assembly struct {
	in      *RenderInput
	from    *Answer
	out     *Rendered
	text    []byte
	scratch []byte
}

// bytes are what a segment covers, and whose they are. It is false if they are not there.
func (t *assembly) bytes(s Segment) (covered string, of Span, ok bool) {
	whole := t.from.Literals
	if s.Field != Literal {
		if whole, ok = t.in.field(s, &of); !ok {
			return "", of, false
		}
	}
	if s.From > s.To || uint64(s.To) > uint64(len(whole)) {
		return "", of, false
	}
	return whole[s.From:s.To], of, true
}

// add writes a segment that is there.
func (t *assembly) add(s Segment) {
	covered, span, _ := t.bytes(s)
	span.Start = len(t.text)
	t.escape(s.Escape, covered)
	if span.End = len(t.text); span.End == span.Start {
		return
	}
	if n := len(t.out.Spans); n > 0 {
		if last := &t.out.Spans[n-1]; last.Source == span.Source && last.Message == span.Message && last.Part == span.Part {
			last.End = span.End
			return
		}
	}
	t.out.Spans = append(t.out.Spans, span)
}

// field is the bytes that a segment refers to; it tells the span whose they are. It is false for a field
// that the row or tool does not have.
func (in *RenderInput) field(s Segment, span *Span) (string, bool) {
	if s.Field >= ToolName {
		if uint64(s.Index) >= uint64(len(in.Tools)) {
			return "", false
		}
		span.Source, span.Message = FromTool, int(s.Index)
		switch t := &in.Tools[s.Index]; s.Field {
		case ToolName:
			return t.Name, true
		case ToolDescription:
			return t.Description, true
		case ToolSchema:
			return t.Schema, true
		}
		return "", false
	}
	if uint64(s.Index) >= uint64(len(in.Rows)) {
		return "", false
	}
	r := &in.Rows[s.Index]
	span.Source, span.Message, span.Part = r.source(), int(r.Message), int(r.Part)
	called := r.Kind == kindCall || r.Kind == kindResult
	switch s.Field {
	case Text:
		return r.Text, readable(r.Kind) == ReadText
	case Arguments:
		return r.Text, r.Kind == kindCall
	case Name:
		return r.Name, called
	case CallID:
		return r.ID, called
	}
	return "", false
}

// Roles: those of package conv.
const (
	roleSystem    = 1
	roleDeveloper = 2
	roleUser      = 3
	roleAssistant = 4
)

func (r *RenderRow) source() Source {
	if r.Kind == kindResult {
		return FromResult
	}
	switch r.Role {
	case roleSystem:
		return FromSystem
	case roleDeveloper:
		return FromDeveloper
	case roleUser:
		return FromUser
	case roleAssistant:
		return FromAssistant
	}
	return FromResult // a tool's message
}

// escape writes s as e says.
func (t *assembly) escape(e Escape, s string) {
	before := len(t.text)
	var err error
	switch e {
	case JSONString:
		t.text = jsonscan.AppendEscaped(t.text, s)
		return
	case XMLAttribute:
		t.attribute(s)
		return
	case JSONText:
		t.text, err = jsonscan.AppendUnescaped(t.text, []byte(s))
	case JSONValue:
		r := jsonscan.NewReader([]byte(s))
		if err = t.value(r); err == nil {
			err = r.End()
		}
	default:
		t.text = append(t.text, s...)
		return
	}
	if err != nil {
		t.text = append(t.text[:before], s...)
	}
}

func (t *assembly) attribute(s string) {
	from := 0
	for i := range len(s) {
		entity := ""
		switch s[i] {
		case '&':
			entity = "&amp;"
		case '<':
			entity = "&lt;"
		case '>':
			entity = "&gt;"
		case '"':
			entity = "&quot;"
		default:
			continue
		}
		t.text = append(append(t.text, s[from:i]...), entity...)
		from = i + 1
	}
	t.text = append(t.text, s[from:]...)
}

// object writes the JSON object at r.
func (t *assembly) object(r *jsonscan.Reader) error {
	t.text = append(t.text, '{')
	if err := r.OpenObject(); err != nil {
		return err
	}
	for first := true; ; first = false {
		key, ok, err := r.Member()
		if err != nil {
			return err
		}
		if !ok {
			t.text = append(t.text, '}')
			return nil
		}
		if !first {
			t.text = append(t.text, ", "...)
		}
		t.text = append(jsonscan.AppendString(t.text, key), ": "...)
		if err := t.value(r); err != nil {
			return err
		}
	}
}

// value writes the JSON value at r. The reader bounds how deep it is.
func (t *assembly) value(r *jsonscan.Reader) error {
	switch r.Peek() {
	case jsonscan.Object:
		return t.object(r)
	case jsonscan.Array:
		t.text = append(t.text, '[')
		err := r.Array(func(i int) error {
			if i > 0 {
				t.text = append(t.text, ", "...)
			}
			return t.value(r)
		})
		t.text = append(t.text, ']')
		return err
	case jsonscan.String:
		raw, err := r.Raw()
		if err != nil {
			return err
		}
		if bytes.IndexByte(raw, '\\') < 0 {
			t.text = jsonscan.AppendString(t.text, raw[1:len(raw)-1])
			return nil
		}
		if t.scratch, err = jsonscan.AppendUnquoted(t.scratch[:0], raw); err == nil {
			t.text = jsonscan.AppendString(t.text, t.scratch)
		}
		return err
	default:
		raw, err := r.Raw()
		t.text = append(t.text, raw...)
		return err
	}
}
