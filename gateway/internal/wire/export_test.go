package wire

// Names returns all names that For takes.
func Names() (reasonings, toolNames []string) {
	for _, t := range thinks {
		reasonings = append(reasonings, t.names...)
	}
	for _, table := range [][]toolStyle{jsonTools, tagTools, otherTools} {
		for _, t := range table {
			toolNames = append(toolNames, t.names...)
		}
	}
	return reasonings, toolNames
}
