//go:build !unix

package plughost_test

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
