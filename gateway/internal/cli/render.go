package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/modelfile"
	"github.com/weirgate/weir/gateway/jinja"
)

// Sizes in bytes of what is rendered.
const (
	maxRenderTemplate = 1 << 20
	maxRenderVars     = 256 << 20
)

func renderCommand() command {
	return command{
		name: "render", args: "--template F.jinja|--model DIR --vars V.json [flags]",
		summary: "renders a chat template as the transformers library does; exits with 1 where that would raise",
		example: `echo '{"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true}' | weir render --model /models/Qwen3-8B --vars -`,
		run:     runRender,
	}
}

// renderOptions are the flags of the command.
type renderOptions struct {
	template, model, vars, now string
	origins, asJSON            bool
}

func runRender(ctx context.Context, e Env, fs *flag.FlagSet) int {
	var o renderOptions
	fs.StringVar(&o.template, "template", "", "chat template `FILE`, or - for standard input")
	fs.StringVar(&o.model, "model", "", "`DIR` or GGUF file of a model, whose template and special tokens are taken")
	fs.StringVar(&o.vars, "vars", "", "`FILE` with the variables as a JSON object: messages, tools, add_generation_prompt and any others; - for standard input")
	fs.StringVar(&o.now, "now", "", "`TIME` that strftime_now tells, as RFC 3339; otherwise the clock's")
	fs.BoolVar(&o.origins, "origins", false, "print what each stretch of the text came from, as JSON")
	fs.BoolVar(&o.asJSON, "json", false, "print JSON")
	if code, ok := parse(e, fs); !ok {
		return code
	}
	switch {
	case fs.NArg() > 0:
		return misuse(e, fs, "unexpected argument %q", fs.Arg(0))
	case (o.template == "") == (o.model == ""):
		return misuse(e, fs, "want --template or --model")
	case o.vars == "":
		return misuse(e, fs, "want --vars")
	case o.vars == "-" && o.template == "-":
		return misuse(e, fs, "template and variables cannot both come on standard input")
	}
	now := time.Now()
	if o.now != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, o.now); err != nil {
			return misuse(e, fs, "--now: %v", err)
		}
	}
	doc, err := readInput(e, o.vars, maxRenderVars)
	if err != nil {
		return misuse(e, fs, "%v", err)
	}
	vars, tools, err := renderVars(doc)
	if err != nil {
		return misuse(e, fs, "%s: %v", o.vars, err)
	}
	source, err := o.source(e, vars, tools)
	if err != nil {
		return failed(e, fs, err)
	}
	return o.render(ctx, e, fs, source, vars, now)
}

// source is the text of the template. A model's special tokens become variables where there are none of
// these names.
func (o *renderOptions) source(e Env, vars map[string]jinja.Value, tools bool) (string, error) {
	if o.model == "" {
		b, err := readInput(e, o.template, maxRenderTemplate)
		return string(b), err
	}
	m, err := modelfile.Open(o.model, modelfile.Options{NoVocab: true})
	if err != nil {
		return "", err
	}
	for name, text := range m.Tokens {
		if _, ok := vars[name]; !ok {
			vars[name] = jinja.Text(text, jinja.Origin{Kind: jinja.FromHost})
		}
	}
	source := m.Template
	if t, ok := m.Templates["tool_use"]; ok && tools {
		source = t // as transformers chooses
	}
	if source == "" {
		return "", fmt.Errorf("%w: %s has no chat template", modelfile.ErrNoModel, o.model)
	}
	return source, nil
}

func (o *renderOptions) render(ctx context.Context, e Env, fs *flag.FlagSet, source string, vars map[string]jinja.Value, now time.Time) int {
	tpl, err := jinja.Compile(source, jinja.Options{})
	var r jinja.Result
	if err == nil {
		r, err = tpl.Render(ctx, vars, jinja.RenderOptions{Now: now, Origins: o.origins})
	}
	if err != nil {
		if o.asJSON {
			writeJSON(e.Stdout, renderFault(err))
		}
		name := o.template
		if name == "" {
			name = o.model
		}
		fmt.Fprintf(e.Stderr, "%s: %s:%v\n", fs.Name(), name, err)
		return exitFound
	}
	switch {
	case o.origins && o.asJSON:
		writeJSON(e.Stdout, map[string]any{"text": string(r.Text), "spans": renderSpans(&r)})
	case o.origins:
		writeJSON(e.Stdout, renderSpans(&r))
	case o.asJSON:
		writeJSON(e.Stdout, map[string]any{"text": string(r.Text)})
	default:
		_, _ = e.Stdout.Write(r.Text)
	}
	return exitOK
}

// renderSpan is a stretch of a prompt in JSON.
type renderSpan struct {
	Start   int32  `json:"start"`
	End     int32  `json:"end"`
	Origin  string `json:"origin"`
	Message int32  `json:"message"`
	Part    int32  `json:"part"`
	Text    string `json:"text"`
}

func renderSpans(r *jinja.Result) []renderSpan {
	out := make([]renderSpan, 0, len(r.Spans))
	for _, s := range r.Spans {
		out = append(out, renderSpan{s.Start, s.End, s.Origin.Kind.String(), s.Origin.Message, s.Origin.Part, string(r.Text[s.Start:s.End])})
	}
	return out
}

// renderFault is an error of a template in JSON.
func renderFault(err error) any {
	message, line, column, raised := err.Error(), 0, 0, false
	var re *jinja.RaisedError
	var je *jinja.Error
	var le *jinja.LimitError
	switch {
	case errors.As(err, &re):
		message, line, column, raised = re.Message, re.Line, re.Col, true
	case errors.As(err, &je):
		line, column = je.Line, je.Col
	case errors.As(err, &le):
		line, column = le.Line, le.Col
	}
	return map[string]any{"error": map[string]any{"message": message, "line": line, "column": column, "raised": raised}}
}

// readInput reads a file, or standard input where it is called -.
func readInput(e Env, name string, limit int64) ([]byte, error) {
	in := e.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return b, err
}

// renderVars reads variables. Those that transformers always gives are there even if nobody names them, and
// the texts of messages and tools know what they are from. tools says that there are some.
func renderVars(doc []byte) (vars map[string]jinja.Value, tools bool, err error) {
	vars = map[string]jinja.Value{"tools": jinja.None(), "documents": jinja.None(), "add_generation_prompt": jinja.Bool(false)}
	r := jsonscan.NewReader(doc)
	err = r.Object(func(key []byte) error {
		name := string(key)
		raw, err := r.Raw()
		if err != nil {
			return err
		}
		if name == "tools" {
			tools = jsonscan.TypeOf(raw) != jsonscan.Null
		}
		vars[name], err = renderVar(name, raw)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return vars, tools, r.End()
}

func renderVar(name string, raw []byte) (jinja.Value, error) {
	if jsonscan.TypeOf(raw) == jsonscan.Array {
		switch name {
		case "messages":
			return valueList(raw, messageValue)
		case "tools":
			return valueList(raw, func(i int, raw []byte) (jinja.Value, error) {
				return jinja.FromJSON(raw, jinja.Origin{Kind: jinja.FromToolSchema, Message: int32(i)})
			})
		case "documents":
			return jinja.FromJSON(raw, jinja.Origin{Kind: jinja.FromUser})
		}
	}
	return jinja.FromJSON(raw, jinja.Origin{Kind: jinja.FromHost})
}

// valueList reads an array whose elements one makes.
func valueList(raw []byte, one func(i int, raw []byte) (jinja.Value, error)) (jinja.Value, error) {
	var items []jinja.Value
	r := jsonscan.NewReader(raw)
	err := r.Array(func(i int) error {
		element, err := r.Raw()
		if err != nil {
			return err
		}
		v, err := one(i, element)
		items = append(items, v)
		return err
	})
	return jinja.List(items...), err
}

// messageValue is a message whose texts are from its role, and those of its parts from the part.
func messageValue(i int, raw []byte) (jinja.Value, error) {
	o := jinja.Origin{Kind: jinja.FromHost, Message: int32(i)}
	if jsonscan.TypeOf(raw) != jsonscan.Object {
		return jinja.FromJSON(raw, o)
	}
	var members []jinja.Member
	contents := map[int][]byte{} // by member
	r := jsonscan.NewReader(raw)
	err := r.Object(func(key []byte) error {
		name := string(key)
		value, err := r.Raw()
		if err != nil {
			return err
		}
		if name == "role" {
			if role, err := jsonscan.AppendUnquoted(nil, value); err == nil {
				o.Kind = roleOrigin(string(role))
			}
		}
		contents[len(members)] = value
		members = append(members, jinja.Member{Name: name, Origin: jinja.Origin{Kind: jinja.FromHost, Message: int32(i)}})
		return nil
	})
	for n := range members {
		if err != nil {
			return jinja.Value{}, err
		}
		m, value := &members[n], contents[n]
		switch {
		case m.Name == "role":
			m.Value, err = jinja.FromJSON(value, m.Origin)
		case m.Name == "content" && jsonscan.TypeOf(value) == jsonscan.Array:
			m.Value, err = valueList(value, func(part int, raw []byte) (jinja.Value, error) {
				return jinja.FromJSON(raw, jinja.Origin{Kind: o.Kind, Message: int32(i), Part: int32(part)})
			})
		default:
			m.Value, err = jinja.FromJSON(value, o)
		}
	}
	return jinja.Object(members...), err
}

func roleOrigin(role string) jinja.OriginKind {
	switch role {
	case "system", "developer":
		return jinja.FromSystem
	case "user":
		return jinja.FromUser
	case "assistant":
		return jinja.FromAssistant
	case "tool", "function", "ipython":
		return jinja.FromToolResult
	}
	return jinja.FromHost
}
