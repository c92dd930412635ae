package sandbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	w "github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// operandTypes are values to give an instruction, by type.
func operandTypes() []string {
	return []string{
		w.I32Const(0), w.I64Const(0), "\x43" + strings.Repeat("\x00", 4), "\x44" + strings.Repeat("\x00", 8),
		"\xfd\x0c" + strings.Repeat("\x00", 16), "\xd0\x70",
	}
}

// operandLists are the operands that an instruction may take, fewest first.
func operandLists() []string {
	lists := []string{""}
	types := operandTypes()
	i32, v128, ref := types[0], types[4], types[5]
	lists = append(lists, types...)
	for _, a := range types {
		for _, b := range types {
			lists = append(lists, a+b)
		}
	}
	for _, t := range types {
		lists = append(lists, t+t+i32)
	}
	return append(lists, v128+v128+v128, i32+ref+i32)
}

// TestOperands asks for every instruction that is not of control how many operands it takes and leaves, as
// the engine sees it.
func TestOperands(t *testing.T) {
	t.Parallel()
	var codes []string
	for op := 0x1a; op < 0x100; op++ {
		switch op {
		case 0x1c:
			codes = append(codes, "\x1c\x01\x7f")
		case 0xd0:
			codes = append(codes, "\xd0\x70")
		case 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
			0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e:
			codes = append(codes, string([]byte{byte(op)})+"\x00\x00")
		case 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x3f, 0x40, 0x41, 0x42, 0xd2:
			codes = append(codes, string([]byte{byte(op)})+"\x00")
		case 0x43:
			codes = append(codes, operandTypes()[2])
		case 0x44:
			codes = append(codes, operandTypes()[3])
		case 0xfc:
			for sub, zeros := range []int{8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 13: 1, 14: 2, 15: 1, 16: 1, 17: 1} {
				codes = append(codes, "\xfc"+string(w.U32(uint32(sub)))+strings.Repeat("\x00", zeros))
			}
		case 0xfd:
			for sub := range uint32(256) {
				zeros := 0
				switch {
				case sub < 0x0c, sub == 0x5c, sub == 0x5d:
					zeros = 2
				case sub == 0x0c, sub == 0x0d:
					zeros = 16
				case sub >= 0x15 && sub <= 0x22:
					zeros = 1
				case sub >= 0x54 && sub < 0x5c:
					zeros = 3
				}
				codes = append(codes, "\xfd"+string(w.U32(sub))+strings.Repeat("\x00", zeros))
			}
		default:
			codes = append(codes, string([]byte{byte(op)}))
		}
	}
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { rt.Close(ctx) })
	found := 0
	for _, code := range codes {
		if _, err := sandbox.Inspect(coded("\x00"+code+"\x00"), sandbox.DefaultLimits()); err != nil {
			continue // not an instruction
		}
		if err := checkOperands(ctx, rt, code); err != nil {
			t.Error(err)
		}
		found++
	}
	if found < 400 {
		t.Errorf("only %d instructions", found)
	}
}

// checkOperands finds operands with which the engine takes the instruction, and compares what is left.
func checkOperands(ctx context.Context, rt wazero.Runtime, code string) error {
	for _, list := range operandLists() {
		for left := range 2 {
			c, err := rt.CompileModule(ctx, coded(list+code+strings.Repeat(w.Drop, left)))
			if err != nil {
				continue
			}
			c.Close(ctx)
			n, err := sandbox.Operands(coded(list + code))
			switch {
			case err != nil:
				return err
			case n != left:
				return fmt.Errorf("instruction %x behind %x: %d operands left, the engine says %d", code, list, n, left)
			}
			return nil
		}
	}
	return fmt.Errorf("instruction %x: no operands found", code)
}

// TestOperandsOfBlocks counts operands over calls, blocks and code out of reach.
func TestOperandsOfBlocks(t *testing.T) {
	t.Parallel()
	get := w.LocalGet(0)
	for _, c := range []struct {
		name, code string
		want       int
	}{
		{"call", get + get + w.Call(0), 1},
		{"call through the table", get + get + get + "\x11\x00\x00", 1},
		{"block with results", get + "\x02\x01" + get + get + w.I64Const(0) + "\x0c\x00" + w.End, 3},
		{"if with a result", get + get + "\x04\x7f" + get + w.Else + get + w.End, 2},
		{"if with a parameter", get + get + "\x04\x00" + w.Drop + w.Else + w.Drop + w.End, 0},
		{"loop with a parameter", get + get + "\x03\x00" + w.Drop + w.End, 1},
		{"dead code", get + w.Block + get + get + w.Br(0) + w.Drop + w.Drop + get + get + w.End, 1},
		{"dead function", get + get + w.Unreachable, 0},
		{"label table", get + w.Block + get + get + "\x0e\x00\x00" + w.End, 1},
		{"return", get + w.Block + get + w.Return + w.End, 1},
		{"branch that goes on", get + w.Block + get + w.BrIf(0) + w.End, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if n, err := sandbox.Operands(coded(c.code)); err != nil || n != c.want {
				t.Errorf("%d operands, want %d (%v)", n, c.want, err)
			}
		})
	}
}
