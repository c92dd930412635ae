package shadow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/shadow"
)

func subject(model, plugin string, generation uint64) shadow.Subject {
	return shadow.Subject{Model: model, Shadow: plugin, Generation: generation}
}

func TestStoreJSON(t *testing.T) {
	t.Parallel()
	var s shadow.Store
	if got := string(s.AppendJSON(nil)); got != `{"models":[]}` {
		t.Errorf("empty: %s", got)
	}
	s.First(subject("told", "p", 1), shadow.Faulty)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	s.Add(shadow.Entry{
		Subject: subject("b", "acme", 3), Time: at, RequestID: "r1",
		Difference: shadow.Difference{Event: 2, First: shadow.Place{Kind: event.TextDelta, At: 7, Text: []byte("a\xff\"")}, Second: shadow.Place{Kind: event.TextEnd, At: 9}, Output: []byte("xa")},
	})
	s.Add(shadow.Entry{Subject: subject("a", "acme", 3), Time: at, RequestID: "r2", Difference: shadow.Difference{
		First: shadow.Place{Kind: event.Finish, Detail: "stop"}, Second: shadow.Place{Kind: event.Finish, Detail: "length"},
	}})
	s.Count(subject("b", "acme", 2), shadow.Same, nil)
	s.Count(subject("b", "acme", 3), shadow.Same, nil) // of another version, counted anew
	s.Count(subject("b", "acme", 3), shadow.Faulty, &host.Fault{Export: "weir1_feed", Err: errors.New("trap")})
	s.Count(subject("b", "acme", 3), shadow.Same, nil)
	const want = `{"models":[` +
		`{"model":"a","shadows":[],"differences":[{"time":"2026-01-02T02:04:05Z","request_id":"r2","shadow":"acme","generation":3,"event":0,"first":{"type":"finish","detail":"stop","at":0},"second":{"type":"finish","detail":"length","at":0}}]},` +
		`{"model":"b","shadows":[{"shadow":"acme","generation":3,"streams":{"same":2,"different":0,"fault":1,"unbounded":0,"skipped":0},"fault":"weir1_feed: trap"}],"differences":[{"time":"2026-01-02T02:04:05Z","request_id":"r1","shadow":"acme","generation":3,"event":2,"first":{"type":"text_delta","at":7,"text":"a` + "\ufffd" + `\""},"second":{"type":"text_end","at":9},"output":"xa"}]}]}`
	if got := string(s.AppendJSON(nil)); got != want || !json.Valid([]byte(got)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Keep([]string{"a", "c"})
	if got := string(s.AppendJSON(nil)); len(got) >= len(want)-200 {
		t.Errorf("after a model is gone: %s", got)
	}
}

// TestStoreBounds adds from many goroutines more than is kept.
func TestStoreBounds(t *testing.T) {
	t.Parallel()
	var s shadow.Store
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := range 100 {
				s.Add(shadow.Entry{Subject: subject("m", "p", 1), RequestID: fmt.Sprint(k, "-", i)})
				s.First(subject("m", fmt.Sprint("p", i), 1), shadow.Different)
				s.AppendJSON(nil)
			}
		})
	}
	wg.Wait()
	var v struct {
		Models []struct{ Differences []any }
	}
	if err := json.Unmarshal(s.AppendJSON(nil), &v); err != nil || len(v.Models) != 1 || len(v.Models[0].Differences) != 16 {
		t.Errorf("%v, %+v", err, v)
	}
}

// TestFirst tells a result once a generation.
func TestFirst(t *testing.T) {
	t.Parallel()
	var s shadow.Store
	for i, c := range []struct {
		of     shadow.Subject
		result shadow.Result
		want   bool
	}{
		{subject("m", "p", 1), shadow.Different, true},
		{subject("m", "p", 1), shadow.Different, false},
		{subject("m", "p", 1), shadow.Faulty, true},
		{subject("n", "p", 1), shadow.Different, true},
		{subject("m", "q", 1), shadow.Different, true},
		{subject("m", "p", 2), shadow.Different, true},
		{subject("m", "p", 1), shadow.Different, false}, // a stream that began before
		{subject("m", "p", 2), shadow.Different, false},
	} {
		if got := s.First(c.of, c.result); got != c.want {
			t.Errorf("%d: %+v, %s: got %v", i, c.of, c.result, got)
		}
	}
}
