package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Sizes of the conversation that benchmarks work on.
const (
	benchMessages = 60
	benchSystem   = 12_000 // bytes
	benchResult   = 6_500  // bytes of a tool's result
)

// conversation is one as templates take it.
type conversation struct {
	Messages []chatMessage `json:"messages"`
	Tools    []chatTool    `json:"tools"`
	Generate bool          `json:"add_generation_prompt"`
	Begin    string        `json:"bos_token"`
	End      string        `json:"eos_token"`
}

type (
	chatMessage struct {
		Role      string     `json:"role"`
		Content   string     `json:"content"`
		Reasoning string     `json:"reasoning_content,omitempty"`
		Calls     []chatCall `json:"tool_calls,omitempty"`
		Name      string     `json:"name,omitempty"`
		CallID    string     `json:"tool_call_id,omitempty"`
	}
	chatCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	}
	chatTool struct {
		Type     string         `json:"type"`
		Function chatDefinition `json:"function"`
	}
	chatDefinition struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Parameters  map[string]any `json:"parameters"`
	}
)

// vars is the conversation as the variables of a template.
func (c *conversation) vars() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		return []byte("{}") // there is nothing in it that cannot be encoded
	}
	return b
}

// text is what the messages say, without a template.
func (c *conversation) text() string {
	var b strings.Builder
	for _, m := range c.Messages {
		fmt.Fprintf(&b, "%s: %s%s\n\n", m.Role, m.Reasoning, m.Content)
	}
	return b.String()
}

// author writes the conversation. It writes the same one each time.
type author struct{ *rand.Rand }

// benchConversation is a coding agent's: instructions, tools, and rounds of thought, calls and what they
// gave, some 200 KB in all.
func benchConversation() *conversation {
	w := author{rand.New(rand.NewPCG(2026, 1))}
	c := &conversation{Generate: true, Begin: "<s>", End: "</s>", Tools: w.tools()}
	c.Messages = append(c.Messages, chatMessage{Role: "system", Content: w.atLeast(benchSystem, w.prose)})
	results := []func() string{w.code, w.data, w.log, w.prose, w.code, w.listing}
	for n := 0; len(c.Messages) < benchMessages; n++ {
		name, arguments := w.call(n)
		id := fmt.Sprintf("functions.%s:%d", name, n)
		if n%4 == 0 {
			c.Messages = append(c.Messages, chatMessage{Role: "user", Content: w.prose() + w.prose()})
		}
		c.Messages = append(c.Messages,
			chatMessage{Role: "assistant", Reasoning: w.prose(), Content: w.sentence(), Calls: []chatCall{{ID: id, Type: "function", Function: chatFunction{name, arguments}}}},
			chatMessage{Role: "tool", Name: name, CallID: id, Content: w.atLeast(benchResult, results[n%len(results)])},
		)
		if n%4 == 3 {
			c.Messages = append(c.Messages, chatMessage{Role: "assistant", Reasoning: w.prose(), Content: w.prose() + "```go\n" + w.code() + "```\n"})
		}
	}
	c.Messages = c.Messages[:benchMessages]
	return c
}

// atLeast writes until there are so many bytes.
func (w author) atLeast(n int, write func() string) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(write())
	}
	return b.String()
}

func (w author) pick(words ...string) string { return words[w.IntN(len(words))] }

func (w author) noun() string {
	return w.pick("request", "server", "handler", "buffer", "timeout", "session", "user", "token", "index", "config", "client", "record", "queue", "worker", "schema", "branch",
		"deadline", "response", "segment", "cursor", "ledger", "gateway", "fixture", "migration", "snapshot", "registry", "checksum", "retry", "payload", "shard", "replica", "header")
}

func (w author) verb() string {
	return w.pick("reads", "writes", "opens", "closes", "retries", "keeps", "drops", "parses", "checks", "sends", "waits for", "counts", "renders", "locks", "replaces", "merges", "copies", "skips")
}

func (w author) sentence() string {
	switch w.IntN(4) {
	case 0:
		return fmt.Sprintf("The %s %s the %s before the %s %s it again, so %d of %d tests fail. ", w.noun(), w.verb(), w.noun(), w.noun(), w.verb(), w.IntN(20), 20+w.IntN(200))
	case 1:
		return fmt.Sprintf("I'll look at `%s` next: it doesn't say why the %s %s a %s. ", w.path(), w.noun(), w.verb(), w.noun())
	case 2:
		return fmt.Sprintf("Don't change %s; what's wrong is that %s %s %s when %s is empty. ", w.pick("the public API", "generated files", "the wire format", "übersetzte Texte", "配置文件"), w.noun(), w.verb(), w.noun(), w.noun())
	default:
		return fmt.Sprintf("%s: %s %s %s, and %s isn't there yet (see #%d). ", w.pick("Note", "Because", "However", "First", "Then"), w.noun(), w.verb(), w.noun(), w.noun(), w.IntN(5000))
	}
}

func (w author) prose() string {
	var b strings.Builder
	for range 4 + w.IntN(4) {
		b.WriteString(w.sentence())
	}
	return b.String() + "\n\n"
}

func (w author) path() string {
	return w.pick("internal", "cmd", "pkg", "web/src", "scripts") + "/" + w.noun() + "/" + w.noun() + w.pick(".go", ".py", ".ts", "_test.go", ".toml", ".md")
}

func (w author) code() string {
	a, b, c := w.noun(), w.noun(), w.noun()
	return fmt.Sprintf(`// %[4]s
func (%[1]s *%[1]sStore) %[2]sFor(ctx context.Context, id string, limit int) ([]%[3]s, error) {
	rows, err := %[1]s.db.QueryContext(ctx, "SELECT id, %[2]s, updated_at FROM %[3]ss WHERE id > $1 LIMIT %[5]d", id)
	if err != nil {
		return nil, fmt.Errorf("%[2]s of %%q: %%w", id, err)
	}
	defer rows.Close()
	for i := 0; rows.Next() && i < limit; i++ {
		if %[1]s.%[2]s[i] != nil && len(%[1]s.%[3]s) > 0x%[6]x {
			%[1]s.count += %[7]d << 4
		}
	}
	return %[1]s.all, rows.Err()
}

`, a, b, c, strings.TrimSpace(w.sentence()), 10+w.IntN(500), w.IntN(65536), w.IntN(9))
}

func (w author) data() string {
	b, err := json.MarshalIndent(map[string]any{
		"id": fmt.Sprintf("%08x-%04x", w.Uint32(), w.IntN(65536)), "name": w.noun() + "_" + w.noun(), "ok": w.IntN(2) == 0, "score": float64(w.IntN(100_000)) / 1000,
		"tags": []string{w.noun(), w.noun(), w.noun()}, "owner": map[string]any{"email": w.noun() + "@example.org", "since": fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d:00Z", w.IntN(27), 1+w.IntN(12), 1+w.IntN(28), w.IntN(24), w.IntN(60))},
		"note": strings.TrimSpace(w.sentence()), "next": nil,
	}, "", "  ")
	if err != nil {
		return ""
	}
	return string(b) + ",\n"
}

func (w author) log() string {
	return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02d.%03dZ %s %s/%s:%d %s %s=%d %s=%q took=%dms\n", 1+w.IntN(12), 1+w.IntN(28), w.IntN(24), w.IntN(60), w.IntN(60), w.IntN(1000),
		w.pick("INFO ", "WARN ", "ERROR", "DEBUG"), w.noun(), w.noun()+".go", w.IntN(900), w.verb(), w.noun(), w.IntN(1<<20), w.noun(), w.path(), w.IntN(4000))
}

func (w author) listing() string {
	return fmt.Sprintf("-rw-r--r--  1 %-8s staff %8d %s %2d %02d:%02d %s\n", w.noun(), w.IntN(1<<22), w.pick("Jan", "Mar", "Jul", "Nov"), 1+w.IntN(28), w.IntN(24), w.IntN(60), w.path())
}

func (w author) call(n int) (name string, arguments map[string]any) {
	switch n % 4 {
	case 0:
		return "read_file", map[string]any{"path": w.path(), "from_line": w.IntN(400), "lines": 200}
	case 1:
		return "search", map[string]any{"pattern": `func \(` + w.noun() + ` \*` + w.noun() + `\)`, "glob": "**/*.go", "case_sensitive": true}
	case 2:
		return "run", map[string]any{"command": "go test ./" + w.noun() + "/... 2>&1 | tail -n 40", "timeout_seconds": 120}
	default:
		return "edit_file", map[string]any{"path": w.path(), "old": w.code(), "new": w.code()}
	}
}

func (w author) tools() []chatTool {
	text := map[string]any{"type": "string", "description": "A path, relative to the repository's root."}
	number := map[string]any{"type": "integer", "minimum": 0}
	tool := func(name, description string, properties map[string]any, required ...string) chatTool {
		return chatTool{"function", chatDefinition{name, description, map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}}}
	}
	return []chatTool{
		tool("read_file", "Reads lines of a file.", map[string]any{"path": text, "from_line": number, "lines": number}, "path"),
		tool("search", "Searches files with a regular expression.", map[string]any{"pattern": map[string]any{"type": "string"}, "glob": map[string]any{"type": "string", "default": "**/*"}, "case_sensitive": map[string]any{"type": "boolean"}}, "pattern"),
		tool("run", "Runs a command in a shell and returns what it prints.", map[string]any{"command": map[string]any{"type": "string"}, "timeout_seconds": number}, "command"),
		tool("edit_file", "Replaces a piece of text that stands once in a file.", map[string]any{"path": text, "old": map[string]any{"type": "string"}, "new": map[string]any{"type": "string"}}, "path", "old", "new"),
	}
}
