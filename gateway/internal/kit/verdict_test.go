package kit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/tck/wat"
	"github.com/weirgate/weir/gateway/internal/kit"
)

// stub is a parser in text form. What is empty has a default: a parser that takes everything for text.
type stub struct {
	members string // of the manifest, behind the obligatory ones, each with a comma in front
	longer  int    // bytes by which the descriptor's length of the manifest is off
	sticky  bool
	open    string // the body of a function, with $len
	feed    string // likewise; $text, $one and the globals $n and $i are there
	finish  string
}

func (s *stub) module(tb testing.TB) []byte {
	tb.Helper()
	manifest := `{"name": "stub", "version": "1", "abi": 1, "kinds": ["parser"]` + s.members + `}`
	window, n := 16, len(manifest)+s.longer
	if s.sticky {
		window = 0
	}
	or := func(text, other string) string {
		if text == "" {
			return other
		}
		return text
	}
	text := fmt.Sprintf(`(module
  (memory (export "memory") 2)
  (data (i32.const 0x100) "WEI1" "\20\00\00\00" "\00\40\00\00" "\00\20\00\00" "\00\02\00\00" "\%02x\00\00\00" "\00\10\00\00" "\%02x\%02x\00\00")
  (data (i32.const 0x1000) "%s\00")
  (global $n (mut i32) (i32.const 0))
  (global $i (mut i32) (i32.const 0))
  (func $put (param $k i32) (param $kind i32) (param $ptr i32) (param $len i32)
    (local $at i32)
    (local.set $at (i32.add (i32.const 0x8000) (i32.shl (local.get $k) (i32.const 4))))
    (i32.store (local.get $at) (local.get $kind))
    (i32.store offset=4 (local.get $at) (local.get $ptr))
    (i32.store offset=8 (local.get $at) (local.get $len))
    (i32.store offset=12 (local.get $at) (i32.const 0)))
  (func $records (param $count i32) (result i64)
    (i64.or (i64.const 0x800000000000) (i64.shl (i64.extend_i32_u (local.get $count)) (i64.const 4))))
  (func $one (param $kind i32) (param $len i32) (result i64)
    (if (i32.eqz (local.get $len)) (then (return (i64.const 0))))
    (call $put (i32.const 0) (local.get $kind) (i32.const 0x4000) (local.get $len))
    (call $records (i32.const 1)))
  (func $text (param $len i32) (result i64)
    (call $one (i32.const 1) (local.get $len)))
  (func $burn (param $rounds i32)
    (global.set $i (local.get $rounds))
    (block
      (loop
        (br_if 1 (i32.le_s (global.get $i) (i32.const 0)))
        (global.set $i (i32.sub (global.get $i) (i32.const 1)))
        (br 0))))
  (func (export "weir1_describe") (result i32)
    (i32.const 0x100))
  (func (export "weir1_open") (param $len i32) (result i32)
    %s)
  (func (export "weir1_feed") (param $len i32) (param $spans i32) (param $flags i32) (result i64)
    %s)
  (func (export "weir1_finish") (param $len i32) (param $spans i32) (param $why i32) (result i64)
    %s))`, window, n&0xff, n>>8, strings.ReplaceAll(manifest, `"`, `\"`),
		or(s.open, "(i32.const 0)"), or(s.feed, "(call $text (local.get $len))"), or(s.finish, "(call $text (local.get $len))"))
	wasm, err := wat.Assemble(text)
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

// check returns the report of a stub and its text.
func (s *stub) check(tb testing.TB, o kit.CheckOptions) (*kit.Report, string) {
	tb.Helper()
	o.File = "stub.wasm"
	r, err := kit.Check(tb.Context(), s.module(tb), o)
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		tb.Fatal(err)
	}
	return r, b.String()
}

// opensCall begins a call at a '<' that its input begins with: the name is the next byte. What then comes of the
// rest of the call is other code.
const opensCall = `(if (i32.load8_u (i32.const 0x200)) (then %s))
    (if (i32.and (i32.gt_u (local.get $len) (i32.const 1)) (i32.eq (i32.load8_u (i32.const 0x4000)) (i32.const 60))) (then
      (call $put (i32.const 0) (i32.const 5) (i32.const 0x4000) (i32.const 1))
      (call $put (i32.const 1) (i32.const 6) (i32.const 0x4001) (i32.const 1))
      (i32.store8 (i32.const 0x200) (i32.const 1))
      (return (call $records (i32.const 2)))))
    (call $text (local.get $len))`

func TestCheckTells(t *testing.T) {
	t.Parallel()
	const both = `, "reasoning": ["curly"], "tools": ["curly"]`
	for _, tt := range []struct {
		name string
		stub stub
		o    kit.CheckOptions
		ok   bool
		want []string
		not  []string
	}{
		{
			"trap in an open call",
			stub{feed: fmt.Sprintf(opensCall, "unreachable")},
			kit.CheckOptions{},
			false,
			[]string{"FAIL  L5        no fault, and every stream ends\n                weir1_feed: ", "(trap)\n", "\nstub.wasm: FAIL: "},
			[]string{"inside a call"},
		},
		{
			"odd records in an open call",
			stub{feed: fmt.Sprintf(opensCall, "(call $put (i32.const 0) (i32.const 8) (i32.const 0x3000) (local.get $len)) (return (call $records (i32.const 1)))")},
			kit.CheckOptions{},
			false,
			[]string{"FAIL  L2        the records' bytes are the stream\n                weir1_feed: ", "(records)\n"},
			[]string{"inside a call", "FAIL  L5"},
		},
		{
			"trap at a boundary",
			stub{feed: "(if (local.get $flags) (then unreachable)) (call $text (local.get $len))"},
			kit.CheckOptions{},
			false,
			[]string{"FAIL  L5 ", "(trap), in feeds with the boundary flag\n"},
			[]string{"FAIL  boundary"},
		},
		{
			"state outside of the window",
			stub{feed: "(global.set $n (i32.add (global.get $n) (i32.const 1))) (call $one (i32.add (i32.const 1) (i32.and (global.get $n) (i32.const 1))) (local.get $len))"},
			kit.CheckOptions{},
			false,
			[]string{
				"FAIL  L8        streams do not see each other\n                at byte 0: expected ", "(is state kept outside of the window? ABI.md 10)\n",
				"stub.wasm: FAIL: L1 with {}; L8 with {}",
			},
			nil,
		},
		{
			"cuts",
			stub{feed: "(call $one (i32.add (i32.const 1) (i32.eq (local.get $len) (i32.const 1))) (local.get $len))"},
			kit.CheckOptions{},
			false,
			[]string{"FAIL  L1        any chunking gives the same records\n", " in pieces of 1 byte\n", ": FAIL: L1 with {}"},
			[]string{"[1 1"},
		},
		{
			"a format that is listed and refused",
			stub{members: both, open: "(i32.sub (i32.const 0) (i32.gt_u (local.get $len) (i32.const 4)))"},
			kit.CheckOptions{},
			false,
			[]string{
				"with {\"reasoning\": \"curly\", \"tools\": \"\"}\nFAIL  open      plugin stub: plugin refuses its configuration: weir1_open returned -1; " +
					"its manifest lists reasoning \"curly\", which open must then take\n",
				`lists reasoning "curly" and tools "curly", which`, "\nPASS  L1 ", "and 1 more\n",
			},
			nil,
		},
		{
			"a format that is not listed",
			stub{members: both, open: "(i32.const -1)"},
			kit.CheckOptions{Config: `{"tools": "x"}`},
			false,
			[]string{"returned -1; its manifest lists reasoning: curly; tools: curly\n", `: FAIL: open with {"tools": "x"}` + "\n"},
			nil,
		},
		{
			"every configuration refused",
			stub{open: "(i32.const -1)"},
			kit.CheckOptions{},
			false,
			[]string{"returned -1; a configuration may leave out every name (ABI.md 3)\n"},
			nil,
		},
		{
			"nothing recognised",
			stub{members: both, open: "(i32.sub (i32.const 0) (i32.gt_u (local.get $len) (i32.const 200)))"},
			kit.CheckOptions{Config: "{}"},
			true,
			[]string{"note  formats   no input had a call or reasoning: ", "--corpus", ": PASS\n"},
			nil,
		},
		{
			"no calls recognised",
			stub{members: both, feed: "(call $one (i32.const 2) (local.get $len))"},
			kit.CheckOptions{Config: `{"tools": "curly", "reasoning": "curly"}`},
			true,
			[]string{"note  formats   no input had a call in curly: "},
			nil,
		},
		{"no formats listed", stub{}, kit.CheckOptions{}, true, []string{": PASS\n"}, []string{"note"}},
		{"sticky", stub{sticky: true, members: both}, kit.CheckOptions{Config: "{}"}, true, []string{"note  sticky    ", "plugins.max_sticky"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, text := tt.stub.check(t, tt.o)
			if r.OK != tt.ok {
				t.Errorf("got ok %v, want %v", r.OK, tt.ok)
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("want %q", want)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(text, not) {
					t.Errorf("got %q", not)
				}
			}
			if t.Failed() {
				t.Logf("got:\n%s", text)
			}
			seen := map[string]bool{}
			for _, v := range r.Verdicts {
				if key := v.Check + " " + v.Config; v.Check == "open" && !v.OK && seen[key] {
					t.Errorf("%s is told twice", key)
				} else {
					seen[key] = true
				}
			}
		})
	}
}

// TestCheckLinear has a collector that runs now and then, which is no fault of the parser, and a parser that looks
// at all that came before with each feed, which is one.
func TestCheckLinear(t *testing.T) {
	t.Parallel()
	t.Run("collector", func(t *testing.T) {
		t.Parallel()
		// A measurement of both lengths has 6,144 feeds, so that two of four have none of these.
		r, text := (&stub{feed: `(global.set $n (i32.add (global.get $n) (i32.const 1)))
			(if (i32.eqz (i32.rem_u (global.get $n) (i32.const 12288))) (then (call $burn (i32.const 200000))))
			(call $text (local.get $len))`}).check(t, kit.CheckOptions{})
		if !r.OK {
			t.Errorf("got:\n%s", text)
		}
	})
	t.Run("quadratic", func(t *testing.T) {
		t.Parallel()
		r, text := (&stub{feed: `(i32.store (i32.const 0x200) (i32.add (i32.load (i32.const 0x200)) (local.get $len)))
			(call $burn (i32.load (i32.const 0x200)))
			(call $text (local.get $len))`}).check(t, kit.CheckOptions{})
		if r.OK || !strings.Contains(text, "FAIL  L4        work grows with the input and no faster\n") || !strings.Contains(text, ": FAIL: L4 with {}\n") {
			t.Errorf("got:\n%s", text)
		}
		if r.Peaks.Fuel > 3_000_000 {
			t.Errorf("a call took %d instructions", r.Peaks.Fuel)
		}
	})
}

// TestCheckPolicyWithoutNames has a policy that lists none, so that it takes any configuration, and one that lists a
// name and takes every other.
func TestCheckPolicyWithoutNames(t *testing.T) {
	t.Parallel()
	for members, taken := range map[string]bool{"": true, `, "policies": ["one"]`: false} {
		wasm := kit.Bearer([]byte(`{"name": "x", "version": "1", "abi": 1, "kinds": ["template"]` + members + `}`))
		r, err := kit.Check(t.Context(), wasm, kit.CheckOptions{File: "x.wasm"})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := r.Write(&b); err != nil || strings.Contains(b.String(), "FAIL  open      a name that is not known must be an error, got 0\n") == taken {
			t.Errorf("%q: got:\n%s", members, b.String())
		}
		if strings.Contains(b.String(), "(trap)") {
			t.Errorf("a plugin without %s did not trap:\n%s", abi.ExportReserve, b.String())
		}
	}
}
