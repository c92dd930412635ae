package wat

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

func cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func vecBytes(s string) []byte { return append(u32(uint32(len(s))), s...) }

// u32 encodes an unsigned LEB128 number.
func u32(v uint32) []byte { return binary.AppendUvarint(nil, uint64(v)) }

// s64 encodes a signed LEB128 number.
func s64(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func (n node) u32() (uint32, error) {
	v, err := strconv.ParseUint(strings.ReplaceAll(n.text, "_", ""), 0, 32)
	if n.kind != 'a' || err != nil {
		return 0, n.failf("got %v, want an unsigned number of 32 bits", n)
	}
	return uint32(v), nil
}

// integer reads a number of some bits, with or without a sign.
func (n node) integer(bits int) ([]byte, error) {
	if n.kind == 'a' {
		text := strings.ReplaceAll(n.text, "_", "")
		if v, err := strconv.ParseInt(text, 0, bits); err == nil {
			return s64(v), nil
		}
		if v, err := strconv.ParseUint(text, 0, bits); err == nil {
			if bits == 32 {
				return s64(int64(int32(uint32(v)))), nil
			}
			return s64(int64(v)), nil
		}
	}
	return nil, n.failf("got %v, want a number of %d bits", n, bits)
}

func (n node) float(bits int) ([]byte, error) {
	v, err := strconv.ParseFloat(n.text, bits)
	if n.kind != 'a' || err != nil {
		return nil, n.failf("got %v, want a number with %d bits", n, bits)
	}
	if bits == 32 {
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v))), nil
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)), nil
}

func (n node) valueType() (byte, error) {
	switch n.text {
	case "i32":
		return 0x7f, nil
	case "i64":
		return 0x7e, nil
	case "f32":
		return 0x7d, nil
	case "f64":
		return 0x7c, nil
	case "funcref":
		return 0x70, nil
	case "externref":
		return 0x6f, nil
	}
	return 0, n.failf("%v is not a type", n)
}

// signature is a function's type, with the names of its parameters.
type signature struct {
	params, results string
	names           map[string]int
}

func (s signature) encode() string {
	return "\x60" + string(vecBytes(s.params)) + string(vecBytes(s.results))
}

// typeOf is the index of a type, added if it is new.
func (m *module) typeOf(s signature) int {
	enc := s.encode()
	i, ok := m.types[enc]
	if !ok {
		i = len(m.typeSec)
		m.types[enc] = i
		m.typeSec = append(m.typeSec, []byte(enc))
		m.count[typeNames]++
	}
	return i
}

// signature reads (type $t), (param ..) and (result ..) and returns what follows.
func (m *module) signature(rest []node) (signature, []node, error) {
	s := signature{names: map[string]int{}}
	for ; len(rest) > 0; rest = rest[1:] {
		var err error
		switch rest[0].head() {
		case "type":
			if len(rest[0].list) != 2 {
				return s, nil, rest[0].failf("a type use wants one type")
			}
			i, err := m.index(typeNames, rest[0].list[1])
			if err != nil || int(i) >= len(m.typeSec) {
				return s, nil, rest[0].failf("%v is not a type that stands in front", rest[0].list[1])
			}
			s.params, s.results = split(m.typeSec[i])
		case "param":
			s.params, err = declareTypes(rest[0], s.params, s.names)
		case "result":
			s.results, err = declareTypes(rest[0], s.results, nil)
		default:
			return s, rest, nil
		}
		if err != nil {
			return s, nil, err
		}
	}
	return s, rest, nil
}

// split takes an encoded type apart. There are fewer parameters than need a second byte of length, or the
// type is used by its index alone.
func split(enc []byte) (params, results string) {
	n, k := binary.Uvarint(enc[1:])
	enc = enc[1+k:]
	params = string(enc[:n])
	_, k = binary.Uvarint(enc[n:])
	return params, string(enc[int(n)+k:])
}

// declareTypes adds the types of (param ..), (result ..) or (local ..) to a list.
func declareTypes(n node, to string, names map[string]int) (string, error) {
	items := n.list[1:]
	if len(items) == 2 && items[0].kind == 'a' && items[0].text[0] == '$' && names != nil {
		if _, ok := names[items[0].text]; ok {
			return to, n.failf("%s is there twice", items[0].text)
		}
		names[items[0].text] = len(to)
		items = items[1:]
	}
	for _, it := range items {
		t, err := it.valueType()
		if err != nil {
			return to, err
		}
		to += string([]byte{t})
	}
	return to, nil
}
