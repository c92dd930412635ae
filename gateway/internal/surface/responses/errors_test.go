package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    *fault.Error
		want string // status, retry-after, type, code, param, message
	}{
		{"invalid", fault.At(fault.Invalid, "input[3].content[0].type", "expected a type"), `400 "" invalid_request_error <nil> input[3].content[0].type "input[3].content[0].type: expected a type"`},
		{"unknown answer", fault.At(fault.NotFound, "previous_response_id", "no response %q", "resp_1"), `400 "" invalid_request_error previous_response_not_found previous_response_id "previous_response_id: no response \"resp_1\""`},
		{"unknown item", fault.At(fault.NotFound, "input[2].id", "no item %q", "rs_1"), `400 "" invalid_request_error previous_response_not_found input[2].id "input[2].id: no item \"rs_1\""`},
		{"unknown model", fault.At(fault.NotFound, "model", "no model"), `404 "" invalid_request_error model_not_found model "model: no model"`},
		{"unknown path", fault.New(fault.NotFound, "nothing here"), `404 "" invalid_request_error not_found <nil> "nothing here"`},
		{"overflow", &fault.Error{Kind: fault.Overflow, Public: "x", Tokens: 210000, Limit: 200000}, `400 "" invalid_request_error context_length_exceeded input "This model's maximum context length is 200000 tokens. However, your messages resulted in 210000 tokens."`},
		{"quota", &fault.Error{Kind: fault.Quota, Public: "slow down", RetryAfter: 1500 * time.Millisecond}, `429 "2" rate_limit_error rate_limit_exceeded <nil> "slow down"`},
		{"busy", fault.New(fault.Busy, "busy"), `503 "1" server_error engine_overloaded <nil> "busy"`},
		{"conflict", fault.New(fault.Conflict, "one at a time"), `409 "" invalid_request_error conflict <nil> "one at a time"`},
		{"internal", fault.From(errors.New("secret")), `500 "" server_error internal_error <nil> "internal error"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			type object struct {
				Message, Type string
				Param, Code   any
			}
			line := func(status int, after string, e object) string {
				return fmt.Sprintf("%d %q %s %v %v %q", status, after, e.Type, e.Code, e.Param, e.Message)
			}
			status, header, body := responses.Surface{}.Error(tt.f, "req_1")
			var e struct{ Error object }
			if err := json.Unmarshal(body, &e); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if got := line(status, header.Get("Retry-After"), e.Error); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			var frame struct {
				Type    string
				Status  int
				Error   object
				Headers map[string]string
			}
			data := responses.ErrorFrame(tt.f, "req_1")
			if err := json.Unmarshal(data, &frame); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			if got := line(frame.Status, frame.Headers["retry-after"], frame.Error); got != tt.want || frame.Type != "error" || frame.Headers["x-request-id"] != "req_1" {
				t.Errorf("got  %s\nwant %s", data, tt.want)
			}
			if strings.Contains(string(body)+string(data), "secret") {
				t.Error("the cause leaked")
			}
		})
	}
}

func TestFrames(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"bare", string(responses.ErrorFrame(fault.New(fault.Invalid, "no"), "")), `{"type":"error","status":400,"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`},
		{"retry alone", string(responses.ErrorFrame(&fault.Error{Kind: fault.Quota, Public: "no", RetryAfter: 2 * time.Second}, "")), `{"type":"error","status":429,"error":{"message":"no","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"},"headers":{"retry-after":"2"}}`},
		{"an engine's status", string(responses.ErrorFrame(&fault.Error{Kind: fault.Invalid, Public: "no", Status: 422}, "")), `{"type":"error","status":422,"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`},
		{"limit", string(responses.LimitFrame()), `{"type":"error","status":400,"error":{"message":"This connection was open for as long as one may be. Open another one to go on.","type":"invalid_request_error","param":null,"code":"websocket_connection_limit_reached"}}`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got  %s\nwant %s", tt.name, tt.got, tt.want)
		}
	}
}

// TestEveryKindHasARow: a kind without a row answers like an internal one, which only Internal may.
func TestEveryKindHasARow(t *testing.T) {
	_, _, internal := responses.Surface{}.Error(fault.New(fault.Internal, "x"), "")
	for _, k := range surfacetest.Kinds() {
		if _, _, body := (responses.Surface{}).Error(fault.New(k, "x"), ""); string(body) == string(internal) && k != fault.Internal {
			t.Errorf("%s has no row", k)
		}
	}
}
