package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/engines/enginetest"
)

// boundary is a place in an interleaved turn where its engine may fail.
type boundary struct {
	name   string
	before bool   // the engine's headers
	at     int    // chunks that came
	blocks string // what the client has by then
}

// faultTurn is a turn that thinks, speaks, calls, thinks again where its engine can say so, and calls again. Its chunks
// are cut where the boundaries are.
type faultTurn struct {
	model      string
	chunks     []enginetest.Chunk
	boundaries []boundary
}

const (
	thoughtFirst = `reasoning "First I look."`
	saidFirst    = thoughtFirst + ` | text "Let me see.`
	calledFirst  = saidFirst + `" | call fetch"{\"t\": \"half\"}"`
)

// writtenTurn is of a model whose text the gateway parses.
func writtenTurn() faultTurn {
	const again = calledFirst + ` | reasoning "Once more."`
	return faultTurn{
		model: "double",
		chunks: enginetest.Say(
			"<think>\nFirst", " I look.\n</think>\n\n", "Let me", " see.\n<tool_call>\n", `{"name": "fe`, `tch", "arguments": {"t": "ha`,
			"lf\"}}\n</tool_call>", "\n<think>\nOnce", " more.\n</think>\n\n", "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"a\": 2}}\n</tool_call>",
		),
		boundaries: []boundary{
			{name: "before the headers", before: true},
			{name: "after the headers"},
			{name: "inside reasoning", at: 1, blocks: `reasoning "First"`},
			{name: "between reasoning and text", at: 2, blocks: thoughtFirst},
			{name: "inside text", at: 3, blocks: thoughtFirst + ` | text "Let me"`},
			{name: "inside a call's opening", at: 4, blocks: saidFirst + `\n<tool_call>\n"`},
			{name: "inside a call's name", at: 5, blocks: saidFirst + `\n<tool_call>\n{\"name\": \"fe"`},
			{name: "inside arguments", at: 6, blocks: saidFirst + `" | call fetch"{\"t\": \"ha"`},
			{name: "after a call", at: 7, blocks: calledFirst},
			{name: "inside the second reasoning", at: 8, blocks: calledFirst + ` | reasoning "Once"`},
			{name: "between reasoning and a call", at: 9, blocks: again},
			{name: "before the finish", at: 10, blocks: again + ` | call look"{\"a\": 2}"`},
		},
	}
}

// parsedTurn is of an engine that parses, and says a call's name before its arguments.
func parsedTurn() faultTurn {
	call := func(index int, id, name, args string) enginetest.Chunk {
		return enginetest.Chunk{Call: &enginetest.Call{Index: index, ID: id, Name: name, Args: args}}
	}
	return faultTurn{
		model: "parsed",
		chunks: []enginetest.Chunk{
			{Reasoning: "First"},
			{Reasoning: " I look."},
			{Text: "Let me"},
			{Text: " see."},
			call(0, "call_1", "fetch", ""), call(0, "", "", `{"t": "ha`), call(0, "", "", `lf"}`), call(1, "call_2", "look", ""), call(1, "", "", `{"a": 2}`),
		},
		boundaries: []boundary{
			{name: "before the headers", before: true},
			{name: "after the headers"},
			{name: "inside reasoning", at: 1, blocks: `reasoning "First"`},
			{name: "between reasoning and text", at: 2, blocks: thoughtFirst},
			{name: "inside text", at: 3, blocks: thoughtFirst + ` | text "Let me"`},
			{name: "between text and a call", at: 4, blocks: saidFirst + `"`},
			{name: "before arguments", at: 5, blocks: saidFirst + `{\"name\": \"fetch\", \"arguments\": "`},
			{name: "inside arguments", at: 6, blocks: saidFirst + `" | call fetch"{\"t\": \"ha"`},
			{name: "after a call", at: 7, blocks: calledFirst},
			{name: "before the second arguments", at: 8, blocks: calledFirst + ` | text "{\"name\": \"look\", \"arguments\": "`},
			{name: "before the finish", at: 9, blocks: calledFirst + ` | call look"{\"a\": 2}"`},
		},
	}
}

// failure is a way in which an engine fails at a boundary.
type failure struct {
	name  string
	fault enginetest.Fault
	hangs bool // the engine stays until it is left
	whole want // of an answer that is not streamed, and of a stream that has not begun
	early want // the same, before the engine's headers
}

func failures() []failure {
	broken := want{status: 502, chatType: "server_error", code: "engine_error", messagesType: "api_error"}
	internal := want{status: 500, chatType: "server_error", code: "engine_error", messagesType: "api_error"}
	gone := want{status: 503, chatType: "server_error", code: "engine_unavailable", messagesType: "api_error"}
	silent := want{status: 504, chatType: "server_error", code: "timeout", messagesType: "timeout_error", text: "sent nothing"}
	return []failure{
		{name: "cut", fault: enginetest.FaultReset, whole: broken, early: gone},
		{name: "end", fault: enginetest.FaultEnd, whole: broken, early: gone},
		{name: "half a line", fault: enginetest.FaultLine, whole: broken, early: gone},
		{name: "stall", fault: enginetest.FaultStall, hangs: true, whole: silent, early: silent},
		{name: "error", fault: enginetest.FaultError, hangs: true, whole: broken, early: internal},
	}
}

// faulty is an engine of one case: it fails, and then answers as it should when it is asked to.
type faulty struct {
	*enginetest.Double
	b    boundary
	f    failure
	left chan struct{} // gets a value for each request that was left
}

func newFaulty(turn faultTurn, b boundary, f failure) *faulty {
	return &faulty{Double: enginetest.NewDouble(enginetest.Script{Chunks: turn.chunks, Fault: f.fault, At: b.at, NoDone: true}), b: b, f: f, left: make(chan struct{}, 16)}
}

// ServeHTTP answers a prompt, or fails.
func (e *faulty) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	switch {
	case !e.b.before:
		e.Double.ServeHTTP(rw, r)
	case e.f.fault == enginetest.FaultError:
		http.Error(rw, `{"error":{"message":"out of memory"}}`, http.StatusInternalServerError)
		return
	case !e.f.hangs:
		panic(http.ErrAbortHandler)
	}
	if e.f.hangs {
		<-r.Context().Done()
		e.left <- struct{}{}
	}
}

// TestFaultAtEveryBoundary has an engine fail in each way at each boundary of a turn, for each kind of
// client: what came is delivered, the turn ends by the surface's grammar with an error in-band, the
// engine's request is cancelled, and the next turn works.
func TestFaultAtEveryBoundary(t *testing.T) {
	t.Parallel()
	var cases []*faultCase
	engines := map[string]*faulty{}
	for _, turn := range []faultTurn{writtenTurn(), parsedTurn()} {
		for _, b := range turn.boundaries {
			for _, f := range failures() {
				for _, s := range faultSurfaces() {
					for _, way := range []string{"streamed", "whole", "socket"} {
						c := &faultCase{model: turn.model, way: way, s: s, b: b, f: f, e: newFaulty(turn, b, f)}
						c.name = strings.ReplaceAll(strings.Join([]string{turn.model, s.name, way, f.name, b.name}, "/"), " ", "_")
						engines[c.name] = c.e
						cases = append(cases, c)
					}
				}
			}
		}
	}
	w := faultWorld(t, engines)
	// Those with an engine that stalls wait more than they compute, so more of them run than a machine has processors.
	var all sync.WaitGroup
	busy, waiting := make(chan struct{}, 4), make(chan struct{}, 48)
	for _, c := range cases {
		slots := busy
		if c.f.fault == enginetest.FaultStall {
			slots = waiting
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			t.Run(c.name, func(t *testing.T) {
				w := *w
				w.tb, c.t, c.w = t, t, &w
				c.run()
			})
		})
	}
	all.Wait()
}

// faultWorld has an engine for each case, which a request chooses by what its prompt says, and one for all else.
func faultWorld(t *testing.T, engines map[string]*faulty) *world {
	t.Helper()
	written := enginetest.NewDouble(enginetest.Script{Chunks: enginetest.Say("<think>\nFine", ".\n</think>\n\n", "All", " good.")})
	parsed := enginetest.NewDouble(enginetest.Script{Chunks: []enginetest.Chunk{{Reasoning: "Fine"}, {Reasoning: "."}, {Text: "All good."}}})
	w := start(t, options{server: `keepalive = "1m"`, wrap: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(raw))
			_, name, _ := bytes.Cut(raw, []byte("case:"))
			name, _, _ = bytes.Cut(name, []byte(";"))
			switch e := engines[string(name)]; {
			case e != nil:
				e.ServeHTTP(rw, r)
			case strings.HasSuffix(r.URL.Path, "/chat/completions"):
				parsed.ServeHTTP(rw, r)
			default:
				written.ServeHTTP(rw, r)
			}
		})
	}})
	config, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	// Engines that stall have the same model under another name: how long one may be silent is their business alone.
	const parsing = "kind = \"openai\"\nmode = \"chat\"\nstructured = true\n"
	url := fmt.Sprintf("url = %q\n", w.engine)
	w.write(string(config) + "\n[engines.parsed]\n" + parsing + url + "[engines.parsed_stalls]\n" + parsing + url + stallTimeout +
		"[engines.double_stalls]\nkind = \"openai\"\n" + url + stallTimeout +
		"[[models]]\nid = \"parsed\"\nengines = [\"parsed\"]\n[[models]]\nid = \"parsed_stalls\"\nengines = [\"parsed_stalls\"]\n" +
		"[[models]]\nid = \"double_stalls\"\nengines = [\"double_stalls\"]\nfamily = \"qwen3\"\nreasoning = \"qwen3\"\ntools = \"hermes\"\n")
	if err := w.gw.Reload(); err != nil {
		t.Fatal(err)
	}
	return w
}

// stallTimeout is longer than a busy machine makes an engine wait that does not stall.
const stallTimeout = "idle_timeout = \"5s\"\n"

func faultSurfaces() []surface { return []surface{chat(), messages(), responses()} }

// faultCase is one turn of one client.
type faultCase struct {
	t          *testing.T
	w          *world
	name       string
	model, way string // way is how the client asks
	s          surface
	b          boundary
	f          failure
	e          *faulty
}

func (c *faultCase) run() {
	t := c.t
	t.Helper()
	body := func(model, text string, more ...string) string {
		return c.s.body(model, text, append(more, thinks, c.s.tools("fetch", "look"))...)
	}
	fails, model := "case:"+c.name+";", c.model
	if c.f.fault == enginetest.FaultStall {
		model += "_stalls"
	}
	switch c.way {
	case "whole":
		resp, b := c.w.post(c.s.path, body(model, fails))
		c.status(c.s.refusal(t, resp.StatusCode, b))
		c.cancelled()
		resp, b = c.w.post(c.s.path, body(c.model, "and now?"))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("the next turn: status %d: %s", resp.StatusCode, b)
		}
		c.next(c.s.whole(t, b))
	case "streamed":
		resp := c.w.send(c.w.request(http.MethodPost, c.s.path, body(model, fails, streamed)))
		if resp.StatusCode != http.StatusOK {
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			c.status(c.s.refusal(t, resp.StatusCode, b))
		} else {
			c.inBand(c.s.read(t, newStream(t, resp).rest()))
		}
		c.cancelled()
		c.next(c.w.ask(c.s, body(c.model, "and now?", streamed)))
	case "socket":
		k := c.w.dial(c.s.path)
		k.request("1", body(model, fails))
		c.inBand(c.s.read(t, k.turn("1")))
		c.cancelled()
		k.request("2", body(c.model, "and now?"))
		c.next(c.s.read(t, k.turn("2")))
	}
}

// status checks an answer that is an error as a whole. A stream may only answer so before it has begun.
func (c *faultCase) status(got refusal) {
	c.t.Helper()
	if c.b.before {
		c.f.early.check(c.t, c.s, got)
		return
	}
	c.f.whole.check(c.t, c.s, got)
}

// inBand checks a turn that ended with an error in its stream.
func (c *faultCase) inBand(a answer) {
	c.t.Helper()
	if got := plain(a.Blocks); got != c.b.blocks {
		c.t.Errorf("got %s\nwant %s", got, c.b.blocks)
	}
	if a.Fault == nil || a.Finish != "" || len(a.Dispatched) != 0 {
		c.t.Fatalf("fault %v, finish %q", a.Fault, a.Finish)
	}
	a.Fault.Status = 0 // a socket may tell it
	expect := c.f.whole
	if c.b.before {
		expect = c.f.early
	}
	expect.status, expect.messages = 0, 0
	if c.s.name == "responses" && !c.refused(*a.Fault) { // an answer that failed has no more than a code
		expect.chatType, expect.code = "", "server_error"
	}
	expect.check(c.t, c.s, *a.Fault)
}

// refused reports whether an error stands for an answer that never began, as a message of its own on a socket.
func (c *faultCase) refused(got refusal) bool { return c.way == "socket" && got.Type != "" }

// cancelled waits until an engine that hangs was left.
func (c *faultCase) cancelled() {
	c.t.Helper()
	if !c.f.hangs || c.b.before && c.f.fault == enginetest.FaultError {
		return
	}
	select {
	case <-c.e.left:
	case <-time.After(patience):
		c.t.Fatal("the engine's request was not cancelled")
	}
}

// next checks the turn after the one that failed.
func (c *faultCase) next(a answer) {
	c.t.Helper()
	if got, want := plain(a.Blocks), fmt.Sprintf("reasoning %q | text %q", "Fine.", "All good."); got != want || a.Fault != nil || a.Finish != c.s.stop {
		c.t.Errorf("the next turn: %s, %+v\nwant %s", got, a.Fault, want)
	}
}
