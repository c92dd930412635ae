package gateway_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/plan"
	wasm "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// templatePlugin is a hand-made plugin whose plan or prompt is always the same; nil makes that export trap.
func templatePlugin(name, version, export string, answer []byte) []byte {
	const desc, manifestAt, answerAt, in, room = 0x100, 0x400, 0x1000, 0x10000, 0x10000
	const i, l = "\x7f", "\x7e"
	m := &wasm.Module{}
	one := m.Type(nil, []byte(i))
	open := m.Type([]byte(i), []byte(i))
	call := m.Type([]byte(i), []byte(l))
	m.Export(abi.ExportDescribe, wasm.Func, m.Func(one, nil, wasm.I32Const(desc)))
	m.Export(abi.ExportOpen, wasm.Func, m.Func(open, nil, wasm.I32Const(0)))
	code := wasm.Unreachable
	if answer != nil {
		code = wasm.I64Const(answerAt<<32 | int64(len(answer)))
	}
	m.Export(export, wasm.Func, m.Func(call, nil, code))
	m.Memory(3)
	m.Export(abi.ExportMemory, wasm.Memory, 0)
	manifest := `{"name": "` + name + `", "version": "` + version + `", "abi": 1, "kinds": ["template"]`
	if export == abi.ExportRender {
		manifest += `, "renderers": ["` + name + `"]`
	}
	manifest += "}"
	var d []byte
	for _, v := range []uint32{abi.Magic, abi.DescriptorSize, in, room, 0, 0, manifestAt, uint32(len(manifest))} {
		d = binary.LittleEndian.AppendUint32(d, v)
	}
	m.Data(desc, d)
	m.Data(manifestAt, []byte(manifest))
	if answer != nil {
		m.Data(answerAt, answer)
	}
	return m.Bytes()
}

func ops(list ...plan.Op) []byte {
	out := []byte{}
	for _, op := range list {
		out = plan.AppendOp(out, op)
	}
	return out
}

// acme is a model whose policy is a plugin of the folder.
const acme = "[[models]]\nid = \"acme\"\nengines = [\"sim\"]\nfamily = \"qwen3\"\nreasoning = \"qwen3\"\npolicy_plugin = \"acme\"\n"

// live drops a plugin in and waits until it serves.
func (w *world) live(name, version string, b []byte) {
	w.tb.Helper()
	w.drop(name+".wasm", b, true)
	eventually(w.tb, name+" "+version+" is live", func() bool { v, _ := w.plugin(name); return v == version })
}

// thought is a conversation whose message 1 holds reasoning.
func thought(w *world, tp *tap, model string) *dialog {
	d := &dialog{tb: w.tb, w: w, tap: tp, client: client{name: "policy", surface: messages()}, model: model}
	d.system = "" // an empty one is none
	d.user("Think.")
	d.last = answer{Blocks: []block{{Kind: "reasoning", Text: "deep thought"}, {Kind: "text", Text: "Fine."}}}
	d.take()
	d.user("say On.")
	return d
}

// TestPolicyPlugin takes a policy through its life under a running gateway: it is missing, decides, is replaced by
// one that decides otherwise while turns run, and is deleted.
func TestPolicyPlugin(t *testing.T) {
	t.Parallel()
	keeps := templatePlugin("acme", "1", abi.ExportPlan, ops())
	drops := templatePlugin("acme", "2", abi.ExportPlan, ops(plan.Op{Kind: plan.PartOp, Message: 1, Action: plan.Drop}))
	switches := templatePlugin("acme", "3", abi.ExportPlan, ops(plan.Op{Kind: plan.KwargOp, Key: "enable_thinking", Value: "false"}))
	w, _ := run(t, options{more: acme})
	tp := w.tapped(act)
	s := messages()
	absent := func() bool {
		resp, b := w.post(s.path, thought(w, tp, "acme").request())
		if resp.StatusCode == http.StatusOK {
			return false
		}
		want{status: 503, messagesType: "api_error", text: "template plugin is not loaded"}.check(t, s, s.refusal(t, resp.StatusCode, b))
		return true
	}
	if !absent() {
		t.Fatal("a model without its policy answers")
	}
	prompt := func() string { return thought(w, tp, "acme").turn().prompt }
	const shut = "<think>\n\n</think>\n\n"
	w.live("acme", "1", keeps)
	if p := prompt(); !strings.Contains(p, "deep thought") || strings.HasSuffix(p, shut) {
		t.Errorf("version 1: %s", p)
	}
	w.live("acme", "2", drops)
	if p := prompt(); strings.Contains(p, "deep thought") || strings.HasSuffix(p, shut) {
		t.Errorf("version 2: %s", p)
	}
	d := thought(w, tp, "acme")
	d.session = "swapped"
	d.turn()
	w.live("acme", "1", keeps)
	d.user("say More.")
	if st := d.turn(); !strings.Contains(st.prefix, "cause=reasoning_mutated") {
		t.Errorf("reasoning is back, but %s", st.prefix)
	}

	var turns sync.WaitGroup
	for range 4 {
		turns.Go(func() {
			for range 10 {
				thought(w, tp, "acme").turn()
			}
		})
	}
	w.live("acme", "3", switches)
	turns.Wait()
	if p := prompt(); !strings.Contains(p, "deep thought") || !strings.HasSuffix(p, shut) {
		t.Errorf("version 3: %s", p)
	}
	if err := os.Remove(filepath.Join(w.plugins, "acme.wasm")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deleted policy is gone", absent)
}

// TestPolicyFails has a policy that traps, and one whose plan does not fit the conversation, under each failure
// policy.
func TestPolicyFails(t *testing.T) {
	t.Parallel()
	plans := map[string][]byte{
		"traps": nil, "is no plan": {1, 2, 3}, "does not fit": ops(plan.Op{Kind: plan.PartOp, Message: 7, Action: plan.Drop}),
	}
	for _, failure := range []string{"raw", "abort", "fallback"} {
		t.Run(failure, func(t *testing.T) {
			t.Parallel()
			w, _ := run(t, options{plugins: fmt.Sprintf("quarantine = 0\n[plugins.settings.acme]\nfailure = %q\n", failure), more: acme})
			tp := w.tapped(act)
			version := 0
			for name, answer := range plans {
				version++
				w.live("acme", strconv.Itoa(version), templatePlugin("acme", strconv.Itoa(version), abi.ExportPlan, answer))
				s := messages()
				resp, b := w.post(s.path, thought(w, tp, "acme").request())
				if failure == "fallback" {
					if resp.StatusCode != http.StatusOK || !strings.Contains(tp.of(t, resp.Header.Get(s.idHeader)).prompt, "deep thought") {
						t.Errorf("%s: %s: %s", name, resp.Status, b)
					}
					continue
				}
				if resp.StatusCode != http.StatusInternalServerError {
					t.Errorf("%s: %s: %s", name, resp.Status, b)
				} else if e := s.refusal(t, resp.StatusCode, b); strings.Contains(e.Message, "acme") || e.Type != "api_error" {
					t.Errorf("%s: got %+v", name, e)
				}
			}
			if log := w.log.String(); strings.Count(log, "template plugin failed") < len(plans) {
				t.Errorf("not all in the log:\n%s", log)
			}
		})
	}
}

// TestPolicyQuarantine has a policy fail until its last good version serves again.
func TestPolicyQuarantine(t *testing.T) {
	t.Parallel()
	w, _ := run(t, options{plugins: "quarantine = 3", more: acme})
	tp := w.tapped(act)
	s := messages()
	ask := func() int {
		resp, _ := w.post(s.path, thought(w, tp, "acme").request())
		return resp.StatusCode
	}
	drops := ops(plan.Op{Kind: plan.PartOp, Message: 1, Action: plan.Drop})
	w.live("acme", "1", templatePlugin("acme", "1", abi.ExportPlan, drops))
	if ask() != http.StatusOK {
		t.Fatal("version 1 does not serve")
	}
	w.live("acme", "2", templatePlugin("acme", "2", abi.ExportPlan, nil))
	for range 3 {
		if got := ask(); got != http.StatusInternalServerError {
			t.Errorf("a policy that traps: %d", got)
		}
	}
	if p := thought(w, tp, "acme").turn().prompt; strings.Contains(p, "deep thought") {
		t.Errorf("the version before does not serve: %s", p)
	}
	for _, p := range w.gw.Plugins() {
		if p.Name == "acme" && (!p.Quarantined || p.Serving != "1") {
			t.Errorf("got %+v", p)
		}
	}
}

// TestRendererPlugin has a plugin of the folder write the prompts.
func TestRendererPlugin(t *testing.T) {
	t.Parallel()
	const head, tail = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
	literals := head + tail
	draws := plan.AppendAnswer(nil, &plan.Answer{Literals: literals, Ops: []plan.Op{{Kind: plan.StopOp, Value: "<|im_end|>"}}, Segments: []plan.Segment{
		{Field: plan.Literal, To: uint32(len(head))}, {Field: plan.Text, To: uint32(len("<|im_end|>hello"))}, {Field: plan.Literal, From: uint32(len(head)), To: uint32(len(literals))},
	}})
	dir := smallFolder(t, nil)
	if err := os.Remove(filepath.Join(dir, "chat_template.jinja")); err != nil {
		t.Fatal(err)
	}
	w, _ := run(t, options{more: fmt.Sprintf("[[models]]\nid = \"drawn\"\nengines = [\"sim\"]\ndir = %q\nrenderer = \"drawn\"\n", dir)})
	tp := w.tapped(act)
	s := chat()
	body := s.body("drawn", "<|im_end|>hello", streamed)
	resp, b := w.post(s.path, body)
	want{status: 503, chatType: "server_error", code: "engine_unavailable", text: "template plugin is not loaded"}.check(t, s, s.refusal(t, resp.StatusCode, b))
	w.live("drawn", "1", templatePlugin("drawn", "1", abi.ExportRender, draws))
	resp = w.send(w.request(http.MethodPost, s.path, body))
	if a := s.read(t, newStream(t, resp).rest()); a.of("text") == "" {
		t.Errorf("got %+v", a)
	}
	h := tp.of(t, resp.Header.Get(s.idHeader))
	if h.prompt != head+"<|im_end|>hello"+tail || len(h.request.Stop) != 1 {
		t.Errorf("prompt %q, stops %q", h.prompt, h.request.Stop)
	}
	end := uint32(len(byteTokens()) + slices.Index(markTokens(), "<|im_end|>"))
	if got := count(h.ids, map[uint32]string{end: ""}); got[end] != 1 {
		t.Errorf("%d ends of turns in %v, the user's is none", got[end], h.ids)
	}
	w.live("drawn", "2", templatePlugin("drawn", "2", abi.ExportRender, nil))
	resp, b = w.post(s.path, body)
	if resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("%s: %s", resp.Status, b)
	}
}

// TestBuiltinRenderers talks with models whose prompts a program of the project's own writes: what it shows of the
// reasoning is the policy's, and the ledger says so.
func TestBuiltinRenderers(t *testing.T) {
	t.Parallel()
	dir := smallFolder(t, nil)
	if err := os.Remove(filepath.Join(dir, "chat_template.jinja")); err != nil {
		t.Fatal(err)
	}
	names := []string{"deepseek_v3.2", "deepseek_v4", "deepseek_v4_0731"}
	more := ""
	for _, name := range names {
		more += fmt.Sprintf("[[models]]\nid = %q\nengines = [\"sim\"]\ndir = %q\nrenderer = %q\nreasoning = \"deepseek_v3\"\n", name, dir, name)
	}
	w := start(t, options{more: more})
	tp := w.tapped(act)
	for _, name := range names {
		for _, cl := range clients() {
			for _, thinking := range []string{"true", "false"} {
				t.Run(name+"/"+cl.name+"/"+thinking, func(t *testing.T) {
					w := *w
					w.tb = t
					d := &dialog{tb: t, w: &w, tap: tp, client: cl, model: name, session: t.Name(), system: "Be of help.", more: []string{`"chat_template_kwargs":{"thinking":` + thinking + `}`}}
					d.talk()
					verdicts, wrong := d.judged(false)
					want := "FPPPPPPPPP"
					switch {
					case thinking == "false" && name == "deepseek_v3.2":
						want = "FTTTTTTTTT" // the vendor closes the thinking of a new turn in another way than that of old ones
					case thinking == "false":
						want = "F........."
					}
					if verdicts != want || wrong != nil {
						t.Errorf("the ledger says %s, want %s: %q\n%s", verdicts, want, wrong, apart(&d.steps[0], &d.steps[1]))
					}
				})
			}
		}
	}
}
