package prompt

import (
	"maps"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/jinja"
)

// reserved reports a name of a template argument that is not the client's to set.
func (m *Model) reserved(name string) bool {
	switch name {
	case "messages", "conversation", "tools", "documents", "chat_template", "tokenize", "return_dict",
		"add_generation_prompt", "continue_final_message":
		return true
	}
	_, token := m.tokens[name]
	return token
}

// variables are the template's arguments: tokens, the request's chat_template_kwargs, and those of the plan
// that the request does not name. Arguments that the template does not read are left out, as vLLM does.
func (m *Model) variables(v *variant, req *conv.Request, p *planned) (vars map[string]jinja.Value, unread []string, err error) {
	vars = make(map[string]jinja.Value, len(m.tokens)+8)
	maps.Copy(vars, m.tokens)
	named := map[string]bool{}
	if len(req.TemplateArgs) > 0 {
		r := jsonscan.NewReader(req.TemplateArgs)
		var bad *fault.Error
		err := r.Object(func(key []byte) error {
			name := string(key)
			raw, err := r.Raw()
			if err != nil {
				return err
			}
			if bad == nil && m.reserved(name) {
				bad = fault.At(fault.Invalid, "chat_template_kwargs."+name, "%q cannot be set as a template argument", clip(name))
			}
			named[name] = true
			if !v.takes[name] {
				unread = append(unread, "chat_template_kwargs: the template does not read "+clip(name))
				return nil
			}
			vars[name], err = jinja.FromJSON(raw, jinja.Origin{Kind: jinja.FromUser, Part: directArg})
			return err
		})
		if bad != nil {
			return nil, nil, bad
		}
		if err != nil || r.End() != nil {
			return nil, nil, fault.At(fault.Invalid, "chat_template_kwargs", "expected an object")
		}
	}
	for i := range p.kwargs {
		op := &p.kwargs[i]
		if named[op.Key] || !v.takes[op.Key] || m.reserved(op.Key) {
			continue
		}
		if vars[op.Key], err = jinja.FromJSON([]byte(op.Value), jinja.Origin{Kind: jinja.FromHost, Part: directArg}); err != nil {
			return nil, nil, badPlan("argument %q is not JSON", op.Key)
		}
	}
	return vars, unread, nil
}
