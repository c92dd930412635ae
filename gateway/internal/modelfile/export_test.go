package modelfile

// RuleNames are the families and formats that the rules name.
func RuleNames() (families, reasonings, tools []string) {
	for i := range rules {
		families, reasonings, tools = append(families, rules[i].family), append(reasonings, rules[i].reasoning), append(tools, rules[i].tools)
	}
	return families, reasonings, tools
}
