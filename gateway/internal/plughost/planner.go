package plughost

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/plan"
)

// maxOutline bounds the outline given to a policy: 65,536 rows and their names fit.
const maxOutline = 4 << 20

// Planner is a template-policy plugin with one configuration. It is safe for concurrent use while
// somebody holds its plugin.
type Planner struct {
	plugin *Plugin
	config []byte
	pool   *pool
}

func newPlanner(p *Plugin, config []byte) (*Planner, error) {
	r := &Planner{plugin: p, config: bytes.Clone(config)}
	r.pool = newPool(p.host.o.Instances, p.host.o.Wait, r.instance)
	first, err := r.pool.take(true)
	if err != nil {
		return nil, err
	}
	r.pool.place(first)
	return r, nil
}

func (r *Planner) instance() (*instance, error) {
	i, err := newInstance(context.Background(), r.plugin, false)
	if err != nil {
		return nil, err
	}
	if err := i.configure(r.config); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// Plugin is the version this planner belongs to.
func (r *Planner) Plugin() *Plugin { return r.plugin }

// Plan gives an encoded outline (package plan) and returns the encoded plan, at most abi.MaxPlan bytes.
// It holds the plugin while it runs: ErrRetired asks for the next version.
func (r *Planner) Plan(outline []byte) (out []byte, err error) {
	err = r.run(outline, func(b []byte) error {
		out = bytes.Clone(b)
		return nil
	})
	return out, err
}

// Ops is Plan with the plan decoded. The error of one that is malformed wraps plan.ErrFormat.
func (r *Planner) Ops(outline []byte) (ops []plan.Op, err error) {
	err = r.run(outline, func(b []byte) error {
		ops, err = plan.Parse(b)
		return err
	})
	return ops, err
}

// run gives the encoded plan to read, for as long as that runs.
func (r *Planner) run(outline []byte, read func([]byte) error) error {
	if len(outline) > maxOutline {
		return fmt.Errorf("outline of %d bytes, at most %d", len(outline), maxOutline)
	}
	if err := r.plugin.Acquire(); err != nil {
		return err
	}
	defer r.plugin.Release()
	i, err := r.pool.take(true)
	if err != nil {
		return err
	}
	b, err := i.ask(abi.ExportPlan, outline, planBudget(len(outline)), abi.MaxPlan)
	var unread error
	if err == nil {
		unread = read(b) // no fault of the instance
	}
	if err = r.pool.settle(i, err); err == nil {
		err = unread
	}
	return err
}

// ask gives the input of a policy or renderer, whichever i.plan is, and returns the answer, at most limit
// bytes, in the guest's memory, good until the next call.
func (i *instance) ask(export string, input []byte, fuel int64, limit int) ([]byte, error) {
	if err := i.room(len(input)); err != nil {
		return nil, err
	}
	copy(i.input, input)
	i.stack[0] = uint64(len(input))
	err := i.call(i.plan, export, fuel)
	i.observe(export, len(input), 0)
	if err != nil {
		return nil, err
	}
	b, err := i.packed(int64(i.stack[0]), export, limit)
	if err != nil {
		return nil, i.fault(export, KindOf(err), err)
	}
	return b, nil
}
