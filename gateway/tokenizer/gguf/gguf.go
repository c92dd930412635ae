// Package gguf reads the vocabulary and the chat templates of GGUF model files.
//
// It reads the metadata at the start of a file as a stream and stops before the weights.
package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Limits of the metadata.
const (
	maxPairs = 1 << 16   // key-value pairs
	maxKey   = 1 << 10   // bytes of a key
	maxText  = 16 << 20  // bytes of a text
	maxItems = 8 << 20   // elements of an array
	maxBytes = 512 << 20 // bytes of metadata
)

// Errors that those of this package wrap.
var (
	ErrMalformed   = errors.New("malformed GGUF file")
	ErrUnsupported = errors.New("unsupported in GGUF file")
)

// File is what Read keeps of the metadata.
type File struct {
	Architecture string
	Name         string
	ChatTemplate string            // the default one
	Templates    map[string]string // the others, by name

	model, pre            string
	lengths               map[string]int64 // context lengths by architecture
	named                 map[string]int64 // ids of tokens with a task, by the name of the task
	tokens, merges        []string
	scores                []float32
	types                 []int32
	unknown, bos, eos     int64 // -1: there is none
	addBOS, addEOS        bool
	addSpace, spaceIsSet  bool
	dropSpaces, addBOSSet bool
}

// kind is the type of a value.
type kind uint32

const (
	kUint8 kind = iota
	kInt8
	kUint16
	kInt16
	kUint32
	kInt32
	kFloat32
	kBool
	kString
	kArray
	kUint64
	kInt64
	kFloat64
)

var sizes = [...]int{kUint8: 1, kInt8: 1, kUint16: 2, kInt16: 2, kUint32: 4, kInt32: 4, kFloat32: 4, kBool: 1, kUint64: 8, kInt64: 8, kFloat64: 8}

// Read reads the metadata of a file. Its errors wrap ErrMalformed or are those of r.
func Read(r io.Reader) (*File, error) {
	d := reader{r: bufio.NewReaderSize(r, 1<<16), left: maxBytes}
	if magic := d.bytes(4); string(magic) != "GGUF" {
		return nil, d.fail("no magic number")
	}
	if v := d.u32(); v != 2 && v != 3 {
		return nil, d.fail("version %d, want 2 or 3", v)
	}
	d.u64() // the number of tensors
	pairs := d.u64()
	if pairs > maxPairs {
		return nil, d.fail("%d pairs of metadata, want at most %d", pairs, maxPairs)
	}
	f := &File{Templates: make(map[string]string), unknown: -1, bos: -1, eos: -1, lengths: make(map[string]int64), named: make(map[string]int64)}
	for range pairs {
		key := d.text(maxKey)
		if d.err == nil {
			f.read(&d, key)
		}
		if d.err != nil {
			return nil, d.fail("key %q", key)
		}
	}
	return f, nil
}

// read reads the value of key, or skips it.
func (f *File) read(d *reader, key string) {
	k := kind(d.u32())
	switch key {
	case "general.architecture":
		f.Architecture = d.textOf(k)
	case "general.name":
		f.Name = d.textOf(k)
	case "tokenizer.ggml.model":
		f.model = d.textOf(k)
	case "tokenizer.ggml.pre":
		f.pre = d.textOf(k)
	case "tokenizer.ggml.tokens":
		f.tokens = d.texts(k)
	case "tokenizer.ggml.merges":
		f.merges = d.texts(k)
	case "tokenizer.ggml.scores":
		f.scores = numbers(d, k, kFloat32, math.Float32frombits)
	case "tokenizer.ggml.token_type":
		f.types = numbers(d, k, kInt32, func(v uint32) int32 { return int32(v) })
	case "tokenizer.ggml.unknown_token_id":
		f.unknown = d.number(k)
	case "tokenizer.ggml.bos_token_id":
		f.bos = d.number(k)
	case "tokenizer.ggml.eos_token_id":
		f.eos = d.number(k)
	case "tokenizer.ggml.add_bos_token":
		f.addBOS, f.addBOSSet = d.number(k) != 0, true
	case "tokenizer.ggml.add_eos_token":
		f.addEOS = d.number(k) != 0
	case "tokenizer.ggml.add_space_prefix":
		f.addSpace, f.spaceIsSet = d.number(k) != 0, true
	case "tokenizer.ggml.remove_extra_whitespaces":
		f.dropSpaces = d.number(k) != 0
	case "tokenizer.chat_template":
		f.ChatTemplate = d.textOf(k)
	default:
		if name, ok := strings.CutPrefix(key, "tokenizer.chat_template."); ok {
			f.Templates[name] = d.textOf(k)
			return
		}
		if arch, ok := strings.CutSuffix(key, ".context_length"); ok {
			f.lengths[arch] = d.number(k)
			return
		}
		if task, ok := namedTask(key); ok {
			f.named[task] = d.number(k)
			return
		}
		d.skip(k, 0)
	}
}

// reader reads values until something is bad; from then on it reads zeros.
type reader struct {
	r    *bufio.Reader
	left int64 // bytes that may still be read
	err  error
	buf  [8]byte
}

func (d *reader) fail(what string, args ...any) error {
	err := fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(what, args...))
	if d.err != nil {
		err = fmt.Errorf("%w: %w", err, d.err)
	}
	return err
}

func (d *reader) bad(what string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(what, args...)
	}
}

// bytes reads at most eight bytes, which hold until the next call.
func (d *reader) bytes(n int) []byte {
	b := d.buf[:n]
	clear(b)
	if d.left -= int64(n); d.left < 0 {
		d.bad("more than %d bytes of metadata", maxBytes)
	}
	if d.err == nil {
		_, d.err = io.ReadFull(d.r, b)
	}
	return b
}

func (d *reader) u32() uint32 { return binary.LittleEndian.Uint32(d.bytes(4)) }
func (d *reader) u64() uint64 { return binary.LittleEndian.Uint64(d.bytes(8)) }

// text reads a text with its length before it.
func (d *reader) text(limit int64) string {
	n := d.u64()
	if n > uint64(min(limit, max(d.left, 0))) {
		d.bad("a text of %d bytes, want at most %d", n, limit)
	}
	if d.err != nil {
		return ""
	}
	d.left -= int64(n)
	var b strings.Builder
	if _, err := io.CopyN(&b, d.r, int64(n)); err != nil {
		d.err = err
		return ""
	}
	return b.String()
}

func (d *reader) textOf(k kind) string {
	if k != kString {
		d.bad("a value of type %d, want a text", k)
		return ""
	}
	return d.text(maxText)
}

// number reads an integer or a truth value.
func (d *reader) number(k kind) int64 {
	if k > kFloat64 || sizes[k] == 0 || k == kFloat32 || k == kFloat64 {
		d.bad("a value of type %d, want an integer", k)
		return 0
	}
	var b [8]byte
	copy(b[:], d.bytes(sizes[k]))
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// array reads the head of an array and returns its length.
func (d *reader) array(k, of kind) int {
	if k != kArray {
		d.bad("a value of type %d, want an array", k)
		return 0
	}
	got, n := kind(d.u32()), d.u64()
	if got != of {
		d.bad("an array of type %d, want %d", got, of)
	}
	if n > maxItems {
		d.bad("an array of %d elements, want at most %d", n, maxItems)
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

func (d *reader) texts(k kind) []string {
	n := d.array(k, kString)
	var list []string
	for range n {
		if list = append(list, d.text(maxText)); d.err != nil {
			return nil
		}
	}
	return list
}

// numbers reads an array of 32-bit numbers.
func numbers[T any](d *reader, k, of kind, from func(uint32) T) []T {
	n := d.array(k, of)
	var list []T
	for range n {
		if list = append(list, from(d.u32())); d.err != nil {
			return nil
		}
	}
	return list
}

// maxNested bounds arrays within arrays.
const maxNested = 4

// skip reads a value that nobody asks for.
func (d *reader) skip(k kind, depth int) {
	switch {
	case d.err != nil:
	case k == kString:
		d.discard(d.u64())
	case k == kArray:
		of, n := kind(d.u32()), d.u64()
		if depth >= maxNested || n > uint64(max(d.left, 0)) {
			d.bad("an array of %d elements within %d others", n, depth)
			return
		}
		if of <= kFloat64 && sizes[of] > 0 {
			d.discard(n * uint64(sizes[of]))
			return
		}
		for range n {
			if d.skip(of, depth+1); d.err != nil {
				return
			}
		}
	case k <= kFloat64:
		d.bytes(sizes[k])
	default:
		d.bad("a value of type %d", k)
	}
}

func (d *reader) discard(n uint64) {
	if n > uint64(max(d.left, 0)) {
		d.bad("more than %d bytes of metadata", maxBytes)
	}
	if d.err != nil {
		return
	}
	d.left -= int64(n)
	_, d.err = io.CopyN(io.Discard, d.r, int64(n))
}
