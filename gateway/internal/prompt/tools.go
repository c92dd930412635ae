package prompt

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/jinja"
)

// customParam is the parameter in which a custom tool, whose input is raw text, takes it: templates print
// JSON or tagged parameters only.
const customParam = "input"

const (
	customSchema = `{"type": "object", "properties": {"` + customParam + `": {"type": "string"}}, "required": ["` + customParam + `"]}`
	emptySchema  = `{"type": "object", "properties": {}}`
)

// toolList is the tools of a request as a template takes them.
type toolList struct {
	listed jinja.Value   // those that are not deferred; the zero Value if there are none
	each   []jinja.Value // by index in the request
	broken []int         // tools whose schema is no object and was replaced

	once  sync.Once
	texts []string // as JSON, by index in the request, once somebody asks
	err   error
}

// Bounds of the cache: requests of a model mostly come with the few lists of its clients.
const (
	cachedLists = 16
	cachedBytes = 8 << 20 // of the tools that were converted
)

type toolKey [2]uint64

type toolEntry struct {
	key  toolKey
	size int
	list *toolList
}

// toolCache keeps the last lists, the one used last in front.
type toolCache struct {
	seeds [2]maphash.Seed

	mu      sync.Mutex
	entries []toolEntry
	size    int
}

func (c *toolCache) init() {
	c.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
}

// key is a digest of all that a list is made from: of the digests of each tool's texts, so that each is hashed in one
// go. Its seeds are the process's own, so nobody can choose tools that collide.
func (c *toolCache) key(tools []conv.ToolDef, describe bool) (key toolKey, size int) {
	for i := range tools {
		t := &tools[i]
		size += len(t.Namespace) + len(t.Name) + len(t.Description) + len(t.Schema)
	}
	sums := make([]byte, 0, len(tools)*(3*8+3))
	for i, seed := range c.seeds {
		sums = sums[:0]
		for j := range tools {
			t := &tools[j]
			sums = binary.LittleEndian.AppendUint64(sums, maphash.String(seed, toolname.Of(t.Namespace, t.Name)))
			sums = binary.LittleEndian.AppendUint64(sums, maphash.String(seed, t.Description))
			sums = binary.LittleEndian.AppendUint64(sums, maphash.Bytes(seed, t.Schema))
			sums = append(sums, byte(t.Kind), bit(t.Deferred), bit(describe))
		}
		key[i] = maphash.Bytes(seed, sums)
	}
	return key, size
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// list converts tools, or gives the list that was made of the same ones before. describe says that the
// template fails on tools without a description.
func (c *toolCache) list(tools []conv.ToolDef, describe bool) *toolList {
	if len(tools) == 0 {
		return &toolList{}
	}
	key, size := c.key(tools, describe)
	if l := c.get(key); l != nil {
		return l
	}
	l := convert(tools, describe)
	c.put(toolEntry{key, size, l})
	return l
}

func (c *toolCache) get(key toolKey) *toolList {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if e.key == key {
			copy(c.entries[1:i+1], c.entries[:i])
			c.entries[0] = e
			return e.list
		}
	}
	return nil
}

func (c *toolCache) put(e toolEntry) {
	if e.size > cachedBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = slices.Insert(c.entries, 0, e)
	c.size += e.size
	for len(c.entries) > cachedLists || c.size > cachedBytes {
		last := len(c.entries) - 1
		c.size -= c.entries[last].size
		c.entries[last] = toolEntry{}
		c.entries = c.entries[:last]
	}
}

func convert(tools []conv.ToolDef, describe bool) *toolList {
	l := &toolList{each: make([]jinja.Value, len(tools))}
	var listed []jinja.Value
	for i := range tools {
		t := &tools[i]
		org := jinja.Origin{Kind: jinja.FromToolSchema, Message: int32(i), Part: directTool}
		schema, err := jinja.FromJSON(complete(t), org)
		if err != nil {
			schema, _ = jinja.FromJSON([]byte(emptySchema), org)
			l.broken = append(l.broken, i)
		}
		// The list outlives the request, and must not keep its body.
		function := append(make([]jinja.Member, 0, 3), jinja.Member{Name: "name", Value: jinja.Text(strings.Clone(toolname.Of(t.Namespace, t.Name)), org)})
		if t.Description != "" || describe {
			function = append(function, jinja.Member{Name: "description", Value: jinja.Text(strings.Clone(t.Description), org)})
		}
		function = append(function, jinja.Member{Name: "parameters", Value: schema})
		l.each[i] = jinja.Object(
			jinja.Member{Name: "type", Value: jinja.Text("function", jinja.Origin{})},
			jinja.Member{Name: "function", Value: jinja.Object(function...)},
		).Kept()
		if !t.Deferred {
			listed = append(listed, l.each[i])
		}
	}
	if len(listed) > 0 {
		l.listed = jinja.List(listed...).Kept()
	}
	return l
}

// complete is a tool's schema with what templates read without asking: the type object and properties.
// A schema that is no object is left to fail.
func complete(t *conv.ToolDef) []byte {
	if t.Kind == conv.Custom {
		return []byte(customSchema)
	}
	doc := bytes.TrimSpace(t.Schema)
	if len(doc) == 0 || string(doc) == "null" {
		return []byte(emptySchema)
	}
	if jsonscan.TypeOf(doc) != jsonscan.Object {
		return nil
	}
	var typed, properties, filled bool
	r := jsonscan.NewReader(doc)
	err := r.Object(func(key []byte) error {
		filled = true
		typed = typed || string(key) == "type"
		properties = properties || string(key) == "properties"
		_, err := r.Raw()
		return err
	})
	switch {
	case err != nil || r.End() != nil:
		return nil
	case !filled:
		return []byte(emptySchema)
	case typed && properties:
		return doc
	}
	out := append(make([]byte, 0, len(doc)+48), '{')
	if !typed {
		out = append(out, `"type": "object", `...)
	}
	out = append(out, doc[1:len(doc)-1]...)
	if !properties {
		out = append(out, `, "properties": {}`...)
	}
	return append(out, '}')
}

// text is a tool as the JSON that templates make of it. The context is not a request's: what it stopped would
// be missing from others.
func (m *Model) text(l *toolList, tool int) (string, error) {
	l.once.Do(func() {
		l.texts = make([]string, len(l.each))
		for i, v := range l.each {
			r, err := m.schema.Render(context.Background(), map[string]jinja.Value{"tool": v}, jinja.RenderOptions{})
			if err != nil {
				l.err = err
				return
			}
			l.texts[i] = string(r.Text)
		}
	})
	return l.texts[tool], l.err
}
