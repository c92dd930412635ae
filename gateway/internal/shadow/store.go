package shadow

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/jsonscan"
)

// maxKept is how many differences are kept of a model.
const maxKept = 16

// Subject is what was compared.
type Subject struct {
	Model      string
	Shadow     string // the plugin
	Generation uint64 // of its name, which counts up when the plugin is replaced
}

// Entry is one difference that a Store keeps.
type Entry struct {
	Subject
	Time      time.Time
	RequestID string
	Difference
}

// Store keeps the latest differences of each model, in memory. It is safe for concurrent use, and the zero
// value is ready.
type Store struct {
	mu     sync.Mutex
	models map[string]*kept // guarded by mu
}

// kept is what is kept of one model.
type kept struct {
	differences []Entry // the oldest first
	told        []told
	tallies     []tally
}

// tally counts the streams of a subject.
type tally struct {
	subject Subject
	counts  map[Result]int
	fault   string // the latest
}

// told is what was told of a subject, of the latest generation.
type told struct {
	subject Subject
	result  Result
}

func (s *Store) of(model string) *kept {
	k := s.models[model]
	if k == nil {
		if s.models == nil {
			s.models = map[string]*kept{}
		}
		k = &kept{}
		s.models[model] = k
	}
	return k
}

// Add keeps a difference, in place of the model's oldest if there are enough.
func (s *Store) Add(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(e.Model)
	if len(k.differences) == maxKept {
		k.differences = slices.Delete(k.differences, 0, 1)
	}
	k.differences = append(k.differences, e)
}

// First reports whether a subject has this result for the first time, so that a difference or fault that all
// streams have is told once. Of each plugin it remembers the latest generation.
func (s *Store) First(of Subject, r Result) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(of.Model)
	i := slices.IndexFunc(k.told, func(t told) bool { return t.subject.Shadow == of.Shadow && t.result == r })
	switch {
	case i < 0:
		if len(k.told) == maxKept {
			k.told = slices.Delete(k.told, 0, 1)
		}
		k.told = append(k.told, told{of, r})
	case k.told[i].subject.Generation >= of.Generation:
		return false
	default:
		k.told[i].subject = of
	}
	return true
}

// Count counts a stream of a subject, and keeps what the shadow's fault was, if it had one. Another generation
// of the plugin begins anew.
func (s *Store) Count(of Subject, r Result, f *host.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(of.Model)
	i := slices.IndexFunc(k.tallies, func(t tally) bool { return t.subject.Shadow == of.Shadow })
	switch {
	case i < 0:
		if len(k.tallies) == maxKept {
			k.tallies = slices.Delete(k.tallies, 0, 1)
		}
		i = len(k.tallies)
		k.tallies = append(k.tallies, tally{subject: of, counts: map[Result]int{}})
	case k.tallies[i].subject != of:
		k.tallies[i] = tally{subject: of, counts: map[Result]int{}}
	}
	t := &k.tallies[i]
	t.counts[r]++
	if f != nil {
		t.fault = f.Error()
	}
}

// Keep forgets what is not of these models.
func (s *Store) Keep(models []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.models, func(m string, _ *kept) bool { return !slices.Contains(models, m) })
}

// AppendJSON appends all that is kept as one JSON object: {"models":[{"model","shadows":[{"shadow",
// "generation","streams":{"same":1,..},"fault"}],"differences":[..]}]}, the latest difference last.
func (s *Store) AppendJSON(dst []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	dst = append(dst, `{"models":[`...)
	comma := false
	for _, model := range slices.Sorted(maps.Keys(s.models)) {
		k := s.models[model]
		if len(k.differences)+len(k.tallies) == 0 {
			continue
		}
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		dst = jsonscan.AppendString(append(dst, `{"model":`...), model)
		dst = append(dst, `,"shadows":[`...)
		for i := range k.tallies {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = k.tallies[i].appendJSON(dst)
		}
		dst = append(dst, `],"differences":[`...)
		for i := range k.differences {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = k.differences[i].appendJSON(dst)
		}
		dst = append(dst, `]}`...)
	}
	return append(dst, `]}`...)
}

func (t *tally) appendJSON(dst []byte) []byte {
	dst = jsonscan.AppendString(append(dst, `{"shadow":`...), t.subject.Shadow)
	dst = strconv.AppendUint(append(dst, `,"generation":`...), t.subject.Generation, 10)
	dst = append(dst, `,"streams":{`...)
	for i, r := range Results() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(jsonscan.AppendString(dst, string(r)), ':'), int64(t.counts[r]), 10)
	}
	dst = append(dst, '}')
	if t.fault != "" {
		dst = jsonscan.AppendString(append(dst, `,"fault":`...), t.fault)
	}
	return append(dst, '}')
}

func (e *Entry) appendJSON(dst []byte) []byte {
	dst = e.Time.UTC().AppendFormat(append(dst, `{"time":"`...), time.RFC3339)
	dst = jsonscan.AppendString(append(dst, `","request_id":`...), e.RequestID)
	dst = jsonscan.AppendString(append(dst, `,"shadow":`...), e.Shadow)
	dst = strconv.AppendUint(append(dst, `,"generation":`...), e.Generation, 10)
	dst = strconv.AppendInt(append(dst, `,"event":`...), int64(e.Event), 10)
	dst = e.First.appendJSON(append(dst, `,"first":`...))
	dst = e.Second.appendJSON(append(dst, `,"second":`...))
	if e.Output != nil {
		dst = jsonscan.AppendString(append(dst, `,"output":`...), e.Output)
	}
	return append(dst, '}')
}

func (p *Place) appendJSON(dst []byte) []byte {
	dst = jsonscan.AppendString(append(dst, `{"type":`...), p.Kind.String())
	if p.Detail != "" {
		dst = jsonscan.AppendString(append(dst, `,"detail":`...), p.Detail)
	}
	dst = strconv.AppendInt(append(dst, `,"at":`...), int64(p.At), 10)
	if p.Text != nil {
		dst = jsonscan.AppendString(append(dst, `,"text":`...), p.Text)
	}
	return append(dst, '}')
}
