package chat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

func recalled(m *recall.Memory, body []byte, h http.Header) (*surface.Request, error) {
	return chat.Surface{Recall: m}.Decode(body, h)
}

// quoted is a text as JSON, of some lines of code, as agents send them: about n bytes.
func quoted(n int) string {
	const line = "\tif err := run(ctx, \"name\"); err != nil { return fmt.Errorf(\"run: %w\", err) }\n"
	text, err := json.Marshal(strings.Repeat(line, 1+n/len(line)))
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(text)
}

// turn is a body of a conversation with an agent of 222 KB, as long as it is whole: rounds of reasoning, a call and its
// result, then tools. What the last rounds say begins with end.
func turn(rounds int, end string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":"m","messages":[{"role":"system","content":%s},{"role":"user","content":%s}`, quoted(4000), quoted(1200))
	thought, result := quoted(700), quoted(2200)
	for i := range rounds {
		said := ""
		if i >= rounds-4 {
			said = end
		}
		fmt.Fprintf(&b, `,{"role":"assistant","content":"%sReading.","reasoning_content":%s,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a.go\"}"}}]}`, said, thought, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":"%s%s}`, i, said, result[1:])
	}
	b.WriteString(`],"tools":[`)
	for i := range 20 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":"function","function":{"name":"tool_%d","description":%s,"parameters":%s}}`, i, quoted(500), surfacetest.Schema)
	}
	b.WriteString(`],"max_tokens":1,"stream":true}`)
	return b.Bytes()
}

func TestRecordedRecalled(t *testing.T) {
	surfacetest.AllRecalled(t, surfacetest.Recordings(t, "/v1/chat/completions"), recalled)
}

// TestRecalledTurns decodes a conversation turn by turn, and turns that begin as others do.
func TestRecalledTurns(t *testing.T) {
	m := surfacetest.NewRecall()
	for i := range 12 {
		for _, end := range []string{"", "a", "b", ""} {
			surfacetest.SameRecalled(t, fmt.Sprint(i, end), m, turn(i, end), nil, recalled)
		}
	}
	for i := range 12 {
		surfacetest.SameRecalled(t, fmt.Sprint("back to ", 11-i), m, turn(11-i, "c"), nil, recalled)
	}
	surfacetest.AtOnce(t, [][]byte{turn(20, ""), turn(21, "a"), turn(21, "b"), turn(22, "a"), []byte(everywhere), turn(5, "")}, recalled)
}

// TestOwnToolsAndMessages: a request that leaves tools out changes those of no other one.
func TestOwnToolsAndMessages(t *testing.T) {
	m := surfacetest.NewRecall()
	body := string(turn(4, ""))
	surfacetest.Remember(m, []byte(body), nil, recalled)
	some := strings.Replace(body, `"max_tokens":1`, `"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[{"name":"tool_3"},{"name":"tool_9"}]}}`, 1)
	surfacetest.SameRecalled(t, "two tools", m, []byte(some), nil, recalled)
	surfacetest.SameRecalled(t, "all tools", m, []byte(body), nil, recalled)
	req, err := recalled(m, []byte(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range req.Messages { // an append moves what is shared
		_ = append(req.Messages[i].Parts, conv.Part{Text: "x"})
	}
	for i := range req.Tools {
		_ = append(req.Tools[i].Schema, 'x')
	}
	clear(req.Messages)
	clear(req.Tools)
	surfacetest.SameRecalled(t, "another one", m, []byte(body), nil, recalled)
}

// TestRecalledTokens: the tokenizer's endpoint reads conversations by the same memory.
func TestRecalledTokens(t *testing.T) {
	m := surfacetest.NewRecall()
	body := turn(6, "")
	surfacetest.Remember(m, body, nil, recalled)
	want, err := chat.Surface{}.DecodeTokenize(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := chat.Surface{Recall: m}.DecodeTokenize(body, nil)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// fewer are bodies that say the same but for something.
var fewer = []string{
	everywhere,
	strings.Replace(everywhere, `"tools"`, `"x":1,"tools"`, 1),
	strings.Replace(everywhere, `{"model":"m",`, `{"tools":[{"type":"function","function":{"name":"f"}},{"type":"web_search"},{"type":"code"},{"function":{"name":"g"}}],"model":"m",`, 1),
	strings.Replace(everywhere, `"content":"u"`, `"content":"\ud83d\ude00 \n"`, 1),
	strings.Replace(everywhere, `{"role":"user","content":""}`, `{"role":"nobody"}`, 1),
	strings.Replace(everywhere, `{"role":"user","content":""}`, `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:x"}},{"type":"input_audio","input_audio":{"data":"y","format":"wav"}}]}`, 1),
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

func BenchmarkDecodeRecalled(b *testing.B) {
	var bodies [][]byte
	for i := range 50 {
		bodies = append(bodies, turn(60, strconv.Itoa(i)))
	}
	surfacetest.BenchmarkRecalled(b, bodies, recalled)
}
