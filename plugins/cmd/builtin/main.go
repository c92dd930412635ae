package main

import (
	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
)

type p struct{ w [64]byte }

func (p *p) Manifest() string { return "{}" }
func (p *p) Open(c []byte) error {
	r := jsonscan.NewReader(c)
	return r.Object(func(k []byte) error { _, err := r.Raw(); return err })
}
func (p *p) Window() []byte                                      { return p.w[:] }
func (p *p) Start(s guest.Start) error                           { return nil }
func (p *p) Feed(in *guest.Input, out *guest.Out)                {}
func (p *p) Finish(in *guest.Input, why abi.Why, out *guest.Out) {}

func init() { guest.Export(&p{}) }
func main() {}
