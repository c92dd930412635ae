package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirgate/weir/gateway/internal/fault"
)

// Message is a fault's public text with the member it is about.
func Message(f *fault.Error) string {
	text := f.Public
	if text == "" {
		text = string(f.Kind)
	}
	if f.Param != "" && !strings.HasPrefix(text, f.Param+" ") {
		text = f.Param + ": " + text
	}
	return text
}

// RetryHeader holds retry-after, in whole seconds rounded up, for the faults that pass by themselves;
// a second where the fault does not say. It is nil for all others.
func RetryHeader(f *fault.Error) http.Header {
	after := f.RetryAfter
	if after <= 0 {
		switch f.Kind {
		case fault.Quota, fault.Busy, fault.Unavailable:
			after = time.Second
		default:
			return nil
		}
	}
	seconds := (after-1)/time.Second + 1
	return http.Header{"Retry-After": {strconv.FormatInt(int64(seconds), 10)}}
}
