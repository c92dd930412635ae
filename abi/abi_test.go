package abi_test

import (
	"encoding/binary"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// constants returns the exported constants of a package of this module.
func constants(t *testing.T, file string) map[string]constant.Value {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check(filepath.Dir(file), fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]constant.Value{}
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok && c.Exported() {
			out[name] = c.Val()
		}
	}
	return out
}

// rows returns the table rows of ABI.md: cells, without backticks.
func rows(t *testing.T) [][]string {
	t.Helper()
	b, err := os.ReadFile("ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i, c := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(c), "`")
		}
		out = append(out, cells)
	}
	return out
}

// value returns the second cell of the row that begins with name.
func value(t *testing.T, rows [][]string, name string) string {
	t.Helper()
	for _, r := range rows {
		if r[0] == name && len(r) > 1 {
			return r[1]
		}
	}
	t.Errorf("ABI.md has no row %q", name)
	return ""
}

func number(t *testing.T, s string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.ReplaceAll(strings.TrimPrefix(s, "-"), ",", ""), 0, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}

// TestPageMatchesConstants holds every constant of abi.go against its row in ABI.md.
func TestPageMatchesConstants(t *testing.T) {
	page := rows(t)
	whys := 0
	for name, v := range constants(t, "abi.go") {
		switch {
		case strings.HasPrefix(name, "Export"):
			value(t, page, constant.StringVal(v))
		case strings.HasPrefix(name, "Why"):
			whys++
			value(t, page, v.String())
		default:
			got, exact := constant.Uint64Val(v)
			if want := number(t, value(t, page, name)); !exact || got != want {
				t.Errorf("%s is %v, in ABI.md %d", name, v, want)
			}
		}
	}
	if whys != 5 {
		t.Errorf("%d reasons to finish, ABI.md has 5", whys)
	}
}

// TestPageMatchesRecords holds the tables of kinds and flags against package record.
func TestPageMatchesRecords(t *testing.T) {
	page := rows(t)
	for k := record.Text; k <= record.CallEnd; k++ {
		found := false
		for _, r := range page {
			found = found || len(r) == 5 && r[0] == strconv.Itoa(int(k)) && r[1] == k.String()
		}
		if !found {
			t.Errorf("ABI.md has no row for kind %d, %v", k, k)
		}
	}
	for name, f := range map[string]record.Flags{
		"fin": record.Fin, "malformed": record.Malformed, "junk": record.Junk, "end_turn": record.EndTurn, "in_id": record.InID, "weak": record.Weak,
	} {
		if bit := number(t, value(t, page, name)); f != 1<<bit {
			t.Errorf("%s is %#x, in ABI.md bit %d", name, uint16(f), bit)
		}
	}
	if record.KindIgnored != 32768 || record.Size != 16 || record.SpanSize != 12 || host.MaxSpans != 512 {
		t.Error("sizes differ from the text of ABI.md")
	}
	for _, r := range page {
		if len(r) != 5 || r[0] == "kind" || strings.HasPrefix(r[0], "-") {
			continue
		}
		k, err := strconv.Atoi(r[0])
		if err != nil || record.Kind(k).String() != r[1] {
			continue
		}
		checkFlags(t, record.Kind(k), r[4])
	}
}

func checkFlags(t *testing.T, k record.Kind, listed string) {
	t.Helper()
	for name, f := range map[string]record.Flags{
		"esc": record.EscXML, "fin": record.Fin, "malformed": record.Malformed, "junk": record.Junk,
		"end_turn": record.EndTurn, "in_id": record.InID, "weak": record.Weak,
	} {
		allowed := record.Check(record.Record{Kind: k, Flags: f}) == nil
		if said := strings.Contains(listed, name); allowed != said {
			t.Errorf("%v with %s: allowed %v, in ABI.md %v", k, name, allowed, said)
		}
	}
}

// TestSmallestBufferFits checks what section 5 promises: the longest input, the most spans and a verdict
// fit the smallest input buffer, and so do start and the other fixed inputs.
func TestSmallestBufferFits(t *testing.T) {
	if n := abi.MaxHeld + abi.MaxPiece + (host.MaxSpans+1)*record.SpanSize; n > abi.MinInputCap {
		t.Errorf("a feed may need %d bytes of %d", n, abi.MinInputCap)
	}
	if n := len(guest.Start{Tail: make([]byte, abi.MaxPromptTail)}.Append(nil)); n != 272 || n > abi.MinInputCap {
		t.Errorf("a start block has up to %d bytes", n)
	}
	if got := string(binary.LittleEndian.AppendUint32(nil, abi.Magic)); got != "WEI1" {
		t.Errorf("magic reads %q", got)
	}
}
