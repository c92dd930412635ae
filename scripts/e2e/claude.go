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
	return []scenario{
		{name: "claude-code/tool-turn", group: g, needs: needNode, limit: 3 * time.Minute, run: claudeTool},
		{name: "claude-code/default-model", group: g, needs: needNode, limit: 2 * time.Minute, run: claudeDefault},
	}
}

// claudeRun is what Claude Code told of a run.
type claudeRun struct {
	toolUses []harness.MessageBlock
	results  []string
	said     []string
	final    struct {
		Subtype string `json:"subtype"`
		IsError bool   `json:"is_error"`
		Result  string `json:"result"`
		Turns   int    `json:"num_turns"`
	}
	ended bool
}

// claude runs Claude Code once, in a home of its own.
func claude(ctx context.Context, st *stage, srv *harness.Server, home string, args ...string) (*claudeRun, error) {
	if _, err := os.Stat(st.node.claude); err != nil {
		return nil, fmt.Errorf("%w: npm brought no Claude Code: %w", errSkip, err)
	}
	env := harness.CleanEnv(home,
		"PATH="+st.node.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "SHELL=/bin/sh",
		"CLAUDE_CONFIG_DIR="+filepath.Join(home, "claude"), "ANTHROPIC_BASE_URL="+srv.URL, "ANTHROPIC_API_KEY=any",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
	)
	args = append(args, "--output-format", "stream-json", "--verbose")
	out, err := harness.Execute(ctx, home, env, st.node.claude, args...)
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
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
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
		var blocks []struct {
			harness.MessageBlock
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(e.Message.Content, &blocks) != nil {
			continue // a string, or an event without a message
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				run.toolUses = append(run.toolUses, b.MessageBlock)
			case "tool_result":
				run.results = append(run.results, string(b.Content))
			case "text":
				run.said = append(run.said, b.Text)
			}
		}
	}
	return run, nil
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
