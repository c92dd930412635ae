package chat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
)

const own = `{"role":"assistant","content":"I say "}`

func TestPrompting(t *testing.T) {
	for _, tt := range []struct{ name, last, in, want string }{
		{"silent", user, ``, `continue false open false echo false documents "" template ""`},
		{"a last message of the assistant", own, ``, `continue false open false`},
		{"continue", own, `"continue_final_message":true,`, `continue true open false`},
		{"continue, and no prompt said", own, `"add_generation_prompt":false,"continue_final_message":true,`, `continue true open false`},
		{"no prompt", user, `"add_generation_prompt":false,`, `continue false open true`},
		{"prompt", user, `"add_generation_prompt":true,"continue_final_message":false,`, `continue false open false`},
		{"null", user, `"add_generation_prompt":null,"continue_final_message":null,"echo":null,"documents":null,"chat_template":null,"add_special_tokens":null,`, `continue false open false echo false documents "" template ""`},
		{"echo", own, `"echo":true,`, `echo true`},
		{"documents", user, `"documents":[{"title":"t", "text":"x"},{}],`, `documents "[{\"title\":\"t\", \"text\":\"x\"},{}]"`},
		{"template", user, `"chat_template":"{{ x }}",`, `template "{{ x }}"`},
		{"no special tokens", user, `"add_special_tokens":false,`, `continue false`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := chat.Surface{}.Decode([]byte(`{`+tt.in+`"model":"m","messages":[`+user+`,`+tt.last+`]}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			p := req.Prompting
			got := fmt.Sprintf("continue %v open %v echo %v documents %q template %q", p.Continue, p.NoGeneration, p.Echo, p.Documents, p.Template)
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPromptingRefusals(t *testing.T) {
	const noText = `invalid|continue_final_message|expected a last message of the assistant that ends with text`
	for _, tt := range []struct{ name, last, in, want string }{
		{"both", own, `"add_generation_prompt":true,"continue_final_message":true,`, `invalid|continue_final_message|continue_final_message and add_generation_prompt cannot both be true`},
		{"nothing to continue", user, `"continue_final_message":true,`, noText},
		{"an empty message", `{"role":"assistant","content":""}`, `"continue_final_message":true,`, noText},
		{"a call", `{"role":"assistant","content":"a","tool_calls":[{"id":"c","function":{"name":"f","arguments":""}}]}`, `"continue_final_message":true,`, noText},
		{"special tokens", user, `"add_special_tokens":true,`, `unsupported|add_special_tokens|expected false: a conversation has the special tokens of its template and no others`},
		{"documents of the wrong type", user, `"documents":{},`, `invalid|documents|expected an array of objects, got object`},
		{"a document of the wrong type", user, `"documents":[{},"x"],`, `invalid|documents[1]|expected an object, got string`},
		{"cut documents", user, `"documents":[{},`, `invalid||the body is not JSON: byte 17: expected a value`},
		{"long template", user, `"chat_template":"` + strings.Repeat("x", 256<<10+1) + `",`, `invalid|chat_template|expected at most 262144 bytes, got 262145`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rest := `"model":"m","messages":[` + user + `,` + tt.last + `]}`
			if strings.HasPrefix(tt.name, "cut") {
				rest = ""
			}
			_, err := chat.Surface{}.Decode([]byte(`{`+tt.in+rest), nil)
			var f *fault.Error
			if !errors.As(err, &f) {
				t.Fatalf("got %v, want a fault", err)
			}
			if got := fmt.Sprintf("%s|%s|%s", f.Kind, f.Param, f.Public); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestEcho begins the answer with the last message, in a stream and in a body.
func TestEcho(t *testing.T) {
	assistant := conv.Message{Role: conv.Assistant, Parts: []conv.Part{{Kind: conv.Reasoning, Text: "r"}, {Kind: conv.Text, Text: "I \"say\""}, {Kind: conv.Text, Text: "so"}}}
	c := event.Call{ID: "c", Name: "f"}
	whole := c
	whole.Arguments = []byte("{}")
	calls := []event.Event{
		{Kind: event.TurnStart},
		{Kind: event.ToolStart, Call: c},
		{Kind: event.ToolArgs, Text: whole.Arguments},
		{Kind: event.ToolEnd, Call: c, Complete: true},
		{Kind: event.Dispatch, Call: whole},
		{Kind: event.UsageKind},
		{Kind: event.Finish},
	}
	answer := []event.Event{
		{Kind: event.TurnStart},
		{Kind: event.ReasoningStart},
		{Kind: event.ReasoningDelta, Text: []byte("r")},
		{Kind: event.ReasoningEnd},
		{Kind: event.TextStart},
		{Kind: event.TextDelta, Text: []byte(" is it.")},
		{Kind: event.TextEnd},
		{Kind: event.UsageKind},
		{Kind: event.Finish},
	}
	for _, tt := range []struct {
		name         string
		echo         bool
		last         conv.Message
		events       []event.Event
		stream, body string
		absent       bool
	}{
		{"echo", true, assistant, answer, `{"content":"I \"say\"\nso"}`, `"content":"I \"say\"\nso is it."`, false},
		{"calls alone", true, assistant, calls, `{"content":"I \"say\"\nso"}`, `"content":"I \"say\"\nso","tool_calls"`, false},
		{"not asked for", false, assistant, answer, `say`, `say`, true},
		{"of a user", true, conv.Message{Role: conv.User, Parts: assistant.Parts}, answer, `say`, `say`, true},
		{"of nothing", true, conv.Message{Role: conv.Assistant}, answer, `{"content":""}`, `I `, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &surface.Request{Request: &conv.Request{Messages: []conv.Message{tt.last}, Prompting: conv.Prompting{Echo: tt.echo}}}
			stream := string(surfacetest.Play(t, tt.events, chat.Surface{}, req, surfacetest.Info()))
			body := string(chat.Surface{}.Body(req, surfacetest.Info(), surfacetest.Fold(t, tt.events)))
			if strings.Contains(stream, tt.stream) == tt.absent || strings.Contains(body, tt.body) == tt.absent {
				t.Errorf("got\n%s\n%s", stream, body)
			}
			if role := strings.Index(stream, `"role"`); !tt.absent && (role < 0 || strings.Index(stream, tt.stream) < role) {
				t.Error("the role does not come first")
			}
		})
	}
}
