package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// Models of the group of agents. Claude Code lists only such names.
const (
	modelScripted = "anthropic/scripted" // says what a scenario wants
	modelParsed   = "anthropic/parsed"   // the same, whose engine parses its output
	modelPatient  = "anthropic/patient"  // the same, of an engine that may be silent for long
	modelSmall    = "anthropic/small"    // a simulated one with a window that soon is full
)

// scriptedAgents has engines that fail as a scenario wants, and a small window.
func scriptedAgents(d *enginetest.Double) *group {
	return &group{name: "agents", open: func(*stage) (string, func()) {
		engine := httptest.NewServer(d)
		model := func(id, engine, tools, more string) string {
			return fmt.Sprintf("[[models]]\nid = %q\nengines = [%q]\nfamily = \"qwen3\"\nreasoning = \"qwen3\"\ntools = %q\npolicy = \"qwen3\"\n%s\n", id, engine, tools, more)
		}
		return fmt.Sprintf(`
[server]
keepalive = "1s"
shutdown_grace = "5s"
[engines.scripted]
kind = "openai"
url = "%s/v1"
idle_timeout = "2s"
[engines.patient]
kind = "openai"
url = "%s/v1"
[engines.parsed]
kind = "openai"
url = "%s/v1"
mode = "chat"
structured = true
[engines.sim]
kind = "sim"
prefill_tps = 0
overhead = "0s"
token_time = "0s"
`, engine.URL, engine.URL, engine.URL) +
				model(modelScripted, "scripted", "hermes", "") + fmt.Sprintf("[[models]]\nid = %q\nengines = [\"parsed\"]\n", modelParsed) +
				model(modelPatient, "patient", "hermes", "") + model(modelSmall, "sim", "hermes", "context = 24000"),
			func() { engine.CloseClientConnections(); engine.Close() }
	}}
}

// agentScripted are agents whose engine does what a scenario wants.
func agentScripted() []scenario {
	d := enginetest.NewDouble()
	g := scriptedAgents(d)
	all := claudeScripted(g, d)
	for _, a := range []*agent{opencode(), qwen()} {
		for _, p := range dialects {
			all = append(all, a.faults(g, d, p)...)
			if a.impatient != nil && a.impatient(p) != nil {
				all = append(all, a.silence(g, d, p))
			}
		}
	}
	return all
}

// engineFault is a way in which an engine fails an agent, after which it answers well.
type engineFault struct {
	name   string
	script enginetest.Script
	// told is what the agent is told, as it stands in the answer or its error.
	told map[string]string
	// status is that of the answer, by dialect. 200 is a stream in which it is told.
	status map[string]int
	// all agents have it, and not Claude Code alone.
	all bool
}

// begun is what an engine says before it fails.
const begun = "This is only ha"

// engineFaults are what agents have to live with.
func engineFaults() []engineFault {
	half := pieces("<think>\nLet me see.\n</think>\n\n" + begun)
	ok := map[string]int{"chat": 200, "messages": 200, "responses": 200}
	return []engineFault{
		{"breaks-off", enginetest.Script{Chunks: half, Fault: enginetest.FaultReset, At: len(half)}, map[string]string{"chat": `{"error":`, "messages": "api_error", "responses": "response.failed"}, ok, true},
		{"stalls", enginetest.Script{Chunks: half, Fault: enginetest.FaultStall, At: len(half)}, map[string]string{"chat": `"code":"timeout"`, "messages": "timeout_error", "responses": "response.failed"}, ok, false},
		{"limits", enginetest.Script{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"2"}}}, map[string]string{"chat": "rate_limit_exceeded", "messages": "rate_limit_error", "responses": "rate_limit_exceeded"}, map[string]int{"chat": 429, "messages": 429, "responses": 429}, true},
		{"is-busy", enginetest.Script{Status: http.StatusServiceUnavailable}, map[string]string{"chat": "overloaded", "messages": "overloaded_error", "responses": "overloaded"}, map[string]int{"chat": 503, "messages": 529, "responses": 503}, false},
		{"fails", enginetest.Script{Status: http.StatusInternalServerError}, map[string]string{"chat": "engine_error", "messages": "api_error", "responses": "engine_error"}, map[string]int{"chat": 500, "messages": 500, "responses": 500}, false},
	}
}

// check looks at the answer that told an agent of the fault.
func (f *engineFault) check(d dialect, r *harness.HopRequest) error {
	if r.Path != d.path || r.Status != f.status[d.name] || !strings.Contains(string(r.Answer), f.told[d.name]) {
		return fmt.Errorf("%s: status %d, want %d with %q: %.600s", r.Path, r.Status, f.status[d.name], f.told[d.name], r.Answer)
	}
	return nil
}

// faults are scenarios in which an agent's engine fails it once.
func (a *agent) faults(g *group, d *enginetest.Double, p dialect) []scenario {
	var all []scenario
	for _, f := range engineFaults() {
		if !f.all {
			continue
		}
		name := p.name + "-engine-" + f.name
		all = append(all, scenario{name: a.name + "/" + name, group: g, needs: a.needs, limit: a.limit, run: func(ctx context.Context, st *stage, srv *harness.Server) (string, error) {
			c, closing, err := newAgentClient(ctx, st, srv.URL, modelScripted, p, a.name, p.name)
			if err != nil {
				return "", err
			}
			defer closing()
			c.plain = true
			return a.fault(ctx, st, c, d, &f)
		}})
	}
	return all
}

// fault has an engine fail at the first request, and then answer.
func (a *agent) fault(ctx context.Context, st *stage, c *agentClient, d *enginetest.Double, f *engineFault) (string, error) {
	well := enginetest.Script{Chunks: pieces("<think>\nOnce more.\n</think>\n\nAll is well.")}
	d.Requests()
	d.Play(f.script, well)
	from := time.Now()
	said, err := a.run(ctx, st, c, true, "How is it?")
	took := time.Since(from)
	requests := c.hop.Requests()
	if len(requests) == 0 {
		return "", errors.Join(err, errors.New("no request came"))
	}
	if e := f.check(c.dialect, &requests[0]); e != nil {
		return "", errors.Join(e, err)
	}
	shown := ""
	if a.ends != nil {
		shown = a.ends(c.dialect, f)
	}
	if shown != "" && (err == nil || !strings.Contains(err.Error(), shown)) {
		return "", fmt.Errorf("said %q, %w, want an end that speaks of %q", said, err, shown)
	}
	if shown != "" {
		return "gives up, and says why", nil
	}
	if err != nil {
		return "", err
	}
	if len(requests) < 2 {
		return "", errors.New("it did not ask again")
	}
	return fmt.Sprintf("asks again, %.1f s in all", took.Seconds()), harness.Expect("shown", said, "All is well.")
}

// silence is a scenario whose engine says nothing for longer than the agent waits: signs of life keep it.
func (a *agent) silence(g *group, d *enginetest.Double, p dialect) scenario {
	name := p.name + "-silent-engine"
	return scenario{name: a.name + "/" + name, group: g, needs: a.needs, limit: a.limit, run: func(ctx context.Context, st *stage, srv *harness.Server) (string, error) {
		c, closing, err := newAgentClient(ctx, st, srv.URL, modelPatient, p, a.name, p.name)
		if err != nil {
			return "", err
		}
		defer closing()
		c.plain, c.extra = true, a.impatient(p)
		d.Play(enginetest.Script{Chunks: enginetest.Say("Slow and sure."), Pause: 6 * time.Second}, enginetest.Script{Chunks: pieces("Not the first.")})
		said, err := a.run(ctx, st, c, true, "Well?")
		return "", errors.Join(err, harness.Expect("shown", said, "Slow and sure."))
	}}
}
