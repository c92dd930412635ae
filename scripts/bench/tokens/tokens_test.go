package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		ok   bool
	}{
		{"", true},
		{"-quick -json", true},
		{"-rounds 5 -time 2s", true},
		{"-rounds 0", false},
		{"-time 1ms", false},
		{"more", false},
		{"-nothing", false},
	} {
		o, err := parseFlags(strings.Fields(c.args), io.Discard)
		if (err == nil) != c.ok {
			t.Errorf("%q: %v", c.args, err)
		}
		if c.ok && (o.Rounds < 1 || o.Time < 10*time.Millisecond || o.Data == "") {
			t.Errorf("%q: %+v", c.args, o)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	render, tokenize := row{What: "render", Name: "Qwen3"}, row{What: "tokenize", Name: "qwen3"}
	for _, doc := range []string{
		`{"bytes": 200000, "crc32": "aa", "rows": [{"what": "render", "ms": 0.2}, {"what": "render, with the origin of each byte", "ms": 9}]}`,
		`{"bytes": 200000, "crc32": "aa", "rows": [{"what": "render", "ms": 0.4}]}`,
	} {
		if err := render.addWeir([]byte(doc)); err != nil {
			t.Fatal(err)
		}
	}
	render.Peer = []sample{{Sum: "aa", Warm: 3}}
	err := tokenize.addWeir([]byte(`{"bytes": 201000, "tokens": 61000, "crc32": "bb", "rows": [{"what": "warm: x", "ms": 1.5}, {"what": "cold: x", "ms": 3}, {"what": "two: x", "ms": 1}, {"what": "cached: x", "ms": 0.1}, {"what": "load x", "ms": 300}]}`))
	if err != nil {
		t.Fatal(err)
	}
	tokenize.Peer = []sample{{Sum: "cc", Warm: 60, Cold: 90, Two: 50}}
	if got := tokenize.Weir[0]; got.Load != 300 || got.Cached != 0.1 {
		t.Errorf("read %+v", got)
	}
	var out bytes.Buffer
	res := results{Rows: []row{render, tokenize, {What: "render", Name: "alone", Weir: render.Weir}}, Skipped: []string{"something"}}
	if err := res.write(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"Qwen3 200 0.30 3.00 10x yes", "qwen3 201 61000 1.50 60.00 40x 3.00 90.00 30x 1.00 50.00 50x 0.10 NO", "alone 200 0.30 - - -", "SKIPPED something"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := render.addWeir([]byte("no JSON")); err == nil {
		t.Error("what is no JSON was read")
	}
}
