package kit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// Members of a configuration that name formats and policies, and of a manifest that lists formats.
const (
	memberReasoning = "reasoning"
	memberTools     = "tools"
	memberPolicy    = "policy"
	memberRenderer  = "renderer"
)

// named are the members of a configuration that are strings.
func named(config string) map[string]string {
	out := map[string]string{}
	r := jsonscan.NewReader([]byte(config))
	_ = r.Object(func(key []byte) error { // what is no object is refused elsewhere
		name := string(key)
		if r.Peek() != jsonscan.String {
			_, err := r.Raw()
			return err
		}
		v, err := r.Text(nil)
		out[name] = string(v)
		return err
	})
	return out
}

// refusal tells of a configuration that a plugin does not take, and what its manifest says of that.
func refusal(err error, m *plughost.Manifest, config string) string {
	text := oneLine(err)
	if !errors.Is(err, plughost.ErrConfig) {
		return text
	}
	given := named(config)
	var known, listed []string
	strange := false
	for _, l := range [...]struct {
		member string
		names  []string
	}{{memberReasoning, m.Reasoning}, {memberTools, m.Tools}, {memberPolicy, m.Policies}, {memberRenderer, m.Renderers}} {
		if len(l.names) > 0 {
			listed = append(listed, l.member+": "+strings.Join(l.names, ", "))
		}
		switch name := given[l.member]; {
		case name == "":
		case slices.Contains(l.names, name):
			known = append(known, l.member+" "+strconv.Quote(name))
		default:
			strange = true
		}
	}
	switch {
	case !strange && len(known) > 0:
		return text + "; its manifest lists " + strings.Join(known, " and ") + ", which open must then take"
	case !strange:
		return text + "; a configuration may leave out every name (ABI.md 3)"
	case len(listed) == 0:
		return text + "; its manifest lists no formats"
	}
	return text + "; its manifest lists " + strings.Join(listed, "; ")
}

// sight is what a parser found in its inputs.
type sight struct{ reasoning, calls bool }

// look takes in what one input gave.
func (s *sight) look(pieces []piece) {
	for i := range pieces {
		s.reasoning = s.reasoning || pieces[i].kind == record.Reasoning
		s.calls = s.calls || pieces[i].kind == record.CallBegin
	}
}

// sightings tell of each format that was on whether any input had something of it. The name of one that the
// plugin chose is empty.
type sightings struct{ reasoning, tools map[string]bool }

func (s *sightings) add(config string, seen sight) {
	given := named(config)
	for _, f := range [...]struct {
		member string
		seen   bool
		all    *map[string]bool
	}{{memberReasoning, seen.reasoning, &s.reasoning}, {memberTools, seen.calls, &s.tools}} {
		name, ok := given[f.member]
		if ok && name == "" {
			continue // it is off
		}
		if *f.all == nil {
			*f.all = map[string]bool{}
		}
		(*f.all)[name] = (*f.all)[name] || f.seen
	}
}

// unseen says what no input had, or nothing.
func (s *sightings) unseen(m *plughost.Manifest) string {
	out := unseen(nil, "a call", s.tools, m.Tools)
	out = unseen(out, "reasoning", s.reasoning, m.Reasoning)
	return strings.Join(out, " or ")
}

// unseen appends the formats of one member that are listed and were not met.
func unseen(out []string, what string, seen map[string]bool, listed []string) []string {
	const most = 8
	var names []string
	asked := false
	for _, name := range listed {
		met, on := seen[name]
		asked = asked || on
		if on && !met {
			names = append(names, name)
		}
	}
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("%d more", n-most))
	}
	if len(names) > 0 {
		return append(out, what+" in "+strings.Join(names, ", "))
	}
	if met, on := seen[""]; on && !met && !asked && len(listed) > 0 {
		return append(out, what)
	}
	return out
}
