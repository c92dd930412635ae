package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
)

// partsTimeout bounds weir's own account of a request.
const partsTimeout = 2 * time.Minute

// How many requests the steps are measured with. Each is another one, as in the load.
const (
	stepRounds = 200
	stepWarm   = 20 // that weir runs before
)

// account is what `weir bench prompt` prints: the steps of one request, in milliseconds of CPU.
type account struct {
	Parts []part  `json:"parts"`
	Total float64 `json:"total_ms"`
}

type part struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// parts asks weir what each step of requests of a kind takes.
func (b *bench) parts(ctx context.Context, req *request, kind string) (*account, error) {
	file := filepath.Join(b.Dir(), "requests.json")
	var all []byte
	for n := range uint64(stepRounds + stepWarm) {
		patch(req.JSON, req.changing(kind), n)
		all = append(append(all, req.JSON...), '\n')
	}
	if err := os.WriteFile(file, all, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, partsTimeout)
	defer cancel()
	out, err := b.Command(ctx, b.binary, "bench", "prompt", "--config", b.ConfigFile(), "--request", file, "--rounds", strconv.Itoa(stepRounds), "--json").Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			said, _, _ := strings.Cut(strings.TrimSpace(string(e.Stderr)), "\n")
			return nil, fmt.Errorf("weir bench prompt: %w: %.300s", err, said)
		}
		return nil, fmt.Errorf("weir bench prompt: %w", err)
	}
	var a account
	if err := json.Unmarshal(out, &a); err != nil {
		return nil, fmt.Errorf("weir bench prompt: %w", err)
	}
	if len(a.Parts) == 0 {
		return nil, errors.New("weir bench prompt: no parts")
	}
	return &a, nil
}

// countTokens asks weir how many tokens the prompt of a request has.
func countTokens(ctx context.Context, addr string, req *request) (int, error) {
	var ask struct {
		Model    string          `json:"model"`
		Messages json.RawMessage `json:"messages"`
		Tools    json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(req.JSON, &ask); err != nil {
		return 0, err
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return 0, err
	}
	c, err := rawhttp.Dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	said, err := c.Ask(rawhttp.Post(addr, "/v1/tokenize", body))
	if err != nil {
		return 0, err
	}
	var got struct{ Count int }
	if err := json.Unmarshal(said, &got); err != nil {
		return 0, err
	}
	if got.Count <= 0 {
		return 0, fmt.Errorf("a count of %d", got.Count)
	}
	return got.Count, nil
}
