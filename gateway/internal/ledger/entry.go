package ledger

import "encoding/binary"

// entry is one prompt, with the model's answer once that is known. It belongs to a session and changes
// under its lock.
type entry struct {
	replaces uint64 // id of the one that this one makes needless, once an engine has it; 0: none
	digest
	id       uint64
	width    int      // bytes of a unit
	size     int      // bytes of units
	prompt   int      // of them, the prompt's without the answer
	hashes   []uint64 // of whole blocks, each with all before it
	runs     []run    // the units; nil once they were given up
	length   int      // bytes of the text, the answer's included
	answered bool
}

// segment holds units of one prompt that no earlier prompt had. Prompts that begin alike share segments.
type segment struct {
	data []byte
	refs int
}

// run is the first n bytes of a segment. Runs begin at whole blocks.
type run struct {
	seg *segment
	n   int
}

// maxRuns bounds how many runs a prompt has: each holds on to a whole segment, and is a step of every
// comparison.
const maxRuns = 16

func (e *entry) blocks() int { return len(e.hashes) }

// at returns the units from block i on, as far as they lie in one run; never less than the block.
func (e *entry) at(i int) []byte {
	off := i * blockBytes
	for _, r := range e.runs {
		if off < r.n {
			return r.seg.data[off:r.n]
		}
		off -= r.n
	}
	return nil
}

// has reports whether block i is u's block i. Both must have it whole.
func (e *entry) has(i int, u units) bool {
	at := e.at(i)
	return len(at) >= blockBytes && u.equal(i, (*[blockBytes]byte)(at))
}

// commonUnits counts the whole blocks that e and u begin with, by their units.
func (e *entry) commonUnits(u units) int {
	n, i := u.size()/blockBytes, 0
	for _, r := range e.runs {
		for d := r.seg.data[:r.n]; len(d) >= blockBytes; d = d[blockBytes:] {
			if i == n || !u.equal(i, (*[blockBytes]byte)(d)) {
				return i
			}
			i++
		}
	}
	return i
}

// commonHashes counts the whole blocks that e and a prompt with these hashes begin with. A hash stands
// for all before it, so that the border can be sought by halving.
func (e *entry) commonHashes(hashes []uint64) int {
	lo, hi := 0, min(len(e.hashes), len(hashes))
	if hi > 0 && e.hashes[hi-1] == hashes[hi-1] {
		return hi
	}
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if e.hashes[mid] == hashes[mid] {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// within counts the bytes, in whole units, that e and u have in common from block i on, which is not the
// same in both or not whole in one. It is not exact when e's units were given up.
func (e *entry) within(i int, u units) (n int, exact bool) {
	if e.runs == nil {
		left := min(e.size, u.size()) - i*blockBytes
		return 0, left == 0
	}
	d := e.at(i)
	d = d[:min(len(d), blockBytes)]
	if len(u.ids) == 0 {
		s := u.text[min(i*blockBytes, len(u.text)):]
		for n < len(d) && n < len(s) && d[n] == s[n] {
			n++
		}
		return n, true
	}
	for _, id := range u.ids[min(i*blockIDs, len(u.ids)):] {
		if len(d) < n+idBytes || binary.LittleEndian.Uint32(d[n:]) != id {
			break
		}
		n += idBytes
	}
	return n, true
}

// share makes the runs of the first n blocks. They have them whole, or nothing is shared.
func (e *entry) share(n int) []run {
	if n == 0 || len(e.runs) >= maxRuns {
		return nil
	}
	left := n * blockBytes
	out := make([]run, 0, len(e.runs)+1)
	for _, r := range e.runs {
		r.n = min(r.n, left)
		if left -= r.n; r.n > 0 {
			r.seg.refs++
			out = append(out, r)
		}
		if left == 0 {
			return out
		}
	}
	release(out)
	return nil
}

// release gives runs back and returns the bytes of the segments that nobody uses any longer.
func release(runs []run) (freed int) {
	for _, r := range runs {
		if r.seg.refs--; r.seg.refs == 0 {
			freed += len(r.seg.data)
		}
	}
	return freed
}

// covered is the bytes of the runs.
func covered(runs []run) (n int) {
	for _, r := range runs {
		n += r.n
	}
	return n
}

// Memory of an entry and of a key beside what is counted.
const (
	entryBytes = 256
	keyBytes   = 512
)

// rest is what the entry takes in memory, its units aside.
func (e *entry) rest() int {
	names := 0 // those that entries have in common are counted for each
	for i := range e.parts {
		names += len(e.parts[i].name)
	}
	return names + entryBytes + 8*cap(e.hashes) + partBytes*cap(e.parts) + len(e.tail)
}
