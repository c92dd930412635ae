package gateway_test

import (
	"encoding/binary"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/engines/enginetest"
	wasm "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// slashes is a model whose output a plugin of the folder parses.
const slashes = "[[models]]\nid = \"slashes\"\nengines = [\"double\"]\nfamily = \"qwen3\"\nparser = \"slashes\"\n"

// drop puts a file into the plugin folder as an upload does: whole, or by a copy.
func (w *world) drop(name string, b []byte, atomic bool) {
	w.tb.Helper()
	path := filepath.Join(w.plugins, name)
	to := path
	if atomic {
		to = filepath.Join(w.plugins, ".upload")
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		w.tb.Fatal(err)
	}
	if err := os.Rename(to, path); err != nil {
		w.tb.Fatal(err)
	}
}

// plugin returns the version that a name has, and why its file is refused.
func (w *world) plugin(name string) (version, refused string) {
	for _, s := range w.gw.Plugins() {
		if s.Name == name {
			return s.Version, s.Err
		}
	}
	return "", ""
}

// refusedFile returns why a file that is no plugin at all is refused.
func (w *world) refusedFile(name string) string {
	for _, s := range w.gw.Plugins() {
		if s.Name == "" && filepath.Base(s.Origin) == name {
			return s.Err
		}
	}
	return ""
}

// allText is a hand-made plugin that calls everything text, small enough to be compiled in no time. before is
// what it does ahead of that in each feed.
func allText(name, version string, before ...string) []byte {
	const desc, manifestAt, in, room, window, records = 0x100, 0x1000, 0x4000, 0x2000, 0x200, 0x8000
	const i, l = "\x7f", "\x7e"
	m := &wasm.Module{}
	one := m.Type(nil, []byte(i))
	open := m.Type([]byte(i), []byte(i))
	call := m.Type([]byte(i+i+i), []byte(l))
	put := func(at int32, value string) string {
		return wasm.I32Const(records+at) + value + wasm.Store(0)
	}
	// No records for no bytes, else one.
	text := wasm.LocalGet(0) + wasm.Eqz + wasm.If + wasm.I64Const(0) + wasm.Return + wasm.End +
		put(0, wasm.I32Const(int32(record.Text))) + put(4, wasm.I32Const(in)) + put(8, wasm.LocalGet(0)) + put(12, wasm.I32Const(0)) +
		wasm.I64Const(records<<32|record.Size)
	m.Export(abi.ExportDescribe, wasm.Func, m.Func(one, nil, wasm.I32Const(desc)))
	m.Export(abi.ExportOpen, wasm.Func, m.Func(open, nil, wasm.I32Const(0)))
	m.Export(abi.ExportFeed, wasm.Func, m.Func(call, nil, strings.Join(before, "")+text))
	m.Export(abi.ExportFinish, wasm.Func, m.Func(call, nil, text))
	m.Memory(2)
	m.Export(abi.ExportMemory, wasm.Memory, 0)
	manifest := `{"name": "` + name + `", "version": "` + version + `", "abi": 1, "kinds": ["parser"]}`
	var d []byte
	for _, v := range []uint32{abi.Magic, abi.DescriptorSize, in, room, window, 16, manifestAt, uint32(len(manifest))} {
		d = binary.LittleEndian.AppendUint32(d, v)
	}
	m.Data(desc, d)
	m.Data(manifestAt, []byte(manifest))
	return m.Bytes()
}

// TestDropIn takes a plugin through its life under a running gateway: it is dropped in, serves, is replaced
// while a stream runs, survives bad files, and is deleted.
func TestDropIn(t *testing.T) {
	t.Parallel()
	first, second := guestWasm(t), allText("slashes", "2")
	w, _ := run(t, options{more: slashes})
	s := messages()
	unavailable := func() bool {
		t.Helper()
		resp, b := w.post(s.path, s.body("slashes", "hello", streamed))
		if resp.StatusCode == http.StatusOK {
			return false
		}
		want{status: 503, messagesType: "api_error", text: "plugin of this model is not loaded"}.check(t, s, s.refusal(t, resp.StatusCode, b))
		return true
	}
	if !unavailable() || w.gw.LivePlugins() != 1 {
		t.Fatalf("before the drop: %d plugins", w.gw.LivePlugins())
	}

	w.drop("slashes.wasm", first, true)
	eventually(t, "the plugin is live", func() bool { v, _ := w.plugin("slashes"); return v == "1" })
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("/wh", "y/be", "cause")})
	if a := w.ask(s, s.body("slashes", "hello", streamed)); plain(a.Blocks) != `reasoning "why" | text "because"` {
		t.Errorf("version 1: %s", plain(a.Blocks))
	}

	gate := make(chan struct{}, 2)
	gate <- struct{}{}
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("/ancient", " way/ done"), Gate: gate})
	st := w.open(s.path, s.body("slashes", "hello", streamed))
	frames := st.until("ancient")
	w.drop("slashes.wasm", second, false)
	eventually(t, "the new version is live", func() bool { v, _ := w.plugin("slashes"); return v == "2" })
	if n := w.gw.LivePlugins(); n != 3 {
		t.Errorf("%d versions live, want the built-in one, the old and the new", n)
	}
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("/new", " way/ done")})
	if a := w.ask(s, s.body("slashes", "hello", streamed)); plain(a.Blocks) != `text "/new way/ done"` {
		t.Errorf("version 2: %s", plain(a.Blocks))
	}
	gate <- struct{}{}
	if a := s.read(t, append(frames, st.rest()...)); plain(a.Blocks) != `reasoning "ancient way" | text " done"` {
		t.Errorf("the stream that began on version 1: %s", plain(a.Blocks))
	}
	if n := w.gw.LivePlugins(); n != 3 {
		t.Errorf("%d versions live: the one before the current one stays, to go back to", n)
	}

	w.drop("slashes.wasm", []byte("\x00asm\x01\x00\x00\x00 and nonsense"), true)
	eventually(t, "a bad file is refused", func() bool { v, why := w.plugin("slashes"); return v == "2" && why != "" })
	w.drop("junk.wasm", []byte("hello"), true)
	eventually(t, "a file that is no module is refused", func() bool { return w.refusedFile("junk.wasm") != "" })
	w.drop("taken.wasm", allText("hermes", "1"), true)
	eventually(t, "the name of a built-in is refused", func() bool { return strings.Contains(w.refusedFile("taken.wasm"), "reserved") })
	if log := w.log.String(); strings.Count(log, "plugin refused") != 3 {
		t.Errorf("refusals are told once each:\n%s", log)
	}
	if a := w.ask(s, s.body("slashes", "hello", streamed)); plain(a.Blocks) != `text "/new way/ done"` {
		t.Errorf("after bad files: %s", plain(a.Blocks))
	}

	if err := os.Remove(filepath.Join(w.plugins, "slashes.wasm")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deleted plugin is gone", unavailable)
	eventually(t, "its runtime too", func() bool { return w.gw.LivePlugins() == 1 })
}

// TestPluginTraps has a plugin that fails in the middle of a stream, under both policies.
func TestPluginTraps(t *testing.T) {
	t.Parallel()
	b := guestWasm(t)
	for _, policy := range []string{"raw", "abort"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w, _ := run(t, options{plugins: `failure = "` + policy + `"`, more: slashes})
			w.drop("slashes.wasm", b, true)
			eventually(t, "the plugin is live", func() bool { v, _ := w.plugin("slashes"); return v == "1" })
			onEach(t, func(t *testing.T, s surface) {
				w := *w
				w.tb = t
				gate := make(chan struct{}, 3)
				gate <- struct{}{}
				w.double.Play(enginetest.Script{Chunks: enginetest.Say("/why/ because", "! /and/", " on"), Gate: gate})
				st := w.open(s.path, s.body("slashes", "hello", streamed))
				frames := st.until("because") // the trap must not take back what was delivered
				gate <- struct{}{}
				gate <- struct{}{}
				a := s.read(t, append(frames, st.rest()...))
				if policy == "raw" {
					if got := plain(a.Blocks); got != `reasoning "why" | text " because! /and/ on"` || a.Finish != s.stop {
						t.Errorf("got %s, %s\n%s", got, a.Finish, w.log)
					}
				} else if a.Fault == nil || !strings.Contains(a.Fault.Message, "parser failed") || a.of("reasoning") != "why" {
					t.Errorf("got %+v, %+v", a, a.Fault)
				}
				w.double.Play(enginetest.Script{Chunks: enginetest.Say("/why/ so")})
				if a := w.ask(s, s.body("slashes", "hello", streamed)); plain(a.Blocks) != `reasoning "why" | text " so"` {
					t.Errorf("the next stream: %s", plain(a.Blocks))
				}
			})
			if !strings.Contains(w.log.String(), "parser failed") {
				t.Errorf("nothing in the log:\n%s", w.log)
			}
		})
	}
}
