package jinja

import (
	"bytes"
	"context"
	"errors"
)

// Probe renders with variables that hold sentinels, texts that no template has, and reports which of them
// the result shows. So one asks whether a role is accepted and not dropped without a word, or whether the
// template itself replays reasoning. A template that refuses or fails shows nothing, and that is no error;
// the errors are limits and the context's.
func (t *Template) Probe(ctx context.Context, vars map[string]Value, o RenderOptions, sentinels ...string) ([]bool, error) {
	shown := make([]bool, len(sentinels))
	o.Origins = false
	r, err := t.Render(ctx, vars, o)
	var failed *Error
	var raised *RaisedError
	if errors.As(err, &failed) || errors.As(err, &raised) {
		return shown, nil
	}
	if err != nil {
		return nil, err
	}
	for i, s := range sentinels {
		shown[i] = bytes.Contains(r.Text, []byte(s))
	}
	return shown, nil
}
