package wire_test

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

// said is what the bodies of these tests say.
type said struct {
	Texts   []string
	Ignored []string
	Read    int // elements that were decoded
}

// read decodes a body: in a, elements with texts t, notes n and items i.
func read(m *recall.Memory, body string, h http.Header) (said, error) {
	var d wire.Decoder
	var out said
	d.Recall(m, h)
	raw := []byte(body)
	defer clear(raw)
	err := d.Document(raw, func(key []byte) error {
		if string(key) != "a" {
			return d.Skip()
		}
		out.Texts = nil
		return wire.Elements(&d, "test", &out.Texts, (*recall.Copier).Text, func() error {
			out.Read++
			return d.Object(func(key []byte) error {
				switch string(key) {
				case "t":
					s, err := d.String()
					out.Texts = append(out.Texts, s)
					return err
				case "n":
					s, err := d.String()
					d.Ignore(s)
					return err
				case "i":
					n, err := d.Int(0, 1<<30)
					for ; err == nil && n > 0; n-- {
						err = d.Item()
					}
					return err
				}
				return d.Skip()
			})
		})
	})
	out.Ignored = d.Ignored()
	return out, err
}

// told is all that a fault tells.
func told(err error) string {
	if err == nil {
		return ""
	}
	f := fault.From(err)
	return fmt.Sprintf("%s|%s|%s", f.Kind, f.Param, f.Public)
}

func memory() *recall.Memory { return recall.New(recall.Options{MaxBytes: 1 << 20}) }

// warm is a memory that knows a body.
func warm(t *testing.T, body string) *recall.Memory {
	t.Helper()
	m := memory()
	for range 2 {
		if _, err := read(m, body, nil); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

const start = `{"t":"a"},{"t":"b\n"},{"t":"c"}`

// TestElements says how many elements are decoded when a body comes behind another one.
func TestElements(t *testing.T) {
	for _, tt := range []struct {
		name, before, body string
		read               int
		want               string
	}{
		{"the same", `{"a":[` + start + `]}`, `{"a":[` + start + `]}`, 0, "a b\n c"},
		{"one more", `{"a":[` + start + `]}`, `{"a":[` + start + `,{"t":"d"}]}`, 1, "a b\n c d"},
		{"one less", `{"a":[` + start + `,{"t":"d"}]}`, `{"a":[` + start + `]}`, 0, "a b\n c"},
		{"another last", `{"a":[` + start + `,{"t":"d"}]}`, `{"a":[` + start + `,{"t":"e"},{"t":"f"}]}`, 2, "a b\n c e f"},
		{"another one between", `{"a":[` + start + `,{"t":"d"},{"t":"x"}]}`, `{"a":[` + start + `,{"t":"e"},{"t":"x"}]}`, 1, "a b\n c e x"},
		{"another beginning", `{"a":[` + start + `]}`, `{"a":[{"t":"z"},` + start + `]}`, 4, "z a b\n c"},
		{"an end within a text", `{"a":[` + start + `,{"t":"dd"}]}`, `{"a":[` + start + `,{"t":"d"}]}`, 1, "a b\n c d"},
		{"an end within an escape", `{"a":[` + start + `,{"t":"\u0041"}]}`, `{"a":[` + start + `,{"t":"\u0042"}]}`, 1, "a b\n c B"},
		{"an end within a number", `{"a":[` + start + `,{"x":1}]}`, `{"a":[` + start + `,{"x":12}]}`, 1, "a b\n c"},
		{"an end within a rune", `{"a":[` + start + `,{"t":"ä"}]}`, `{"a":[` + start + `,{"t":"ö"}]}`, 1, "a b\n c ö"},
		{"white space between", `{"a":[` + start + `,{"t":"d"}]}`, `{ "a" : [` + start + " \t,\r\n" + ` {"t":"d"} ] }`, 0, "a b\n c d"},
		{"white space within", `{"a":[` + start + `,{"t":"d"}]}`, `{"a":[` + start + `,{"t": "d"}]}`, 1, "a b\n c d"},
		{"other members before", `{"x":1,"a":[` + start + `]}`, `{"y":[[],"zzz"],"a":[` + start + `]}`, 0, "a b\n c"},
		{"two elements", `{"a":[{"t":"a"},{"t":"b"}]}`, `{"a":[{"t":"a"},{"t":"b"}]}`, 2, "a b"},
		{"none", `{"a":[]}`, `{"a":[]}`, 0, ""},
		{"twice in a body", `{"a":[` + start + `]}`, `{"a":[{"t":"q"}],"a":[` + start + `,{"t":"d"}]}`, 2, "a b\n c d"},
		{"elements of no object", `{"a":[` + start + `,null]}`, `{"a":[` + start + `]}`, 3, "a b\n c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := memory()
			for range 2 {
				_, _ = read(m, tt.before, nil) // one that is refused is not remembered
			}
			got, err := read(m, tt.body, nil)
			if text := strings.Join(got.Texts, " "); err != nil || text != tt.want || got.Read != tt.read {
				t.Errorf("%q, %d decoded, %v", text, got.Read, err)
			}
			if got, err = read(m, tt.body, nil); err != nil || strings.Join(got.Texts, " ") != tt.want {
				t.Errorf("the next time: %q, %v", got.Texts, err)
			}
		})
	}
}

// TestWarmUp: a body is decoded whole until it has come twice, and by others always.
func TestWarmUp(t *testing.T) {
	m := memory()
	body := `{"a":[` + start + `]}`
	for i, want := range []int{3, 3, 0, 0} {
		if got, err := read(m, body, http.Header{"X-Api-Key": {"k"}}); err != nil || got.Read != want {
			t.Errorf("time %d: %d decoded, %v", i, got.Read, err)
		}
	}
	for _, h := range []http.Header{nil, {"X-Api-Key": {"l"}}, {"Authorization": {"k"}}} {
		if got, err := read(m, body, h); err != nil || got.Read != 3 {
			t.Errorf("%v: %d decoded, %v", h, got.Read, err)
		}
	}
	small := recall.New(recall.Options{MaxBytes: 1 << 20, MinBody: len(body) + 1})
	for range 4 {
		if got, err := read(small, body, nil); err != nil || got.Read != 3 || small.Bytes() != 0 {
			t.Errorf("a small body: %d decoded, %v", got.Read, err)
		}
	}
}

// TestNotesAreTold: each is told once, whether its element is decoded or not, and no more than 32 are.
func TestNotesAreTold(t *testing.T) {
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf(`"n":"m%d"`, i%40))
	}
	notes := `{"t":"a","n":"x"},{"t":"b","n":"x","n":"y"},{"t":"c"},{"n":"x"},{` + strings.Join(many, ",") + `}`
	m := warm(t, `{"a":[`+notes+`]}`)
	for _, body := range []string{`{"a":[` + notes + `,{"n":"z"}]}`, `{"a":[` + notes + `]}`, `{"a":[` + notes + `,{"n":"y"}]}`} {
		want, err := read(nil, body, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(m, body, nil)
		if err != nil || !slices.Equal(got.Ignored, want.Ignored) || got.Read > 1 {
			t.Errorf("%d decoded, %q, want %q, %v", got.Read, got.Ignored, want.Ignored, err)
		}
	}
}

// TestItemsAreCounted: a body that has too many is refused where it is too many.
func TestItemsAreCounted(t *testing.T) {
	most := fmt.Sprintf(`{"i":%d}`, plan.MaxRows-10)
	m := warm(t, `{"a":[{"t":"a"},{"t":"b"},{"t":"c"},`+most+`]}`)
	for _, body := range []string{
		`{"a":[{"t":"a"},{"t":"b"},{"t":"c"},` + most + `,{"i":10}]}`, `{"a":[{"t":"a"},{"t":"b"},{"t":"c"},` + most + `,{"i":11}]}`,
		`{"a":[{"i":11}],"a":[{"t":"a"},{"t":"b"},{"t":"c"},` + most + `]}`,
	} {
		want, wantErr := read(nil, body, nil)
		got, err := read(m, body, nil)
		if told(err) != told(wantErr) || wantErr == nil && !slices.Equal(got.Texts, want.Texts) {
			t.Errorf("%s: got %v, want %v", body, err, wantErr)
		}
	}
}

// TestEveryByte changes and cuts a body at every place: it says what it says without a memory, faults included.
func TestEveryByte(t *testing.T) {
	body := `{"x":[1,"ä"],"a":[{"t":"a"}, {"t":"bä\n"} ,{"t":"c","x":[-1.5e3,true]},{"t":"d","n":"n","i":1},{"t":"\u00e4\ud83d\ude00"}],"y":{}}`
	m := warm(t, body)
	check := func(b string) {
		t.Helper()
		want, wantErr := read(nil, b, nil)
		got, err := read(m, b, nil)
		if told(err) != told(wantErr) {
			t.Errorf("%q: got %v, want %v", b, err, wantErr)
		}
		if wantErr == nil && (!slices.Equal(got.Texts, want.Texts) || !slices.Equal(got.Ignored, want.Ignored)) {
			t.Errorf("%q: got %q %q, want %q %q", b, got.Texts, got.Ignored, want.Texts, want.Ignored)
		}
		if _, err := read(m, body, nil); err != nil { // so that it is that body which is known
			t.Fatal(err)
		}
	}
	for i := range len(body) {
		check(body[:i])
		check(body[i:])
		for _, c := range "\xff\xc3\x00 \"\\{}[],:1nä" {
			check(body[:i] + string([]byte{byte(c)}) + body[i+1:])
			check(body[:i] + string([]byte{byte(c)}) + body[i:])
		}
	}
}

// TestRoom: of an array that is too large, the beginning is remembered.
func TestRoom(t *testing.T) {
	m := recall.New(recall.Options{MaxBytes: 40_000})
	large := `,{"t":"` + strings.Repeat("x", 6000) + `"},{"t":"y"}`
	for i, want := range []int{5, 5, 2, 2} {
		if got, err := read(m, `{"a":[`+start+large+`]}`, nil); err != nil || got.Read != want || m.Bytes() > 10_000 {
			t.Errorf("time %d: %d decoded, %d bytes, %v", i, got.Read, m.Bytes(), err)
		}
	}
}

// TestHeld: of a conversation that grows and ends in something else each time there is held what is counted, which is the
// text, what it says, and at most half as much as the text that is not used.
func TestHeld(t *testing.T) {
	m := recall.New(recall.Options{MaxBytes: 64 << 20})
	heap := func() int {
		var s runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools hold goes with the second one
		runtime.ReadMemStats(&s)
		return int(s.HeapAlloc)
	}
	before := heap()
	var body bytes.Buffer
	body.WriteString(`{"a":[` + start)
	for i := range 100 {
		fmt.Fprintf(&body, `,{"t":"%d %s"},{"t":"%s\n"}`, i, strings.Repeat("word ", 100), strings.Repeat("line\\n", 300))
		end := fmt.Sprintf(`,{"t":"%d %s"}]}`, i, strings.Repeat("now\\n", 8000))
		if _, err := read(m, body.String()+end, nil); err != nil {
			t.Fatal(err)
		}
		if held := m.Bytes(); i > 0 && (held < body.Len() || held > 5*(body.Len()+len(end))/2+400*i) {
			t.Fatalf("turn %d: %d bytes are held of %d", i, held, body.Len()+len(end))
		}
	}
	if grown := heap() - before - body.Cap(); grown > m.Bytes()*5/4 {
		t.Errorf("the heap has %d bytes more, %d are counted", grown, m.Bytes())
	}
	runtime.KeepAlive(m)
}

// TestCopies fills a message and a tool with something everywhere: a copy is equal and shares nothing.
func TestCopies(t *testing.T) {
	var m conv.Message
	var tool conv.ToolDef
	fill(reflect.ValueOf(&m).Elem(), 0)
	fill(reflect.ValueOf(&tool).Elem(), 0)
	var c recall.Copier
	for _, pair := range [][2]any{{m, c.Message(m)}, {tool, c.Tool(tool)}} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("got  %+v\nwant %+v", pair[1], pair[0])
		}
		mine, its := map[unsafe.Pointer]bool{}, map[unsafe.Pointer]bool{}
		pointers(t, reflect.ValueOf(pair[0]), mine)
		pointers(t, reflect.ValueOf(pair[1]), its)
		if len(mine) != len(its) || len(mine) < 3 {
			t.Errorf("%d and %d pointers", len(mine), len(its))
		}
		for p := range its {
			if mine[p] {
				t.Errorf("%T: memory is shared", pair[0])
			}
		}
	}
	for _, v := range []any{c.Message(conv.Message{}), c.Tool(conv.ToolDef{})} {
		if !reflect.ValueOf(v).IsZero() {
			t.Errorf("a copy of nothing is %+v", v)
		}
	}
}

// fill sets everything that v has to something, lists to two values, as deep as results go.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", 40+depth))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Pointer:
		if depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 3))
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f, depth+1)
		}
	default:
		panic("a kind of field that is not known: " + v.Kind().String())
	}
}

// pointers collects where the memory of v begins.
func pointers(t *testing.T, v reflect.Value, into map[unsafe.Pointer]bool) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); s != "" {
			into[unsafe.Pointer(unsafe.StringData(s))] = true
		}
	case reflect.Pointer:
		if !v.IsNil() {
			into[v.UnsafePointer()] = true
			pointers(t, v.Elem(), into)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			into[v.UnsafePointer()] = true
		}
		for i := range v.Len() {
			pointers(t, v.Index(i), into)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			pointers(t, f, into)
		}
	}
}
