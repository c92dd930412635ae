package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

func (st *stage) installCodex(ctx context.Context) error {
	dir, err := st.npm(ctx, "codex")
	if err != nil {
		return err
	}
	st.codex = filepath.Join(dir, "node_modules", ".bin", "codex")
	if _, err := os.Stat(st.codex); err != nil {
		return fmt.Errorf("%w: npm brought no Codex: %w", errSkip, err)
	}
	return nil
}

// codexTransport is how Codex reaches a gateway.
type codexTransport uint8

const (
	codexPosts   codexTransport = iota // a provider of its configuration's, over server-sent events
	codexSocket                        // the same, over a socket
	codexBuiltin                       // its own OpenAI provider at another address, which takes a socket
)

// String names it as scenarios do.
func (t codexTransport) String() string {
	return [...]string{"codex-post", "codex-socket", "codex-builtin"}[t]
}

// codexClient is Codex with a home, a folder to work in, and a hop to the gateway.
type codexClient struct {
	command    string
	home, work string
	hop        *harness.Hop
	model      string
	hidden     bool   // the size of messages is not announced to it
	complaint  string // part of the errors that its log may have
}

// codexOptions are what scenarios change of it.
type codexOptions struct {
	model    string // the server's first where empty
	top      string // lines of the configuration
	provider string // lines of the provider's table
	meddle   harness.Meddle
	hidden   []string // headers with which the gateway takes a socket, and that Codex does not get
}

// newCodex writes a home and its configuration. What is returned beside it ends the hop.
func newCodex(ctx context.Context, st *stage, srv *harness.Server, via codexTransport, name string, o codexOptions) (*codexClient, func(), error) {
	hop, err := harness.NewHop(ctx, srv.URL, o.meddle, o.hidden...)
	if err != nil {
		return nil, nil, err
	}
	c := &codexClient{command: st.codex, hop: hop, model: o.model, hidden: len(o.hidden) > 0}
	if c.model == "" {
		c.model = srv.Model
	}
	config := fmt.Sprintf("model = %q\ncheck_for_update_on_startup = false\n%s\n", c.model, o.top)
	if via == codexBuiltin {
		config += fmt.Sprintf("openai_base_url = %q\n", hop.URL+"/v1")
	} else {
		config += "model_provider = \"weir\"\n"
	}
	// Plugins and apps ask servers of their own what there is.
	config += "[analytics]\nenabled = false\n[features]\nplugins = false\napps = false\n"
	if via != codexBuiltin {
		config += fmt.Sprintf("[model_providers.weir]\nname = \"Weir\"\nbase_url = %q\nmodel_catalog_url = %q\nwire_api = \"responses\"\nenv_key = \"WEIR_KEY\"\nsupports_websockets = %t\n%s\n",
			hop.URL+"/v1", hop.URL+"/v1/models", via == codexSocket, o.provider)
	}
	c.home, err = st.folder("homes", via.String(), name)
	if err == nil {
		c.work, err = st.folder("homes", via.String(), name, "work")
	}
	if err == nil {
		err = harness.WriteWhole(filepath.Join(c.home, "config.toml"), []byte(config))
	}
	if err != nil {
		hop.Close()
		return nil, nil, err
	}
	return c, hop.Close, nil
}

// codexItem is an item that Codex told of as completed.
type codexItem struct {
	Type     string   `json:"type"`
	Text     string   `json:"text"`
	Message  string   `json:"message"`
	Command  string   `json:"command"`
	Output   string   `json:"aggregated_output"`
	ExitCode *int     `json:"exit_code"`
	Status   string   `json:"status"`
	Tool     string   `json:"tool"`
	Prompt   string   `json:"prompt"`
	Spawned  []string `json:"receiver_thread_ids"`
	Changes  []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
}

// codexRun is what Codex told of a run.
type codexRun struct {
	thread string
	items  []codexItem
	errors []string // notes of trouble, those that it got over included
	failed string   // why the turn failed
	usage  struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
	ended  bool
	stderr string
}

// of are the items of a type.
func (r *codexRun) of(kind string) []codexItem {
	var all []codexItem
	for i := range r.items {
		if r.items[i].Type == kind {
			all = append(all, r.items[i])
		}
	}
	return all
}

// said is what the model said, the last message of it.
func (r *codexRun) said() string {
	all := r.of("agent_message")
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1].Text
}

// exec runs Codex once. The error is one of running it; whether the turn went well stands in the run.
func (c *codexClient) exec(ctx context.Context, args ...string) (*codexRun, error) {
	env := harness.CleanEnv(c.home, "CODEX_HOME="+c.home, "WEIR_KEY=any", "OPENAI_API_KEY=any", "SHELL=/bin/sh")
	// What it would confine its commands with is not everywhere to be had, and they are the scenarios' own.
	args = append([]string{"exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}, args...)
	out, err := harness.Execute(ctx, c.work, env, c.command, args...)
	run, parseErr := parseCodex(out.Stdout)
	if parseErr != nil {
		return nil, errors.Join(err, parseErr)
	}
	run.stderr = out.Stderr
	if !run.ended {
		return nil, errors.Join(err, fmt.Errorf("ended without a turn: %.600s", out.Stderr))
	}
	if run.failed != "" {
		err = nil // its exit code says the same
	}
	return run, err
}

// well runs Codex once and wants a turn without trouble.
func (c *codexClient) well(ctx context.Context, args ...string) (*codexRun, error) {
	run, err := c.exec(ctx, args...)
	if err != nil {
		return nil, err
	}
	if run.failed != "" || len(run.errors) > 0 {
		return nil, fmt.Errorf("the turn failed (%s) or had trouble: %q", run.failed, run.errors)
	}
	for line := range strings.Lines(run.stderr) {
		// A turn that ends before its agents leaves them.
		expected := strings.Contains(line, "failed to record rollout items") || c.complaint != "" && strings.Contains(line, c.complaint)
		if strings.Contains(line, " ERROR ") && !expected {
			return nil, fmt.Errorf("it complains: %s", line)
		}
	}
	return run, nil
}

// parseCodex reads the events of --json.
func parseCodex(text string) (*codexRun, error) {
	run := &codexRun{}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var e struct {
			Type    string          `json:"type"`
			Thread  string          `json:"thread_id"`
			Message string          `json:"message"`
			Item    codexItem       `json:"item"`
			Usage   json.RawMessage `json:"usage"`
			Error   struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("--json: %w in %.200q", err, line)
		}
		switch e.Type {
		case "thread.started":
			run.thread = e.Thread
		case "item.completed":
			if e.Item.Type == "error" {
				run.errors = append(run.errors, e.Item.Message)
			}
			run.items = append(run.items, e.Item)
		case "error":
			run.errors = append(run.errors, e.Message)
		case "turn.failed":
			run.failed, run.ended = e.Error.Message, true
			if run.failed == "" {
				run.failed = "no reason given"
			}
		case "turn.completed":
			run.ended = true
			if err := json.Unmarshal(e.Usage, &run.usage); err != nil {
				return nil, fmt.Errorf("usage: %w in %.200q", err, line)
			}
		}
	}
	return run, nil
}

// codexRequest is what Codex sent, as a body or as a message of a socket.
type codexRequest struct {
	Type     string           `json:"type"`
	Model    string           `json:"model"`
	Generate *bool            `json:"generate"`
	Store    *bool            `json:"store"`
	Stream   bool             `json:"stream"`
	Previous string           `json:"previous_response_id"`
	Input    []codexInput     `json:"input"`
	Tools    []map[string]any `json:"tools"`
	socket   int
}

// codexInput is an item of a request.
type codexInput struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	CallID    string          `json:"call_id"`
	Sealed    string          `json:"encrypted_content"`
	Content   json.RawMessage `json:"content"`
	Output    json.RawMessage `json:"output"`
	Tools     json.RawMessage `json:"tools"`
}

// kinds are the types of the items, one after another; a message's is its role.
func (r *codexRequest) kinds() string {
	var all []string
	for i := range r.Input {
		kind := r.Input[i].Type
		if kind == "message" {
			kind = r.Input[i].Role
		}
		all = append(all, kind)
	}
	return strings.Join(all, " ")
}

// outputs are the results of tools.
func (r *codexRequest) outputs() []string {
	var all []string
	for i := range r.Input {
		if strings.HasSuffix(r.Input[i].Type, "_output") {
			all = append(all, string(r.Input[i].Output)+string(r.Input[i].Tools))
		}
	}
	return all
}

// has reports whether a tool was offered, that of a namespace by the namespace's name.
func (r *codexRequest) has(kind, name string) bool {
	for _, t := range r.Tools {
		if t["type"] == kind && t["name"] == name {
			return true
		}
	}
	return false
}

// posted are the requests that came over HTTP, each of which must have been served.
func (c *codexClient) posted() ([]codexRequest, error) {
	var all []codexRequest
	for _, r := range c.hop.Requests() {
		if r.Header.Get("Upgrade") != "" {
			continue
		}
		if r.Method != "POST" || r.Path != "/v1/responses" {
			return nil, fmt.Errorf("it asked for %s %s", r.Method, r.Path)
		}
		var q codexRequest
		if err := json.Unmarshal(r.Body, &q); err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return all, nil
}

// framed are the requests that came over sockets.
func (c *codexClient) framed() ([]codexRequest, error) {
	var all []codexRequest
	for i, s := range c.hop.Sockets() {
		for _, m := range s.Messages {
			if m.FromServer || m.Close != 0 {
				continue
			}
			q := codexRequest{socket: i}
			if err := json.Unmarshal(m.Text, &q); err != nil {
				return nil, err
			}
			if q.Type != "response.create" {
				return nil, fmt.Errorf("a frame of type %q", q.Type)
			}
			all = append(all, q)
		}
	}
	return all, nil
}

// sent are the requests that generated something, and came the way that they had to.
func (c *codexClient) sent(via codexTransport) ([]codexRequest, error) {
	posted, err := c.posted()
	if err != nil || via == codexPosts {
		return posted, errors.Join(err, harness.Expect("sockets", len(c.hop.Sockets()), 0))
	}
	framed, err := c.framed()
	var turns []codexRequest
	for i := range framed {
		if framed[i].Generate == nil || *framed[i].Generate {
			turns = append(turns, framed[i])
		}
	}
	return turns, errors.Join(err, harness.Expect("requests over HTTP", len(posted), 0))
}
