package plughost_test

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/plughost"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// TestRevoked: what the rules forbid does not serve any more, wherever it comes from.
func TestRevoked(t *testing.T) {
	t.Parallel()
	a, signA, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, signB, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	both, onlyB := plughost.Rules{Trusted: []ed25519.PublicKey{a, b}, Quarantine: 1}, plughost.Rules{Trusted: []ed25519.PublicKey{b}, Quarantine: 1}
	one, two := tiny{version: "1"}.wasm(), tiny{version: "2"}.wasm()
	start := func(t *testing.T) *folder {
		t.Helper()
		f := newFolder(t)
		f.reg.SetRules(both)
		f.write("x.wasm.sig", ed25519.Sign(signA, one))
		f.write("x.wasm", one)
		f.settle()
		f.want("tiny", "1")
		return f
	}
	second := func(f *folder) {
		f.t.Helper()
		f.write("x.wasm.sig", ed25519.Sign(signB, two))
		f.write("x.wasm", two)
		f.settle()
		f.want("tiny", "2")
	}
	t.Run("while its file holds something else", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		f.write("x.wasm", []byte("junk"))
		f.settle()
		f.want("tiny", "1")
		f.reg.SetRules(onlyB)
		f.want("tiny", "")
		f.settle()
		f.want("tiny", "")
	})
	t.Run("while its file holds something else, by its digest", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		f.write("x.wasm", []byte("junk"))
		f.settle()
		f.reg.SetRules(plughost.Rules{Plugins: map[string]plughost.Rule{"tiny": {SHA256: strings.Repeat("0", 64)}}})
		f.want("tiny", "")
	})
	t.Run("as the version to fall back to", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		second(f)
		f.reg.SetRules(onlyB)
		p, err := f.reg.Lookup("tiny")
		if err != nil {
			t.Fatal(err)
		}
		p.Report("", broken())
		_, err = f.reg.Lookup("tiny")
		wantErr(t, err, plughost.ErrQuarantined, "tiny 2")
		wantErr(t, f.reg.Rollback("tiny"), plughost.ErrNoPrevious, "tiny")
	})
	t.Run("after a rollback", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		second(f)
		if err := f.reg.Rollback("tiny"); err != nil {
			t.Fatal(err)
		}
		f.reg.SetRules(onlyB)
		f.want("tiny", "2")
	})
	t.Run("between a file's first sight and its turn", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.reg.SetRules(both)
		f.write("x.wasm.sig", ed25519.Sign(signA, one))
		f.write("x.wasm", one)
		f.scan()
		f.reg.SetRules(onlyB)
		f.settle()
		f.want("tiny", "")
	})
	t.Run("not, where another key has signed it too", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		f.write("x.wasm.sig", ed25519.Sign(signB, one))
		f.settle()
		f.reg.SetRules(onlyB)
		f.want("tiny", "1")
	})
	t.Run("not, where no key was asked for before", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.write("x.wasm.sig", ed25519.Sign(signB, one))
		f.write("x.wasm", one)
		f.settle()
		f.want("tiny", "1")
		f.reg.SetRules(onlyB)
		f.want("tiny", "1")
	})
}

// TestBlockedContent: what was rolled back or quarantined does not come back under another file name or with
// another custom section.
func TestBlockedContent(t *testing.T) {
	t.Parallel()
	one, two := tiny{version: "1"}.wasm(), tiny{version: "2"}.wasm()
	dressed := append(append([]byte(nil), two...), "\x00\x05\x04note"...)
	start := func(t *testing.T) *folder {
		t.Helper()
		f := newFolder(t)
		f.reg.SetRules(plughost.Rules{Quarantine: 1})
		f.write("x.wasm", one)
		f.settle()
		f.write("x.wasm", two)
		f.settle()
		f.want("tiny", "2")
		return f
	}
	gone := func(f *folder) {
		f.t.Helper()
		f.settle()
		f.now = f.now.Add(plughost.HoldFor)
		f.scan()
	}
	t.Run("rolled back", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		if err := f.reg.Rollback("tiny"); err != nil {
			t.Fatal(err)
		}
		f.write("x.wasm", dressed)
		f.settle()
		f.want("tiny", "1")
		f.delete("x.wasm")
		f.write("y.wasm", two)
		gone(f)
		f.settle()
		f.want("tiny", "")
	})
	t.Run("quarantined", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		p, err := f.reg.Lookup("tiny")
		if err != nil {
			t.Fatal(err)
		}
		p.Report("", broken())
		f.want("tiny", "1")
		f.write("x.wasm", dressed)
		f.settle()
		f.want("tiny", "1")
		if err := f.reg.Unquarantine("tiny"); err != nil {
			t.Fatal(err)
		}
		f.settle()
		f.want("tiny", "2")
	})
}

// TestPipesInTheFolder: what is no file is not waited for.
func TestPipesInTheFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no such files")
	}
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newFolder(t)
	f.reg.SetRules(plughost.Rules{Trusted: []ed25519.PublicKey{public}})
	f.write("x.wasm", tiny{}.wasm())
	if err := makePipe(filepath.Join(f.dir, "x.wasm.sig")); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(filepath.Join(f.dir, "y.wasm.sig"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.write("y.wasm", tiny{name: "other"}.wasm())
	f.settle()
	for _, st := range f.reg.Status() {
		if !strings.Contains(st.Err, "not a regular file") {
			t.Errorf("status %+v", st)
		}
	}
}

// TestEarlyReturns: a guest that returns after every byte has the budget of one feed.
func TestEarlyReturns(t *testing.T) {
	t.Parallel()
	// It spends half a million, then says that a call begins at the first byte.
	burn := w.I32Const(100_000) + w.LocalSet(3) + w.Loop + w.LocalGet(3) + w.I32Const(1) + w.Sub + "\x22\x03" + w.BrIf(0) + w.End
	early := w.LocalGet(0) + w.Eqz + w.If + w.I64Const(0) + w.Return + w.End + burn +
		put(recordsAt, uint32(record.CallBegin), w.I32Const(inAt), w.I32Const(1)) + answer(1)
	var calls int
	var spent int64
	h := newHost(t, plughost.Options{OnCall: func(c plughost.CallStats) {
		if c.Export == abi.ExportFeed {
			calls++
			spent += c.Fuel
		}
	}})
	s, tr := stream(t, parser(t, h, tiny{feed: early}.wasm()), startBlock())
	input := strings.Repeat("x", 512)
	if err := s.Feed([]byte(input), nil, false); err != nil {
		t.Fatal(err)
	}
	if f := s.Fault(); f == nil || plughost.KindOf(f) != plughost.KindFuel {
		t.Errorf("fault %v after %d calls and %d instructions", f, calls, spent)
	}
	if spent > 5_000_000 || tr.bytes.String() != input {
		t.Errorf("%d instructions, %d bytes", spent, tr.bytes.Len())
	}
}

// TestOpenFailsLater: a plugin that does not open any more is quarantined like one that traps.
func TestOpenFailsLater(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("x.wasm", tiny{version: "1"}.wasm())
	f.settle()
	f.write("x.wasm", tiny{version: "2", open: w.LocalGet(0) + w.I32Const(2) + "\x47"}.wasm()) // refuses all but {}
	f.settle()
	f.want("tiny", "2")
	p, err := f.reg.Lookup("tiny")
	if err != nil {
		t.Fatal(err)
	}
	for range plughost.DefaultQuarantine {
		if _, err := p.Open("t", []byte(`{"reasoning":""}`)); err == nil {
			t.Fatal("opened")
		}
	}
	f.want("tiny", "1")
}

// TestRecordsFromNothing: a guest cannot make more of a byte than a few records without bytes.
func TestRecordsFromNothing(t *testing.T) {
	t.Parallel()
	one := w.LocalGet(3) + w.I32Const(4) + "\x74" + w.I32Const(recordsAt) + w.Add + w.LocalSet(4) // records + 16n
	put := func(off uint32, value string) string { return w.LocalGet(4) + value + w.Store(off) }
	many := w.Loop + one + put(0, w.I32Const(int32(record.Marker))) + put(4, w.I32Const(inAt)) + put(8, w.I32Const(0)) + put(12, w.I32Const(0)) +
		w.LocalGet(3) + w.I32Const(1) + w.Add + "\x22\x03" + w.I32Const(1000) + "\x47" + w.BrIf(0) + w.End + answer(1000)
	s, tr := stream(t, parser(t, newHost(t, plughost.Options{}), tiny{feed: many}.wasm()), startBlock())
	if err := s.Feed([]byte("x"), nil, false); err != nil {
		t.Fatal(err)
	}
	if f := s.Fault(); f == nil || plughost.KindOf(f) != plughost.KindRecords || tr.bytes.String() != "x" {
		t.Errorf("fault %v, bytes %q", f, tr.bytes.String())
	}
}

// TestMemoryOfAll: instances of all plugins draw on one budget, and give back what they took.
func TestMemoryOfAll(t *testing.T) {
	t.Parallel()
	h := newHost(t, plughost.Options{Memory: 4 << 20, Wait: 1})
	p, err := h.Load(t.Context(), "", tiny{noState: true}.wasm(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if n := h.Memory(); n != 0 {
		t.Errorf("%d bytes after the trial", n)
	}
	var open []*plughost.Stream
	for err == nil {
		var s *plughost.Stream
		if s, err = p.Open("t", nil); err == nil {
			open = append(open, s)
		}
	}
	wantErr(t, err, plughost.ErrBusy, "at most 4")
	if n := len(open); n < 8 || n > 12 { // 384 KiB each
		t.Errorf("%d streams fit into 4 MiB", n)
	}
	for _, s := range open {
		s.Close()
	}
	if s, err := p.Open("t", nil); err != nil {
		t.Error(err)
	} else {
		s.Close()
	}
	p.Retire()
	if n := h.Memory(); n != 0 {
		t.Errorf("%d bytes after the end", n)
	}
}

// TestQuarantineOfOneTenant: whoever has a model write what trips a plugin takes it from himself alone, as long
// as others use it without trouble.
func TestQuarantineOfOneTenant(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("x.wasm", tiny{}.wasm())
	f.settle()
	p, err := f.reg.Lookup("tiny")
	if err != nil {
		t.Fatal(err)
	}
	open := func(tenant string) (*plughost.Stream, error) { return p.Open(tenant, []byte("{}")) }
	good, err := open("good")
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	for range plughost.DefaultQuarantine {
		bad, err := open("bad")
		if err != nil {
			t.Fatal(err)
		}
		bad.Report(broken())
		bad.Close()
	}
	if p.Quarantined() {
		t.Error("quarantined for all")
	}
	_, err = open("bad")
	wantErr(t, err, plughost.ErrQuarantined, "for the streams of bad")
	again, err := open("good")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if err := f.reg.Unquarantine("tiny"); err != nil {
		t.Fatal(err)
	}
	again, err = open("bad")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	for k := range plughost.DefaultQuarantine { // of both: it is the plugin's doing
		if k%2 == 0 {
			good.Report(broken())
		} else {
			p.Report("bad", broken())
		}
	}
	if !p.Quarantined() {
		t.Error("not quarantined by faults of several tenants")
	}
}
