package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/tokenizer/load"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// maxTokenizeInput bounds a text, or a line of them, in bytes.
const maxTokenizeInput = 256 << 20

// Errors of the command's input.
var (
	errTokenLine = errors.New(`want an object {"t": TEXT}`)
	errTokenIDs  = errors.New("want an array of ids")
	errNoToken   = errors.New("is no token of the vocabulary")
)

func tokenizeCommand() command {
	return command{
		name: "tokenize", args: "--tokenizer F [flags] < text",
		summary: "prints the ids of the text on standard input as a JSON array, or the text of ids; no special tokens are added",
		example: `echo -n "Hello" | weir tokenize --tokenizer /models/Qwen3-8B`,
		run:     runTokenize,
	}
}

// tokenizing is one run of the command.
type tokenizing struct {
	tok   *vocab.Tokenizer
	count bool
	out   *bufio.Writer
	ids   []uint32 // buffers
	buf   []byte
}

func runTokenize(_ context.Context, e Env, fs *flag.FlagSet) int {
	file := fs.String("tokenizer", "", "`PATH` of a model's folder, a tokenizer.json or a GGUF file")
	lines := fs.Bool("lines", false, `read JSON lines {"t": TEXT}, or with --decode one array a line, and print a line for each`)
	decode := fs.Bool("decode", false, "read arrays of ids and print the text of each as a JSON string")
	count := fs.Bool("count", false, "print the number of ids in place of them")
	fs.Bool("json", true, "changes nothing: the output is JSON")
	if code, ok := parse(e, fs); !ok {
		return code
	}
	switch {
	case fs.NArg() > 0:
		return misuse(e, fs, "unexpected argument %q: the text comes on standard input", fs.Arg(0))
	case *file == "":
		return misuse(e, fs, "want --tokenizer")
	case *count && *decode:
		return misuse(e, fs, "--count and --decode exclude each other")
	}
	path := *file
	if filepath.Base(path) == "tiktoken.model" {
		path = filepath.Dir(path)
	}
	tok, err := load.Model(path, vocabularyCache())
	if err != nil {
		return failed(e, fs, err)
	}
	t := &tokenizing{tok: tok, count: *count, out: bufio.NewWriterSize(e.Stdout, 1<<16)}
	one := t.encode
	switch {
	case *decode:
		one = t.decode
	case *lines:
		one = t.encodeLine
	}
	err = eachInput(e.Stdin, *lines, one)
	if flushErr := t.out.Flush(); err == nil {
		err = flushErr
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errNoToken):
		fmt.Fprintf(e.Stderr, "%s: %v\n", fs.Name(), err)
		return exitFound
	}
	return misuse(e, fs, "%v", err)
}

// eachInput calls f with all of the input, or with each of its lines that is not empty.
func eachInput(in io.Reader, lines bool, f func([]byte) error) error {
	if !lines {
		b, err := io.ReadAll(io.LimitReader(in, maxTokenizeInput+1))
		if err == nil && len(b) > maxTokenizeInput {
			err = fmt.Errorf("a text of more than %d bytes", maxTokenizeInput)
		}
		if err != nil {
			return err
		}
		return f(b)
	}
	r := bufio.NewReaderSize(in, 1<<16)
	var line []byte
	for n := 1; ; n++ {
		var err error
		line, err = readLine(r, line[:0])
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if jsonscan.TypeOf(line) != jsonscan.None || !last && len(line) > 1 {
			if err := f(line); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if last {
			return nil
		}
	}
}

// readLine appends a line with its end to dst.
func readLine(r *bufio.Reader, dst []byte) ([]byte, error) {
	for {
		piece, err := r.ReadSlice('\n')
		if dst = append(dst, piece...); len(dst) > maxTokenizeInput {
			return dst, fmt.Errorf("more than %d bytes", maxTokenizeInput)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return dst, err
		}
	}
}

// encode prints the ids of a text.
func (t *tokenizing) encode(text []byte) error {
	t.ids = t.tok.Encode(t.ids[:0], string(text))
	if t.count {
		t.buf = append(strconv.AppendInt(t.buf[:0], int64(len(t.ids)), 10), '\n')
	} else {
		t.buf = appendIDs(t.buf[:0], t.ids)
	}
	_, err := t.out.Write(t.buf)
	return err
}

// appendIDs appends ids as a line of JSON.
func appendIDs(b []byte, ids []uint32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendUint(b, uint64(id), 10)
	}
	return append(b, ']', '\n')
}

// encodeLine prints the ids of the text in an object.
func (t *tokenizing) encodeLine(line []byte) error {
	var text []byte
	seen := false
	r := jsonscan.NewReader(line)
	err := r.Object(func(key []byte) (err error) {
		if string(key) != "t" {
			_, err = r.Raw()
			return err
		}
		seen = true
		text, err = r.Text(text[:0])
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil || !seen {
		return errTokenLine
	}
	return t.encode(text)
}

// decode prints the text of each array of ids.
func (t *tokenizing) decode(doc []byte) error {
	r := jsonscan.NewReader(doc)
	for {
		t.ids = t.ids[:0]
		err := r.Array(func(int) error {
			raw, err := r.Raw()
			if err != nil {
				return err
			}
			id, err := strconv.ParseUint(string(raw), 10, 32)
			if err != nil {
				return errTokenIDs
			}
			if _, ok := t.tok.Token(uint32(id)); !ok {
				return fmt.Errorf("%d %w", id, errNoToken)
			}
			t.ids = append(t.ids, uint32(id))
			return nil
		})
		if errors.Is(err, errNoToken) {
			return err
		}
		if err != nil {
			return errTokenIDs
		}
		t.buf = t.tok.Decode(t.buf[:0], t.ids, false)
		if _, err := t.out.Write(append(jsonscan.AppendString(nil, t.buf), '\n')); err != nil {
			return err
		}
		if r.End() == nil {
			return nil
		}
	}
}
