// Package modelfile reads what the files of a model say: its chat templates, special tokens, vocabulary,
// limits and defaults, and which formats it writes.
package modelfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/jinja"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
	"github.com/weirgate/weir/plugins/parser"
)

// Errors that those of Open wrap, beside those of the file system.
var (
	// ErrNoModel says that a folder or a file is none of a model.
	ErrNoModel = errors.New("no model")
	// ErrMalformed says that a file of a model is not what its name promises.
	ErrMalformed = errors.New("malformed model file")
)

// Model is what a model's files say. It does not change after Open.
type Model struct {
	Path      string            // as it was given to Open
	Template  string            // the chat template's source; "" when there is none
	Templates map[string]string // other templates by name (tool_use, rag), without the default
	Tokens    map[string]string // special tokens by the names that templates use: bos_token, eos_token, ..
	Vocab     *vocab.Tokenizer  // nil when there is none, or Options.NoVocab
	Stops     []string          // texts of the tokens that end a turn
	StopIDs   []uint32          // and their ids, as far as they are known
	Context   int               // tokens of the window, 0 unknown
	Sampling  conv.Sampling     // defaults that the files give
	Family    string            // template policy, a name of plugins/template; "" undetected
	Reasoning string            // reasoning format, a name of plugins/parser; "" none
	Tools     string            // format of tool calls, a name of plugins/parser; "" none
	Writes    Formats           // formats that were detected, also those that no parser reads
	Decisions []Decision        // all of that, and why, always in the same order
	Warnings  []string          // what a serving engineer should know before the model is served
}

// Formats are those of reasoning and of tool calls, by name; empty: none, or undetected.
type Formats struct{ Reasoning, Tools string }

// Decision is one thing that was decided. Value is empty where there is nothing.
type Decision struct {
	What  string `json:"what"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// Options are those of Open.
type Options struct {
	// Cache is the folder for images of vocabularies, see load.Model; "": none are kept.
	Cache string
	// NoVocab leaves the vocabulary out, which is most of the time that Open takes. Decisions that need
	// it are then made without.
	NoVocab bool
}

// reading collects what files say until the decisions are made.
type reading struct {
	Model
	modelType string // config.json's model_type, or the architecture of a GGUF file
	why       reasons
	ends      []uint32          // ids that end a turn
	endTexts  []string          // texts that do
	names     map[uint32]string // texts of ids where there is no vocabulary
}

// reasons say where each part is from, or why there is none.
type reasons struct{ template, templates, tokens, vocab, context, sampling, stops string }

// Open reads a model: a folder, or a GGUF file. Files that are missing leave their part empty; a file that
// is there but not readable as what it is makes Open fail, with its name and what was expected. Errors
// wrap ErrNoModel, ErrMalformed or those of the file system. Sizes and counts are bounded.
func Open(path string, o Options) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening a model: %w", err)
	}
	r := &reading{Model: Model{Path: path, Templates: map[string]string{}, Tokens: map[string]string{}}, names: map[uint32]string{}}
	switch {
	case info.IsDir():
		err = r.folder(path, o)
	case strings.EqualFold(filepath.Ext(path), ".gguf"):
		err = r.gguf(path, o)
	default:
		err = fmt.Errorf("%w: %s is neither a folder nor a .gguf file", ErrNoModel, path)
	}
	if err != nil {
		return nil, err
	}
	r.decide()
	return &r.Model, nil
}

func (r *reading) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

func (r *reading) decided(what, value, why string) {
	r.Decisions = append(r.Decisions, Decision{What: what, Value: value, Why: why})
}

// decide draws the conclusions from what was read.
func (r *reading) decide() {
	r.decideTemplate()
	r.decided("special tokens", listTokens(r.Tokens), r.why.tokens)
	if r.Vocab != nil {
		r.decided("vocabulary", fmt.Sprintf("%d ids", r.Vocab.Size()), r.why.vocab)
	} else {
		r.decided("vocabulary", "", r.why.vocab)
	}
	r.decideStops()
	if r.Context > 0 {
		r.decided("context", strconv.Itoa(r.Context), r.why.context)
	} else {
		r.decided("context", "", "no file says how long the window is")
	}
	r.decided("sampling", listSampling(&r.Sampling), r.why.sampling)
	r.decideFormats()
}

func (r *reading) decideTemplate() {
	value := ""
	if r.Template != "" {
		value = fmt.Sprintf("%d bytes", len(r.Template))
		if _, err := jinja.Compile(r.Template, jinja.Options{}); err != nil {
			r.warn("the chat template is not one: %v", err)
		}
	}
	r.decided("template", value, r.why.template)
	names := sortedNames(r.Templates)
	for _, name := range names {
		if _, err := jinja.Compile(r.Templates[name], jinja.Options{}); err != nil {
			r.warn("the chat template %s is not one: %v", name, err)
		}
	}
	if len(names) > 0 {
		r.decided("other templates", strings.Join(names, ", "), r.why.templates)
	}
}

// decideStops finds text and id of each token that ends a turn.
func (r *reading) decideStops() {
	for _, text := range r.endTexts {
		r.stop(text)
		if r.Vocab == nil {
			continue
		}
		if id, ok := r.Vocab.ID(text); ok {
			r.stopID(id)
		} else {
			r.warn("%q ends a turn but is no token of the vocabulary", text)
		}
	}
	for _, id := range r.ends {
		text, ok := r.names[id]
		if r.Vocab != nil {
			text, ok = r.Vocab.Token(id)
			if !ok {
				r.warn("id %d ends a turn but is not in the vocabulary", id)
				continue
			}
		}
		if ok {
			r.stop(text)
		}
		r.stopID(id)
	}
	if len(r.Stops)+len(r.StopIDs) == 0 {
		r.decided("ends of a turn", "", "no file names a token that ends a turn")
		return
	}
	r.decided("ends of a turn", listStops(r.Stops, r.StopIDs), r.why.stops)
}

func (r *reading) stop(text string) {
	if !slices.Contains(r.Stops, text) {
		r.Stops = append(r.Stops, text)
	}
}

func (r *reading) stopID(id uint32) {
	if !slices.Contains(r.StopIDs, id) {
		r.StopIDs = append(r.StopIDs, id)
	}
}

// decideFormats finds family and formats. Requests with tools are rendered with the template tool_use where
// there is one, so that is where the format of calls stands.
func (r *reading) decideFormats() {
	var has func(string) bool
	if r.Vocab != nil {
		has = func(text string) bool { _, ok := r.Vocab.ID(text); return ok }
	}
	d := detect(&facts{template: r.Template, has: has, modelType: r.modelType})
	if t, ok := r.Templates["tool_use"]; ok {
		other := detect(&facts{template: t, has: has, modelType: r.modelType})
		d = d.with(other, "the template tool_use ")
	}
	r.Family = d.Family.Name
	r.decided("family", d.Family.Name, d.Family.Why)
	r.Writes = Formats{d.Reasoning.Name, d.Tools.Name}
	r.Reasoning = r.readable(d.Reasoning, "reasoning", parser.HasReasoning)
	r.Tools = r.readable(d.Tools, "tools", parser.HasTools)
	r.Warnings = append(r.Warnings, d.Warnings...)
	if r.Template == "" {
		r.warn("there is no chat template: prompts need a renderer plugin, or an engine that renders")
	} else if r.Family == "" && d.Reasoning.Name != "" {
		r.warn("the model reasons but its family is not known: thinking cannot be switched by effort, and the template alone says what is replayed")
	}
}

// readable records what a format is and returns its name if a built-in parser reads it.
func (r *reading) readable(f Found, what string, has func(string) bool) string {
	if f.Name == "" || has(f.Name) {
		r.decided(what, f.Name, f.Why)
		return f.Name
	}
	r.decided(what, "", f.Why+": the format "+f.Name+", which no built-in parser reads")
	r.warn("no built-in parser reads the %s format %s: name a plugin with parser", what, f.Name)
	return ""
}
