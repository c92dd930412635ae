package ledger

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
	names    int      // bytes of the parts' names; those that entries have in common count for each
	answered bool
}

// segment holds units of one prompt that no earlier prompt had. Prompts that begin alike share segments.
type segment struct {
	units
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

// at returns the n bytes of units at off, or what there is of them in one run.
func (e *entry) at(off, n int) units {
	for _, r := range e.runs {
		if off < r.n {
			return r.seg.cut(off, min(r.n, off+n))
		}
		off -= r.n
	}
	return units{}
}

// sameAt reports whether e and u have the same unit at off.
func (e *entry) sameAt(off int, u units) bool {
	to := min(off+e.width, u.size())
	return off < to && e.at(off, e.width).common(u.cut(off, to)) > 0
}

// begins reports whether the first n blocks of e are those that hashes are of.
func (e *entry) begins(n int, hashes []uint64) bool {
	return n == 0 || n <= len(e.hashes) && e.hashes[n-1] == hashes[n-1]
}

// commonHashes counts the whole blocks that e and a prompt with these hashes begin with, of which known are known
// to be the same. A hash stands for all before it, so that the border can be sought by halving. It is looked for in
// the first places first: each step of the search waits for memory.
func (e *entry) commonHashes(hashes []uint64, known int) int {
	lo, hi := known, min(len(e.hashes), len(hashes))
	if lo >= hi || e.hashes[lo] != hashes[lo] {
		return lo
	}
	if e.hashes[hi-1] == hashes[hi-1] {
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
	return e.at(i*blockBytes, blockBytes).common(u.cut(i*blockBytes, u.size())), true
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
			freed += r.seg.size()
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
	return e.names + entryBytes + 8*cap(e.hashes) + partBytes*cap(e.parts) + len(e.tail)
}
