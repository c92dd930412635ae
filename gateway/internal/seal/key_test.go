package seal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/internal/seal"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	raw := noise(32)
	raw[0], raw[1], raw[2] = 0xfb, 0xff, 0xbf // "+/+/" or "-_-_"
	want, err := seal.ParseKey(hex.EncodeToString(raw))
	if err != nil {
		t.Fatal(err)
	}
	std, url := base64.StdEncoding.EncodeToString(raw), base64.URLEncoding.EncodeToString(raw)
	for _, tt := range []struct {
		name, text string
		ok         bool
	}{
		{"hex", hex.EncodeToString(raw), true},
		{"hex in capitals", strings.ToUpper(hex.EncodeToString(raw)), true},
		{"base64", std, true},
		{"base64 without padding", strings.TrimRight(std, "="), true},
		{"base64url", url, true},
		{"base64url without padding", strings.TrimRight(url, "="), true},
		{"spaces around it", " \t" + std + "\r\n", true},
		{"what it reveals", want.Reveal(), true},
		{"nothing", "", false},
		{"31 bytes", base64.StdEncoding.EncodeToString(raw[1:]), false},
		{"33 bytes", base64.StdEncoding.EncodeToString(append(raw, 1)), false},
		{"48 bytes", base64.StdEncoding.EncodeToString(append(raw, raw[16:]...)), false},
		{"62 digits", hex.EncodeToString(raw[1:]), false},
		{"no digits", strings.Repeat("x", 64), false},
		{"both alphabets", "+/-_" + std[4:], false},
		{"too much padding", std + "=", false},
		{"a line end in it", std[:20] + "\n" + std[20:43], false},
		{"bits behind the last", std[:42] + "_", false},
		{"zeros", strings.Repeat("0", 64), false},
		{"one letter", strings.Repeat("A", 43), false},
	} {
		got, err := seal.ParseKey(tt.text)
		if (err == nil) != tt.ok || tt.ok && !got.Equal(want) {
			t.Errorf("%s: got %v, %v", tt.name, got, err)
		}
		if err != nil && len(tt.text) > 8 && strings.Contains(err.Error(), tt.text[4:12]) {
			t.Errorf("%s: the error has the key in it: %v", tt.name, err)
		}
	}
	if other := seal.NewKey(); other.Equal(want) || other.Equal(seal.Key{}) || (seal.Key{}).Equal(other) || !(seal.Key{}).Equal(seal.Key{}) || other.ID() == want.ID() {
		t.Error("keys are equal that are not")
	}
}

// TestKeysAreNotPrinted looks for a key's bytes in every spelling in what becomes of it, of structs around it and of a
// box.
func TestKeysAreNotPrinted(t *testing.T) {
	t.Parallel()
	key := seal.NewKey()
	raw, err := base64.StdEncoding.DecodeString(key.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	x := box(t, key)
	x.Tag("a", "f", []byte("text"))
	type around struct {
		Key    seal.Key
		hidden seal.Key
		list   []seal.Key
		box    *seal.Box
	}
	a := around{key, key, []seal.Key{key}, x}
	var text bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%t", "%p"} {
		for _, v := range []any{key, &key, a, &a, a.list, x} {
			fmt.Fprintf(&text, verb+"\n", v)
		}
	}
	encoded, err := json.Marshal(map[string]any{"a": key, "b": &key, "c": a})
	if err != nil {
		t.Fatal(err)
	}
	text.Write(encoded)
	slog.New(slog.NewTextHandler(&text, nil)).Info("text", "key", key, "pointer", &key, "around", a)
	slog.New(slog.NewJSONHandler(&text, nil)).Info("json", "key", key, "pointer", &key, "around", a)
	if !strings.Contains(text.String(), "[redacted]") {
		t.Error("a key does not say that it is there")
	}
	for name, part := range map[string]string{
		"bytes": string(raw[4:10]), "base64": key.Reveal()[5:15], "hex": hex.EncodeToString(raw[4:10]), "capitals": strings.ToUpper(hex.EncodeToString(raw[4:10])),
		"numbers": strings.Trim(fmt.Sprintf("%d", raw[4:10]), "[]"), "Go": strings.Trim(fmt.Sprintf("%#v", raw[4:10]), "[]byte{}"),
	} {
		if strings.Contains(text.String(), part) {
			t.Errorf("the key's %s are in\n%s", name, text.String())
		}
	}
	if (seal.Key{}).String() != "" || (seal.Key{}).Reveal() != "" || (seal.Key{}).ID() != "" {
		t.Error("no key prints")
	}
}

func write(tb testing.TB, path, text string, mode fs.FileMode) string {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		tb.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestLoadKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k1, k2, k3 := seal.NewKey(), seal.NewKey(), seal.NewKey()
	file := func(name, text string, mode fs.FileMode) string {
		return "file:" + write(t, filepath.Join(dir, name), text, mode)
	}
	two := file("two", "# keys\n\n"+k2.Reveal()+" # the old one\r\n  "+k3.Reveal(), 0o600)
	vars := map[string]string{"ONE": k1.Reveal() + "\n", "EMPTY": " ", "BAD": k1.Reveal()[1:]}
	for _, tt := range []struct {
		name  string
		refs  []string
		want  []seal.Key
		fault []string
		posix bool // speaks of modes
	}{
		{name: "none"},
		{name: "a variable", refs: []string{"env:ONE"}, want: []seal.Key{k1}},
		{name: "a file of two", refs: []string{two}, want: []seal.Key{k2, k3}},
		{name: "in order", refs: []string{two, "env:ONE"}, want: []seal.Key{k2, k3, k1}},
		{name: "each once", refs: []string{"env:ONE", two, "env:ONE", two}, want: []seal.Key{k1, k2, k3}},
		{name: "read-only", refs: []string{file("readonly", k1.Reveal(), 0o400)}, want: []seal.Key{k1}},
		{name: "every fault", refs: []string{"env:NONE", "env:ONE", "env:BAD", "env:EMPTY"}, fault: []string{"seal key 1: the variable NONE is not set", "seal key 3: the variable BAD: a key is", "seal key 4: the variable EMPTY"}},
		{name: "lines", refs: []string{file("lines", k1.Reveal()+"\nx\n# y\n"+k2.Reveal()+"\nzzz", 0o600)}, fault: []string{"lines: line 2: a key", "line 5: a key"}},
		{name: "an empty file", refs: []string{file("empty", "# none\n", 0o600)}, fault: []string{"empty: no key in it"}},
		{name: "no file", refs: []string{"file:" + filepath.Join(dir, "nofile")}, fault: []string{"seal key 1: ", "nofile"}},
		{name: "a folder", refs: []string{"file:" + dir}, fault: []string{"not a regular file"}},
		{name: "a large file", refs: []string{file("large", strings.Repeat("#\n", 40<<10), 0o600)}, fault: []string{"large: over 65536 bytes"}},
		{name: "a wide mode", refs: []string{file("wide", k1.Reveal(), 0o644)}, fault: []string{"wide: mode 0644", "at most 0600"}, posix: true},
		{name: "a group's", refs: []string{file("group", k1.Reveal(), 0o640)}, fault: []string{"mode 0640"}, posix: true},
		{name: "a key itself", refs: []string{k1.Reveal()}, fault: []string{`seal key 1: expected "env:NAME" or "file:/path"`}},
		{name: "a key as a variable", refs: []string{"env:" + strings.Repeat("abcdef01", 8)}, fault: []string{"expected"}},
		{name: "a key as a file", refs: []string{"file:" + strings.Repeat("abcdef01", 8)}, fault: []string{"expected"}},
		{name: "forms of nothing", refs: []string{"", "env:", "file:", "env", "env:A=B", "env:1A", "http://host/key"}, fault: []string{"seal key 1: ", "seal key 2: ", "seal key 3: ", "seal key 4: ", "seal key 5: ", "seal key 6: ", "seal key 7: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.posix && runtime.GOOS == "windows" {
				t.Skip("no modes of files here")
			}
			got, err := seal.LoadKeys(tt.refs, func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, seal.ReadFile)
			if len(got) != len(tt.want) || (err == nil) != (tt.fault == nil) {
				t.Fatalf("got %d keys, %v", len(got), err)
			}
			for i := range got {
				if !got[i].Equal(tt.want[i]) {
					t.Errorf("key %d is another one", i)
				}
			}
			for _, part := range tt.fault {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want %q in it", err, part)
				}
			}
			for _, secret := range []string{k1.Reveal()[1:12], k2.Reveal()[1:12], "abcdef01"} {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("a key is in %v", err)
				}
			}
		})
	}
}

func TestStateKey(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "weir")
	key, created, err := seal.StateKey(dir)
	if err != nil || !created || key.IsZero() {
		t.Fatalf("got %v, %v, %v", key, created, err)
	}
	path := filepath.Join(dir, seal.KeyFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	again, created, err := seal.StateKey(dir)
	if err != nil || created || !again.Equal(key) {
		t.Errorf("again: %v, %v", created, err)
	}
	// The file is one that a reference can name.
	loaded, err := seal.LoadKeys([]string{"file:" + path}, nil, seal.ReadFile)
	if err != nil || len(loaded) != 1 || !loaded[0].Equal(key) {
		t.Errorf("loaded: %d keys, %v", len(loaded), err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v stand in the folder, %v", names, err)
	}
}

func TestStateKeyErrors(t *testing.T) {
	t.Parallel()
	dir := func() string { return t.TempDir() }
	with := func(text string, mode fs.FileMode) string {
		dir := t.TempDir()
		write(t, filepath.Join(dir, seal.KeyFile), text, mode)
		return dir
	}
	dangling := dir()
	if err := os.Symlink("nowhere", filepath.Join(dangling, seal.KeyFile)); err != nil {
		t.Skip(err)
	}
	key := seal.NewKey().Reveal()
	for _, tt := range []struct{ name, dir, want string }{
		{"no folder", "", "no state folder"},
		{"a file in the folder's place", write(t, filepath.Join(dir(), "file"), "", 0o600), ""},
		{"a wide mode", with(key, 0o604), "mode 0604"},
		{"no key", with("", 0o600), "no key in it"},
		{"two keys", with(key+"\n"+seal.NewKey().Reveal(), 0o600), "2 keys, expected one"},
		{"half a key", with(key[:20], 0o600), "line 1"},
		{"a link to nowhere", dangling, ""},
	} {
		key, created, err := seal.StateKey(tt.dir)
		if err == nil || created || !key.IsZero() || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, %v, %v", tt.name, key, created, err)
		}
	}
}

// TestStateKeyRace lets many make the key at once: one does, and all get it.
func TestStateKeyRace(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := filepath.Join(t.TempDir(), "state")
		var keys [6]seal.Key
		var made [6]bool
		var faults [6]error
		var group sync.WaitGroup
		start := make(chan struct{})
		for i := range keys {
			group.Go(func() {
				<-start
				keys[i], made[i], faults[i] = seal.StateKey(dir)
			})
		}
		close(start)
		group.Wait()
		n := 0
		for i := range keys {
			if made[i] {
				n++
			}
			if !keys[i].Equal(keys[0]) {
				t.Error("two keys")
			}
		}
		if err := errors.Join(faults[:]...); err != nil || n != 1 {
			t.Errorf("%d made the key, %v", n, err)
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
			t.Errorf("%v stand in the folder, %v", names, err)
		}
	}
}
