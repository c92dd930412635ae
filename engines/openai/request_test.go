package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/engines/openai"
)

// sent generates once and returns what the server got, without the members every request has.
func sent(t *testing.T, cfg openai.Config, req *engines.Request) (path, body string) {
	t.Helper()
	d := enginetest.NewDouble()
	cfg.BaseURL = d.Serve(t)
	st, err := open(t, cfg).Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	_ = st.Close()
	got := d.Requests()[0]
	if !json.Valid(got.Body) {
		t.Fatalf("not JSON: %s", got.Body)
	}
	const common = `{"stream":true,"stream_options":{"include_usage":true}`
	body, ok := strings.CutPrefix(string(got.Body), common)
	if !ok {
		t.Fatalf("got %s", got.Body)
	}
	return got.Path, "{" + strings.TrimPrefix(body, ",")
}

func text(s string) []conv.Part { return []conv.Part{{Kind: conv.Text, Text: s}} }

func TestCompletionBodies(t *testing.T) {
	sampling := &conv.Request{Sampling: conv.Sampling{Temperature: new(0.5), TopP: new(1e-7), TopK: new(20), MinP: new(0.1), Seed: new(int64(-3)), IgnoreEOS: true, RepetitionPenalty: new(1.1), FrequencyPenalty: new(0.0)}}
	for name, c := range map[string]struct {
		cfg  openai.Config
		req  engines.Request
		want string
	}{
		"text":            {openai.Config{Model: "m"}, engines.Request{Prompt: "a\"b\n é"}, `{"model":"m","prompt":"a\"b\n é"}`},
		"model, limits":   {openai.Config{Model: "m"}, engines.Request{Model: "n", Prompt: "a", MaxTokens: 5, Stop: []string{"</s>", "x"}}, `{"model":"n","prompt":"a","max_tokens":5,"stop":["</s>","x"]}`},
		"ids not wanted":  {openai.Config{}, engines.Request{Prompt: "a", IDs: []uint32{1}}, `{"prompt":"a"}`},
		"ids":             {openai.Config{PromptIDs: true}, engines.Request{Prompt: "a", IDs: []uint32{151644, 0, 99}}, `{"prompt":[151644,0,99]}`},
		"ids as text":     {openai.Config{PromptIDs: true, Extras: true}, engines.Request{IDs: []uint32{5, 6}, IDsText: [][]byte{[]byte("5"), []byte(",6")}, MaxTokens: 1}, `{"prompt":[5,6],"max_tokens":1,"skip_special_tokens":false,"spaces_between_special_tokens":false,"return_token_ids":true}`},
		"plain sampling":  {openai.Config{}, engines.Request{Prompt: "a", Conversation: sampling}, `{"prompt":"a","temperature":0.5,"top_p":1e-07,"frequency_penalty":0,"seed":-3}`},
		"extras":          {openai.Config{Extras: true}, engines.Request{Prompt: "a", Conversation: sampling}, `{"prompt":"a","add_special_tokens":false,"temperature":0.5,"top_p":1e-07,"frequency_penalty":0,"min_p":0.1,"repetition_penalty":1.1,"seed":-3,"top_k":20,"ignore_eos":true,"skip_special_tokens":false,"spaces_between_special_tokens":false}`},
		"special":         {openai.Config{Extras: true, PromptIDs: true, Special: []openai.Special{{Text: "<t>", ID: 1}}}, engines.Request{IDs: []uint32{1}}, `{"prompt":[1],"skip_special_tokens":false,"spaces_between_special_tokens":false,"return_token_ids":true}`},
		"schema, vllm":    {openai.Config{Constrain: openai.ConstrainStructured}, engines.Request{Prompt: "a", Constraint: engines.Constraint{JSONSchema: []byte(`{"a":1}`)}}, `{"prompt":"a","structured_outputs":{"json":{"a":1}}}`},
		"regex, vllm":     {openai.Config{Constrain: openai.ConstrainStructured}, engines.Request{Prompt: "a", Constraint: engines.Constraint{Regex: `\d`}}, `{"prompt":"a","structured_outputs":{"regex":"\\d"}}`},
		"grammar, llama":  {openai.Config{Constrain: openai.ConstrainLlamaCPP}, engines.Request{Prompt: "a", Constraint: engines.Constraint{Grammar: `root ::= "x"`}}, `{"prompt":"a","grammar":"root ::= \"x\""}`},
		"object, llama":   {openai.Config{Constrain: openai.ConstrainLlamaCPP}, engines.Request{Prompt: "a", Constraint: engines.Constraint{JSONObject: true}}, `{"prompt":"a","json_schema":{"type":"object"}}`},
		"response format": {openai.Config{Constrain: openai.ConstrainResponse}, engines.Request{Prompt: "a", Constraint: engines.Constraint{JSONSchema: []byte(`{}`)}}, `{"prompt":"a","response_format":{"type":"json_schema","json_schema":{"name":"response","strict":true,"schema":{}}}}`},
		"own members":     {openai.Config{Members: func(dst []byte, r *engines.Request) []byte { return append(append(dst, `,"rid":"`...), r.ID+`"`...) }}, engines.Request{ID: "7", Prompt: "a"}, `{"prompt":"a","rid":"7"}`},
	} {
		path, got := sent(t, c.cfg, &c.req)
		if path != "/v1/completions" || got != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", name, path, got, c.want)
		}
	}
}

func TestRefusedBeforeSending(t *testing.T) {
	for name, c := range map[string]struct {
		cfg openai.Config
		req engines.Request
	}{
		"no prompt":       {openai.Config{}, engines.Request{IDs: []uint32{1}}},
		"no conversation": {openai.Config{Mode: openai.Chat}, engines.Request{Prompt: "a"}},
		"no constraints":  {openai.Config{}, engines.Request{Prompt: "a", Constraint: engines.Constraint{JSONObject: true}}},
		"no regex":        {openai.Config{Constrain: openai.ConstrainLlamaCPP}, engines.Request{Prompt: "a", Constraint: engines.Constraint{Regex: "a"}}},
	} {
		c.cfg.BaseURL = "http://127.0.0.1:1/v1"
		_, err := open(t, c.cfg).Generate(t.Context(), &c.req)
		var e *engines.Error
		if !errors.As(err, &e) || e.Class != engines.ClassRefused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := openai.New(openai.Config{BaseURL: "http://x/v1", Structured: true}); err == nil {
		t.Error("structured completions were accepted")
	}
}

func conversation() *conv.Request {
	return &conv.Request{
		Messages: []conv.Message{
			{Role: conv.System, Parts: []conv.Part{{Kind: conv.Text, Text: "a"}, {Kind: conv.Text, Text: "b"}}},
			{Role: conv.Developer, Parts: text("c")},
			{Role: conv.User, Name: "kim", Parts: []conv.Part{{Kind: conv.Text, Text: "look"}, {Kind: conv.MediaPart, Media: &conv.Media{Type: "image", MIME: "image/png", Data: "AA=="}}}},
			{Role: conv.Assistant, Parts: []conv.Part{{Kind: conv.Reasoning, Text: "hm", Seal: "s"}, {Kind: conv.Text, Text: "ok"}, {Kind: conv.Call, Call: &conv.ToolCall{ID: "1", Namespace: "ns", Name: "f", Arguments: `{"x": 1.50}`}}, {Kind: conv.Call, Call: &conv.ToolCall{ID: "2", Name: "p", Kind: conv.Custom, Arguments: "*** \"x\""}}}},
			{Role: conv.User, Parts: []conv.Part{{Kind: conv.Result, Result: &conv.ToolResult{CallID: "1", Parts: text("r1")}}, {Kind: conv.Text, Text: "and"}, {Kind: conv.Result, Result: &conv.ToolResult{CallID: "2", Parts: append(text("r2"), conv.Part{Kind: conv.Reference, Text: "late"})}}}},
			{Role: conv.Assistant, Parts: []conv.Part{{Kind: conv.Reasoning, Seal: "only"}, {Kind: conv.Call, Call: &conv.ToolCall{ID: "3", Name: "f", Arguments: `{}`}}}},
			{Role: conv.Tool, Parts: []conv.Part{{Kind: conv.Result, Result: &conv.ToolResult{CallID: "3"}}}},
		},
		Tools: []conv.ToolDef{
			{Namespace: "ns", Name: "f", Description: "d", Schema: []byte(`{"type": "object"}`), Strict: true},
			{Name: "p", Kind: conv.Custom},
			{Name: "late", Deferred: true},
			{Name: "later", Deferred: true},
		},
		Choice:       conv.ToolChoice{Mode: conv.ChoiceNamed, Name: "p"},
		TemplateArgs: []byte(`{"enable_thinking": false}`),
	}
}

func TestChatBody(t *testing.T) {
	const messages = `{"messages":[{"role":"system","content":"a\nb"},{"role":"system","content":"c"},` +
		`{"role":"user","name":"kim","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},` +
		`{"role":"assistant","reasoning_content":"hm","content":"ok","tool_calls":[{"id":"1","type":"function","function":{"name":"ns__f","arguments":"{\"x\": 1.50}"}},{"id":"2","type":"function","function":{"name":"p","arguments":"{\"input\":\"*** \\\"x\\\"\"}"}}]},` +
		`{"role":"tool","tool_call_id":"1","content":"r1"},{"role":"user","content":"and"},{"role":"tool","tool_call_id":"2","content":"r2"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"3","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"3","content":""}],` +
		`"tools":[{"type":"function","function":{"name":"ns__f","description":"d","parameters":{"type": "object"},"strict":true}},` +
		`{"type":"function","function":{"name":"p","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}},` +
		`{"type":"function","function":{"name":"late","parameters":{"type":"object","properties":{}}}}],"tool_choice":`
	for name, c := range map[string]struct {
		cfg  openai.Config
		want string
	}{
		"structured": {openai.Config{Structured: true}, `{"type":"function","function":{"name":"p"}},"parallel_tool_calls":false}`},
		"raw":        {openai.Config{}, `"none"}`},
		"raw extras": {openai.Config{Extras: true}, `"none","chat_template_kwargs":{"enable_thinking": false},"skip_special_tokens":false,"spaces_between_special_tokens":false}`},
	} {
		c.cfg.Mode = openai.Chat
		path, got := sent(t, c.cfg, &engines.Request{Conversation: conversation()})
		if path != "/v1/chat/completions" || got != messages+c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", name, path, got, messages+c.want)
		}
	}
}

func TestCountTokens(t *testing.T) {
	base := enginetest.NewDouble().Serve(t)
	req := &engines.Request{Prompt: "one two three", IDs: []uint32{1, 2}, Conversation: conversation()}
	for name, c := range map[string]struct {
		cfg  openai.Config
		want int
	}{
		"vllm":      {openai.Config{Tokenizer: openai.TokenizeVLLM}, 3},
		"llama.cpp": {openai.Config{Tokenizer: openai.TokenizeLlamaCPP}, 3},
		"ids":       {openai.Config{PromptIDs: true}, 2},
		"vllm chat": {openai.Config{Mode: openai.Chat, Tokenizer: openai.TokenizeVLLM}, 9},
		"none":      {openai.Config{}, -1},
	} {
		c.cfg.BaseURL = base
		n, err := open(t, c.cfg).CountTokens(t.Context(), req)
		if c.want < 0 && err == nil || c.want >= 0 && (n != c.want || err != nil) {
			t.Errorf("%s: %d, %v, want %d", name, n, err, c.want)
		}
	}
}

func TestProbe(t *testing.T) {
	base := enginetest.NewDouble().Serve(t)
	for health, ok := range map[string]bool{"": true, "/health": true, "/nowhere": false} {
		if err := open(t, openai.Config{BaseURL: base, Health: health}).Probe(t.Context()); (err == nil) != ok {
			t.Errorf("%q: %v", health, err)
		}
	}
}
