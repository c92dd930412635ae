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

func TestParseCodex(t *testing.T) {
	run, err := parseCodex(`{"type":"thread.started","thread_id":"x"}
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... 1/5"}
{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"echo x","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"echo x","aggregated_output":"x\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"it said x"}}
{"type":"turn.completed","usage":{"input_tokens":7,"output_tokens":2}}
`)
	if err != nil {
		t.Fatal(err)
	}
	ran := run.of("command_execution")
	if run.thread != "x" || len(run.errors) != 1 || len(ran) != 1 || ran[0].Output != "x\n" || *ran[0].ExitCode != 0 || run.said() != "it said x" || run.usage.Input != 7 || !run.ended || run.failed != "" {
		t.Errorf("got %+v", run)
	}
	failed, err := parseCodex(`{"type":"turn.failed","error":{"message":"no room"}}`)
	if err != nil || failed.failed != "no room" || !failed.ended {
		t.Errorf("got %+v, %v", failed, err)
	}
	if _, err := parseCodex("not json"); err == nil {
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

func TestParseOpencode(t *testing.T) {
	said, err := parseOpencode(`{"type":"step_start","part":{"type":"step-start"}}
{"type":"text","part":{"type":"text","text":"first"}}
{"type":"tool_use","part":{"type":"tool","tool":"bash"}}
{"type":"text","part":{"type":"text","text":"last"}}
`)
	if err != nil || said != "last" {
		t.Errorf("got %q, %v", said, err)
	}
	if _, err := parseOpencode(`{"type":"error","error":{"name":"APIError"}}`); err == nil {
		t.Error("an error passed")
	}
	if _, err := parseOpencode("not json"); err == nil {
		t.Error("accepted what is not JSON")
	}
}

func TestParseQwen(t *testing.T) {
	said, err := parseQwen(`{"type":"system","subtype":"init"}
{"type":"result","subtype":"success","is_error":false,"result":"done"}
`)
	if err != nil || said != "done" {
		t.Errorf("got %q, %v", said, err)
	}
	for _, text := range []string{"", "not json", `{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"m"}}`} {
		if _, err := parseQwen(text); err == nil {
			t.Errorf("accepted %q", text)
		}
	}
}
