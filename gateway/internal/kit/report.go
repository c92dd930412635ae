package kit

import (
	"fmt"
	"io"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// Verdict is what one check of a plugin found.
type Verdict struct {
	Check  string `json:"check"`            // law or step, such as L1 or manifest
	Config string `json:"config,omitempty"` // configuration of the instance, where one was open
	OK     bool   `json:"ok"`
	Note   bool   `json:"note,omitempty"`  // nothing is wrong, but the author should know
	Law    string `json:"law,omitempty"`   // what Check asks, where it is a law
	Detail string `json:"detail"`          // what holds, or what broke
	Place  string `json:"place,omitempty"` // input, and how it was cut
}

// word opens the verdict's line.
func (v *Verdict) word() string {
	switch {
	case v.Note:
		return "note"
	case v.OK:
		return "PASS"
	}
	return "FAIL"
}

// write appends the verdict's lines.
func (v *Verdict) write(b *strings.Builder) {
	const beneath = "                "
	fmt.Fprintf(b, "%s  %-9s ", v.word(), v.Check)
	switch {
	case v.Law == "":
		b.WriteString(v.Detail + "\n")
	case v.OK:
		b.WriteString(v.Law + ": " + v.Detail + "\n")
	default:
		b.WriteString(v.Law + "\n" + beneath + v.Detail + "\n")
	}
	if v.Place != "" {
		b.WriteString(beneath + v.Place + "\n")
	}
}

// Peaks are the most that any call took. Fuel is in instructions, memory in bytes.
type Peaks struct {
	Calls       int     `json:"calls"`
	LoadFuel    int64   `json:"load_fuel"` // of a call that prepares an instance
	Fuel        int64   `json:"fuel"`      // of a call of start, feed or finish
	FuelPerByte float64 `json:"fuel_per_byte"`
	PlanFuel    int64   `json:"plan_fuel"` // of a call of plan or render
	Records     int     `json:"records"`
	Memory      int     `json:"memory"`
	Held        int     `json:"held"`   // bytes left unconsumed
	Window      int     `json:"window"` // bytes of state a stream

	total int64 // fuel of all calls
}

// minInput is the input from which on fuel per byte is told: below it the call itself is most of it.
const minInput = 64

// observe takes in one call.
func (p *Peaks) observe(c plughost.CallStats) {
	p.Calls++
	p.total += c.Fuel
	p.Memory = max(p.Memory, c.Memory)
	switch c.Export {
	case abi.ExportPlan, abi.ExportRender:
		p.PlanFuel = max(p.PlanFuel, c.Fuel)
	case abi.ExportStart, abi.ExportFeed, abi.ExportFinish:
		p.Fuel, p.Records = max(p.Fuel, c.Fuel), max(p.Records, c.Records)
		if c.In >= minInput {
			p.FuelPerByte = max(p.FuelPerByte, float64(c.Fuel)/float64(c.In))
		}
	default:
		p.LoadFuel = max(p.LoadFuel, c.Fuel)
	}
}

// Report is the result of Check.
type Report struct {
	File     string    `json:"file"`
	SHA256   string    `json:"sha256"`
	OK       bool      `json:"ok"`
	Manifest *Manifest `json:"manifest,omitempty"`
	Verdicts []Verdict `json:"verdicts"`
	Peaks    Peaks     `json:"peaks"`

	seen sightings
}

func (r *Report) pass(check, format string, args ...any) {
	r.Verdicts = append(r.Verdicts, Verdict{Check: check, OK: true, Detail: fmt.Sprintf(format, args...)})
}

// note adds what is no fault.
func (r *Report) note(check, config, format string, args ...any) {
	r.Verdicts = append(r.Verdicts, Verdict{Check: check, Config: config, OK: true, Note: true, Detail: fmt.Sprintf(format, args...)})
}

// law adds the verdict of a law.
func (r *Report) law(v *Verdict) {
	r.OK = r.OK && v.OK
	r.Verdicts = append(r.Verdicts, *v)
}

func (r *Report) fail(check, config, place, detail string) {
	r.OK = false
	r.Verdicts = append(r.Verdicts, Verdict{Check: check, Config: config, Detail: detail, Place: place})
}

// Write prints the report, a line a verdict, with what broke a law and where beneath it.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	config := ""
	for _, v := range r.Verdicts {
		if v.Config != config && v.Config != "" {
			fmt.Fprintf(&b, "\nwith %s\n", v.Config)
		} else if v.Config != config {
			b.WriteString("\n") // of the whole again
		}
		config = v.Config
		v.write(&b)
	}
	p := &r.Peaks
	if p.Calls > 0 {
		fmt.Fprintf(&b, "\n%d calls; the most one took: %d instructions (%.0f a byte), %d of a plan or a prompt, %d records, %d bytes held, %d KiB of memory; %d bytes of state a stream\n",
			p.Calls, p.Fuel, p.FuelPerByte, p.PlanFuel, p.Records, p.Held, p.Memory>>10, p.Window)
	}
	fmt.Fprintf(&b, "%s: %s\n", r.File, r.summary())
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

// summary is PASS, or FAIL with the first few checks that failed.
func (r *Report) summary() string {
	if r.OK {
		return "PASS"
	}
	const most = 3
	var failed []string
	for _, v := range r.Verdicts {
		switch {
		case v.OK:
		case v.Config == "":
			failed = append(failed, v.Check)
		default:
			failed = append(failed, v.Check+" with "+v.Config)
		}
	}
	text := "FAIL: " + strings.Join(failed[:min(len(failed), most)], "; ")
	if more := len(failed) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
