package parsecmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/parsecmd"
	"github.com/weirgate/weir/plugins/parser"
	"github.com/weirgate/weir/plugins/parser/parsertest"
)

// families of the corpus that configure by name alone, and the cases that raw text can play.
func corpus(t *testing.T, each func(t *testing.T, o parsecmd.Options, in string)) {
	t.Helper()
	for _, f := range parsertest.Families() {
		var names struct{ Reasoning, Tools string }
		if err := json.Unmarshal([]byte(f.Config), &names); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		t.Run(f.Name, func(t *testing.T) {
			for _, c := range f.Cases {
				if len(c.Spans) > 0 || len(c.Input) > 4000 {
					continue
				}
				o := parsecmd.Options{Reasoning: names.Reasoning, Tools: names.Tools, PromptTail: string(c.Start.Tail)}
				if !c.Start.Tools || c.Start.Choice == guest.ChoiceNone || c.Accept != nil || c.Start.Thinking == guest.ThinkingOff {
					o.Request = &conv.Request{Choice: conv.ToolChoice{Parallel: true}}
					if c.Start.Tools {
						for _, name := range append(c.Accept, "get_stock") {
							o.Request.Tools = append(o.Request.Tools, conv.ToolDef{Name: name})
						}
					}
					if c.Start.Choice == guest.ChoiceNone {
						o.Request.Choice.Mode = conv.ChoiceNone
					}
					if c.Start.Thinking == guest.ThinkingOff {
						o.Request.Thinking.Mode = conv.ThinkingOff
					}
				}
				t.Run(c.Name, func(t *testing.T) { each(t, o, c.Input) })
			}
		})
	}
}

func native(_ context.Context, _ string, config []byte) (host.Guest, error) {
	return guesttest.Native(parser.New(), config)
}

func parse(t *testing.T, o parsecmd.Options, in string) string {
	t.Helper()
	var out bytes.Buffer
	if err := parsecmd.Run(context.Background(), o, native, strings.NewReader(in), &out); err != nil {
		t.Fatalf("%q: %v", in, err)
	}
	return out.String()
}

// TestCorpusResults wants one result whatever the chunks, JSON in every complete call, and a finish that
// does not claim broken calls.
func TestCorpusResults(t *testing.T) {
	corpus(t, func(t *testing.T, o parsecmd.Options, in string) {
		o.Result = true
		for cut := range len(in) + 1 {
			if cut > 200 && cut < len(in) {
				continue
			}
			o.Finish = "length"
			if cut == len(in) {
				o.Finish = "stop"
			}
			o.Chunks = "all"
			whole := parse(t, o, in[:cut])
			for _, spec := range []string{"bytes:1", "bytes:3", "random:7"} {
				if o.Chunks = spec; cut < len(in) && spec != "bytes:1" {
					continue
				}
				if got := parse(t, o, in[:cut]); got != whole {
					t.Fatalf("%q by %s:\n%swhole:\n%s", in[:cut], spec, got, whole)
				}
			}
			checkResult(t, in[:cut], whole)
		}
	})
}

func checkResult(t *testing.T, in, result string) {
	t.Helper()
	var r struct {
		Calls []struct {
			Arguments string
			Complete  bool
		} `json:"tool_calls"`
		Finish string `json:"finish_reason"`
	}
	if err := json.Unmarshal([]byte(result), &r); err != nil {
		t.Fatalf("%q: %v", in, err)
	}
	broken := len(r.Calls) == 0
	for _, c := range r.Calls {
		broken = broken || !c.Complete
		if c.Complete && !json.Valid([]byte(c.Arguments)) {
			t.Fatalf("%q: arguments %s", in, c.Arguments)
		}
	}
	if broken && r.Finish == "tool_calls" {
		t.Fatalf("%q finished with %s", in, result)
	}
}

// TestCorpusGrammar plays the corpus under the checker of the event grammar, byte by byte.
func TestCorpusGrammar(t *testing.T) {
	corpus(t, func(t *testing.T, o parsecmd.Options, in string) {
		g, err := native(context.Background(), "", []byte(`{"reasoning": "`+o.Reasoning+`", "tools": "`+o.Tools+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		check := &event.Checker{}
		a := assemble.New(assemble.Options{AnyName: true, Dispatch: true, Choice: conv.ToolChoice{Parallel: true}}, check)
		if err := a.Start(event.Usage{}); err != nil {
			t.Fatal(err)
		}
		s, err := host.Open(g, a, guest.Start{Tools: true, Tail: []byte(o.PromptTail)}.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(in) {
			if err := s.Feed([]byte(in[i:i+1]), nil, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Finish(1); err != nil {
			t.Fatal(err)
		}
		if err := a.Finish(event.ReasonStop, "", event.Usage{}); err != nil {
			t.Fatal(err)
		}
		if err := check.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
