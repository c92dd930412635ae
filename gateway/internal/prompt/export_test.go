package prompt

import "github.com/weirgate/weir/abi/conv"

// CachedTools is how many lists of tools a model keeps, and of how many bytes.
func CachedTools(m *Model) (lists, bytes int) {
	m.cache.mu.Lock()
	defer m.cache.mu.Unlock()
	return len(m.cache.entries), m.cache.size
}

// Complete is a tool's schema as templates get it.
func Complete(schema string) string { return string(complete(&conv.ToolDef{Schema: []byte(schema)})) }

// MaxArgs is the bound of a generation of arguments, in bytes.
const MaxArgs = maxArgs

// CachedArgs is how many arguments of calls a model knows, and of how many bytes.
func CachedArgs(m *Model) (entries, bytes int) {
	m.args.mu.Lock()
	defer m.args.mu.Unlock()
	for _, generation := range []map[argKey]argEntry{m.args.young, m.args.old} {
		for _, e := range generation {
			entries, bytes = entries+1, bytes+e.size
		}
	}
	return entries, bytes
}

// KeepsArgs reports that arguments are kept decoded.
func KeepsArgs(m *Model, args string) bool {
	e, _ := m.args.get(m.args.key(args))
	return !e.v.IsUndefined()
}
