package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

const (
	codexMaxBody     = 112 << 10
	maxMessageHeader = "X-Codex-Websocket-Max-Message-Bytes"
)

// codexGroup has a model whose engine says what a scenario wants, and takes bodies that are not much larger than what
// Codex sends of its own accord.
func codexGroup(d *enginetest.Double) *group {
	return &group{name: "codex-scripted", open: func(*stage) (string, func()) {
		engine := httptest.NewServer(d)
		server, model := fmt.Sprintf("max_body = \"%dB\"", codexMaxBody), "aliases = [\"gpt-*\"]\ncontext = 131072"
		return scriptedConfig(engine.URL, server, model), func() { engine.CloseClientConnections(); engine.Close() }
	}}
}

// codexPlainGroup takes no sockets.
func codexPlainGroup() *group {
	return &group{name: "codex-plain", open: func(*stage) (string, func()) {
		return "[server]\nshutdown_grace = \"5s\"\nwebsocket = false\n", nil
	}}
}

// codexTold is a turn whose engine is told what to say.
type codexTold func(ctx context.Context, d *enginetest.Double, c *codexClient, via codexTransport) (string, error)

func codexScriptedScenarios() []scenario {
	d := enginetest.NewDouble()
	g := codexGroup(d)
	var all []scenario
	add := func(via codexTransport, name string, o codexOptions, run codexTold) {
		if via == codexBuiltin {
			o.model = "gpt-5.5"
		}
		all = append(all, codexScenario(g, via, name, o, func(ctx context.Context, c *codexClient, via codexTransport) (string, error) {
			d.Requests() // of the scenario before
			return run(ctx, d, c, via)
		}))
	}
	impatient := codexOptions{provider: "stream_idle_timeout_ms = 2500"}
	for _, via := range []codexTransport{codexPosts, codexSocket} {
		add(via, "replay", codexOptions{}, codexReplay)
		add(via, "silence", impatient, codexSilence)
		add(via, "busy", codexOptions{}, codexBusy)
		add(via, "engine-breaks", codexOptions{}, codexBreaks)
		add(via, "overflow", codexOptions{}, codexOverflow)
	}
	small := codexOptions{top: "model_auto_compact_token_limit = 1000"}
	add(codexPosts, "compaction", small, codexCompaction)
	add(codexSocket, "compaction", small, codexCompaction)
	add(codexBuiltin, "replay", codexOptions{}, codexReplay)
	add(codexBuiltin, "compaction", small, codexCompaction)
	few := "request_max_retries = 1\nstream_max_retries = 1"
	add(codexSocket, "too-large", codexOptions{provider: few}, codexTooLarge)
	add(codexSocket, "too-large-unannounced", codexOptions{provider: few, hidden: []string{maxMessageHeader}}, codexTooLarge)
	add(codexSocket, "cut-late", codexOptions{meddle: cutAt(1, "response.output_text.delta")}, codexCutLate)
	all = append(all, scenario{name: "codex-builtin/restart", group: g, needs: needCodex, limit: 90 * time.Second, run: func(ctx context.Context, st *stage, _ *harness.Server) (string, error) {
		d.Requests()
		return codexRestart(ctx, st, d)
	}})
	return append(all, codexScenario(codexPlainGroup(), codexSocket, "refused", codexOptions{}, codexRefused))
}

// commandCall is how the scripted model calls Codex's shell.
func commandCall(mark string) string {
	return "<tool_call>\n{\"name\": \"exec_command\", \"arguments\": {\"cmd\": \"echo " + mark + "\"}}\n</tool_call>"
}

// codexReplay has the model think, call and answer: what it said must stand in the next prompt where it said it.
func codexReplay(ctx context.Context, d *enginetest.Double, c *codexClient, via codexTransport) (string, error) {
	mark := newMark()
	d.Play(enginetest.Script{Chunks: pieces("<think>\n" + thoughtOne + "\n</think>\n\nA moment.\n" + commandCall(mark))}, enginetest.Script{Chunks: pieces("<think>\n" + thoughtTwo + "\n</think>\n\nIt is done.")})
	run, err := c.well(ctx, "What does it print?")
	if err != nil {
		return "", err
	}
	if ran := run.of("command_execution"); len(ran) != 1 || strings.TrimSpace(ran[0].Output) != mark {
		return "", fmt.Errorf("commands: %+v", ran)
	}
	if _, err := c.sent(via); err != nil {
		return "", err
	}
	prompts, err := promptsOf(d, 2)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(prompts[1], prompts[0]) {
		err = fmt.Errorf("the second prompt does not begin with the first: they differ at %q", prompts[1][common(prompts[0], prompts[1]):])
	}
	added := strings.TrimPrefix(prompts[1], prompts[0])
	return "", errors.Join(err, inOrder(added, thoughtOne, "A moment.", `"cmd": "echo `+mark+`"`, "Output:\n"+mark), harness.Expect("text", run.said(), "It is done."))
}

// common is how many bytes two texts begin with alike.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// codexSilence has an engine that is silent for longer than Codex waits for an event.
func codexSilence(ctx context.Context, d *enginetest.Double, c *codexClient, via codexTransport) (string, error) {
	d.Play(enginetest.Script{Chunks: enginetest.Say("At last."), Pause: 3500 * time.Millisecond})
	run, err := c.well(ctx, "Take your time.")
	if err != nil {
		return "", err
	}
	sent, err := c.sent(via)
	return "", errors.Join(err, harness.Expect("requests", len(sent), 1), harness.Expect("text", run.said(), "At last."))
}

// codexCutLate loses the socket after the reasoning of an answer was told as done: Codex sends that back, and the model
// goes on from there.
func codexCutLate(ctx context.Context, d *enginetest.Double, c *codexClient, _ codexTransport) (string, error) {
	mark := newMark()
	d.Play(enginetest.Script{Chunks: pieces("<think>\n" + thoughtOne + "\n</think>\n\n" + commandCall(mark))}, enginetest.Script{Chunks: pieces("<think>\n" + thoughtTwo + "\n</think>\n\nIt is")},
		enginetest.Script{Chunks: pieces("It is done.")})
	run, err := c.exec(ctx, "What does it print?")
	if err != nil || run.failed != "" {
		return "", errors.Join(err, fmt.Errorf("failed: %q", run.failed))
	}
	prompts, err := promptsOf(d, 3)
	if err != nil {
		return "", err
	}
	return strings.Join(run.errors, "; "), errors.Join(inOrder(prompts[2], "What does it print?", thoughtOne, "Output:\n"+mark, thoughtTwo), harness.Expect("text", run.said(), "It is done."),
		harness.Expect("commands", len(run.of("command_execution")), 1), harness.Expect("sockets", len(c.hop.Sockets()), 2))
}

// codexBusy has an engine that is busy first.
func codexBusy(ctx context.Context, d *enginetest.Double, c *codexClient, via codexTransport) (string, error) {
	d.Play(enginetest.Script{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}, Body: `{"error":{"message":"slow down"}}`}, enginetest.Script{Chunks: pieces("Now.")})
	begun := time.Now()
	run, err := c.exec(ctx, "Are you there?")
	if err != nil || run.failed != "" {
		return "", errors.Join(err, fmt.Errorf("failed: %q", run.failed))
	}
	if took := time.Since(begun); took < time.Second {
		err = fmt.Errorf("it came back after %v", took)
	}
	if via == codexSocket {
		frames := errorFrames(c)
		if len(frames) != 1 || frames[0].Status != http.StatusTooManyRequests || frames[0].Headers["retry-after"] != "1" || frames[0].Error.Message == "" {
			err = errors.Join(err, fmt.Errorf("the frames that say so: %+v", frames))
		}
	}
	return strings.Join(run.errors, "; "), errors.Join(err, harness.Expect("requests at the engine", len(d.Requests()), 2), harness.Expect("text", run.said(), "Now."))
}

// codexBreaks has an engine that breaks off in the middle of an answer.
func codexBreaks(ctx context.Context, d *enginetest.Double, c *codexClient, _ codexTransport) (string, error) {
	d.Play(enginetest.Script{Chunks: pieces("This is where it ends."), Fault: enginetest.FaultReset, At: 3}, enginetest.Script{Chunks: pieces("Whole.")})
	run, err := c.exec(ctx, "Go on.")
	if err != nil || run.failed != "" {
		return "", errors.Join(err, fmt.Errorf("failed: %q", run.failed))
	}
	return strings.Join(run.errors, "; "), errors.Join(harness.Expect("requests at the engine", len(d.Requests()), 2), harness.Expect("text", run.said(), "Whole."))
}

// codexOverflow has an engine whose window is too small: Codex knows what to make of that.
func codexOverflow(ctx context.Context, d *enginetest.Double, c *codexClient, _ codexTransport) (string, error) {
	d.Play(enginetest.Script{Window: 100, Chunks: pieces("Never.")})
	run, err := c.exec(ctx, "Hello")
	if err != nil {
		return "", err
	}
	if !strings.Contains(run.failed, "ran out of room in the model's context window") {
		return "", fmt.Errorf("the turn failed with %q", run.failed)
	}
	return "", harness.Expect("requests at the engine", len(d.Requests()), 1)
}

const compactSummary = "So far: the mark was printed & <kept>."

// codexCompaction has a conversation grow beyond what Codex wants to send: it is compacted in the middle of a turn, with
// Codex's own prompt, or on its built-in provider as an item that the gateway makes.
func codexCompaction(ctx context.Context, d *enginetest.Double, c *codexClient, via codexTransport) (string, error) {
	mark := newMark()
	d.Play(enginetest.Script{Chunks: pieces("<think>\n" + thoughtOne + "\n</think>\n\n" + commandCall(mark))}, enginetest.Script{Chunks: pieces("<think>\n" + thoughtTwo + "\n</think>\n\n" + compactSummary)}, enginetest.Script{Chunks: pieces("<think>\nHm.\n</think>\n\nIt is done.")})
	run, err := c.exec(ctx, "What does it print?")
	if err != nil || run.failed != "" {
		return "", errors.Join(err, fmt.Errorf("failed: %q", run.failed))
	}
	prompts, err := promptsOf(d, 3)
	if err != nil {
		return "", err
	}
	sent, err := c.sent(via)
	if err != nil {
		return "", err
	}
	if len(sent) != 3 {
		return "", fmt.Errorf("%d requests", len(sent))
	}
	err = errors.Join(inOrder(prompts[1], "What does it print?", "Output:\n"+mark), inOrder(prompts[2], "What does it print?", compactSummary), harness.Expect("text", run.said(), "It is done."),
		harness.Expect("the last request goes on with", sent[2].Previous, ""))
	if strings.Contains(prompts[2], thoughtOne) || strings.Contains(prompts[2], thoughtTwo) || strings.Contains(prompts[2], "Wall time") {
		err = errors.Join(err, errors.New("what was compacted is in the prompt"))
	}
	trigger := strings.HasSuffix(sent[1].kinds(), " compaction_trigger")
	if err = errors.Join(err, harness.Expect("the gateway is to compact", trigger, via == codexBuiltin)); err != nil || !trigger {
		return "", err
	}
	for i := range sent[2].Input {
		item := &sent[2].Input[i]
		if item.Type == "compaction" && item.Sealed != "" && !strings.Contains(item.Sealed, "mark") {
			return "", nil
		}
	}
	return "", fmt.Errorf("no sealed compaction in the last request: %s", sent[2].kinds())
}

// codexRestart has a conversation compacted by the gateway and resumed when that was started again: what Codex kept
// sealed must still be read.
func codexRestart(ctx context.Context, st *stage, d *enginetest.Double) (string, error) {
	const name = "codex-restarted"
	config, closing := codexGroup(d).open(st)
	defer closing()
	srv, err := st.start(ctx, name, config)
	if err != nil {
		return "", err
	}
	c, done, err := newCodex(ctx, st, srv, codexBuiltin, "restart", codexOptions{model: "gpt-5.5", top: "model_auto_compact_token_limit = 1000"})
	if err != nil {
		_, stopErr := srv.Stop()
		return "", errors.Join(err, stopErr)
	}
	defer done()
	_, err = codexCompaction(ctx, d, c, codexBuiltin)
	if _, stopErr := srv.Stop(); err != nil || stopErr != nil {
		return "", errors.Join(err, stopErr)
	}
	if srv, err = st.start(ctx, name, config); err != nil {
		return "", err
	}
	d.Play(enginetest.Script{Chunks: pieces("A second summary.")}, enginetest.Script{Chunks: pieces("As I said.")})
	err = c.hop.Point(srv.URL)
	var run *codexRun
	if err == nil {
		run, err = c.exec(ctx, "resume", "--last", "What did you say?")
	}
	if _, stopErr := srv.Stop(); err != nil || stopErr != nil {
		return "", errors.Join(err, stopErr)
	}
	prompts, err := promptsOf(d, 2) // it is over the limit again, so that it is compacted first
	if err != nil {
		return "", err
	}
	return "", errors.Join(inOrder(prompts[0], compactSummary), inOrder(prompts[1], "A second summary.", "What did you say?"), harness.Expect("text", run.said(), "As I said."))
}

// codexTooLarge sends more than the gateway takes. Where Codex knows the limit it does not try the socket; where it does
// not, the socket is closed with 1009. Over HTTP it is told what is wrong.
func codexTooLarge(ctx context.Context, d *enginetest.Double, c *codexClient, _ codexTransport) (string, error) {
	d.Play(enginetest.Script{Chunks: pieces("Never.")})
	run, err := c.exec(ctx, "Read this: "+strings.Repeat("word ", 23_000))
	if err != nil {
		return "", err
	}
	closed := 0
	announced := true
	for _, s := range c.hop.Sockets() {
		announced = announced && s.Answer.Get(maxMessageHeader) == strconv.Itoa(codexMaxBody)
		for _, m := range s.Messages {
			if m.FromServer && m.Close != 0 {
				closed = m.Close
			}
		}
	}
	want := 0
	if c.hidden {
		want = 1009
	}
	refused := 0
	for _, r := range c.hop.Requests() {
		if r.Method != http.MethodPost {
			continue
		}
		refused++
		var body struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(r.Answer, &body) != nil || body.Error.Message == "" || r.Status != http.StatusRequestEntityTooLarge {
			err = errors.Join(err, fmt.Errorf("over HTTP: status %d: %.300s", r.Status, r.Answer))
		}
	}
	if run.failed == "" || refused == 0 {
		err = errors.Join(err, fmt.Errorf("the turn failed with %q after %d requests over HTTP", run.failed, refused))
	}
	return run.failed, errors.Join(err, harness.Expect("the limit is announced", announced, true), harness.Expect("the socket was closed with", closed, want),
		harness.Expect("requests at the engine", len(d.Requests()), 0))
}

// codexRefused wants a socket where there is none: it goes on over HTTP without a word.
func codexRefused(ctx context.Context, c *codexClient, _ codexTransport) (string, error) {
	c.complaint = "failed to connect to Responses WebSocket" // in its log, not on its output
	note, err := codexExec(ctx, c, codexPosts)
	if err != nil {
		return "", err
	}
	for _, r := range c.hop.Requests() {
		if r.Header.Get("Upgrade") != "" {
			return note, harness.Expect("status", r.Status, http.StatusUpgradeRequired)
		}
	}
	return "", errors.New("it asked for no socket")
}
