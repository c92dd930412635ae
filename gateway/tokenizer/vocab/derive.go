package vocab

import "fmt"

// MergesOf returns the merges of a vocabulary that has none but joins any two tokens whose bytes together
// are a token: all splits of each token that rank takes part with. find returns the id of a text.
func MergesOf(tokens []string, rank func(id uint32) (uint32, bool), find func(text string) (uint32, bool)) ([]Merge, error) {
	var merges []Merge
	work := 0 // bytes that are looked at
	for i, text := range tokens {
		id := uint32(i)
		r, ok := rank(id)
		if !ok {
			continue
		}
		if work += len(text) * len(text); work > maxJoins {
			return nil, fmt.Errorf("%w: tokens so long that finding what joins to them would take minutes", ErrVocabulary)
		}
		for cut := 1; cut < len(text); cut++ {
			left, ok := find(text[:cut])
			if !ok {
				continue
			}
			right, ok := find(text[cut:])
			if !ok {
				continue
			}
			if merges = append(merges, Merge{Left: left, Right: right, ID: id, Rank: r}); len(merges) > MaxMerges {
				return nil, fmt.Errorf("%w: more than %d merges", ErrVocabulary, MaxMerges)
			}
		}
	}
	return merges, nil
}

// maxJoins bounds the work of MergesOf, in squares of bytes: some hundred times what the vocabularies take that are
// known.
const maxJoins = 1 << 30
