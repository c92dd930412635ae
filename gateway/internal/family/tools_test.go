package family_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
)

func TestTools(t *testing.T) {
	t.Parallel()
	kins := all(t)
	tools := []conv.ToolDef{
		stock,
		{Name: "patch", Kind: conv.Custom, Description: "Change a file."},
		{Name: "ping"},
		{Namespace: "fs", Name: "read", Schema: []byte(`{"properties":{"p":true,"q":{"description":" Q ","type":"string","const":false}},"$defs":{}}`)},
		{Name: "broken", Schema: []byte(`[1`)},
		{Name: "later", Deferred: true, Schema: []byte(`{"type":"object"}`)},
	}
	// A schema without a type gets one, as templates expect it; one that is no object is replaced.
	const lines = `
{"type": "function", "function": {"name": "get_stock", "description": "Price of a share.", "parameters": {"type": "object", "properties": {"sym": {"type": "string", "description": " Ticker \n"}, "days": {"type": ["integer", "null"], "minimum": 1}}, "required": ["sym"]}}}
{"type": "function", "function": {"name": "patch", "description": "Change a file.", "parameters": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}}
{"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}}
{"type": "function", "function": {"name": "fs__read", "parameters": {"type": "object", "properties": {"p": true, "q": {"description": " Q ", "type": "string", "const": false}}, "$defs": {}}}}
{"type": "function", "function": {"name": "broken", "parameters": {"type": "object", "properties": {}}}}
</tools>`
	const elements = `
<function>
<name>get_stock</name>
<description>Price of a share.</description>
<parameters>
<parameter>
<name>sym</name>
<type>string</type>
<description>Ticker</description>
</parameter>
<parameter>
<name>days</name>
<type>["integer", "null"]</type>
<minimum>1</minimum>
</parameter>
<required>["sym"]</required>
</parameters>
</function>
<function>
<name>patch</name>
<description>Change a file.</description>
<parameters>
<parameter>
<name>input</name>
<type>string</type>
</parameter>
<required>["input"]</required>
</parameters>
</function>
<function>
<name>ping</name>
<parameters>
</parameters>
</function>
<function>
<name>fs__read</name>
<parameters>
<parameter>
<name>p</name>
</parameter>
<parameter>
<name>q</name>
<type>string</type>
<description>Q</description>
<const>false</const>
</parameter>
<$defs>{}</$defs>
</parameters>
</function>
<function>
<name>broken</name>
<parameters>
</parameters>
</function>
</tools>`
	for _, c := range []struct {
		family       string
		begin, holds string
	}{
		{qwen25, "<|im_start|>system\nBe brief.\n\n# Tools\n", "<tools>" + lines},
		{qwen3, "<|im_start|>system\nBe brief.\n\n# Tools\n", "<tools>" + lines},
		{qwen35, "<|im_start|>system\n# Tools\n", "<tools>" + lines},
		{qwen3Coder, "<|im_start|>system\nBe brief.\n\n# Tools\n", "<tools>" + elements},
	} {
		t.Run(c.family, func(t *testing.T) {
			req := request(system("Be brief."), user("x"))
			req.Tools = tools
			p := kins[c.family].render(t, req, "")
			if !strings.HasPrefix(p.Text, c.begin) || !strings.Contains(p.Text, c.holds) || strings.Contains(p.Text, "later") {
				t.Errorf("prompt %s", p.Text)
			}
			if c.family == qwen35 && !strings.Contains(p.Text, "\n\nBe brief.<|im_end|>\n") {
				t.Errorf("the system text does not follow the tools: %s", p.Text)
			}
			req.Messages = req.Messages[1:]
			alone := kins[c.family].render(t, req, "").Text
			if !strings.HasPrefix(alone, "<|im_start|>system\n# Tools\n") || strings.Contains(alone, "\n<|im_end|>") {
				t.Errorf("without a system message: %s", alone)
			}
		})
	}
}

// Of deferred tools alone a prompt shows nothing, so that naming one changes nothing in front of it.
func TestDeferredAlone(t *testing.T) {
	t.Parallel()
	for name, k := range all(t) {
		req := request(user("x"))
		req.Tools = []conv.ToolDef{{Name: "later", Deferred: true}}
		if got := k.render(t, req, "").Text; !strings.HasPrefix(got, "<|im_start|>user\nx<|im_end|>\n"+assistant) {
			t.Errorf("%s: prompt %q", name, got)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	req := request(user("x"), answer(call("s", "search", "{}")), msg(conv.Tool, result("s", reference("later"), reference("none"), text("Loaded."))),
		answer(call("s", "search", "{}")), msg(conv.Tool, result("s", reference("later"))))
	req.Tools = []conv.ToolDef{{Name: "search"}, {Name: "later", Deferred: true}}
	const want = "<tool_response>\n<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"later\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}}\n</tools>\nnone\nLoaded.\n</tool_response>"
	for name, k := range all(t) {
		p := k.render(t, req, "")
		if !strings.Contains(p.Text, want) || !strings.Contains(p.Text, "<tool_response>\nlater\n</tool_response>") {
			t.Errorf("%s: prompt %s", name, p.Text)
		}
	}
}
