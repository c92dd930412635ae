package rawhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Timeout bounds one request and its answer: what takes longer hangs.
const Timeout = 60 * time.Second

// Client is one kept connection. It serves one goroutine.
type Client struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte // its room is kept
}

// Dial connects to host:port.
func Dial(ctx context.Context, addr string) (*Client, error) {
	conn, err := (&net.Dialer{Timeout: Timeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), body: make([]byte, 0, 64<<10)}, nil
}

// Close closes the connection.
func (c *Client) Close() { _ = c.conn.Close() } // all answers were read

// Ask sends a request, see Post, and returns the body of the answer, valid until the next call. A status
// other than 200 and a connection that is not kept are errors.
func (c *Client) Ask(request []byte) ([]byte, error) {
	if err := c.conn.SetDeadline(time.Now().Add(Timeout)); err != nil {
		return nil, err
	}
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, fmt.Errorf("read the answer's head: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if c.body, err = readBody(c.body[:0], resp.Body, resp.ContentLength); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s: %.500s", resp.Status, c.body)
	}
	if resp.Close {
		return nil, errors.New("the connection was not kept")
	}
	return c.body, nil
}

// Post is a whole request with a JSON body, which stands at its end.
func Post(addr, path string, body []byte) []byte {
	head := "POST " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n" +
		"User-Agent: weir-bench\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	return append([]byte(head), body...)
}

// Get is a whole request without a body.
func Get(addr, path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nUser-Agent: weir-bench\r\n\r\n")
}
