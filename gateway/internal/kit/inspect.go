package kit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// Inspection is what can be said of a module. Manifest and Load are there only where nothing refuses it:
// no code of a refused module is run.
type Inspection struct {
	File      string     `json:"file"`
	Size      int        `json:"size"`
	SHA256    string     `json:"sha256"`
	Sections  []Section  `json:"sections"`
	Imports   []Function `json:"imports"`
	Exports   []Function `json:"exports"`
	Memories  []Pages    `json:"memories"`
	Tables    []Pages    `json:"tables"`
	Functions int        `json:"functions"`
	Manifest  *Manifest  `json:"manifest,omitempty"`
	Load      *Load      `json:"load,omitempty"`
	Limits    Limits     `json:"limits"`
	Refused   []string   `json:"refused"` // every reason that was found
}

// Manifest is what a plugin says of itself.
type Manifest struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	ABI         int      `json:"abi"`
	Kinds       []string `json:"kinds"`
	Description string   `json:"description,omitempty"`
	License     string   `json:"license,omitempty"`
	Families    []string `json:"families,omitempty"`
	Reasoning   []string `json:"reasoning,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	Policies    []string `json:"policies,omitempty"`
	Renderers   []string `json:"renderers,omitempty"`
	Content     []string `json:"content,omitempty"` // what its renderers ask to read
}

// Load is what the first instance took.
type Load struct {
	Fuel   int64 `json:"fuel"`   // of the dearest call, in instructions
	Memory int   `json:"memory"` // bytes
}

// Limits are some of what the sandbox holds a plugin to.
type Limits struct {
	Size        int `json:"size"`         // bytes of a module
	MemoryPages int `json:"memory_pages"` // of 64 KiB
	Depth       int `json:"depth"`        // functions open at a time
	Records     int `json:"records"`      // of a call
	Held        int `json:"held"`         // bytes left unconsumed by a call
}

// Inspect reads a module, and runs it only to get its manifest, if nothing refuses it.
func Inspect(ctx context.Context, file string, wasm []byte) *Inspection {
	m := readImage(wasm)
	digest := sha256.Sum256(wasm)
	d := sandbox.DefaultLimits()
	in := &Inspection{
		File: file, Size: len(wasm), SHA256: hex.EncodeToString(digest[:]),
		Sections: m.sections, Imports: m.imports, Exports: m.exports, Memories: m.memories, Tables: m.tables, Functions: m.functions,
		Limits:  Limits{Size: d.Size, MemoryPages: d.MemoryPages, Depth: d.Depth, Records: abi.MaxRecords, Held: abi.MaxHeld},
		Refused: refusals(wasm, m),
	}
	if len(in.Refused) > 0 {
		if m.err == nil {
			in.Refused = append(in.Refused, manifestFaults(ctx, wasm)...)
		}
		return in
	}
	load := &Load{}
	h, err := plughost.New(plughost.Options{OnCall: func(c plughost.CallStats) {
		load.Fuel, load.Memory = max(load.Fuel, c.Fuel), max(load.Memory, c.Memory)
	}})
	if err == nil {
		var p *plughost.Plugin
		if p, err = h.Load(ctx, "", wasm, file); err == nil {
			in.Manifest, in.Load = manifestOf(p), load
			p.Retire()
		}
	}
	if err != nil {
		in.Refused = reasons(strings.TrimPrefix(err.Error(), "plugin "+file+": "))
		if terminated(err, wasm) {
			in.Refused[len(in.Refused)-1] += " (a zero byte: is the terminator counted?)"
		}
	}
	return in
}

func manifestOf(p *plughost.Plugin) *Manifest {
	m := p.Manifest
	return &Manifest{
		Name: m.Name, Version: m.Version, ABI: m.ABI, Kinds: m.Kinds, Description: m.Description, License: m.License,
		Families: m.Families, Reasoning: m.Reasoning, Tools: m.Tools, Policies: m.Policies,
		Renderers: m.Renderers, Content: contents(m.Content),
	}
}

// refusals lists what the sandbox has against a module. It names one fault and stops, so it is asked once
// for each limit, with all others out of the way; what it would not come to is looked for in m.
func refusals(wasm []byte, m *image) []string {
	var out []string
	add := func(text string) {
		if text = strings.TrimPrefix(text, sandbox.ErrModule.Error()+": "); text != "" && len(out) < maxReasons && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if _, _, err := sandbox.Prepare(wasm, sandbox.DefaultLimits()); err == nil {
		return exportFaults(m)
	} else if add(advised(err.Error())); m.err != nil {
		return out // it cannot be read: whatever else is found is a guess
	}
	limits := sandbox.DefaultLimits()
	for k := range reflect.ValueOf(limits).NumField() {
		one := limits
		wide := reflect.ValueOf(&one).Elem()
		for j := range wide.NumField() {
			if f := wide.Field(j); j != k && f.CanInt() && f.CanSet() {
				f.SetInt(1 << 30)
			}
		}
		if _, err := sandbox.Inspect(wasm, one); err != nil {
			add(advised(err.Error()))
		}
	}
	told := func(word string) bool {
		return slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, word) })
	}
	for _, f := range importFaults(m) {
		if !told(f.name + " ") {
			add(advised(f.text))
		}
	}
	for _, text := range shapeFaults(m, limits, told) {
		add(text)
	}
	for _, text := range exportFaults(m) {
		add(text)
	}
	return out
}

// shapeFaults lists what a plugin may not have beside imports, unless it was told already.
func shapeFaults(m *image, limits sandbox.Limits, told func(word string) bool) []string {
	var out []string
	add := func(text string) { out = append(out, text) }
	if m.start && !told("start") {
		add("start section: what runs first is named " + abi.ExportInitialize)
	}
	if len(m.memories) > 1 && !told("memory section") {
		add(fmt.Sprintf("memory section: %d memories, want one", len(m.memories)))
	}
	for _, mem := range m.memories {
		if mem.Shared && !told("shared") {
			add("memory section: a memory is shared")
		}
		if int64(mem.Min) > int64(limits.MemoryPages) && !told("pages") {
			add(fmt.Sprintf("memory section: %d pages at first, at most %d", mem.Min, limits.MemoryPages))
		}
	}
	return out
}

// reasons are the lines of an error that joins several.
func reasons(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// Write prints what was found.
func (in *Inspection) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  size      %d bytes, of %d at most\n  sha256    %s\n  functions %d, calls nest %d deep at most\n",
		in.File, in.Size, in.Limits.Size, in.SHA256, in.Functions, in.Limits.Depth)
	for _, m := range in.Memories {
		fmt.Fprintf(&b, "  memory    %s pages of 64 KiB, of %d at most\n", m, in.Limits.MemoryPages)
	}
	for _, t := range in.Tables {
		fmt.Fprintf(&b, "  table     %s elements\n", t)
	}
	fmt.Fprintf(&b, "  sections ")
	for _, s := range in.Sections {
		fmt.Fprintf(&b, " %s %d;", s.Name, s.Size)
	}
	fmt.Fprintf(&b, "\n  imports   %d\n", len(in.Imports))
	for _, f := range in.Imports {
		fmt.Fprintf(&b, "    %s.%s %s\n", f.Module, f.Name, f.Type)
	}
	fmt.Fprintf(&b, "  exports   %d\n", len(in.Exports))
	for _, f := range in.Exports {
		fmt.Fprintf(&b, "    %s %s\n", f.Name, f.Type)
	}
	if m := in.Manifest; m != nil {
		fmt.Fprintf(&b, "  manifest  %s %s, ABI %d, %s\n", m.Name, m.Version, m.ABI, strings.Join(m.Kinds, " and "))
		for _, l := range [...]struct {
			name  string
			names []string
		}{{"reasoning", m.Reasoning}, {"tools", m.Tools}, {"policies", m.Policies}, {"renderers", m.Renderers}, {"reads", m.Content}, {"families", m.Families}} {
			if len(l.names) > 0 {
				fmt.Fprintf(&b, "    %s: %s\n", l.name, strings.Join(l.names, ", "))
			}
		}
		fmt.Fprintf(&b, "  at load   %d instructions in the dearest call, %d KiB of memory\n", in.Load.Fuel, in.Load.Memory>>10)
	}
	if len(in.Refused) == 0 {
		b.WriteString("\nthe sandbox takes it\n")
	} else {
		b.WriteString("\nrefused:\n")
		for _, text := range in.Refused {
			fmt.Fprintf(&b, "  %s\n", text)
		}
	}
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

// plain has nothing in it that a terminal takes for a command: names in a module may be anything.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// String is "3" or "3 to 16".
func (p Pages) String() string {
	s := strconv.FormatUint(uint64(p.Min), 10)
	if p.Max != nil {
		s += " to " + strconv.FormatUint(uint64(*p.Max), 10)
	}
	if p.Shared {
		s += " shared"
	}
	return s
}
