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

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

func claudeScripted(g *group, d *enginetest.Double) []scenario {
	scripted := func(name, model string, run func(ctx context.Context, c *claudeClient, d *enginetest.Double) (string, error)) scenario {
		return claudeOne(g, name, model, func(ctx context.Context, c *claudeClient) (string, error) {
			d.Requests() // of the scenario before
			return run(ctx, c, d)
		})
	}
	all := []scenario{
		scripted("deferred-tools", modelScripted, claudeDeferred),
		scripted("discovery", modelScripted, claudeDiscovery),
		scripted("compaction", modelSmall, claudeCompaction),
		scripted("silent-engine", modelPatient, claudeSilence),
		scripted("engine-breaks-call", modelScripted, claudeBrokenCall),
		scripted("engine-breaks-empty-call", modelParsed, claudeEmptyCall),
	}
	for _, f := range engineFaults() {
		all = append(all, scripted("engine-"+f.name, modelScripted, func(ctx context.Context, c *claudeClient, d *enginetest.Double) (string, error) {
			return claudeFault(ctx, c, d, &f)
		}))
	}
	return all
}

// hermes is a call as the scripted model writes it.
func hermes(name, arguments string) string {
	return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>"
}

const wellAgain = "<think>\nOnce more.\n</think>\n\nAll is well."

// claudeDeferred has the model look for a tool whose schema was held back, and use it. What the prompt began with
// stays as it was: the schema stands where the tool was found.
func claudeDeferred(ctx context.Context, c *claudeClient, d *enginetest.Double) (string, error) {
	d.Play(
		enginetest.Script{Chunks: pieces(hermes("ToolSearch", `{"query": "select:CronList", "max_results": 2}`))},
		enginetest.Script{Chunks: pieces(hermes("CronList", `{}`))},
		enginetest.Script{Chunks: pieces("Nothing is planned.")},
	)
	run, err := c.ask(ctx, "What is planned?", "--allowedTools", "CronList")
	if err != nil {
		return "", err
	}
	sent, err := c.sent()
	if err != nil {
		return "", err
	}
	prompts, err := promptsOf(d, 3)
	if err != nil {
		return "", err
	}
	if len(run.toolUses) != 2 || run.toolUses[0].Name != "ToolSearch" || run.toolUses[1].Name != "CronList" || len(run.results) != 2 || strings.Contains(run.results[1], "rror") {
		return "", fmt.Errorf("tools %+v, results %q", run.toolUses, run.results)
	}
	err = errors.Join(harness.Expect("result", run.final.Result, "Nothing is planned."), harness.Expect("requests", len(sent), 3))
	if call := sent[2].Called("ToolSearch"); call == nil || call.Output != "CronList" || !sent[2].Offers("CronList") {
		err = errors.Join(err, fmt.Errorf("what came back of ToolSearch: %+v", call))
	}
	const schema = `"name": "CronList"`
	if strings.Contains(prompts[0], schema) || strings.Count(prompts[1], schema) != 1 {
		err = errors.Join(err, fmt.Errorf("schemas of the tool: %d in the first prompt, %d in the second", strings.Count(prompts[0], schema), strings.Count(prompts[1], schema)))
	}
	for i := range prompts[1:] {
		if !strings.HasPrefix(prompts[i+1], prompts[i]) {
			err = errors.Join(err, fmt.Errorf("prompt %d does not begin with the one before", i+2))
		}
	}
	return "the prefix stays", err
}

// claudeDiscovery has Claude Code ask for the models that it may list.
func claudeDiscovery(ctx context.Context, c *claudeClient, d *enginetest.Double) (string, error) {
	d.Play(enginetest.Script{Chunks: pieces("Hello.")})
	run, err := c.with(ctx, []string{"CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY=1"}, "Hello?")
	if err != nil {
		return "", err
	}
	if err := harness.Expect("result", run.final.Result, "Hello."); err != nil {
		return "", err
	}
	asked := c.hop.Catalogues()
	if len(asked) != 1 || asked[0].Status != http.StatusOK {
		return "", fmt.Errorf("requests for models: %+v", asked)
	}
	raw, err := os.ReadFile(filepath.Join(c.home, "claude", "cache", "gateway-models.json"))
	if err != nil {
		return "", fmt.Errorf("no list of models was kept: %w", err)
	}
	var kept struct {
		Models []struct {
			ID string `json:"id"`
		} `json:"models"`
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		return "", err
	}
	var ids []string
	for _, m := range kept.Models {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, ", "), harness.Expect("models that are listed", strings.Join(ids, " "), strings.Join([]string{modelScripted, modelParsed, modelPatient, modelSmall}, " "))
}

// claudeCompaction fills the window until the gateway refuses: Claude Code makes the conversation shorter and goes on.
func claudeCompaction(ctx context.Context, c *claudeClient, _ *enginetest.Double) (string, error) {
	for i, prompt := range []string{"long 2300", "long 2301", "long 1150"} {
		args := []string{"--continue"}
		if i == 0 {
			args = nil
		}
		if _, err := c.ask(ctx, prompt, args...); err != nil {
			return "", fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	before := len(c.hop.Requests())
	mark := newMark()
	run, err := c.ask(ctx, "say "+mark, "--continue")
	if err != nil {
		return "", err
	}
	refused, compactions := 0, 0
	requests := c.hop.Requests()[before:]
	for _, r := range requests {
		if r.Status == http.StatusBadRequest {
			var n, limit int
			_, text, _ := strings.Cut(string(r.Answer), `"message":"`)
			if _, err := fmt.Sscanf(text, "prompt is too long: %d tokens > %d maximum", &n, &limit); err != nil || n <= limit {
				return "", fmt.Errorf("a refusal: %.300s", r.Answer)
			}
			refused++
		}
		if strings.Contains(string(r.Body), "Respond with TEXT ONLY") {
			compactions++
		}
	}
	last := requests[len(requests)-1]
	err = harness.Expect("result", run.final.Result, mark)
	if refused == 0 || compactions == 0 || run.compact == 0 || requests[0].Status != http.StatusBadRequest || last.Status != http.StatusOK || !strings.Contains(string(last.Body), "continued from a previous conversation") {
		err = errors.Join(err, fmt.Errorf("%d refusals, %d requests to compact, compacted %d times, last status %d", refused, compactions, run.compact, last.Status))
	}
	return fmt.Sprintf("%d refusals, compacted %d times, %d requests", refused, run.compact, len(requests)), err
}

// claudeSilence has an engine that says nothing for longer than Claude Code waits for bytes: signs of life keep it.
func claudeSilence(ctx context.Context, c *claudeClient, d *enginetest.Double) (string, error) {
	d.Play(enginetest.Script{Chunks: enginetest.Say("Slow and sure."), Pause: 12 * time.Second})
	run, err := c.with(ctx, []string{"CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS=10000", "CLAUDE_STREAM_IDLE_TIMEOUT_MS=10000"}, "Well?")
	if err != nil {
		return "", err
	}
	sent, err := c.sent()
	requests := c.hop.Requests()
	pings := strings.Count(string(requests[0].Answer), "event: ping")
	if pings < 10 {
		err = errors.Join(err, fmt.Errorf("%d pings", pings))
	}
	return fmt.Sprintf("%d pings", pings), errors.Join(err, harness.Expect("result", run.final.Result, "Slow and sure."), harness.Expect("requests", len(sent), 1))
}

// claudeFault has an engine fail at the first request. What a stream brought before its error is kept, and Claude Code
// has the model go on from there; a refusal it sends again after a while.
func claudeFault(ctx context.Context, c *claudeClient, d *enginetest.Double, f *engineFault) (string, error) {
	d.Play(f.script, enginetest.Script{Chunks: pieces(wellAgain)})
	from := time.Now()
	run, err := c.ask(ctx, "How is it?")
	took := time.Since(from)
	if err != nil {
		return "", err
	}
	requests := c.hop.Requests()
	if err := harness.Expect("requests", len(requests), 2); err != nil {
		return "", err
	}
	err = errors.Join(f.check(c.dialect, &requests[0]), harness.Expect("result", run.final.Result, "All is well."))
	again, readErr := harness.ReadSent(c.path, requests[1].Body)
	if readErr != nil {
		return "", readErr
	}
	err = errors.Join(err, harness.Expect("the second is streamed", again.Stream, true))
	if f.status["messages"] == http.StatusOK {
		if !strings.Contains(strings.Join(again.Users, "\n"), "cut off mid-stream") {
			err = errors.Join(err, fmt.Errorf("the second request: %q", again.Users))
		}
		return fmt.Sprintf("goes on from there, %.1f s in all", took.Seconds()), errors.Join(err, harness.Expect("what came back", strings.Join(again.Said, "|"), begun))
	}
	if len(run.retries) != 1 || run.retries[0].Status != f.status["messages"] {
		return "", errors.Join(err, fmt.Errorf("retries: %+v", run.retries))
	}
	if least := 1000 * retryAfter(f); run.retries[0].Delay < least {
		err = errors.Join(err, fmt.Errorf("asks again after %.0f ms, was told %.0f", run.retries[0].Delay, least))
	}
	return fmt.Sprintf("asks again after %.0f ms", run.retries[0].Delay), err
}

// retryAfter is how many seconds an engine asked for.
func retryAfter(f *engineFault) float64 {
	var s float64
	_, _ = fmt.Sscan(f.script.Header.Get("Retry-After"), &s) // none is 0
	return s
}

// claudeBrokenCall has an engine break off inside the arguments of a call: what came of it is never run.
func claudeBrokenCall(ctx context.Context, c *claudeClient, d *enginetest.Double) (string, error) {
	mark := newMark()
	call := "<think>\nA mark.\n</think>\n\n" + hermes("Bash", `{"command": "echo `+mark+`", "description": "Print a mark"}`)
	at := strings.Index(call, mark)
	broken := append(pieces(call[:at]), enginetest.Chunk{Text: "wrong"})
	d.Play(enginetest.Script{Chunks: broken, Fault: enginetest.FaultReset, At: len(broken)}, enginetest.Script{Chunks: pieces(call)}, enginetest.Script{Chunks: pieces("Printed.")})
	run, err := c.ask(ctx, "Print it.", "--allowedTools", "Bash")
	if err != nil {
		return "", err
	}
	requests := c.hop.Requests()
	if err := harness.Expect("requests", len(requests), 3); err != nil {
		return "", err
	}
	if !strings.Contains(string(requests[0].Answer), "event: error") || !strings.Contains(string(requests[0].Answer), "partial_json") {
		err = fmt.Errorf("the first answer: %.600s", requests[0].Answer)
	}
	if len(run.results) != 1 || !strings.Contains(run.results[0], mark) {
		err = errors.Join(err, fmt.Errorf("results of tools: %q", run.results))
	}
	again, readErr := harness.ReadSent(c.path, requests[1].Body)
	if readErr != nil {
		return "", readErr
	}
	err = errors.Join(err, harness.Expect("calls that came back", len(again.Calls), 0))
	return "", errors.Join(err, harness.Expect("result", run.final.Result, "Printed."))
}

// claudeEmptyCall has an engine break off before the arguments of a tool that could do without any: it must not run.
func claudeEmptyCall(ctx context.Context, c *claudeClient, d *enginetest.Double) (string, error) {
	d.Play(
		enginetest.Script{Chunks: []enginetest.Chunk{{Call: &enginetest.Call{ID: "call_a", Name: "ToolSearch", Args: `{"query": "select:CronList"}`}}}, Finish: "tool_calls"},
		enginetest.Script{Chunks: []enginetest.Chunk{{Call: &enginetest.Call{ID: "call_b", Name: "CronList"}}}, Fault: enginetest.FaultReset, At: 1},
		enginetest.Script{Chunks: pieces("Nothing is planned.")},
	)
	run, err := c.ask(ctx, "What is planned?", "--allowedTools", "CronList")
	if err != nil {
		return "", err
	}
	if len(run.results) != 1 {
		err = fmt.Errorf("tools that ran: %+v, results %q", run.toolUses, run.results)
	}
	return "", errors.Join(err, harness.Expect("result", run.final.Result, "Nothing is planned."))
}
