package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// dialect is a protocol as agents name it in scenarios.
type dialect struct{ name, path string }

var dialects = [...]dialect{{"chat", "/v1/chat/completions"}, {"messages", "/v1/messages"}, {"responses", "/v1/responses"}}

// agent is a coding agent that can be pointed at a gateway over several protocols.
type agent struct {
	name  string
	needs need
	limit time.Duration
	main  string // a tool that only requests of the conversation offer, not those on the side
	tool  string // that runs commands, and its arguments
	args  func(command string) string
	// replays says whether reasoning is sent back on a dialect.
	replays func(d dialect) bool
	// ends is what it shows when it gives up after a fault of its engine; "" when it asks again. Nil is never.
	ends func(d dialect, f *engineFault) string
	// impatient is what in its environment has it give up a stream that is silent for three seconds. Nil is for a
	// dialect, or an agent, that knows no such thing or takes nothing for a sign of life.
	impatient func(d dialect) []string
	// run runs it once. The first run begins a session, others go on with it.
	run func(ctx context.Context, st *stage, c *agentClient, first bool, text string) (said string, err error)
}

// agentClient is an agent with a home, a folder to work in, and a hop to the gateway.
type agentClient struct {
	dialect
	home, work string
	hop        *harness.Hop
	model      string
	extra      []string // of its environment
	plain      bool     // without requests on the side, where that can be had
	seen       int      // requests that were looked at
}

func (a *agent) scenarios(g *group) []scenario {
	var all []scenario
	for _, d := range dialects {
		one := func(name string, run func(ctx context.Context, st *stage, c *agentClient) (string, error)) {
			all = append(all, scenario{name: a.name + "/" + d.name + "-" + name, group: g, needs: a.needs, limit: a.limit, run: func(ctx context.Context, st *stage, srv *harness.Server) (string, error) {
				c, closing, err := newAgentClient(ctx, st, srv.URL, srv.Model, d, a.name, d.name) // the first run in a home takes longest
				if err != nil {
					return "", err
				}
				defer closing()
				return run(ctx, st, c)
			}})
		}
		one("text", a.text)
		one("tool", a.toolTurn)
	}
	return all
}

// newAgentClient makes a home and a folder to work in.
func newAgentClient(ctx context.Context, st *stage, url, model string, d dialect, name ...string) (*agentClient, func(), error) {
	home, err := st.folder(append([]string{"homes"}, name...)...)
	if err != nil {
		return nil, nil, err
	}
	hop, err := harness.NewHop(ctx, url, nil)
	if err != nil {
		return nil, nil, err
	}
	c := &agentClient{dialect: d, home: home, work: filepath.Join(home, "work"), hop: hop, model: model}
	return c, hop.Close, os.MkdirAll(c.work, 0o700)
}

// env is the environment of an agent: its home, Node's own folder first, and no way out of this machine.
func (c *agentClient) env(st *stage, extra ...string) []string {
	nowhere := "http://127.0.0.1:9"
	env := harness.CleanEnv(c.home,
		"PATH="+st.node.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "SHELL=/bin/sh",
		"XDG_CONFIG_HOME="+filepath.Join(c.home, "config"), "XDG_DATA_HOME="+filepath.Join(c.home, "data"),
		"XDG_STATE_HOME="+filepath.Join(c.home, "state"), "XDG_CACHE_HOME="+filepath.Join(c.home, "cache"),
		"HTTP_PROXY="+nowhere, "HTTPS_PROXY="+nowhere, "npm_config_registry="+nowhere,
	)
	return append(append(env, extra...), c.extra...)
}

// sent are the requests since the last look, which must all have gone where they should and have been answered.
func (c *agentClient) sent() ([]*harness.Sent, error) {
	requests := c.hop.Requests()[c.seen:]
	c.seen += len(requests)
	var all []*harness.Sent
	for _, r := range requests {
		if r.Method != http.MethodPost || r.Path != c.path || r.Status != http.StatusOK {
			return nil, fmt.Errorf("%s %s: status %d: %.300s", r.Method, r.Path, r.Status, r.Answer)
		}
		s, err := harness.ReadSent(r.Path, r.Body)
		if err != nil {
			return nil, err
		}
		if s.Model != c.model || !s.Stream {
			return nil, fmt.Errorf("a request of model %q, streamed %v", s.Model, s.Stream)
		}
		all = append(all, s)
	}
	return all, nil
}

// conversation are the requests that offer a tool and speak of something.
func conversation(all []*harness.Sent, tool, user string) []*harness.Sent {
	var some []*harness.Sent
	for _, s := range all {
		if s.Offers(tool) && strings.Contains(strings.Join(s.Users, "\n"), user) {
			some = append(some, s)
		}
	}
	return some
}

// text is one turn that speaks.
func (a *agent) text(ctx context.Context, st *stage, c *agentClient) (string, error) {
	mark := newMark()
	said, err := a.run(ctx, st, c, true, "say "+mark+" "+saidByAgent)
	if err != nil {
		return "", err
	}
	sent, err := c.sent()
	if err != nil {
		return "", err
	}
	main := conversation(sent, a.main, mark)
	return fmt.Sprintf("%d requests", len(sent)), errors.Join(harness.Expect("shown", said, mark+" "+saidByAgent), harness.Expect("requests of the conversation", len(main), 1))
}

// saidByAgent is text that is hard on whoever cuts it into pieces.
const saidByAgent = `naïve 堰 😀 "quoted" {"a":1}`

// toolTurn is a turn with a tool, and a second one that goes on with the session.
func (a *agent) toolTurn(ctx context.Context, st *stage, c *agentClient) (string, error) {
	mark := newMark()
	arguments := a.args("echo " + mark)
	said, err := a.run(ctx, st, c, true, "call "+a.tool+" "+arguments)
	if err != nil {
		return "", err
	}
	sent, err := c.sent()
	if err != nil {
		return "", err
	}
	main := conversation(sent, a.main, mark)
	if len(main) != 2 {
		return "", fmt.Errorf("%d requests of the conversation, want 2", len(main))
	}
	if err := errors.Join(a.called(c, main[1], arguments, mark), harness.Expect("calls in the first request", len(main[0].Calls), 0)); err != nil {
		return "", err
	}
	if !strings.HasPrefix(said, "The tool answered: ") {
		return "", fmt.Errorf("shown: %q", said)
	}
	again, err := a.run(ctx, st, c, false, "say and now "+mark)
	if err != nil {
		return "", fmt.Errorf("second turn: %w", err)
	}
	next, err := c.sent()
	if err != nil {
		return "", err
	}
	main = conversation(next, a.main, "and now "+mark)
	if len(main) != 1 {
		return "", fmt.Errorf("second turn: %d requests of the conversation, want 1", len(main))
	}
	err = errors.Join(a.called(c, main[0], arguments, mark), harness.Expect("shown", again, "and now "+mark))
	if !strings.Contains(strings.Join(main[0].Said, "\n"), said) {
		err = errors.Join(err, fmt.Errorf("the second turn does not bring back what was said: %q", main[0].Said))
	}
	return fmt.Sprintf("%d + %d requests", len(sent), len(next)), err
}

// called checks that the call came back as the gateway gave it, with its result.
func (a *agent) called(c *agentClient, s *harness.Sent, arguments, mark string) error {
	call := s.Called(a.tool)
	if call == nil || len(s.Calls) != 1 {
		return fmt.Errorf("calls that came back: %+v", s.Calls)
	}
	err := harness.SameJSON("arguments", call.Arguments, arguments)
	if !call.Answered || !strings.Contains(call.Output, mark) {
		err = errors.Join(err, fmt.Errorf("result: %q", call.Output))
	}
	// On responses the text of reasoning may stay behind, what the gateway sealed may not.
	if c.name != "responses" && a.replays(c.dialect) && !strings.Contains(strings.Join(s.Thoughts, "\n"), "I need "+a.tool+" for this.") {
		err = errors.Join(err, fmt.Errorf("reasoning that came back: %q", s.Thoughts))
	}
	if c.name != "chat" && a.replays(c.dialect) && s.Sealed == 0 {
		err = errors.Join(err, errors.New("reasoning came back without what the gateway sealed"))
	}
	return err
}

// agentScenarios are the agents against the simulated engine.
func agentScenarios(g *group) []scenario {
	var all []scenario
	for _, a := range []*agent{opencode(), qwen(), openclaw()} {
		all = append(all, a.scenarios(g)...)
	}
	return all
}
