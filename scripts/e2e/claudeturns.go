package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// claudeClient is Claude Code with a home, a folder to work in, and a hop to the gateway.
type claudeClient struct {
	*agentClient

	st *stage
}

// claudeOne is a scenario of Claude Code on a model; "" is the server's first.
func claudeOne(g *group, name, model string, run func(ctx context.Context, c *claudeClient) (string, error)) scenario {
	return scenario{name: "claude-code/" + name, group: g, needs: needNode, limit: 2 * time.Minute, run: func(ctx context.Context, st *stage, srv *harness.Server) (string, error) {
		if model == "" {
			model = srv.Model
		}
		c, closing, err := newAgentClient(ctx, st, srv.URL, model, dialects[1], "claude", name)
		if err != nil {
			return "", err
		}
		defer closing()
		return run(ctx, &claudeClient{agentClient: c, st: st})
	}}
}

// ask runs Claude Code once.
func (c *claudeClient) ask(ctx context.Context, prompt string, args ...string) (*claudeRun, error) {
	return c.with(ctx, nil, prompt, args...)
}

func (c *claudeClient) with(ctx context.Context, env []string, prompt string, args ...string) (*claudeRun, error) {
	return claudeAt(ctx, c.st, c.hop.URL, c.home, c.work, env, append([]string{"-p", prompt, "--model", c.model}, args...)...)
}

func claudeTurns(g *group) []scenario {
	return []scenario{
		claudeOne(g, "text", "", claudeText),
		claudeOne(g, "parallel-tools", "", claudeParallel),
		claudeOne(g, "sub-agent", "", claudeSubAgent),
		claudeOne(g, "resume", "", claudeResume),
		claudeOne(g, "structured-output", "", claudeStructured),
		claudeOne(g, "count-tokens", "", claudeCount),
		claudeOne(g, "title", "", claudeTitle),
	}
}

func claudeText(ctx context.Context, c *claudeClient) (string, error) {
	mark := newMark()
	run, err := c.ask(ctx, "say "+mark+" "+saidByAgent)
	if err != nil {
		return "", err
	}
	sent, err := c.sent()
	return "", errors.Join(err, harness.Expect("result", run.final.Result, mark+" "+saidByAgent), harness.Expect("requests", len(sent), 1))
}

// claudeParallel has two tools in one answer, whose results come back together.
func claudeParallel(ctx context.Context, c *claudeClient) (string, error) {
	one, two := newMark()+"-one", newMark()+"-two"
	call := func(mark string) string {
		return `call Bash {"command":"echo ` + mark + `","description":"Print a mark"}`
	}
	run, err := c.ask(ctx, call(one)+"\n"+call(two), "--allowedTools", "Bash")
	if err != nil {
		return "", err
	}
	sent, err := c.sent()
	if err != nil {
		return "", err
	}
	if len(sent) != 2 || len(run.toolUses) != 2 || len(run.results) != 2 {
		return "", fmt.Errorf("%d requests, tools %+v, results %q", len(sent), run.toolUses, run.results)
	}
	for i, mark := range []string{one, two} {
		if run.toolUses[i].Name != "Bash" || !strings.Contains(string(run.toolUses[i].Input), "echo "+mark) || !strings.Contains(strings.Join(run.results, "\n"), mark) {
			err = errors.Join(err, fmt.Errorf("tool %d: %+v, results %q", i, run.toolUses[i], run.results))
		}
		if calls := sent[1].Calls; len(calls) != 2 || calls[i].ID != run.toolUses[i].ID || calls[i].Output != mark {
			err = errors.Join(err, fmt.Errorf("calls that came back: %+v", calls))
		}
	}
	return fmt.Sprintf("%d turns", run.final.Turns), err
}

// claudeSubAgent has an agent of its own do the work, whose conversation is another one.
func claudeSubAgent(ctx context.Context, c *claudeClient) (string, error) {
	mark := newMark()
	arguments, err := json.Marshal(object{
		"description": "Print a mark", "subagent_type": "general-purpose", "run_in_background": false,
		"prompt": `call Bash {"command":"echo ` + mark + `","description":"Print a mark"}`,
	})
	if err != nil {
		return "", err
	}
	run, err := c.ask(ctx, "call Agent "+string(arguments), "--allowedTools", "Bash")
	if err != nil {
		return "", err
	}
	agents := 0
	for _, r := range c.hop.Requests() {
		if r.Header.Get("X-Claude-Code-Agent-Id") != "" {
			agents++
		}
	}
	sent, err := c.sent()
	if err != nil {
		return "", err
	}
	if len(run.toolUses) != 1 || run.toolUses[0].Name != "Agent" || len(run.results) != 1 || !strings.Contains(run.results[0], "The tool answered: "+mark) {
		err = errors.Join(err, fmt.Errorf("tools %+v, results %q", run.toolUses, run.results))
	}
	if len(run.inside) != 1 || !strings.Contains(run.inside[0], mark) {
		err = errors.Join(err, fmt.Errorf("results inside: %q", run.inside))
	}
	return fmt.Sprintf("%d requests, %d of the agent", len(sent), agents), errors.Join(err, harness.Expect("requests of the agent", agents, 2), harness.Expect("requests", len(sent), 4))
}

// claudeResume goes on with a session by its name, and with the last one.
func claudeResume(ctx context.Context, c *claudeClient) (string, error) {
	first, err := c.ask(ctx, "say the first answer")
	if err != nil {
		return "", err
	}
	if _, err := c.ask(ctx, "say of another session"); err != nil {
		return "", err
	}
	second, err := c.ask(ctx, "say the second answer", "--resume", first.final.Session)
	if err != nil {
		return "", fmt.Errorf("resume: %w", err)
	}
	third, err := c.ask(ctx, "say the third answer", "--continue")
	if err != nil {
		return "", fmt.Errorf("continue: %w", err)
	}
	sent, err := c.sent()
	if err != nil {
		return "", err
	}
	if err := harness.Expect("requests", len(sent), 4); err != nil {
		return "", err
	}
	err = errors.Join(
		harness.Expect("results", second.final.Result+", "+third.final.Result, "the second answer, the third answer"),
		harness.Expect("what came back", strings.Join(sent[2].Said, ", "), "the first answer"),
		harness.Expect("what came back at last", strings.Join(sent[3].Said, ", "), "the first answer, the second answer"),
	)
	if sent[3].Sealed != 2 || len(sent[3].Thoughts) != 2 {
		err = errors.Join(err, fmt.Errorf("reasoning that came back: %q, %d sealed", sent[3].Thoughts, sent[3].Sealed))
	}
	return "", err
}

// claudeStructured wants the answer by a schema, which Claude Code takes through a tool.
func claudeStructured(ctx context.Context, c *claudeClient) (string, error) {
	run, err := c.ask(ctx, "Which color?", "--json-schema", `{"type":"object","properties":{"color":{"type":"string","enum":["green"]}},"required":["color"],"additionalProperties":false}`)
	if err != nil {
		return "", err
	}
	return "", harness.SameJSON("structured output", string(run.final.Structured), `{"color":"green"}`)
}

// claudeCount has Claude Code count what fills its window, with some two dozen questions at a time.
func claudeCount(ctx context.Context, c *claudeClient) (string, error) {
	run, err := c.ask(ctx, "/context")
	if err != nil {
		return "", err
	}
	counted, sum := 0, 0
	for _, r := range c.hop.Requests() {
		var answer struct {
			Input int `json:"input_tokens"`
		}
		if err := json.Unmarshal(r.Answer, &answer); err != nil || r.Path != "/v1/messages/count_tokens" || r.Status != http.StatusOK || answer.Input <= 0 {
			return "", fmt.Errorf("%s: status %d, %.200s", r.Path, r.Status, r.Answer)
		}
		counted++
		sum += answer.Input
	}
	if counted < 10 || !strings.Contains(run.final.Result, "Context Usage") || !strings.Contains(run.final.Result, "System tools") {
		return "", fmt.Errorf("%d counts, shown: %.300q", counted, run.final.Result)
	}
	return fmt.Sprintf("%d counts of %d tokens", counted, sum), nil
}

// claudeTitle runs Claude Code in a terminal, where it asks for a title of the session in a form, without tools.
func claudeTitle(ctx context.Context, c *claudeClient) (string, error) {
	script, err := lookPath("script")
	if err != nil {
		return "", err
	}
	if out, err := harness.Execute(ctx, c.home, harness.CleanEnv(c.home), script, "--version"); err != nil || !strings.Contains(out.Stdout, "util-linux") {
		return "", fmt.Errorf("%w: another script than that of util-linux, so there is no terminal", errSkip)
	}
	config := filepath.Join(c.home, "claude")
	known, err := json.Marshal(object{
		"hasCompletedOnboarding": true, "theme": "dark", "lastOnboardingVersion": "2.1.332",
		"customApiKeyResponses": object{"approved": list{"any"}},
		"projects":              object{c.work: object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	if err := errors.Join(err, os.MkdirAll(config, 0o700), os.WriteFile(filepath.Join(config, ".claude.json"), known, 0o600)); err != nil {
		return "", err
	}
	mark := newMark()
	typed, keys := io.Pipe()
	var typing sync.WaitGroup
	defer typing.Wait()
	defer func() { _ = typed.Close() }() // ends what types
	typing.Go(func() { c.leaveTerminal(ctx, keys) })
	env := claudeEnv(c.st, c.hop.URL, c.home, "TERM=xterm-256color", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_AUTO_MODE=1")
	out, err := harness.ExecuteTyping(ctx, c.work, env, typed, script, "-qec", "'"+c.st.node.claude+"' --model '"+c.model+"' 'say "+mark+"'", "/dev/null")
	if err != nil && ctx.Err() != nil {
		return "", err // how a terminal ends is its own affair
	}
	var titles, turns int
	for _, r := range c.hop.Requests() {
		if r.Path != c.path || r.Status != http.StatusOK {
			continue
		}
		var body struct {
			Output struct {
				Format struct {
					Type string `json:"type"`
				} `json:"format"`
			} `json:"output_config"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return "", err
		}
		if body.Output.Format.Type == "json_schema" {
			titles++
		} else {
			turns++
		}
	}
	err = errors.Join(harness.Expect("requests for a title", titles, 1), harness.Expect("other requests", turns, 1))
	// A terminal's title is set by an escape sequence. The simulated model's titles are "weir".
	if !strings.Contains(out.Stdout, "weir\x07") {
		err = errors.Join(err, errors.New("the terminal did not get the title"))
	}
	return "", err
}

// leaveTerminal types what ends Claude Code when its requests were answered.
func (c *claudeClient) leaveTerminal(ctx context.Context, keys io.WriteCloser) {
	defer func() { _ = keys.Close() }()
	for answered := 0; answered < 2; {
		if harness.Pause(ctx, 100*time.Millisecond) != nil {
			return
		}
		answered = 0
		for _, r := range c.hop.Requests() {
			if strings.Contains(string(r.Answer), "message_stop") {
				answered++
			}
		}
	}
	for range 10 { // until it has drawn the answer and reads again
		if harness.Pause(ctx, time.Second) != nil {
			return
		}
		if _, err := io.WriteString(keys, "/exit\r"); err != nil {
			return
		}
	}
}
