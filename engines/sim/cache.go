package sim

import (
	"container/list"
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// The size of a block of the prefix cache.
const (
	blockTokens = 64
	blockBytes  = blockTokens * bytesPerToken // of a prompt without ids
)

// prefixCache knows which blocks of prompts were computed, each by a hash of its tokens and all before
// them. The least recently used one makes room.
type prefixCache struct {
	seed maphash.Seed
	cap  int

	mu     sync.Mutex
	blocks map[uint64]*list.Element // values are the hashes; guarded by mu
	used   list.List                // most recent first; guarded by mu
}

func newPrefixCache(blocks int) *prefixCache {
	return &prefixCache{seed: maphash.MakeSeed(), cap: blocks, blocks: map[uint64]*list.Element{}}
}

// enter computes a prompt: it returns how many of its tokens were there already, and keeps its whole
// blocks. A prompt is never cached to its end, since its last token must be computed.
func (c *prefixCache) enter(ids []uint32, prompt string) (cached int) {
	hashes := c.hashes(ids, prompt)
	tokens := len(ids)
	if tokens == 0 {
		tokens = (len(prompt) + bytesPerToken - 1) / bytesPerToken
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	hit := true
	for _, h := range hashes {
		at, ok := c.blocks[h]
		if ok {
			c.used.MoveToFront(at)
		}
		if hit = hit && ok; hit {
			cached += blockTokens
		}
		if ok || c.cap <= 0 {
			continue
		}
		c.blocks[h] = c.used.PushFront(h)
		if len(c.blocks) > c.cap {
			old, _ := c.used.Remove(c.used.Back()).(uint64)
			delete(c.blocks, old)
		}
	}
	if cached >= tokens {
		cached = max(0, cached-blockTokens)
	}
	return cached
}

func (c *prefixCache) hashes(ids []uint32, prompt string) []uint64 {
	if c.cap <= 0 {
		return nil
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	var out []uint64
	if len(ids) == 0 {
		for ; len(prompt) >= blockBytes; prompt = prompt[blockBytes:] {
			_, _ = h.WriteString(prompt[:blockBytes]) // a hash takes everything
			out = append(out, h.Sum64())
		}
		return out
	}
	var buf [blockTokens * 4]byte
	for ; len(ids) >= blockTokens; ids = ids[blockTokens:] {
		for i, id := range ids[:blockTokens] {
			binary.LittleEndian.PutUint32(buf[4*i:], id)
		}
		_, _ = h.Write(buf[:]) // a hash takes everything
		out = append(out, h.Sum64())
	}
	return out
}
