package record_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/record"
)

// vectors returns the lines of a golden file, cut at the equals sign.
func vectors(t *testing.T, name string) [][2]string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out [][2]string
	for line := range strings.Lines(string(b)) {
		if value, wire, ok := strings.Cut(strings.TrimSpace(line), " = "); ok && line[0] != '#' {
			out = append(out, [2]string{value, wire})
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no vectors", name)
	}
	return out
}

func TestGoldenRecords(t *testing.T) {
	kinds := map[record.Kind]bool{}
	for _, v := range vectors(t, "records.txt") {
		var r record.Record
		if _, err := fmt.Sscanf(v[0], "%d 0x%x %d %d %d", &r.Kind, &r.Flags, &r.Ptr, &r.Len, &r.Aux); err != nil {
			t.Fatalf("%s: %v", v[0], err)
		}
		kinds[r.Kind] = true
		wire, err := hex.DecodeString(v[1])
		if err != nil || len(wire) != record.Size {
			t.Fatalf("%s: %d bytes, %v", v[0], len(wire), err)
		}
		if got := record.Append(nil, r); !bytes.Equal(got, wire) {
			t.Errorf("%s: encoded %x, expected %x", v[0], got, wire)
		}
		if got := record.Get(wire); got != r {
			t.Errorf("%s: decoded %+v", v[0], got)
		}
		if err := record.Check(r); err != nil {
			t.Errorf("%s: %v", v[0], err)
		}
	}
	for k := record.Text; k <= record.CallEnd; k++ {
		if !kinds[k] {
			t.Errorf("no vector of %v", k)
		}
	}
}

func TestGoldenSpans(t *testing.T) {
	for _, v := range vectors(t, "spans.txt") {
		var s record.Span
		if _, err := fmt.Sscanf(v[0], "%d %d %d", &s.Off, &s.Len, &s.Token); err != nil {
			t.Fatalf("%s: %v", v[0], err)
		}
		wire, err := hex.DecodeString(v[1])
		if err != nil || len(wire) != record.SpanSize {
			t.Fatalf("%s: %d bytes, %v", v[0], len(wire), err)
		}
		if got := record.AppendSpan(nil, s); !bytes.Equal(got, wire) {
			t.Errorf("%s: encoded %x, expected %x", v[0], got, wire)
		}
		if got := record.GetSpan(wire); got != s {
			t.Errorf("%s: decoded %+v", v[0], got)
		}
	}
}

// TestCheck tries every flag and the first values of aux on every kind, against the table of ABI.md.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		kind  record.Kind
		flags []record.Flags
		aux   uint32 // largest
	}{
		{record.Text, []record.Flags{record.Malformed}, 2},
		{record.Reasoning, nil, 0},
		{record.BlockEnd, nil, 0},
		{record.Marker, []record.Flags{record.Junk, record.EndTurn, record.InID}, 0},
		{record.CallBegin, []record.Flags{record.Weak}, 0},
		{record.Name, []record.Flags{record.EscJSON, record.EscPython, record.InID}, 0},
		{record.ID, []record.Flags{record.EscJSON, record.EscPython, record.InID}, 0},
		{record.Args, nil, 2},
		{record.Key, []record.Flags{record.EscJSON, record.EscPython}, 0},
		{record.Value, []record.Flags{record.EscJSON, record.EscPython, record.Fin}, 2},
		{record.Open, nil, 2},
		{record.Close, nil, 2},
		{record.CallEnd, nil, 1},
	} {
		t.Run(tt.kind.String(), func(t *testing.T) {
			var allowed record.Flags
			for _, f := range tt.flags {
				allowed |= f
			}
			for bit := range 16 {
				f := record.Flags(1) << bit
				err := record.Check(record.Record{Kind: tt.kind, Flags: f})
				if ok := f&allowed != 0; (err == nil) != ok || err != nil && !errors.Is(err, record.ErrRecord) {
					t.Errorf("flag %#x: %v, allowed: %v", uint16(f), err, ok)
				}
			}
			if err := record.Check(record.Record{Kind: tt.kind, Flags: allowed, Aux: tt.aux}); err != nil {
				t.Error(err)
			}
			if err := record.Check(record.Record{Kind: tt.kind, Aux: tt.aux + 1}); !errors.Is(err, record.ErrRecord) {
				t.Errorf("aux %d: %v", tt.aux+1, err)
			}
		})
	}
	for _, k := range []record.Kind{0, record.CallEnd + 1, record.KindIgnored - 1} {
		if err := record.Check(record.Record{Kind: k}); !errors.Is(err, record.ErrRecord) {
			t.Errorf("kind %d: %v", k, err)
		}
	}
	if err := record.Check(record.Record{Kind: 0xffff, Flags: 0xffff, Aux: 1 << 31}); err != nil {
		t.Errorf("a kind to ignore: %v", err)
	}
}

func TestDecodeBounds(t *testing.T) {
	two := make([]byte, 2*record.Size)
	for _, tt := range []struct {
		name string
		b    []byte
		max  int
		want int
		ok   bool
	}{
		{"nothing", nil, 0, 0, true},
		{"as many as allowed", two, 2, 2, true},
		{"too many", two, 1, 0, false},
		{"half a record", two[:record.Size+1], 9, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := record.Decode(nil, tt.b, tt.max)
			if (err == nil) != tt.ok || len(got) != tt.want || err != nil && !errors.Is(err, record.ErrRecord) {
				t.Errorf("%d records, error %v", len(got), err)
			}
		})
	}
}

func TestKindNames(t *testing.T) {
	for k, want := range map[record.Kind]string{record.Text: "text", record.CallEnd: "call_end", 0: "kind(0)", 14: "kind(14)", record.KindIgnored: "kind(32768)"} {
		if got := k.String(); got != want {
			t.Errorf("kind %d is %q, expected %q", uint16(k), got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("0123456789abcdef"))
	f.Add(make([]byte, 5*record.Size))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 4
		recs, err := record.Decode(nil, b, most)
		if err != nil {
			if len(recs) != 0 || !errors.Is(err, record.ErrRecord) {
				t.Fatalf("%d records with %v", len(recs), err)
			}
			return
		}
		var again []byte
		for _, r := range recs {
			again = record.Append(again, r)
			if err := record.Check(r); err != nil && !errors.Is(err, record.ErrRecord) {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
		if len(b) >= record.SpanSize {
			if got := record.AppendSpan(nil, record.GetSpan(b)); !bytes.Equal(got, b[:record.SpanSize]) {
				t.Fatalf("span %x became %x", b[:record.SpanSize], got)
			}
		}
	})
}
