package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestConversations(t *testing.T) {
	all, err := conversations()
	if err != nil {
		t.Fatal(err)
	}
	why := differences()
	names := map[string]bool{}
	tools := 0
	for i := range all {
		c := &all[i]
		if c.Name == "" || names[c.Name] {
			t.Errorf("conversation %d: the name %q is empty or there twice", i, c.Name)
		}
		names[c.Name] = true
		var request struct {
			Messages []json.RawMessage `json:"messages"`
			Tools    []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(c.Request, &request); err != nil || len(request.Messages) == 0 {
			t.Errorf("%s: %d messages, error %v", c.Name, len(request.Messages), err)
		}
		if len(request.Tools) > 0 {
			tools++
		}
		if (c.Engine != nil) != (why[c.Name].refusal != "") {
			t.Errorf("%s: a stand-in for the engine belongs to a refusal", c.Name)
		}
		if _, err := c.messagesBody(); err != nil && !errors.Is(err, errOtherSurface) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	if tools < 10 || len(all)-tools < 10 {
		t.Errorf("%d conversations with tools and %d without, want at least 10 of each", tools, len(all)-tools)
	}
	for name, d := range why {
		if !names[name] || d.why == "" {
			t.Errorf("the difference of %q has no conversation, or says nothing", name)
		}
	}
}

func TestWith(t *testing.T) {
	got, err := with(json.RawMessage(` {"a": 1.50}`), object{"model": "m"})
	if err != nil || string(got) != `{"model":"m","a": 1.50}` {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []string{"", "{}", "[1]"} {
		if got, err := with(json.RawMessage(bad), object{"model": "m"}); err == nil {
			t.Errorf("%q: got %s", bad, got)
		}
	}
}

func TestMessagesBody(t *testing.T) {
	tests := map[string]struct {
		request, want string // want "" is errOtherSurface
	}{
		"system":   {`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}`, `{"messages":[{"content":"u","role":"user"}],"system":"s"}`},
		"later":    {`{"messages":[{"role":"user","content":"u"},{"role":"system","content":"s"}]}`, `{"messages":[{"content":"u","role":"user"},{"content":"s","role":"system"}]}`},
		"empty":    {`{"messages":[{"role":"system","content":""},{"role":"user","content":"u"}]}`, ""},
		"other":    {`{"messages":[{"role":"developer","content":"s"},{"role":"user","content":"u"}]}`, ""},
		"no reply": {`{"messages":[{"role":"user","content":"u"}],"add_generation_prompt":false}`, ""},
		"calls": {
			`{"messages":[{"role":"assistant","content":"t","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"n\": 1.50}"}},{"id":"b","function":{"name":"g","arguments":""}}]},` +
				`{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"},{"role":"user","content":"u"}]}`,
			`{"messages":[{"content":[{"text":"t","type":"text"},{"id":"a","input":{"n":1.50},"name":"f","type":"tool_use"},{"id":"b","input":{},"name":"g","type":"tool_use"}],"role":"assistant"},` +
				`{"content":[{"content":"1","tool_use_id":"a","type":"tool_result"},{"content":"2","tool_use_id":"b","type":"tool_result"}],"role":"user"},{"content":"u","role":"user"}]}`,
		},
		"tools": {
			`{"messages":[{"role":"user","content":"u"}],"tools":[{"function":{"name":"f"}},{"function":{"name":"g","description":"d","parameters":{"type":"object"}}}]}`,
			`{"messages":[{"content":"u","role":"user"}],"tools":[{"name":"f"},{"description":"d","input_schema":{"type":"object"},"name":"g"}]}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := conversation{Request: json.RawMessage(tt.request)}
			body, err := c.messagesBody()
			if tt.want == "" {
				if !errors.Is(err, errOtherSurface) {
					t.Errorf("got %v, %v, want errOtherSurface", body, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(body); err != nil || string(got) != tt.want {
				t.Errorf("got  %s\nwant %s\n%v", got, tt.want, err)
			}
		})
	}
}

func TestEngineNumbers(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": 1000.0}`:                 `{"a": 1000}`,
		`{"a": 0.30000000000000004}`:    `{"a": 0.3}`,
		`{"a": 1234567.0, "b": -0.0}`:   `{"a": 1.23457e+06, "b": -0}`,
		`{"a": 1e-07, "b": 1e+22}`:      `{"a": 1e-07, "b": 1e+22}`,
		`{"a": 9223372036854775807}`:    `{"a": 9223372036854775807}`,
		`{"a": 12345678901234567890}`:   `{"a": -6101065172474983726}`,
		`{"a": 36893488147419103232}`:   `{"a": 3.68935e+19}`,
		`{"1.0": "2.0 \" 3.0", "b": 4}`: `{"1.0": "2.0 \" 3.0", "b": 4}`,
		"1.0\n{\"a\": [1.0]}\n2.0":      "1.0\n{\"a\": [1]}\n2.0",
	} {
		if got := engineNumbers(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestDifferenceOfPrompts(t *testing.T) {
	upper := difference{why: "it is loud", weir: strings.ToUpper}
	for name, c := range map[string]struct {
		d            difference
		weir, engine string
		want         string // in the error
	}{
		"same":        {difference{}, "a", "a", ""},
		"unexplained": {difference{}, "ab", "ac", "part at byte 1"},
		"shorter":     {difference{}, "ab", "a", "part at byte 1"},
		"explained":   {upper, "a", "A", ""},
		"not enough":  {upper, "a", "B", "part at byte 0"},
		"stale":       {upper, "A", "A", "should differ: it is loud"},
		"both sides":  {difference{weir: strings.ToUpper, engine: strings.TrimSpace}, "a", " A ", ""},
		"swapped":     {difference{engine: swapped("x", "y")}, "xy", "yx", ""},
	} {
		err := c.d.prompts(c.weir, c.engine)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestTap(t *testing.T) {
	got := make(chan string, 8)
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- r.URL.Path + " " + string(b)
	}))
	defer engine.Close()
	tap, err := startTap(t.Context(), engine.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer tap.stop()
	post := func(path, body string) int {
		t.Helper()
		res, err := http.Post(tap.url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if _, err := tap.take(); err == nil {
		t.Error("a prompt before the first request")
	}
	post("/v1/completions", `{"prompt":[1,2,4294967295],"x":1.50}`)
	if p, err := tap.take(); err != nil || !slices.Equal(p.ids, []uint32{1, 2, 4294967295}) || p.text != "" {
		t.Errorf("got %+v, %v", p, err)
	}
	if s := <-got; s != `/v1/completions {"prompt":[1,2,4294967295],"x":1.50}` {
		t.Errorf("the engine got %s", s)
	}
	post("/v1/completions", `{"prompt":"a\u00e9"}`)
	post("/tokenize", `{"content":"a"}`)
	if p, err := tap.take(); err != nil || p.text != "aé" || p.ids != nil {
		t.Errorf("got %+v, %v", p, err)
	}
	post("/v1/completions", `{"prompt":"a"}`)
	post("/v1/completions", `{"prompt":"b"}`)
	if p, err := tap.take(); err == nil {
		t.Errorf("got %+v of two prompts", p)
	}
	post("/v1/completions", `{"prompt":"c"}`)
	if n := tap.clear(); n != 1 {
		t.Errorf("%d prompts, want 1", n)
	}
	if status := post("/v1/completions", `{"prompt":{}}`); status != http.StatusBadRequest {
		t.Errorf("a prompt that is an object: status %d", status)
	}
}

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(*report)
		fail bool
		want string
	}{
		"passed":    {func(r *report) { r.row("a", time.Now(), "n", nil, nil) }, false, "1 passed, 0 explained, 0 failed"},
		"explained": {func(r *report) { r.row("a", time.Now(), "n", []string{"why"}, nil) }, false, "      why\n"},
		"failed":    {func(r *report) { r.row("a", time.Now(), "n", []string{"why"}, errors.New("broken")) }, true, "FAIL  a"},
	} {
		var out bytes.Buffer
		r := &report{out: &out}
		c.run(r)
		if err := r.err(); (err != nil) != c.fail || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: error %v, output %s", name, err, out.String())
		}
	}
}

func TestFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing":     nil,
		"no scripts":  {"-lab", "x"},
		"unknown":     {"-nothing"},
		"argument":    {"-lab", "x", "-shared", "y", "z"},
		"bad pattern": {"-lab", "x", "-shared", "y", "-run", "("},
	} {
		if code := command(context.Background(), args, io.Discard, io.Discard); code != 2 {
			t.Errorf("%s: exit code %d, want 2", name, code)
		}
	}
}
