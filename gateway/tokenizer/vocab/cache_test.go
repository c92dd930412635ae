package vocab_test

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// The text of ids is that of strconv: for each number of digits, for ids that are in the vocabulary and for those
// that only an engine knows.
func TestEncodedText(t *testing.T) {
	t.Parallel()
	for _, size := range []int{300, 12_345, vocab.MaxTokens} {
		spec := bytesSpec()
		spec.Tokens = append(spec.Tokens, make([]string, size-len(spec.Tokens)-len(spec.Added))...)
		for i := range spec.Added {
			spec.Added[i].ID = uint32(len(spec.Tokens) + i)
		}
		tok := build(t, spec)
		var e vocab.Encoded
		var want []uint32
		for n := uint64(1); n <= math.MaxUint32; n *= 10 {
			for _, id := range []uint64{n - 1, n, n + 1, 9 * n, 99 * n} {
				if id <= math.MaxUint32 {
					want = append(want, uint32(id))
					tok.Append(&e, uint32(id))
				}
			}
		}
		want = append(want, math.MaxUint32)
		tok.Append(&e, math.MaxUint32)
		if !slices.Equal(e.IDs, want) || joined(&e) != string(list(want)) {
			t.Errorf("%d tokens, one by one: %s, want %s", size, joined(&e), list(want))
		}
		e.Reset()
		tok.Append(&e)
		if tok.Append(&e, want...); joined(&e) != string(list(want)) {
			t.Errorf("%d tokens, all at once: %s, want %s", size, joined(&e), list(want))
		}
	}
}

// joined is the text of ids as one.
func joined(e *vocab.Encoded) string { return string(bytes.Join(e.Text(), nil)) }

// turns is a chat of n messages, each with its number.
func turns(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("<|start|>message " + strconv.Itoa(i) + strings.Repeat(" abc ab", 20) + "<|end|>\n")
	}
	return b.String()
}

// What a prompt had that was encoded without its text gets it when it is asked for, and that counts.
func TestCacheLearnsText(t *testing.T) {
	t.Parallel()
	tok := build(t, bytesSpec())
	cache := tok.NewCache(1 << 20)
	text := turns(50)
	ids := cache.Encode(nil, text, nil)
	bare := cache.Bytes()
	var e vocab.Encoded
	for range 2 {
		e.Reset()
		cache.EncodeText(&e, text, nil)
	}
	if !slices.Equal(e.IDs, ids) || joined(&e) != string(list(ids)) {
		t.Error("the ids or their text differ")
	}
	// Without the short pieces between the messages, which are not kept.
	if got := cache.Bytes() - bare; got < len(joined(&e))*9/10 || got > len(joined(&e))*11/10 {
		t.Errorf("the text takes %d bytes, want about %d", got, len(joined(&e)))
	}
}

// What is used stays, and what is not makes room.
func TestCacheKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	tok := build(t, bytesSpec())
	kept, passing := turns(8), 400
	cache := tok.NewCache(256 << 10)
	var e vocab.Encoded
	for i := range passing {
		e.Reset()
		cache.EncodeText(&e, kept, nil)
		e.Reset()
		cache.EncodeText(&e, "<|start|>"+strconv.Itoa(i)+strings.Repeat(" ab c", 300)+"<|end|>", nil)
	}
	if n := cache.Bytes(); n > 256<<10 || n < 128<<10 {
		t.Errorf("%d bytes are held, want at most and nearly %d", n, 256<<10)
	}
	before := cache.Bytes()
	e.Reset()
	if cache.EncodeText(&e, kept, nil); cache.Bytes() != before {
		t.Error("segments that were used all the time had to be entered again")
	}
}
