package parsertest

import (
	"strings"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
)

func thinkOnly() Family {
	return Family{Name: "think", Config: `{"reasoning":"qwen3"}`, Cases: []guesttest.Case{
		c("empty", plain, ""),
		c("text", plain, "Hello, world.", `text "Hello, world."`),
		c("block", plain, "<think>\nplan\n</think>\n\nAnswer.", `reasoning "plan"`, `text "Answer."`),
		c("block-crlf", plain, "<think>\r\nplan\r\n</think>\r\n\r\nAnswer.\r\n", `reasoning "plan"`, `text "Answer.\r\n"`),
		c("no-newlines", plain, "<think>plan</think>Answer.", `reasoning "plan"`, `text "Answer."`),
		c("more-newlines", plain, "<think>\n\nplan\n\n</think>\n\n\nAnswer.", `reasoning "\nplan"`, `text "\nAnswer."`),
		c("empty-block", plain, "<think>\n\n</think>\n\nAnswer.", `text "Answer."`),
		c("empty-block-tight", plain, "<think></think>Answer.", `text "Answer."`),
		c("only-block", plain, "<think>plan</think>", `reasoning "plan"`),
		c("only-newlines-after", plain, "<think>plan</think>\n\n", `reasoning "plan"`),
		c("space-at-end", plain, "Answer. \n\n", `text "Answer. \n\n"`),
		c("only-space", plain, " \n ", `text " \n "`),
		c("unclosed", plain, "<think>plan and plan\n", `reasoning "plan and plan\n"`),
		c("again", plain, "<think>a</think>\n<think>b</think>c", `reasoning "a"`, `block_end`, `reasoning "b"`, `text "c"`),
		c("interleaved", plain, "<think>a</think>one <think>b</think> two", `reasoning "a"`, `text "one"`, `reasoning "b"`, `text " two"`),
		c("text-first", plain, "Well.\n<think>a</think>\nSo.", `text "Well."`, `reasoning "a"`, `text "So."`),
		c("opener-in-reasoning", plain, "<think>a <think> b</think>c", `reasoning "a <think> b"`, `text "c"`),
		c("stray-closer", plain, "a</think>b", `text "a</think>b"`),
		c("stray-closer-first", plain, "</think>b", `text "b"`),
		c("stray-closer-after-space", plain, "\n </think>\n\nb", `text "b"`),
		c("doubled-closer", plain, "<think>a</think>\n</think>\nb", `reasoning "a"`, `text "b"`),
		c("partial-opener", plain, "a <thin", `text "a <thin"`),
		c("partial-closer", plain, "<think>a </thi", `reasoning "a </thi"`),
		c("lone-bracket", plain, "1 < 2 <", `text "1 < 2 <"`),
		c("almost", plain, "<thinking>a</thinking>", `text "<thinking>a</thinking>"`),
		c("almost-then-marker", plain, "<think<think>a</think>", `text "<think"`, `reasoning "a"`),
		c("brackets", plain, "<<<think>a<</think>b", `text "<<"`, `reasoning "a<"`, `text "b"`),
		c("quoted-opener", plain, "Use `<think>` here.", "text \"Use `<think>` here.\""),
		c("quoted-closer", plain, "<think>the \"</think>\" tag</think>x", `reasoning "the \"</think>\" tag"`, `text "x"`),
		c("quoted-single", plain, "<think>the '</think>' tag</think>x", `reasoning "the '</think>' tag"`, `text "x"`),
		c("quote-before-closer", plain, "<think>say \"hi\"</think>ok", `reasoning "say \"hi\""`, `text "ok"`),
		c("quote-before-closer-at-end", plain, "<think>say `hi`</think>", "reasoning \"say `hi`\""),
		c("two-quotes-differ", plain, "<think>a`</think>\"b", "reasoning \"a`\"", `text "\"b"`),
		c("utf8", plain, "<think>è una 計画 🙂</think>\n\n答え: 🙂<", `reasoning "è una 計画 🙂"`, `text "答え: 🙂<"`),
		c("bad-utf8", plain, "<think>\xff\xfe</think>\xe8\x8a", `reasoning "\xff\xfe"`, `text "\xe8\x8a"`),
		c("nul", plain, "a\x00b<think>\x00</think>", `text "a\x00b"`, `reasoning "\x00"`),
		c("long-space", plain, "a"+strings.Repeat(" ", 40)+"<think>b</think>", `text "a        "`, `reasoning "b"`),
		c("long-space-then-text", plain, "a"+strings.Repeat("\n", 70)+"b", `text "a`+strings.Repeat(`\n`, 70)+`b"`),
		c("prompt-open", prompted, "plan\n</think>\n\nAnswer.", `reasoning "plan"`, `text "Answer."`),
		c("prompt-open-unclosed", prompted, "plan", `reasoning "plan"`),
		c("prompt-open-repeated", prompted, "<think>\nplan</think>Answer.", `reasoning "plan"`, `text "Answer."`),
		c("prompt-open-newline", prompted, "\nplan</think>x", `reasoning "\nplan"`, `text "x"`),
		c("prompt-open-no-newline", guest.Start{Tail: []byte("<think>")}, "\nplan</think>x", `reasoning "plan"`, `text "x"`),
		c("prompt-closed", closed, "Answer.", `text "Answer."`),
		c("prompt-closed-newlines", closed, "\n\nAnswer.", `text "\n\nAnswer."`),
		c("prompt-closed-bare", guest.Start{Tail: []byte("</think>")}, "\n\nAnswer.", `text "Answer."`),
		c("prompt-closed-stray", closed, "</think>\n\nAnswer.", `text "Answer."`),
		c("prompt-closed-yet-thinks", closed, "<think>a</think>b", `reasoning "a"`, `text "b"`),
		c("tail-wins-over-switch", guest.Start{Thinking: guest.ThinkingOff, Tail: []byte("<think>\n")}, "a</think>b", `reasoning "a"`, `text "b"`),
		c("tools-markup-is-text", tools, "<tool_call>\n{\"name\": \"ping\"}\n</tool_call>", `text "<tool_call>\n{\"name\": \"ping\"}\n</tool_call>"`),
		c("long", plain, "<think>"+strings.Repeat("step by step ", 100)+"</think>"+strings.Repeat("word ", 200)+".",
			`reasoning "`+strings.Repeat("step by step ", 99)+`step by step"`, `text "`+strings.Repeat("word ", 200)+`."`),
	}}
}

func thinkInside() Family {
	return Family{Name: "deepseek_r1", Config: `{"reasoning":"deepseek_r1","tools":""}`, Cases: []guesttest.Case{
		c("inside", plain, "plan</think>\n\nAnswer.", `reasoning "plan"`, `text "Answer."`),
		c("opener", plain, "<think>\nplan\n</think>\n\nAnswer.", `reasoning "plan"`, `text "Answer."`),
		c("space-and-opener", plain, "\n<think>plan</think>Answer.", `reasoning "plan"`, `text "Answer."`),
		c("unclosed", plain, "all of it", `reasoning "all of it"`),
		c("off", guest.Start{Thinking: guest.ThinkingOff}, "Answer.", `text "Answer."`),
		c("off-leaks", guest.Start{Thinking: guest.ThinkingOff}, "<think>a</think>b", `reasoning "a"`, `text "b"`),
		c("closed-prompt", closed, "Answer.", `text "Answer."`),
		c("later-opener", plain, "a</think>b<think>c</think>d", `reasoning "a"`, `text "b"`, `reasoning "c"`, `text "d"`),
		c("opener-late", plain, "a <think> b</think>c", `reasoning "a <think> b"`, `text "c"`),
	}}
}

var thinkIDs = map[string]uint32{"<think>": 1, "</think>": 2, "<|im_end|>": 3, "<tool_call>": 4, "</tool_call>": 5}

func thinkSpans() Family {
	return Family{
		Name: "think-spans", Config: `{"reasoning":"qwen3","markers":{"<think>":{"id":1,"textual":false},"</think>":{"id":2},"<|im_end|>":{"id":3,"textual":false},"<|other|>":{"id":9}}}`,
		Cases: []guesttest.Case{
			marked("block", plain, thinkIDs, "«<think>»\nplan\n«</think>»\n\nAnswer.", `reasoning "plan"`, `text "Answer."`),
			marked("literal-is-data", plain, thinkIDs, "«<think>»a </think> b <think>«</think>»\n<think>c</think>",
				`reasoning "a </think> b <think>"`, `text "<think>c</think>"`),
			marked("literal-before-span", prompted, thinkIDs, "write </think> so.\n«</think>»x", `reasoning "write </think> so."`, `text "x"`),
			marked("span-in-quotes", plain, thinkIDs, "«<think>»'«</think>»'", `reasoning "'"`, `text "'"`),
			marked("other-token", plain, thinkIDs, "a«<|other|>»b", `text "a<|other|>b"`),
			marked("stop", plain, thinkIDs, "a\n«<|im_end|>»", `text "a"`, `end_turn`),
			marked("stop-literal", plain, thinkIDs, "a<|im_end|>b", `text "a<|im_end|>b"`),
		},
	}
}
