package tck

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/weirgate/weir/abi/plan"
)

//go:embed fixtures/*.json fixtures/*.wasm fixtures/refused/*.wasm
var files embed.FS

// Fixture is one scripted guest with its cases.
type Fixture struct {
	Module string `json:"module"` // file beside the fixture's
	About  string `json:"about"`  // what the guest does
	Cases  []Case `json:"cases"`
	// Renders are the cases of a renderer, all with one Input, in the names that its fields have.
	Renders []RenderCase     `json:"renders"`
	Input   plan.RenderInput `json:"-"`
	Wasm    []byte           `json:"-"`
}

// Name is the module's without its ending.
func (f *Fixture) Name() string { return strings.TrimSuffix(path.Base(f.Module), ".wasm") }

// Case is what a host is taken through, and what must come of it.
type Case struct {
	Name     string       `json:"name"`
	About    string       `json:"about"`    // the rule
	Section  string       `json:"section"`  // of ABI.md
	Config   string       `json:"config"`   // for weir1_open; "" is {}
	Open     string       `json:"open"`     // "refused": weir1_open fails, and that is all
	Start    Start        `json:"start"`    // of every stream
	Accept   []string     `json:"accept"`   // names that the host lets pass; it refuses the others
	Optional bool         `json:"optional"` // a host may refuse such a plugin
	Steps    []Step       `json:"steps"`
	Streams  []StreamWant `json:"streams"`
}

// RenderCase is a prompt that a host must make, or a fault that it must see.
type RenderCase struct {
	Name    string       `json:"name"`
	About   string       `json:"about"`   // the rule
	Section string       `json:"section"` // of ABI.md
	Config  string       `json:"config"`  // for weir1_open
	Content plan.Content `json:"content"` // what is granted
	Fault   bool         `json:"fault"`   // the answer must be refused
	Text    string       `json:"text"`
	Spans   []RenderSpan `json:"spans"`
	Ops     []RenderOp   `json:"ops"`
}

// RenderSpan is start, end, source, message and part.
type RenderSpan [5]int

// RenderOp is an instruction of the answer.
type RenderOp struct {
	Kind     plan.OpKind `json:"kind"`
	Argument uint8       `json:"argument"` // action or state
	Message  uint32      `json:"message"`
	Part     uint16      `json:"part"`
	Value    string      `json:"value"`
}

// input is the form of Fixture.Input: switches are text in it.
type input struct {
	Rows     []plan.RenderRow
	Tools    []plan.RenderTool
	Switches string
}

// Start is a start block.
type Start struct {
	Thinking uint32 `json:"thinking"`
	Choice   uint32 `json:"choice"`
	Tools    uint32 `json:"tools"`
	Tail     string `json:"tail"`
}

// Step is a feed or a finish of a stream.
type Step struct {
	Stream   int         `json:"stream"`
	Feed     *string     `json:"feed"`
	Repeat   int         `json:"repeat"` // how often the text stands in the feed; 0 is once
	Spans    [][3]uint32 `json:"spans"`  // offset, length and token
	Boundary bool        `json:"boundary"`
	Finish   *uint32     `json:"finish"` // why
}

// StreamWant is what must come of one stream.
type StreamWant struct {
	Records []Record `json:"records"`
	Fault   string   `json:"fault"` // the export that failed
	Dropped int      `json:"dropped"`
}

// String lists it a record a line.
func (s StreamWant) String() string {
	var b strings.Builder
	for _, r := range s.Records {
		fmt.Fprintf(&b, "  %s flags %#x aux %d %.200q, %d bytes\n", r.Kind, r.Flags, r.Aux, r.Bytes, len(r.Bytes))
	}
	fmt.Fprintf(&b, "  fault %q, %d bytes dropped\n", s.Fault, s.Dropped)
	return b.String()
}

// Record is one record, pieces of one thing put together. In JSON it is an array of its four members.
type Record struct {
	Kind       string
	Flags, Aux uint32
	Bytes      string
}

// UnmarshalJSON reads the array.
func (r *Record) UnmarshalJSON(b []byte) error {
	var v []json.RawMessage
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if len(v) != 4 {
		return fmt.Errorf("a record of %d members, want 4", len(v))
	}
	return errors.Join(json.Unmarshal(v[0], &r.Kind), json.Unmarshal(v[1], &r.Flags), json.Unmarshal(v[2], &r.Aux), json.Unmarshal(v[3], &r.Bytes))
}

// continues reports that r is the next piece of what the record before it is.
func (r Record) continues(before Record) bool {
	switch r.Kind {
	case "text", "reasoning", "marker", "args":
		return r.Kind == before.Kind && r.Flags == before.Flags && r.Aux == before.Aux
	}
	return false
}

// Refusal is a module that a host must not take.
type Refusal struct {
	Module  string `json:"module"`
	About   string `json:"about"`   // what is wrong with it
	Section string `json:"section"` // of ABI.md
	Wasm    []byte `json:"-"`
}

// Name is the module's without its ending.
func (r *Refusal) Name() string { return strings.TrimSuffix(path.Base(r.Module), ".wasm") }

const folder = "fixtures"

// refusals is the file that lists the modules to refuse.
const refusals = "refused.json"

// Fixtures returns all scripted guests, ordered by name.
func Fixtures() ([]Fixture, error) {
	paths, err := fs.Glob(files, folder+"/*.json")
	if err != nil {
		return nil, err
	}
	var out []Fixture
	for _, p := range paths {
		if path.Base(p) == refusals {
			continue
		}
		var f struct {
			Fixture
			Input input `json:"input"`
		}
		if err := read(p, &f); err != nil {
			return nil, err
		}
		f.Fixture.Input = plan.RenderInput{Rows: f.Input.Rows, Tools: f.Input.Tools, Switches: []byte(f.Input.Switches)}
		if f.Wasm, err = files.ReadFile(path.Join(folder, f.Module)); err != nil {
			return nil, err
		}
		for _, c := range f.Cases {
			if err := c.check(); err != nil {
				return nil, fmt.Errorf("%s: case %s: %w", p, c.Name, err)
			}
		}
		out = append(out, f.Fixture)
	}
	return out, nil
}

// check holds a case to its form.
func (c *Case) check() error {
	for k, s := range c.Steps {
		if (s.Feed == nil) == (s.Finish == nil) || s.Stream < 0 || s.Stream >= len(c.Streams) {
			return fmt.Errorf("step %d is no feed or finish of a stream", k)
		}
	}
	return nil
}

// Refusals returns all modules that a host must refuse to load.
func Refusals() ([]Refusal, error) {
	var out []Refusal
	if err := read(path.Join(folder, refusals), &out); err != nil {
		return nil, err
	}
	for k := range out {
		b, err := files.ReadFile(path.Join(folder, out[k].Module))
		if err != nil {
			return nil, err
		}
		out[k].Wasm = b
	}
	return out, nil
}

func read(name string, v any) error {
	b, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
