package modelfile

import (
	"fmt"
	"math"

	"github.com/weirgate/weir/abi/jsonscan"
)

// maxContext is the longest window that is believed. What tools write for "no limit" is far beyond it.
const maxContext = 100_000_000

// modelConfig is what config.json says.
type modelConfig struct {
	modelType string
	length    float64 // max_position_embeddings
	nested    bool    // it stands in the configuration of the text model
	ends      []uint32
}

// configs reads config.json and generation_config.json; ok is false where there is neither.
func (r *reading) configs(dir string, c *tokenizerConfig) (ok bool, err error) {
	var m modelConfig
	hasModel, err := readObject(dir, configFile, m.member)
	if err != nil {
		return false, err
	}
	r.modelType = m.modelType
	r.window(&m, c)

	g := generation{do: true}
	hasGeneration, err := readObject(dir, generationFile, g.member)
	if err != nil {
		return false, err
	}
	r.why.sampling = "there is no " + generationFile
	if hasGeneration {
		r.why.sampling = generationFile + " has none"
		switch {
		case !g.do:
			r.why.sampling = generationFile + " says do_sample false"
		case listSampling(&g.Sampling) != "":
			r.Sampling, r.why.sampling = g.Sampling, generationFile
		}
	}
	r.ends = g.ends
	r.why.stops = "eos_token and " + generationFile
	if len(g.ends) == 0 {
		r.ends = m.ends
		r.why.stops = "eos_token and " + configFile
		if len(m.ends) == 0 {
			r.why.stops = "eos_token"
		}
	}
	return hasModel || hasGeneration, nil
}

// window decides how long it is: what the model was made for, or less if its tokenizer says so.
func (r *reading) window(m *modelConfig, c *tokenizerConfig) {
	sane := func(v float64) bool { return v >= 1 && v <= maxContext && v == math.Trunc(v) }
	if sane(m.length) {
		r.Context, r.why.context = int(m.length), "max_position_embeddings of "+configFile
		if m.nested {
			r.why.context += " (text model)"
		}
	}
	if sane(c.length) && (r.Context == 0 || int(c.length) < r.Context) {
		r.Context, r.why.context = int(c.length), "model_max_length of "+tokenizerFile
	}
}

// member reads one of config.json's. Models of more than text have the text model's own in an object.
func (m *modelConfig) member(r *jsonscan.Reader, key string) (err error) {
	switch key {
	case "model_type":
		var s string
		if s, _, err = text(r); s != "" {
			m.modelType = s
		}
		return err
	case "max_position_embeddings":
		v, ok, err := number(r)
		if ok {
			m.length, m.nested = v, false
		}
		return err
	case "eos_token_id":
		ids, err := readIDs(r)
		if len(ids) > 0 {
			m.ends = ids
		}
		return err
	case "text_config", "language_config", "llm_config":
		if r.Peek() != jsonscan.Object {
			return skip(r)
		}
		var inner modelConfig
		if err := r.Object(func(key []byte) error { return inner.member(r, string(key)) }); err != nil {
			return err
		}
		if m.length == 0 && inner.length != 0 {
			m.length, m.nested = inner.length, true
		}
		if len(m.ends) == 0 {
			m.ends = inner.ends
		}
		return nil
	}
	return skip(r)
}

// generation is what generation_config.json says.
type generation struct {
	sampling
	do   bool
	ends []uint32
}

func (g *generation) member(r *jsonscan.Reader, key string) error {
	switch key {
	case "do_sample":
		raw, err := r.Raw()
		g.do = string(raw) != "false"
		return err
	case "eos_token_id":
		ids, err := readIDs(r)
		g.ends = ids
		return err
	}
	return g.sampling.member(r, key)
}

// readIDs reads an id, or a list of ids. Another value has none.
func readIDs(r *jsonscan.Reader) (ids []uint32, err error) {
	one := func() error {
		v, ok, err := number(r)
		if ok && v >= 0 && v < math.MaxUint32 && v == math.Trunc(v) {
			if len(ids) >= maxEnds {
				return fmt.Errorf("more than %d ids in eos_token_id", maxEnds)
			}
			ids = append(ids, uint32(v))
		}
		return err
	}
	if r.Peek() != jsonscan.Array {
		err = one()
		return ids, err
	}
	err = r.Array(func(int) error { return one() })
	return ids, err
}
