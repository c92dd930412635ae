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
