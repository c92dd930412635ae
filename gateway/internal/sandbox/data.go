package sandbox

import (
	"cmp"
	"slices"
)

// gap is how many zero bytes may stand between two data segments that become one.
const gap = 64

// segment is a data segment: its bytes, and where in memory they go.
type segment struct {
	from uint32
	data []byte
}

// mergeData returns a data section whose memory is the same, with segments joined that touch or nearly
// touch. The section is one that Inspect accepted and whose segments no instruction names. It stays as it
// is where segments overlap, so that their order matters, or where one lies at an address that is not
// known here.
func mergeData(content []byte) []byte {
	r := &reader{b: content, end: len(content)}
	segments := make([]segment, 0, 64)
	for range r.u32("segments") {
		flags := r.u32("flags")
		if flags == 2 {
			r.u32("memory index")
		}
		at := constant{op: opI32Const}
		if flags != 1 {
			at = r.constant(0, int(^uint32(0)))
		}
		if at.op != opI32Const {
			return content
		}
		size := int(r.u32("size"))
		if flags != 1 && size > 0 { // nothing names a passive one
			segments = append(segments, segment{uint32(at.v), r.b[r.pos : r.pos+size]})
		}
		r.pos += size
	}
	slices.SortFunc(segments, func(a, b segment) int { return cmp.Compare(a.from, b.from) })
	out, n := make([]byte, 0, len(content)), uint32(0)
	for i := 0; i < len(segments); n++ {
		first := segments[i]
		end, next := first.end(), i+1
		for ; next < len(segments) && segments[next].from <= end+gap; next++ {
			if segments[next].from < end {
				return content
			}
			end = segments[next].end()
		}
		out = appendS64(append(out, 0, opI32Const), int64(int32(first.from)))
		out = appendU32(append(out, opEnd), end-first.from)
		at := first.from
		for ; i < next; i++ {
			out = append(out, make([]byte, segments[i].from-at)...)
			out = append(out, segments[i].data...)
			at = segments[i].end()
		}
	}
	return append(appendU32(nil, n), out...)
}

// end cannot overflow: segments lie within the memory.
func (s segment) end() uint32 { return s.from + uint32(len(s.data)) }
