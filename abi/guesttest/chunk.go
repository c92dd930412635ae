package guesttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Whole gives the input in one chunk. Chunkers return the lengths of the chunks of an input of n bytes.
func Whole(n int) []int { return []int{n} }

// Every gives chunks of size bytes.
func Every(size int) func(n int) []int {
	return func(n int) []int {
		out := make([]int, 0, n/size+1)
		for ; n > size; n -= size {
			out = append(out, size)
		}
		return append(out, n)
	}
}

// At gives two chunks, cut after i bytes.
func At(i int) func(n int) []int {
	return func(n int) []int { return []int{i, n - i} }
}

// Random gives chunks of random lengths, most of them short, the same ones for the same seed.
func Random(seed uint64) func(n int) []int {
	return func(n int) []int {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		var out []int
		for n > 0 {
			size := 1 + r.IntN(8)
			if r.IntN(8) == 0 {
				size = 1 + r.IntN(64)
			}
			size = min(size, n)
			out = append(out, size)
			n -= size
		}
		return out
	}
}

// Chunks says how an input was cut into chunks of these lengths: "in one piece", "in pieces of 3 bytes",
// "cut at byte 17", or "cut at bytes 3, 4, 9" with the first of many.
func Chunks(sizes []int) string {
	const most = 24
	n := len(sizes)
	switch {
	case n < 2:
		return "in one piece"
	case n > 2 && sizes[n-1] <= sizes[0] && !slices.ContainsFunc(sizes[:n-1], func(size int) bool { return size != sizes[0] }):
		if sizes[0] == 1 {
			return "in pieces of 1 byte"
		}
		return fmt.Sprintf("in pieces of %d bytes", sizes[0])
	case n == 2:
		return fmt.Sprintf("cut at byte %d", sizes[0])
	}
	cuts := make([]string, 0, most)
	at := 0
	for _, size := range sizes[:min(n-1, most)] {
		at += size
		cuts = append(cuts, strconv.Itoa(at))
	}
	text := "cut at bytes " + strings.Join(cuts, ", ")
	if more := n - 1 - most; more > 0 {
		text += fmt.Sprintf(" and at %d more places", more)
	}
	return text
}

// mutant damages c's input: cut short, bytes flipped, a slice doubled, taken out or put elsewhere. Spans
// that no longer say where their token is are left out.
func mutant(c Case, r *rand.Rand) Case {
	b := []byte(c.Input)
	keep := 0 // spans that end here or before are still right
	at := func() int { return r.IntN(len(b) + 1) }
	switch r.IntN(5) {
	case 0:
		b = b[:at()]
		keep = len(b)
	case 1:
		keep = len(b)
		for range 1 + r.IntN(4) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = interesting[r.IntN(len(interesting))]
			}
		}
	default:
		i, j := at(), at()
		i, j = min(i, j), max(i, j)
		part := append([]byte(nil), b[i:j]...)
		keep = i
		switch r.IntN(3) {
		case 0:
			b = append(b[:i], b[j:]...)
		case 1:
			b = append(append(append([]byte(nil), b[:j]...), part...), b[j:]...)
			keep = j
		default:
			to := at()
			b = append(append(append([]byte(nil), b[:to]...), part...), b[to:]...)
			keep = to
		}
	}
	m := c
	m.Input, m.Want, m.Spans = string(b), "", nil
	for _, sp := range c.Spans {
		if int(sp.Off+sp.Len) <= keep && string(b[sp.Off:sp.Off+sp.Len]) == c.Input[sp.Off:sp.Off+sp.Len] {
			m.Spans = append(m.Spans, sp)
		}
	}
	return m
}

// interesting bytes end strings, open markup, or are no UTF-8.
const interesting = "\"\\<>{}[]|:,= \n\x00\xe2\x98\xff1a"
