package gateway_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/gateway"
	"github.com/weirgate/weir/gateway/internal/family"
)

// byteTokens are the 256 bytes, as byte-level vocabularies spell them.
func byteTokens() []string {
	var out []string
	next := rune(256)
	for b := range rune(256) {
		switch {
		case b >= '!' && b <= '~', b >= '¡' && b <= '¬', b >= '®':
			out = append(out, string(b))
		default:
			out = append(out, string(next))
			next++
		}
	}
	return out
}

// markTokens are the tokens that the small vocabulary has beside the bytes.
func markTokens() []string {
	return []string{"<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"}
}

// smallFolder is a model's folder with a vocabulary of bytes and markers. files come on top of it.
func smallFolder(tb testing.TB, files map[string]string) string {
	tb.Helper()
	vocab := map[string]int{}
	for i, t := range byteTokens() {
		vocab[t] = i
	}
	type added struct {
		ID         int    `json:"id"`
		Content    string `json:"content"`
		Special    bool   `json:"special"`
		Normalized bool   `json:"normalized"`
	}
	var marks []added
	for i, t := range markTokens() {
		vocab[t] = len(byteTokens()) + i
		marks = append(marks, added{ID: vocab[t], Content: t, Special: strings.HasPrefix(t, "<|")})
	}
	tokenizer, err := json.Marshal(map[string]any{
		"version": "1.0", "added_tokens": marks, "normalizer": nil, "post_processor": nil,
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
		"decoder":       map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	template, _ := family.Template("qwen3")
	dir := filepath.Join(tb.TempDir(), "small")
	writeFolder(tb, dir, map[string]string{
		"tokenizer.json": string(tokenizer), "chat_template.jinja": template, "tokenizer_config.json": `{"eos_token":"<|im_end|>","model_max_length":20000}`,
	})
	writeFolder(tb, dir, files)
	return dir
}

// smallGGUF is a GGUF file of the same model, without its weights.
func smallGGUF(tb testing.TB) string {
	tb.Helper()
	var body []byte
	n := 0
	text := func(s string) {
		body = append(binary.LittleEndian.AppendUint64(body, uint64(len(s))), s...)
	}
	key := func(name string, kind uint32) {
		n++
		text(name)
		body = binary.LittleEndian.AppendUint32(body, kind)
	}
	str := func(name, value string) { key(name, 8); text(value) }
	list := func(name string, kind uint32, size int) {
		key(name, 9)
		body = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(body, kind), uint64(size))
	}
	template, _ := family.Template("qwen3")
	tokens := slices.Concat(byteTokens(), markTokens())
	str("general.architecture", "qwen3")
	key("qwen3.context_length", 4)
	body = binary.LittleEndian.AppendUint32(body, 20000)
	str("tokenizer.ggml.model", "gpt2")
	str("tokenizer.ggml.pre", "qwen2")
	list("tokenizer.ggml.tokens", 8, len(tokens))
	for _, t := range tokens {
		text(t)
	}
	list("tokenizer.ggml.token_type", 5, len(tokens))
	for _, t := range tokens {
		kind := uint32(1)
		if strings.HasPrefix(t, "<|") {
			kind = 3
		} else if slices.Contains(markTokens(), t) {
			kind = 4
		}
		body = binary.LittleEndian.AppendUint32(body, kind)
	}
	list("tokenizer.ggml.merges", 8, 0)
	key("tokenizer.ggml.eos_token_id", 4)
	body = binary.LittleEndian.AppendUint32(body, uint32(slices.Index(tokens, "<|im_end|>")))
	str("tokenizer.chat_template", template)
	head := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	head = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(head, 0), uint64(n))
	path := filepath.Join(tb.TempDir(), "small.gguf")
	if err := os.WriteFile(path, append(head, body...), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// modelEntry is an entry of the configuration.
func modelEntry(id, engine, members string) string {
	return fmt.Sprintf("[[models]]\nid = %q\nengines = [%q]\n%s\n", id, engine, members)
}

func dirOf(path string) string { return fmt.Sprintf("dir = %q\n", path) }

// TestModelFiles has a conversation with a model of a folder, and with the same of a GGUF file: they get the same
// prompts in the same tokens, and each goes on from the one before.
func TestModelFiles(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: modelEntry("folder", "sim", dirOf(smallFolder(t, nil))) + modelEntry("file", "sim", fmt.Sprintf("gguf = %q\n", smallGGUF(t)))})
	tp := w.tapped(act)
	for _, cl := range clients() {
		t.Run(cl.name, func(t *testing.T) {
			w := *w
			w.tb = t
			var both [2]*dialog
			for i, model := range []string{"folder", "file"} {
				d := &dialog{tb: t, w: &w, tap: tp, client: cl, model: model, session: model + cl.name, exact: true, system: "Be of help.", tools: lookAndFind(cl.surface)}
				d.agent()
				d.check(true)
				both[i] = d
			}
			for i := range both[0].steps {
				a, b := &both[0].steps[i], &both[1].steps[i]
				if a.prompt != b.prompt || !slices.Equal(a.ids, b.ids) || len(a.ids) == 0 {
					t.Fatalf("turn %d: %d tokens and %d\n%s", i, len(a.ids), len(b.ids), apart(a, b))
				}
			}
		})
	}
}

// TestFilesReload changes the configuration, and then the files of a model, while it is served.
func TestFilesReload(t *testing.T) {
	t.Parallel()
	dir := smallFolder(t, nil)
	models := modelEntry("small", "sim", dirOf(dir))
	w := start(t, options{more: models})
	tp := w.tapped(act)
	prompt := func() string {
		t.Helper()
		d := &dialog{tb: t, w: w, tap: tp, client: client{surface: chat()}, model: "small", system: "Be of help."}
		d.user("say hi")
		return d.turn().prompt
	}
	before, first := w.gw.Assets("small"), prompt()
	w.configure(options{more: models + extra})
	if err := w.gw.Reload(); err != nil {
		t.Fatal(err)
	}
	if w.gw.Assets("small") != before || prompt() != first {
		t.Error("files that did not change were read again")
	}

	writeFolder(t, dir, map[string]string{"chat_template.jinja": "{% for m in messages %}[{{ m.role }}]{{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"})
	if prompt() != first {
		t.Error("files count before a reload")
	}
	if err := w.gw.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := prompt(); got != "[system]Be of help.<|im_end|>[user]say hi<|im_end|>[assistant]" || w.gw.Assets("small") == before {
		t.Errorf("the new template does not count: %q", got)
	}

	renewed := w.gw.Assets("small")
	for _, c := range []struct {
		name, want string
		spoil      func()
	}{
		{"a template that is none", "chat template", func() { writeFolder(t, dir, map[string]string{"chat_template.jinja": "{% for %}"}) }},
		{"a vocabulary that is none", "tokenizer.json", func() { writeFolder(t, dir, map[string]string{"tokenizer.json": "{"}) }},
		{"no folder", "model small: ", func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		c.spoil()
		if err := w.gw.Reload(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: the error is %v", c.name, err)
		}
		if w.gw.Assets("small") != renewed || !strings.HasPrefix(prompt(), "[system]") {
			t.Errorf("%s: what held before holds no longer", c.name)
		}
	}
	_, err := gateway.New(t.Context(), gateway.Options{ConfigFile: w.file, Admin: "off", Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "small") || !strings.Contains(err.Error(), dir) {
		t.Errorf("a gateway begins without the folder: %v", err)
	}
}

// TestWindow has a window of the model's files, and one of the entry, which counts.
func TestWindow(t *testing.T) {
	t.Parallel()
	dir := smallFolder(t, nil)
	w := start(t, options{more: modelEntry("files", "sim", dirOf(dir)) + modelEntry("entry", "sim", dirOf(dir)+"context = 3000\nmax_output = 1000\n")})
	for model, window := range map[string]int{"files": 20000, "entry": 3000} {
		room := min(1024, window/3) // what a prompt must leave, which is no more than max_output
		_, b := w.post("/v1/tokenize", object(`"model":`+quote(model), `"prompt":"x"`))
		var got struct {
			Window int `json:"max_model_len"`
		}
		if err := json.Unmarshal(b, &got); err != nil || got.Window != window {
			t.Errorf("%s: window %d, %s", model, got.Window, b)
		}
		onEach(t, func(t *testing.T, s surface) {
			w := *w
			w.tb = t
			resp, b := w.post(s.path, s.body(model, strings.Repeat("x", window)))
			number := window
			if s.name == "messages" { // the longest prompt that fits
				number -= room
			}
			if e := s.refusal(t, resp.StatusCode, b); e.Status != http.StatusBadRequest || !strings.Contains(e.Message, strconv.Itoa(number)) {
				t.Errorf("%s: %+v", model, e)
			}
		})
	}
}

// TestSamplingDefaults has settings in generation_config.json, which the engine gets where the client is silent.
func TestSamplingDefaults(t *testing.T) {
	t.Parallel()
	dir := smallFolder(t, map[string]string{"generation_config.json": `{"do_sample":true,"temperature":0.6,"top_p":0.95,"top_k":20,"repetition_penalty":1.05,"eos_token_id":257}`})
	double := enginetest.NewDouble(enginetest.Script{Chunks: enginetest.Say("Hi")})
	w := start(t, options{more: fmt.Sprintf("[engines.ids]\nkind = \"openai\"\nurl = %q\nprompt = \"ids\"\nextras = true\n", double.Serve(t)) + modelEntry("small", "ids", dirOf(dir))})
	for _, c := range []struct {
		name, member string
		want         map[string]float64
	}{
		{"silent", streamed, map[string]float64{"temperature": 0.6, "top_p": 0.95, "top_k": 20, "repetition_penalty": 1.05}},
		{"one of them", `"temperature":0`, map[string]float64{"temperature": 0, "top_p": 0.95, "top_k": 20, "repetition_penalty": 1.05}},
		{"others", `"temperature":1,"top_p":0.5,"top_k":3,"min_p":0.1`, map[string]float64{"temperature": 1, "top_p": 0.5, "top_k": 3, "min_p": 0.1, "repetition_penalty": 1.05}},
	} {
		s := chat()
		w.post(s.path, s.body("small", "hi", c.member))
		var got map[string]any
		if err := json.Unmarshal(double.Requests()[0].Body, &got); err != nil {
			t.Fatal(err)
		}
		for name, v := range c.want {
			if got[name] != v {
				t.Errorf("%s: %s is %v, want %v", c.name, name, got[name], v)
			}
		}
	}
}
