package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// Sizes of a run.
const (
	seeds    = 6             // random chunkings
	maxFuel  = 1_000_000_000 // instructions with one configuration; a scanner takes a tenth
	maxFails = 4             // broken laws of one configuration after which the rest is not run
)

// rule is a line of the report.
type rule struct{ id, text string }

var rules = [...]rule{
	{"L1", "any chunking gives the same records"},
	{"L2", "the records' bytes are the stream"},
	{"L3", "nothing is held but markers, headers and white space"},
	{"L4", "work grows with the input and no faster"},
	{"L5", "no fault, and every stream ends"},
	{"L6", "records keep to the grammar"},
	{"L7", "what does not parse is text"},
	{"L8", "streams do not see each other"},
	{"window", "any instance goes on where another left off"},
	{"boundary", "nothing is held where the host says decide now"},
	{"verdict", "a refused name is text"},
	{"tools", "nothing is a call without tools"},
	{"corpus", "the records are those that the corpus names"},
}

// laws holds one configuration to every rule.
type laws struct {
	parser *plughost.Parser
	other  *plughost.Parser // the same configuration, on instances of its own
	effort effort
	seen   sight // what the parser made of the inputs
	peaks  *Peaks
	begun  int64 // fuel that was spent before
	runs   map[string]int
	broken map[string]Verdict
}

// checkLaws adds a verdict for each rule.
func checkLaws(ctx context.Context, r *Report, src *source, f Family, e effort) error {
	p, err := src.plugin(ctx)
	if err != nil {
		return err
	}
	name := f.Config
	if f.Name != "" {
		name = f.Name + " " + f.Config
	}
	parser, err := p.Parser([]byte(f.Config))
	if err != nil {
		r.fail("open", name, "", refusal(err, &p.Manifest, f.Config))
		return nil
	}
	// Instances belong to the bytes of a configuration, so white space behind it asks for others.
	other, err := p.Parser([]byte(f.Config + " "))
	if err != nil {
		r.fail("open", name, "", "a second instance: "+oneLine(err))
		return nil
	}
	if parser.Sticky() {
		if !slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Check == "sticky" }) {
			r.note("sticky", "", "there is no state window (ABI.md 10): each stream takes an instance of its own, at most plugins.max_sticky at a time")
		}
		e = effort{allSplits: 24, someSplits: 8} // each stream takes an instance of its own
	}
	k := &laws{parser: parser, other: other, effort: e, peaks: &r.Peaks, runs: map[string]int{}, broken: map[string]Verdict{}}
	r.Peaks.Window = max(r.Peaks.Window, len(parser.Template()))
	k.begun = r.Peaks.total
	for i, c := range f.Cases {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i >= 4 && k.tired() {
			r.note("effort", name, "stopped after %d of %d inputs, since they took %d instructions", i, len(f.Cases), r.Peaks.total-k.begun)
			break
		}
		if k.faulty() || len(k.broken) >= maxFails {
			break // more of the same
		}
		k.input(c)
	}
	if len(k.broken) == 0 && !k.tired() {
		k.interleaved(f.Cases)
		k.linear(f.Cases)
	}
	for _, l := range rules {
		v, broken := k.broken[l.id]
		if !broken {
			if k.runs[l.id] == 0 {
				continue
			}
			v = Verdict{OK: true, Detail: fmt.Sprintf("%d streams", k.runs[l.id])}
		}
		v.Check, v.Config, v.Law = l.id, name, l.text
		r.law(&v)
	}
	r.seen.add(f.Config, k.seen)
	return nil
}

// tired says that the plugin took so much that the rest is not tried.
func (k *laws) tired() bool { return k.peaks.total-k.begun > maxFuel }

// faulty says that a call failed: whatever comes of it breaks other rules too.
func (k *laws) faulty() bool {
	_, records := k.broken["L2"]
	_, fault := k.broken["L5"]
	return records || fault
}

// fail notes the first case that broke a rule.
func (k *laws) fail(id string, c guesttest.Case, cut []int, detail string) {
	if _, ok := k.broken[id]; ok {
		return
	}
	place := fmt.Sprintf("%s: input %s", c.Name, clip(c.Input))
	if len(cut) > 1 {
		place += " " + guesttest.Chunks(cut)
	}
	k.broken[id] = Verdict{Detail: detail, Place: place}
}

// outside is what may be wrong where a rule breaks in which only the instances differ.
func outside(id string) string {
	if id == "L8" || id == "window" {
		return " (is state kept outside of the window? ABI.md 10)"
	}
	return ""
}

// circumstance says what a rule does beside feeding, for faults that show there.
func circumstance(id string) string {
	switch id {
	case "boundary":
		return ", in feeds with the boundary flag"
	case "verdict":
		return ", where every name is refused"
	case "tools":
		return ", where there are no tools"
	}
	return outside(id)
}

var lawNumber = regexp.MustCompile(`: (L[1-8]): `)

// blame notes an error that showed while the rule under was looked at, under the rule that it names.
func (k *laws) blame(under string, err error, c guesttest.Case, cut []int) {
	if fault, ok := errors.AsType[*host.Fault](err); ok {
		k.fault(under, fault, c, cut)
		return
	}
	id := "L5"
	if m := lawNumber.FindStringSubmatch(err.Error()); m != nil {
		id = m[1]
	}
	k.fail(id, c, cut, oneLine(err)+circumstance(under))
}

// fault notes a fault: it is L2 where the records are not those of the input, else L5.
func (k *laws) fault(under string, f *host.Fault, c guesttest.Case, cut []int) {
	id, kind := "L5", plughost.KindOf(f.Err)
	if kind == plughost.KindRecords {
		id = "L2"
	}
	k.fail(id, c, cut, fmt.Sprintf("%s (%s)%s", oneLine(f), kind, circumstance(under)))
}

// stream is the guest of a new stream: a sticky plugin has an instance for each.
func (k *laws) stream() (host.Guest, func(), error) {
	if !k.parser.Sticky() {
		return k.parser, func() {}, nil
	}
	s, err := k.parser.Stream()
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

// run feeds c for the rule under and returns what the host took; false if a rule broke.
func (k *laws) run(under string, g host.Guest, c guesttest.Case, split func(n int) []int) (*observer, string, bool) {
	if g == nil {
		s, closeStream, err := k.stream()
		if err != nil {
			k.blame(under, err, c, nil)
			return nil, "", false
		}
		defer closeStream()
		g = s
	}
	o := &observer{guest: g, accept: c.Accept}
	trace, err := guesttest.Trace(o, c, split)
	k.peaks.Held = max(k.peaks.Held, o.held)
	if err != nil && !c.Raw {
		k.blame(under, err, c, split(len(c.Input)))
		return o, trace, false
	}
	k.seen.look(o.pieces)
	for _, id := range [...]string{"L2", "L5", "L6", "L7"} {
		k.runs[id]++
	}
	return o, trace, true
}

// plainText are characters that no markup begins with.
const plainText = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n.,"

// input runs one input through the rules that need no other.
func (k *laws) input(c guesttest.Case) {
	given := c.Start.Tools || c.Want != "" || len(c.Spans) > 0
	if !given {
		c.Start = guest.Start{Tools: true}
	}
	whole, trace, ok := k.run("L5", nil, c, guesttest.Whole)
	if !ok {
		return
	}
	if want := strings.TrimSpace(c.Want); want != "" {
		k.runs["corpus"]++
		if got := strings.TrimSpace(trace); got != want {
			k.fail("corpus", c, nil, fmt.Sprintf("expected %s, got %s", strings.ReplaceAll(want, "\n", "; "), strings.ReplaceAll(got, "\n", "; ")))
		}
	}
	if c.Raw {
		return
	}
	for _, p := range whole.pieces {
		if p.kind >= record.KindIgnored && len(p.text) > 0 {
			k.fail("L7", c, nil, fmt.Sprintf("%v at byte %d: a host skips this kind, so that nobody gets these bytes", p, p.at))
		}
	}
	if whole.at < len(c.Input) && strings.Trim(c.Input, plainText) == "" {
		k.fail("L7", c, nil, fmt.Sprintf("the turn ends at byte %d of plain text, and the rest is dropped", whole.at))
	}
	k.same("L8", nil, c, guesttest.Whole, whole.pieces)
	steps := []func(){
		func() { k.chunkings(c, whole.pieces) }, func() { k.swapped(c, whole.pieces) }, func() { k.refused(c) }, func() { k.decided(c) },
	}
	if !given {
		steps = append(steps, func() { k.ends(c) }, func() { k.toolless(c) })
	}
	for _, step := range steps {
		if k.faulty() {
			return
		}
		step()
	}
}

// same runs c cut in another way and compares.
func (k *laws) same(id string, g host.Guest, c guesttest.Case, split func(n int) []int, want []piece) *observer {
	got, _, ok := k.run(id, g, c, split)
	if !ok {
		return nil
	}
	k.runs[id]++
	if text := differ(got.pieces, want); text != "" {
		k.fail(id, c, split(len(c.Input)), text+outside(id))
	}
	return got
}

// chunkings is L1, and L3 with single bytes.
func (k *laws) chunkings(c guesttest.Case, want []piece) {
	if o := k.same("L1", nil, c, guesttest.Every(1), want); o != nil {
		k.runs["L3"]++
		if o.held > maxHeld {
			k.fail("L3", c, nil, fmt.Sprintf("%d bytes held, at most %d", o.held, maxHeld))
		} else if o.late != "" {
			k.fail("L3", c, nil, o.late)
		}
	}
	for _, size := range [...]int{2, 3, 5, 7} {
		k.same("L1", nil, c, guesttest.Every(size), want)
	}
	n, step := len(c.Input), 1
	if n > k.effort.allSplits {
		step = n/k.effort.someSplits + 1
	}
	for i := 1; i < n && len(k.broken) == 0 && !k.tired(); i += step {
		k.same("L1", nil, c, guesttest.At(i), want)
	}
	for seed := range uint64(seeds) {
		k.same("L1", nil, c, guesttest.Random(seed), want)
	}
}

// swapped is the rule that all state is in the window: calls go to two instances in turn, and each does
// something else in between.
func (k *laws) swapped(c guesttest.Case, want []piece) {
	if k.parser.Sticky() {
		return
	}
	for _, split := range [...]func(n int) []int{guesttest.Every(1), guesttest.Random(7)} {
		k.same("window", &alternating{guests: [2]host.Guest{k.parser, k.other}}, c, split, want)
	}
}

// alternating sends each call to the other of two guests, and spoils what either keeps outside the window.
type alternating struct {
	guests [2]host.Guest
	turn   int
}

func (a *alternating) Template() []byte { return a.guests[0].Template() }

func (a *alternating) next() host.Guest {
	a.turn++
	g := a.guests[a.turn%2]
	noise := [...]string{"<<noise \"[{", "x}]>>", "[call:noise {\"a\":\"", "<think>noise"}[a.turn%4]
	call := host.Call{Window: bytes.Clone(g.Template()), In: []byte(noise)}
	if g.Feed(&call) == nil {
		call.In, call.Records = nil, nil
		_ = g.Finish(&call, abi.WhyAbort) // a fault here shows in the streams of the corpus
	}
	return g
}

func (a *alternating) Start(window, start []byte) error { return a.next().Start(window, start) }
func (a *alternating) Feed(c *host.Call) error          { return a.next().Feed(c) }
func (a *alternating) Finish(c *host.Call, why abi.Why) error {
	return a.next().Finish(c, why)
}

// refused has every name refused: the call is text, at any chunking.
func (k *laws) refused(c guesttest.Case) {
	if k.parser.Sticky() {
		return
	}
	c.Accept = []string{}
	c.Want = ""
	whole, _, ok := k.run("verdict", nil, c, guesttest.Whole)
	if !ok {
		return
	}
	for _, p := range whole.pieces {
		if p.kind == record.Name {
			k.fail("verdict", c, nil, "a call that was refused came again: "+p.String())
		}
	}
	for _, split := range [...]func(n int) []int{guesttest.Every(1), guesttest.Random(11)} {
		k.same("verdict", nil, c, split, whole.pieces)
	}
}

// ends finishes for every reason, and cut short.
func (k *laws) ends(c guesttest.Case) {
	c.Want = ""
	for why := abi.WhyStop; why <= abi.WhyAbort; why++ {
		c.Why = why
		k.run("L5", nil, c, guesttest.Every(3))
		short := c
		short.Input = c.Input[:len(c.Input)*int(why)/5]
		k.run("L5", nil, short, guesttest.Whole)
	}
}

// toolless has no tools, and tools that the request forbids.
func (k *laws) toolless(c guesttest.Case) {
	for _, start := range [...]guest.Start{{}, {Tools: true, Choice: guest.ChoiceNone}} {
		c.Start = start
		o, _, ok := k.run("tools", nil, c, guesttest.Whole)
		if !ok {
			return
		}
		k.runs["tools"]++
		for _, p := range o.pieces {
			if p.kind == record.CallBegin {
				k.fail("tools", c, nil, fmt.Sprintf("expected no call, got %v at byte %d", p, p.at))
				return
			}
		}
	}
}

// decided feeds with the boundary flag: nothing may be held.
func (k *laws) decided(c guesttest.Case) {
	if len(c.Spans) > 0 {
		return
	}
	g, closeStream, err := k.stream()
	if err != nil {
		k.blame("boundary", err, c, nil)
		return
	}
	defer closeStream()
	s, err := host.Open(g, discard{}, c.Start.Append(nil))
	if err != nil {
		return // L5 tells
	}
	rest := []byte(c.Input)
	cut := guesttest.Random(3)(len(rest))
	for _, n := range cut {
		if err := s.Feed(rest[:n], nil, true); err != nil {
			return
		}
		if s.Held() > 0 {
			k.fail("boundary", c, cut, fmt.Sprintf("%d bytes held behind %s", s.Held(), clip(string(rest[:n]))))
			return
		}
		rest = rest[n:]
	}
	_ = s.Finish(abi.WhyStop)
	if f := s.Fault(); f != nil {
		k.fault("boundary", f, c, cut)
		return
	}
	k.runs["boundary"]++
}

// discard drops records and accepts every name.
type discard struct{}

func (discard) Accept([]record.Record, []byte) bool { return true }
func (discard) Record(record.Record, []byte) error  { return nil }
