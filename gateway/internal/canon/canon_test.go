package canon_test

import (
	"reflect"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/canon"
)

func message(role conv.Role, texts ...string) conv.Message {
	m := conv.Message{Role: role}
	for _, s := range texts {
		m.Parts = append(m.Parts, conv.Part{Kind: conv.Text, Text: s})
	}
	return m
}

const header = "x-anthropic-billing-header: cc_version=1.2.3.abc; cc_entrypoint=cli;"

func TestStripPreamble(t *testing.T) {
	t.Parallel()
	user := message(conv.User, "hi")
	for _, c := range []struct {
		name     string
		in, want []conv.Message
	}{
		{"first part", []conv.Message{message(conv.System, header, "be kind"), user}, []conv.Message{message(conv.System, "be kind"), user}},
		{"any part", []conv.Message{message(conv.System, "a", header, "b"), user}, []conv.Message{message(conv.System, "a", "b"), user}},
		{"first line", []conv.Message{message(conv.System, header+"\n\nbe kind\nalways"), user}, []conv.Message{message(conv.System, "be kind\nalways"), user}},
		{"whole message", []conv.Message{message(conv.System, header), user}, []conv.Message{user}},
		{"later system message", []conv.Message{user, message(conv.System, header, "now")}, []conv.Message{user, message(conv.System, "now")}},
		{"twice", []conv.Message{message(conv.System, header+"\n"+header+"\nbe kind", header)}, []conv.Message{message(conv.System, "be kind")}},
		{"what stands twice stays", []conv.Message{message(conv.System, "a", header, "a", "a"), message(conv.System, "a")}, []conv.Message{message(conv.System, "a", "a", "a"), message(conv.System, "a")}},
		{"developer", []conv.Message{message(conv.Developer, header+"\r\nx")}, []conv.Message{message(conv.Developer, "x")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &conv.Request{Model: "m", Messages: c.in}
			before := message(c.in[0].Role)
			before.Parts = append(before.Parts, c.in[0].Parts...)
			out := canon.StripPreamble(in)
			if !reflect.DeepEqual(out.Messages, c.want) {
				t.Errorf("messages %+v, want %+v", out.Messages, c.want)
			}
			if out == in || !reflect.DeepEqual(in.Messages[0], before) {
				t.Error("the request given was changed")
			}
			if canon.StripPreamble(out) != out {
				t.Error("the second time there is more to take off")
			}
		})
	}
}

func TestStripPreambleLeavesTheRest(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]conv.Message{
		"user text":       message(conv.User, header),
		"within a text":   message(conv.System, "see "+header),
		"empty":           {Role: conv.System},
		"not at the line": message(conv.System, "\n"+header),
	} {
		t.Run(name, func(t *testing.T) {
			in := &conv.Request{Messages: []conv.Message{m}}
			if out := canon.StripPreamble(in); out != in {
				t.Error("a request without a preamble is not returned as it is")
			}
		})
	}
}
