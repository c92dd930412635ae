package sandbox

// Operands returns how many operands the first function of a module leaves, as the reader counts them.
func Operands(wasm []byte) (int, error) {
	l := DefaultLimits()
	m, err := Inspect(wasm, l)
	if err != nil {
		return 0, err
	}
	c := &code{reader: reader{b: wasm}, m: m, l: &l}
	n := 0
	for c.begin(&m.bodies[0]); c.next() && len(c.blocks) > 0; n = c.height {
	}
	return n, c.err
}

// InspectPrepared is Inspect for what Prepare made.
func InspectPrepared(wasm []byte) (*Module, error) {
	l := DefaultLimits()
	return Inspect(wasm, l.rewritten())
}

// Work returns what of Limits.Work a prepared module takes.
func Work(prepared []byte) (int, error) {
	m, err := InspectPrepared(prepared)
	if err != nil {
		return 0, err
	}
	return m.work, nil
}
