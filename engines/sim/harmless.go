package sim

import (
	"slices"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/engines/internal/exemplar"
)

// Names that agent clients give their shell and their file reader, and what the reader calls a path.
var (
	shells  = [...]string{"Bash", "bash", "exec_command", "run_shell_command", "exec", "shell", "shell_command", "execute_command", "run_terminal_cmd"}
	readers = [...]string{"Read", "read", "read_file", "ReadFile", "view_file"}
	paths   = [...]string{"file_path", "filePath", "path", "absolute_path", "target_file", "filename"}
)

// harmless is the tool to call when nobody said which: a reader when there is a path to read, a shell,
// which is told to echo, or one that does not speak of changing anything. nil if there is none.
func (s *scene) harmless() *conv.ToolDef {
	reader := s.known(readers[:])
	if reader != nil && pathParam(reader) != "" && path(s.user) != "" {
		return reader
	}
	if shell := s.known(shells[:]); shell != nil && shellParam(shell) != "" {
		return shell
	}
	if reader != nil && pathParam(reader) != "" && s.anyPath() != "" {
		return reader
	}
	for i := range s.tools {
		if t := &s.tools[i]; t.Kind == conv.Function && t.Name != answerTool && quiet(t) {
			return t
		}
	}
	if t := s.tool(answerTool); t != nil {
		return t
	}
	return nil
}

func (s *scene) known(names []string) *conv.ToolDef {
	for _, name := range names {
		if t := s.tool(name); t != nil && t.Kind == conv.Function {
			return t
		}
	}
	return nil
}

// call makes a call of t with harmless arguments.
func (s *scene) call(t *conv.ToolDef) conv.ToolCall {
	c := conv.ToolCall{Namespace: t.Namespace, Name: t.Name, Kind: t.Kind}
	switch {
	case t.Kind == conv.Custom:
		c.Arguments = "weir"
	case slices.Contains(shells[:], t.Name) && shellParam(t) != "":
		command := `"echo weir"`
		if exemplar.Type(t.Schema, shellParam(t)) == jsonscan.Array {
			command = `["echo","weir"]`
		}
		c.Arguments = string(exemplar.Object(t.Schema, exemplar.Member{Name: shellParam(t), JSON: command},
			exemplar.Member{Name: "description", JSON: `"Print weir"`}))
	case slices.Contains(readers[:], t.Name) && pathParam(t) != "":
		p := path(s.user)
		if p == "" {
			p = s.anyPath()
		}
		if p == "" {
			p = "weir.txt"
		}
		c.Arguments = string(exemplar.Object(t.Schema, exemplar.Member{Name: pathParam(t), JSON: string(jsonscan.AppendString(nil, p))}))
	default:
		c.Arguments = string(exemplar.Object(t.Schema))
	}
	return c
}

func shellParam(t *conv.ToolDef) string {
	for _, name := range [...]string{"command", "cmd"} {
		switch exemplar.Type(t.Schema, name) {
		case jsonscan.String, jsonscan.Array:
			return name
		}
	}
	return ""
}

func pathParam(t *conv.ToolDef) string {
	for _, name := range paths {
		if exemplar.Type(t.Schema, name) == jsonscan.String {
			return name
		}
	}
	return ""
}

// anyPath is the first file with a full path in the conversation.
func (s *scene) anyPath() string {
	for i := range s.req.Messages {
		for _, p := range s.req.Messages[i].Parts {
			if p.Kind != conv.Text {
				continue
			}
			if f := path(p.Text); strings.HasPrefix(f, "/") && strings.Contains(f[strings.LastIndexByte(f, '/'):], ".") {
				return f
			}
		}
	}
	return ""
}

// path is the first word of text that names a file: with a slash or an ending. What is read from a
// device or the kernel may never end, so those are none.
func path(text string) string {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'`()[]{}<>,;", r)
	}) {
		w = strings.TrimRight(w, ".:!?")
		if len(w) < 3 || len(w) > 512 || strings.Contains(w, "://") || w[0] == '-' || w[0] == '@' {
			continue
		}
		if strings.HasPrefix(w, "/dev") || strings.HasPrefix(w, "/proc") || strings.HasPrefix(w, "/sys") {
			continue
		}
		slash := strings.LastIndexByte(w, '/')
		if slash >= 0 && slash < len(w)-1 && (w[0] == '/' || w[0] == '.' || hasEnding(w[slash:])) || slash < 0 && hasEnding(w) {
			return w
		}
	}
	return ""
}

// hasEnding reports whether a name ends like a file's: a dot and a letter, with more than one letter
// before it ("e.g" and "3.14" are no files).
func hasEnding(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	if dot < 1 || len(name)-dot-1 > 8 || dot == len(name)-1 {
		return false
	}
	for i := dot + 1; i < len(name); i++ {
		if !isNameByte(name[i]) {
			return false
		}
	}
	first := name[dot+1] | 0x20
	return first >= 'a' && first <= 'z' && name != "e.g" && name != "i.e"
}

// acting are stems of words for what changes something or reaches others. A tool that has one in its
// name or description is not called unasked.
var acting = [...]string{
	"writ", "wrote", "written", "edit", "delet", "remov", "removal", "eras", "run", "runn", "ran", "execut", "exec", "send", "sent", "post",
	"creat", "kill", "mov", "renam", "cop", "copi", "overwrit", "replac", "insert", "updat", "modif", "modifi", "chang", "patch", "appl", "appli",
	"sav", "stor", "upload", "download", "publish", "push", "commit", "deploy", "install", "uninstall", "launch", "spawn", "start", "stop", "stopp",
	"restart", "schedul", "cancel", "invok", "trigger", "control", "terminat", "drop", "dropp", "truncat", "purg", "clear", "reset", "restor", "revert",
	"merg", "pay", "paid", "buy", "purchas", "charg", "refund", "transfer", "approv", "grant", "revok", "notif", "notifi", "email", "mail", "tweet", "shar",
	"invit", "subscrib", "mutat", "manipulat", "perform", "submit", "yield", "shut", "reboot", "ask",
}

// actingNames are further words that only a tool's name must not have: in prose they say little.
var actingNames = [...]string{
	"set", "put", "add", "call", "agent", "task", "skill", "workflow", "input", "process", "message", "order", "book", "open", "clos", "enter", "exit", "goal", "plan", "wakeup", "placeholder", "todo", "stdin", "shell", "bash",
}

// quiet reports whether neither the name nor the description of t speaks of acting.
func quiet(t *conv.ToolDef) bool {
	for _, w := range lowerWords(t.Namespace + " " + t.Name) {
		if stemmed(w, acting[:]) || stemmed(w, actingNames[:]) {
			return false
		}
	}
	for _, w := range lowerWords(t.Description) {
		if stemmed(w, acting[:]) {
			return false
		}
	}
	return true
}

// stemmed reports whether w is one of the stems with an ending of English.
func stemmed(w string, stems []string) bool {
	for _, stem := range stems {
		if rest, ok := strings.CutPrefix(w, stem); ok {
			switch rest {
			case "", "e", "s", "es", "d", "ed", "er", "ers", "or", "ors", "ing", "ings", "ion", "ions", "y", "ies", "ication", "ment", "able":
				return true
			}
		}
	}
	return false
}

// lowerWords splits text, and names in camel or snake case, into words.
func lowerWords(text string) []string {
	var out []string
	var w []byte
	flush := func() {
		if len(w) > 0 {
			out = append(out, string(w))
			w = w[:0]
		}
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z':
			w = append(w, c)
		case c >= 'A' && c <= 'Z':
			if i > 0 && text[i-1] >= 'a' && text[i-1] <= 'z' {
				flush()
			}
			w = append(w, c|0x20)
		default:
			flush()
		}
	}
	flush()
	return out
}
