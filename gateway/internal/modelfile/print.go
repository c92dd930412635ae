package modelfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/conv"
)

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// listTokens names each special token with its text.
func listTokens(tokens map[string]string) string {
	var out []string
	for _, name := range sortedNames(tokens) {
		out = append(out, strings.TrimSuffix(name, "_token")+" "+tokens[name])
	}
	return strings.Join(out, ", ")
}

func listStops(texts []string, ids []uint32) string {
	out := slices.Clone(texts)
	if len(ids) > 0 {
		out = append(out, "ids")
	}
	var list strings.Builder
	list.WriteString(strings.Join(out, ", "))
	for _, id := range ids {
		list.WriteString(" " + strconv.FormatUint(uint64(id), 10))
	}
	return list.String()
}

// listSampling names the settings that are there.
func listSampling(s *conv.Sampling) string {
	var out []string
	float := func(name string, v *float64) {
		if v != nil {
			out = append(out, name+" "+strconv.FormatFloat(*v, 'g', -1, 64))
		}
	}
	float("temperature", s.Temperature)
	float("top_p", s.TopP)
	if s.TopK != nil {
		out = append(out, "top_k "+strconv.Itoa(*s.TopK))
	}
	float("min_p", s.MinP)
	float("repetition_penalty", s.RepetitionPenalty)
	return strings.Join(out, ", ")
}
