// Package store keeps the links of conversations: in memory, or in a database on disk where an operator asks for one.
package store
