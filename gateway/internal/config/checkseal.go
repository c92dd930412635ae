package config

import (
	"slices"
	"strings"
)

// checkSeal wants the places of keys to be there, each once, and makes paths absolute. What is in them is not
// looked at here.
func (l *loader) checkSeal(c *Config) {
	o := c.origin.table("seal")
	if !l.clean(o, "keys") {
		return
	}
	keys := make([]string, 0, len(c.Seal.Keys))
	for i, given := range c.Seal.Keys {
		key, lacks := l.keyPlace(given)
		switch at := o.element("keys", i); {
		case lacks != "":
			l.add(at.here(showText(given)+lacks, "a variable or file that holds a key"))
		case slices.Contains(keys, key):
			l.add(at.here(showText(given)+" a second time", "each key once"))
		default:
			keys = append(keys, key)
		}
	}
	c.Seal.Keys = keys
}

// keyPlace returns the place of a key as its reader takes it, or what is wrong with it.
func (l *loader) keyPlace(given string) (place, lacks string) {
	if name, ok := strings.CutPrefix(given, "env:"); ok {
		if v, _ := l.env(name); v == "" {
			return "", ", which is not set"
		}
		return given, ""
	}
	path := l.absolute(strings.TrimPrefix(given, "file:"), "")
	if path == "" {
		return "", noHome
	}
	return "file:" + path, readable(path)
}
