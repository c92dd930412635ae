package harness

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Socket is a WebSocket of weir's framed mode. It knows as much of RFC 6455 as a server that sends whole
// text messages asks for, and shares no code with that server.
type Socket struct {
	conn net.Conn
	in   *bufio.Reader
}

// Frame is one message from weir.
type Frame struct {
	ID     json.RawMessage `json:"id"`
	Event  string          `json:"event"`
	Status int             `json:"status"`
	Data   json.RawMessage `json:"data"`
}

// Opcodes of RFC 6455 §5.2.
const (
	opText  = 1
	opClose = 8
	opPing  = 9
	opPong  = 10
)

// maxFrame bounds what a server may send at once.
const maxFrame = 16 << 20

// Dial opens a socket. Everything on it ends with ctx's deadline.
func (s *Server) Dial(ctx context.Context, path string) (*Socket, error) {
	u, err := url.Parse(s.URL + path)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	k := &Socket{conn: conn, in: bufio.NewReader(conn)}
	if err := k.handshake(ctx, u); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return k, nil
}

func (k *Socket) handshake(ctx context.Context, u *url.URL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return err
	}
	// The key of the RFC's own example, and what a server must make of it.
	const key, accept = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key} {
		req.Header.Set(name, value)
	}
	if err := req.Write(k.conn); err != nil {
		return err
	}
	res, err := http.ReadResponse(k.in, req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Sec-WebSocket-Accept") != accept {
		return fmt.Errorf("the socket is refused: %s", res.Status)
	}
	return nil
}

// Send sends a value as JSON.
func (k *Socket) Send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return k.write(opText, b)
}

func (k *Socket) write(op byte, b []byte) error {
	_, err := k.conn.Write(newFrame(op, b, true))
	return err
}

// newFrame is a whole message, masked as a client's must be.
func newFrame(op byte, b []byte, masked bool) []byte {
	var bit byte
	if masked {
		bit = 0x80
	}
	dst := []byte{0x80 | op}
	switch n := len(b); {
	case n < 126:
		dst = append(dst, bit|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, bit|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, bit|127), uint64(n))
	}
	if !masked {
		return append(dst, b...)
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:]) // never fails
	dst = append(dst, mask[:]...)
	for i, c := range b {
		dst = append(dst, c^mask[i%4])
	}
	return dst
}

// Next is the next message.
func (k *Socket) Next() (*Frame, error) {
	for {
		op, b, err := k.read()
		switch {
		case err != nil:
			return nil, err
		case op == opPing:
			if err := k.write(opPong, b); err != nil {
				return nil, err
			}
		case op == opClose:
			return nil, fmt.Errorf("the socket was closed: % x", b)
		case op == opText:
			f := &Frame{}
			if err := json.Unmarshal(b, f); err != nil {
				return nil, fmt.Errorf("%w in %.300q", err, b)
			}
			return f, nil
		}
	}
}

func (k *Socket) read() (op byte, b []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(k.in, head[:]); err != nil {
		return 0, nil, err
	}
	if head[0]&0x80 == 0 || head[1]&0x80 != 0 {
		return 0, nil, errors.New("a frame that is masked or not whole")
	}
	size := uint64(head[1])
	var ext [8]byte
	switch size {
	case 126:
		_, err = io.ReadFull(k.in, ext[6:])
		size = binary.BigEndian.Uint64(ext[:])
	case 127:
		_, err = io.ReadFull(k.in, ext[:])
		size = binary.BigEndian.Uint64(ext[:])
	}
	if err != nil || size > maxFrame {
		return 0, nil, errors.Join(err, fmt.Errorf("a frame of %d bytes", size))
	}
	b = make([]byte, size)
	_, err = io.ReadFull(k.in, b)
	return head[0] & 15, b, err
}

// Turn runs a turn and returns its frames as events, without the done frame. Each frame must have the id.
func (k *Socket) Turn(id string, body any) ([]Event, error) {
	if err := k.Send(map[string]any{"type": "request", "id": id, "body": body}); err != nil {
		return nil, err
	}
	var events []Event
	for {
		f, err := k.Next()
		if err != nil {
			return nil, err
		}
		if string(f.ID) != `"`+id+`"` {
			return nil, fmt.Errorf("a frame of %s in the turn %q", f.ID, id)
		}
		switch f.Event {
		case "done":
			return events, nil
		case "error":
			return nil, fmt.Errorf("status %d: %s", f.Status, f.Data)
		}
		events = append(events, Event{Name: f.Event, Data: string(f.Data)})
	}
}

// Close says goodbye and waits for the server's.
func (k *Socket) Close() error {
	defer func() { _ = k.conn.Close() }()
	if err := errors.Join(k.conn.SetDeadline(time.Now().Add(5*time.Second)), k.write(opClose, []byte{0x03, 0xe8})); err != nil {
		return err
	}
	for {
		op, _, err := k.read()
		if err != nil || op == opClose {
			return err
		}
	}
}
