package outline_test

// toolName names a tool as prompts do.
func toolName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}
