package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/weirgate/weir/configs"
)

// Known names what this build has, so that a file can be checked against it.
type Known struct {
	Engines   []string // kinds
	Families  []string // template dialects
	Reasoning []string // reasoning parsers
	Tools     []string // tool parsers
	Policies  []string // template policies
}

// Options are what loading depends on beside the file.
type Options struct {
	Known Known
	// LookupEnv finds variables: those of api_key_env and of the user's directories. Nil: os.LookupEnv.
	LookupEnv func(string) (string, bool)
}

// defaultFile is the name of the embedded file in faults.
const defaultFile = "default.toml"

// Load reads a file and lays it over the embedded default; configs/default.toml says how. The error is
// Faults where the content is wrong.
func Load(path string, o Options) (*Config, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, o)
}

// readFile reads at most one byte more than a file may have.
func readFile(path string) ([]byte, error) {
	data, err := readAtMost(path, maxFile+1)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return data, nil
}

// readAtMost reads a file, or the beginning of one that is longer.
func readAtMost(path string, most int64) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, most))
}

// Default is the configuration of a weir that was given none.
func Default(o Options) (*Config, error) {
	l := newLoader(o)
	c := builtin()
	l.overlay(c, defaultFile, configs.Default())
	return l.done(c)
}

// Parse is Load of a file that was read already. Faults name it by name, and relative paths in it start
// at name's folder.
func Parse(name string, data []byte, o Options) (*Config, error) {
	l := newLoader(o)
	c := builtin()
	l.overlay(c, defaultFile, configs.Default())
	l.dir = filepath.Dir(name)
	if !l.overlay(c, name, string(data)) {
		return nil, l.faults.or()
	}
	return l.done(c)
}

// loader gathers what is needed to make a Config, and what is wrong with it.
type loader struct {
	known  Known
	env    func(string) (string, bool)
	goos   string
	dir    string // of the file
	faults Faults
	bad    map[place]bool // of faults
}

func newLoader(o Options) *loader {
	l := &loader{known: o.Known, env: o.LookupEnv, goos: runtime.GOOS, bad: map[place]bool{}}
	if l.env == nil {
		l.env = os.LookupEnv
	}
	return l
}

// overlay lays a file over c and reports whether it is TOML at all.
func (l *loader) overlay(c *Config, file, text string) bool {
	d := &document{file: file}
	defer func() { l.add(d.faults...) }()
	root := d.read(text)
	if root == nil {
		return false
	}
	c.origin = root.origin()
	root.sub("server", func(t *table) { l.server(t, &c.Server) })
	root.sub("log", func(t *table) { l.log(t, &c.Log) })
	root.sub("plugins", func(t *table) { l.plugins(t, &c.Plugins) })
	root.sub("memory", func(t *table) { l.memory(t, &c.Memory) })
	root.sub("seal", func(t *table) { l.seal(t, &c.Seal) })
	root.sub("store", func(t *table) { l.store(t, &c.Store) })
	root.sub("responses", func(t *table) { l.responses(t, &c.Responses) })
	l.serving(root, c)
	l.tenants(root, c)
	root.end()
	return true
}

func (l *loader) done(c *Config) (*Config, error) {
	l.directories(c)
	l.check(c)
	if err := l.faults.or(); err != nil {
		return nil, err
	}
	c.index()
	return c, nil
}

// place is where a fault is.
type place struct{ file, path string }

// add notes faults.
func (l *loader) add(fs ...Fault) {
	l.faults = append(l.faults, fs...)
	for _, f := range fs {
		l.bad[place{f.File, f.Path}] = true
		if strings.HasSuffix(f.Path, "]") {
			l.bad[place{f.File, f.Path[:strings.LastIndexByte(f.Path, '[')] + "[]"}] = true
		}
	}
}

// clean reports whether no fault was found so far in these keys of a table and the elements of their
// lists, so that what is compared with them makes sense.
func (l *loader) clean(o origin, keys ...string) bool {
	for _, key := range keys {
		path := join(o.path, key)
		if l.bad[place{o.file, path}] || l.bad[place{o.file, path + "[]"}] {
			return false
		}
	}
	return true
}
