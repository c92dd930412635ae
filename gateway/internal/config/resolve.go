package config

import (
	"cmp"
	"slices"
	"strings"
)

// pattern is an alias with stars.
type pattern struct {
	text  string
	model int
}

// index prepares Resolve.
func (c *Config) index() {
	c.names = map[string]int{}
	for i, m := range c.Models {
		c.names[m.ID] = i
		for _, a := range m.Aliases {
			if strings.Contains(a, "*") {
				c.patterns = append(c.patterns, pattern{a, i})
			} else {
				c.names[a] = i
			}
		}
	}
	slices.SortStableFunc(c.patterns, func(a, b pattern) int { return cmp.Compare(literal(b.text), literal(a.text)) })
}

// literal counts the bytes of a pattern that are not stars.
func literal(p string) int { return len(p) - strings.Count(p, "*") }

// Resolve finds the model that a client's name means: an id or an exact alias; else the pattern that
// matches with the most bytes of its own, the first in the file among equals. Clients that name a model by its
// vendor are understood: openai/ and anthropic/ in front are taken off one at a time where the longer name is
// no id and no exact alias, and a pattern may match with or without them. It returns nil where there is none.
func (c *Config) Resolve(name string) *Model {
	m, _ := c.Lookup(name)
	return m
}

// Lookup is Resolve with the name under which the model is listed: the id or exact alias that was meant, and
// the id where a pattern matched.
func (c *Config) Lookup(name string) (m *Model, listed string) {
	if len(name) > maxModelName {
		return nil, ""
	}
	for form, ok := name, true; ok; form, ok = withoutVendor(form) {
		if i, found := c.names[form]; found {
			return &c.Models[i], form
		}
	}
	for _, p := range c.patterns {
		for form, ok := name, true; ok; form, ok = withoutVendor(form) {
			if Match(p.text, form) {
				m := &c.Models[p.model]
				return m, m.ID
			}
		}
	}
	return nil, ""
}

// withoutVendor takes a vendor off the front of a name and reports whether there was one.
func withoutVendor(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "openai/")
	if !ok {
		rest, ok = strings.CutPrefix(name, "anthropic/")
	}
	return rest, ok
}

// Match reports whether name is what pattern says, where each * stands for any text, also none. Time is
// at most the product of the lengths.
func Match(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	name, ok := strings.CutPrefix(name, first)
	if !star || !ok {
		return ok && name == ""
	}
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}
