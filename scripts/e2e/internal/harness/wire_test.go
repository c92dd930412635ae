package harness

import (
	"strings"
	"testing"
)

// messageStream makes events of lines "name data".
func messageStream(lines ...string) []Event {
	var events []Event
	for _, l := range lines {
		name, data, _ := strings.Cut(l, " ")
		events = append(events, Event{Name: name, Data: `{"type":"` + name + `"` + data + `}`})
	}
	return events
}

func TestFoldMessages(t *testing.T) {
	const (
		start    = `message_start ,"message":{"type":"message","role":"assistant","id":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":0}}`
		text     = `content_block_start ,"index":0,"content_block":{"type":"text","text":""}`
		hello    = `content_block_delta ,"index":0,"delta":{"type":"text_delta","text":"hello"}`
		stop     = `content_block_stop ,"index":0`
		think    = `content_block_start ,"index":0,"content_block":{"type":"thinking","thinking":""}`
		thought  = `content_block_delta ,"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`
		sign     = `content_block_delta ,"index":0,"delta":{"type":"signature_delta","signature":"s"}`
		tool     = `content_block_start ,"index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}`
		input    = `content_block_delta ,"index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}`
		delta    = `message_delta ,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}`
		end      = `message_stop `
		failure  = `error ,"error":{"type":"api_error","message":"boom"}`
		other    = `content_block_start ,"index":2,"content_block":{"type":"text","text":""}`
		ping     = `ping `
		nameless = `content_block_start ,"index":0,"content_block":{"type":"tool_use","id":"t","input":{}}`
	)
	for name, c := range map[string]struct {
		lines []string
		want  string // part of the error; empty for none
	}{
		"text":                   {lines: []string{start, ping, text, hello, stop, delta, end}},
		"thinking":               {lines: []string{start, think, thought, sign, stop, delta, end}},
		"tool":                   {lines: []string{start, tool, input, stop, delta, end}},
		"nothing":                {lines: []string{start, delta, end}},
		"error in a block":       {lines: []string{start, text, hello, failure}},
		"no start":               {lines: []string{text, hello, stop, delta, end}, want: "content_block_start after"},
		"no stop of a block":     {lines: []string{start, text, hello, delta, end}, want: "message_delta after"},
		"no end":                 {lines: []string{start, text, hello, stop, delta}, want: "the stream ends after"},
		"after the end":          {lines: []string{start, delta, end, delta}, want: "after the last"},
		"wrong index":            {lines: []string{start, text, hello, stop, other}, want: "index"},
		"unsigned":               {lines: []string{start, think, thought, stop}, want: "no signature"},
		"after the signature":    {lines: []string{start, think, sign, thought}, want: "after the signature"},
		"delta of another block": {lines: []string{start, text, thought}, want: "in a text block"},
		"tool without input":     {lines: []string{start, tool, stop}, want: "input_json_delta"},
		"tool without name":      {lines: []string{start, nameless}, want: "a name"},
		"ping before the start":  {lines: []string{ping, start}, want: "ping before"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := FoldMessages(messageStream(c.lines...))
			checkError(t, err, c.want)
		})
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestFoldChat(t *testing.T) {
	chunk := func(delta, finish string) string {
		return `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":` + finish + `}]}`
	}
	const usage = `{"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`
	role := chunk(`"role":"assistant","content":""`, "null")
	call := chunk(`"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":""}}]`, "null")
	more := chunk(`"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]`, "null")
	again := chunk(`"tool_calls":[{"index":0,"id":"x","function":{"arguments":"{}"}}]`, "null")
	far := chunk(`"tool_calls":[{"index":3,"id":"x","type":"function","function":{"name":"f"}}]`, "null")
	finish := chunk("", `"stop"`)
	for name, c := range map[string]struct {
		data []string
		want string
	}{
		"text":                   {data: []string{role, chunk(`"content":"a"`, "null"), finish, usage, "[DONE]"}},
		"call":                   {data: []string{role, call, more, finish, "[DONE]"}},
		"failure":                {data: []string{role, `{"error":{"message":"boom","type":"server_error"}}`}},
		"no role":                {data: []string{finish, "[DONE]"}, want: "role"},
		"no done":                {data: []string{role, finish}, want: "[DONE]"},
		"after done":             {data: []string{role, finish, "[DONE]", role}, want: "after [DONE]"},
		"after the finish":       {data: []string{role, finish, role}, want: "after the finish"},
		"no choices":             {data: []string{role, `{"id":"c","object":"chat.completion.chunk"}`}, want: "no choices"},
		"id in a later fragment": {data: []string{role, call, again}, want: "repeats"},
		"index out of order":     {data: []string{role, far}, want: "call 3 after"},
		"not JSON":               {data: []string{"{"}, want: "chunk 0"},
	} {
		t.Run(name, func(t *testing.T) {
			var events []Event
			for _, d := range c.data {
				events = append(events, Event{Data: d})
			}
			_, err := FoldChat(events)
			checkError(t, err, c.want)
		})
	}
}

func TestReadEvents(t *testing.T) {
	var got []Event
	in := ": comment\nevent: a\ndata: 1\ndata:2\n\ndata: [DONE]\n\nevent: empty\n\n"
	err := ReadEvents(strings.NewReader(in), func(e Event) error {
		got = append(got, e)
		return nil
	})
	if err != nil || len(got) != 2 || got[0] != (Event{Name: "a", Data: "1\n2"}) || got[1] != (Event{Data: "[DONE]"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := ReadEvents(strings.NewReader("data: cut"), func(Event) error { return nil }); err == nil {
		t.Error("a cut event was taken for whole")
	}
}

func TestSumMetric(t *testing.T) {
	const text = "# HELP weir_x x\nweir_x_total 9\nweir_x{model=\"a b\"} 2\nweir_x{model=\"c\"} 3e0\n"
	if n, err := SumMetric(strings.NewReader(text), "weir_x"); n != 5 || err != nil {
		t.Errorf("got %v, %v", n, err)
	}
	if _, err := SumMetric(strings.NewReader(text), "weir_y"); err == nil {
		t.Error("found what is not there")
	}
}
