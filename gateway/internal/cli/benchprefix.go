package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weirgate/weir/gateway"
)

// The pace of the published run, which the simulated engine is given: a prompt of 52,000 tokens on a B200 node,
// 168 ms to the first token with a stable prefix and 912 with a header that varies. So 745 ms are the prefill
// of 52,000 tokens, and the rest is what each turn takes.
const (
	publishedTokens = 52_000
	publishedPace   = `prefill_tps = 69800
overhead = "167ms"
token_time = "7ms"`
	// reasonedTokens lie behind the reasoning that the published run changes: 155 ms more at that pace.
	reasonedTokens = 10_800
)

// prefixRow is one line of the table. Times are milliseconds to the first token.
type prefixRow struct {
	Case      string  `json:"case"`
	TTFT      float64 `json:"ttft_ms"`
	Published float64 `json:"published_ms"`
	Prefix    string  `json:"x_weir_prefix"`
	Cached    int     `json:"cached_tokens"`
	Input     int     `json:"input_tokens"`
}

// benchPrefix is `weir bench prefix`.
func benchPrefix(ctx context.Context, e Env, fs *flag.FlagSet) int {
	asJSON := fs.Bool("json", false, "print JSON")
	tokens := fs.Int("tokens", publishedTokens, "tokens of the prompt")
	if code, ok := parse(e, fs); !ok {
		return code
	}
	if fs.NArg() > 0 || *tokens < 2*reasonedTokens || *tokens > 120_000 {
		fmt.Fprintf(e.Stderr, "weir bench prefix: want no argument and %d to 120000 tokens\n", 2*reasonedTokens)
		return exitMisuse
	}
	rows, err := prefixRows(ctx, *tokens)
	if err != nil {
		fmt.Fprintf(e.Stderr, "weir bench prefix: %v\n", err)
		return exitFound
	}
	if *asJSON {
		printJSON(e.Stdout, map[string]any{"engine": "simulated, at the pace of the published run", "published": "NVIDIA Dynamo, agentic inference on B200, prompt of 52K tokens", "rows": rows})
		return exitOK
	}
	fmt.Fprintf(e.Stdout, "Time to the first token, prompt of %d tokens; simulated engine at the pace of the published run\n(NVIDIA Dynamo, agentic inference on B200, 52K tokens).\n\n", *tokens)
	w := tabwriter.NewWriter(e.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "case\tms\tpublished ms\tcached\tof\tx-weir-prefix")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%d\t%d\t%s\n", r.Case, r.TTFT, r.Published, r.Cached, r.Input, r.Prefix)
	}
	if err := w.Flush(); err != nil {
		return exitFound
	}
	return exitOK
}

// prefixRows serves a gateway on loopback and measures it as a client.
func prefixRows(ctx context.Context, tokens int) ([]prefixRow, error) {
	dir, err := os.MkdirTemp("", "weir-bench-prefix")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing depends on it
	file := filepath.Join(dir, "weir.toml")
	config := "[engines.sim]\nkind = \"sim\"\n" + publishedPace + `
[[models]]
id = "bench"
engines = ["sim"]
family = "qwen3"
reasoning = "qwen3"
tools = "hermes"
policy = "keep_all"
context = 262144

[[tenants]]
name = "bench"
any_key = true
strip_preamble = %v
`
	var rows []prefixRow
	for _, strip := range []bool{false, true} {
		if err := os.WriteFile(file, fmt.Appendf(nil, config, strip), 0o600); err != nil {
			return nil, err
		}
		more, err := prefixSide(ctx, file, tokens, strip)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// prefixSide measures what can be told with one setting of the tenant.
func prefixSide(ctx context.Context, file string, tokens int, strip bool) ([]prefixRow, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, err := gateway.New(ctx, gateway.Options{ConfigFile: file, Admin: "off"})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := &http.Server{Handler: g.Handler(), ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln) // it ends because it is closed
	}()
	defer func() {
		_ = srv.Close()
		<-done
	}()
	p := &prefixClient{url: "http://" + ln.Addr().String()}
	manual, err := p.filler(ctx, tokens-200)
	if err != nil {
		return nil, err
	}
	if !strip {
		stable, err := p.header(ctx, "stable header", 168, manual, false)
		if err != nil {
			return nil, err
		}
		varying, err := p.header(ctx, "varying header", 912, manual, true)
		if err != nil {
			return nil, err
		}
		return []prefixRow{stable, varying}, nil
	}
	stripped, err := p.header(ctx, "varying header, stripped", 169, manual, true)
	if err != nil {
		return nil, err
	}
	kept, err := p.reasoning(ctx, "reasoning kept", 167, tokens, false)
	if err != nil {
		return nil, err
	}
	mutated, err := p.reasoning(ctx, "reasoning mutated", 322, tokens, true)
	if err != nil {
		return nil, err
	}
	return []prefixRow{stripped, kept, mutated}, nil
}

// prefixClient speaks the messages surface, as the client does whose header varies.
type prefixClient struct{ url string }

// object is a JSON object; its members are written in the order of their names.
type object = map[string]any

func text(s string) object { return object{"type": "text", "text": s} }

// filler is prose of about n tokens, as the model counts.
func (p *prefixClient) filler(ctx context.Context, n int) (string, error) {
	var b strings.Builder
	lines, have := 0, 0
	for range 3 { // lines grow with their numbers, so the first guess is short of it
		for want := max(64, lines*n/max(have, 1)); lines < want; lines++ {
			fmt.Fprintf(&b, "Rule %d: keep the gate at %d and write down what flows over it.\n", lines, lines*7%1000)
		}
		var err error
		if have, err = p.count(ctx, b.String()); err != nil {
			return "", err
		}
		if have >= n {
			break
		}
	}
	return b.String()[:min(b.Len(), b.Len()*n/have)], nil
}

// count asks for the tokens of a prompt with this text.
func (p *prefixClient) count(ctx context.Context, text string) (int, error) {
	var counted struct {
		Tokens int `json:"input_tokens"`
	}
	res, err := p.post(ctx, "/v1/messages/count_tokens", object{"model": "bench", "messages": []object{{"role": "user", "content": text}}})
	if err != nil {
		return 0, err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	if err := json.NewDecoder(res.Body).Decode(&counted); err != nil {
		return 0, err
	}
	if counted.Tokens == 0 {
		return 0, errors.New("a prompt of no tokens")
	}
	return counted.Tokens, nil
}

// header runs two sessions one after the other whose system prompts are the same but for the line in front, and
// tells of the second.
func (p *prefixClient) header(ctx context.Context, name string, published float64, manual string, varies bool) (prefixRow, error) {
	row := prefixRow{Case: name, Published: published}
	for turn := range 2 {
		stamp := 1
		if varies {
			stamp += turn
		}
		body := object{
			"model": "bench", "max_tokens": 4, "stream": true,
			"system":   []object{text(fmt.Sprintf("x-anthropic-billing-header: cc_version=2.1.0.%03x; cc_entrypoint=cli;", stamp)), text(name + "\n" + manual)},
			"messages": []object{{"role": "user", "content": "What does rule 12 say?"}},
			"metadata": object{"user_id": "bench-" + name},
		}
		if _, err := p.turn(ctx, body, &row); err != nil {
			return row, err
		}
	}
	return row, nil
}

// reasoning runs a conversation of three turns, and tells of the third: with the reasoning of the first one as the
// model wrote it, or changed.
func (p *prefixClient) reasoning(ctx context.Context, name string, published float64, tokens int, mutate bool) (prefixRow, error) {
	row := prefixRow{Case: name, Published: published}
	manual, err := p.filler(ctx, tokens-reasonedTokens-600)
	if err != nil {
		return row, err
	}
	report, err := p.filler(ctx, reasonedTokens)
	if err != nil {
		return row, err
	}
	ask := object{"role": "user", "content": "How high is the water? call read_gauge {\"gate\": 12}"}
	body := object{
		"model": "bench", "max_tokens": 2000, "stream": true, "thinking": object{"type": "enabled", "budget_tokens": 1024},
		"system": name + "\n" + manual, "metadata": object{"user_id": "bench-" + name},
		"tools": []object{{"name": "read_gauge", "description": "reads a gauge", "input_schema": object{"type": "object", "properties": object{"gate": object{"type": "integer"}}}}},
	}
	messages := []object{ask}
	for turn := range 3 {
		if turn == 2 && mutate {
			for _, block := range messages[1]["content"].([]object) {
				if thought, ok := block["thinking"].(string); ok {
					block["thinking"] = "In short: " + thought
				}
			}
		}
		body["messages"] = messages
		blocks, err := p.turn(ctx, body, &row)
		if err != nil {
			return row, err
		}
		messages = append(messages, object{"role": "assistant", "content": blocks})
		next := ask
		for _, block := range blocks {
			if block["type"] == "tool_use" {
				next = object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": block["id"], "content": report}}}
			}
		}
		messages = append(messages, next)
	}
	return row, nil
}

func (p *prefixClient) post(ctx context.Context, path string, body object) (*http.Response, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", "bench")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close() //nolint:errcheck // the answer is an error already
		told, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return nil, fmt.Errorf("%s: status %d: %s", path, res.StatusCode, told)
	}
	return res, nil
}

// streamEvent is what is read of an event.
type streamEvent struct {
	Type  string `json:"type"`
	Block object `json:"content_block"`
	Delta struct {
		Text, Thinking, Signature string
		Partial                   string `json:"partial_json"`
	} `json:"delta"`
	Usage struct {
		Input int `json:"input_tokens"`
		Read  int `json:"cache_read_input_tokens"`
	} `json:"usage"`
}

// turn streams one turn and notes when its first token came, and what weir and the engine say of the prompt. It
// returns the answer's blocks as a client sends them back.
func (p *prefixClient) turn(ctx context.Context, body object, row *prefixRow) ([]object, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	res, err := p.post(ctx, "/v1/messages", body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // see cancel
	row.Prefix, row.TTFT = res.Header.Get("X-Weir-Prefix"), 0
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var blocks []object
	input := ""
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var ev streamEvent
		if err := json.Unmarshal(data, &ev); err != nil {
			return nil, err
		}
		switch ev.Type {
		case "content_block_start":
			blocks, input = append(blocks, ev.Block), ""
		case "content_block_delta":
			if row.TTFT == 0 {
				row.TTFT = float64(time.Since(began).Microseconds()) / 1000
			}
			last := blocks[len(blocks)-1]
			for member, piece := range map[string]string{"text": ev.Delta.Text, "thinking": ev.Delta.Thinking, "signature": ev.Delta.Signature} {
				if piece != "" {
					said, _ := last[member].(string)
					last[member] = said + piece
				}
			}
			input += ev.Delta.Partial
		case "content_block_stop":
			if last := blocks[len(blocks)-1]; input != "" {
				last["input"] = json.RawMessage(input)
			}
		case "message_delta":
			row.Cached, row.Input = ev.Usage.Read, ev.Usage.Input+ev.Usage.Read
		case "message_stop":
			if row.TTFT == 0 {
				return nil, errors.New("a turn without a token")
			}
			return blocks, nil
		case "error":
			return nil, fmt.Errorf("in the stream: %s", data)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.ErrUnexpectedEOF
}
