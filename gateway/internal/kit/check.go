// Package kit is what `weir plugin` does for the author of a plugin: it writes a project, builds it, looks
// into a module, holds it to the laws of the ABI, and measures it.
package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// CheckOptions says what a plugin is checked with.
type CheckOptions struct {
	File     string   // for messages
	CacheDir string   // of compiled code; see plughost.Options
	Config   string   // the one configuration to check; empty means all that the manifest allows
	Samples  []Sample // output of the model, beside the built-in corpus
	Families []Family // configurations with inputs of their own
}

// Family is a configuration with inputs, and what they must give where their Want says so.
type Family struct {
	Name   string
	Config string
	Cases  []guesttest.Case
}

// maxConfigs bounds the configurations of one run.
const maxConfigs = 256

// effort is how much is tried with one configuration.
type effort struct {
	random     int // inputs made up
	allSplits  int // inputs up to this length are cut at every byte
	someSplits int // longer ones at so many places
	long       int // inputs of 32 and 64 KB
}

// effortFor keeps a run with many configurations below a minute.
func effortFor(configs int) effort {
	if configs > 16 {
		return effort{random: 8, allSplits: 100, someSplits: 20, long: 3}
	}
	return effort{random: 40, allSplits: 400, someSplits: 80, long: 16}
}

// Check holds a plugin to the ABI and to the laws of parsing, as far as that can be seen from outside. The
// same module and options give the same report. It fails only where it cannot run, and for options that the
// plugin has no use for: whatever the module does is a verdict.
func Check(ctx context.Context, wasm []byte, o CheckOptions) (*Report, error) {
	if err := validConfig(o.Config); err != nil {
		return nil, err
	}
	in := Inspect(ctx, o.File, wasm)
	r := &Report{File: o.File, SHA256: in.SHA256, OK: true, Manifest: in.Manifest}
	if len(in.Refused) > 0 {
		for _, text := range in.Refused {
			r.fail("load", "", "", text)
		}
		return r, nil
	}
	r.pass("load", "%d bytes, %d imports, %d functions, sha256 %.12s", in.Size, len(in.Imports), in.Functions, in.SHA256)
	h, err := plughost.New(plughost.Options{CacheDir: o.CacheDir, OnCall: r.Peaks.observe})
	if err != nil {
		return nil, err
	}
	src := &source{host: h, wasm: wasm, file: o.File}
	defer src.close()
	p, err := src.plugin(ctx)
	if err != nil {
		r.fail("load", "", "", oneLine(err))
		return r, nil
	}
	m := p.Manifest
	if len(o.Samples) > 0 && !m.Is(plughost.KindParser) {
		return nil, fmt.Errorf("%w: samples of output (--corpus) are for parsers, and %s is a template policy", ErrUsage, m.Name)
	}
	r.pass("manifest", "%s %s, %s", m.Name, m.Version, strings.Join(m.Kinds, " and "))
	if m.Is(plughost.KindParser) {
		if err := checkParser(ctx, r, src, &m, o); err != nil {
			return nil, err
		}
	}
	if m.Is(plughost.KindTemplate) {
		if err := checkPolicy(ctx, r, src, &m, o); err != nil {
			return nil, err
		}
	}
	if m.Renders() {
		if err := checkRenderers(ctx, r, src, &m, o); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// source gives the plugin, loaded anew from time to time: each configuration that it was asked for keeps
// instances.
type source struct {
	host  *plughost.Host
	wasm  []byte
	file  string
	now   *plughost.Plugin
	asked int
}

func (s *source) plugin(ctx context.Context) (*plughost.Plugin, error) {
	const most = 32
	if s.asked++; s.now != nil && s.asked <= most {
		return s.now, nil
	}
	s.close()
	p, err := s.host.Load(ctx, "", s.wasm, s.file)
	if err != nil {
		return nil, err
	}
	s.now, s.asked = p, 0
	return p, nil
}

func (s *source) close() {
	if s.now != nil {
		s.now.Retire()
		s.now = nil
	}
}

// bare is the configuration that a gateway gives a plugin that a model names as its parser.
const bare = "{}"

// parserConfigs are the configurations that a manifest allows: the bare one, and each pair of formats, none
// included.
func parserConfigs(m *plughost.Manifest) []string {
	var out []string
	for _, reasoning := range append([]string{""}, m.Reasoning...) {
		for _, tools := range append([]string{""}, m.Tools...) {
			out = append(out, fmt.Sprintf(`{"reasoning": %s, "tools": %s}`, strconv.Quote(reasoning), strconv.Quote(tools)))
		}
	}
	slices.Reverse(out) // the whole before its parts
	if len(m.Reasoning)+len(m.Tools) == 0 {
		return []string{bare}
	}
	return append([]string{bare}, out...)
}

func checkParser(ctx context.Context, r *Report, src *source, m *plughost.Manifest, o CheckOptions) error {
	configs := []string{o.Config}
	if o.Config == "" {
		configs = parserConfigs(m)
		// A plugin that lists no formats need not look at its configuration.
		if len(configs) > 1 {
			if err := checkOpen(ctx, r, src, plughost.KindParser, configs[1], `{"reasoning": "no-such-format"}`, `{"tools": "no-such-format"}`); err != nil {
				return err
			}
		}
		if n := len(configs); n > maxConfigs {
			configs = configs[:maxConfigs]
			r.note("configs", "", "only the first %d of %d pairs of formats are checked", maxConfigs, n)
		}
	}
	if slices.ContainsFunc(readImage(src.wasm).exports, func(f Function) bool { return f.Name == abi.ExportReserve }) {
		if err := checkReserve(ctx, r, src, configs[0]); err != nil {
			return err
		}
	}
	e := effortFor(len(configs))
	samples := slices.Concat(generic(), o.Samples)
	samples = append(samples, made(e.random, dictionary(src.wasm, o.Samples), samples)...)
	cases := make([]guesttest.Case, 0, len(samples))
	for _, s := range samples {
		cases = append(cases, guesttest.Case{Name: s.Name, Input: s.Text})
	}
	for _, config := range configs {
		if err := checkLaws(ctx, r, src, Family{Config: config, Cases: cases}, e); err != nil {
			return err
		}
	}
	for _, f := range o.Families {
		if err := checkLaws(ctx, r, src, f, e); err != nil {
			return err
		}
	}
	if what := r.seen.unseen(m); what != "" && r.OK {
		r.note("formats", "", "no input had %s: check knows the laws and not the format; give samples with --corpus, and look at them with weir parse", what)
	}
	return nil
}

// checkOpen holds open to its two rules: members that it does not know are ignored, names are not. good names what
// the plugin lists; that it opens at all is told where it is checked.
func checkOpen(ctx context.Context, r *Report, src *source, kind, good string, bad ...string) error {
	p, err := src.plugin(ctx)
	if err != nil {
		return err
	}
	longer := `{"x-later": {"tools": ["a\"}"]}, ` + strings.TrimPrefix(good, "{")
	if !opens(p, kind, good) {
		return nil
	}
	if err := open(p, kind, longer); err != nil {
		r.fail("open", "", "config "+longer, "a member that is not known must be ignored: "+oneLine(err))
		return nil
	}
	for _, config := range bad {
		switch err := open(p, kind, config); {
		case err == nil:
			r.fail("open", "", "config "+config, "a name that is not known must be an error, got 0")
		case !errors.Is(err, plughost.ErrConfig):
			r.fail("open", "", "config "+config, "expected an error code, got "+oneLine(err))
		default:
			r.pass("open", "%s is refused, members that are not known are ignored", config)
		}
	}
	return nil
}

// kindRenderer is for open what kinds of plugins are: a manifest tells renderers by their names.
const kindRenderer = "renderer"

// open opens a plugin with a configuration, as one of its kinds.
func open(p *plughost.Plugin, kind, config string) error {
	var err error
	switch kind {
	case plughost.KindTemplate:
		_, err = p.Planner([]byte(config))
	case kindRenderer:
		_, err = p.Renderer([]byte(config))
	default:
		_, err = p.Parser([]byte(config))
	}
	return err
}

func opens(p *plughost.Plugin, kind, config string) bool { return open(p, kind, config) == nil }

// checkReserve opens a parser with a configuration that is longer than most input buffers, if it opens with one
// that is not.
func checkReserve(ctx context.Context, r *Report, src *source, config string) error {
	p, err := src.plugin(ctx)
	if err != nil {
		return err
	}
	if !opens(p, plughost.KindParser, config) {
		return nil // it is told where its laws are checked
	}
	const long = 60_000
	if _, err := p.Parser([]byte(config + strings.Repeat(" ", long))); err != nil {
		r.fail("reserve", "", fmt.Sprintf("config %s and %d spaces", config, long), oneLine(err))
		return nil
	}
	r.pass("reserve", "a configuration of %d bytes finds room", len(config)+long)
	return nil
}

// validConfig reports what is wrong with a configuration that a user gave.
func validConfig(config string) error {
	if config == "" {
		return nil
	}
	s := jsonscan.NewReader([]byte(config))
	err := s.Object(func([]byte) error {
		_, err := s.Raw()
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return fmt.Errorf("%w: configuration is no JSON object: %w", ErrUsage, err)
	}
	return nil
}
