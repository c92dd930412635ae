package plan_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/plan"
)

func TestAssemble(t *testing.T) {
	const system, user, media, thought, call, result, dev, stray = 0, 1, 2, 3, 4, 5, 6, 7
	for _, tt := range []struct {
		name string
		s    plan.Segment
		want string
		from plan.Source
		fail bool
	}{
		{"a literal", plan.Segment{From: 1, To: 3}, "it", plan.FromRenderer, false},
		{"a system text", plan.Segment{Field: plan.Text, Index: system, To: 9}, "Be brief.", plan.FromSystem, false},
		{"a part of it", plan.Segment{Field: plan.Text, Index: system, From: 3, To: 8}, "brief", plan.FromSystem, false},
		{"a user's", plan.Segment{Field: plan.Text, Index: user, Escape: plan.JSONString, To: 10}, `wée\nwhat?`, plan.FromUser, false},
		{"a developer's", plan.Segment{Field: plan.Text, Index: dev, To: 3}, "dev", plan.FromDeveloper, false},
		{"a thought", plan.Segment{Field: plan.Text, Index: thought, To: 2}, "hm", plan.FromAssistant, false},
		{"text of a tool", plan.Segment{Field: plan.Text, Index: stray, To: 5}, "stray", plan.FromResult, false},
		{"a result", plan.Segment{Field: plan.Text, Index: result, Escape: plan.XMLAttribute, To: 9}, `a&lt;b &amp; &quot;c&quot;`, plan.FromResult, false},
		{"arguments", plan.Segment{Field: plan.Arguments, Index: call, To: 30}, `{"a":"x\n\u00e9","b":[1, 2.0]}`, plan.FromAssistant, false},
		{"spaced", plan.Segment{Field: plan.Arguments, Escape: plan.JSONValue, Index: call, To: 30}, `{"a": "x\né", "b": [1, 2.0]}`, plan.FromAssistant, false},
		{"a string of them", plan.Segment{Field: plan.Arguments, Escape: plan.JSONText, Index: call, From: 6, To: 15}, "x\né", plan.FromAssistant, false},
		{"half a string", plan.Segment{Field: plan.Arguments, Escape: plan.JSONText, Index: call, From: 6, To: 13}, `x\n\u00`, plan.FromAssistant, false},
		{"no value", plan.Segment{Field: plan.Arguments, Escape: plan.JSONValue, Index: call, To: 20}, `{"a":"x\n\u00e9","b"`, plan.FromAssistant, false},
		{"a value and more", plan.Segment{Field: plan.Arguments, Escape: plan.JSONValue, Index: call, From: 5, To: 17}, `"x\n\u00e9",`, plan.FromAssistant, false},
		{"a call's name", plan.Segment{Field: plan.Name, Index: call, To: 3}, "get", plan.FromAssistant, false},
		{"a call's id", plan.Segment{Field: plan.CallID, Index: call, From: 5, To: 6}, "1", plan.FromAssistant, false},
		{"a result's name", plan.Segment{Field: plan.Name, Index: result, To: 3}, "get", plan.FromResult, false},
		{"a result's id", plan.Segment{Field: plan.CallID, Index: result, To: 6}, "call_1", plan.FromResult, false},
		{"a tool's name", plan.Segment{Field: plan.ToolName, Index: 1, To: 3}, "run", plan.FromTool, false},
		{"a description", plan.Segment{Field: plan.ToolDescription, Escape: plan.JSONString, To: 13}, `the \"weather\"`, plan.FromTool, false},
		{"a schema", plan.Segment{Field: plan.ToolSchema, Escape: plan.JSONValue, To: 66}, `{"type": "object", "properties": {"a": {"enum": ["é/", null]}}}`, plan.FromTool, false},

		{name: "beyond the text", s: plan.Segment{Field: plan.Text, Index: system, To: 10}, fail: true},
		{name: "beyond the literals", s: plan.Segment{To: 5}, fail: true},
		{name: "backwards", s: plan.Segment{Field: plan.Text, From: 2, To: 1}, fail: true},
		{name: "no row", s: plan.Segment{Field: plan.Text, Index: 8}, fail: true},
		{name: "no tool", s: plan.Segment{Field: plan.ToolName, Index: 2}, fail: true},
		{name: "no field", s: plan.Segment{Field: plan.ToolSchema + 1}, fail: true},
		{name: "media has no text", s: plan.Segment{Field: plan.Text, Index: media}, fail: true},
		{name: "a call has no text", s: plan.Segment{Field: plan.Text, Index: call}, fail: true},
		{name: "text has no arguments", s: plan.Segment{Field: plan.Arguments, Index: user}, fail: true},
		{name: "text has no name", s: plan.Segment{Field: plan.Name, Index: user}, fail: true},
		{name: "thinking has no id", s: plan.Segment{Field: plan.CallID, Index: thought}, fail: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := scene()
			got, err := plan.Assemble(in, &plan.Answer{Segments: []plan.Segment{tt.s}, Literals: "lite"})
			if tt.fail {
				if !errors.Is(err, plan.ErrFormat) {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := plan.Span{End: len(tt.want), Source: tt.from}
			switch {
			case tt.from == plan.FromTool:
				want.Message = int(tt.s.Index)
			case tt.from != plan.FromRenderer:
				want.Message, want.Part = int(in.Rows[tt.s.Index].Message), int(in.Rows[tt.s.Index].Part)
			}
			if got.Text != tt.want || len(got.Spans) != 1 || got.Spans[0] != want {
				t.Errorf("got %q %+v, want %q %+v", got.Text, got.Spans, tt.want, want)
			}
		})
	}
}

// TestAssembleMerges wants neighbours of one source and part to be one span, and empty ones none.
func TestAssembleMerges(t *testing.T) {
	got, err := plan.Assemble(scene(), &plan.Answer{Literals: "lite", Segments: []plan.Segment{
		{To: 1}, {From: 2, To: 2}, {From: 1, To: 4}, {Field: plan.Text, Index: 1, To: 3}, {Field: plan.Text, Index: 0}, {Field: plan.Text, Index: 1, From: 3, To: 4}, {Field: plan.Text, Index: 0, To: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.Span{{0, 4, plan.FromRenderer, 0, 0}, {4, 8, plan.FromUser, 1, 0}, {8, 9, plan.FromSystem, 0, 0}}
	if got.Text != "litewéeB" || !reflect.DeepEqual(got.Spans, want) {
		t.Errorf("got %q %+v", got.Text, got.Spans)
	}
}

// TestAssembleIsBounded gives answers that would make a prompt without end of little.
func TestAssembleIsBounded(t *testing.T) {
	deep := strings.Repeat("[", 1<<20)
	in := &plan.RenderInput{Rows: []plan.RenderRow{{Kind: 1, Role: 3, Text: strings.Repeat("\x01", 1<<20)}, {Kind: 3, Role: 4, Text: deep}}}
	for name, e := range map[string]plan.Escape{"as it is": plan.Verbatim, "escaped": plan.JSONString} {
		t.Run(name, func(t *testing.T) {
			a := &plan.Answer{}
			for range 17 {
				a.Segments = append(a.Segments, plan.Segment{Field: plan.Text, Escape: e, To: 1 << 20})
			}
			if _, err := plan.Assemble(in, a); !errors.Is(err, plan.ErrFormat) {
				t.Errorf("17 times: %v", err)
			}
			a.Segments = a.Segments[:2]
			if got, err := plan.Assemble(in, a); err != nil || len(got.Text) > plan.MaxRendered {
				t.Errorf("twice: %v", err)
			}
		})
	}
	got, err := plan.Assemble(in, &plan.Answer{Segments: []plan.Segment{{Field: plan.Arguments, Escape: plan.JSONValue, Index: 1, To: 1 << 20}}})
	if err != nil || got.Text != deep {
		t.Errorf("nested without end: %d bytes, %v", len(got.Text), err)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(plan.AppendAnswer(nil, &plan.Answer{
		Literals: "ab", Ops: []plan.Op{{Kind: plan.StopOp, Value: "s"}},
		Segments: []plan.Segment{{To: 2}, {Field: plan.Arguments, Escape: plan.JSONValue, Index: 4, To: 30}, {Field: plan.ToolSchema, Escape: plan.JSONText, From: 1, To: 9}},
	}))
	f.Add(plan.AppendAnswer(nil, &plan.Answer{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := plan.ParseAnswer(b)
		if err != nil {
			if !errors.Is(err, plan.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if again := plan.AppendAnswer(nil, a); len(again) != len(b) {
			t.Fatalf("%d bytes became %d", len(b), len(again))
		}
		got, err := plan.Assemble(scene(), a)
		if err != nil {
			if !errors.Is(err, plan.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		at := 0
		for _, s := range got.Spans {
			if s.Start != at || s.End <= s.Start {
				t.Fatalf("spans %+v", got.Spans)
			}
			at = s.End
		}
		if at != len(got.Text) {
			t.Fatalf("spans end at %d of %d", at, len(got.Text))
		}
	})
}
