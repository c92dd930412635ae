package store_test

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/store"
)

// filler makes values of any bytes.
type filler struct{ data []byte }

func (f *filler) byte() byte {
	if len(f.data) == 0 {
		return 0
	}
	b := f.data[0]
	f.data = f.data[1:]
	return b
}

func (f *filler) bytes() []byte {
	n := min(int(f.byte())%24, len(f.data))
	b := f.data[:n:n]
	f.data = f.data[n:]
	return b
}

// fill sets all of v, to whatever depth there are bytes for.
func (f *filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(f.bytes()))
	case reflect.Bool:
		v.SetBool(f.byte()&1 == 1)
	case reflect.Uint8:
		v.SetUint(uint64(f.byte()))
	case reflect.Int64, reflect.Uint64:
		v.SetInt(int64(binary.LittleEndian.Uint16(append(f.bytes(), 0, 0))))
	case reflect.Pointer:
		if f.byte()&1 == 1 && len(f.data) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		n := int(f.byte()) % 5
		if n == 0 || len(f.data) == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n-1, n-1)) // of no element is something else than none
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			f.fill(field)
		}
	default:
		panic("a field of a kind that is not filled: " + v.Type().String())
	}
}

func FuzzCodec(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03\x01\x04text\x03\x01\x05hello"))
	f.Add([]byte(strings.Repeat("\x04\x03\x02\x01\xff\xfe<&>\u2028", 30)))
	f.Add([]byte(`{"v":1,"of":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var messages []conv.Message
		var tools []conv.ToolDef
		fill := filler{data}
		fill.fill(reflect.ValueOf(&messages).Elem())
		fill.fill(reflect.ValueOf(&tools).Elem())
		roundTrip(t, messages, store.EncodeMessages, store.DecodeMessages)
		roundTrip(t, tools, store.EncodeTools, store.DecodeTools)
		// What is read at all is written so that it is read again, the same.
		if m, err := store.DecodeMessages(data); err == nil {
			roundTrip(t, m, store.EncodeMessages, store.DecodeMessages)
		}
		if d, err := store.DecodeTools(data); err == nil {
			roundTrip(t, d, store.EncodeTools, store.DecodeTools)
		}
	})
}

func roundTrip[T any](t *testing.T, values []T, encode func([]T) ([]byte, error), decode func([]byte) ([]T, error)) {
	t.Helper()
	b, err := encode(values)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(b)
	if err != nil {
		t.Fatalf("%v of %s", err, b)
	}
	if !reflect.DeepEqual(got, values) {
		t.Fatalf("%#v came back as %#v by way of %s", values, got, b)
	}
}

// TestColumns pins what is on disk: where it changes, so does the version.
func TestColumns(t *testing.T) {
	t.Parallel()
	messages := []conv.Message{{Role: conv.Assistant, Parts: []conv.Part{
		{Kind: conv.Text, Text: "<a>", Phase: conv.PhaseFinal},
		{Kind: conv.Call, Call: &conv.ToolCall{ID: "c", Name: "n", Kind: conv.Custom, Arguments: "{}"}},
		{Kind: conv.Result, Result: &conv.ToolResult{CallID: "c", Parts: []conv.Part{{Kind: conv.MediaPart, Media: &conv.Media{Type: "image"}}}}},
	}}}
	raw := []conv.Message{{Role: conv.User, Name: "\xffé"}}
	tools := []conv.ToolDef{{Kind: conv.Custom, Name: "n", Schema: []byte("{}"), Format: []byte{}}}
	part := func(kind, text, phase, call, result, media string) string {
		return `{"Kind":` + kind + `,"Text":"` + text + `","Seal":"","Phase":` + phase + `,"Volatile":false,"Call":` + call + `,"Result":` + result + `,"Media":` + media + `}`
	}
	media := part("5", "", "0", "null", "null", `{"Type":"image","MIME":"","URL":"","Data":""}`)
	for _, c := range []struct {
		name   string
		encode func() ([]byte, error)
		want   string
	}{
		{"messages", func() ([]byte, error) { return store.EncodeMessages(messages) }, `{"v":1,"of":[{"Role":4,"Name":"","Parts":[` +
			part("1", "<a>", "2", "null", "null", "null") + `,` +
			part("3", "", "0", `{"ID":"c","Namespace":"","Name":"n","Kind":1,"Arguments":"{}"}`, "null", "null") + `,` +
			part("4", "", "0", "null", `{"CallID":"c","Parts":[`+media+`],"IsError":false}`, "null") + `]}]}`},
		{"bytes", func() ([]byte, error) { return store.EncodeMessages(raw) }, `{"v":1,"bytes":true,"of":[{"Role":3,"Name":"ÿÃ©","Parts":null}]}`},
		{"tools", func() ([]byte, error) { return store.EncodeTools(tools) }, `{"v":1,"of":[{"Kind":1,"Namespace":"","Name":"n","Description":"","Schema":"e30=","Strict":false,"Deferred":false,"Format":""}]}`},
		{"none", func() ([]byte, error) { return store.EncodeTools(nil) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, err := c.encode(); err != nil || string(got) != c.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, c.want)
			}
		})
	}
	if raw[0].Name != "\xffé" {
		t.Error("what is put is changed")
	}
}

func TestColumnsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, column, want string }{
		{"newer", `{"v":2,"of":[],"more":1}`, "version 2"},
		{"newer, the same members", `{"v":2,"of":[]}`, "version 2"},
		{"no version", `{"of":[]}`, "version 0"},
		{"newer, another type", `{"v":2,"of":{}}`, "version 2"},
		{"cut", `{"v":1,"of":[{"Role":3`, "unreadable"},
		{"two", `{"v":1,"of":[]}{}`, "unreadable"},
		{"no bytes", `{"v":1,"bytes":true,"of":[{"Name":"€"}]}`, "none"},
		{"other type", `[]`, "unreadable"},
		{"deep", `{"v":1,"of":[{"Parts":` + strings.Repeat(`[{"Result":{"Parts":`, 20_000), "unreadable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if m, err := store.DecodeMessages([]byte(c.column)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v, want an error that says %q", m, err, c.want)
			}
		})
	}
}

// TestPack wants every string and slice of a packed link to lie in memory of its own, those of fields that are new
// included.
func TestPack(t *testing.T) {
	t.Parallel()
	places := 0
	for seed := range byte(100) {
		data := make([]byte, 1<<16)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
		l := &chain.Link{}
		f := filler{data}
		for _, v := range []any{&l.ID, &l.Owner, &l.Parent, &l.Model, &l.Input, &l.Output, &l.Body} {
			f.fill(reflect.ValueOf(v).Elem())
		}
		got, size := l.Pack(), l.Size()
		if !reflect.DeepEqual(l, got) {
			t.Fatal("a packed link is another one")
		}
		from, to := map[uintptr]bool{}, map[uintptr]bool{}
		before, after := addresses(reflect.ValueOf(l).Elem(), from), addresses(reflect.ValueOf(got).Elem(), to)
		for at := range to {
			if from[at] {
				t.Fatal("memory is shared")
			}
		}
		if before != after || int64(after)+int64(unsafe.Sizeof(*l)) != size {
			t.Errorf("%d and %d bytes, said to be %d", before, after, size)
		}
		places += len(to)
	}
	if places < 2000 {
		t.Errorf("only %d places were looked at", places)
	}
}

// addresses adds where v's strings and slices lie, and returns how many bytes lie there.
func addresses(v reflect.Value, at map[uintptr]bool) (n int) {
	switch v.Kind() {
	case reflect.String:
		if n = v.Len(); n > 0 {
			at[uintptr(unsafe.Pointer(unsafe.StringData(v.String())))] = true
		}
	case reflect.Slice:
		if v.Len() > 0 {
			at[v.Pointer()] = true
		}
		n = v.Len() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			n += addresses(v.Index(i), at)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			at[v.Pointer()] = true
			n = int(v.Type().Elem().Size()) + addresses(v.Elem(), at)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			n += addresses(field, at) // none in those of a time
		}
	default:
	}
	return n
}

// FuzzIDs has two stores told the same, with ids and parents of any bytes, and wants them to answer the same.
func FuzzIDs(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add("", "\x00", "\xff", "a'\"")
	f.Add("x", "x\x00", "x\x00y", "X")
	f.Fuzz(func(t *testing.T, a, b, c, owner string) {
		path := t.TempDir() + "/weir.db"
		stores := []chain.Store{store.NewMemory(store.Options{}), openFile(t, path, store.Options{})}
		said := [2][]any{}
		for i, s := range stores {
			said[i] = talk(t, s, owner, []string{a, b, c})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(said[0], said[1]) {
			t.Errorf("%q, %q, %q of %q:\nmemory   %+v\ndatabase %+v", a, b, c, owner, said[0], said[1])
		}
	})
}

// talk puts each id with the one before as its parent, and collects all that can be asked for.
func talk(t *testing.T, s chain.Store, owner string, ids []string) (said []any) {
	t.Helper()
	ask := func(id string) {
		l, err := s.Get(t.Context(), owner, id)
		said = append(said, l, err)
		h, err := s.History(t.Context(), owner, id)
		said = append(said, h, err)
		it, err := s.Item(t.Context(), owner, id)
		said = append(said, it, err)
		_, err = s.Get(t.Context(), owner+"x", id)
		said = append(said, err)
	}
	parent := ""
	for _, id := range ids {
		l := &chain.Link{ID: id, Owner: owner, Parent: parent, Input: []chain.Item{{ID: id + parent}, {ID: id}}, Body: []byte(id + "{}")}
		said = append(said, s.Put(t.Context(), l))
		parent = id
		ask(id)
	}
	for _, id := range ids {
		said = append(said, s.Delete(t.Context(), owner, id))
		for _, other := range ids {
			ask(other)
		}
	}
	return said
}
