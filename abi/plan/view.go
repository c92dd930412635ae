package plan

import (
	"encoding/binary"
	"strconv"
)

// View is an encoded outline read in place: it allocates nothing, and aliases the bytes it was made of.
type View struct {
	Switches []byte // see Outline
	rows     []byte
	names    []byte
	size     int // of a row: those of a render input are longer
}

// ViewOutline checks an encoded outline. What it accepts ParseOutline accepts too.
func ViewOutline(b []byte) (View, error) {
	le := binary.LittleEndian
	if len(b) < headerSize || le.Uint32(b) != 1 {
		return View{}, fault("outline header")
	}
	rows, sw, names := uint64(le.Uint32(b[4:])), uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))
	if rows > MaxRows || headerSize+rows*rowSize+sw+names != uint64(len(b)) {
		return View{}, fault("outline of " + strconv.Itoa(len(b)) + " bytes with " + strconv.FormatUint(rows, 10) + " rows")
	}
	b = b[headerSize:]
	v := View{size: rowSize, rows: b[:rows*rowSize], Switches: b[rows*rowSize : rows*rowSize+sw], names: b[rows*rowSize+sw:]}
	for i := range v.Len() {
		r := v.Row(i)
		if off, n := r.name(); uint64(off)+uint64(n) > names {
			return View{}, fault("name of row " + strconv.Itoa(i))
		}
		if v.mixed(i) {
			return View{}, fault("role of row " + strconv.Itoa(i))
		}
	}
	return v, nil
}

// mixed reports a row with another role than the one before it, of the same message.
func (v *View) mixed(i int) bool {
	return i > 0 && v.Row(i).Message() == v.Row(i-1).Message() && v.Row(i).Role() != v.Row(i-1).Role()
}

// Len is the number of rows.
func (v *View) Len() int {
	if v.size == 0 {
		return 0 // of no outline
	}
	return len(v.rows) / v.size
}

// Row is row i, which must be below Len.
func (v *View) Row(i int) RowView { return RowView(v.rows[i*v.size : i*v.size+v.size]) }

// Name is the name in a row of v; see Row.
func (v *View) Name(r RowView) []byte {
	off, n := r.name()
	return v.names[off : uint64(off)+uint64(n)]
}

// RowView is an encoded row: u32 message, u16 part, u8 kind, u8 role, u32 length, u32 name offset, u16 name
// length, u16 flags, u32 0. Its methods give the fields of Row.
type RowView []byte

// Message is the index of the message.
func (r RowView) Message() uint32 { return binary.LittleEndian.Uint32(r) }

// Part is the index of the part in its message.
func (r RowView) Part() uint16 { return binary.LittleEndian.Uint16(r[4:]) }

// Kind is a conv.PartKind.
func (r RowView) Kind() uint8 { return r[6] }

// Role is a conv.Role.
func (r RowView) Role() uint8 { return r[7] }

// Length is the number of bytes of the part's text, arguments or data.
func (r RowView) Length() uint32 { return binary.LittleEndian.Uint32(r[8:]) }

// Flags are the row's flags.
func (r RowView) Flags() uint16 { return binary.LittleEndian.Uint16(r[18:]) }

func (r RowView) name() (off uint32, n uint16) {
	return binary.LittleEndian.Uint32(r[12:]), binary.LittleEndian.Uint16(r[16:])
}
