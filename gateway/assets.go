package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/family"
	"github.com/weirgate/weir/gateway/internal/modelfile"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// segmentCache is what the ids of a model's segments may take, in bytes: the long beginnings that prompts share,
// and the conversations that go on.
const segmentCache = 64 << 20

// assets is what a model's files, or the family it is of, come to: how it is prompted, and its tokens. It is
// shared by the entries that name the same, and kept over reloads while its files stay what they were.
type assets struct {
	files    *modelfile.Model // nil for a family of the project's own
	template *prompt.Model    // nil where the files hold none
	vocab    *vocab.Tokenizer // nil where the files hold none
	cache    *vocab.Cache     // of vocab
	stamp    string           // what the files were when they were read
	id       string           // that of other files is another
}

// assetPool keeps assets by what they were made of.
type assetPool struct {
	mu   sync.Mutex // guards live
	live map[string]*assets
}

func newAssetPool() *assetPool { return &assetPool{live: map[string]*assets{}} }

// bind returns the assets of every entry of a configuration that has any, by the entry's id; nothing is kept
// until keep.
func (p *assetPool) bind(ctx context.Context, c *config.Config) (map[string]*assets, map[string]*assets, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	byID, bySource := make(map[string]*assets, len(c.Models)), make(map[string]*assets)
	for i := range c.Models {
		m := &c.Models[i]
		source := sourceOf(m)
		if source == "" {
			continue
		}
		a := bySource[source]
		if a == nil {
			var err error
			if a, err = p.open(ctx, c, m, source); err != nil {
				return nil, nil, fmt.Errorf("model %s: %w", m.ID, err)
			}
			bySource[source] = a
		}
		byID[m.ID] = a
	}
	return byID, bySource, nil
}

// keep makes assets the ones that live on.
func (p *assetPool) keep(bySource map[string]*assets) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = bySource
}

// sourceOf names what an entry's assets are made of; empty where it has none, since the engine or a plugin
// renders and no files are named.
func sourceOf(m *config.Model) string {
	switch {
	case m.Dir != "":
		return "dir:" + m.Dir
	case m.GGUF != "":
		return "gguf:" + m.GGUF
	case m.Family != "":
		return "family:" + m.Family
	}
	return ""
}

func (p *assetPool) open(ctx context.Context, c *config.Config, m *config.Model, source string) (*assets, error) {
	path := m.Dir + m.GGUF
	if path == "" {
		if old := p.live[source]; old != nil {
			return old, nil
		}
		a, err := openFamily(ctx, m.Family)
		if a != nil {
			a.id = identity(source, "")
		}
		return a, err
	}
	stamp, err := stampOf(path)
	if err != nil {
		return nil, err
	}
	if old := p.live[source]; old != nil && old.stamp == stamp {
		return old, nil
	}
	a, err := openFiles(ctx, path, vocabularies(c))
	if err != nil {
		return nil, err
	}
	a.stamp, a.id = stamp, identity(source, stamp)
	return a, nil
}

// vocabularies is the folder for images of vocabularies; empty: none are kept.
func vocabularies(c *config.Config) string {
	if c.Plugins.CacheDir == "" {
		return ""
	}
	return filepath.Join(c.Plugins.CacheDir, "vocabularies")
}

// openFamily makes the assets of a family from a template of the project's own.
func openFamily(ctx context.Context, name string) (*assets, error) {
	text, ok := family.Template(name)
	if !ok {
		return nil, fmt.Errorf("no template of family %s", name)
	}
	t, err := prompt.New(ctx, prompt.Source{Template: text, Ends: family.Ends(), PolicyOwns: true, Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("template of family %s: %w", name, err)
	}
	return &assets{template: t}, nil
}

// openFiles reads a model's files. One without a template is no fault: what renders may be elsewhere.
func openFiles(ctx context.Context, path, cache string) (*assets, error) {
	files, err := modelfile.Open(path, modelfile.Options{Cache: cache})
	if err != nil {
		return nil, err
	}
	a := &assets{files: files, vocab: files.Vocab}
	if a.vocab != nil {
		a.cache = a.vocab.NewCache(segmentCache)
	}
	if files.Template == "" && len(files.Templates) == 0 {
		return a, nil
	}
	template := files.Template
	if _, ok := files.Templates["default"]; !ok && template == "" { // of named ones alone the first is for all
		template = files.Templates[slices.Min(slices.Collect(maps.Keys(files.Templates)))]
	}
	a.template, err = prompt.New(ctx, prompt.Source{
		Template: template, Templates: files.Templates, Tokens: files.Tokens, Ends: files.Stops, Now: time.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: chat template: %w", path, err)
	}
	return a, nil
}

// identity is a short name of files in one state.
func identity(source, stamp string) string {
	sum := sha256.Sum256([]byte(source + "\x00" + stamp))
	return hex.EncodeToString(sum[:8])
}

// stampOf tells what a model's files are, without reading them: names, sizes and times of change.
func stampOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	one := func(name string, i os.FileInfo) {
		fmt.Fprintf(&b, "%s %d %d\n", name, i.Size(), i.ModTime().UnixNano())
	}
	if !info.IsDir() {
		one(path, info)
		return b.String(), nil
	}
	if err := stampFolder(path, one); err != nil {
		return "", err
	}
	for _, name := range [...]string{"chat_templates", "additional_chat_templates"} {
		_ = stampFolder(filepath.Join(path, name), one) // most models have none
	}
	return b.String(), nil
}

func stampFolder(path string, one func(name string, i os.FileInfo)) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".json", ".jinja", ".model":
			// A link's target is what counts; one that leads nowhere is told when it is read.
			if i, err := os.Stat(filepath.Join(path, e.Name())); err == nil {
				one(filepath.Join(path, e.Name()), i)
			}
		}
	}
	return nil
}

// markers are added tokens that the model's chat template writes and that its vocabulary does not call special: some
// list the headers of turns, or the marks of tool results, among the ordinary ones.
func (a *assets) markers(v *vocab.Tokenizer) []string {
	if a.files == nil {
		return nil
	}
	sources := slices.Collect(maps.Values(a.files.Templates))
	sources = append(sources, a.files.Template)
	var out []string
	for _, t := range v.Added() {
		if t.Special || len(t.Text) < 3 || !strings.ContainsAny(t.Text, "<[|｜") || strings.TrimSpace(t.Text) != t.Text {
			continue
		}
		if slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, t.Text) }) {
			out = append(out, t.Text)
		}
	}
	return out
}
