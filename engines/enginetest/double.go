package enginetest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Received is a request that a Double got.
type Received struct {
	Path   string
	Header http.Header
	Body   []byte
}

// Double is a server with OpenAI's endpoints whose answers are scripted, faults included. It also
// answers /health, /v1/models and /tokenize (a token is a word). It is safe for concurrent use.
type Double struct {
	mu       sync.Mutex
	scripts  []Script   // guarded by mu; the last one stays
	received []Received // guarded by mu
	gone     chan struct{}
}

// NewDouble plays the scripts in order, and the last one again and again.
func NewDouble(scripts ...Script) *Double {
	return &Double{scripts: scripts, gone: make(chan struct{}, 1024)}
}

// Play replaces the scripts.
func (d *Double) Play(scripts ...Script) {
	d.mu.Lock()
	d.scripts = scripts
	d.mu.Unlock()
}

// Serve listens on a loopback port until the test ends, and returns the base URL, /v1 included.
func (d *Double) Serve(tb testing.TB) string {
	tb.Helper()
	s := httptest.NewServer(d)
	tb.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL + "/v1"
}

// Gone gets a value for each answer whose client left before its end.
func (d *Double) Gone() <-chan struct{} { return d.gone }

// Requests returns what was received so far, and forgets it.
func (d *Double) Requests() []Received {
	d.mu.Lock()
	defer d.mu.Unlock()
	got := d.received
	d.received = nil
	return got
}

func (d *Double) next(r Received) Script {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.received) < 1024 {
		d.received = append(d.received, r)
	}
	if len(d.scripts) == 0 {
		return Script{}
	}
	s := d.scripts[0]
	if len(d.scripts) > 1 {
		d.scripts = d.scripts[1:]
	}
	return s
}

// body is what a Double looks at in a request.
type body struct {
	Prompt    any    `json:"prompt"`
	Content   string `json:"content"`
	Messages  []any  `json:"messages"`
	MaxTokens int    `json:"max_tokens"`
}

// tokens counts ids, or words.
func (b *body) tokens() int {
	switch p := b.Prompt.(type) {
	case []any:
		return len(p)
	case string:
		return len(strings.Fields(p))
	}
	return len(strings.Fields(b.Content)) + len(b.Messages)
}

// refused says why vLLM would not take the prompt.
func (b *body) refused(s *Script) string {
	if n := b.tokens(); s.Window > 0 && n > s.Window {
		return fmt.Sprintf("The decoder prompt (length %d) is longer than the maximum model length of %d. Make sure that it is no smaller than the number of text tokens.", n, s.Window)
	}
	ids, _ := b.Prompt.([]any)
	for _, id := range ids {
		if n, ok := id.(float64); s.Vocabulary > 0 && (!ok || n < 0 || n >= float64(s.Vocabulary)) {
			return fmt.Sprintf("Token id %v is out of vocabulary", id)
		}
	}
	return ""
}

// ServeHTTP answers one request.
func (d *Double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var b body
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &b)
	}
	if err != nil {
		answer(w, http.StatusBadRequest, "", `{"error":{"message":"bad JSON","type":"invalid_request_error"}}`)
		return
	}
	chat := strings.HasSuffix(r.URL.Path, "/chat/completions")
	switch {
	case r.URL.Path == "/health":
	case strings.HasSuffix(r.URL.Path, "/models"):
		answer(w, http.StatusOK, "", `{"object":"list","data":[{"id":"double","object":"model","max_model_len":32768}]}`)
	case r.URL.Path == "/tokenize":
		ids := strings.TrimSuffix(strings.Repeat("1,", b.tokens()), ",")
		count, _ := json.Marshal(b.tokens())
		answer(w, http.StatusOK, "", `{"tokens":[`+ids+`],"count":`+string(count)+`}`)
	case chat || strings.HasSuffix(r.URL.Path, "/completions"):
		s := d.next(Received{Path: r.URL.Path, Header: r.Header.Clone(), Body: raw})
		if s.Status != 0 && s.Status != http.StatusOK || s.Type != "" && s.Body != "" {
			maps.Copy(w.Header(), s.Header)
			answer(w, s.Status, s.Type, s.Body)
			return
		}
		if why := b.refused(&s); why != "" {
			answer(w, http.StatusBadRequest, "", `{"error":{"message":"`+why+`","type":"BadRequestError","param":null,"code":400}}`)
			return
		}
		p := player{s: &s, w: w, r: r, flush: http.NewResponseController(w).Flush}
		if !p.play(s.rendered(chat, b.MaxTokens, b.tokens()), chat) {
			select {
			case d.gone <- struct{}{}:
			default:
			}
		}
	default:
		answer(w, http.StatusNotFound, "", `{"error":{"message":"no such path","type":"NotFoundError","code":404}}`)
	}
}

func answer(w http.ResponseWriter, status int, kind, text string) {
	if kind == "" {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	if status != 0 {
		w.WriteHeader(status)
	}
	_, _ = io.WriteString(w, text) // the client may be gone, which is its own affair
}

// player writes one stream.
type player struct {
	s     *Script
	w     io.Writer
	r     *http.Request
	flush func() error
}

// play reports whether the client stayed to the end.
func (p *player) play(events [][]byte, chat bool) bool {
	kind := p.s.Type
	if kind == "" {
		kind = "text/event-stream; charset=utf-8"
	}
	p.w.(http.ResponseWriter).Header().Set("Content-Type", kind)
	if p.flush() != nil {
		return false
	}
	first := 0
	if chat {
		first = 1 // the role's chunk is none of the script's
	}
	for i, e := range events {
		if i == p.s.At+first && p.s.Fault != FaultNone {
			return p.fault(e)
		}
		if i >= first && i < first+len(p.s.Chunks) && !p.wait() || !p.event(e) {
			return false
		}
	}
	return p.s.NoDone || p.event([]byte("[DONE]"))
}

// wait is the time before a chunk.
func (p *player) wait() bool {
	if p.s.Gate != nil {
		select {
		case <-p.s.Gate:
		case <-p.r.Context().Done():
			return false
		}
	}
	if p.s.Pause > 0 {
		t := time.NewTimer(p.s.Pause)
		defer t.Stop()
		select {
		case <-t.C:
		case <-p.r.Context().Done():
			return false
		}
	}
	return true
}

func (p *player) event(data []byte) bool {
	eol := p.s.EOL
	if eol == "" {
		eol = "\n"
	}
	if p.s.SplitEOL {
		return p.write("data: "+string(data)+"\r") && p.write("\n\r") && p.write("\n")
	}
	return p.write("data: " + string(data) + eol + eol)
}

func (p *player) write(text string) bool {
	n := p.s.Write
	if n <= 0 {
		n = len(text)
	}
	for len(text) > 0 {
		n = min(n, len(text))
		if _, err := io.WriteString(p.w, text[:n]); err != nil || p.flush() != nil {
			return false
		}
		text = text[n:]
	}
	return p.r.Context().Err() == nil
}

func (p *player) fault(next []byte) bool {
	switch p.s.Fault {
	case FaultLine:
		return p.write("data: " + string(next[:len(next)/2]))
	case FaultReset:
		// The standard server breaks the connection for this value, and logs nothing.
		panic(http.ErrAbortHandler)
	case FaultStall:
		<-p.r.Context().Done()
		return false
	case FaultError:
		text := p.s.Error
		if text == "" {
			text = `{"error":{"message":"engine fell over","type":"internal_error","code":500}}`
		}
		return p.event([]byte(text)) && (p.s.NoDone || p.event([]byte("[DONE]")))
	}
	return true
}

// newHanging is a server that reads a request, says so on seen, and never answers.
func newHanging(tb testing.TB, seen chan<- struct{}) string {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(seen)
		<-r.Context().Done()
	}))
	tb.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL + "/v1"
}
