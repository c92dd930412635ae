package plughost

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
)

// Kinds of plugins, as a manifest names them.
const (
	KindParser   = "parser"
	KindTemplate = "template"
)

// Manifest is what a module says of itself.
type Manifest struct {
	Name        string   // what configuration calls it
	Version     string   // of the plugin
	ABI         int      // abi.Version
	Kinds       []string // KindParser, KindTemplate or both
	Description string
	License     string
	Families    []string     // template families its policies serve
	Reasoning   []string     // reasoning formats its parser knows
	Tools       []string     // tool-call formats its parser knows
	Policies    []string     // template policies by name
	Renderers   []string     // renderers by name
	Content     plan.Content // what its renderers ask to read
}

// Is reports whether the plugin is of a kind.
func (m *Manifest) Is(kind string) bool { return slices.Contains(m.Kinds, kind) }

// Renders reports whether the plugin has a renderer.
func (m *Manifest) Renders() bool { return m.Is(KindTemplate) && len(m.Renderers) > 0 }

// Bounds of a manifest's members, in bytes and entries.
const (
	maxNameLen  = 64
	maxTextLen  = 1024
	maxNamesLen = 256
)

// errManifest is wrapped by every error of parseManifest.
var errManifest = errors.New("manifest")

// parseManifest reads a manifest strictly: unknown and repeated members, wrong types and bad names are
// errors.
func parseManifest(b []byte) (*Manifest, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty: the module exports no program (a Go guest calls guest.Export from init)", errManifest)
	}
	m := &Manifest{}
	seen := map[string]bool{}
	r := jsonscan.NewReader(b)
	err := r.Object(func(key []byte) error {
		name := string(key)
		if seen[name] {
			return fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if err := m.member(r, name); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		return nil
	})
	if err == nil {
		err = r.End()
	}
	if err == nil {
		err = m.check(seen)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errManifest, err)
	}
	return m, nil
}

func (m *Manifest) member(r *jsonscan.Reader, name string) (err error) {
	switch name {
	case "name":
		m.Name, err = readName(r)
	case "version":
		m.Version, err = readText(r, maxNameLen)
	case "abi":
		m.ABI, err = readInt(r)
	case "kinds":
		m.Kinds, err = readNames(r)
	case "description":
		m.Description, err = readText(r, maxTextLen)
	case "license":
		m.License, err = readText(r, maxTextLen)
	case "families":
		m.Families, err = readNames(r)
	case "reasoning":
		m.Reasoning, err = readNames(r)
	case "tools":
		m.Tools, err = readNames(r)
	case "policies":
		m.Policies, err = readNames(r)
	case "renderers":
		m.Renderers, err = readNames(r)
	case "content":
		m.Content, err = readContent(r)
	default:
		err = errors.New("unknown member")
	}
	return err
}

func (m *Manifest) check(seen map[string]bool) error {
	for _, k := range []string{"name", "version", "abi", "kinds"} {
		if !seen[k] {
			return fmt.Errorf("%q is missing", k)
		}
	}
	if m.Version == "" {
		return errors.New(`"version" is empty`)
	}
	if m.ABI != abi.Version {
		return fmt.Errorf(`"abi": got %d, want %d`, m.ABI, abi.Version)
	}
	if len(m.Kinds) == 0 {
		return errors.New(`"kinds" is empty`)
	}
	for _, k := range m.Kinds {
		if k != KindParser && k != KindTemplate {
			return fmt.Errorf(`"kinds": got %q, want "parser" or "template"`, k)
		}
	}
	if len(m.Renderers) > 0 && !m.Is(KindTemplate) {
		return errors.New(`"renderers": "kinds" has no "template"`)
	}
	return nil
}

// readContent reads what a renderer asks to read: names, or all with true and nothing with false.
func readContent(r *jsonscan.Reader) (plan.Content, error) {
	if r.Peek() == jsonscan.Bool {
		b, err := r.Raw()
		if err != nil || string(b) == "false" {
			return 0, err
		}
		return plan.ReadAll, nil
	}
	names, err := readNames(r)
	if err != nil {
		return 0, err
	}
	var c plan.Content
	for _, name := range names {
		switch name {
		case "text":
			c |= plan.ReadText
		case "arguments":
			c |= plan.ReadArguments
		case "tools":
			c |= plan.ReadTools
		default:
			return 0, fmt.Errorf("got %q, want \"text\", \"arguments\" or \"tools\"", name)
		}
	}
	return c, nil
}

func readText(r *jsonscan.Reader, limit int) (string, error) {
	b, err := r.Text(nil)
	if err != nil {
		return "", err
	}
	if len(b) > limit {
		return "", fmt.Errorf("%d bytes, at most %d", len(b), limit)
	}
	return string(b), nil
}

// readName reads a name: lower-case letters, digits, '_', '-' and '.', not beginning with a sign.
func readName(r *jsonscan.Reader) (string, error) {
	s, err := readText(r, maxNameLen)
	if err != nil {
		return "", err
	}
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '_' || c == '-' || c == '.') {
			continue
		}
		return "", fmt.Errorf("%q is not a name (a-z, 0-9, then also _ - .)", s)
	}
	if s == "" {
		return "", errors.New("the name is empty")
	}
	return s, nil
}

func readNames(r *jsonscan.Reader) ([]string, error) {
	var out []string
	err := r.Array(func(i int) error {
		if i == maxNamesLen {
			return fmt.Errorf("more than %d entries", maxNamesLen)
		}
		s, err := readName(r)
		if err != nil {
			return err
		}
		if slices.Contains(out, s) {
			return fmt.Errorf("%q is there twice", s)
		}
		out = append(out, s)
		return nil
	})
	return out, err
}

func readInt(r *jsonscan.Reader) (int, error) {
	b, err := r.Raw()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return 0, fmt.Errorf("%.20s is not a whole number", b)
	}
	return n, nil
}
