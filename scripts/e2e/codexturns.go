package main

import (
	"bytes"
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

// codexTurn is a scenario of Codex over a transport.
type codexTurn func(ctx context.Context, c *codexClient, via codexTransport) (string, error)

// codexScenario runs one with a client of its own.
func codexScenario(g *group, via codexTransport, name string, o codexOptions, run codexTurn) scenario {
	return scenario{name: via.String() + "/" + name, group: g, needs: needCodex, limit: 90 * time.Second, run: func(ctx context.Context, st *stage, srv *harness.Server) (string, error) {
		c, closing, err := newCodex(ctx, st, srv, via, name, o)
		if err != nil {
			return "", err
		}
		defer closing()
		return run(ctx, c, via)
	}}
}

// codexScenarios are those against the simulated engine.
func codexScenarios(g *group) []scenario {
	turns := []struct {
		name string
		run  codexTurn
	}{
		{"text", codexText},
		{"exec", codexExec},
		{"apply-patch", codexPatch},
		{"namespace", codexNamespace},
		{"parallel", codexParallel},
		{"resume", codexResume},
		{"output-schema", codexSchema},
	}
	var all []scenario
	for _, via := range []codexTransport{codexPosts, codexSocket} {
		for _, t := range turns {
			all = append(all, codexScenario(g, via, t.name, codexOptions{}, t.run))
		}
	}
	all = append(all, codexScenario(g, codexPosts, "catalogue", codexOptions{}, codexCatalogue))
	// One that writes its calls in another format, and does not think.
	coder := codexOptions{model: "weir/sim-coder"}
	all = append(all, codexScenario(g, codexPosts, "coder-apply-patch", coder, codexPatch), codexScenario(g, codexPosts, "coder-parallel", coder, codexParallel))
	// A model that Codex knows the name of, and has tools of its own for. The default configuration serves it.
	known := codexOptions{model: "gpt-5.5"}
	all = append(all,
		codexScenario(g, codexBuiltin, "text", known, codexText),
		codexScenario(g, codexBuiltin, "exec", known, codexExec),
		codexScenario(g, codexBuiltin, "apply-patch", known, codexPatch),
		codexScenario(g, codexBuiltin, "tool-search", known, codexToolSearch),
		codexScenario(g, codexBuiltin, "resume", known, codexResume),
	)
	return append(all, codexSocketFaults(g)...)
}

func codexText(ctx context.Context, c *codexClient, via codexTransport) (string, error) {
	run, err := c.well(ctx, "say "+said)
	if err != nil {
		return "", err
	}
	sent, err := c.sent(via)
	if err != nil {
		return "", err
	}
	if run.usage.Input <= 0 || run.usage.Output <= 0 {
		err = fmt.Errorf("usage: %+v", run.usage)
	}
	return fmt.Sprintf("%d tokens in", run.usage.Input), errors.Join(err, harness.Expect("requests", len(sent), 1),
		harness.Expect("items beside reasoning", len(run.items)-len(run.of("reasoning")), 1), harness.Expect("text", run.said(), said))
}

// codexExec has it run a command. Over a socket it goes on with the answer before, and sends nothing twice.
func codexExec(ctx context.Context, c *codexClient, via codexTransport) (string, error) {
	mark := newMark()
	run, err := c.well(ctx, `call exec_command {"cmd":"echo `+mark+`"}`)
	if err != nil {
		return "", err
	}
	if err := ranOnce(run, mark); err != nil {
		return "", err
	}
	sent, err := c.sent(via)
	if err != nil {
		return "", err
	}
	if err := harness.Expect("requests", len(sent), 2); err != nil {
		return "", err
	}
	if out := sent[1].outputs(); len(out) != 1 || !strings.Contains(out[0], mark) {
		return "", fmt.Errorf("results in the second request: %q", out)
	}
	if via == codexPosts {
		if !strings.HasSuffix(sent[1].kinds(), " user reasoning function_call function_call_output") {
			return "", fmt.Errorf("the second request has %s", sent[1].kinds())
		}
		return "", harness.Expect("output tokens are counted", run.usage.Output > 0, true)
	}
	return codexChain(c, sent)
}

// codexChain checks that requests over one socket go on with each other.
func codexChain(c *codexClient, sent []codexRequest) (string, error) {
	all, err := c.framed()
	if err != nil {
		return "", err
	}
	if len(all) != len(sent)+1 || all[0].Generate == nil || *all[0].Generate || all[0].Previous != "" {
		return "", fmt.Errorf("%d frames, and the first one is no prewarm: %s", len(all), all[0].kinds())
	}
	ids, err := answered(c.hop.Sockets()[0])
	if err != nil {
		return "", err
	}
	for i := 1; i < len(all); i++ {
		if all[i].socket != 0 || i > len(ids) || all[i].Previous != ids[i-1] {
			return "", fmt.Errorf("request %d goes on with %q, the answers are %q", i, all[i].Previous, ids)
		}
	}
	last := &all[len(all)-1]
	ext := c.hop.Sockets()[0].Answer.Get("Sec-Websocket-Extensions")
	if ext == "" {
		ext = "not compressed"
	}
	return ext, harness.Expect("items of the last request", last.kinds(), "function_call_output")
}

// answered are the ids of the answers that were completed on a socket.
func answered(s harness.HopSocket) ([]string, error) {
	var ids []string
	for _, m := range s.Messages {
		if !m.FromServer || m.Close != 0 {
			continue
		}
		var e struct {
			Type     string `json:"type"`
			Response struct {
				ID string `json:"id"`
			} `json:"response"`
		}
		if err := json.Unmarshal(m.Text, &e); err != nil {
			return nil, err
		}
		if e.Type == "response.completed" {
			ids = append(ids, e.Response.ID)
		}
	}
	return ids, nil
}

func newMark() string { return fmt.Sprintf("weir-e2e-%d", time.Now().UnixNano()) }

// ranOnce checks that one command ran, printed the mark, and that the model got to know it.
func ranOnce(run *codexRun, mark string) error {
	ran := run.of("command_execution")
	if len(ran) != 1 || !strings.Contains(ran[0].Command, "echo "+mark) || strings.TrimSpace(ran[0].Output) != mark || ran[0].ExitCode == nil || *ran[0].ExitCode != 0 {
		return fmt.Errorf("commands: %+v", ran)
	}
	if !strings.HasPrefix(run.said(), "The tool answered:") {
		return fmt.Errorf("it says %q", run.said())
	}
	return nil
}

// codexPatch has it apply a patch, which is the raw text of a custom tool.
func codexPatch(ctx context.Context, c *codexClient, via codexTransport) (string, error) {
	const text = "first \"line\"\n\tsecond \\ 堰\n"
	patch := "*** Begin Patch\n*** Add File: made.txt\n+" + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n+") + "\n*** End Patch\n"
	quoted, err := json.Marshal(patch)
	if err != nil {
		return "", err
	}
	run, err := c.well(ctx, "call apply_patch "+string(quoted))
	if err != nil {
		return "", err
	}
	changed := run.of("file_change")
	if len(changed) != 1 || changed[0].Status != "completed" || len(changed[0].Changes) != 1 || changed[0].Changes[0].Kind != "add" {
		return "", fmt.Errorf("changes: %+v, it says %q", changed, run.said())
	}
	got, err := os.ReadFile(filepath.Join(c.work, "made.txt"))
	if err != nil {
		return "", err
	}
	sent, err := c.sent(via)
	if err != nil {
		return "", err
	}
	if len(sent) != 2 || !sent[0].has("custom", "apply_patch") || !strings.HasSuffix(sent[1].kinds(), "custom_tool_call_output") {
		return "", fmt.Errorf("%d requests, the last one with %s", len(sent), sent[len(sent)-1].kinds())
	}
	return "", harness.Expect("the file", string(got), text)
}

// codexNamespace has it start an agent, by a tool that stands in a namespace, and waits for the agent's own request.
func codexNamespace(ctx context.Context, c *codexClient, via codexTransport) (string, error) {
	run, err := c.well(ctx, `call spawn_agent {"message":"say from the agent"}`)
	if err != nil {
		return "", err
	}
	used := run.of("collab_tool_call")
	if len(used) != 1 || used[0].Tool != "spawn_agent" || used[0].Prompt != "say from the agent" || len(used[0].Spawned) != 1 || used[0].Status != "completed" {
		return "", fmt.Errorf("agents: %+v, it says %q", used, run.said())
	}
	sent, err := c.sent(via)
	if err != nil {
		return "", err
	}
	if len(sent) < 2 || !sent[0].has("namespace", "multi_agent_v1") {
		return "", fmt.Errorf("%d requests, the first with tools %v", len(sent), sent[0].Tools)
	}
	for i := range sent {
		if out := sent[i].outputs(); len(out) == 1 {
			return "", harness.Expect("the result names the agent", strings.Contains(out[0], used[0].Spawned[0]), true)
		}
	}
	return "", errors.New("no request has the result")
}

func codexParallel(ctx context.Context, c *codexClient, via codexTransport) (string, error) {
	one, two := newMark()+"-one", newMark()+"-two"
	run, err := c.well(ctx, fmt.Sprintf("call exec_command {\"cmd\":\"echo %s\"}\ncall exec_command {\"cmd\":\"echo %s\"}", one, two))
	if err != nil {
		return "", err
	}
	ran := run.of("command_execution")
	sent, err := c.sent(via)
	if err != nil {
		return "", err
	}
	if len(ran) != 2 || len(sent) != 2 {
		return "", fmt.Errorf("%d commands, %d requests", len(ran), len(sent))
	}
	printed := strings.TrimSpace(ran[0].Output) + " " + strings.TrimSpace(ran[1].Output)
	if printed != one+" "+two && printed != two+" "+one {
		return "", fmt.Errorf("printed: %q", printed)
	}
	results := sent[1].outputs()
	if len(results) != 2 || !strings.Contains(results[0], one) || !strings.Contains(results[1], two) {
		return "", fmt.Errorf("results: %q", results)
	}
	return "", nil
}

// codexResume goes on with a conversation in a second process, which sends all of it.
func codexResume(ctx context.Context, c *codexClient, via codexTransport) (string, error) {
	mark := newMark()
	first, err := c.well(ctx, `call exec_command {"cmd":"echo `+mark+`"}`)
	if err != nil {
		return "", err
	}
	if err := ranOnce(first, mark); err != nil {
		return "", err
	}
	second, err := c.well(ctx, "resume", "--last", "say and now "+mark)
	if err != nil {
		return "", fmt.Errorf("second turn: %w", err)
	}
	sent, err := c.sent(via)
	if err != nil {
		return "", err
	}
	if len(sent) != 3 || !strings.Contains(sent[2].kinds(), "user reasoning function_call function_call_output reasoning assistant") || sent[2].Input[len(sent[2].Input)-1].Role != "user" {
		return "", fmt.Errorf("%d requests, the last one with %s", len(sent), sent[len(sent)-1].kinds())
	}
	return "", errors.Join(harness.Expect("the thread", second.thread, first.thread), harness.Expect("text", second.said(), "and now "+mark))
}

// codexSchema wants an answer of a form.
func codexSchema(ctx context.Context, c *codexClient, via codexTransport) (string, error) {
	file := filepath.Join(c.home, "schema.json")
	schema := `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city","days"],"additionalProperties":false}`
	if err := harness.WriteWhole(file, []byte(schema)); err != nil {
		return "", err
	}
	run, err := c.well(ctx, "--output-schema", file, "Where, and for how long?")
	if err != nil {
		return "", err
	}
	var got struct {
		City *string `json:"city"`
		Days *int    `json:"days"`
	}
	d := json.NewDecoder(strings.NewReader(run.said()))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil || got.City == nil || got.Days == nil {
		return "", fmt.Errorf("the answer is %q: %w", run.said(), err)
	}
	return run.said(), nil
}

// codexCatalogue has it read /v1/models, and checks that it believed what stands there.
func codexCatalogue(ctx context.Context, c *codexClient, _ codexTransport) (string, error) {
	if _, err := c.well(ctx, "say hello"); err != nil {
		return "", err
	}
	lists := c.hop.Catalogues()
	if len(lists) != 1 || lists[0].Status != 200 {
		return "", fmt.Errorf("%d requests for the catalogue", len(lists))
	}
	var catalogue struct {
		Models []struct {
			Slug         string `json:"slug"`
			Instructions string `json:"base_instructions"`
		} `json:"models"`
	}
	if err := json.Unmarshal(lists[0].Answer, &catalogue); err != nil {
		return "", err
	}
	cached, err := os.ReadFile(filepath.Join(c.home, "models_cache.json"))
	if err != nil {
		return "", err
	}
	sent, err := c.posted()
	if err != nil {
		return "", err
	}
	for _, m := range catalogue.Models {
		if !bytes.Contains(cached, []byte(`"`+m.Slug+`"`)) {
			return "", fmt.Errorf("it did not take %s", m.Slug)
		}
		if m.Slug != c.model {
			continue
		}
		var content []struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(sent[0].Input[0].Content, &content); err != nil || len(content) != 1 {
			return "", fmt.Errorf("the first item is %s: %w", sent[0].Input[0].Content, err)
		}
		return fmt.Sprintf("%d models", len(catalogue.Models)), harness.Expect("instructions", content[0].Text, m.Instructions)
	}
	return "", fmt.Errorf("%s is not in the catalogue: %.300s", c.model, lists[0].Answer)
}

// codexToolSearch has it look for a tool that the prompt does not have yet, and use it in the next turn.
func codexToolSearch(ctx context.Context, c *codexClient, via codexTransport) (string, error) {
	if _, err := c.well(ctx, `call tool_search {"query":"spawn agent"}`); err != nil {
		return "", err
	}
	sent, err := c.sent(via)
	if err != nil {
		return "", err
	}
	if len(sent) != 2 || !strings.HasSuffix(sent[1].kinds(), "tool_search_output") || !strings.Contains(sent[1].outputs()[0], "spawn_agent") {
		return "", fmt.Errorf("%d requests, the last one with %s", len(sent), sent[len(sent)-1].kinds())
	}
	run, err := c.well(ctx, "resume", "--last", `call spawn_agent {"message":"say from the agent"}`)
	if err != nil {
		return "", fmt.Errorf("second turn: %w", err)
	}
	used := run.of("collab_tool_call")
	if len(used) != 1 || used[0].Tool != "spawn_agent" || len(used[0].Spawned) != 1 {
		return "", fmt.Errorf("agents: %+v, it says %q", used, run.said())
	}
	return "", nil
}
