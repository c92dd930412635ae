package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// client is a way in which programs send a conversation back.
type client struct {
	name    string
	surface surface
	whole   bool // its turns are not streamed
	drops   bool // it sends no reasoning back
	renames bool // it makes ids of calls of its own
	prints  bool // it prints the arguments of calls anew
	goesOn  bool // it sends what is new, and the id of the answer before (responses)
}

// dialog is a conversation of a client.
type dialog struct {
	tb       testing.TB
	w        *world
	tap      *tap
	client   client
	model    string
	session  string
	exact    bool     // tokens of a text's pieces are tokens of the text
	tools    string   // member
	more     []string // further members
	system   string
	messages []string // as the client sends them
	old      int      // messages that the other side has, of a client that goes on
	last     answer
	calls    int
	steps    []step
}

// step is one turn of a dialog, as the engine and the client saw it.
type step struct {
	heard
	answer answer
	prefix string // the ledger's header
	id     string
}

// user lets the user speak.
func (d *dialog) user(text string) {
	d.messages = append(d.messages, object(`"role":"user"`, `"content":`+quote(text)))
}

// results answers the calls of the last turn, whose clients are not all in the order of the calls.
func (d *dialog) results(backwards bool, text ...string) {
	var out []string
	for i, c := range d.last.calls() {
		said := "result of " + c.Name
		if i < len(text) {
			said = text[i]
		}
		switch d.client.surface.name {
		case "chat":
			out = append(out, object(`"role":"tool"`, `"tool_call_id":`+quote(c.ID), `"content":`+quote(said)))
		case "messages":
			out = append(out, object(`"type":"tool_result"`, `"tool_use_id":`+quote(c.ID), `"content":`+quote(said)))
		default:
			out = append(out, object(`"type":"function_call_output"`, `"call_id":`+quote(c.ID), `"output":`+quote(said)))
		}
	}
	if backwards {
		slices.Reverse(out)
	}
	if d.client.surface.name == "messages" {
		out = []string{object(`"role":"user"`, `"content":[`+strings.Join(out, ",")+`]`)}
	}
	d.messages = append(d.messages, out...)
}

// request is the body that asks for the next turn.
func (d *dialog) request() string {
	list := d.messages
	members := append([]string{`"model":` + quote(d.model)}, d.more...)
	if d.tools != "" {
		members = append(members, d.tools)
	}
	if d.client.surface.name == "chat" && d.system != "" {
		list = append([]string{object(`"role":"system"`, `"content":`+quote(d.system))}, list...)
	}
	if d.client.surface.name == "messages" {
		members = append(members, `"max_tokens":4096`, thinks, `"system":`+quote(d.system))
	}
	if d.client.surface.name == "responses" {
		members = append(members, `"instructions":`+quote(d.system), `"input":[`+strings.Join(list[d.old:], ",")+`]`)
		if d.old > 0 {
			members = append(members, `"previous_response_id":`+quote(d.last.ID))
		}
	} else {
		members = append(members, `"messages":[`+strings.Join(list, ",")+`]`)
	}
	if !d.client.whole {
		members = append(members, streamed)
	}
	return object(members...)
}

// turn sends the conversation, and takes the answer into it.
func (d *dialog) turn() step {
	d.tb.Helper()
	resp := d.send()
	st := step{answer: d.last, prefix: resp.Header.Get("X-Weir-Prefix"), id: resp.Header.Get(d.client.surface.idHeader)}
	st.heard = d.tap.of(d.tb, st.id)
	d.steps = append(d.steps, st)
	return st
}

// send is turn without a tap on the engine.
func (d *dialog) send() *http.Response {
	d.tb.Helper()
	s := d.client.surface
	resp := d.w.send(d.w.request(http.MethodPost, s.path, d.request(), "X-Session-Id", d.session))
	switch {
	case resp.StatusCode != http.StatusOK:
		log := d.w.log.String()
		d.tb.Fatalf("%s: turn %d: %s: %s\n%s", d.name(), len(d.steps), resp.Status, body(d.tb, resp), log[max(0, len(log)-1000):])
	case d.client.whole:
		d.last = s.whole(d.tb, body(d.tb, resp))
	default:
		d.last = s.read(d.tb, newStream(d.tb, resp).rest())
	}
	if d.last.Fault != nil {
		d.tb.Fatalf("%s: turn %d: %s", d.name(), len(d.steps), d.last.Fault.Message)
	}
	d.take()
	return resp
}

func (d *dialog) name() string { return d.model + " " + d.client.name }

// take puts the answer into the conversation, as the client has it.
func (d *dialog) take() {
	for i := range d.last.Blocks {
		b := &d.last.Blocks[i]
		if b.Kind != "call" {
			continue
		}
		if d.client.renames {
			d.calls++
			b.ID = "mine_" + strconv.Itoa(d.calls)
		}
		if d.client.prints {
			b.Text = printed(d.tb, b.Text)
		}
	}
	switch d.client.surface.name {
	case "chat":
		d.messages = append(d.messages, chatTurn(d.last, d.client.drops))
	case "messages":
		d.messages = append(d.messages, messagesTurn(d.last, d.client.drops))
	default:
		d.messages = append(d.messages, responsesTurn(d.last, d.client.drops)...)
	}
	if d.client.goesOn {
		d.old = len(d.messages)
	}
}

// printed is JSON as encoding/json has it: members sorted, white space gone.
func printed(tb testing.TB, text string) string {
	tb.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// chatTurn is an answer as clients of chat send it back.
func chatTurn(a answer, drops bool) string {
	members := []string{`"role":"assistant"`}
	content := "null"
	if a.of("text") != "" {
		content = quote(a.of("text"))
	}
	members = append(members, `"content":`+content)
	if r := a.of("reasoning"); r != "" && !drops {
		members = append(members, `"reasoning_content":`+quote(r))
	}
	var calls []string
	for _, c := range a.calls() {
		calls = append(calls, object(`"id":`+quote(c.ID), `"type":"function"`, `"function":`+object(`"name":`+quote(c.Name), `"arguments":`+quote(c.Text))))
	}
	if calls != nil {
		members = append(members, `"tool_calls":[`+strings.Join(calls, ",")+`]`)
	}
	return object(members...)
}

// messagesTurn is an answer as clients of messages send it back.
func messagesTurn(a answer, drops bool) string {
	var blocks []string
	for _, b := range a.Blocks {
		switch {
		case b.Kind == "text":
			blocks = append(blocks, object(`"type":"text"`, `"text":`+quote(b.Text)))
		case b.Kind == "call":
			blocks = append(blocks, object(`"type":"tool_use"`, `"id":`+quote(b.ID), `"name":`+quote(b.Name), `"input":`+b.Text))
		case !drops:
			blocks = append(blocks, object(`"type":"thinking"`, `"thinking":`+quote(b.Text), `"signature":"weir1.unsealed"`))
		}
	}
	return object(`"role":"assistant"`, `"content":[`+strings.Join(blocks, ",")+`]`)
}

// responsesTurn is an answer as clients of responses send it back.
func responsesTurn(a answer, drops bool) []string {
	var items []string
	for _, b := range a.Blocks {
		switch {
		case b.Kind == "text":
			items = append(items, object(`"type":"message"`, `"role":"assistant"`, `"content":[`+object(`"type":"output_text"`, `"text":`+quote(b.Text))+`]`))
		case b.Kind == "call":
			items = append(items, object(`"type":"function_call"`, `"call_id":`+quote(b.ID), `"name":`+quote(b.Name), `"arguments":`+quote(b.Text)))
		case !drops:
			items = append(items, object(`"type":"reasoning"`, `"summary":[]`, `"content":[`+object(`"type":"reasoning_text"`, `"text":`+quote(b.Text))+`]`))
		}
	}
	return items
}

// lookAndFind are the tools of dialogs.
func lookAndFind(s surface) string {
	var out []string
	for _, t := range [][3]string{
		{"look", "Looks at a place.", `{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer"}},"required":["place"]}`},
		{"find", "Finds a word.", `{"type":"object","properties":{"word":{"type":"string"},"most":{"type":"integer"}},"required":["word"]}`},
	} {
		switch s.name {
		case "chat":
			out = append(out, object(`"type":"function"`, fmt.Sprintf(`"function":{"name":%q,"description":%q,"parameters":%s}`, t[0], t[1], t[2])))
		case "messages":
			out = append(out, fmt.Sprintf(`{"name":%q,"description":%q,"input_schema":%s}`, t[0], t[1], t[2]))
		default:
			out = append(out, fmt.Sprintf(`{"type":"function","name":%q,"description":%q,"parameters":%s}`, t[0], t[1], t[2]))
		}
	}
	return `"tools":[` + strings.Join(out, ",") + `]`
}
