package chat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
)

func TestDecodeTokenize(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"prompt", `{"model":"m","prompt":"hi"}`, `m "hi" special true strings false`},
		{"empty prompt", `{"prompt":"","model":"m"}`, `m "" special true strings false`},
		{"switches", `{"add_special_tokens":false,"return_token_strs":true,"model":"m","prompt":"hi","x":{}}`, `m "hi" special false strings true`},
		{"messages", `{"model":"m","messages":[` + user + `],"return_token_strs":true,"add_special_tokens":false}`, `m "" special true strings true chat 1 tools 0 open false`},
		{
			"all of messages",
			`{"add_generation_prompt":false,"tools":[{"type":"function","function":{"name":"f"}}],"chat_template_kwargs":{"a":1},"chat_template":"t","model":"m","messages":[` + user + `]}`,
			`m "" special true strings false chat 1 tools 1 open true kwargs {"a":1} template t`,
		},
		{"continue", `{"continue_final_message":true,"model":"m","messages":[` + user + `,` + own + `]}`, `chat 2 tools 0 open false`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := chat.Surface{}.DecodeTokenize([]byte(tt.in), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s %q special %v strings %v", r.Model, r.Text, r.Special, r.Strings)
			if c := r.Chat; c != nil {
				got += fmt.Sprintf(" chat %d tools %d open %v kwargs %s template %s", len(c.Messages), len(c.Tools), c.Prompting.NoGeneration, c.TemplateArgs, c.Prompting.Template)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

var tokenRefusals = []struct{ name, in, want string }{
	{"empty", ``, `invalid||the body is not JSON: byte 0: expected a value`},
	{"nothing", `{"model":"m"}`, `invalid|prompt|expected prompt or messages`},
	{"both", `{"model":"m","prompt":"a","messages":[` + user + `]}`, `invalid|prompt|expected prompt or messages, got both`},
	{"no model", `{"prompt":"a"}`, `invalid|model|expected the name of a model`},
	{"no model for messages", `{"messages":[` + user + `]}`, `invalid|model|expected the name of a model`},
	{"tokens as a prompt", `{"model":"m","prompt":[1,2]}`, `invalid|prompt|expected a string, got array`},
	{"special tokens", `{"model":"m","messages":[` + user + `],"add_special_tokens":true}`, `unsupported|add_special_tokens|expected false: a conversation has the special tokens of its template and no others`},
	{"trailing bytes", `{"model":"m","prompt":"a"} x`, `invalid||the body is not JSON: byte 27: expected the end of the document`},
}

func TestTokenizeRefusals(t *testing.T) {
	for _, tt := range tokenRefusals {
		t.Run(tt.name, func(t *testing.T) {
			_, err := chat.Surface{}.DecodeTokenize([]byte(tt.in), nil)
			refused(t, err, tt.want)
		})
	}
	for _, tt := range []struct{ name, in, want string }{
		{"no model", `{"tokens":[]}`, `invalid|model|expected the name of a model`},
		{"no tokens", `{"model":"m"}`, `invalid|tokens|expected an array of token ids`},
		{"negative", `{"model":"m","tokens":[1,-1]}`, `invalid|tokens[1]|expected an integer from 0 to 4294967295, got -1`},
		{"text", `{"model":"m","tokens":["1"]}`, `invalid|tokens[0]|expected an integer, got string`},
		{"too many", `{"model":"m","tokens":[` + strings.Repeat("1,", 4<<20) + `1]}`, `invalid|tokens[4194304]|expected at most 4194304 tokens`},
	} {
		t.Run("detokenize, "+tt.name, func(t *testing.T) {
			_, err := chat.Surface{}.DecodeDetokenize([]byte(tt.in))
			refused(t, err, tt.want)
		})
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a fault", err)
	}
	if got := fmt.Sprintf("%s|%s|%s", f.Kind, f.Param, f.Public); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDetokenize(t *testing.T) {
	r, err := chat.Surface{}.DecodeDetokenize([]byte(`{"tokens":[0, 7, 4294967295],"model":"m","x":1}`))
	if err != nil || r.Model != "m" || fmt.Sprint(r.Tokens) != "[0 7 4294967295]" {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err = (chat.Surface{}).DecodeDetokenize([]byte(`{"tokens":[],"model":"m"}`)); err != nil || len(r.Tokens) != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestTokenBodies(t *testing.T) {
	for _, tt := range []struct {
		name string
		res  surface.TokenizeResult
		want string
	}{
		{"tokens", surface.TokenizeResult{Tokens: []uint32{5, 4294967295}, Context: 4096}, `{"count":2,"max_model_len":4096,"tokens":[5,4294967295],"token_strs":null}`},
		{"none", surface.TokenizeResult{}, `{"count":0,"max_model_len":0,"tokens":[],"token_strs":null}`},
		{"texts", surface.TokenizeResult{Tokens: []uint32{1, 2}, Strings: []string{"\"a", "\xff"}}, "{\"count\":2,\"max_model_len\":0,\"tokens\":[1,2],\"token_strs\":[\"\\\"a\",\"\ufffd\"]}"},
		{"no texts of none", surface.TokenizeResult{Strings: []string{}}, `{"count":0,"max_model_len":0,"tokens":[],"token_strs":[]}`},
	} {
		if got := string(chat.Surface{}.TokenizeBody(&tt.res)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	if got := string(chat.Surface{}.DetokenizeBody([]byte("a\"\n\xff"))); got != "{\"prompt\":\"a\\\"\\n\ufffd\"}" {
		t.Errorf("got %s", got)
	}
}

// FuzzTokens decodes anything as a request of both kinds.
func FuzzTokens(f *testing.F) {
	for _, r := range tokenRefusals {
		f.Add([]byte(r.in))
	}
	f.Add([]byte(`{"model":"m","prompt":"a","return_token_strs":true,"add_special_tokens":false}`))
	f.Add([]byte(`{"model":"m","tokens":[1,2.0,3e0]}`))
	f.Add([]byte(`{"model":"m","documents":[{}],"echo":true,"messages":[` + user + `]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := chat.Surface{}.DecodeTokenize(body, nil)
		var e *fault.Error
		switch {
		case err != nil && (!errors.As(err, &e) || e.Public == ""):
			t.Errorf("%q: %v", body, err)
		case err == nil && (r.Model == "" || r.Chat != nil && r.Text != ""):
			t.Errorf("%q: %+v", body, r)
		}
		d, err := chat.Surface{}.DecodeDetokenize(body)
		if err != nil && !errors.As(err, &e) || err == nil && d.Model == "" {
			t.Errorf("%q: %+v, %v", body, d, err)
		}
	})
}
