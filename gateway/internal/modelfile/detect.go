package modelfile

import (
	"slices"
	"strings"
)

// Found is a name that was detected, and why. An empty name says that there is none.
type Found struct{ Name, Why string }

// Detected is what a chat template and a vocabulary tell of a model. The formats have the names that other
// servers give them, and need not be among those that a built-in parser reads.
type Detected struct {
	Family    Found // a name of plugins/template
	Reasoning Found
	Tools     Found
	Warnings  []string
}

// Detect finds out family and formats from the text of a chat template: the markers that it writes and the
// arguments that it reads, comments left out. has tells whether the vocabulary has a token of that text; it
// may be nil. What nothing is known of is empty, never guessed.
func Detect(template string, has func(token string) bool) Detected {
	return detect(&facts{template: template, has: has})
}

// facts are what rules ask for.
type facts struct {
	template  string
	has       func(token string) bool // nil: no vocabulary is known
	modelType string                  // of config.json, or the architecture of a GGUF file
	text      string                  // the template without comments
	opens     bool                    // a prompt of it may end in open reasoning between <think> and </think>
}

func detect(f *facts) (d Detected) {
	f.text = withoutComments(f.template)
	f.opens = opensThinking(f.text)
	for i := range rules {
		r := &rules[i]
		if !r.holds(f) {
			continue
		}
		d.Family.take(r.family, r.why)
		d.Reasoning.take(r.reasoning, r.why)
		d.Tools.take(r.tools, r.why)
	}
	d.conclude(f)
	return d
}

// take sets what no earlier rule has set.
func (f *Found) take(name, why string) {
	if f.Why == "" && name != "" {
		f.Name, f.Why = name, why
	}
}

// conclude says what it means that no rule held, and takes back the names of rules that say none.
func (d *Detected) conclude(f *facts) {
	silent := "there is no chat template to tell"
	takesTools := strings.Contains(f.text, "tools") || strings.Contains(f.text, "tool_calls")
	switch {
	case d.Tools.Name == none:
		d.Tools.Name = ""
		d.Warnings = append(d.Warnings, "calls of tools will be text: "+d.Tools.Why)
	case d.Tools.Name != "":
	case f.template == "":
		d.Tools.Why = silent
	case takesTools:
		d.Tools.Why = "takes tools, but shows no call of a known format"
		d.Warnings = append(d.Warnings, "the chat template takes tools, but shows no call of a known format: calls will be text unless tools or parser is set")
	default:
		d.Tools.Why = "takes no tools"
	}
	switch {
	case d.Reasoning.Name == none:
		d.Reasoning.Name = ""
		d.Reasoning.Why += ", without reasoning"
	case d.Reasoning.Name != "":
	case f.template == "":
		d.Reasoning.Why = silent
	case strings.Contains(f.text, "reasoning_content"):
		d.Reasoning.Why = "reads reasoning_content, but writes no known markers"
		d.Warnings = append(d.Warnings, "the chat template reads reasoning, but writes it in no known format: it will be text unless reasoning or parser is set")
	default:
		d.Reasoning.Why = "shows no reasoning"
	}
	switch {
	case d.Family.Name == none:
		d.Family.Name = ""
		d.Family.Why += ", for which there is no template policy"
	case d.Family.Name != "":
	case f.template == "":
		d.Family.Why = silent
	default:
		d.Family.Why = "has the marks of no family of template policies"
	}
}

// with takes over from another template what only that one says.
func (d Detected) with(other Detected, name string) Detected {
	if other.Tools.Name != "" || d.Tools.Name == "" {
		d.Tools, d.Warnings = other.Tools, other.Warnings
		d.Tools.Why = name + d.Tools.Why
	}
	for _, pair := range [...]struct{ to, from *Found }{{&d.Family, &other.Family}, {&d.Reasoning, &other.Reasoning}} {
		if pair.to.Name == "" && pair.from.Name != "" {
			pair.to.Name, pair.to.Why = pair.from.Name, name+pair.from.Why
		}
	}
	return d
}

// none is the name of a rule that says that there is none, whatever later rules say.
const none = "none"

// rule is a row of the table.
type rule struct {
	needs     []string // texts of the template, all of them
	any       []string // and one of these, if there are some
	lacks     []string // and none of these
	opens     answer   // and whether its prompts open the thinking
	vocab     string   // and a token of the vocabulary
	modelType string   // and the model's type

	family, reasoning, tools string // "" says nothing, none that there is none

	why string // what a user may look for in the template
}

// answer is a condition on a fact.
type answer uint8

const (
	either answer = iota
	yes
	no
)

func (r *rule) holds(f *facts) bool {
	in := func(text string) bool { return strings.Contains(f.text, text) }
	switch {
	case r.modelType != "" && r.modelType != f.modelType:
	case r.vocab != "" && (f.has == nil || !f.has(r.vocab)):
	case r.opens == yes && !f.opens, r.opens == no && f.opens:
	case len(r.any) > 0 && !slices.ContainsFunc(r.any, in):
	case slices.ContainsFunc(r.lacks, in):
	default:
		return !slices.ContainsFunc(r.needs, func(text string) bool { return !in(text) })
	}
	return false
}

// withoutComments leaves the comments of a template out. Where one does not end nothing is left out.
func withoutComments(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "{#")
		if !ok {
			break
		}
		_, after, ok := strings.Cut(rest, "#}")
		if !ok {
			break
		}
		b.WriteString(before)
		s = after
	}
	b.WriteString(s)
	return b.String()
}

// opensThinking reports whether what a template writes for a new turn has a <think> that is not closed at
// once. That part begins at its last mention of add_generation_prompt, as templates end with it.
func opensThinking(text string) bool {
	const open, end = "<think>", "</think>"
	at := strings.LastIndex(text, "add_generation_prompt")
	if at < 0 {
		return false
	}
	for text = text[at:]; ; {
		_, rest, ok := strings.Cut(text, open)
		if !ok {
			return false
		}
		if !strings.HasPrefix(blanksOff(rest), end) {
			return true
		}
		text = rest
	}
}

// blanksOff takes white space off the start, newlines in the spelling of string literals too.
func blanksOff(s string) string {
	for {
		t := strings.TrimPrefix(strings.TrimLeft(s, " \n\t\r"), `\n`)
		if t == s {
			return s
		}
		s = t
	}
}
