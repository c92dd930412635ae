package jinja

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Class is the kind of failure, after the Python exception that the reference raises for it.
type Class uint8

// Classes.
const (
	SyntaxError Class = iota + 1
	UndefinedError
	TypeError
	ValueError
	AttributeError
	IndexError
	KeyError
	ZeroDivisionError
	OverflowError
	SecurityError
	FilterArgumentError
	RuntimeError
)

var classNames = [...]string{
	"error", "syntax error", "undefined", "type error", "value error", "attribute error", "index error", "key error", "division by zero",
	"overflow", "not allowed", "filter argument", "template error",
}

// String names the class.
func (c Class) String() string { return classNames[c] }

// Error is a failure of a template, at compile time or in a render.
type Error struct {
	Class     Class
	Message   string
	Line, Col int // in the template, from 1; 0 where it is not known
	pos       pos
}

func (e *Error) Error() string { return place(e.Line, e.Col) + e.Class.String() + ": " + e.Message }

// RaisedError is a call of raise_exception: the template refuses its input.
type RaisedError struct {
	Message   string // the template's words
	Line, Col int
	pos       pos
}

func (e *RaisedError) Error() string { return place(e.Line, e.Col) + "raised: " + e.Message }

// LimitError tells that a template or a render went over one of its Limits.
type LimitError struct {
	What      string // steps, memory, output, string, depth, or in words
	Limit     int
	Line, Col int
	pos       pos
}

func (e *LimitError) Error() string {
	return place(e.Line, e.Col) + "over the limit of " + strconv.Itoa(e.Limit) + " for " + e.What
}

func place(line, col int) string {
	if line == 0 {
		return ""
	}
	return strconv.Itoa(line) + ":" + strconv.Itoa(col) + ": "
}

func fail(c Class, format string, args ...any) error {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	return &Error{Class: c, Message: format}
}

func tooMuch(what string, limit int) error { return &LimitError{What: what, Limit: limit} }

// pos is a place in the source of a template: the offset of a byte and 1, or 0.
type pos int32

// spot is where an error keeps its place.
func spot(err error) (p *pos, line, col *int) {
	var e *Error
	var r *RaisedError
	var l *LimitError
	switch {
	case errors.As(err, &e):
		return &e.pos, &e.Line, &e.Col
	case errors.As(err, &r):
		return &r.pos, &r.Line, &r.Col
	case errors.As(err, &l):
		return &l.pos, &l.Line, &l.Col
	}
	return nil, nil, nil
}

// at puts a place on an error that has none.
func at(err error, where pos) error {
	if err == nil {
		return nil
	}
	if p, _, _ := spot(err); p != nil && *p == 0 {
		*p = where
	}
	return err
}

// located tells the line and column of an error's place in src.
func located(err error, src string) error {
	p, line, col := spot(err)
	if p == nil || *p == 0 || int(*p) > len(src)+1 {
		return err
	}
	before := src[:*p-1]
	*line = 1 + strings.Count(before, "\n")
	*col = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return err
}

func isClass(err error, c Class) bool {
	var e *Error
	return errors.As(err, &e) && e.Class == c
}
