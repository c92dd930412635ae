package surfacetest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

// Decode decodes a body with a memory, or with none.
type Decode func(m *recall.Memory, body []byte, h http.Header) (*surface.Request, error)

// NewRecall is a memory that takes every body.
func NewRecall() *recall.Memory { return recall.New(recall.Options{MaxBytes: 64 << 20}) }

// Remember decodes a body as often as it takes until it is remembered.
func Remember(m *recall.Memory, body []byte, h http.Header, decode Decode) {
	for range 2 {
		_, _ = decode(m, body, h) // a body that is refused is not remembered
	}
}

// SameRecalled decodes a body with a memory and without, and wants one result, or one fault; and another time from a body
// that is written over afterwards.
func SameRecalled(t *testing.T, name string, m *recall.Memory, body []byte, h http.Header, decode Decode) {
	t.Helper()
	want, wantErr := decode(nil, body, h)
	for range 2 {
		reused := bytes.Clone(body)
		got, err := decode(m, reused, h)
		clear(reused)
		if told(err) != told(wantErr) {
			t.Fatalf("%s: got fault %q, want %q", name, told(err), told(wantErr))
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %.2000q: got\n%.2000q\nwant\n%.2000q", name, body, dumped(got), dumped(want))
		}
	}
}

// told is all that a fault tells.
func told(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%s|%s|%s", f.Kind, f.Param, f.Public)
}

func dumped(r *surface.Request) string {
	if r == nil {
		return "nothing"
	}
	return fmt.Sprintf("%q %+v %+v", Dump(r.Messages), r.Tools, r.Request)
}

// AllRecalled decodes bodies, each with a memory that all before it warmed, and with one that each of the same scenario did.
func AllRecalled(t *testing.T, bodies []Recording, decode Decode) {
	t.Helper()
	all := NewRecall()
	for i := range bodies {
		b := &bodies[i]
		SameRecalled(t, b.Name+" behind all", all, b.Body, b.Header, decode)
		for j := range bodies {
			if before := &bodies[j]; before.Scenario == b.Scenario {
				m := NewRecall()
				Remember(m, before.Body, nil, decode)
				SameRecalled(t, b.Name+" behind "+before.Name, m, b.Body, nil, decode)
			}
		}
	}
}

// AtOnce decodes bodies in many goroutines, with a memory that holds them all and with one that does not, and wants of each
// what it says alone.
func AtOnce(t *testing.T, bodies [][]byte, decode Decode) {
	t.Helper()
	var want []*surface.Request
	for _, b := range bodies {
		req, err := decode(nil, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, req)
	}
	for _, most := range []int{64 << 20, 6 * len(bodies[0])} {
		m := recall.New(recall.Options{MaxBytes: most})
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				h := http.Header{"X-Api-Key": {strconv.Itoa(g % 2)}}
				for i := range 2 * len(bodies) {
					at := (i + g) % len(bodies)
					reused := bytes.Clone(bodies[at])
					got, err := decode(m, reused, h)
					clear(reused)
					if err != nil || !reflect.DeepEqual(got, want[at]) {
						t.Errorf("body %d is not what it is alone, %v", at, err)
					}
				}
			})
		}
		wg.Wait()
		if n := m.Bytes(); n == 0 || n > most {
			t.Errorf("%d bytes are held", n)
		}
	}
}

// BenchmarkRecalled decodes bodies of one conversation that differ in their ends: with no memory, with one that knows the
// beginning, and with one that is asked in vain.
func BenchmarkRecalled(b *testing.B, bodies [][]byte, decode Decode) {
	for name, m := range map[string]func() *recall.Memory{
		"whole": func() *recall.Memory { return nil },
		"known": func() *recall.Memory {
			m := NewRecall()
			Remember(m, bodies[0], nil, decode)
			return m
		},
	} {
		b.Run(name, func(b *testing.B) {
			m := m()
			b.SetBytes(int64(len(bodies[0])))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := decode(m, bodies[i%len(bodies)], nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("unknown", func(b *testing.B) {
		m := NewRecall()
		h := http.Header{"Authorization": {""}}
		b.SetBytes(int64(len(bodies[0])))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			h["Authorization"][0] = strconv.Itoa(i) // nobody knows what another one said
			if _, err := decode(m, bodies[i%len(bodies)], h); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// EachBehindEach decodes every body with a memory of every other one.
func EachBehindEach(t *testing.T, bodies []string, decode Decode) {
	t.Helper()
	for i, before := range bodies {
		for j, body := range bodies {
			Behind(t, fmt.Sprint(j, " behind ", i), []byte(before), []byte(body), decode)
		}
	}
}

// Behind decodes a body with a memory of another one: what it says does not depend on that.
func Behind(t *testing.T, name string, before, body []byte, decode Decode) {
	t.Helper()
	m := NewRecall()
	Remember(m, before, nil, decode)
	SameRecalled(t, name, m, body, nil, decode)
}
