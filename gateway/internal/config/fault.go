package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is one thing that is wrong with a configuration file.
type Fault struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1; 0 when it is about the file as a whole
	Path string `json:"path"` // of the setting, such as models[0].engine; "syntax" for what is not TOML
	Got  string `json:"got"`  // what stands there; with no Want, what is wrong
	Want string `json:"want,omitempty"`
}

// Error gives file:line: path: got X, want Y; or file:line: syntax: and what is wrong.
func (f Fault) Error() string {
	s := f.File
	if f.Line > 0 {
		s += ":" + strconv.Itoa(f.Line)
	}
	if f.Path != "" {
		s += ": " + f.Path
	}
	if f.Want == "" {
		return s + ": " + f.Got
	}
	return s + ": got " + f.Got + ", want " + f.Want
}

// Faults is everything that is wrong with a file, in the order of its lines.
type Faults []Fault

// Error gives one line per fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// or returns fs sorted as an error, or nil when there is none.
func (fs Faults) or() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path))
	})
	return fs
}

// origin is where a table stands, for faults found after it was decoded.
type origin struct {
	file string
	path string
	at   *node
}

func (o origin) fault(key, got, want string) Fault {
	line, path := 0, join(o.path, key)
	if o.at != nil {
		line = o.at.kid(key).line
	}
	return Fault{File: o.file, Line: line, Path: path, Got: got, Want: want}
}

// join appends a key to a path, quoted where it is not a bare key.
func join(path, key string) string {
	if strings.IndexFunc(key, func(r rune) bool { return r >= 0x80 || !isBare(byte(r)) }) >= 0 || key == "" {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// show gives a value as a fault tells it.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return showText(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return "the float " + strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return "a date or time"
	case map[string]any:
		return "a table"
	case []any:
		return "an array"
	case []map[string]any:
		return "an array of tables"
	}
	return fmt.Sprintf("a %T", v)
}

// showText quotes a string, cut to what fits on a line.
func showText(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(strings.ToValidUTF8(s[:most], "")) + " and " + count(len(s)-most, "byte") + " more"
	}
	return strconv.Quote(s)
}

// choice lists what may stand in a place, the first of it where it is much.
func choice[T ~string](of []T) string {
	const most = 24
	words := make([]string, min(len(of), most))
	for i := range words {
		words[i] = string(of[i])
	}
	if len(of) > most {
		return "one of " + strings.Join(words, ", ") + " and " + strconv.Itoa(len(of)-most) + " more"
	}
	switch len(words) {
	case 0:
		return "nothing: this build knows none"
	case 1:
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}
