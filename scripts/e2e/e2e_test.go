package main

import "testing"

func TestParseClaude(t *testing.T) {
	run, err := parseClaude(`{"type":"system","subtype":"init"}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"echo x"}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"t","type":"tool_result","content":"x"}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"it said x"}]}}
{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"it said x"}
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.toolUses) != 1 || string(run.toolUses[0].Input) != `{"command":"echo x"}` || len(run.results) != 1 || run.results[0] != `"x"` || !run.ended || run.final.Turns != 2 {
		t.Errorf("got %+v", run)
	}
	if _, err := parseClaude("not json"); err == nil {
		t.Error("accepted what is not JSON")
	}
}

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		result  result
		verdict string
		detail  string
	}{
		"pass": {result{note: "n"}, "pass", "n"},
		"skip": {result{err: errSkip}, "skip", "skipped"},
		"fail": {result{err: errNoServer}, "FAIL", "its server did not start"},
	} {
		if c.result.verdict() != c.verdict || c.result.detail() != c.detail {
			t.Errorf("%s: got %s, %s", name, c.result.verdict(), c.result.detail())
		}
	}
}
