// Package store keeps the links of conversations: in memory, or in a database on disk where an operator asks for one.
package store

import (
	"errors"
	"time"

	"github.com/weirgate/weir/gateway/internal/chain"
)

// Options are the bounds of a store.
type Options struct {
	// MaxBytes bounds all that is kept, about; 0 is no bound. What was used least recently goes first (in a database:
	// what was put first), a whole conversation from its end to its beginning before any other loses its end.
	MaxBytes int64
	// MaxLink bounds one link; 0 is no bound but MaxBytes.
	MaxLink int64
	// Now is the clock that Expires is compared with; nil is time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// takes returns ErrTooLarge for a link of n bytes that is over a bound.
func (o Options) takes(n int64) error {
	if o.MaxLink > 0 && n > o.MaxLink || o.MaxBytes > 0 && n > o.MaxBytes {
		return chain.ErrTooLarge
	}
	return nil
}

var (
	errClosed = errors.New("conversation store: closed")
	errExists = errors.New("conversation store: the id of a link is not new")
)
