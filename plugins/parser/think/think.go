// Package think is the reasoning stage of the composed parser: which marker of a reasoning block means
// what, and where a stream starts.
//
// Grammar: stream = [reasoning CLOSE] (content | OPEN reasoning CLOSE)*. Whether the stream starts
// inside a block cannot be told from the output; it follows from the end of the prompt, else from the
// thinking switch, else from the family.
//
// A marker is data unless it can mean something where it stands:
//
//   - OPEN in content begins a block. Where the last block was reasoning too, it is a block_end.
//   - OPEN in reasoning is data, but at the very start of a stream that starts in reasoning it is
//     dropped: the model repeats what the prompt has said.
//   - CLOSE in reasoning ends it.
//   - CLOSE in content is data, but it is dropped at the very start of the content, and once after a
//     call that ended an open block: there the model closes what was already taken to be closed.
//
// At most one newline after OPEN and two after CLOSE belong to the marker.
package think

import (
	"bytes"

	"github.com/weirgate/weir/abi/guest"
)

// Newlines that belong to the marker before them.
const (
	afterOpen  = 1
	afterClose = 2
)

// Config is a family's reasoning block.
type Config struct {
	Open, Close string // they begin with the same byte
	// Inside says that a stream starts in reasoning when neither the prompt nor the thinking switch
	// tells otherwise.
	Inside bool
}

// Block is a kind of block.
type Block uint8

// Blocks that a stream's last content may belong to.
const (
	Nothing Block = iota
	Content
	Reasoning
	Call
)

// State is the stage's part of the state window.
type State struct {
	In       bool  // in reasoning
	Edge     bool  // nothing but white space so far where a stray marker is dropped
	Owed     bool  // a call ended the open block, its closer may still come
	Newlines uint8 // how many newlines still belong to the last marker
	Last     Block
}

// Start is the state of a new stream.
func (c *Config) Start(s guest.Start) State {
	open, end := c.last(s.Tail)
	st := State{Edge: true}
	switch {
	case open > end:
		st.In = true
		st.Newlines = left(afterOpen, s.Tail[open+len(c.Open):])
	case end >= 0:
		st.Newlines = left(afterClose, s.Tail[end+len(c.Close):])
	case c.Inside && s.Thinking != guest.ThinkingOff:
		st.In, st.Newlines = true, afterOpen
	}
	return st
}

// last is where the last opener and the last closer in b begin, or -1.
func (c *Config) last(b []byte) (open, end int) {
	open, end = -1, -1
	for at := 0; at < len(b); at++ {
		// Both begin with one byte, so a prompt without it costs one search.
		n := bytes.IndexByte(b[at:], c.Open[0])
		if n < 0 {
			break
		}
		at += n
		switch rest := b[at:]; {
		case len(rest) >= len(c.Open) && string(rest[:len(c.Open)]) == c.Open:
			open = at
		case len(rest) >= len(c.Close) && string(rest[:len(c.Close)]) == c.Close:
			end = at
		}
	}
	return open, end
}

// left is how many of n newlines the prompt has not written yet.
func left(n int, tail []byte) uint8 {
	used := bytes.Count(tail, []byte{'\n'})
	if used >= n {
		return 0
	}
	return uint8(n - used)
}

// Verdict says what a marker is where it stands.
type Verdict uint8

// Verdicts.
const (
	Data  Verdict = iota // it is content
	Drop                 // a marker that changes nothing
	Enter                // it begins reasoning
	Again                // it begins reasoning next to reasoning
	Leave                // it ends reasoning
)

// Meet says what an opener or closer means.
func (s *State) Meet(opener bool) Verdict {
	switch {
	case opener && !s.In && s.Last == Reasoning:
		return Again
	case opener && !s.In:
		return Enter
	case !opener && s.In:
		return Leave
	case s.Edge, !opener && s.Owed:
		return Drop
	}
	return Data
}

// Take changes the state as the marker's verdict says.
func (s *State) Take(v Verdict, opener bool) {
	switch v {
	case Data:
		return
	case Enter, Again:
		s.In, s.Edge = true, false
	case Leave:
		s.In, s.Edge = false, true
	case Drop:
		s.Edge = !opener
	}
	s.Owed = false
	s.Newlines = afterClose
	if opener {
		s.Newlines = afterOpen
	}
}

// Wrote tells that content of the open block was delivered; mark says that it is more than white space.
func (s *State) Wrote(mark bool) {
	s.Last = Content
	if s.In {
		s.Last = Reasoning
	}
	if mark {
		s.Edge = false
	}
}

// Called tells that a call began. In an open block it ends the block.
func (s *State) Called() {
	s.Owed = s.Owed || s.In
	s.In, s.Edge, s.Newlines, s.Last = false, false, 0, Call
}
