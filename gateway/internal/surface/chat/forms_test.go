package chat_test

import (
	"testing"

	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
)

// everywhere has text in each place that takes a string or parts.
const everywhere = `{"model":"m","messages":[
	{"role":"system","content":"s"},{"role":"developer","content":[{"type":"text","text":"d"}]},
	{"role":"user","content":"u"},{"role":"user","content":[{"type":"text","text":"v"}]},{"role":"user","content":[{"type":"text","text":"v"},{"type":"text","text":"w"}]},
	{"role":"assistant","content":"a","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"content\": \"x\"}"}}]},
	{"role":"tool","tool_call_id":"c","content":"r"},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"r"}]},{"role":"user","content":""}],
	"tools":[{"type":"function","function":{"name":"f","parameters":{"content":"c","id":1}}}]}`

func TestSameInAllForms(t *testing.T) {
	decode := func(b []byte) (*surface.Request, error) { return chat.Surface{}.Decode(b, nil) }
	surfacetest.SameInAllForms(t, "everywhere", []byte(everywhere), decode)
	for _, r := range surfacetest.Recordings(t, "/v1/chat/completions") {
		surfacetest.SameInAllForms(t, r.Name, r.Body, decode)
	}
}

func TestOwnsItsMemory(t *testing.T) {
	decode := func(b []byte) (*surface.Request, error) { return chat.Surface{}.Decode(b, nil) }
	surfacetest.OwnsItsMemory(t, []byte(everywhere), decode)
	for _, r := range surfacetest.Recordings(t, "/v1/chat/completions") {
		surfacetest.OwnsItsMemory(t, r.Body, decode)
	}
}
