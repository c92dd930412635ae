package main

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
)

// Modes, which are also the first element of the double's paths.
const (
	modeBurst = "burst"
	modePaced = "paced"
)

// double is an engine that answers every POST with the same stream. Its bytes are made once and it
// speaks HTTP by itself, so that it takes little of the machine from those that are measured.
type double struct {
	pace   time.Duration
	head   []byte
	tokens [][]byte
	end    []byte
	bursts [][]byte // head, tokens and end in few writes
}

func newDouble(s script, t *turn) *double {
	d := &double{pace: s.Pace, head: []byte(rawhttp.StreamHead)}
	d.tokens, d.end = t.events()
	size := s.Burst
	if size <= 0 {
		size = len(d.tokens)
	}
	for tokens := range slices.Chunk(d.tokens, size) {
		d.bursts = append(d.bursts, bytes.Join(tokens, nil))
	}
	d.bursts[0] = append([]byte(rawhttp.StreamHead), d.bursts[0]...)
	last := len(d.bursts) - 1
	d.bursts[last] = append(d.bursts[last], d.end...)
	return d
}

// body is what a client must receive.
func (d *double) body() ([]byte, error) { return rawhttp.BodyOf(bytes.Join(d.bursts, nil)) }

// answer streams to whoever posts.
func (d *double) answer(w io.Writer, r *http.Request, _ []byte) error {
	switch {
	case r.Method != http.MethodPost:
		_, err := io.WriteString(w, rawhttp.NotFound)
		return err
	case strings.HasPrefix(r.URL.Path, "/"+modePaced+"/"):
		return d.paced(w)
	}
	return write(w, d.bursts...)
}

// paced writes a token each pace, by the clock and not by the time that writing left.
func (d *double) paced(w io.Writer) error {
	next := time.Now()
	if err := write(w, d.head); err != nil {
		return err
	}
	for _, token := range d.tokens {
		next = next.Add(d.pace)
		time.Sleep(time.Until(next))
		if err := write(w, token); err != nil {
			return err
		}
	}
	time.Sleep(time.Until(next.Add(d.pace)))
	return write(w, d.end)
}

func write(w io.Writer, pieces ...[]byte) error {
	for _, p := range pieces {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}
