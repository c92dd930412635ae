package plughost

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// exportPrefix begins the name of every function of the ABI, so that a module says in its exports which
// version it speaks.
const exportPrefix = "weir1_"

// i32s returns n times i32.
func i32s(n int) []sandbox.ValueType {
	out := make([]sandbox.ValueType, n)
	for i := range out {
		out[i] = sandbox.I32
	}
	return out
}

// signatures gives the type of each function of the ABI.
func signatures() map[string]sandbox.Signature {
	packed := []sandbox.ValueType{sandbox.I64}
	return map[string]sandbox.Signature{
		abi.ExportInitialize: sandbox.Sig(nil, nil),
		abi.ExportDescribe:   sandbox.Sig(nil, i32s(1)),
		abi.ExportOpen:       sandbox.Sig(i32s(1), i32s(1)),
		abi.ExportStart:      sandbox.Sig(i32s(1), i32s(1)),
		abi.ExportFeed:       sandbox.Sig(i32s(3), packed),
		abi.ExportFinish:     sandbox.Sig(i32s(3), packed),
		abi.ExportReserve:    sandbox.Sig(i32s(1), i32s(1)),
		abi.ExportPlan:       sandbox.Sig(i32s(1), packed),
		abi.ExportRender:     sandbox.Sig(i32s(1), packed),
	}
}

// checkExports holds a module's exports to the ABI and returns all faults at once.
func checkExports(m *sandbox.Module) error {
	want := signatures()
	var errs []error
	for _, e := range m.Exports {
		sig, known := want[e.Name]
		switch {
		case e.Name == abi.ExportMemory && e.Kind != sandbox.KindMemory:
			errs = append(errs, fmt.Errorf("export %s: got a %v, want a memory", e.Name, e.Kind))
		case known && e.Kind != sandbox.KindFunc:
			errs = append(errs, fmt.Errorf("export %s: got a %v, want a func", e.Name, e.Kind))
		case known && e.Type != sig:
			errs = append(errs, fmt.Errorf("export %s: got %v, want %v", e.Name, e.Type, sig))
		case !known && strings.HasPrefix(e.Name, exportPrefix):
			errs = append(errs, fmt.Errorf("export %s: not known to ABI version %d", e.Name, abi.Version))
		}
	}
	return errors.Join(append(errs, missing(m, abi.ExportMemory, abi.ExportDescribe, abi.ExportOpen))...)
}

// missing reports which of names a module does not export.
func missing(m *sandbox.Module, names ...string) error {
	var errs []error
	for _, name := range names {
		if _, ok := m.Export(name); !ok {
			errs = append(errs, fmt.Errorf("export %s: missing", name))
		}
	}
	return errors.Join(errs...)
}

// checkKinds holds a module to what the kinds in its manifest need.
func checkKinds(mod *sandbox.Module, m *Manifest) error {
	var errs []error
	if m.Is(KindParser) {
		errs = append(errs, missing(mod, abi.ExportFeed, abi.ExportFinish))
	}
	if m.Is(KindTemplate) && (len(m.Policies) > 0 || !m.Renders()) {
		errs = append(errs, missing(mod, abi.ExportPlan))
	}
	if m.Renders() {
		errs = append(errs, missing(mod, abi.ExportRender))
	}
	return errors.Join(errs...)
}
