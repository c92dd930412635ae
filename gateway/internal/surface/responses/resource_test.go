package responses_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

// TestEchoed says how the resource repeats a request.
func TestEchoed(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*responses.Echo, string)
		key  string
		in   string
		want string
	}{
		{"function tool without all", setTools, "tools", `[{"type":"function","name":"f"}]`, `[{"type":"function","name":"f","description":null,"parameters":null,"strict":null}]`},
		{"function tool with all", setTools, "tools", `[{"strict":true,"parameters":{"a":1.50,"b":[]},"type":"function","description":"d","name":"f","defer_loading":true}]`, `[{"strict":true,"parameters":{"a":1.50,"b":[]},"type":"function","description":"d","name":"f","defer_loading":true}]`},
		{"other tools", setTools, "tools", `[{"type":"custom","name":"c"},{},7,{"type":"namespace","tools":[{"type":"function","name":"g"}]}]`, `[{"type":"custom","name":"c"},{},7,{"type":"namespace","tools":[{"type":"function","name":"g"}]}]`},
		{"tools over lines", setTools, "tools", "[\n\t{ \"type\" : \"function\",\r\n\"name\": \"f\", \"description\": \"a\tb\"}\n]", `[{"type":"function","name":"f","description":"a\tb","parameters":null,"strict":null}]`},
		{"tools null", setTools, "tools", ` null`, `[]`},
		{"tools of another kind", setTools, "tools", `{"a":1}`, `[]`},
		{"tools cut off", setTools, "tools", `[{"type":"function"`, `[]`},
		{"choice", func(e *responses.Echo, s string) { e.ToolChoice = []byte(s) }, "tool_choice", `{"type":"function","name":"f"}`, `{"type":"function","name":"f"}`},
		{"choice word", func(e *responses.Echo, s string) { e.ToolChoice = []byte(s) }, "tool_choice", `"required"`, `"required"`},
		{"choice null", func(e *responses.Echo, s string) { e.ToolChoice = []byte(s) }, "tool_choice", `null`, `"auto"`},
		{"allowed tools", func(e *responses.Echo, s string) { e.ToolChoice = []byte(s) }, "tool_choice", `{"type":"allowed_tools","tools":[]}`, `{"type":"allowed_tools","tools":[],"mode":"auto"}`},
		{"text silent", setText, "text", ``, `{"format":{"type":"text"}}`},
		{"text empty", setText, "text", `{}`, `{"format":{"type":"text"}}`},
		{"verbosity alone", setText, "text", `{"verbosity":"low"}`, `{"format":{"type":"text"},"verbosity":"low"}`},
		{"json object", setText, "text", `{"format":{"type":"json_object"}}`, `{"format":{"type":"json_object"}}`},
		{"json schema", setText, "text", `{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}`, `{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},"description":null,"strict":false},"verbosity":"low"}`},
		{"reasoning", func(e *responses.Echo, s string) { e.Reasoning = []byte(s) }, "reasoning", `{"effort":"low","context":"all_turns"}`, `{"effort":"low","context":"all_turns","summary":null}`},
		{"reasoning empty", func(e *responses.Echo, s string) { e.Reasoning = []byte(s) }, "reasoning", ` { } `, `{ "effort":null,"summary":null}`},
		{"metadata", func(e *responses.Echo, s string) { e.Metadata = []byte(s) }, "metadata", `{"k":"v","k":"w"}`, `{"k":"v","k":"w"}`},
		{"metadata not utf-8", func(e *responses.Echo, s string) { e.Metadata = []byte(s) }, "metadata", "{\"k\":\"\xff\"}", `{"k":"` + "\uFFFD" + `"}`},
		{"service tier", func(e *responses.Echo, s string) { e.ServiceTier = []byte(s) }, "service_tier", `"flex"`, `"flex"`},
		{"service tier silent", func(e *responses.Echo, s string) { e.ServiceTier = []byte(s) }, "service_tier", ``, `"default"`},
		{"instructions", func(e *responses.Echo, s string) { e.Instructions = []byte(s) }, "instructions", `"be brief"`, `"be brief"`},
		{"logprobs", func(e *responses.Echo, s string) { e.TopLogprobs = []byte(s) }, "top_logprobs", `null`, `0`},
		{"cache key", func(e *responses.Echo, s string) { e.PromptCacheKey = []byte(s) }, "prompt_cache_key", `"k"`, `"k"`},
		{"retention", func(e *responses.Echo, s string) { e.PromptCacheRetention = []byte(s) }, "prompt_cache_retention", `"24h"`, `"24h"`},
		{"no JSON", func(e *responses.Echo, s string) { e.User = []byte(s) }, "user", "\"a\nb", `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := request()
			tt.set(&ownOf(req).Echo, tt.in)
			body := responses.Surface{}.Body(req, surfacetest.Info(), &event.Result{})
			var all map[string]json.RawMessage
			if err := json.Unmarshal(body, &all); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if got := string(all[tt.key]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if bytes.ContainsAny(body, "\n\r\t") {
				t.Errorf("%q", body)
			}
		})
	}
}

func setTools(e *responses.Echo, s string) { e.Tools = []byte(s) }
func setText(e *responses.Echo, s string)  { e.Text = []byte(s) }

func TestSampling(t *testing.T) {
	req := request()
	half, tenth := 0.5, -0.1
	req.Sampling.Temperature, req.Sampling.FrequencyPenalty = &half, &tenth
	req.MaxTokens, req.Choice.Parallel = 99, false
	body := string(responses.Surface{}.Body(req, surfacetest.Info(), &event.Result{}))
	for _, want := range []string{`"temperature":0.5`, `"top_p":1`, `"frequency_penalty":-0.1`, `"presence_penalty":0`, `"max_output_tokens":99`, `"parallel_tool_calls":false`} {
		if !strings.Contains(body, want+",") {
			t.Errorf("no %s in %s", want, body)
		}
	}
}

// TestKeepAliveIsSmall: what may be long goes out at the beginning and at the end.
func TestKeepAliveIsSmall(t *testing.T) {
	var c collected
	req := request()
	ownOf(req).Echo.Tools = []byte(`[{"type":"function","name":"` + strings.Repeat("f", 4000) + `"}]`)
	ownOf(req).Echo.Instructions = []byte(`"` + strings.Repeat("i", 4000) + `"`)
	enc := responses.Surface{}.Encode(req, surfacetest.Info(), &c)
	for _, ev := range story(t, "text") {
		if err := enc.Event(&ev); err != nil {
			t.Fatal(err)
		}
		if ev.Kind == event.TextDelta {
			if err := enc.KeepAlive(); err != nil {
				t.Fatal(err)
			}
		}
	}
	checkStream(t, c.frames)
	long := 0
	for _, f := range c.frames {
		if len(f.Data) > 4000 {
			long++
		}
	}
	if long != 3 {
		t.Errorf("%d long frames", long)
	}
}

// TestFinishedNow: an answer that nobody dated is complete when it ends, and its body says the same as its stream.
func TestFinishedNow(t *testing.T) {
	req := request()
	*ownOf(req) = responses.Own{}
	_, resource := play(t, responses.Surface{}, story(t, "text"), req, surfacetest.Info(), func(int) bool { return false })
	if ownOf(req).Finished.IsZero() {
		t.Error("no time")
	}
	if body := (responses.Surface{}).Body(req, surfacetest.Info(), surfacetest.Fold(t, story(t, "text"))); !bytes.Equal(body, resource) {
		t.Errorf("%s\n%s", body, resource)
	}
	req.Own = nil // not decoded here
	if body := (responses.Surface{}).Body(req, surfacetest.Info(), &event.Result{}); !json.Valid(body) {
		t.Errorf("%s", body)
	}
}

// TestEchoOfRecorded: what real clients say is repeated, with what strict readers look for.
func TestEchoOfRecorded(t *testing.T) {
	for _, r := range surfacetest.Recordings(t, "/v1/responses") {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(r.Body, &all); err != nil {
			t.Fatal(err)
		}
		req := request()
		e := &ownOf(req).Echo
		e.Tools, e.ToolChoice, e.Text, e.Reasoning, e.Metadata = all["tools"], all["tool_choice"], all["text"], all["reasoning"], all["metadata"]
		e.PromptCacheKey, e.Instructions, e.ServiceTier, e.Truncation = all["prompt_cache_key"], all["instructions"], all["service_tier"], all["truncation"]
		var got, in struct {
			Tools []map[string]json.RawMessage
			Text  struct{ Format struct{ Type string } }
		}
		if err := json.Unmarshal(r.Body, &in); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal((responses.Surface{}).Body(req, surfacetest.Info(), &event.Result{}), &got); err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		if len(got.Tools) != len(in.Tools) || got.Text.Format.Type == "" {
			t.Errorf("%s: %d tools, %d were given; format %q", r.Name, len(got.Tools), len(in.Tools), got.Text.Format.Type)
			continue
		}
		for i, tool := range got.Tools {
			for k, v := range in.Tools[i] {
				if !bytes.Equal(tool[k], v) {
					t.Errorf("%s: %s of tool %d is %s, was %s", r.Name, k, i, tool[k], v)
				}
			}
			if string(tool["type"]) == `"function"` && (tool["parameters"] == nil || tool["strict"] == nil || tool["description"] == nil) {
				t.Errorf("%s: tool %d lacks members", r.Name, i)
			}
		}
	}
}
