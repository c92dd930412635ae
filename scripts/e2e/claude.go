package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

func claudeScenarios(g *group) []scenario {
	return append([]scenario{
		{name: "claude-code/tool-turn", group: g, needs: needNode, limit: 3 * time.Minute, run: claudeTool},
		{name: "claude-code/default-model", group: g, needs: needNode, limit: 2 * time.Minute, run: claudeDefault},
	}, claudeTurns(g)...)
}

// claudeRun is what Claude Code told of a run.
type claudeRun struct {
	toolUses []harness.MessageBlock
	results  []string
	said     []string
	// inside are the tool results of sub-agents.
	inside  []string
	compact int           // how often the conversation was compacted
	retries []claudeRetry // of requests
	final   struct {
		Subtype    string          `json:"subtype"`
		IsError    bool            `json:"is_error"`
		Result     string          `json:"result"`
		Turns      int             `json:"num_turns"`
		Session    string          `json:"session_id"`
		Structured json.RawMessage `json:"structured_output"`
	}
	ended bool
}

// claudeRetry is a request that is sent again after a while.
type claudeRetry struct {
	Status int     `json:"error_status"`
	Delay  float64 `json:"retry_delay_ms"`
}

// claude runs Claude Code once, in a home of its own.
func claude(ctx context.Context, st *stage, srv *harness.Server, home string, args ...string) (*claudeRun, error) {
	return claudeAt(ctx, st, srv.URL, home, home, nil, args...)
}

// claudeEnv is the environment of Claude Code.
func claudeEnv(st *stage, url, home string, extra ...string) []string {
	return append(harness.CleanEnv(home,
		"PATH="+st.node.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "SHELL=/bin/sh",
		"CLAUDE_CONFIG_DIR="+filepath.Join(home, "claude"), "ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY=any",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9",
	), extra...)
}

// claudeAt runs Claude Code once against an address.
func claudeAt(ctx context.Context, st *stage, url, home, dir string, extra []string, args ...string) (*claudeRun, error) {
	if _, err := os.Stat(st.node.claude); err != nil {
		return nil, fmt.Errorf("%w: npm brought no Claude Code: %w", errSkip, err)
	}
	env := claudeEnv(st, url, home, append(extra, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")...)
	out, err := harness.Execute(ctx, dir, env, st.node.claude, append(args, "--output-format", "stream-json", "--verbose")...)
	run, parseErr := parseClaude(out.Stdout)
	if parseErr != nil {
		return nil, errors.Join(err, parseErr)
	}
	if !run.ended {
		return nil, errors.Join(err, fmt.Errorf("ended without a result: %.300s", out.Reason()))
	}
	if run.final.Subtype != "success" || run.final.IsError {
		return nil, errors.Join(err, fmt.Errorf("ended with %s: %s", run.final.Subtype, run.final.Result))
	}
	return run, err
}

// parseClaude reads the events of --output-format stream-json.
func parseClaude(text string) (*claudeRun, error) {
	run := &claudeRun{}
	for line := range strings.Lines(text) {
		var e struct {
			Type    string `json:"type"`
			Subtype string `json:"subtype"`
			Parent  string `json:"parent_tool_use_id"` // of what a sub-agent does
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
			claudeRetry
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("stream-json: %w in %.200q", err, line)
		}
		if e.Type == "result" {
			run.ended = true
			if err := json.Unmarshal([]byte(line), &run.final); err != nil {
				return nil, err
			}
		}
		switch e.Type + " " + e.Subtype {
		case "system compact_boundary":
			run.compact++
		case "system api_retry":
			run.retries = append(run.retries, e.claudeRetry)
		}
		run.add(e.Parent != "", e.Message.Content)
	}
	return run, nil
}

// add takes the blocks of a message. Content that is a string tells nothing new.
func (run *claudeRun) add(inside bool, content json.RawMessage) {
	var blocks []struct {
		harness.MessageBlock
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return
	}
	for _, b := range blocks {
		switch {
		case inside && b.Type == "tool_result":
			run.inside = append(run.inside, string(b.Content))
		case inside:
		case b.Type == "tool_use":
			run.toolUses = append(run.toolUses, b.MessageBlock)
		case b.Type == "tool_result":
			run.results = append(run.results, string(b.Content))
		case b.Type == "text":
			run.said = append(run.said, b.Text)
		}
	}
}

// claudeTool is one turn with a tool, and a second one that goes on with the conversation.
func claudeTool(ctx context.Context, st *stage, srv *harness.Server) (string, error) {
	home, err := st.folder("homes", "claude")
	if err != nil {
		return "", err
	}
	mark := fmt.Sprintf("weir-e2e-%d", time.Now().UnixNano())
	run, err := claude(ctx, st, srv, home, "-p", `call Bash {"command":"echo `+mark+`","description":"Print a mark"}`, "--model", srv.Model, "--allowedTools", "Bash")
	if err != nil {
		return "", err
	}
	if len(run.toolUses) != 1 || run.toolUses[0].Name != "Bash" || !strings.Contains(string(run.toolUses[0].Input), "echo "+mark) {
		return "", fmt.Errorf("tool uses: %+v", run.toolUses)
	}
	if len(run.results) != 1 || !strings.Contains(run.results[0], mark) || strings.Contains(run.results[0], "echo") {
		return "", fmt.Errorf("tool results: %q", run.results)
	}
	if !strings.Contains(run.final.Result, mark) {
		return "", fmt.Errorf("the result does not mention %s: %q", mark, run.final.Result)
	}
	next, err := claude(ctx, st, srv, home, "-p", "say and now "+mark, "--continue", "--model", srv.Model, "--allowedTools", "Bash")
	if err != nil {
		return "", fmt.Errorf("second turn: %w", err)
	}
	if err := harness.Expect("the second result", next.final.Result, "and now "+mark); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d + %d turns", run.final.Turns, next.final.Turns), nil
}

// claudeDefault leaves the choice of the model to Claude Code, whose names the default configuration
// serves by an alias.
func claudeDefault(ctx context.Context, st *stage, srv *harness.Server) (string, error) {
	home, err := st.folder("homes", "claude-default")
	if err != nil {
		return "", err
	}
	run, err := claude(ctx, st, srv, home, "-p", "say served by alias")
	if err != nil {
		return "", err
	}
	return "", harness.Expect("result", run.final.Result, "served by alias")
}
