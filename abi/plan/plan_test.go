package plan_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/plan"
)

func outline() *plan.Outline {
	return &plan.Outline{
		Rows: []plan.Row{
			{Message: 0, Part: 0, Kind: 1, Role: 3, Length: 5, Flags: plan.RowLastUser},
			{Message: 1, Part: 0, Kind: 2, Role: 4, Flags: plan.RowSealed | plan.RowEmpty},
			{Message: 1, Part: 1, Kind: 3, Role: 4, Length: 1 << 31, Name: "get_weather"},
			{Message: 2, Part: 0, Kind: 4, Role: 5, Name: "call_1", Flags: plan.RowError},
		},
		Switches: []byte(`{"thinking":"on"}`),
	}
}

func ops() []plan.Op {
	return []plan.Op{
		{Kind: plan.KwargOp, Key: "enable_thinking", Value: "true"},
		{Kind: plan.PartOp, Message: 1, Part: 0, Action: plan.Splice},
		{Kind: plan.PartOp, Message: 1, Part: 1, Action: plan.Drop},
		{Kind: plan.CallIDOp, Message: 1, Part: 1, Value: "functions.get_weather:0"},
		{Kind: plan.StopOp, Value: "<|im_end|>"},
		{Kind: plan.TokenOp, Value: "<tool_call>"},
		{Kind: plan.StartOp, State: plan.StartReasoning},
		{Kind: plan.TailOp, Value: "<think>\n"},
	}
}

func encode(ops []plan.Op) []byte {
	var b []byte
	for _, op := range ops {
		b = plan.AppendOp(b, op)
	}
	return b
}

func TestOutlineRoundTrip(t *testing.T) {
	for name, o := range map[string]*plan.Outline{"rows": outline(), "nothing": {Rows: []plan.Row{}, Switches: []byte{}}} {
		t.Run(name, func(t *testing.T) {
			got, err := plan.ParseOutline(plan.AppendOutline(nil, o))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, o) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestViewAllocatesNothing(t *testing.T) {
	b := plan.AppendOutline(nil, outline())
	names := 0
	n := testing.AllocsPerRun(10, func() {
		v, err := plan.ViewOutline(b)
		if err != nil {
			t.Fatal(err)
		}
		names = 0
		for i := range v.Len() {
			names += len(v.Name(v.Row(i)))
		}
	})
	if n != 0 || names != len("get_weather")+len("call_1") {
		t.Errorf("%v allocations, %d bytes of names", n, names)
	}
}

func TestPlanRoundTrip(t *testing.T) {
	got, err := plan.Parse(encode(ops()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, ops()) {
		t.Errorf("got %+v", got)
	}
	if got, err := plan.Parse(nil); err != nil || len(got) != 0 {
		t.Errorf("an empty plan: %v, %v", got, err)
	}
}

// TestWire pins the bytes that ABI.md describes.
func TestWire(t *testing.T) {
	o := &plan.Outline{Rows: []plan.Row{{Message: 1, Part: 2, Kind: 3, Role: 4, Length: 5, Name: "f", Flags: 8}}, Switches: []byte("{}")}
	const wantOutline = "01000000" + "01000000" + "02000000" + "01000000" +
		"01000000" + "0200" + "03" + "04" + "05000000" + "00000000" + "0100" + "0800" + "00000000" + "7b7d" + "66"
	if got := hex.EncodeToString(plan.AppendOutline(nil, o)); got != wantOutline {
		t.Errorf("outline %s, expected %s", got, wantOutline)
	}
	const wantOp = "0200" + "02" + "00" + "01000000" + "0300" + "0100" + "02000000" + "6b" + "7676"
	if got := hex.EncodeToString(plan.AppendOp(nil, plan.Op{Kind: plan.PartOp, Message: 1, Part: 3, Action: plan.Splice, Key: "k", Value: "vv"})); got != wantOp {
		t.Errorf("instruction %s, expected %s", got, wantOp)
	}
	const wantStart = "0600" + "01" + "00" + "00000000" + "0000" + "0000" + "00000000"
	if got := hex.EncodeToString(plan.AppendOp(nil, plan.Op{Kind: plan.StartOp, State: plan.StartContent})); got != wantStart {
		t.Errorf("start %s, expected %s", got, wantStart)
	}
}

func TestParseOutlineRefuses(t *testing.T) {
	good := plan.AppendOutline(nil, outline())
	put := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	for name, b := range map[string][]byte{
		"nothing":             nil,
		"half a header":       good[:15],
		"cut":                 good[:len(good)-1],
		"bytes behind":        append(bytes.Clone(good), 0),
		"another version":     put(0, 2),
		"more rows than sent": put(4, 5),
		"rows without end":    put(4, 1<<32-1),
		"too many rows":       put(4, plan.MaxRows+1),
		"switches too long":   put(8, 1<<32-1),
		"a name elsewhere":    put(16+2*24+12, 1<<32-1),
		"a message of two roles": plan.AppendOutline(nil, &plan.Outline{Rows: []plan.Row{
			{Message: 4, Kind: 1, Role: 4}, {Message: 4, Part: 1, Kind: 2, Role: 3},
		}}),
	} {
		t.Run(name, func(t *testing.T) {
			if o, err := plan.ParseOutline(b); !errors.Is(err, plan.ErrFormat) {
				t.Errorf("got %+v, %v", o, err)
			}
		})
	}
}

func TestParsePlanRefuses(t *testing.T) {
	good := plan.AppendOp(nil, plan.Op{Kind: plan.PartOp, Value: "v"})
	set := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	start := plan.AppendOp(nil, plan.Op{Kind: plan.StartOp, State: plan.StartReasoning + 1})
	for name, b := range map[string][]byte{
		"half a header":       good[:15],
		"cut":                 good[:len(good)-1],
		"bytes behind":        append(bytes.Clone(good), 0),
		"kind 0":              set(0, 0),
		"an unknown kind":     set(0, byte(plan.TailOp)+1),
		"an unknown action":   set(2, byte(plan.Splice)+1),
		"an unknown state":    start,
		"a key beyond":        set(10, 9),
		"a value beyond":      set(15, 0xff),
		"too many to be real": bytes.Repeat(plan.AppendOp(nil, plan.Op{Kind: plan.StopOp}), plan.MaxOps+1),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := plan.Parse(b); !errors.Is(err, plan.ErrFormat) {
				t.Errorf("got %d instructions, %v", len(got), err)
			}
		})
	}
}

func FuzzParseOutline(f *testing.F) {
	f.Add(plan.AppendOutline(nil, outline()))
	f.Add(plan.AppendOutline(nil, &plan.Outline{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := plan.ParseOutline(b)
		if err != nil {
			if !errors.Is(err, plan.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		again, err := plan.ParseOutline(plan.AppendOutline(nil, o))
		if err != nil || !reflect.DeepEqual(again, o) {
			t.Fatalf("%+v became %+v, %v", o, again, err)
		}
	})
}

func FuzzParsePlan(f *testing.F) {
	f.Add(encode(ops()))
	f.Add([]byte(strings.Repeat("\x01", 40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := plan.Parse(b)
		if err != nil {
			if !errors.Is(err, plan.ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		again, err := plan.Parse(encode(got))
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v became %+v, %v", got, again, err)
		}
	})
}
