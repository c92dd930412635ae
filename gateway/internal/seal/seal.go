// Package seal makes opaque strings of what a client is to keep for this side: reasoning that it is not shown, and
// summaries. They are encrypted and bound to their tenant, so that who holds one can neither read nor forge it.
//
// A seal is "weir1.", a letter for its kind, "." and base64url without padding, of which there is one spelling: no
// other string opens as the same seal. Under the base64 stand the first four bytes of the key's SHA-256, a nonce, and
// what AES-256-GCM makes of the payload, with the seal's beginning and the tenant as additional data:
//
//	payload = form:byte uvarint(len(family)) family uvarint(len(text)) body
//
// where the body is the text (form 0) or its deflation (form 1). A tag has another form; see Box.Tag.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Kind is what a seal is for. It is the letter in the seal.
type Kind byte

// Kinds of seals.
const (
	Reasoning Kind = 'r' // holds what the model thought
	Summary   Kind = 's' // holds what was said before, in short
	Tag       Kind = 't' // holds nothing, and vouches for a text beside it
)

// Errors of Open.
var (
	// ErrForeign is of a string that has not the form of a seal: another vendor's.
	ErrForeign = errors.New("not a seal of this gateway")
	// ErrInvalid is of one that has, and does not open: another tenant's, of a key that is gone, or changed.
	ErrInvalid = errors.New("the seal does not open")
)

const (
	prefix = "weir1."
	// MaxText is the most that a seal may hold: bytes of its text and its family. It is far more than a turn's thinking
	// has, and bounds what a short seal can become in memory.
	MaxText = 4 << 20
	// maxSealed bounds what is decoded of a string that says it is a seal: MaxText, and room for the rest.
	maxSealed = (MaxText + 256) / 3 * 4
)

// Opened is what a seal held.
type Opened struct {
	Kind   Kind
	Family string // of the model that thought it; empty for a summary
	Text   string
}

// Box seals with one key and opens with several. It is safe for concurrent use.
type Box struct {
	keys      []*keys // the first seals
	encoding  *base64.Encoding
	deflaters sync.Pool // of *deflater
	inflaters sync.Pool // of *inflater
}

// keyID says in a seal which key it is of, so that no other is tried.
type keyID [4]byte

// keys are what is derived of one Key, one for each kind. What holds key bytes is behind a pointer.
//
// Nonces are 96 random bits. A derived key may make 2^32 seals, as NIST SP 800-38D has it: the chance that any two of
// them have one nonce is 2^-33 then, after sixteen months of a hundred a second. Nobody counts them, and need not: at
// 2^36 the chance is still 2^-25; a repeat helps a client alone that holds both of the two seals, and gives it the
// difference of their texts and the means to forge; and a new key in front of the old ones begins anew.
type keys struct {
	id                 keyID
	reasoning, summary cipher.AEAD
	macs               *sync.Pool // of *mac
}

// NewBox makes a box that seals with the first key and opens what any of them sealed. A key that is given twice counts
// once.
func NewBox(given ...Key) (*Box, error) {
	b := &Box{encoding: base64.RawURLEncoding.Strict()}
	b.deflaters.New = newDeflater
	b.inflaters.New = newInflater
	for i, key := range given {
		switch {
		case key.IsZero():
			return nil, fmt.Errorf("seal key %d: empty", i+1)
		case containsKey(given[:i], key):
			continue
		case b.find(key.id()) != nil:
			return nil, fmt.Errorf("seal key %d: has the id %s of another key; make a new one", i+1, key.ID())
		}
		k, err := derive(key)
		if err != nil {
			return nil, fmt.Errorf("seal key %d: %w", i+1, err)
		}
		b.keys = append(b.keys, k)
	}
	if len(b.keys) == 0 {
		return nil, errors.New("no seal key")
	}
	return b, nil
}

func derive(key Key) (*keys, error) {
	subkey := func(kind Kind) ([]byte, error) {
		return hkdf.Key(sha256.New, key.bytes()[:], nil, "weir seal 1: "+kind.String(), keySize)
	}
	aead := func(kind Kind) (cipher.AEAD, error) {
		secret, err := subkey(kind)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(secret)
		if err != nil {
			return nil, err
		}
		return cipher.NewGCMWithRandomNonce(block)
	}
	reasoning, err := aead(Reasoning)
	if err != nil {
		return nil, err
	}
	summary, err := aead(Summary)
	if err != nil {
		return nil, err
	}
	secret, err := subkey(Tag)
	if err != nil {
		return nil, err
	}
	return &keys{
		id: key.id(), reasoning: reasoning, summary: summary,
		macs: &sync.Pool{New: func() any { return newMAC(secret) }},
	}, nil
}

// String returns the kind's name, or unknown.
func (k Kind) String() string {
	switch k {
	case Reasoning:
		return "reasoning"
	case Summary:
		return "summary"
	case Tag:
		return "tag"
	}
	return "unknown"
}

// find returns the keys with an id; nil when there are none.
func (b *Box) find(id keyID) *keys {
	for _, k := range b.keys {
		if k.id == id {
			return k
		}
	}
	return nil
}

// aead is what seals a kind; nil for a kind that holds nothing.
func (k *keys) aead(kind Kind) cipher.AEAD {
	switch kind {
	case Reasoning:
		return k.reasoning
	case Summary:
		return k.summary
	}
	return nil
}

// binding is what a seal is bound to beside its payload: version, kind and tenant. The first two have one length each, so
// that no two bindings are alike.
func binding(kind Kind, tenant string) []byte {
	return append(append(make([]byte, 0, len(prefix)+2+len(tenant)), prefix...), string(kind)+"."+tenant...)
}

// Reasoning seals what a model thought. Empty for more than MaxText.
func (b *Box) Reasoning(tenant, family string, text []byte) string {
	return b.seal(Reasoning, tenant, family, text)
}

// Summary seals what was said before, in short. Empty for more than MaxText.
func (b *Box) Summary(tenant string, text []byte) string { return b.seal(Summary, tenant, "", text) }

func (b *Box) seal(kind Kind, tenant, family string, text []byte) string {
	if len(family)+len(text) > MaxText {
		return ""
	}
	d := b.deflaters.Get().(*deflater)
	payload := d.pack(family, text)
	k := b.keys[0]
	aead := k.aead(kind)
	sealed := append(make([]byte, 0, len(k.id)+len(payload)+aead.Overhead()), k.id[:]...)
	sealed = aead.Seal(sealed, nil, payload, binding(kind, tenant))
	d.release(&b.deflaters)

	out := make([]byte, 0, len(prefix)+2+b.encoding.EncodedLen(len(sealed)))
	out = append(append(out, prefix...), byte(kind), '.')
	return string(b.encoding.AppendEncode(out, sealed))
}

// split takes a seal apart: its kind, which may be an unknown one, and what is encoded behind it.
func split(s string) (kind Kind, encoded string, err error) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return 0, "", ErrForeign
	}
	if len(rest) < 2 || rest[1] != '.' {
		return 0, "", ErrInvalid
	}
	return Kind(rest[0]), rest[2:], nil
}

// Open returns what a tenant's seal holds. Its errors are ErrForeign and ErrInvalid. A tag holds nothing, so that it is
// ErrInvalid here: Vouches is for tags.
func (b *Box) Open(tenant, s string) (Opened, error) {
	kind, encoded, err := split(s)
	if err != nil {
		return Opened{}, err
	}
	// The decoder skips line ends, and would take more than one spelling of a seal.
	if len(encoded) > maxSealed || strings.ContainsAny(encoded, "\r\n") {
		return Opened{}, ErrInvalid
	}
	sealed, err := b.encoding.DecodeString(encoded)
	if err != nil || len(sealed) < len(keyID{}) {
		return Opened{}, ErrInvalid
	}
	id, sealed := keyID(sealed[:len(keyID{})]), sealed[len(keyID{}):]
	k := b.find(id)
	if k == nil {
		return Opened{}, ErrInvalid
	}
	aead := k.aead(kind)
	if aead == nil {
		return Opened{}, ErrInvalid
	}
	payload, err := aead.Open(sealed[:0], nil, sealed, binding(kind, tenant))
	if err != nil {
		return Opened{}, ErrInvalid
	}
	family, text, ok := b.unpack(payload)
	if !ok {
		return Opened{}, ErrInvalid
	}
	return Opened{Kind: kind, Family: family, Text: text}, nil
}

func (b *Box) unpack(payload []byte) (family, text string, ok bool) {
	form, family, size, body, ok := unframe(payload)
	switch {
	case !ok:
		return "", "", false
	case form == formPlain:
		return family, string(body), len(body) == size
	case form != formDeflated:
		return "", "", false
	}
	f := b.inflaters.Get().(*inflater)
	defer b.inflaters.Put(f)
	text, ok = f.inflate(body, size)
	return family, text, ok
}
