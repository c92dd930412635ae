package messages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
)

var faults = []struct {
	f    *fault.Error
	want string // status, retry-after, type, message
}{
	{fault.At(fault.Invalid, "messages[1].role", "expected a role"), `400 "" invalid_request_error "messages[1].role: expected a role"`},
	{fault.At(fault.Unsupported, "tools", "none here"), `400 "" invalid_request_error "tools: none here"`},
	{fault.New(fault.Unauthorized, "no key"), `401 "" authentication_error "no key"`},
	{fault.New(fault.Forbidden, "not yours"), `403 "" permission_error "not yours"`},
	{fault.New(fault.NotFound, "no model"), `404 "" not_found_error "no model"`},
	{fault.New(fault.Conflict, "one at a time"), `409 "" invalid_request_error "one at a time"`},
	{fault.New(fault.TooLarge, "too large"), `413 "" request_too_large "too large"`},
	{&fault.Error{Kind: fault.Overflow, Public: "x", Param: "messages", Tokens: 210000, Limit: 200000}, `400 "" invalid_request_error "prompt is too long: 210000 tokens > 200000 maximum"`},
	{&fault.Error{Kind: fault.Overflow, Tokens: 199500, Limit: 200000, Room: 1024}, `400 "" invalid_request_error "prompt is too long: 199500 tokens > 198976 maximum"`},
	{&fault.Error{Kind: fault.Overflow, Limit: 200000}, `400 "" invalid_request_error "prompt is too long: it exceeds the context window of 200000 tokens"`},
	{&fault.Error{Kind: fault.Overflow}, `400 "" invalid_request_error "prompt is too long: it exceeds the context window"`},
	{&fault.Error{Kind: fault.Quota, Public: "slow down", RetryAfter: time.Millisecond}, `429 "1" rate_limit_error "slow down"`},
	{&fault.Error{Kind: fault.Busy, Public: "busy", RetryAfter: 3 * time.Second}, `529 "3" overloaded_error "busy"`},
	{fault.New(fault.Unavailable, "no engine"), `503 "1" api_error "no engine"`},
	{fault.Wrap(fault.Engine, errors.New("secret"), "it broke"), `502 "" api_error "it broke"`},
	{fault.Wrap(fault.Plugin, errors.New("secret"), "it trapped"), `500 "" api_error "it trapped"`},
	{fault.New(fault.Timeout, "too long"), `504 "" timeout_error "too long"`},
	{fault.New(fault.Canceled, "left"), `499 "" invalid_request_error "left"`},
	{fault.From(errors.New("secret")), `500 "" api_error "internal error"`},
}

func TestErrors(t *testing.T) {
	seen := map[fault.Kind]bool{}
	for _, tt := range faults {
		seen[tt.f.Kind] = true
		t.Run(string(tt.f.Kind), func(t *testing.T) {
			status, header, body := messages.Surface{}.Error(tt.f, "req_1")
			var e struct {
				Type      string
				RequestID string `json:"request_id"`
				Error     struct{ Message, Type string }
			}
			if err := json.Unmarshal(body, &e); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			got := fmt.Sprintf("%d %q %s %q", status, header.Get("Retry-After"), e.Error.Type, e.Error.Message)
			if got != tt.want || e.Type != "error" || e.RequestID != "req_1" {
				t.Errorf("got  %s in %s\nwant %s", got, body, tt.want)
			}
			if strings.Contains(string(body), "secret") {
				t.Error("the cause leaked")
			}
		})
	}
	for _, k := range surfacetest.Kinds() {
		if !seen[k] {
			t.Errorf("no case for %s", k)
		}
	}
}
