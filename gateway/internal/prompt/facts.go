package prompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fact is one thing that a template was found to do.
type Fact struct {
	Template string `json:"template"` // its name
	Tools    bool   `json:"tools"`    // it holds for requests with tools; else for those without
	Name     string `json:"name"`
	Value    string `json:"value"`
	Means    string `json:"means"` // for requests
}

// Facts are what the probes found. What is the same with tools and without stands once, under Tools false.
type Facts []Fact

// String prints the facts, a line each.
func (f Facts) String() string {
	var b strings.Builder
	for _, x := range f {
		when := ""
		if x.Tools {
			when = " (with tools)"
		}
		fmt.Fprintf(&b, "%s%s: %s = %s: %s\n", x.Template, when, x.Name, x.Value, x.Means)
	}
	return b.String()
}

// Facts are what the model's templates were found to do, for people.
func (m *Model) Facts() Facts {
	var out Facts
	for _, v := range [...]*variant{m.main, m.tools, m.rag} {
		if v == nil {
			continue
		}
		plain, with := v.without.facts(v.tpl.TakesParts()), v.with.facts(v.tpl.TakesParts())
		for i := range plain {
			plain[i].Template, with[i].Template, with[i].Tools = v.name, v.name, true
			if plain[i].Name == "tools" {
				out = append(out, with[i])
				continue
			}
			out = append(out, plain[i])
			if plain[i].Value != with[i].Value {
				out = append(out, with[i])
			}
		}
	}
	return out
}

// facts are abilities in words, the same names in the same order for any.
func (a *abilities) facts(walks bool) []Fact {
	var out []Fact
	say := func(name, value, means string) {
		out = append(out, Fact{Name: name, Value: value, Means: means})
	}
	is := func(name string, yes bool, then, otherwise string) {
		if yes {
			say(name, "yes", then)
			return
		}
		say(name, "no", otherwise)
	}
	is("system message", a.system, "given as it is", "put in front of the first user's text")
	is("later system message", a.systemLater, "given as it is, where it stands", "marked text of a user or of the tool's result before it")
	is("developer message", a.developer, "given as it is", "given as the system's")
	is("later developer message", a.developerLater, "given as it is, where it stands", "given as a later system message")
	is("user messages in a row", a.userTwice, "stay apart", "become one")
	is("assistant messages in a row", a.assistantTwice, "stay apart", "become one")
	is("parts", walks, "several texts of a message stay parts where the role takes them", "several texts of a message are joined by line ends")
	is("tools", a.tools, "given to the template", "described in the system message, in the gateway's words")
	is("calls", a.calls, "given as tool_calls", "become text of the assistant")
	if a.calls {
		form := "object"
		if a.argString {
			form = "string"
		}
		say("arguments", form, "the form in which tool_calls[].function.arguments are given")
	} else {
		say("arguments", "none", "the template has no calls")
	}
	is("several calls in a message", a.parallel, "stay together", "become a message each, with its result behind it")
	switch beside := "text beside calls"; {
	case a.textWithCalls:
		is(beside, true, "stays with them", "")
	case a.textThenCalls:
		is(beside, false, "", "becomes a message of its own in front of them")
	default:
		is(beside, false, "", "calls beside text become text, too")
	}
	is("ids of calls", a.callIDs, "are in the prompt: a policy for them keeps it stable", "never reach the model")
	is("tool role", a.tool, "results are given as it", "results become text of a user")
	is("user after a tool's result", a.userAfterTool, "is a message of its own", "is added to the result")
	is("names of tools at results", a.resultName, "are in the prompt", "are not in the prompt")
	if a.reasoning == "" {
		say("reasoning", "none", "a policy decides what is replayed, and only the family's own writing shows it")
	} else {
		say("reasoning", a.reasoning, "the template decides what is replayed; shown of "+a.replayed())
	}
	is("documents", a.documents, "given to the template", "are not shown")
	var media []string
	for kind := range a.media {
		media = append(media, kind)
	}
	slices.Sort(media)
	if len(media) == 0 {
		say("media", "none", "refused")
	} else {
		say("media", strings.Join(media, ", "), "given as parts of a user's message")
	}
	say("turn header", quoted(a.header), "what stands between a user's text and the assistant's")
	say("turn closing", quoted(a.closing), "what stands between the assistant's text and a user's")
	say("prompt ends after a user", quoted(a.afterUser), "what the model answers to")
	say("prompt ends after a tool", quoted(a.afterTool), "what the model goes on from")
	return out
}

// replayed says of which turns reasoning is shown.
func (a *abilities) replayed() string {
	var of []string
	if a.reasoningPast {
		of = append(of, "old turns")
	}
	if a.reasoningLoop {
		of = append(of, "the tool loop")
	}
	if a.reasoningAnswer {
		of = append(of, "an answer that is last")
	}
	return strings.Join(of, ", ")
}

// quoted is a text as facts print it.
func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return strconv.Quote(s)
}
