package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// openclawAsked is what has OpenClaw installed and run: it takes some 650 MB and minutes.
const openclawAsked = "WEIR_E2E_OPENCLAW"

// openclaw is OpenClaw with each of its kinds of interfaces.
func openclaw() *agent {
	return &agent{
		name: "openclaw", needs: needOpenClaw, limit: 5 * time.Minute, main: "exec", tool: "exec",
		args:    func(command string) string { return `{"command":"` + command + `"}` },
		replays: func(dialect) bool { return true },
		run: func(ctx context.Context, st *stage, c *agentClient, first bool, text string) (string, error) {
			if first {
				if err := c.configureOpenClaw(); err != nil {
					return "", err
				}
			}
			return c.openclaw(ctx, st, text)
		},
	}
}

func (st *stage) installOpenClaw(ctx context.Context) error {
	if os.Getenv(openclawAsked) == "" {
		return fmt.Errorf("%w: it takes minutes: set %s=1 to have it run", errSkip, openclawAsked)
	}
	// Its scripts want a newer Node than the one that brings npm, and it works without them.
	dir, err := st.npmAgent(ctx, "openclaw", false)
	if err != nil {
		return err
	}
	st.openclaw, err = installed(dir, "openclaw")
	return err
}

func (c *agentClient) configureOpenClaw() error {
	api := map[string]string{"chat": "openai-completions", "messages": "anthropic-messages", "responses": "openai-responses"}[c.name]
	url := c.hop.URL + "/v1"
	if c.name == "messages" {
		url = c.hop.URL
	}
	config, err := json.Marshal(object{
		"models": object{"providers": object{"weir": object{
			"baseUrl": url, "apiKey": "any", "api": api,
			"models": list{object{
				"id": c.model, "name": "weir", "reasoning": true, "input": list{"text"}, "contextWindow": 65536, "maxTokens": 8192,
				"cost": object{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
			}},
		}}},
		"agents": object{"defaults": object{"model": object{"primary": "weir/" + c.model}, "workspace": c.work}},
	})
	if err != nil {
		return err
	}
	dir := filepath.Join(c.home, ".openclaw")
	return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "openclaw.json"), config, 0o600))
}

// openclaw runs one turn of the session, and returns what it said.
func (c *agentClient) openclaw(ctx context.Context, st *stage, text string) (string, error) {
	out, err := harness.Execute(ctx, c.work, c.env(st), st.openclaw, "agent", "--local", "--session-id", "weir", "--json", "--message", text)
	if err != nil {
		return "", err
	}
	var result struct {
		Payloads []struct {
			Text string `json:"text"`
		} `json:"payloads"`
	}
	if err := json.Unmarshal([]byte(out.Stdout), &result); err != nil {
		return "", fmt.Errorf("openclaw: %w in %.200q", err, out.Stdout)
	}
	if len(result.Payloads) != 1 {
		return "", fmt.Errorf("openclaw: %d payloads: %.300s", len(result.Payloads), out.Stdout)
	}
	return result.Payloads[0].Text, nil
}
