package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// directories makes the paths absolute and fills in those that nobody gave.
func (l *loader) directories(c *Config) {
	data, cache := l.userDirs()
	c.Server.StateDir = l.absolute(c.Server.StateDir, data)
	c.Plugins.Dir = l.absolute(c.Plugins.Dir, below(data, "plugins"))
	c.Plugins.CacheDir = l.absolute(c.Plugins.CacheDir, cache)
	c.Store.Path = l.resolve(c.origin.table("store"), "path", c.Store.Path)
}

// resolve makes the path under key of a table absolute. One that cannot be is a fault, since no path would mean
// something else.
func (l *loader) resolve(o origin, key, path string) string {
	if path == "" {
		return ""
	}
	abs := l.absolute(path, "")
	if abs == "" {
		l.add(o.fault(key, showText(path)+noHome, absolutePath))
	}
	return abs
}

// What a fault says of a path from ~/ where the environment names no home.
const (
	noHome       = " where no home folder is known"
	absolutePath = "an absolute path"
)

// readable returns what keeps a path from being read as a file, as a fault goes on, or nothing. What is neither a file nor a link to one
// is not opened: a pipe would never answer.
func readable(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ", which is not there"
	case err != nil:
		return ", which cannot be read"
	case !info.Mode().IsRegular():
		return ", which is no file"
	}
	return ""
}

// absolute resolves a path of the file, or gives fallback for an empty one.
func (l *loader) absolute(path, fallback string) string {
	if path == "" {
		return fallback
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		return below(l.home(), rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	abs, err := filepath.Abs(filepath.Join(l.dir, path))
	if err != nil {
		return ""
	}
	return abs
}

func (l *loader) home() string {
	if l.goos == "windows" {
		return l.variable("USERPROFILE")
	}
	return l.variable("HOME")
}

// variable returns an absolute path from the environment, or nothing.
func (l *loader) variable(name string) string {
	v, _ := l.env(name)
	if !filepath.IsAbs(v) {
		return ""
	}
	return v
}

// userDirs returns weir's folders for data and for what can be made again; empty where the environment
// does not say where the user lives.
func (l *loader) userDirs() (data, cache string) {
	switch l.goos {
	case "windows":
		local := l.variable("LocalAppData")
		return below(local, "weir"), below(local, "weir/cache")
	case "darwin":
		return below(l.home(), "Library/Application Support/weir"), below(l.home(), "Library/Caches/weir")
	}
	data, cache = l.variable("XDG_DATA_HOME"), l.variable("XDG_CACHE_HOME")
	if data == "" {
		data = below(l.home(), ".local/share")
	}
	if cache == "" {
		cache = below(l.home(), ".cache")
	}
	return below(data, "weir"), below(cache, "weir")
}

// below is a path under a folder, or nothing where there is no folder.
func below(folder, path string) string {
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, path)
}
