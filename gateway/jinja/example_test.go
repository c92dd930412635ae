package jinja_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weirgate/weir/gateway/jinja"
)

func Example() {
	tpl, err := jinja.Compile(`{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`, jinja.Options{})
	if err != nil {
		log.Fatal(err)
	}
	message := jinja.Object(
		jinja.Member{Name: "role", Value: jinja.Text("user", jinja.Origin{Kind: jinja.FromHost})},
		jinja.Member{Name: "content", Value: jinja.Text(" Hello! ", jinja.Origin{Kind: jinja.FromUser, Message: 0})},
	)
	r, err := tpl.Render(context.Background(), map[string]jinja.Value{
		"messages":              jinja.List(message),
		"add_generation_prompt": jinja.Bool(true),
	}, jinja.RenderOptions{Origins: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(r.Text))
	for _, s := range r.Spans {
		fmt.Printf("%-8s %q\n", s.Origin.Kind, r.Text[s.Start:s.End])
	}
	// Output:
	// <|user|>Hello!
	// <|assistant|>
	// template "<|"
	// host     "user"
	// template "|>"
	// user     "Hello!"
	// template "\n<|assistant|>"
}
