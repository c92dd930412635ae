// Package seal makes opaque strings of what a client is to keep for this side: reasoning that it is not shown, and
// summaries. They are encrypted and bound to their tenant, so that who holds one can neither read nor forge it.
package seal
