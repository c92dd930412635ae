package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
)

func TestMeasure(t *testing.T) {
	ids := strings.TrimSuffix(strings.Repeat("151643,", 61_000), ",")
	for name, c := range map[string]struct {
		body   string
		prompt string
		n      int
	}{
		"ids":        {`{"model":"m","prompt":[` + ids + `],"stop":["a,b"]}`, promptIDs, 61_000},
		"one id":     {`{"prompt": [7]}`, promptIDs, 1},
		"no id":      {`{"prompt":[ ]}`, promptIDs, 0},
		"cut ids":    {`{"prompt":[1,2`, promptIDs, 0},
		"text":       {`{"model":"m","prompt":"a \"b\" c","stop":"d"}`, promptText, 9},
		"backslash":  {`{"prompt":"a\\","stop":"d"}`, promptText, 3},
		"empty text": {`{"prompt":""}`, promptText, 0},
		"cut text":   {`{"prompt":"a\"`, promptText, 3},
		"other":      {`{"prompt":{}}`, "", 0},
		"nothing":    {`{"prompt":`, "", 0},
		"no prompt":  {`{"messages":[]}`, "", 0},
	} {
		if prompt, n := measure([]byte(c.body)); prompt != c.prompt || n != c.n {
			t.Errorf("%s: got %d %q, want %d %q", name, n, prompt, c.n, c.prompt)
		}
	}
}

// FuzzMeasure compares with a decoder that reads all JSON.
func FuzzMeasure(f *testing.F) {
	f.Add("a\\\"", uint8(0))
	f.Add("\\", uint8(3))
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		quote, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if prompt, got := measure([]byte(`{"prompt":` + string(quote) + `,"x":"y"}`)); prompt != promptText || got != len(quote)-2 {
			t.Errorf("%s: got %d %q", quote, got, prompt)
		}
		ids := make([]int, n)
		list, err := json.Marshal(ids)
		if err != nil {
			t.Fatal(err)
		}
		if prompt, got := measure([]byte(`{"prompt":` + string(list) + `,"stop":` + string(quote) + `}`)); prompt != promptIDs || got != int(n) {
			t.Errorf("%s: got %d %q", list, got, prompt)
		}
		_, _ = measure([]byte(text)) // must not fail
	})
}

// TestDouble asks it for what it saw.
func TestDouble(t *testing.T) {
	d := newDouble()
	p := listen(t, func(ctx context.Context, ln net.Listener) error { return rawhttp.Serve(ctx, ln, d.answer) })
	c, err := rawhttp.Dial(t.Context(), p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b := bench{double: p, asked: c}
	for _, body := range []string{`{"prompt":[1,2]}`, `{"prompt":[1,3]}`, `{"prompt":[1,3]}`, `{"prompt":[1,2,3]}`} {
		got, err := c.Ask(rawhttp.Post(p.Addr, pathCompletions, []byte(body)))
		if err != nil || !bytes.Contains(got, []byte(`"prompt_tokens":`+strconv.Itoa(strings.Count(body, ",")+1)+",")) {
			t.Errorf("%s: got %s, error %v", body, got, err)
		}
	}
	if s, err := b.seen(); err != nil || *s != (seen{Requests: 4, Distinct: 3, Min: 2, Max: 3, Prompt: promptIDs}) {
		t.Errorf("got %+v, error %v", s, err)
	}
	for _, path := range []string{pathCompletions, pathChat} {
		if _, err := c.Ask(rawhttp.Post(p.Addr, path, []byte(`{"prompt":"ab"}`))); err != nil {
			t.Error(err)
		}
	}
	if s, err := b.seen(); err != nil || *s != (seen{Requests: 2, Distinct: 1, Min: 2, Max: 15, Prompt: "mixed"}) {
		t.Errorf("got %+v, error %v", s, err)
	}
	if _, err := c.Ask(rawhttp.Get(p.Addr, "/v1/models")); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
}
