package parser

// Manifest is the manifest of the plugin that holds this parser, and the template policies named.
func Manifest(policies ...string) string {
	kinds := []string{"parser"}
	if len(policies) > 0 {
		kinds = append(kinds, "template")
	}
	b := []byte(`{"name":"builtin","version":"1.0.0","abi":1,"license":"Apache-2.0",` +
		`"description":"The parsers and template policies that come with the gateway"`)
	b = appendNames(b, "kinds", kinds)
	b = appendNames(b, "reasoning", Reasonings())
	b = appendNames(b, "tools", Tools())
	if len(policies) > 0 {
		b = appendNames(b, "policies", policies)
	}
	return string(append(b, '}'))
}

// appendNames appends a member that is an array of names, which need no escapes.
func appendNames(b []byte, member string, names []string) []byte {
	b = append(append(append(b, ',', '"'), member...), `":[`...)
	for i, n := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), n...), '"')
	}
	return append(b, ']')
}
