package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
)

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		f    *fault.Error
		want string // status, retry-after, type, code, param, message
	}{
		{fault.At(fault.Invalid, "messages[1].role", "expected a role"), `400 "" invalid_request_error <nil> messages[1].role "messages[1].role: expected a role"`},
		{fault.At(fault.Unsupported, "n", "one only"), `400 "" invalid_request_error unsupported n "n: one only"`},
		{fault.New(fault.Unauthorized, "no key"), `401 "" invalid_request_error invalid_api_key <nil> "no key"`},
		{fault.New(fault.Forbidden, "not yours"), `403 "" invalid_request_error forbidden <nil> "not yours"`},
		{fault.At(fault.NotFound, "model", "no model %q", "x"), `404 "" invalid_request_error model_not_found model "model: no model \"x\""`},
		{fault.New(fault.NotFound, "nothing here"), `404 "" invalid_request_error not_found <nil> "nothing here"`},
		{fault.New(fault.Conflict, "one at a time"), `409 "" invalid_request_error conflict <nil> "one at a time"`},
		{fault.New(fault.TooLarge, "too large"), `413 "" invalid_request_error request_too_large <nil> "too large"`},
		{&fault.Error{Kind: fault.Overflow, Public: "x", Tokens: 210000, Limit: 200000}, `400 "" invalid_request_error context_length_exceeded messages "This model's maximum context length is 200000 tokens. However, your messages resulted in 210000 tokens."`},
		{&fault.Error{Kind: fault.Overflow, Tokens: 199500, Limit: 200000, Room: 1024}, `400 "" invalid_request_error context_length_exceeded messages "This model's maximum context length is 200000 tokens. However, you requested 200524 tokens (199500 in the messages, 1024 in the completion)."`},
		{&fault.Error{Kind: fault.Overflow, Limit: 200000}, `400 "" invalid_request_error context_length_exceeded messages "This model's maximum context length is 200000 tokens. However, your messages resulted in more."`},
		{&fault.Error{Kind: fault.Overflow}, `400 "" invalid_request_error context_length_exceeded messages "Your messages exceed this model's maximum context length."`},
		{&fault.Error{Kind: fault.Quota, Public: "slow down", RetryAfter: 1500 * time.Millisecond}, `429 "2" rate_limit_error rate_limit_exceeded <nil> "slow down"`},
		{&fault.Error{Kind: fault.Busy, Public: "busy", RetryAfter: 3 * time.Second}, `503 "3" server_error engine_overloaded <nil> "busy"`},
		{fault.New(fault.Busy, "busy"), `503 "1" server_error engine_overloaded <nil> "busy"`},
		{fault.New(fault.Unavailable, "no engine"), `503 "1" server_error engine_unavailable <nil> "no engine"`},
		{fault.Wrap(fault.Engine, errors.New("secret"), "it broke"), `502 "" server_error engine_error <nil> "it broke"`},
		{fault.Wrap(fault.Plugin, errors.New("secret"), "it trapped"), `500 "" server_error plugin_error <nil> "it trapped"`},
		{fault.New(fault.Timeout, "too long"), `504 "" server_error timeout <nil> "too long"`},
		{fault.New(fault.Canceled, "left"), `499 "" invalid_request_error canceled <nil> "left"`},
		{fault.From(errors.New("secret")), `500 "" server_error internal_error <nil> "internal error"`},
		{&fault.Error{Kind: fault.Internal, Err: errors.New("secret")}, `500 "" server_error internal_error <nil> "internal"`},
		{fault.New("unheard_of", "x"), `500 "" server_error internal_error <nil> "x"`},
	} {
		t.Run(string(tt.f.Kind), func(t *testing.T) {
			status, header, body := chat.Surface{}.Error(tt.f, "req_1")
			var e struct {
				Error struct {
					Message, Type string
					Param, Code   any
				}
			}
			if err := json.Unmarshal(body, &e); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			got := fmt.Sprintf("%d %q %s %v %v %q", status, header.Get("Retry-After"), e.Error.Type, e.Error.Code, e.Error.Param, e.Error.Message)
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if strings.Contains(string(body), "secret") {
				t.Error("the cause leaked")
			}
		})
	}
}

// TestEveryKindHasARow: a kind without a row answers like an internal one, which only Internal may.
func TestEveryKindHasARow(t *testing.T) {
	_, _, internal := chat.Surface{}.Error(fault.New(fault.Internal, "x"), "")
	for _, k := range surfacetest.Kinds() {
		if _, _, body := (chat.Surface{}).Error(fault.New(k, "x"), ""); string(body) == string(internal) && k != fault.Internal {
			t.Errorf("%s has no row", k)
		}
	}
}
