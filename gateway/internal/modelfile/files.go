package modelfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weirgate/weir/abi/jsonscan"
)

// Limits of what is read.
const (
	maxTemplate  = 1 << 20  // bytes of a template, as jinja takes them
	maxConfig    = 64 << 20 // bytes of a JSON file
	maxTemplates = 64       // templates of a model
	maxTokens    = 4096     // special tokens with a name
	maxEnds      = 256      // tokens that end a turn
	maxNames     = 1 << 20  // texts of ids
)

// notRead is why there is no vocabulary when none was asked for.
const notRead = "not read"

// regular checks that path is a file that can be read to its end: no pipe, no device.
func regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("opening a model: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no regular file", ErrMalformed, path)
	}
	return nil
}

// readFile reads a file of at most limit bytes. A file that is not there is none: nil, and no error.
func readFile(path string, limit int64) ([]byte, error) {
	if err := regular(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a model: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("opening a model: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrMalformed, path, limit)
	}
	if data == nil {
		data = []byte{} // there, and empty
	}
	return data, nil
}

// readObject reads a file that holds one JSON object and calls member for each of its members, whose value
// member must read. ok is false where the file is not there.
func readObject(dir, name string, member func(r *jsonscan.Reader, key string) error) (ok bool, err error) {
	path := filepath.Join(dir, name)
	data, err := readFile(path, maxConfig)
	if data == nil || err != nil {
		return false, err
	}
	if !jsonscan.Valid(data) {
		// Python writes infinities and NaN as no other JSON has them. Nothing that is read here is one.
		for _, word := range [...]string{"Infinity", "NaN"} {
			data = bytes.ReplaceAll(data, []byte(word), []byte("0"))
		}
	}
	r := jsonscan.NewReader(data)
	err = r.Object(func(key []byte) error { return member(r, string(key)) })
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return true, fmt.Errorf("%w: %s: %w", ErrMalformed, path, err)
	}
	return true, nil
}

// skip reads a value that nobody asks for.
func skip(r *jsonscan.Reader) error {
	_, err := r.Raw()
	return err
}

// text reads a string. Another value is not one: ok is false, and no error.
func text(r *jsonscan.Reader) (s string, ok bool, err error) {
	if r.Peek() != jsonscan.String {
		return "", false, skip(r)
	}
	b, err := r.Text(nil)
	return string(b), err == nil, err
}
