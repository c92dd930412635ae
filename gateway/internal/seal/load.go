package seal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	// KeyFile is the name of the key file in a state folder.
	KeyFile = "seal.key"
	// maxKeyFile bounds what is read of a file of keys, in bytes.
	maxKeyFile = 64 << 10
	// keyMode is all that a file of keys may allow.
	keyMode fs.FileMode = 0o600
)

// LoadKeys finds the keys that references name, in order and each once: "env:NAME" is a variable that holds a key,
// "file:/path" a file of at most 64 KiB that holds one or more, one a line, with comments behind #. The file's mode may
// allow its owner alone to read and write it. lookupEnv is as os.LookupEnv; readFile is mostly ReadFile. Every fault is
// in the error, which contains no key, and then there are no keys.
func LoadKeys(refs []string, lookupEnv func(string) (string, bool), readFile func(string) ([]byte, fs.FileMode, error)) ([]Key, error) {
	var out []Key
	var faults []error
	for i, ref := range refs {
		keys, err := load(ref, lookupEnv, readFile)
		if err != nil {
			faults = append(faults, fmt.Errorf("seal key %d: %w", i+1, err))
		}
		for _, k := range keys {
			if !containsKey(out, k) {
				out = append(out, k)
			}
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return out, nil
}

func load(ref string, lookupEnv func(string) (string, bool), readFile func(string) ([]byte, fs.FileMode, error)) ([]Key, error) {
	kind, where, _ := strings.Cut(ref, ":")
	switch {
	// What is no reference may be the key itself, so it is not repeated.
	case kind == "env" && isName(where):
		text, ok := lookupEnv(where)
		if !ok || strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("the variable %s is not set", where)
		}
		key, err := ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("the variable %s: %w", where, err)
		}
		return []Key{key}, nil
	case kind == "file" && filepath.IsAbs(where):
		data, mode, err := readFile(where)
		if err != nil {
			return nil, err
		}
		keys, err := parseFile(data, mode)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		return keys, nil
	}
	return nil, errors.New(`expected "env:NAME" or "file:/path": keys themselves do not stand in a configuration`)
}

// isName reports whether s is the name of a variable, and not a key in the place of one.
func isName(s string) bool {
	if _, err := ParseKey(s); err == nil || s == "" {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}

// parseFile reads the keys of a file. Its errors name lines.
func parseFile(data []byte, mode fs.FileMode) ([]Key, error) {
	// Windows has no such modes.
	if perm := mode.Perm(); perm&^keyMode != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("mode %04o lets others at the key: expected at most %04o", perm, keyMode)
	}
	var keys []Key
	var faults []error
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		key, err := ParseKey(text)
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 && len(faults) == 0 {
		return nil, errors.New("no key in it")
	}
	return keys, errors.Join(faults...)
}

// ReadFile reads a file of keys and its mode. Errors name the path.
func ReadFile(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	// Opening a pipe would wait for its writer.
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil {
		return nil, 0, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(data) > maxKeyFile {
		err = fmt.Errorf("%s: over %d bytes", path, maxKeyFile)
	}
	return data, info.Mode(), err
}

// StateKey returns the key in the file KeyFile of the state folder dir, and makes folder and file where there are none.
// Of several processes that do so at once one makes the key and all return it; created is true for that one. The file
// has the form of LoadKeys with one key in it.
func StateKey(dir string) (key Key, created bool, err error) {
	if dir == "" {
		return Key{}, false, errors.New("no state folder for the seal key")
	}
	path := filepath.Join(dir, KeyFile)
	key, err = readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	key = NewKey()
	if created, err = publish(path, key); err != nil {
		return Key{}, false, fmt.Errorf("a new seal key: %w", err)
	}
	if !created {
		key, err = readKey(path)
	}
	return key, created, err
}

func readKey(path string) (Key, error) {
	data, mode, err := ReadFile(path)
	if err != nil {
		return Key{}, err
	}
	keys, err := parseFile(data, mode)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	if len(keys) != 1 {
		return Key{}, fmt.Errorf("%s: %d keys, expected one", path, len(keys))
	}
	return keys[0], nil
}

// publish writes a key beside its place and links it there, which fails where somebody was faster (false). A rename
// would put it over a key that another process uses already.
func publish(path string, key Key) (created bool, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	f, err := os.CreateTemp(dir, ".seal-*") // with mode 0600
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString("# This key seals what clients keep for the gateway. Who has it can read their seals.\n" + key.Reveal() + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	switch err := os.Link(f.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, err
	}
	// Not every system syncs folders, and what is lost in a crash is a key of seals that were just made.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return true, nil
}
