package prompt

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/jinja"
)

// maxPublic bounds what of a template's words a client gets to see, in bytes.
const maxPublic = 512

// failed is the fault of a render that ended with err. What a template refuses is the client's, in the
// template's words; where a template is wrong the client learns that alone, and the log the place.
func failed(ctx context.Context, v *variant, err error) error {
	var raised *jinja.RaisedError
	var limit *jinja.LimitError
	switch {
	case errors.As(err, &raised):
		f := fault.Wrap(fault.Invalid, err, "%s", clip(raised.Message))
		f.Param = "messages"
		return f
	case errors.As(err, &limit):
		return fault.Wrap(fault.TooLarge, err, "the conversation is larger than the model's chat template can render")
	case ctx.Err() != nil:
		return interrupted(ctx, err)
	case v.own:
		f := fault.Wrap(fault.Invalid, err, "%s", clip(err.Error()))
		f.Param = "chat_template"
		return f
	}
	return fault.Wrap(fault.Internal, err, "the model's chat template failed")
}

func interrupted(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.Wrap(fault.Timeout, err, "rendering the prompt took too long")
	}
	return fault.Wrap(fault.Canceled, err, "the request was canceled")
}

// clip makes a text of a template fit to be shown: valid, short, never empty.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxPublic {
		n := maxPublic
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "..."
	}
	if strings.TrimSpace(s) == "" {
		return "the model's chat template refuses the conversation"
	}
	return s
}
