// Package load opens the vocabularies of model folders and files, and keeps images of them that open
// faster.
package load

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirgate/weir/gateway/tokenizer/gguf"
	"github.com/weirgate/weir/gateway/tokenizer/hf"
	"github.com/weirgate/weir/gateway/tokenizer/tiktoken"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// The files of a model folder.
const (
	jsonFile   = "tokenizer.json"
	rankFile   = "tiktoken.model"
	configFile = "tokenizer_config.json"
)

// maxConfig is the size in bytes of the largest tokenizer_config.json that is read.
const maxConfig = 64 << 20

// ErrNoVocabulary says that a folder or a file has none that this package knows.
var ErrNoVocabulary = errors.New("no vocabulary")

// Model opens a model's vocabulary: path is a folder with a tokenizer.json, or with a tiktoken.model and
// its tokenizer_config.json, or it is a tokenizer.json or a GGUF file itself. Images are kept in cache,
// named by what they were made from; "": none are. A cache that cannot be used costs time and is no error.
func Model(path, cache string) (*vocab.Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening a vocabulary: %w", err)
	}
	if strings.EqualFold(filepath.Ext(path), ".gguf") {
		return fromGGUF(path)
	}
	if !info.IsDir() {
		return fromJSON(path, cache)
	}
	tok, err := fromJSON(filepath.Join(path, jsonFile), cache)
	if !errors.Is(err, fs.ErrNotExist) {
		return tok, err
	}
	tok, err = fromRanks(path, cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has neither %s nor %s with %s", ErrNoVocabulary, path, jsonFile, rankFile, configFile)
	}
	return tok, err
}

// readFile reads a file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, nil
}

func fromJSON(path, cache string) (*vocab.Tokenizer, error) {
	data, err := readFile(path, hf.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("opening a vocabulary: %w", err)
	}
	return cached(cache, "json", [][]byte{data}, func() (*vocab.Spec, error) { return hf.Parse(data) })
}

func fromRanks(dir, cache string) (*vocab.Tokenizer, error) {
	ranks, err := readFile(filepath.Join(dir, rankFile), tiktoken.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("opening a vocabulary: %w", err)
	}
	config, err := readFile(filepath.Join(dir, configFile), maxConfig)
	if err != nil {
		return nil, fmt.Errorf("opening a vocabulary: %w", err)
	}
	return cached(cache, "ranks", [][]byte{ranks, config}, func() (*vocab.Spec, error) { return kimi(ranks, config) })
}

// kimiReserved is how many ids Kimi's vocabularies have behind the ranks; those without a name are
// reserved.
const kimiReserved = 256

// kimi makes a vocabulary of the only family whose rank files come in model folders without a
// tokenizer.json.
func kimi(ranks, config []byte) (*vocab.Spec, error) {
	class, added, err := hf.Config(config)
	if err != nil {
		return nil, err
	}
	if class != "TikTokenTokenizer" {
		return nil, fmt.Errorf("%w: %s with a tokenizer_class %q", ErrNoVocabulary, rankFile, class)
	}
	s, err := tiktoken.Parse(ranks, tiktoken.Kimi, nil)
	if err != nil {
		return nil, err
	}
	names := make(map[uint32]vocab.Added, len(added))
	for _, a := range added {
		names[a.ID] = a
	}
	for id := uint32(len(s.Tokens)); id < uint32(len(s.Tokens)+kimiReserved); id++ {
		a, ok := names[id]
		if !ok {
			a = vocab.Added{ID: id, Text: fmt.Sprintf("<|reserved_token_%d|>", id), Special: true}
		}
		// The ranks' own tool matches all of these, as they are and without conditions.
		s.Added = append(s.Added, vocab.Added{ID: id, Text: a.Text, Special: a.Special})
	}
	return s, nil
}

func fromGGUF(path string) (*vocab.Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a vocabulary: %w", err)
	}
	defer func() { _ = f.Close() }()
	file, err := gguf.Read(f)
	if err != nil {
		return nil, err
	}
	spec, err := file.Vocabulary()
	if err != nil {
		return nil, err
	}
	return vocab.New(spec)
}

// cached returns the tokenizer of an image made from sources before, or of what parse returns.
func cached(dir, kind string, sources [][]byte, parse func() (*vocab.Spec, error)) (*vocab.Tokenizer, error) {
	var path string
	if dir != "" {
		path = filepath.Join(dir, imageName(kind, sources))
		if image, err := readFile(path, 2*hf.MaxFile); err == nil {
			if spec, err := vocab.ReadImage(image); err == nil {
				return vocab.New(spec)
			}
		}
	}
	spec, err := parse()
	if err != nil {
		return nil, err
	}
	tok, err := vocab.New(spec)
	if err == nil && path != "" {
		keep(path, vocab.AppendImage(nil, spec))
	}
	return tok, err
}

func imageName(kind string, sources [][]byte) string {
	h := sha256.New()
	h.Write(fmt.Appendf(nil, "%s %d\n", kind, vocab.ImageVersion))
	for _, s := range sources {
		h.Write(fmt.Appendf(nil, "%d\n", len(s)))
	}
	for _, s := range sources {
		h.Write(s)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]) + ".vocab"
}

// keep writes an image beside its place and moves it there, so that nobody reads half of one.
func keep(path string, image []byte) {
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, ".vocab-*")
	if err != nil {
		return
	}
	_, err = f.Write(image)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}
