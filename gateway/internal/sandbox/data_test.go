package sandbox_test

import (
	"bytes"
	"testing"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// TestDataSegments joins segments where the memory stays the same.
func TestDataSegments(t *testing.T) {
	t.Parallel()
	type seg struct {
		at   int32
		data string
	}
	far := int32(65536 - 4)
	for _, c := range []struct {
		name string
		in   []seg
		want int
	}{
		{"none", nil, 0},
		{"one", []seg{{5, "abc"}}, 1},
		{"touching", []seg{{0, "ab"}, {2, "cd"}, {4, "ef"}}, 1},
		{"near", []seg{{0, "ab"}, {66, "cd"}}, 1},
		{"not near", []seg{{0, "ab"}, {67, "cd"}}, 2},
		{"in any order", []seg{{40, "ef"}, {0, "ab"}, {20, "cd"}}, 1},
		{"overlapping", []seg{{0, "abcdef"}, {2, "X"}, {5, "YZ"}}, 3},
		{"the same twice", []seg{{0, "ab"}, {0, "cd"}}, 2},
		{"one within a long one", []seg{{10, "X"}, {0, "a long segment that covers"}}, 2},
		{"empty", []seg{{0, ""}, {9, "a"}, {9, ""}}, 1},
		{"to the end", []seg{{far, "last"}, {far - 4, "but "}}, 1},
		{"many", func() (all []seg) {
			for i := range int32(2000) {
				all = append(all, seg{i * 30, "0123456789"[:i%10+1]})
			}
			return all
		}(), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &w.Module{}
			m.Memory(1)
			m.Export("memory", w.Memory, 0)
			for _, s := range c.in {
				m.Data(s.at, []byte(s.data))
			}
			in := m.Bytes()
			out := prepare(t, in)
			got, err := sandbox.InspectPrepared(out)
			must(t, err)
			if got.Segments != c.want {
				t.Errorf("%d segments, want %d", got.Segments, c.want)
			}
			rt := engine(t)
			if !bytes.Equal(memory(instance(t, rt, in)), memory(instance(t, rt, out))) {
				t.Error("other memory")
			}
		})
	}
}

// TestDataNamed leaves the segments alone that code names.
func TestDataNamed(t *testing.T) {
	t.Parallel()
	m := &w.Module{}
	void := m.Type(nil, nil)
	m.Export("f", w.Func, m.Func(void, nil, w.I32Const(0), w.I32Const(0), w.I32Const(3), "\xfc\x08\x02\x00\xfc\x09\x01"))
	m.Memory(1)
	m.Export("memory", w.Memory, 0)
	m.Data(8, []byte("a"))
	m.Data(9, []byte("b"))
	m.Passive([]byte("xyz"))
	out := prepare(t, m.Bytes())
	got, err := sandbox.InspectPrepared(out)
	must(t, err)
	if got.Segments != 3 {
		t.Errorf("%d segments, want 3", got.Segments)
	}
	g := instance(t, engine(t), out)
	_, _, err = g.call("f", plenty)
	must(t, err)
	if b := memory(g)[:10]; string(b) != "xyz\x00\x00\x00\x00\x00ab" {
		t.Errorf("memory: %q", b)
	}
}
