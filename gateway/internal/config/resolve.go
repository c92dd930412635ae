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
// matches with the most bytes of its own, the first in the file among equals. It returns nil where there
// is none.
func (c *Config) Resolve(name string) *Model {
	if len(name) > maxModelName {
		return nil
	}
	if i, ok := c.names[name]; ok {
		return &c.Models[i]
	}
	for _, p := range c.patterns {
		if Match(p.text, name) {
			return &c.Models[p.model]
		}
	}
	return nil
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
