package harness

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// upgrade passes a request for a socket on, and what follows when the server takes it.
func (h *Hop) upgrade(w http.ResponseWriter, r *http.Request, kept *HopRequest) {
	server, err := new(net.Dialer).DialContext(r.Context(), "tcp", h.to().Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = server.Close() }()
	var head bytes.Buffer
	fmt.Fprintf(&head, "GET %s HTTP/1.1\r\nHost: %s\r\n", r.URL.RequestURI(), r.Host)
	_ = r.Header.Write(&head) // a buffer takes everything
	head.WriteString("\r\n")
	if _, err := server.Write(head.Bytes()); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fromServer := bufio.NewReader(server)
	res, err := http.ReadResponse(fromServer, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = res.Body.Close() }()
	h.mu.Lock()
	kept.Status = res.StatusCode
	h.mu.Unlock()
	if res.StatusCode != http.StatusSwitchingProtocols {
		maps.Copy(w.Header(), res.Header)
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body) // the client may be gone
		return
	}
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = client.Close() }()
	s := &HopSocket{Header: r.Header.Clone(), Answer: res.Header.Clone()}
	for _, name := range h.hidden {
		res.Header.Del(name)
	}
	if res.Write(client) != nil {
		return
	}
	h.mu.Lock()
	number := len(h.sockets)
	h.sockets = append(h.sockets, s)
	h.mu.Unlock()
	var both sync.WaitGroup
	pass := func(from io.Reader, to net.Conn, fromServer bool) {
		err := h.pass(from, to, s, number, fromServer)
		if errors.Is(err, ErrTooBig) {
			_, _ = client.Write([]byte{0x80 | opClose, 2, 0x03, 0xf1}) // 1009
		}
		// A side that is done takes the other with it.
		_ = client.Close()
		_ = server.Close()
	}
	both.Go(func() { pass(fromServer, client, true) })
	both.Go(func() { pass(buffered, server, false) })
	both.Wait()
}

// pass passes messages on, as the frames that they came in unless the text was changed.
func (h *Hop) pass(from io.Reader, to io.Writer, s *HopSocket, number int, fromServer bool) error {
	in := messageReader{in: from, control: func(f *frame) error {
		if f.op == opClose && len(f.payload) >= 2 {
			h.keep(s, HopMessage{FromServer: fromServer, Close: int(binary.BigEndian.Uint16(f.payload))})
		}
		_, err := to.Write(f.raw)
		return err
	}}
	for {
		raw, text, err := in.next()
		if err != nil {
			return err
		}
		message := h.keep(s, HopMessage{FromServer: fromServer, Text: text})
		if h.meddle != nil {
			other, err := h.meddle(number, message, fromServer, text)
			if err != nil {
				return err
			}
			if !bytes.Equal(other, text) {
				raw = newFrame(opText, other, !fromServer)
			}
		}
		if _, err := to.Write(raw); err != nil {
			return err
		}
	}
}

// messageReader puts frames together.
type messageReader struct {
	in      io.Reader
	control func(*frame) error // gets the frames that stand between a message's
	before  []byte             // the end of what compressed messages had
}

// next is the next message: its frames as they came, and its text.
func (r *messageReader) next() (raw, text []byte, err error) {
	packed := false
	for {
		f, err := readFrame(r.in)
		if err != nil {
			return nil, nil, err
		}
		if f.op >= opClose {
			if err := r.control(f); err != nil {
				return nil, nil, err
			}
			continue
		}
		if f.op != 0 {
			packed = f.packed
		}
		raw, text = append(raw, f.raw...), append(text, f.payload...)
		if !f.fin {
			continue
		}
		if !packed {
			return raw, text, nil
		}
		if text, err = inflated(text, r.before); err != nil {
			return nil, nil, err
		}
		r.before = append(r.before, text...)
		r.before = r.before[max(0, len(r.before)-window):]
		return raw, text, nil
	}
}

func (h *Hop) keep(s *HopSocket, m HopMessage) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Messages = append(s.Messages, m)
	return len(s.Messages) - 1
}

// window is how far back a compressed message may point.
const window = 32 << 10

// inflated is a message under RFC 7692. before is what earlier messages of this side had, to which it may point unless
// the sides agreed not to.
func inflated(b, before []byte) ([]byte, error) {
	r := flate.NewReaderDict(io.MultiReader(bytes.NewReader(b), strings.NewReader("\x00\x00\xff\xff\x01\x00\x00\xff\xff")), before)
	return io.ReadAll(io.LimitReader(r, maxHopBody))
}

// frame is one frame of RFC 6455 §5.2, and its bytes.
type frame struct {
	op          byte
	fin, packed bool
	payload     []byte // unmasked
	raw         []byte
}

func readFrame(r io.Reader) (*frame, error) {
	head := make([]byte, 2, 14)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	size := uint64(head[1] & 0x7f)
	rest := 0
	switch size {
	case 126:
		rest = 2
	case 127:
		rest = 8
	}
	masked := head[1]&0x80 != 0
	if masked {
		rest += 4
	}
	ext := head[2 : 2+rest]
	if _, err := io.ReadFull(r, ext); err != nil {
		return nil, err
	}
	switch size {
	case 126:
		size = uint64(binary.BigEndian.Uint16(ext))
	case 127:
		size = binary.BigEndian.Uint64(ext)
	}
	if size > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes", size)
	}
	f := &frame{op: head[0] & 15, fin: head[0]&0x80 != 0, packed: head[0]&0x40 != 0}
	f.raw = make([]byte, 2+rest+int(size))
	copy(f.raw, head[:2+rest])
	if _, err := io.ReadFull(r, f.raw[2+rest:]); err != nil {
		return nil, err
	}
	f.payload = slices.Clone(f.raw[2+rest:])
	if masked {
		mask := ext[rest-4:]
		for i := range f.payload {
			f.payload[i] ^= mask[i%4]
		}
	}
	return f, nil
}
