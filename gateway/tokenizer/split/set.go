package split

import (
	"slices"

	"github.com/weirgate/weir/gateway/tokenizer/internal/ucd"
)

// span is a range of code points, both ends included. A ranges value is sorted and has no overlaps.
type (
	span   struct{ lo, hi rune }
	ranges []span
)

func single(r rune) ranges { return ranges{{r, r}} }

func (a ranges) union(b ranges) ranges {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y span) int { return int(x.lo - y.lo) })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, s.hi)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func (a ranges) negate() ranges {
	var out ranges
	from := rune(0)
	for _, s := range a {
		if s.lo > from {
			out = append(out, span{from, s.lo - 1})
		}
		from = s.hi + 1
	}
	if from <= ucd.MaxRune {
		out = append(out, span{from, ucd.MaxRune})
	}
	return out
}

func (a ranges) intersect(b ranges) ranges { return a.negate().union(b.negate()).negate() }

// where collects the code points of a class.
func where(in func(ucd.Class) bool) ranges {
	var out ranges
	open := false
	for r := rune(0); r <= ucd.MaxRune; r++ {
		switch has := in(ucd.ClassOf(r)); {
		case has && open:
			out[len(out)-1].hi = r
		case has:
			out, open = append(out, span{r, r}), true
		default:
			open = false
		}
	}
	return out
}

// set answers membership: a bitmap in blocks of 256 code points, equal ones shared.
type set struct {
	index  [(ucd.MaxRune + 1) >> 8]uint16
	blocks [][4]uint64
}

func newSet(in ranges) *set {
	s := new(set)
	seen := make(map[[4]uint64]uint16)
	for i := range s.index {
		var block [4]uint64
		first := rune(i) << 8
		for len(in) > 0 && in[0].hi < first {
			in = in[1:]
		}
		for _, r := range in {
			if r.lo > first+255 {
				break
			}
			for c := max(r.lo, first); c <= min(r.hi, first+255); c++ {
				block[c>>6&3] |= 1 << (c & 63)
			}
		}
		at, ok := seen[block]
		if !ok {
			at = uint16(len(s.blocks))
			seen[block], s.blocks = at, append(s.blocks, block)
		}
		s.index[i] = at
	}
	return s
}

func (s *set) has(r rune) bool {
	return s.blocks[s.index[r>>8]][r>>6&3]>>(r&63)&1 != 0
}
