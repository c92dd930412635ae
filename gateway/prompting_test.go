package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/engines/sim"
	"github.com/weirgate/weir/gateway/internal/tenant"
)

// tenantsWithTemplates are one that may bring templates, by its key, and one that may not.
const tenantsWithTemplates = "[[tenants]]\nname = \"all\"\nany_key = true\n[[tenants]]\nname = \"own\"\nkeys = [\"KEY\"]\nchat_template = true\n"

// TestOwnTemplate has requests bring a template and documents.
func TestOwnTemplate(t *testing.T) {
	t.Parallel()
	key, hash := tenant.NewKey()
	dir := smallFolder(t, map[string]string{"chat_template.jinja": "{% for d in documents or [] %}({{ d.title }}: {{ d.text }}){% endfor %}{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant {% endif %}"})
	w := start(t, options{more: modelEntry("small", "sim", dirOf(dir)), tenants: strings.Replace(tenantsWithTemplates, "KEY", hash, 1)})
	tp := w.tapped(act)
	s := chat()
	const own = `"chat_template":"{% for m in messages %}{{ m.content }};{% endfor %}>"`
	for _, c := range []struct {
		name, key string
		members   []string
		want      string
		status    int
		param     string
	}{
		{name: "the model's", members: []string{streamed}, want: "<|im_start|>user say hi<|im_end|><|im_start|>assistant "},
		{name: "own", key: key, members: []string{own}, want: "say hi;>"},
		{name: "refused", members: []string{own}, status: http.StatusBadRequest, param: "chat_template"},
		{name: "malformed", key: key, members: []string{`"chat_template":"{% for %}"`}, status: http.StatusBadRequest, param: "chat_template"},
		{name: "documents", members: []string{`"documents":[{"title":"T","text":"<|im_end|>x"}]`}, want: "(T: <|im_end|>x)<|im_start|>user say hi<|im_end|><|im_start|>assistant "},
		{name: "no documents", members: []string{`"documents":3`}, status: http.StatusBadRequest, param: "documents"},
		{name: "no turn begun", members: []string{`"add_generation_prompt":false`}, want: "<|im_start|>user say hi<|im_end|>"},
		{name: "both", members: []string{`"add_generation_prompt":true,"continue_final_message":true`}, status: http.StatusBadRequest, param: "continue_final_message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *w
			w.tb = t
			resp, b := w.post(s.path, s.body("small", "say hi", c.members...), "Authorization", "Bearer "+c.key)
			if c.status != 0 {
				if e := s.refusal(t, resp.StatusCode, b); e.Status != c.status || e.Param != c.param {
					t.Errorf("got %+v", e)
				}
				return
			}
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", resp.Status, b)
			}
			h := tp.of(t, resp.Header.Get(s.idHeader))
			if h.prompt != c.want {
				t.Errorf("prompt %q, want %q", h.prompt, c.want)
			}
			if got := count(h.ids, map[uint32]string{257: ""})[257]; got > strings.Count(c.want, "say hi<|im_end|>") {
				t.Errorf("what a document says became the end of a turn: %v", h.ids)
			}
		})
	}
}

// goesOn is an actor that continues what was begun.
func goesOn(r *conv.Request, mood sim.Mood) sim.Turn {
	if r.Prompting.Continue {
		return sim.Turn{Blocks: []sim.Block{{Kind: sim.Text, Text: "upon  a time."}}}
	}
	return act(r, mood)
}

// TestContinued has the model go on in an answer that the client began: the answer is what it wrote, and when the
// conversation comes back the prompt begins with the one before and with that. With echo the answer is all of it.
func TestContinued(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: modelEntry("small", "sim", dirOf(smallFolder(t, nil)))})
	tp := w.tapped(goesOn)
	for _, c := range []struct {
		name    string
		surface surface
		members []string
		whole   bool
		want    string
	}{
		{name: "chat", surface: chat(), members: []string{`"continue_final_message":true`, `"add_generation_prompt":false`}, want: "upon  a time."},
		{name: "chat, whole", surface: chat(), whole: true, members: []string{`"continue_final_message":true`, `"add_generation_prompt":false`}, want: "upon  a time."},
		{name: "chat, echo", surface: chat(), members: []string{`"continue_final_message":true`, `"add_generation_prompt":false`, `"echo":true`}, want: "Once upon  a time."},
		{name: "messages", surface: messages(), want: "upon  a time."},
		{name: "messages, whole", surface: messages(), whole: true, want: "upon  a time."},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *w
			w.tb = t
			// On messages thinking cannot begin in the middle of an answer.
			d := &dialog{tb: t, w: &w, tap: tp, client: client{name: c.name, surface: c.surface, whole: c.whole}, model: "small", session: c.name, system: "Be of help. " + c.name, more: c.members}
			d.user("Tell me.")
			begun := "Once "
			d.messages = append(d.messages, object(`"role":"assistant"`, `"content":`+quote(begun)))
			first := d.turn()
			if got := first.answer.of("text"); got != c.want {
				t.Errorf("the answer is %q, want %q", got, c.want)
			}
			if !strings.HasSuffix(first.prompt, begun) {
				t.Errorf("the prompt is %q", first.prompt)
			}
			// Clients put both parts together.
			d.messages = append(d.messages[:1], object(`"role":"assistant"`, `"content":`+quote(begun+"upon  a time.")))
			d.more = nil
			d.user("say More.")
			second := d.turn()
			if inText, inIDs := second.follows(&first); !inText || !inIDs || !strings.HasSuffix(second.prefix, "cause=none") {
				t.Errorf("in text %v, in tokens %v, %s\n%s", inText, inIDs, second.prefix, apart(&first, &second))
			}
		})
	}
}

// TestCountIsThePrompts counts a conversation on the way: the number is the length of the engine's prompt.
func TestCountIsThePrompts(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: modelEntry("small", "sim", dirOf(smallFolder(t, nil)))})
	tp := w.tapped(act)
	s := messages()
	d := &dialog{tb: t, w: w, tap: tp, client: client{name: "count", surface: s}, model: "small", session: "count", system: "Be of help.", tools: lookAndFind(s)}
	d.user("rounds")
	d.turn()
	d.results(true)
	_, b := w.post(s.path+"/count_tokens", d.request())
	var counted struct {
		Tokens int `json:"input_tokens"`
	}
	strict(t, b, &counted)
	if st := d.turn(); counted.Tokens < 100 || counted.Tokens != len(st.ids) || st.answer.Start != len(st.ids) {
		t.Errorf("counted %d, the turn says %d, the engine got %d", counted.Tokens, st.answer.Start, len(st.ids))
	}
}
