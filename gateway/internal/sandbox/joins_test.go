package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

const v128 = 0x7b

// many is a list of n types.
func many(typ byte, n int) []byte { return []byte(strings.Repeat(string([]byte{typ}), n)) }

// withLocals is a body with n locals of one type behind the parameters.
func withLocals(n int, typ byte, code string) []byte {
	return w.Cat([]byte{1}, w.U32(uint32(n)), []byte{typ}, []byte(code+w.End))
}

// shuffle assigns n locals behind the first.
func shuffle(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(w.LocalGet(uint32(1+(i+1)%n)) + w.LocalSet(uint32(1+i)))
	}
	return b.String()
}

// leave is code that leaves each of n blocks around an if, and runs step before.
func leave(n int, step string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(step + w.LocalGet(0) + w.BrIf(uint32(1+i)))
	}
	return b.String()
}

// TestChargesOfJoins charges what is moved where ways meet, and by calls.
func TestChargesOfJoins(t *testing.T) {
	t.Parallel()
	rt := engine(t)
	get := w.LocalGet(0)
	const (
		none = iota // types
		one
		thousand   // leaves 1,000 values
		takes      // takes them
		fifty      // 50 vectors
		takesFifty // and takes them
	)
	consts := strings.Repeat("\x42\x05", 1000)
	vectors := strings.Repeat("\xfd\x0c"+strings.Repeat("\x01", 16), 50)
	for _, c := range []struct {
		name   string
		locals int
		typ    byte
		code   string
		arg    uint64
		want   int64
	}{
		{"loop that assigns 24 locals", 24, w.I64, w.Loop + get + w.If + shuffle(24) + w.End + w.End, 0, 2},
		{"loop that assigns 100", 100, w.I64, w.Loop + get + w.If + shuffle(100) + w.End + w.End, 0, 2 + 76 + 76},
		{"loop that assigns 100 vectors", 100, v128, w.Loop + get + w.If + shuffle(100) + w.End + w.End, 0, 2 + 176 + 176},
		{"each round of it", 100, w.I64, w.Loop + get + w.I32Const(1) + w.Sub + w.LocalSet(0) + get + w.BrIf(0) + get + w.If + shuffle(100) + w.End + w.End, 3, 3*(8+77) + 76},
		{"loop around one that assigns", 100, w.I64, w.Loop + w.Loop + get + w.If + shuffle(100) + w.End + w.End + w.End, 0, 2 + 76 + 100 + 76},
		{"loop that assigns nothing, around one join", 100, w.I64, get + w.If + shuffle(100) + w.End + w.Loop + get + w.Drop + w.End, 0, 2 + 2 + 76},
		{"ends behind one another", 20, w.I64, strings.Repeat(w.Block, 10) + get + w.If + leave(10, shuffle(20)) + w.End + strings.Repeat(w.End, 10), 0, 2 + 10*20 - 4},
		{"loops behind one another", 20, w.I64, strings.Repeat(w.Loop, 10) + get + w.If + shuffle(20) + w.End + strings.Repeat(w.End, 10), 0, 2 + 9*20},
		{"one local assigned often", 100, w.I64, w.Loop + get + w.If + strings.Repeat("\x42\x00"+w.LocalSet(1), 500) + w.End + w.End, 0, 2},
		{"two arms that assign", 100, w.I64, get + w.If + shuffle(50) + w.Else + shuffle(60) + w.End, 1, 2 + 100 + 36},
		{"block that nothing leaves early", 100, w.I64, w.Block + shuffle(100) + w.End, 0, 200},
		{"parameter", 24, w.I64, w.Loop + get + w.If + w.I32Const(1) + w.LocalSet(0) + shuffle(24) + w.End + w.End, 0, 2 + 1 + 1},
		{"loop with 1,000 parameters", 0, w.I64, consts + "\x03" + string(w.S64(takes)) + "\x42\x07" + get + w.I32Const(1) + w.Sub + "\x22\x00" + w.BrIf(0) + w.Return + w.End, 3, 1000 + 3*(977+7)},
		{"block with 1,000 results", 0, w.I64, "\x02" + string(w.S64(thousand)) + consts + get + w.BrIf(0) + w.End + strings.Repeat(w.Drop, 1000), 1, 1000 + 2 + 976 + 1000},
		{"call with 1,000 results and parameters", 0, w.I64, w.Call(1) + w.Call(2), 0, 2*(1+992) + 1000},
		{"the same through the table", 0, w.I64, w.I32Const(1) + "\x11\x02\x00" + w.I32Const(2) + "\x11\x03\x00", 0, 2*(2+992) + 1000},
		{"call with 50 vectors", 0, w.I64, w.Call(3) + w.Call(4), 0, 2*(1+92) + 50},
		{"product", 0, w.I64, f64(1) + f64(1) + "\xa2" + w.Drop, 0, 3 + 30},
		{"quotient of 32 bits", 0, w.I64, f32(1) + f32(1) + "\x95" + w.Drop, 0, 3 + 30},
		{"root", 0, w.I64, f64(2) + "\x9f" + w.Drop, 0, 2 + 30},
		{"sum", 0, w.I64, f64(1) + f64(1) + "\xa0" + w.Drop, 0, 4},
		{"product of vectors", 0, w.I64, vector + vector + "\xfd\xf2\x01" + w.Drop, 0, 3 + 30},
		{"root of a vector", 0, w.I64, vector + "\xfd\xe3\x01" + w.Drop, 0, 2 + 30},
		{"conversion of a vector", 0, w.I64, vector + "\xfd\xfc\x01" + w.Drop, 0, 2 + 8},
		{"reference", 0, w.I64, "\xd2\x01" + w.Drop, 0, 500 + 1},
		{"grow a table by nothing", 0, w.I64, "\xd0\x70" + w.I32Const(0) + "\xfc\x0f\x00" + w.Drop, 0, 3 + 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &w.Module{}
			m.Type(nil, nil)
			m.Type(i32, nil)
			m.Type(nil, many(w.I64, 1000))
			m.Type(many(w.I64, 1000), nil)
			m.Type(nil, many(v128, 50))
			m.Type(many(v128, 50), nil)
			m.Export("f", w.Func, m.Body(one, withLocals(c.locals, c.typ, c.code)))
			m.Func(thousand, nil, consts)
			m.Func(takes, nil)
			m.Func(fifty, nil, vectors)
			m.Func(takesFifty, nil)
			m.Table([]byte{0, 8})
			m.Element(0, 0, 1, 2, 3, 4)
			m.Memory(1)
			g := instance(t, rt, prepare(t, m.Bytes()))
			_, used, err := g.call("f", plenty, c.arg)
			if err != nil || used != c.want {
				t.Errorf("%d fuel used, want %d (%v)", used, c.want, err)
			}
		})
	}
}

// Constants.
const vector = "\xfd\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"

func f64(v byte) string { return "\x44" + string([]byte{v, 0, 0, 0, 0, 0, 0, 0}) }
func f32(v byte) string { return "\x43" + string([]byte{v, 0, 0, 0}) }

// TestDepthOfVectors: vectors count twice for the depth, since the engine's stack holds them.
func TestDepthOfVectors(t *testing.T) {
	t.Parallel()
	rt := engine(t)
	for _, c := range []struct {
		name string
		typ  byte
		want int // calls within each other
	}{
		{"numbers", w.I64, 250},
		{"vectors", v128, 143},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &w.Module{}
			m.Type(append(many(c.typ, 900), w.I32), nil)
			m.Type(i32, nil)
			var args strings.Builder
			for i := range 900 {
				args.WriteString(w.LocalGet(uint32(i)))
			}
			n := w.LocalGet(900)
			m.Func(0, nil, n+w.If+args.String()+n+w.I32Const(1)+w.Sub+w.Call(0)+w.End)
			zero := "\x42\x00"
			if c.typ == v128 {
				zero = vector
			}
			m.Export("f", w.Func, m.Func(1, nil, strings.Repeat(zero, 900)+w.LocalGet(0)+w.Call(0)))
			m.Memory(1)
			g := instance(t, rt, prepare(t, m.Bytes()))
			low, high := 0, 1001
			for low+1 < high {
				mid := (low + high) / 2
				g.depth.Set(0)
				if _, _, err := g.call("f", plenty, uint64(mid)); err == nil {
					low = mid
				} else {
					high = mid
				}
			}
			if low > c.want || low < c.want-10 {
				t.Errorf("%d calls within each other, want about %d", low, c.want)
			}
		})
	}
}

// TestPieces: data that stays in many pieces is refused, since each instance copies them one by one.
func TestPieces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		n    int
		step int32
		want string
	}{
		{"close together", 12_000, 80, ""},
		{"apart", 10_000, 100, ""},
		{"too many apart", 10_001, 100, "data section: 10001 segments that lie apart, at most 10000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &w.Module{}
			for i := range c.n {
				m.Data(int32(i)*c.step, make([]byte, 20))
			}
			m.Memory(20)
			_, _, err := sandbox.Prepare(m.Bytes(), sandbox.DefaultLimits())
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, sandbox.ErrModule) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
