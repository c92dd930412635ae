package guest_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/abi/record"
)

func TestStartRoundTrip(t *testing.T) {
	long := strings.Repeat("x", abi.MaxPromptTail)
	for _, tt := range []struct {
		name     string
		in, want guest.Start
	}{
		{"zero", guest.Start{}, guest.Start{}},
		{
			"all fields",
			guest.Start{Thinking: guest.ThinkingOff, Choice: guest.ChoiceNamed, Tools: true, Tail: []byte("<think>\n")},
			guest.Start{Thinking: guest.ThinkingOff, Choice: guest.ChoiceNamed, Tools: true, Tail: []byte("<think>\n")},
		},
		{"a longer tail keeps its end", guest.Start{Tail: []byte("begin" + long)}, guest.Start{Tail: []byte(long)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := guest.ParseStart(tt.in.Append(nil))
			if err != nil {
				t.Fatal(err)
			}
			if got.Thinking != tt.want.Thinking || got.Choice != tt.want.Choice || got.Tools != tt.want.Tools || !bytes.Equal(got.Tail, tt.want.Tail) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestStartWire pins the bytes that ABI.md gives.
func TestStartWire(t *testing.T) {
	s := guest.Start{Thinking: guest.ThinkingOn, Choice: guest.ChoiceRequired, Tools: true, Tail: []byte("<t>")}
	const want = "\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00<t>"
	if got := s.Append([]byte("before")); string(got) != "before"+want {
		t.Errorf("got %q", got)
	}
}

func TestParseStartRefuses(t *testing.T) {
	whole := guest.Start{Tail: []byte("abc")}.Append(nil)
	tooLong := guest.Start{Tail: make([]byte, abi.MaxPromptTail)}.Append(nil)
	tooLong[12]++
	for name, b := range map[string][]byte{
		"nothing":         nil,
		"half a header":   whole[:15],
		"a cut tail":      whole[:len(whole)-1],
		"bytes behind":    append(bytes.Clone(whole), 0),
		"a tail too long": append(tooLong, 0),
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := guest.ParseStart(b); err == nil {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func FuzzParseStart(f *testing.F) {
	f.Add(guest.Start{Thinking: guest.ThinkingOn, Tools: true, Tail: []byte("<think>")}.Append(nil))
	f.Add(make([]byte, 16))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := guest.ParseStart(b)
		if err != nil {
			return
		}
		again, err := guest.ParseStart(s.Append(nil))
		if err != nil || again.Thinking != s.Thinking || again.Choice != s.Choice || again.Tools != s.Tools || !bytes.Equal(again.Tail, s.Tail) {
			t.Fatalf("%+v became %+v, %v", s, again, err)
		}
	})
}

func TestOut(t *testing.T) {
	var o guest.Out
	o.Emit(record.Text, 0, 0, 9)
	o.Reset(100)
	o.Extend(record.Text, 0, 0, 2)
	o.Extend(record.Text, 0, 0, 3)
	o.Extend(record.Text, record.Malformed, 0, 1)
	o.Emit(record.Marker, 0, 0, 4)
	o.Emit(record.Marker, 0, 0, 0)
	want := []record.Record{
		{Kind: record.Text, Ptr: 100, Len: 5},
		{Kind: record.Text, Flags: record.Malformed, Ptr: 105, Len: 1},
		{Kind: record.Marker, Ptr: 106, Len: 4},
		{Kind: record.Marker, Ptr: 110},
	}
	if o.Len() != len(want) || o.Pos() != 10 {
		t.Fatalf("%d records, position %d", o.Len(), o.Pos())
	}
	for i, r := range o.Records() {
		if r != want[i] {
			t.Errorf("record %d is %+v, expected %+v", i, r, want[i])
		}
	}
}

func TestOutIsBounded(t *testing.T) {
	var o guest.Out
	for range abi.MaxRecords {
		o.Emit(record.Marker, 0, 0, 0)
	}
	o.Extend(record.Marker, 0, 0, 1)
	if o.Len() != abi.MaxRecords || o.Pos() != 1 {
		t.Fatalf("%d records, position %d", o.Len(), o.Pos())
	}
	defer func() {
		if recover() == nil {
			t.Error("one record too many is taken")
		}
	}()
	o.Emit(record.Marker, 0, 0, 0)
}

func TestWindowOfAliases(t *testing.T) {
	var s struct {
		mode uint8
		at   uint32
	}
	w := guest.WindowOf(&s)
	if len(w) != int(unsafe.Sizeof(s)) {
		t.Fatalf("%d bytes", len(w))
	}
	w[0] = 7
	if s.mode != 7 {
		t.Error("the window is not the struct")
	}
}

// answerer is a renderer whose answers are given.
type answerer struct {
	answer []byte
	err    error
}

func (answerer) Manifest() string  { return "{}" }
func (answerer) Open([]byte) error { return nil }

func (a answerer) Render(dst, input []byte) ([]byte, error) {
	if _, err := plan.ViewRenderInput(input); err != nil {
		return nil, err
	}
	return append(dst, a.answer...), a.err
}

func TestRendered(t *testing.T) {
	in := &plan.RenderInput{Rows: []plan.RenderRow{{Kind: 1, Role: 3, Text: "hi"}}, Switches: []byte("{}")}
	var w plan.Writer
	w.Literal("<")
	w.Refer(plan.Text, plan.Verbatim, 0, 0, 2)
	whole, err := w.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := guest.Rendered(answerer{answer: whole}, in)
	if err != nil || got.Text != "<hi" {
		t.Errorf("got %+v, %v", got, err)
	}
	other := errors.New("its own")
	for _, tt := range []struct {
		name string
		r    guest.Renderer
		in   *plan.RenderInput
		want error
	}{
		{"an input over a limit", answerer{answer: whole}, &plan.RenderInput{Tools: make([]plan.RenderTool, plan.MaxTools+1)}, plan.ErrFormat},
		{"an answer that is cut", answerer{answer: whole[1:]}, in, plan.ErrFormat},
		{"a part that is not there", answerer{answer: whole}, &plan.RenderInput{}, plan.ErrFormat},
		{"an error", answerer{err: other}, in, other},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := guest.Rendered(tt.r, tt.in); !errors.Is(err, tt.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
