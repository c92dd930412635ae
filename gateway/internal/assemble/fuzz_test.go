package assemble_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/assemble"
)

// anyRecords reads a sequence of records that passes record.Check out of random bytes.
func anyRecords(data []byte) (recs []rec) {
	kinds := []record.Kind{
		record.Text, record.Reasoning, record.BlockEnd, record.Marker, record.CallBegin, record.Name, record.ID, record.Args, record.Key, record.Value, record.Open, record.Close, record.CallEnd,
		record.CallBegin, record.Name, record.Key, record.Value, record.Args,
	}
	for len(data) >= 4 && len(recs) < 300 {
		r := rec{kind: kinds[int(data[0])%len(kinds)], flags: record.Flags(data[1]), aux: uint32(data[2] % 3)}
		n := min(int(data[3]%24), len(data)-4)
		r.text, data = string(data[4:4+n]), data[4+n:]
		for record.Check(record.Record{Kind: r.kind, Aux: r.aux}) != nil {
			r.aux--
		}
		for bit := record.Flags(1); bit < 1<<8; bit <<= 1 {
			if record.Check(record.Record{Kind: r.kind, Flags: r.flags & bit}) != nil {
				r.flags &^= bit
			}
		}
		recs = append(recs, r)
	}
	return recs
}

func fuzzOptions(pick byte) assemble.Options {
	o := assemble.Options{
		Tools: []conv.ToolDef{
			{Name: "f", Schema: []byte(`{"properties": {"a": {"type": ["integer", "null"]}, "b": {"type": "array"}, "c": {"type": ["object", "string"]}, "item": {"enum": [1, "x"]}}}`)},
			{Name: "p", Kind: conv.Custom},
		},
		Choice:      conv.ToolChoice{Parallel: pick&1 == 0},
		AnyName:     pick&2 != 0,
		EmitUnknown: pick&4 != 0,
		KeepRaw:     pick&8 != 0,
		Dispatch:    pick&16 != 0,
	}
	if pick&32 != 0 {
		o.Stop = []string{"ab", "\n", "f{"}
	}
	return o
}

// FuzzRecords plays any records that the host lets through: the grammar must hold, and cutting what may
// be cut must change nothing.
func FuzzRecords(f *testing.F) {
	f.Add(byte(2), byte(3), []byte("\x04\x00\x00\x01<\x05\x00\x00\x01f\x08\x00\x00\x01a\x09\x04\x02\x0212\x0c\x00\x00\x00"))
	f.Add(byte(26), byte(1), []byte("\x00\x00\x00\x03abc\x04\x00\x00\x01<\x05\x00\x00\x01f\x07\x00\x00\x08{\"a\": 1}\x0c\x00\x00\x00"))
	f.Add(byte(40), byte(2), []byte("\x04\x00\x00\x01<\x07\x00\x00\x04\"{}\"\x05\x00\x00\x01p\x0c\x00\x00\x00\x01\x00\x00\x01x"))
	f.Fuzz(func(t *testing.T, pick, size byte, data []byte) {
		recs := anyRecords(data)
		o := fuzzOptions(pick)
		whole := run(t, o, recs, event.ReasonStop)
		n := int(size%7) + 1
		got := run(t, o, pieces(recs, func() int { return n }), event.ReasonStop)
		if got.log != whole.log {
			t.Fatalf("records %+v\npieces of %d:\n%s\nwhole:\n%s", recs, n, got.log, whole.log)
		}
	})
}

var fuzzSchemas = []string{
	`{}`, `{"type": "string"}`, `{"type": "integer"}`, `{"type": "number"}`, `{"type": "boolean"}`, `{"type": ["string", "null"]}`, `{"type": "object"}`, `{"type": "array"}`,
	`{"type": ["object", "string"]}`, `{"type": ["array", "null"]}`, `{"enum": [1, "a", null, true]}`, `{"anyOf": [{"type": "integer"}, {"type": "boolean"}]}`, `{"type": ["boolean", "string", "number"]}`,
}

// FuzzValue types any text by any schema: the arguments are JSON or the call is not complete, a string
// comes back as it was written, and pieces equal the whole.
func FuzzValue(f *testing.F) {
	for i, in := range []string{"5", "null", "True", `{"a": 1}`, "[1, 2,]", "(1, 'x')", "text", "", " 20000.0 ", "é\xff", `{"a": `, "NaN", "-1e5"} {
		f.Add(byte(i), byte(2), byte(i), in)
	}
	f.Fuzz(func(t *testing.T, pick, kind, size byte, in string) {
		aux := uint32(kind % 3)
		schema := fuzzSchemas[int(pick)%len(fuzzSchemas)]
		recs := cat(begin("<c>"), name("f"), key("p"), val(aux, in), end())
		whole := run(t, prop(schema), recs, event.ReasonStop)
		got := run(t, prop(schema), pieces(recs, func() int { return int(size%9) + 1 }), event.ReasonStop)
		if got.log != whole.log {
			t.Fatalf("%s in %s: pieces\n%s\nwhole\n%s", in, schema, got.log, whole.log)
		}
		b := whole.res.Blocks[0]
		var v struct {
			P any `json:"p"`
		}
		if !b.Complete {
			if strings.Contains(schema, "string") && aux == sch || aux == str {
				t.Fatalf("%q in %s is not complete", in, schema)
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(b.Call.Arguments))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil && !strings.Contains(err.Error(), "max depth") {
			t.Fatalf("%s: %v", b.Call.Arguments, err)
		}
		text := strings.ToValidUTF8(in, "")
		switch p := v.P.(type) {
		case string:
			if aux == sch && in == text && p != in && !strings.ContainsAny(schema, "[") {
				t.Fatalf("%q became %q", in, p)
			}
		case json.Number:
			if aux == str || pick%13 < 2 && aux == sch {
				t.Fatalf("the string %q became %s", in, p)
			}
		}
	})
}

// FuzzQuoted plays arguments that are quoted as one string: no byte behind the one that breaks them is lost,
// and pieces equal the whole.
func FuzzQuoted(f *testing.F) {
	for _, in := range []string{`{\"a\": 1}`, `{\"a\" 1}`, `{} x`, `{\ud83d\ude00`, ` {\"\ud83d\": \u00e9`, `{\q}`, `{\"a\": \"\ud83d`} {
		f.Add(byte(1), in+`"`)
		f.Add(byte(2), in)
	}
	f.Fuzz(func(t *testing.T, size byte, in string) {
		recs := cat(begin("<c>"), name("f"), args(record.ArgsJSON, `"`+in), cut(), txt("\n."))
		whole := run(t, free(), recs, event.ReasonStop)
		n := int(size%9) + 1
		got := run(t, free(), pieces(recs, func() int { return n }), event.ReasonStop)
		if got.log != whole.log {
			t.Fatalf("%q in pieces of %d:\n%s\nwhole:\n%s", in, n, got.log, whole.log)
		}
	})
}

// FuzzFragments plays any fragments.
func FuzzFragments(f *testing.F) {
	f.Add(byte(2), []byte("\x02\x00\x01f{}\x02\x01\x01f{\"a\"\x00\x00\x00text"))
	f.Fuzz(func(t *testing.T, pick byte, data []byte) {
		check := &event.Checker{}
		a := assemble.New(fuzzOptions(pick), check)
		if err := a.Start(event.Usage{}); err != nil {
			t.Fatal(err)
		}
		for len(data) >= 4 {
			n := min(int(data[3]%16), len(data)-4)
			fr := engines.Fragment{Kind: engines.FragmentKind(data[0]%3 + 1), Index: int(data[1] % 4), Text: string(data[4 : 4+n])}
			switch data[2] % 4 {
			case 1:
				fr.Name = "f"
			case 2:
				fr.Name, fr.ID = "p", "id"
			case 3:
				fr.Name = fr.Text
			}
			data = data[4+n:]
			if err := a.Fragment(fr); err != nil {
				t.Fatal(err)
			}
		}
		reasons := []event.Reason{event.ReasonStop, event.ReasonLength, event.ReasonToolUse}
		err := a.Finish(reasons[int(pick)%3], "", event.Usage{})
		if pick&64 != 0 {
			err = a.Fail(event.Fault{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRandomTurns runs the record fuzzer's body over fixed seeds, so that every test run covers it.
func TestRandomTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte(`{}[]",:'\ntrufalse0129.-&;ab` + "\n é")
	for range 3000 {
		data := make([]byte, 200)
		for i := 0; i < len(data); {
			n := rng.IntN(8)
			data[i] = byte(rng.IntN(18))
			if i+3 < len(data) {
				data[i+1], data[i+2], data[i+3] = byte(rng.IntN(256)), byte(rng.IntN(3)), byte(n)
			}
			for j := i + 4; j < min(i+4+n, len(data)); j++ {
				data[j] = alphabet[rng.IntN(len(alphabet))]
			}
			i += 4 + n
		}
		recs := anyRecords(data)
		o := fuzzOptions(byte(rng.IntN(64)))
		whole := run(t, o, recs, event.ReasonStop)
		got := run(t, o, pieces(recs, func() int { return rng.IntN(3) + 1 }), event.ReasonStop)
		if got.log != whole.log {
			t.Fatalf("records %+v\npieces:\n%s\nwhole:\n%s", recs, got.log, whole.log)
		}
	}
}
