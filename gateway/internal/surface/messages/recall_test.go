package messages_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

func recalled(m *recall.Memory, body []byte, h http.Header) (*surface.Request, error) {
	return messages.Surface{Recall: m}.Decode(body, h)
}

func TestRecordedRecalled(t *testing.T) {
	surfacetest.AllRecalled(t, surfacetest.Recordings(t, "/v1/messages"), recalled)
	surfacetest.AllRecalled(t, surfacetest.Recordings(t, "/v1/messages/count_tokens"), func(m *recall.Memory, body []byte, h http.Header) (*surface.Request, error) {
		return messages.Surface{Recall: m}.DecodeCount(body, h)
	})
}

// turn is a body of a conversation in which the mark of the cache stands at the last two messages of the user.
func turn(rounds int, end string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"m","system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"u"}`)
	for i := range rounds {
		mark := ""
		if i >= rounds-2 {
			mark = `,"cache_control":{"type":"ephemeral"}`
		}
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"thinking","thinking":"t\n%d","signature":"s"},{"type":"tool_use","id":"c%d","name":"f","input":{"a":%d}}]}`, i, i, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"r\n%d"},{"type":"text","text":"go"},{"type":"server_thing"},{"type":"tool_result","tool_use_id":"d","content":[{"type":"text","text":"x"%s}]}]}`, i, i, mark)
	}
	if end != "" {
		fmt.Fprintf(&b, `,{"role":"user","content":"%s"}`, end)
	}
	b.WriteString(`],"tools":[{"name":"f","input_schema":{}},{"type":"web_search_20250305","name":"w"},{"name":"g","description":"d"}],"max_tokens":1}`)
	return b.Bytes()
}

// TestRecalledTurns decodes a conversation turn by turn. The system text, which is put before the messages, moves those of
// no other request.
func TestRecalledTurns(t *testing.T) {
	m := surfacetest.NewRecall()
	var bodies [][]byte
	for i := range 12 {
		for _, end := range []string{"", "a", "b", ""} {
			surfacetest.SameRecalled(t, fmt.Sprint(i, end), m, turn(i, end), nil, recalled)
		}
		bodies = append(bodies, turn(i+8, "a"))
	}
	surfacetest.AtOnce(t, bodies, recalled)
}

// fewer are bodies that say the same but for something.
var fewer = []string{
	everywhere,
	strings.Replace(everywhere, `"system":"s",`, ``, 1),
	strings.Replace(everywhere, `{"model":"m",`, `{"tools":[{"name":"a"},{"type":"web_search","name":"w"},{"name":"b"},{"type":"x","name":"w"}],"model":"m",`, 1),
	strings.Replace(everywhere, `"content":"u"`, `"content":[{"type":"server_thing"},{"text":"\ud83d\ude00 \n","type":"text"}]`, 1),
	strings.Replace(everywhere, `"source":"x"`, `"source":1`, 1),
	strings.Replace(everywhere, `"content":"d"`, `"content":[{"type":"image","source":{"type":"base64","data":"x","media_type":"image/png"}}]`, 1),
	strings.Replace(everywhere, `],
	"tools"`, `],"messages":[{"role":"user","content":"v"}],"tools"`, 1),
}

func TestRecalledForms(t *testing.T) {
	surfacetest.EachBehindEach(t, fewer, recalled)
}

// FuzzRecall: what a body says does not depend on the one before it.
func FuzzRecall(f *testing.F) {
	for i := range fewer {
		f.Add([]byte(fewer[i]), []byte(fewer[(i+1)%len(fewer)]))
	}
	for _, r := range refusals {
		if len(r.in) < 4096 {
			f.Add([]byte(everywhere), []byte(r.in))
		}
	}
	f.Fuzz(func(t *testing.T, before, body []byte) {
		surfacetest.Behind(t, "behind another one", before, body, recalled)
	})
}
