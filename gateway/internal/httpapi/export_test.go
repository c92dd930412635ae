package httpapi

import "net/http"

// ParseFrame reads one frame of a socket.
func ParseFrame(data []byte) (kind, id string, body []byte, err error) {
	f, err := parseFrame(data)
	return f.kind, f.id, f.body, err
}

// FrameKind is the type of a message of a socket of responses.
func FrameKind(data []byte) (string, error) { return frameKind(data) }

// ReadBody reads and decompresses a request's body.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	return readBody(w, r, limit, nil)
}
