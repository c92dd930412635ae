package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirgate/weir/gateway/internal/sandbox"
	"github.com/weirgate/weir/gateway/internal/sandbox/wasmtest"
)

// coded is a module with one of everything and a function (i32) -> () of this code, without its end.
func coded(code string) []byte {
	m := &wasmtest.Module{}
	m.Type(i32, nil)
	m.Type(nil, []byte{wasmtest.I32, wasmtest.I64})
	f := m.Func(0, []byte{wasmtest.I64}, code)
	m.Table([]byte{0, 2})
	m.Memory(1)
	m.Global(0)
	m.Constant(0)
	m.Export("f", wasmtest.Func, f)
	m.Export("memory", wasmtest.Memory, 0)
	m.PassiveElement(0)
	m.Passive([]byte("x"))
	return m.Bytes()
}

// TestInstructions asks for every number of an instruction, with immediates of zeros, whether the
// check and the engine agree that there is one.
func TestInstructions(t *testing.T) {
	t.Parallel()
	var codes []string
	for op := range 256 {
		switch op {
		case 0xfc, 0xfd:
			for sub := range uint32(300) {
				codes = append(codes, string([]byte{byte(op)})+string(wasmtest.U32(sub)))
			}
		case 0x1c: // a vector of one type
			codes = append(codes, "\x1c\x01\x7f")
		case 0xd0:
			codes = append(codes, "\xd0\x70")
		case 0x02, 0x03, 0x04:
			codes = append(codes, string([]byte{byte(op)})+"\x40\x0b")
		case 0x0b: // ends the body
		default:
			codes = append(codes, string([]byte{byte(op)}))
		}
	}
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { rt.Close(ctx) })
	good := 0
	for _, code := range codes {
		// Without a type to the stack; zeros beyond the immediates are unreachable instructions.
		wasm := coded("\x00" + code + strings.Repeat("\x00", 20))
		_, err := sandbox.Inspect(wasm, sandbox.DefaultLimits())
		c, engine := rt.CompileModule(ctx, wasm)
		if (err == nil) != (engine == nil) {
			t.Errorf("instruction %x: %v, the engine says %v", code, err, engine)
		}
		if engine == nil {
			good++
			c.Close(ctx)
		}
		if err == nil {
			if _, _, err := sandbox.Prepare(wasm, sandbox.DefaultLimits()); err != nil {
				t.Errorf("instruction %x: %v", code, err)
			}
		}
	}
	if good < 400 {
		t.Errorf("only %d instructions", good)
	}
}

func TestCodeRefuses(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("\x02\x40", n) + strings.Repeat("\x0b", n) }
	for _, c := range []struct{ name, code, want string }{
		{"local", "\x20\x02", "local 2 of 2"},
		{"local set", "\x21\x7f", "local 127 of 2"},
		{"local tee", "\x22\x80\x80\x80\x80\x08", "local 2147483648 of 2"},
		{"global", "\x23\x02", "global 2 of 2"},
		{"global set", "\x24\x02", "global 2 of 2"},
		{"global constant", "\x24\x01", "global 1 is not mutable"},
		{"call", "\x10\x01", "function 1 of 1"},
		{"call type", "\x11\x02\x00", "type 2 of 2"},
		{"call table", "\x11\x00\x01", "table 1 of 1"},
		{"reference", "\xd2\x01", "function 1 of 1"},
		{"null", "\xd0\x7f", "null reference 0x7f is not a reference type"},
		{"label", "\x0c\x01", "label 1 of 1"},
		{"label in blocks", "\x02\x40\x02\x40\x0c\x03\x0b\x0b", "label 3 of 3"},
		{"label if", "\x0d\x05", "label 5 of 1"},
		{"label table", "\x0e\x01\x00\x01", "label 1 of 1"},
		{"label table first", "\x0e\x01\x02\x00", "label 2 of 1"},
		{"label table count", "\x0e\xff\xff\xff\xff\x0f", "4294967295 labels, at most"},
		{"block type", "\x02\x02\x0b", "block of type 2 of 2"},
		{"block type negative", "\x02\xff\x7f\x0b", "block of type -1 of 2"},
		{"block type unknown", "\x02\x6a\x0b", "block type 0x6a is not a value type"},
		{"block type long", "\x02\x80\x80\x80\x80\x80\x00\x0b", "block type is longer than 5 bytes"},
		{"block open", "\x02\x40", "function 0 (byte 84): ends within the code"},
		{"else", "\x05", "else without if"},
		{"else of block", "\x02\x40\x05\x0b", "else without if"},
		{"else twice", "\x41\x00\x04\x40\x05\x05\x0b", "else without if"},
		{"end early", "\x0b\x01", "2 bytes behind the end of the body"},
		{"select types", "\x1c\x02\x7f\x7f", "select of 2 types, want 1"},
		{"select type", "\x1c\x01\x00", "type of select 0x0 is not a value type"},
		{"alignment", "\x28\x03\x00", "alignment 2^3, at most 2^2"},
		{"alignment byte", "\x2d\x01\x00", "alignment 2^1, at most 2^0"},
		{"alignment huge", "\x37\xff\xff\xff\xff\x0f\x00", "alignment 2^4294967295, at most 2^3"},
		{"offset", "\x28\x02\xff\xff\xff\xff\x1f", "offset is not an unsigned number of 32 bits"},
		{"memory size", "\x3f\x01", "memory index 1, want 0"},
		{"memory grow", "\x40\x01", "memory index 1, want 0"},
		{"memory init", "\xfc\x08\x01\x00", "data segment 1 of 1"},
		{"memory init memory", "\xfc\x08\x00\x01", "memory index 1, want 0"},
		{"data drop", "\xfc\x09\x01", "data segment 1 of 1"},
		{"memory copy", "\xfc\x0a\x00\x01", "memory index 1, want 0"},
		{"memory fill", "\xfc\x0b\x01", "memory index 1, want 0"},
		{"table init", "\xfc\x0c\x01\x00", "element segment 1 of 1"},
		{"table init table", "\xfc\x0c\x00\x01", "table 1 of 1"},
		{"elem drop", "\xfc\x0d\x01", "element segment 1 of 1"},
		{"table copy", "\xfc\x0e\x00\x01", "table 1 of 1"},
		{"table grow", "\xfc\x0f\x01", "table 1 of 1"},
		{"table size", "\xfc\x10\x01", "table 1 of 1"},
		{"table fill", "\xfc\x11\x01", "table 1 of 1"},
		{"table get", "\x25\x01", "table 1 of 1"},
		{"table set", "\x26\x01", "table 1 of 1"},
		{"bulk number", "\xfc\x12", "instruction 0xfc 18 is not known"},
		{"vector alignment", "\xfd\x00\x05\x00", "alignment 2^5, at most 2^4"},
		{"vector lane", "\xfd\x15\x10", "lane 16 of 16"},
		{"vector lane of two", "\xfd\x22\x02", "lane 2 of 2"},
		{"vector load lane", "\xfd\x57\x00\x00\x02", "lane 2 of 2"},
		{"vector load lane alignment", "\xfd\x57\x04\x00\x00", "alignment 2^4, at most 2^3"},
		{"vector shuffle", "\xfd\x0d" + strings.Repeat("\x1f", 15) + "\x20", "lane 32 of 32"},
		{"vector number", "\xfd\x9a\x01", "instruction 0xfd 154 is not known"},
		{"relaxed vector", "\xfd\x80\x02", "instruction 0xfd 256 is not known"},
		{"tail call", "\x12\x00", "instruction 0x12 is not known"},
		{"atomic", "\xfe\x10\x02\x00", "instruction 0xfe is not known"},
		{"exception", "\x06\x40\x0b", "instruction 0x6 is not known"},
		{"constant", "\x41\xff\xff\xff\xff\xff\x00", "constant is longer than 5 bytes"},
		{"wide constant", "\x42" + strings.Repeat("\xff", 10) + "\x00", "constant is longer than 10 bytes"},
		{"cut constant", "\x44\x00", "constant of 8 bytes, 2 left"},
		{"nesting", nested(2001), "more than 2000 blocks within each other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := sandbox.Prepare(coded(c.code), sandbox.DefaultLimits())
			if !errors.Is(err, sandbox.ErrModule) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "code section, function 0 (byte ") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, _, err := sandbox.Prepare(coded(nested(2000)), sandbox.DefaultLimits()); err != nil {
		t.Errorf("2000 blocks: %v", err)
	}
}

// TestCodeOfModule refuses code for what the module around it lacks.
func TestCodeOfModule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		make       func(m *wasmtest.Module, void int)
	}{
		{"no data count", "data segment 0 of 0", func(m *wasmtest.Module, v int) {
			m.Func(v, nil, "\xfc\x09\x00")
			m.Memory(1)
			m.Data(0, []byte("x"))
		}},
		{"undeclared reference", "reference to function 0, which no export, element or global names", func(m *wasmtest.Module, v int) {
			m.Func(v, nil, "\xd2\x00\x1a")
			m.Memory(1)
		}},
		{"fuel by name", `the name "weir fuel" is the gateway's`, func(m *wasmtest.Module, _ int) {
			m.Memory(1)
			m.Global(0)
			m.Export(sandbox.ExportFuel, wasmtest.Global, 0)
		}},
		{"depth by name", `the name "weir depth" is the gateway's`, func(m *wasmtest.Module, v int) {
			m.Memory(1)
			m.Export(sandbox.ExportDepth, wasmtest.Func, m.Func(v, nil))
		}},
		{"slice by name", `the name "weir sliced f" is the gateway's`, func(m *wasmtest.Module, v int) {
			m.Memory(1)
			m.Export(sandbox.ExportSliced+"f", wasmtest.Func, m.Func(v, nil))
		}},
		{"fuel by number", "global 0 of 0", func(m *wasmtest.Module, v int) {
			m.Func(v, nil, "\x42\x00\x24\x00")
			m.Memory(1)
		}},
		{"data outside", "content [65535,+2) outside the memory of 1 pages", func(m *wasmtest.Module, _ int) {
			m.Memory(1)
			m.Data(65535, []byte("xx"))
		}},
		{"data at the end of addresses", "content [4294967295,+1) outside the memory", func(m *wasmtest.Module, _ int) {
			m.Memory(1)
			m.Data(-1, []byte("x"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := sandbox.Prepare(with(c.make), sandbox.DefaultLimits())
			if !errors.Is(err, sandbox.ErrModule) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestCostly refuses what is short to write and costly to compile: values that are moved many at a time.
func TestCostly(t *testing.T) {
	t.Parallel()
	many := make([]byte, 1000)
	for i := range many {
		many[i] = wasmtest.I32
	}
	wide := func(code string) []byte {
		m := &wasmtest.Module{}
		m.Type(nil, many)
		m.Type(many, many)
		m.Func(0, nil, "\x00")
		m.Func(0, nil, code)
		m.Memory(1)
		return m.Bytes()
	}
	locals := func(n int, code string) []byte {
		return with(func(m *wasmtest.Module, v int) {
			m.Body(v, wasmtest.Cat([]byte{1}, wasmtest.U32(uint32(n)), []byte{wasmtest.I32}, []byte(code+"\x0b")))
			m.Memory(1)
		})
	}
	for _, c := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"calls", wide(strings.Repeat("\x10\x00", 2000) + "\x00"), "blocks, branches and calls move more than 262144 values and globals"},
		{"blocks", wide("\x00" + strings.Repeat("\x02\x01\x0b", 1000)), "blocks, branches and calls move more than 262144 values and globals"},
		{"labels", wide("\x00\x02\x00\x0e\xd0\x0f" + strings.Repeat("\x00", 2000) + "\x00\x0b"), "blocks, branches and calls move more than 262144 values and globals"},
		{"locals", locals(10_000, strings.Repeat("\x20\x00\x04\x40\x0b", 100)), "53 blocks and branches among 10000 locals and what else is live, at most 524288 multiplied"},
		{"blocks and branches", locals(1, strings.Repeat("\x20\x00\x0d\x00", 8001)), "more than 8000 blocks and branches"},
		{"loops", locals(1, strings.Repeat("\x03\x40", 33)+strings.Repeat("\x0b", 33)), "more than 32 loops within each other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := sandbox.Prepare(c.wasm, sandbox.DefaultLimits())
			if !errors.Is(err, sandbox.ErrModule) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func ExampleErrModule() {
	_, err := sandbox.Inspect(coded("\x0c\x07"), sandbox.DefaultLimits())
	fmt.Println(err)
	// Output: module refused: code section, function 0 (byte 83): label 7 of 1
}
