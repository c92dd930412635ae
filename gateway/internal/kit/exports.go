package kit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// Bounds of what is told of a module: its author needs no more to begin with.
const (
	maxReasons = 100
	maxExports = 1_000 // that are looked at
)

// importFault is an import that a plugin may not have.
type importFault struct{ name, text string }

func importFaults(m *image) []importFault {
	allowed := map[[2]string]string{}
	for _, a := range sandbox.Allowed() {
		allowed[[2]string{a.Module, a.Name}] = a.Type.String()
	}
	var out []importFault
	for _, f := range m.imports {
		if len(out) == maxReasons {
			break
		}
		name := f.Module + "." + f.Name
		switch want, ok := allowed[[2]string{f.Module, f.Name}]; {
		case !strings.HasPrefix(f.Type, "("):
			out = append(out, importFault{name, fmt.Sprintf("import %.128s is a %s, only functions may be imported", name, f.Type)})
		case !ok:
			out = append(out, importFault{name, fmt.Sprintf("import %.128s is not allowed", name)})
		case want != f.Type:
			out = append(out, importFault{name, fmt.Sprintf("import %s: got %s, want %s", name, f.Type, want)})
		}
	}
	return out
}

// refusedImport is how a text ends that refuses an import.
var refusedImport = regexp.MustCompile(`(?:^import|: )\s*([^ :]*)\.[^ ]* (is not allowed|is a memory, only functions may be imported)$`)

// advised says behind the refusal of an import what to do about it.
func advised(text string) string {
	found := refusedImport.FindStringSubmatch(text)
	switch {
	case found == nil:
		return text
	case found[2] != "is not allowed":
		return text + "; a plugin has and exports a memory of its own"
	case found[1] == "env":
		return text + "; is it an undefined function of C or Rust? ABI.md 15 lists the imports there are"
	}
	return text + "; a plugin has no files or sockets, ABI.md 15 lists the imports there are"
}

// exportTypes are the functions of the ABI with their types (ABI.md 1).
func exportTypes() map[string]string {
	return map[string]string{
		abi.ExportInitialize: "() -> ()",
		abi.ExportDescribe:   "() -> i32",
		abi.ExportOpen:       "(i32) -> i32",
		abi.ExportStart:      "(i32) -> i32",
		abi.ExportFeed:       "(i32, i32, i32) -> i64",
		abi.ExportFinish:     "(i32, i32, i32) -> i64",
		abi.ExportReserve:    "(i32) -> i32",
		abi.ExportPlan:       "(i32) -> i64",
		abi.ExportRender:     "(i32) -> i64",
	}
}

// exportFaults lists what the gateway has against the exports of m. Whether those that a kind of plugin needs are
// there depends on the manifest, where it has either kind's.
func exportFaults(m *image) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	types := exportTypes()
	exports := m.exports[:min(len(m.exports), maxExports)]
	has := func(name string) bool {
		return slices.ContainsFunc(exports, func(f Function) bool { return f.Name == name })
	}
	need := []string{abi.ExportMemory, abi.ExportDescribe, abi.ExportOpen}
	switch feed, finish := has(abi.ExportFeed), has(abi.ExportFinish); {
	case feed && finish || has(abi.ExportPlan) || has(abi.ExportRender):
	case feed || finish:
		need = append(need, abi.ExportFeed, abi.ExportFinish)
	default:
		add("exports: neither %s and %s of a parser nor %s of a template policy or %s of a renderer", abi.ExportFeed, abi.ExportFinish, abi.ExportPlan, abi.ExportRender)
	}
	for _, name := range need {
		if !has(name) {
			out = append(out, "export "+name+": missing"+instead(exports, types, name))
		}
	}
	for _, f := range exports {
		want, known := types[f.Name]
		switch {
		case f.Name == abi.ExportMemory && f.Type != sandbox.KindMemory.String():
			add("export %s: got %s, want a memory", f.Name, f.Type)
		case known && f.Type != want:
			add("export %s: got %s, want %s", f.Name, f.Type, want)
		case !known && strings.HasPrefix(f.Name, "weir1_"):
			text := fmt.Sprintf("export %.64q: not known to ABI version %d", f.Name, abi.Version)
			if near := nearest(f.Name, slices.Collect(maps.Keys(types))); near != "" {
				text += "; the nearest is " + near
			}
			out = append(out, text)
		}
	}
	return out[:min(len(out), maxReasons)]
}

// instead names the export that may have been meant as one that is missing.
func instead(exports []Function, types map[string]string, name string) string {
	var others []string
	for _, f := range exports {
		if _, known := types[f.Name]; !known && f.Name != abi.ExportMemory {
			others = append(others, f.Name)
		}
	}
	if near := nearest(name, others); near != "" {
		return fmt.Sprintf("; is it %.64q?", near)
	}
	return ""
}

// nearest is the one of names that a name is a slip of, or empty.
func nearest(name string, names []string) string {
	const most = 3 // letters that differ
	best, at := most+1, ""
	for _, other := range names {
		if max(len(name), len(other))-min(len(name), len(other)) > most {
			continue
		}
		if d := distance(name, other); d < best || d == best && other < at {
			best, at = d, other
		}
	}
	return at
}

// distance is how many letters must be put in, left out or changed to make b of a, at most 64 of each looked at.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
