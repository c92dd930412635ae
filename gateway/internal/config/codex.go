package config

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Codex is what the catalogue says of a model to Codex, which asks a provider what its models can do.
type Codex struct {
	InstructionsFile string // absolute; empty: weir's own text
	Instructions     string // what it held when the configuration was loaded
	Levels           []string
	DefaultLevel     string
	Truncation       int // tokens that the output of a tool may have
	AutoCompact      int // tokens at which a conversation is summarised; 0: nine tenths of the context
	Visible          bool
	Priority         int // the lowest comes first
	ParallelTools    bool
	ApplyPatch       ApplyPatch
	Images           bool
}

// ApplyPatch is how a model gets to change files.
type ApplyPatch string

// Forms of apply_patch.
const (
	PatchFreeform ApplyPatch = "freeform" // a tool whose input is the patch as it is
	PatchFunction ApplyPatch = "function" // no tool that takes free text
)

// maxInstructions bounds base_instructions_file, in bytes.
const maxInstructions = 64 << 10

func codexLevels() []string { return []string{"low", "medium", "high", "xhigh", "max", "ultra"} }

func builtinCodex() Codex {
	return Codex{
		Levels: codexLevels()[:3], DefaultLevel: "medium", Truncation: 10_000, Visible: true, ParallelTools: true, ApplyPatch: PatchFreeform,
	}
}

func (l *loader) codex(t *table, c *Codex) {
	t.text("base_instructions_file", &c.InstructionsFile, isPath)
	t.texts("reasoning_levels", &c.Levels, isLevel())
	oneOf(t, "default_reasoning", &c.DefaultLevel, codexLevels())
	t.number("truncation", &c.Truncation, 100, 100_000_000)
	t.number("auto_compact", &c.AutoCompact, 0, 100_000_000)
	t.flag("visible", &c.Visible)
	t.number("priority", &c.Priority, 0, 1_000_000)
	t.flag("parallel_tools", &c.ParallelTools)
	oneOf(t, "apply_patch", &c.ApplyPatch, []ApplyPatch{PatchFreeform, PatchFunction})
	t.flag("images", &c.Images)
}

func isLevel() rule {
	return rule{want: choice(codexLevels()), ok: func(s string) bool { return slices.Contains(codexLevels(), s) }}
}

// ReasoningLevels are the efforts that the catalogue offers: those of the entry, else three for a model whose
// reasoning is parsed.
func (m *Model) ReasoningLevels() []string {
	if m.codexGives("reasoning_levels") || m.Reasoning != "" || m.Parser != "" {
		return m.Codex.Levels
	}
	return nil
}

// DefaultReasoning is the level that holds where nobody chose one: that of the entry, else medium, else the middle of
// the levels. It is empty where there are none.
func (m *Model) DefaultReasoning() string {
	levels := m.ReasoningLevels()
	switch {
	case len(levels) == 0:
		return ""
	case slices.Contains(levels, m.Codex.DefaultLevel):
		return m.Codex.DefaultLevel
	}
	return levels[len(levels)/2]
}

// codexGives reports whether the entry's table for Codex names a key.
func (m *Model) codexGives(key string) bool {
	return m.Given("codex") && m.origin.at.kid("codex").kids[key] != nil
}

// checkCodex compares what the catalogue will say with the model, and reads the instructions.
func (l *loader) checkCodex(m *Model) {
	o := m.origin.table("codex")
	if l.clean(o, "reasoning_levels", "default_reasoning") {
		l.checkLevels(m, o)
	}
	known := m.Given("context") || !m.HasFiles()
	if known && m.Codex.AutoCompact > m.Context && l.clean(m.origin, "context") && l.clean(o, "auto_compact") {
		l.add(o.fault("auto_compact", show(int64(m.Codex.AutoCompact)), "at most context ("+show(int64(m.Context))+")"))
	}
	const key = "base_instructions_file"
	given := m.Codex.InstructionsFile
	if m.Codex.InstructionsFile = l.resolve(o, key, given); m.Codex.InstructionsFile == "" {
		return
	}
	text, lacks := readInstructions(m.Codex.InstructionsFile)
	if lacks != "" {
		l.add(o.fault(key, showText(given)+lacks, "a file of text, at most "+formatSize(maxInstructions)))
	}
	m.Codex.Instructions = text
}

func (l *loader) checkLevels(m *Model, o origin) {
	levels := m.Codex.Levels
	for i, level := range levels {
		if slices.Contains(levels[:i], level) {
			l.add(o.element("reasoning_levels", i).here(showText(level)+" a second time", "each level once"))
			return
		}
	}
	if !m.codexGives("default_reasoning") {
		return
	}
	got := showText(m.Codex.DefaultLevel)
	switch {
	case len(levels) == 0, !m.HasFiles() && len(m.ReasoningLevels()) == 0:
		l.add(o.fault("default_reasoning", got+" and no levels", "reasoning_levels that have it"))
	case !slices.Contains(levels, m.Codex.DefaultLevel):
		l.add(o.fault("default_reasoning", got, choice(levels)+", as in reasoning_levels"))
	}
}

// readInstructions returns the text of a file, or what is wrong with it.
func readInstructions(path string) (text, lacks string) {
	if lacks := readable(path); lacks != "" {
		return "", lacks
	}
	data, err := readAtMost(path, maxInstructions+1)
	switch {
	case err != nil:
		return "", ", which cannot be read"
	case len(data) > maxInstructions:
		return "", ", which is longer"
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", ", which is not UTF-8"
	case strings.TrimSpace(string(data)) == "":
		return "", ", which is empty"
	}
	return string(data), ""
}
