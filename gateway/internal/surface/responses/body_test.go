package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

func TestParsePage(t *testing.T) {
	for _, tt := range []struct{ query, want string }{
		{"", `{"After":"","Limit":20,"Asc":false}`},
		{"order=desc&limit=100&after=msg_1&include=x", `{"After":"msg_1","Limit":100,"Asc":false}`},
		{"order=asc&limit=1", `{"After":"","Limit":1,"Asc":true}`},
		{"limit=0", "limit"},
		{"limit=101", "limit"},
		{"limit=-1", "limit"},
		{"limit=ten", "limit"},
		{"order=up", "order"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			q, err := url.ParseQuery(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			p, err := responses.ParsePage(q)
			if f, ok := errors.AsType[*fault.Error](err); ok {
				if f.Param != tt.want || f.Kind != fault.Invalid {
					t.Errorf("%v", err)
				}
				return
			}
			if got, _ := json.Marshal(p); string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestItemsBody(t *testing.T) {
	items := []chain.Item{
		{ID: "msg_1", JSON: []byte(`{"type":"message","id":"msg_1","role":"user","content":"a"}`)},
		{JSON: []byte("{\"role\":\"user\",\n \"content\":\"b\"}")},
		{ID: "fc_3", JSON: []byte(`{"type":"function_call","call_id":"c"}`)},
	}
	const (
		one   = `{"type":"message","id":"msg_1","role":"user","content":"a"}`
		two   = `{"role":"user","content":"b","id":"item_1","type":"message"}`
		three = `{"type":"function_call","call_id":"c","id":"fc_3"}`
	)
	for _, tt := range []struct {
		name string
		page responses.Page
		want string
	}{
		{"all", responses.Page{Limit: 20, Asc: true}, `{"object":"list","data":[` + one + `,` + two + `,` + three + `],"first_id":"msg_1","last_id":"fc_3","has_more":false}`},
		{"newest first", responses.Page{Limit: 20}, `{"object":"list","data":[` + three + `,` + two + `,` + one + `],"first_id":"fc_3","last_id":"msg_1","has_more":false}`},
		{"first page", responses.Page{Limit: 2}, `{"object":"list","data":[` + three + `,` + two + `],"first_id":"fc_3","last_id":"item_1","has_more":true}`},
		{"next page", responses.Page{Limit: 2, After: "item_1"}, `{"object":"list","data":[` + one + `],"first_id":"msg_1","last_id":"msg_1","has_more":false}`},
		{"after, ascending", responses.Page{Limit: 1, After: "msg_1", Asc: true}, `{"object":"list","data":[` + two + `],"first_id":"item_1","last_id":"item_1","has_more":true}`},
		{"after the last", responses.Page{Limit: 2, After: "msg_1"}, `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`},
		{"after none", responses.Page{Limit: 2, After: "x"}, `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(responses.ItemsBody(items, tt.page)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if got := string(responses.ItemsBody(nil, responses.Page{Limit: 20})); got != `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}` {
		t.Error(got)
	}
}

func TestSmallBodies(t *testing.T) {
	if got := string(responses.DeletedBody(`resp_"1`)); got != `{"id":"resp_\"1","object":"response","deleted":true}` {
		t.Error(got)
	}
	if got := string(responses.CountBody(42)); got != `{"object":"response.input_tokens","input_tokens":42}` {
		t.Error(got)
	}
	if got := responses.ID(surfacetest.Info()); got != "resp_0123456789abcdefghijklmn" {
		t.Error(got)
	}
}

func TestCompactBody(t *testing.T) {
	text := func(s string) conv.Part { return conv.Part{Kind: conv.Text, Text: s} }
	media := func(m conv.Media) conv.Part { return conv.Part{Kind: conv.MediaPart, Media: &m} }
	req := request()
	req.Messages = []conv.Message{
		{Role: conv.System, Parts: []conv.Part{text("system")}},
		{Role: conv.User, Parts: []conv.Part{text("first \"x\""), media(conv.Media{Type: "image", MIME: "image/png", Data: "AAAA"})}},
		{Role: conv.Assistant, Parts: []conv.Part{text("said")}},
		{Role: conv.Tool, Parts: []conv.Part{{Kind: conv.Result, Result: &conv.ToolResult{CallID: "c", Parts: []conv.Part{text("result")}}}}},
		{Role: conv.User, Parts: []conv.Part{{Kind: conv.Summary, Text: "before", Seal: "s"}, media(conv.Media{Type: "audio", Data: "BBBB"})}},
		{Role: conv.User, Parts: []conv.Part{
			media(conv.Media{Type: "image", URL: "https://x/y"}), media(conv.Media{Type: "file", MIME: "application/pdf", Data: "CCCC"}), media(conv.Media{Type: "file", URL: "https://x/z"}),
		}},
	}
	got := string(responses.CompactBody(req, surfacetest.Info(), &event.Result{Usage: event.Usage{Input: 3, Output: 2}}, "SEAL"))
	want := `{"id":"resp_0123456789abcdefghijklmn","object":"response.compaction","created_at":1700000000,"output":[` +
		`{"type":"message","id":"msg_0123456789abcdefghijklmn0","status":"completed","role":"user","content":[{"type":"input_text","text":"first \"x\""},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAA"}]},` +
		`{"type":"message","id":"msg_0123456789abcdefghijklmn1","status":"completed","role":"user","content":[{"type":"input_image","detail":"auto","image_url":"https://x/y"},` +
		`{"type":"input_file","file_data":"data:application/pdf;base64,CCCC"},{"type":"input_file","file_url":"https://x/z"}]},` +
		`{"type":"compaction","id":"cmp_0123456789abcdefghijklmn2","encrypted_content":"SEAL"}],` +
		`"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":5}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSummaryText(t *testing.T) {
	for name, want := range map[string]string{"interleaved": "Look.", "calls only": "", "phases": "I look.Done."} {
		if got := string(responses.SummaryText(surfacetest.Fold(t, story(t, name)))); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	blank := &event.Result{Blocks: []event.Block{{Kind: event.TextStart, Text: []byte(" \n")}}}
	if got := responses.SummaryText(blank); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// TestManyItems: ids of items are told apart, however many there are.
func TestManyItems(t *testing.T) {
	res := &event.Result{}
	for range 40 {
		res.Blocks = append(res.Blocks, event.Block{Kind: event.TextStart, Text: []byte("x")})
	}
	seen := map[string]bool{}
	for _, it := range responses.Output(request(), surfacetest.Info(), res) {
		seen[it.ID] = true
	}
	if len(seen) != 40 || !seen["msg_0123456789abcdefghijklmn27"] {
		t.Errorf("%d ids: %s", len(seen), strings.TrimSpace(fmt.Sprint(seen)))
	}
}
