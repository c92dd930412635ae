package plughost_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/plughost"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// One byte from and to an address.
const (
	load8  = "\x2d\x00\x00"
	store8 = "\x3a\x00\x00"
)

// broken is a fault of a guest, as a stream reports it.
func broken() error {
	return &host.Fault{Export: "weir1_feed", Err: errors.New("wasm error: unreachable")}
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("x.wasm", tiny{version: "1"}.wasm())
	f.settle()
	f.write("x.wasm", tiny{version: "2"}.wasm())
	f.settle()
	f.wantChanges("tiny ->1 #1", "tiny 1>2 #2")
	two, err := f.reg.Lookup("tiny")
	if err != nil {
		t.Fatal(err)
	}
	for range plughost.DefaultQuarantine - 1 {
		two.Report("", broken())
	}
	two.Report("", fmt.Errorf("wrapped: %w", plughost.ErrBusy)) // not the plugin's doing
	f.want("tiny", "2")
	two.Report("", broken())
	f.want("tiny", "1")
	f.wantChanges("tiny quarantined 2")
	st := f.reg.Status()
	if len(st) != 1 || !st[0].Quarantined || st[0].Version != "2" || st[0].Previous != "1" || st[0].Faults != plughost.DefaultQuarantine {
		t.Errorf("status %+v", st)
	}
	two.Report("", broken()) // of a stream that still runs
	f.wantChanges()

	one, err := f.reg.Lookup("tiny")
	if err != nil {
		t.Fatal(err)
	}
	for range plughost.DefaultQuarantine {
		one.Report("", broken())
	}
	_, err = f.reg.Lookup("tiny")
	wantErr(t, err, plughost.ErrQuarantined, "tiny 2")
	f.wantChanges("tiny quarantined 1")

	if err := f.reg.Unquarantine("tiny"); err != nil {
		t.Fatal(err)
	}
	f.want("tiny", "2")
	two.Report("", broken()) // counted anew
	f.want("tiny", "2")

	f.changes = nil
	f.write("x.wasm", tiny{version: "3"}.wasm()) // a new version begins well
	f.settle()
	f.want("tiny", "3")
	wantErr(t, f.reg.Unquarantine("none"), plughost.ErrUnknown, "none")
}

// TestQuarantineForgets: faults that are a minute apart are not many.
func TestQuarantineForgets(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("x.wasm", tiny{}.wasm())
	f.settle()
	p, err := f.reg.Lookup("tiny")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 * plughost.DefaultQuarantine {
		f.now = f.now.Add(plughost.FaultWindow / (plughost.DefaultQuarantine - 1))
		p.FaultAt(f.now)
	}
	if p.Quarantined() {
		t.Error("quarantined by faults that are far apart")
	}
	never := 0
	f.reg.SetRules(plughost.Rules{Quarantine: 2, Plugins: map[string]plughost.Rule{"tiny": {Quarantine: &never}}})
	for range 100 {
		p.FaultAt(f.now)
	}
	if p.Quarantined() {
		t.Error("quarantined though its rule says never")
	}
	f.reg.SetRules(plughost.Rules{Quarantine: 2})
	p.FaultAt(f.now)
	p.FaultAt(f.now)
	if !p.Quarantined() {
		t.Error("not quarantined by two faults at once")
	}
}

func TestRollback(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	wantErr(t, f.reg.Rollback("tiny"), plughost.ErrUnknown, "tiny")
	f.write("x.wasm", tiny{version: "1"}.wasm())
	f.settle()
	wantErr(t, f.reg.Rollback("tiny"), plughost.ErrNoPrevious, "tiny")
	two := tiny{version: "2"}.wasm()
	f.write("x.wasm", two)
	f.settle()
	f.changes = nil
	if err := f.reg.Rollback("tiny"); err != nil {
		t.Fatal(err)
	}
	f.want("tiny", "1")
	f.wantChanges("tiny 2>1 #3")
	if st := f.reg.Status(); len(st) != 1 || !strings.Contains(st[0].Err, "version 2 was rolled back to 1") {
		t.Errorf("status %+v", st)
	}
	f.write("x.wasm", two) // touched
	f.settle()
	f.want("tiny", "1")
	if err := f.reg.Rollback("tiny"); err != nil { // and forth
		t.Fatal(err)
	}
	f.want("tiny", "2")
	if err := f.reg.Rollback("tiny"); err != nil {
		t.Fatal(err)
	}
	f.write("x.wasm", tiny{version: "3"}.wasm())
	f.settle()
	f.want("tiny", "3")
	if st := f.reg.Status(); len(st) != 1 || st[0].Err != "" || st[0].Previous != "1" {
		t.Errorf("status %+v", st)
	}
	f.delete("x.wasm")
	f.settle()
	f.now = f.now.Add(plughost.HoldFor)
	f.scan()
	f.want("tiny", "")
	if n := f.host.Live(); n != 0 {
		t.Errorf("%d live", n)
	}
}

func TestPins(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	one := tiny{version: "1"}.wasm()
	pin := func(digest string) {
		f.reg.SetRules(plughost.Rules{Plugins: map[string]plughost.Rule{"tiny": {SHA256: digest}}})
	}
	pin(strings.Repeat("0", 64))
	f.write("x.wasm", one)
	f.settle()
	f.want("tiny", "")
	if st := f.reg.Status(); len(st) != 1 || !strings.Contains(st[0].Err, "want 00000000") {
		t.Fatalf("status %+v", st)
	}
	p := load(t, f.host, one)
	pin(p.Digest)
	f.settle()
	f.want("tiny", "1")
	f.write("x.wasm", tiny{version: "2"}.wasm())
	f.settle()
	f.want("tiny", "1")
	pin(strings.Repeat("1", 64)) // also what serves already must be the pinned one
	f.write("x.wasm", one)
	f.settle()
	f.want("tiny", "")
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	one, two := tiny{version: "1"}.wasm(), tiny{version: "2"}.wasm()
	f := newFolder(t)
	f.reg.SetRules(plughost.Rules{Trusted: []ed25519.PublicKey{other, public}})
	refused := func(text string) {
		t.Helper()
		if st := f.reg.Status(); len(st) != 1 || !strings.Contains(st[0].Err, text) {
			t.Errorf("status %+v, want %q", st, text)
		}
	}
	f.write("x.wasm", one)
	f.settle()
	f.want("tiny", "")
	refused("x.wasm.sig is missing")
	f.write("x.wasm.sig", []byte("nonsense"))
	f.settle()
	refused("does not hold the 64 bytes")
	f.write("x.wasm.sig", ed25519.Sign(private, two))
	f.settle()
	refused("not by any of the 2 trusted keys")
	f.write("x.wasm.sig", ed25519.Sign(private, one)) // a signature that comes later is seen
	f.settle()
	f.want("tiny", "1")
	f.write("x.wasm.sig", []byte(base64.StdEncoding.EncodeToString(ed25519.Sign(private, two))+"\n"))
	f.write("x.wasm", two)
	f.settle()
	f.want("tiny", "2")
	f.reg.SetRules(plughost.Rules{Trusted: []ed25519.PublicKey{other}}) // a key that is not trusted any more
	f.settle()
	f.want("tiny", "")
}

// TestTenantsShareNoInstance: what a guest kept of one tenant's stream must not meet another's.
func TestTenantsShareNoInstance(t *testing.T) {
	t.Parallel()
	h := newHost(t, plughost.Options{Instances: 1})
	// A guest that keeps the last byte it saw outside of its window, and shows it by the kind of its record.
	leak := w.I32Const(0x300) + load8
	g := tiny{name: "leaky", feed: w.LocalGet(0) + w.Eqz + w.If + w.I64Const(0) + w.Return + w.End +
		put(recordsAt, uint32(record.Text), w.I32Const(inAt), w.LocalGet(0)) +
		leak + w.If + put(recordsAt, uint32(record.Reasoning), w.I32Const(inAt), w.LocalGet(0)) + w.End +
		w.I32Const(0x300) + w.I32Const(1) + store8 + answer(1)}
	p := load(t, h, g.wasm())
	kinds := func(tenant string) string {
		s, err := p.Open(tenant, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got, _ := parse(t, s, "x")
		return got
	}
	if got := kinds("a"); got != `text "x"` {
		t.Fatalf("first stream: %s", got)
	}
	if got := kinds("a"); got != `reasoning "x"` {
		t.Fatalf("the guest of this test leaks nothing: %s", got)
	}
	if got := kinds("b"); got != `text "x"` {
		t.Errorf("tenant b saw what tenant a left: %s", got)
	}
}

// TestManyTenants: pools of tenants that went away make room.
func TestManyTenants(t *testing.T) {
	t.Parallel()
	p := load(t, newHost(t, plughost.Options{}), tiny{}.wasm())
	held, err := p.Open("held", nil)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 3 * plughost.MaxConfigs {
		s, err := p.Open("t"+strconv.Itoa(k), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if got, f := parse(t, held, "still here"); f != nil || got != `text "still here"` {
		t.Errorf("the stream that was open: %s, %v", got, f)
	}
	held.Close()
	if n := p.Pools(); n > plughost.MaxConfigs {
		t.Errorf("%d pools", n)
	}
	var open []*plughost.Stream
	for k := range plughost.MaxConfigs {
		s, err := p.Open("u"+strconv.Itoa(k), nil)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, s)
	}
	_, err = p.Open("one more", nil)
	wantErr(t, err, plughost.ErrBusy, "configurations in use")
	for _, s := range open {
		s.Close()
	}
	p.Trim()
	p.Trim()
	if n := p.Instances(); n != 0 {
		t.Errorf("%d idle instances after two trims", n)
	}
}

// TestReloadsUnderLoad swaps a plugin a thousand times while streams run, and looks for what was left.
func TestReloadsUnderLoad(t *testing.T) {
	reloads := 1000
	if testing.Short() || plughost.RaceDetector {
		reloads = 50
	}
	f := newFolder(t)
	versions := make([][]byte, 10)
	for k := range versions {
		versions[k] = tiny{version: strconv.Itoa(k)}.wasm()
	}
	f.write("x.wasm", versions[0])
	f.settle()
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for ctx.Err() == nil {
				if err := f.session(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	before := runtime.NumGoroutine()
	var half uint64
	for k := 1; k <= reloads; k++ {
		f.write("x.wasm", versions[k%len(versions)])
		f.settle()
		if k == reloads/2 {
			half = heap()
		}
	}
	cancel()
	load.Wait()
	if n := f.host.Live(); n > 2 {
		t.Errorf("%d live, want the current version and the one before it", n)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if now := heap(); now > half+half/4+2<<20 {
		t.Errorf("heap %d KB after %d reloads, %d KB after half of them", now>>10, reloads, half>>10)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// session runs one stream on whatever version serves.
func (f *folder) session() error {
	p, err := f.reg.Acquire("tiny")
	if err != nil {
		return err
	}
	defer p.Release()
	g, err := p.Open("load", nil)
	if errors.Is(err, plughost.ErrRetired) {
		return nil
	}
	if err != nil {
		return err
	}
	defer g.Close()
	sink := &trace{}
	s, err := host.Open(g, sink, startBlock())
	if err != nil {
		return err
	}
	for range 50 {
		if err := s.Feed([]byte("piece "), nil, false); err != nil {
			return err
		}
	}
	if fault := s.Fault(); fault != nil {
		return fault
	}
	if got := sink.bytes.Bytes(); len(got) != 300 || !bytes.HasPrefix(got, []byte("piece piece")) {
		return fmt.Errorf("the stream gave %d bytes", len(got))
	}
	return nil
}

func TestSelfTestRefuses(t *testing.T) {
	t.Parallel()
	// A guest that calls every second piece reasoning breaks the law of chunkings.
	state := w.I32Const(stateAt) + load8
	alternate := tiny{feed: w.LocalGet(0) + w.Eqz + w.If + w.I64Const(0) + w.Return + w.End +
		put(recordsAt, uint32(record.Text), w.I32Const(inAt), w.LocalGet(0)) +
		state + w.If + put(recordsAt, uint32(record.Reasoning), w.I32Const(inAt), w.LocalGet(0)) + w.End +
		w.I32Const(stateAt) + state + w.Eqz + store8 + answer(1)}
	for name, c := range map[string]struct {
		guest tiny
		text  string
	}{
		"chunkings":  {alternate, "in pieces of"},
		"traps":      {tiny{feed: w.Unreachable}, "unreachable"},
		"no records": {tiny{feed: w.I64Const(0), finish: w.I64Const(0)}, "none consumed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.write("x.wasm", c.guest.wasm())
			f.settle()
			st := f.reg.Status()
			if len(st) != 1 || !strings.Contains(st[0].Err, "self-test") || !strings.Contains(st[0].Err, c.text) {
				t.Errorf("status %+v, want %q", st, c.text)
			}
		})
	}
}
