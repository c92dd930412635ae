package assemble

import (
	"hash/maphash"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/schema"
)

// maxNesting is how deep the containers of a parameter may nest.
const maxNesting = 64

// frame is an open object or array of the arguments; the first one holds the parameters.
type frame struct {
	node    *schema.Node
	array   bool
	unknown bool // object or array: its first member tells
	opened  bool // its bracket is written
	members int
	id      uint32 // tells objects apart in params.seen
}

// keyID names a key of one object. 64 bits of a seeded hash stand for the name, so that a turn with many
// keys costs a constant each and no memory of the names.
type keyID struct {
	frame uint32
	hash  uint64
}

// params builds the arguments object of a call that is written as keys and values.
type params struct {
	frames   []frame
	nextID   uint32
	key      []byte // waits for its value
	hasKey   bool
	node     *schema.Node // of the value that follows
	dropping bool         // the value of a key that came twice
	depth    int          // containers open within it
	seen     map[keyID]struct{}
	seed     maphash.Seed
	inputs   int // parameters of a custom tool
}

func (p *params) reset() {
	*p = params{frames: p.frames[:0], key: p.key[:0], seen: p.seen, seed: p.seed}
	clear(p.seen)
}

func (p *params) top() *frame { return &p.frames[len(p.frames)-1] }

func (p *params) push(f frame) {
	p.nextID++
	f.id = p.nextID
	p.frames = append(p.frames, f)
}

// first reports whether the open object sees this key for the first time.
func (p *params) first(name []byte) bool {
	if p.seen == nil {
		p.seen, p.seed = make(map[keyID]struct{}), maphash.MakeSeed()
	}
	id := keyID{p.top().id, maphash.Bytes(p.seed, name)}
	_, twice := p.seen[id]
	p.seen[id] = struct{}{}
	return !twice
}

// param takes a key, a piece of a value, or a bracket.
func (a *Assembler) param(r record.Record, b []byte) error {
	if a.call.info.Kind == event.Custom {
		return a.customParam(r, b)
	}
	p := &a.params
	if len(p.frames) == 0 {
		p.push(frame{node: a.call.tool.params()})
	}
	if p.dropping && p.drop(r) {
		return nil
	}
	a.out = a.out[:0]
	ok := false
	switch r.Kind {
	case record.Key:
		ok = a.paramKey(r, b)
	case record.Value:
		ok = a.paramValue(r, b)
	case record.Open:
		ok = a.paramOpen(r)
	case record.Close:
		ok = a.paramClose(r)
	}
	if !ok {
		a.call.bad = true
	}
	return a.emitArgs(a.out)
}

// drop passes over the value of a key that came twice; false means that r is not part of it.
func (p *params) drop(r record.Record) bool {
	switch r.Kind {
	case record.Key:
		p.dropping = p.depth > 0
		return p.dropping
	case record.Open:
		p.depth++
	case record.Close:
		if p.depth == 0 {
			p.dropping = false
			return false
		}
		p.depth--
		p.dropping = p.depth > 0
	case record.Value:
		p.dropping = p.depth > 0 || r.Flags&record.Fin == 0
	}
	return true
}

func (a *Assembler) paramKey(r record.Record, b []byte) bool {
	p := &a.params
	if p.hasKey || a.value.mode != idle {
		return false
	}
	a.tmp = unescapeWhole(a.tmp[:0], b, r.Flags)
	f := p.top()
	if f.unknown {
		f.unknown, f.array = false, string(a.tmp) == "item"
	}
	switch {
	case f.array:
		p.node = f.node.Item(f.members)
	case p.first(a.tmp):
		p.key = append(p.key[:0], a.tmp...)
		p.node = f.node.Property(a.tmp)
	default:
		a.stats.Duplicates++
		p.dropping, p.depth = true, 0
		return true
	}
	p.hasKey = true
	return true
}

// member writes what stands before a value in the open container; false if a value has no place there.
func (a *Assembler) member() bool {
	p := &a.params
	f := p.top()
	if !p.hasKey {
		if f.unknown {
			f.unknown, f.array = false, true
		}
		if !f.array {
			return false
		}
		p.node = f.node.Item(f.members)
	}
	a.openBracket(f)
	if f.members > 0 {
		a.out = append(a.out, ", "...)
	}
	if !f.array {
		a.out = jsonscan.AppendString(a.out, p.key)
		a.out = append(a.out, ": "...)
	}
	f.members++
	p.hasKey = false
	return true
}

func (a *Assembler) openBracket(f *frame) {
	if f.opened {
		return
	}
	f.opened = true
	if f.array {
		a.out = append(a.out, '[')
	} else {
		a.out = append(a.out, '{')
	}
}

func (a *Assembler) closeBracket(f *frame) {
	a.openBracket(f)
	if f.array {
		a.out = append(a.out, ']')
	} else {
		a.out = append(a.out, '}')
	}
}

func (a *Assembler) paramValue(r record.Record, b []byte) bool {
	v := &a.value
	if v.mode == idle {
		if !a.member() {
			return false
		}
		v.esc.Reset(r.Flags)
		a.out = v.begin(a.out, r.Aux, a.params.node)
	}
	fin := r.Flags&record.Fin != 0
	if !v.esc.Plain() {
		a.tmp = v.esc.Append(a.tmp[:0], b)
		if fin {
			a.tmp = v.esc.Flush(a.tmp)
		}
		b = a.tmp
	}
	ok := true
	a.out, ok = v.feed(a.out, b)
	if fin && ok {
		a.out, ok = v.end(a.out)
	}
	return ok
}

func (a *Assembler) paramOpen(r record.Record) bool {
	p := &a.params
	if a.value.mode != idle || len(p.frames) > maxNesting || !a.member() {
		return false
	}
	f := frame{node: p.node}
	types := p.node.Types()
	switch {
	case r.Aux == record.ContainerArray:
		f.array = true
	case r.Aux == record.ContainerObject:
	case types.Has(schema.Array) && !types.Has(schema.Object):
		f.array = true
	case !types.Has(schema.Object) || types.Has(schema.Array):
		f.unknown = true
	}
	if !f.unknown {
		a.openBracket(&f)
	}
	p.push(f)
	return true
}

func (a *Assembler) paramClose(r record.Record) bool {
	p := &a.params
	f := p.top()
	if len(p.frames) == 1 || p.hasKey || a.value.mode != idle {
		return false
	}
	if r.Aux == record.ContainerArray {
		f.array = f.array || f.unknown
	}
	if r.Aux != record.ContainerAuto && f.array != (r.Aux == record.ContainerArray) {
		return false
	}
	a.closeBracket(f)
	p.frames = p.frames[:len(p.frames)-1]
	return true
}

// endParams ends the arguments object.
func (a *Assembler) endParams() (bool, error) {
	p := &a.params
	if a.call.bad || len(p.frames) != 1 || p.hasKey || p.dropping || a.value.mode != idle {
		return false, nil
	}
	a.out = a.out[:0]
	a.closeBracket(p.top())
	return true, a.emitArgs(a.out)
}
