package turn

import (
	"context"
	"errors"
	"net/http"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// classify maps what ended a turn to a fault. It is the one place where the engines' classes meet the
// kinds that surfaces know.
func classify(ctx context.Context, err error) *fault.Error {
	if gone, ok := errors.AsType[clientError](err); ok {
		return fault.Wrap(fault.Canceled, gone.error, "the client is gone")
	}
	if cause := context.Cause(ctx); cause != nil {
		if f, ok := errors.AsType[*fault.Error](cause); ok {
			return f
		}
		if errors.Is(cause, context.DeadlineExceeded) {
			return fault.Wrap(fault.Timeout, err, "the turn took too long")
		}
		return fault.Wrap(fault.Canceled, cause, "the request was canceled")
	}
	e, ok := errors.AsType[*engines.Error](err)
	if !ok {
		return fault.From(err)
	}
	switch e.Class {
	case engines.ClassUnavailable:
		return fault.Wrap(fault.Unavailable, err, "no engine answers for this model")
	case engines.ClassBusy:
		f := fault.Wrap(fault.Busy, err, "the engine is overloaded, try again later")
		if e.Status == http.StatusTooManyRequests {
			f.Kind = fault.Quota
		}
		f.RetryAfter = e.RetryAfter
		return f
	case engines.ClassRefused:
		if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
			// The gateway's own key is at fault, not the client's.
			return fault.Wrap(fault.Engine, err, "the engine refused the gateway")
		}
		f := fault.Wrap(fault.Invalid, err, "the engine refused the request: %s", e.Message)
		f.Status = e.Status
		return f
	case engines.ClassOverflow:
		f := fault.Wrap(fault.Overflow, err, "the prompt is longer than the model's window")
		f.Limit = e.Limit
		return f
	case engines.ClassProtocol:
		return fault.Wrap(fault.Engine, err, "the engine's stream broke off, try again later")
	}
	f := fault.Wrap(fault.Engine, err, "the engine failed")
	f.Status = e.Status
	return f
}
