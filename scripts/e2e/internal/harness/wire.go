package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Object is a JSON object that a scenario writes.
type Object = map[string]any

// List is an array in one.
type List = []any

// ModelList is what both families of clients read of /v1/models.
type ModelList struct {
	Object  string `json:"object"`
	HasMore *bool  `json:"has_more"`
	FirstID string `json:"first_id"`
	LastID  string `json:"last_id"`
	Data    []struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Type        string `json:"type"`
		Created     int64  `json:"created"`
		CreatedAt   string `json:"created_at"`
		OwnedBy     string `json:"owned_by"`
		DisplayName string `json:"display_name"`
	} `json:"data"`
}

// Do sends a request; body may be nil, bytes, or a value that is sent as JSON.
func (s *Server) Do(ctx context.Context, method, path string, body any, header ...string) (*http.Response, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		r = bytes.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	// Each request has a connection of its own, so that leaving one is seen by the server.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return client.Do(req)
}

// GetJSON reads a body with a status of 200.
func (s *Server) GetJSON(ctx context.Context, path string, into any) (http.Header, error) {
	return s.Exchange(ctx, http.MethodGet, path, nil, http.StatusOK, into)
}

// Exchange sends a request, wants a status, and decodes the body.
func (s *Server) Exchange(ctx context.Context, method, path string, body any, status int, into any) (http.Header, error) {
	res, err := s.Do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != status {
		return nil, fmt.Errorf("%s %s: status %d, want %d: %.300s", method, path, res.StatusCode, status, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return nil, fmt.Errorf("%s %s: %w in %.300s", method, path, err, raw)
	}
	return res.Header, nil
}

// Event is one server-sent event.
type Event struct {
	Name string
	Data string
}

// Stream posts a request and returns its events.
func (s *Server) Stream(ctx context.Context, path string, body any, header ...string) ([]Event, error) {
	var events []Event
	err := s.Follow(ctx, path, body, func(e Event) error {
		events = append(events, e)
		return nil
	}, header...)
	return events, err
}

// ErrLeave ends Follow.
var ErrLeave = errors.New("leave")

// Follow posts a request and hands over each event as it comes. When f returns ErrLeave the connection is
// closed, and there is no error.
func (s *Server) Follow(ctx context.Context, path string, body any, f func(Event) error, header ...string) error {
	res, err := s.Do(ctx, http.MethodPost, path, body, header...)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		raw, _ := io.ReadAll(io.LimitReader(res.Body, 4096)) // as much as came
		return fmt.Errorf("POST %s: status %d, %s: %.300s", path, res.StatusCode, kind, raw)
	}
	err = ReadEvents(res.Body, f)
	if errors.Is(err, ErrLeave) {
		return nil
	}
	return err
}

// ReadEvents reads events to the end of r.
func ReadEvents(r io.Reader, f func(Event) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	var e Event
	var data []string
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "":
			if data != nil {
				e.Data = strings.Join(data, "\n")
				if err := f(e); err != nil {
					return err
				}
			}
			e, data = Event{}, nil
		case strings.HasPrefix(line, ":"):
		default:
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				e.Name = value
			case "data":
				data = append(data, value)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if data != nil {
		return errors.New("the stream ended inside an event")
	}
	return nil
}

// Expect makes an error of a comparison that does not hold.
func Expect[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// SameJSON compares two JSON texts by their values.
func SameJSON(what, got, want string) error {
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		return fmt.Errorf("%s: %w in %q", what, err, got)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		return err
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		return errors.Join(errX, errY)
	}
	return Expect(what, string(x), string(y))
}
