package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// qwen is Qwen Code with each of its kinds of authentication, which are protocols.
func qwen() *agent {
	return &agent{
		name: "qwen-code", needs: needQwen, limit: 2 * time.Minute, main: "agent", tool: "run_shell_command",
		args:    func(command string) string { return `{"command":"` + command + `","is_background":false}` },
		replays: func(dialect) bool { return true },
		impatient: func(d dialect) []string {
			if d.name == "messages" {
				return nil // its SDK keeps pings to itself, and nothing else may come before a block
			}
			return []string{"QWEN_STREAM_IDLE_TIMEOUT_MS=3000"}
		},
		ends: func(d dialect, f *engineFault) string {
			if d.name != "chat" && f.status[d.name] == http.StatusOK {
				return "the engine" // it shows what it is told
			}
			return ""
		},
		run: func(ctx context.Context, st *stage, c *agentClient, first bool, text string) (string, error) {
			if first {
				if err := c.configureQwen(); err != nil {
					return "", err
				}
				return c.qwen(ctx, st, "-p", text)
			}
			return c.qwen(ctx, st, "--continue", "-p", text)
		},
	}
}

func (st *stage) installQwen(ctx context.Context) error {
	dir, err := st.npmAgent(ctx, "qwen", false)
	if err != nil {
		return err
	}
	st.qwen, err = installed(dir, "qwen")
	return err
}

func (c *agentClient) configureQwen() error {
	dir := filepath.Join(c.home, ".qwen")
	settings := `{"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false}}`
	return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "settings.json"), []byte(settings), 0o600))
}

// qwen runs it once, and returns its result.
func (c *agentClient) qwen(ctx context.Context, st *stage, args ...string) (string, error) {
	kind := map[string]string{"chat": "openai", "messages": "anthropic", "responses": "openai-responses"}[c.name]
	prefix, url := "OPENAI", c.hop.URL+"/v1"
	if c.name == "messages" {
		prefix, url = "ANTHROPIC", c.hop.URL
	}
	env := c.env(st, prefix+"_BASE_URL="+url, prefix+"_API_KEY=any", prefix+"_MODEL="+c.model, "QWEN_CODE_SUPPRESS_YOLO_WARNING=1")
	out, err := harness.Execute(ctx, c.work, env, st.qwen, append([]string{"--auth-type", kind, "--output-format", "stream-json", "--approval-mode", "yolo"}, args...)...)
	said, parseErr := parseQwen(out.Stdout)
	return said, errors.Join(parseErr, err)
}

// parseQwen reads the events of --output-format stream-json.
func parseQwen(text string) (said string, err error) {
	ended := false
	for line := range strings.Lines(text) {
		var e struct {
			Type    string          `json:"type"`
			Subtype string          `json:"subtype"`
			IsError bool            `json:"is_error"`
			Result  string          `json:"result"`
			Error   json.RawMessage `json:"error"`
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return "", fmt.Errorf("qwen: %w in %.200q", err, line)
		}
		if e.Type != "result" {
			continue
		}
		if ended = true; e.IsError {
			return "", fmt.Errorf("qwen ended with %s: %.300s", e.Subtype, e.Error)
		}
		said = e.Result
	}
	if !ended {
		return "", errors.New("qwen: no result")
	}
	return said, nil
}
