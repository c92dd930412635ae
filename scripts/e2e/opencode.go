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

// opencode is opencode with each of the providers that speak a protocol of weir's.
func opencode() *agent {
	return &agent{
		name: "opencode", needs: needOpencode, limit: 2 * time.Minute, main: "bash", tool: "bash",
		args:    func(command string) string { return `{"command":"` + command + `","description":"Print a mark"}` },
		replays: func(d dialect) bool { return d.name != "messages" }, // where it asks for no thinking
		run: func(ctx context.Context, st *stage, c *agentClient, first bool, text string) (string, error) {
			if first {
				if err := c.configureOpencode(); err != nil {
					return "", err
				}
				if c.plain {
					return c.opencode(ctx, st, "--title", "weir", text) // so that it asks for none
				}
				return c.opencode(ctx, st, text)
			}
			return c.opencode(ctx, st, "--continue", text)
		},
	}
}

func (st *stage) installOpencode(ctx context.Context) error {
	dir, err := st.npmAgent(ctx, "opencode", true)
	if err != nil {
		return err
	}
	st.opencode, err = installed(dir, "opencode")
	return err
}

// installed is a command that npm put in place.
func installed(dir, name string) (string, error) {
	path := filepath.Join(dir, "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: npm brought no %s: %w", errSkip, name, err)
	}
	return path, nil
}

func (c *agentClient) configureOpencode() error {
	provider := map[string]string{"chat": "@ai-sdk/openai-compatible", "messages": "@ai-sdk/anthropic", "responses": "@ai-sdk/openai"}[c.name]
	config, err := json.Marshal(object{
		"autoupdate": false, "share": "disabled",
		"provider": object{"weir": object{
			"npm": provider, "options": object{"baseURL": c.hop.URL + "/v1", "apiKey": "any"},
			"models": object{c.model: object{"limit": object{"context": 65536, "output": 8192}, "reasoning": true}},
		}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.work, "opencode.json"), config, 0o600)
}

// opencode runs it once, and returns what it said last.
func (c *agentClient) opencode(ctx context.Context, st *stage, args ...string) (string, error) {
	env := c.env(st, "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_SHARE=1")
	out, err := harness.Execute(ctx, c.work, env, st.opencode, append([]string{"run", "--model", "weir/" + c.model, "--format", "json"}, args...)...)
	said, parseErr := parseOpencode(out.Stdout)
	return said, errors.Join(parseErr, err)
}

// parseOpencode reads the events of --format json. What went wrong is an error.
func parseOpencode(text string) (said string, err error) {
	for line := range strings.Lines(text) {
		var e struct {
			Type string `json:"type"`
			Part struct {
				Text string `json:"text"`
			} `json:"part"`
			Error json.RawMessage `json:"error"`
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return "", fmt.Errorf("opencode: %w in %.200q", err, line)
		}
		switch e.Type {
		case "text":
			said = e.Part.Text
		case "error":
			return said, fmt.Errorf("opencode: %.300s", e.Error)
		}
	}
	return said, nil
}
