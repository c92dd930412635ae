package plan_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
)

// scene has every kind of part.
func scene() *plan.RenderInput {
	return &plan.RenderInput{
		Rows: []plan.RenderRow{
			{Message: 0, Kind: uint8(conv.Text), Role: uint8(conv.System), Text: "Be brief."},
			{Message: 1, Kind: uint8(conv.Text), Role: uint8(conv.User), Text: "wée\nwhat?", Flags: plan.RowLastUser},
			{Message: 1, Part: 1, Kind: uint8(conv.MediaPart), Role: uint8(conv.User), Size: 1 << 31},
			{Message: 2, Kind: uint8(conv.Reasoning), Role: uint8(conv.Assistant), Text: "hm", Flags: plan.RowSealed},
			{Message: 2, Part: 1, Kind: uint8(conv.Call), Role: uint8(conv.Assistant), Name: "get", ID: "call_1", Text: `{"a":"x\n\u00e9","b":[1, 2.0]}`},
			{Message: 3, Kind: uint8(conv.Result), Role: uint8(conv.User), Name: "get", ID: "call_1", Text: `a<b & "c"`, Flags: plan.RowError},
			{Message: 4, Kind: uint8(conv.Text), Role: uint8(conv.Developer), Text: "dev"},
			{Message: 5, Kind: uint8(conv.Text), Role: uint8(conv.Tool), Text: "stray"},
		},
		Tools: []plan.RenderTool{
			{Name: "get", Description: `the "weather"`, Schema: "{ \"type\" :\"object\",\"properties\":{\"a\":{\"enum\":[\"\\u00e9\\/\",null]}} }", Flags: plan.ToolStrict},
			{Kind: uint8(conv.Custom), Name: "run"},
		},
		Switches: []byte(`{"tools":2}`),
		Content:  plan.ReadAll,
	}
}

func encodeInput(tb testing.TB, in *plan.RenderInput) []byte {
	tb.Helper()
	b, err := plan.AppendRenderInput(nil, in)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestRenderInputRoundTrip(t *testing.T) {
	for _, content := range []plan.Content{plan.ReadAll, 0, plan.ReadArguments, plan.ReadText, plan.ReadTools} {
		t.Run(fmt.Sprint("content ", content), func(t *testing.T) {
			in := scene()
			in.Content = content
			got, err := plan.ParseRenderInput(encodeInput(t, in))
			if err != nil {
				t.Fatal(err)
			}
			want := scene()
			want.Content = content
			for i := range want.Rows {
				r := &want.Rows[i]
				read := plan.ReadText
				if r.Kind == uint8(conv.Call) {
					read = plan.ReadArguments
				}
				if content&read == 0 && r.Text != "" {
					r.Size, r.Text = uint32(len(r.Text)), ""
				}
			}
			for i := range want.Tools {
				if content&plan.ReadTools == 0 {
					want.Tools[i].Description, want.Tools[i].Schema = "", ""
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestRenderViewReadsAsOutline wants the rows of an input to read as those of its outline.
func TestRenderViewReadsAsOutline(t *testing.T) {
	v, err := plan.ViewRenderInput(encodeInput(t, scene()))
	if err != nil {
		t.Fatal(err)
	}
	r := v.Row(4)
	if v.Len() != 8 || r.Message() != 2 || r.Part() != 1 || string(v.Name(r)) != "get" || string(v.ID(r)) != "call_1" || r.IDLength() != 6 || r.NameLength() != 3 {
		t.Errorf("row 4 of %d is message %d part %d, %q, %q", v.Len(), r.Message(), r.Part(), v.Name(r), v.ID(r))
	}
	if got := testing.AllocsPerRun(10, func() { _ = v.Text(v.Row(4)) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
	var none plan.View
	if none.Len() != 0 {
		t.Error("the zero view has rows")
	}
}

// TestRenderWire pins the bytes that ABI.md describes.
func TestRenderWire(t *testing.T) {
	in := &plan.RenderInput{
		Rows:     []plan.RenderRow{{Message: 1, Part: 2, Kind: 3, Role: 4, Flags: 8, Name: "f", ID: "id", Text: "{}"}, {Kind: 1, Role: 3, Text: "hey"}},
		Tools:    []plan.RenderTool{{Kind: 1, Flags: 1, Name: "t", Description: "de", Schema: "sch"}},
		Switches: []byte("{}"),
		Content:  plan.ReadArguments | plan.ReadTools,
	}
	const want = "01000000" + "02000000" + "01000000" + "02000000" + "04000000" + "07000000" + "06000000" + "00000000" +
		"01000000" + "0200" + "03" + "04" + "02000000" + "00000000" + "0100" + "0800" + "00000000" + "01000000" + "0200" + "0000" +
		"00000000" + "0000" + "01" + "03" + "03000000" + "03000000" + "0000" + "0000" + "00000000" + "03000000" + "0000" + "0000" +
		"03000000" + "0100" + "01" + "01" + "02000000" + "02000000" + "03000000" + "04000000" +
		"7b7d" + "66" + "6964" + "74" + "7b7d" + "6465" + "736368"
	if got := hex.EncodeToString(encodeInput(t, in)); got != want {
		t.Errorf("input\n%s, expected\n%s", got, want)
	}
	a := &plan.Answer{
		Segments: []plan.Segment{{To: 2}, {Field: plan.Arguments, Escape: plan.JSONText, Index: 3, From: 4, To: 5}},
		Literals: "ab",
		Ops:      []plan.Op{{Kind: plan.StartOp, State: plan.StartContent}},
	}
	const wantAnswer = "01000000" + "02000000" + "10000000" + "02000000" +
		"00" + "00" + "0000" + "00000000" + "00000000" + "02000000" +
		"02" + "03" + "0000" + "03000000" + "04000000" + "05000000" +
		"0600" + "01" + "00" + "00000000" + "0000" + "0000" + "00000000" + "6162"
	if got := hex.EncodeToString(plan.AppendAnswer(nil, a)); got != wantAnswer {
		t.Errorf("answer\n%s, expected\n%s", got, wantAnswer)
	}
	got, err := plan.ParseAnswer(plan.AppendAnswer(nil, a))
	if err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestPageHasLimits holds the limits against ABI.md.
func TestPageHasLimits(t *testing.T) {
	page, err := os.ReadFile("../ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]int{
		"MaxTools": plan.MaxTools, "MaxRenderInput": plan.MaxRenderInput, "MaxSegments": plan.MaxSegments, "MaxAnswer": plan.MaxAnswer, "MaxRendered": plan.MaxRendered,
	} {
		row := fmt.Sprintf("| `%s` | %s |", name, thousands(v))
		if !strings.Contains(string(page), row) {
			t.Errorf("ABI.md has no %q", row)
		}
	}
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func TestAppendRenderInputRefuses(t *testing.T) {
	for name, in := range map[string]*plan.RenderInput{
		"too many rows":  {Rows: make([]plan.RenderRow, plan.MaxRows+1)},
		"too many tools": {Tools: make([]plan.RenderTool, plan.MaxTools+1)},
		"a long name":    {Rows: []plan.RenderRow{{Name: strings.Repeat("n", 1<<16)}}},
		"a long id":      {Rows: []plan.RenderRow{{ID: strings.Repeat("n", 1<<16)}}},
		"a long tool":    {Tools: []plan.RenderTool{{Name: strings.Repeat("n", 1<<16)}}},
		"long switches":  {Switches: make([]byte, plan.MaxRenderInput)},
		"long content":   {Rows: []plan.RenderRow{{Kind: 1, Text: strings.Repeat("x", plan.MaxRenderInput)}}, Content: plan.ReadText},
		"other content":  {Content: plan.ReadAll + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if b, err := plan.AppendRenderInput(nil, in); !errors.Is(err, plan.ErrFormat) {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
	in := &plan.RenderInput{Rows: []plan.RenderRow{{Kind: 1, Text: strings.Repeat("x", plan.MaxRenderInput)}}}
	if _, err := plan.AppendRenderInput(nil, in); err != nil {
		t.Errorf("content that is not given: %v", err)
	}
}

func TestParseRenderInputRefuses(t *testing.T) {
	good := encodeInput(t, scene())
	put := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	row, tool := 32, 32+8*32
	for name, b := range map[string][]byte{
		"nothing":             nil,
		"half a header":       good[:31],
		"cut":                 good[:len(good)-1],
		"bytes behind":        append(bytes.Clone(good), 0),
		"another version":     put(0, 2),
		"more rows than sent": put(4, 9),
		"too many rows":       put(4, plan.MaxRows+1),
		"rows without end":    put(4, 1<<32-1),
		"too many tools":      put(8, plan.MaxTools+1),
		"switches too long":   put(12, 1<<32-1),
		"unknown content":     put(24, 8),
		"reserved":            put(28, 1),
		"a name elsewhere":    put(row+4*32+12, 1<<32-1),
		"an id elsewhere":     put(row+4*32+24, 1<<32-1),
		"a reserved half":     put(row+4*32+28, 6|1<<16),
		"text elsewhere":      put(row+20, 1<<32-1),
		"a message of two roles": func() []byte {
			b := bytes.Clone(good)
			for at := row; at+32 < tool; at += 32 { // the first two rows of one message
				if bytes.Equal(b[at:at+4], b[at+32:at+36]) {
					b[at+7]++
					return b
				}
			}
			return nil
		}(),
		"text too long":         put(row+8, 1<<20),
		"a tool's name":         put(tool, 1<<32-1),
		"a tool's description":  put(tool+12, 1<<32-1),
		"a schema that is long": put(tool+16, 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			if in, err := plan.ParseRenderInput(b); !errors.Is(err, plan.ErrFormat) {
				t.Errorf("got %+v, %v", in, err)
			}
		})
	}
}

func TestParseAnswerRefuses(t *testing.T) {
	answer := func(s plan.Segment, ops ...plan.Op) []byte {
		return plan.AppendAnswer(nil, &plan.Answer{Segments: []plan.Segment{s}, Literals: "text", Ops: ops})
	}
	good := answer(plan.Segment{To: 4})
	put := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	for name, b := range map[string][]byte{
		"nothing":              nil,
		"half a header":        good[:15],
		"cut":                  good[:len(good)-1],
		"bytes behind":         append(bytes.Clone(good), 0),
		"another version":      put(0, 2),
		"more than sent":       put(4, 2),
		"too many segments":    put(4, plan.MaxSegments+1),
		"ops too long":         put(8, 1<<32-1),
		"literals too long":    put(12, 1<<32-1),
		"an unknown field":     answer(plan.Segment{Field: plan.ToolSchema + 1}),
		"an unknown escape":    answer(plan.Segment{Field: plan.Text, Escape: plan.JSONValue + 1}),
		"a reserved half":      put(16, 1<<16),
		"an end before":        answer(plan.Segment{Field: plan.Text, From: 2, To: 1}),
		"an escaped literal":   answer(plan.Segment{Escape: plan.JSONString, To: 1}),
		"a literal of a row":   answer(plan.Segment{Index: 1, To: 1}),
		"a literal too long":   answer(plan.Segment{To: 5}),
		"a template argument":  answer(plan.Segment{To: 4}, plan.Op{Kind: plan.KwargOp, Key: "k", Value: "1"}),
		"an id":                answer(plan.Segment{To: 4}, plan.Op{Kind: plan.CallIDOp, Value: "1"}),
		"a tail":               answer(plan.Segment{To: 4}, plan.Op{Kind: plan.TailOp, Value: "t"}),
		"a splice":             answer(plan.Segment{To: 4}, plan.Op{Kind: plan.PartOp, Action: plan.Splice}),
		"an unknown operation": answer(plan.Segment{To: 4}, plan.Op{Kind: plan.TailOp + 1}),
		"a large answer":       plan.AppendAnswer(nil, &plan.Answer{Literals: strings.Repeat("x", plan.MaxAnswer)}),
	} {
		t.Run(name, func(t *testing.T) {
			if a, err := plan.ParseAnswer(b); !errors.Is(err, plan.ErrFormat) {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
}

func TestWriter(t *testing.T) {
	var w plan.Writer
	w.Literal("<a>")
	w.Literal("")
	w.Literal("<b>")
	w.Refer(plan.Text, plan.Verbatim, 1, 0, 0)
	w.Refer(plan.Text, plan.XMLAttribute, 1, 2, 3)
	w.Literal("<c>")
	w.Op(plan.Op{Kind: plan.StopOp, Value: "s"})
	w.Ops(encode([]plan.Op{{Kind: plan.TokenOp, Value: "t"}}))
	b, err := w.Append([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := plan.ParseAnswer(bytes.TrimPrefix(b, []byte("before")))
	if err != nil {
		t.Fatal(err)
	}
	want := &plan.Answer{
		Segments: []plan.Segment{{To: 6}, {Field: plan.Text, Escape: plan.XMLAttribute, Index: 1, From: 2, To: 3}, {From: 6, To: 9}},
		Literals: "<a><b><c>",
		Ops:      []plan.Op{{Kind: plan.StopOp, Value: "s"}, {Kind: plan.TokenOp, Value: "t"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestWriterIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for name, fill := range map[string]func(w *plan.Writer){
		"literals":     func(w *plan.Writer) { w.Literal(long) },
		"references":   func(w *plan.Writer) { w.Refer(plan.Text, plan.Verbatim, 0, 0, 1) },
		"instructions": func(w *plan.Writer) { w.Op(plan.Op{Kind: plan.StopOp, Value: long}) },
		"encoded":      func(w *plan.Writer) { w.Ops([]byte(long[:100])) },
	} {
		t.Run(name, func(t *testing.T) {
			var w plan.Writer
			for range plan.MaxSegments + 1 {
				fill(&w)
			}
			if b, err := w.Append(nil); !errors.Is(err, plan.ErrFormat) {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
}

func FuzzParseRenderInput(f *testing.F) {
	f.Add(encodeInput(f, scene()))
	f.Add(encodeInput(f, &plan.RenderInput{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := plan.ParseRenderInput(b)
		if err != nil {
			if !errors.Is(err, plan.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		again, err := plan.AppendRenderInput(nil, in)
		if err != nil {
			return // names that lie over each other are longer when they do not
		}
		other, err := plan.ParseRenderInput(again)
		if err != nil || !reflect.DeepEqual(in, other) {
			t.Fatalf("%+v became %+v, %v", in, other, err)
		}
	})
}
