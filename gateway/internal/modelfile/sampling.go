package modelfile

import (
	"math"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
)

// sampling reads the defaults that generation_config.json gives. Values that no engine takes are left out.
type sampling struct{ conv.Sampling }

func (s *sampling) member(r *jsonscan.Reader, key string) error {
	var to **float64
	least, most := 0.0, math.MaxFloat64
	switch key {
	case "temperature":
		to = &s.Temperature
	case "top_p":
		to, most = &s.TopP, 1
	case "min_p":
		to, most = &s.MinP, 1
	case "repetition_penalty":
		to = &s.RepetitionPenalty
	case "top_k":
		v, ok, err := number(r)
		if ok && v >= 1 && v <= math.MaxInt32 && v == math.Trunc(v) {
			k := int(v)
			s.TopK = &k
		}
		return err
	default:
		return skip(r)
	}
	v, ok, err := number(r)
	if ok && v >= least && v <= most {
		*to = &v
	}
	return err
}
