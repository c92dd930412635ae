// Package jinja renders chat templates as the transformers library does with Jinja2: the same text, the
// same refusals, and for every byte of the result where it came from.
//
// A template is compiled once and rendered by any number of goroutines. Values are immutable; they are
// built from JSON with FromJSON, which keeps the order of members and tells integers from floats, or with
// the constructors. Strings carry the Origin that their maker gave them, and string operations keep it for
// the bytes that they copy, so the result can say which of its bytes a user wrote.
//
// It follows Jinja2 3.1.6 with the settings of transformers: trim_blocks and lstrip_blocks, loop controls, the generation
// tag, a sandbox that refuses to change what it is given, tojson without escaping for HTML, raise_exception
// and strftime_now. Left out are what needs a loader (include, import, extends, block), autoescape blocks,
// the filters random, pprint, urlize, xmlattr, striptags and wordwrap, the function lipsum, and str.encode.
// Integers beyond 64 bits are exact up to 64 K bits; larger ones are refused.
//
// Templates are hostile: each render has a budget of steps, bytes and depth (Limits), and a template that
// uses it up ends with a LimitError.
package jinja
