package wat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/tck/wat"
)

const header = "\x00asm\x01\x00\x00\x00"

func TestAssemble(t *testing.T) {
	t.Parallel()
	const unit = "\x01\x04\x01\x60\x00\x00" // the type () -> ()
	code := func(body string) string {
		return header + unit + "\x03\x02\x01\x00" + "\x0a" + string(rune(len(body)+4)) + "\x01" + string(rune(len(body)+2)) + "\x00" + body + "\x0b"
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", `(module)`, header},
		{"comments", "(module ;; one\n (; two (; three ;) ;) )", header},
		{"memory", `(module (memory (export "m") 1 2))`, header + "\x05\x04\x01\x01\x01\x02" + "\x07\x05\x01\x01m\x02\x00"},
		{"data", `(module (memory 1) (data (i32.const 300) "a\00\"\n" "b"))`, header + "\x05\x03\x01\x00\x01" + "\x0c\x01\x01" + "\x0b\x0c\x01\x00\x41\xac\x02\x0b\x05a\x00\"\nb"},
		{"flat", `(module (func i32.const -1 drop))`, code("\x41\x7f\x1a")},
		{"folded", `(module (func (drop (i32.add (i32.const 1) (i32.const 2)))))`, code("\x41\x01\x41\x02\x6a\x1a")},
		{"labels", `(module (func (block $a (loop $b (br $a) (br $b) (br 2)))))`, code("\x02\x40\x03\x40\x0c\x01\x0c\x00\x0c\x02\x0b\x0b")},
		{"flat blocks", `(module (func block $a loop br $a end end))`, code("\x02\x40\x03\x40\x0c\x01\x0b\x0b")},
		{"folded if", `(module (func (if (i32.const 1) (then (nop)) (else (unreachable)))))`, code("\x41\x01\x04\x40\x01\x05\x00\x0b")},
		{"if with a result", `(module (func (drop (if (result i32) (i32.const 1) (then (i32.const 2)) (else (i32.const 3))))))`, code("\x41\x01\x04\x7f\x41\x02\x05\x41\x03\x0b\x1a")},
		{"branch table", `(module (func (block $a (br_table $a 1 $a (i32.const 0)))))`, code("\x02\x40\x41\x00\x0e\x02\x00\x01\x00\x0b")},
		{"access", `(module (func (drop (i32.load8_u offset=256 align=1 (i32.const 0)))))`, code("\x41\x00\x2d\x00\x80\x02\x1a")},
		{"bulk", `(module (func (memory.copy (i32.const 0) (i32.const 1) (i32.const 2))))`, code("\x41\x00\x41\x01\x41\x02\xfc\x0a\x00\x00")},
		{"last numeric", `(module (func (drop (i64.extend32_s (i64.const 0xffffffffffffffff)))))`, code("\x42\x7f\xc4\x1a")},
		{
			"function",
			`(module (import "m" "f" (func $f (param i32))) (func $g (export "g") (param $x i32) (result i32) (local $y i32) (call $f (local.get $x)) (local.get $y)))`,
			header + "\x01\x0a\x02\x60\x01\x7f\x00\x60\x01\x7f\x01\x7f" + "\x02\x07\x01\x01m\x01f\x00\x00" + "\x03\x02\x01\x01" + "\x07\x05\x01\x01g\x00\x01" +
				"\x0a\x0c\x01\x0a\x01\x01\x7f\x20\x00\x10\x00\x20\x01\x0b",
		},
		{
			"table",
			`(module (type $t (func)) (table $t 1 1 funcref) (elem (i32.const 0) $f) (func $f (call_indirect (type $t) (i32.const 0))) (start $f))`,
			header + unit + "\x03\x02\x01\x00" + "\x04\x05\x01\x70\x01\x01\x01" + "\x08\x01\x00" + "\x09\x07\x01\x00\x41\x00\x0b\x01\x00" + "\x0a\x09\x01\x07\x00\x41\x00\x11\x00\x00\x0b",
		},
		{"global", `(module (global $g (mut i64) (i64.const 5)) (export "g" (global $g)))`, header + "\x06\x06\x01\x7e\x01\x42\x05\x0b" + "\x07\x05\x01\x01g\x03\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := wat.Assemble(c.text)
			if err != nil || string(got) != c.want {
				t.Errorf("got  %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func TestAssembleRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "line 1: the text ends"},
		{"no module", "(func)", "want (module ...)"},
		{"open", "(module\n(func", "line 2: a ( without its )"},
		{"behind", "(module))", "text behind the module"},
		{"semicolon", "(module ;)", "a ; that begins no comment"},
		{"string", "(module (data \"\n\"))", "over the end of its line"},
		{"escape", `(module (data "\zz"))`, "bad escape"},
		{"field", "(module (tag))", "tag is not a field"},
		{"instruction", "(module\n(func (i32.frob)))", "line 2: i32.frob is not an instruction"},
		{"label", "(module (func (br $a)))", "label $a is not open"},
		{"local", "(module (func (local.get $a)))", "local $a is not known"},
		{"function", "(module (func (call $a)))", "$a is not known"},
		{"twice", "(module (func $a) (func $a))", "$a is there twice"},
		{"number", "(module (func (i32.const 4294967296)))", "want a number of 32 bits"},
		{"end", "(module (func end))", "an end without its block"},
		{"block", "(module (func block))", "a block without its end"},
		{"deep", strings.Repeat("(", 1000), "lists within each other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := wat.Assemble(c.text)
			if !errors.Is(err, wat.ErrSyntax) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzAssemble wants an error or a module for every text, and never a panic.
func FuzzAssemble(f *testing.F) {
	f.Add(`(module (memory (export "memory") 2) (func (export "f") (param $a i32) (result i64) (local i32) (if (local.get $a) (then (nop))) (i64.const 1)))`)
	f.Add(`(module (table 1 funcref) (elem (i32.const 0) func 0) (data "x\00") (global (mut i32) (i32.const 1)) (start 0))`)
	f.Add(`(module (type $t (func (param i32))) (import "a" "b" (func (type $t))) (func (type $t) block loop br_table 0 1 end end))`)
	f.Add(`(module (func (if) (block $a (param i32) (br $a)) else end (select)))`)
	f.Fuzz(func(t *testing.T, text string) {
		b, err := wat.Assemble(text)
		if (err == nil) != (len(b) > 0) {
			t.Errorf("%d bytes and %v", len(b), err)
		}
	})
}
