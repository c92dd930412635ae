package guesttest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// Bounds of law L3, in bytes: the longest marker, what may be held, and how far arguments and values may
// lag behind the input: a closer, what must follow it to make it one, and white space.
const (
	maxMarker = 64
	maxHeld   = maxMarker + abi.MaxHeader + abi.MaxSpace
	maxLag    = 2*maxMarker + abi.MaxSpace
)

// Sizes of a run.
const (
	allSplits  = 600 // inputs up to this length are cut at every byte
	someSplits = 200 // longer ones at so many places
	seeds      = 8   // random chunkings
	mutants    = 48  // damaged inputs a case
)

// Run holds the guest that open returns to every law with every case:
//
//	L1 any chunking gives the same trace, which is Want where that is set
//	L2 the records' bytes are the input, and nothing is left after finish
//	L3 what is held is a marker, a header or white space in front of one
//	L5 no fault on damaged input, which keeps the other laws
//	L6 the grammar of records
//	L7 every byte comes as content or as a marker, without an error
//	L8 the same input gives the same trace, also between other streams on the same guest
//
// L4 has functions of its own, Linear and BenchLinear. A case that is Raw is held to L2 alone. A sticky
// guest is opened for each stream, another one once for each case.
func Run(t *testing.T, open func(tb testing.TB) host.Guest, cases []Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			s := &suite{open: func() host.Guest { return open(t) }, c: c}
			if err := s.laws(); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("interleaved", func(t *testing.T) {
		if err := interleaved(open(t), cases); err != nil {
			t.Fatal(err)
		}
	})
}

// suite is one case under test.
type suite struct {
	open  func() host.Guest
	c     Case
	guest host.Guest
}

// laws returns the first broken one.
func (s *suite) laws() error {
	if s.c.Raw {
		return s.raw()
	}
	want, err := s.whole()
	if err != nil {
		return err
	}
	for _, law := range [...]func() error{func() error { return s.chunkings(want) }, s.latency, s.damaged} {
		if err := law(); err != nil {
			return err
		}
	}
	return nil
}

// stream returns a guest for a new stream.
func (s *suite) stream() host.Guest {
	if s.guest == nil || len(s.guest.Template()) == 0 {
		s.guest = s.open()
	}
	return s.guest
}

// run returns the detailed trace of c.
func (s *suite) run(c Case, split func(n int) []int) (string, error) {
	tr, err := run(s.stream(), c, split, nil)
	if err != nil {
		return "", fmt.Errorf("%w\ntrace:\n%s", err, tr.trace())
	}
	return tr.detailed(), nil
}

// whole is the run that the others are compared with, twice (L8).
func (s *suite) whole() (string, error) {
	tr, err := run(s.stream(), s.c, Whole, nil)
	if err != nil {
		return "", fmt.Errorf("%w\ntrace:\n%s", err, tr.trace())
	}
	if want := strings.TrimSpace(s.c.Want); want != "" && strings.TrimSpace(tr.trace()) != want {
		return "", fmt.Errorf("trace:\n%s\nwant:\n%s", tr.trace(), want)
	}
	again, err := s.run(s.c, Whole)
	if err == nil && again != tr.detailed() {
		err = fmt.Errorf("%w: L8: a second run gives\n%s\nthe first gave\n%s", ErrLaw, again, tr.detailed())
	}
	return again, err
}

// chunkings is law L1. A trace only grows, so equal traces also say that no chunking ever delivered
// something that the whole run does not have there.
func (s *suite) chunkings(want string) error {
	n := len(s.c.Input)
	for _, size := range [...]int{1, 2, 3, 5, 7} {
		if err := s.same(s.c, want, Every(size)); err != nil {
			return err
		}
	}
	step := 1
	if n > allSplits {
		step = n/someSplits + 1
	}
	for i := 1; i < n; i += step {
		if err := s.same(s.c, want, At(i)); err != nil {
			return err
		}
	}
	for seed := range uint64(seeds) {
		if err := s.same(s.c, want, Random(seed)); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) same(c Case, want string, split func(n int) []int) error {
	got, err := s.run(c, split)
	if err == nil && got != want {
		err = fmt.Errorf("%w: L1: trace:\n%s\nthe whole gave\n%s", ErrLaw, got, want)
	}
	if err != nil {
		return fmt.Errorf("input %q %s: %w", c.Input, Chunks(split(len(c.Input))), err)
	}
	return nil
}

// latency is law L3, seen with single bytes.
func (s *suite) latency() error {
	var over error
	tr, err := run(s.stream(), s.c, Every(1), func(st *host.Stream, fed int) {
		if st.Held() > maxHeld && over == nil {
			over = fmt.Errorf("%w: L3: %d bytes held after %q, at most %d", ErrLaw, st.Held(), s.c.Input[:fed], maxHeld)
		}
	})
	if err != nil {
		return err
	}
	if over != nil {
		return over
	}
	return lags(tr.log, s.c.Input)
}

// plainText are characters that no markup begins with.
const plainText = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n.,"

// lags checks how many bytes each piece of content waited. Text and reasoning may have been held as a
// header that did not become one; text without any markup waits for nothing but white space.
func lags(log []delivery, input string) error {
	plain := strings.Trim(input, plainText) == ""
	at := 0
	for _, d := range log {
		bound := maxHeld
		switch d.kind {
		case record.Text, record.Reasoning:
			if plain {
				bound = maxMarker
			}
		case record.Args, record.Value:
			bound = maxLag
		}
		if lag := d.fed - at; d.n > 0 && lag > bound {
			return fmt.Errorf("%w: L3: %v %q waited for %d bytes, at most %d", ErrLaw, d.kind, input[at:at+d.n], lag, bound)
		}
		at += d.n
	}
	return nil
}

// damaged is law L5, and L1 for inputs that no author thought of.
func (s *suite) damaged() error {
	r := rand.New(rand.NewPCG(1, uint64(len(s.c.Input))))
	for i := range mutants {
		m := mutant(s.c, r)
		m.Why = abi.Why(1 + r.IntN(4))
		whole, err := s.run(m, Whole)
		if err != nil {
			return fmt.Errorf("damaged input %q: %w", m.Input, err)
		}
		for _, split := range [...]func(n int) []int{Every(1), Random(uint64(i))} {
			if err := s.same(m, whole, split); err != nil {
				return fmt.Errorf("damaged %w", err)
			}
		}
	}
	return nil
}

// raw holds a hostile guest to L2: whatever it does, no byte is lost. Its trace is checked for the whole.
func (s *suite) raw() error {
	want := strings.TrimSpace(s.c.Want)
	for i, split := range [...]func(n int) []int{Whole, Every(1), Every(3), Random(1), Random(2)} {
		s.guest = nil
		tr, err := run(s.stream(), s.c, split, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", Chunks(split(len(s.c.Input))), err)
		}
		if i == 0 && want != "" && strings.TrimSpace(tr.trace()) != want {
			return fmt.Errorf("trace:\n%s\nwant:\n%s", tr.trace(), want)
		}
	}
	return nil
}

// together is how many streams take turns.
const together = 4

// interleaved is the other half of L8: streams that take turns on one guest do not see each other.
func interleaved(g host.Guest, cases []Case) error {
	if len(g.Template()) == 0 {
		return nil
	}
	for from := 0; from < len(cases); from += together {
		var streams []*turn
		for i, c := range cases[from:min(from+together, len(cases))] {
			if c.Raw {
				continue
			}
			u, err := newTurn(g, c, uint64(from+i))
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			streams = append(streams, u)
		}
		if err := takeTurns(streams); err != nil {
			return err
		}
		for _, u := range streams {
			alone, err := run(g, u.c, Whole, nil)
			if err != nil {
				return fmt.Errorf("%s: %w", u.c.Name, err)
			}
			if got, want := u.tracer.detailed(), alone.detailed(); got != want {
				return fmt.Errorf("%w: L8: %s between other streams gives\n%s\nalone\n%s", ErrLaw, u.c.Name, got, want)
			}
		}
	}
	return nil
}

func takeTurns(streams []*turn) error {
	for busy := true; busy; {
		busy = false
		for _, u := range streams {
			more, err := u.step()
			if err != nil {
				return fmt.Errorf("%s between other streams: %w", u.c.Name, err)
			}
			busy = busy || more
		}
	}
	return nil
}

// turn is a stream that is fed step by step.
type turn struct {
	c      Case
	guard  *guarded
	tracer *tracer
	stream *host.Stream
	sizes  []int
	pos    int
	over   bool
}

func newTurn(g host.Guest, c Case, seed uint64) (*turn, error) {
	u := &turn{c: c, guard: &guarded{guest: g}, tracer: &tracer{accept: c.Accept, lax: c.Raw}, sizes: pieces(c, Random(seed))}
	var err error
	u.stream, err = host.Open(u.guard, u.tracer, c.Start.Append(nil))
	return u, err
}

// step feeds one piece, or finishes; it reports whether there is more to do.
func (u *turn) step() (bool, error) {
	if u.over {
		return false, nil
	}
	if len(u.sizes) == 0 {
		u.over = true
		return false, finish(u.stream, u.guard, u.tracer, u.c)
	}
	n := u.sizes[0]
	u.sizes = u.sizes[1:]
	p := bytes.Clone([]byte(u.c.Input[u.pos : u.pos+n]))
	err := u.stream.Feed(p, within(u.c.Spans, u.pos, n), false)
	spoil(p)
	u.pos += n
	if err != nil {
		err = cause(u.stream, u.guard, u.c, err)
	}
	return true, err
}
