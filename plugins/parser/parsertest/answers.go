package parsertest

import "github.com/weirgate/weir/abi/guesttest"

// Answer is what a grammar says to a case of plugins/CASES.md. Exactly one member is set, and Broken with
// an Input that shows it.
type Answer struct {
	Example string // family/case of the corpus
	NA      string // why the case cannot come up
	Broken  string // why it fails
	Config  string
	Input   guesttest.Case
}

func example(name string) Answer { return Answer{Example: name} }

func na(why string) Answer { return Answer{NA: why} }

func broken(why, config string, in guesttest.Case) Answer {
	return Answer{Broken: why, Config: config, Input: in}
}

// Answers are those of each grammar, by its package's name and the case.
func Answers() map[string]map[string]Answer {
	return map[string]map[string]Answer{"think": thinkAnswers(), "taggedjson": jsonAnswers(), "xmlparams": xmlAnswers()}
}

const (
	noCalls  = "the stage knows no calls"
	template = "a matter of templates"
)

func thinkAnswers() map[string]Answer {
	a := map[string]Answer{
		"PARTIAL-1":  example("think/block"),
		"PARTIAL-2":  example("think/almost-then-marker"),
		"PROSE-1":    example("think/quoted-opener"),
		"PROSE-2":    example("think/opener-in-reasoning"),
		"PROSE-3":    example("think/quoted-closer"),
		"INTHINK-3":  example("think/quoted-single"),
		"EOF-4":      example("think/partial-closer"),
		"FAIL-1":     example("think/stray-closer"),
		"AFTER-1":    example("think/interleaved"),
		"WS-1":       example("think/text-first"),
		"WS-2":       example("think/long-space"),
		"WS-4":       example("think/block-crlf"),
		"STREAM-1":   example("think/long"),
		"THINKOFF-1": example("think/prompt-closed"),
		"THINKOFF-2": example("think/prompt-open-unclosed"),
		"THINKOFF-3": example("think/prompt-closed-yet-thinks"),
		"CHOICE-2":   example("think/tools-markup-is-text"),
		"ROLE-1":     na(template),
		"STOP-1":     example("think-spans/stop"),
		"UNICODE-1":  example("think/bad-utf8"),
		"PERF-1":     example("think/long"),
		"SHAPE-1":    example("think/doubled-closer"),
		"PROSE-4": broken("both quotes are the same, and nothing tells the quoted marker from the real one", `{"reasoning":"qwen3"}`,
			c("quotes", plain, "<think>say \"hi\"</think>\"Hi\" it is.", `reasoning "say \"hi\""`, `text "\"Hi\" it is."`)),
	}
	for _, id := range []string{
		"MULTI-1", "MULTI-2", "MARKERIN-1", "MARKERIN-2", "MARKERIN-3", "MARKERIN-4", "MARKERIN-5", "INTHINK-1", "INTHINK-2", "EOF-1", "EOF-2", "EOF-3", "EOF-5", "EOF-6", "PROSE-5", "PROSE-6", "PROSE-7", "FAIL-2", "FAIL-3", "FAIL-4", "INTHINK-4", "MARKERIN-6", "MARKERIN-7", "JSON-1", "JSON-2",
		"TYPE-1", "EMPTY-1", "EMPTY-2", "INDEX-1", "FINISH-1", "AFTER-2", "WS-3", "CHOICE-1", "UNKNOWN-1", "UNKNOWN-2", "UNKNOWN-3", "UNKNOWN-4", "NAME-1", "NAME-2", "SHAPE-2", "SHAPE-3", "SHAPE-4",
	} {
		a[id] = na(noCalls)
	}
	return a
}

func jsonAnswers() map[string]Answer {
	return map[string]Answer{
		"PARTIAL-1":  example("hermes/two"),
		"PARTIAL-2":  example("hermes/not-json"),
		"MULTI-1":    example("hermes/two"),
		"MULTI-2":    example("hermes/tight"),
		"MARKERIN-1": example("hermes/braces-and-tags-in-strings"),
		"MARKERIN-2": example("qwen3/think-in-arguments"),
		"MARKERIN-3": example("hermes/sample-in-string"),
		"MARKERIN-4": example("hermes/braces-and-tags-in-strings"),
		"MARKERIN-5": na("values are JSON strings, whose quotes tell where they end"),
		"MARKERIN-6": na("values are JSON strings"),
		"MARKERIN-7": na("values are JSON strings"),
		"PROSE-1":    example("hermes/quoted-marker"),
		"PROSE-2":    example("hermes/marker-in-prose"),
		"PROSE-3":    na("of the reasoning stage"),
		"PROSE-4":    na("of the reasoning stage"),
		"PROSE-5":    example("hermes/code-span"),
		"PROSE-6":    example("hermes/fence"),
		"PROSE-7":    na("every opener has a wrapper"),
		"INTHINK-1":  example("qwen3/call-in-reasoning"),
		"INTHINK-2":  example("qwen3/call-in-reasoning-then-text"),
		"INTHINK-4":  example("qwen3/call-in-reasoning-then-lines"),
		"INTHINK-3":  example("qwen3/unknown-in-reasoning"),
		"EOF-1":      example("nemotron_deci/cut-name"),
		"EOF-2":      example("nemotron_deci/cut"),
		"EOF-3":      example("hermes/closer-missing-at-end"),
		"EOF-4":      example("hermes/opener-cut"),
		"EOF-5":      example("hermes/closer-cut"),
		"EOF-6":      example("nemotron_deci/cut"),
		"FAIL-1":     example("hermes/broken-then-call"),
		"FAIL-2":     example("hermes/broken-object"),
		"FAIL-3":     example("hermes/arguments-first-no-name"),
		"FAIL-4":     example("hermes/element-null"),
		"JSON-1":     example("hermes/quoted-arguments"),
		"JSON-2":     example("hermes/literals"),
		"TYPE-1":     na("arguments are JSON, with types of their own"),
		"EMPTY-1":    example("hermes/empty-arguments"),
		"EMPTY-2":    example("hermes/no-arguments"),
		"INDEX-1":    example("qwen3/interleaved"),
		"FINISH-1":   example("nemotron_deci/cut"),
		"AFTER-1":    example("hermes/tight"),
		"AFTER-2":    example("hermes/text-between"),
		"WS-1":       example("hermes/text-after"),
		"WS-2":       example("hermes/long-space-in-wrapper"),
		"WS-3":       na("white space in strings is part of the JSON"),
		"WS-4":       example("hermes/crlf"),
		"STREAM-1":   example("hermes/long-arguments"),
		"THINKOFF-1": example("qwen3/thinking-off"),
		"THINKOFF-2": example("qwen3/prompted"),
		"THINKOFF-3": na("of the reasoning stage"),
		"CHOICE-1":   example("hermes/none"),
		"CHOICE-2":   example("hermes/no-tools"),
		"UNKNOWN-1":  example("hermes/unknown"),
		"UNKNOWN-2":  example("hermes/unknown-in-array"),
		"UNKNOWN-3":  example("hermes/late-unknown"),
		"UNKNOWN-4":  example("hermes/late-twice"),
		"ROLE-1":     na(template),
		"STOP-1":     na("of the reasoning stage"),
		"UNICODE-1":  example("hermes/unicode"),
		"PERF-1":     example("hermes/long-arguments"),
		"NAME-1":     example("hermes/name-too-long"),
		"NAME-2":     example("hermes/member-escaped"),
		"SHAPE-2":    example("hermes/closer-doubled"),
		"SHAPE-3":    example("hermes/empty-array"),
		"SHAPE-4":    na("an object ends where its brace is"),
		"SHAPE-1":    example("hermes/arguments-first"),
	}
}

func xmlAnswers() map[string]Answer {
	return map[string]Answer{
		"PARTIAL-1":  example("qwen3_coder/two"),
		"PARTIAL-2":  example("qwen3_coder/value-utf8"),
		"MULTI-1":    example("qwen3_coder/two"),
		"MULTI-2":    example("qwen3_coder/tight"),
		"MARKERIN-1": example("qwen3_coder/value-end-parameter-line"),
		"MARKERIN-2": example("qwen3_coder/value-think"),
		"MARKERIN-3": example("qwen3_coder/value-sample"),
		"MARKERIN-4": example("qwen3_coder/value-code"),
		"MARKERIN-5": broken("the format has no escapes: a closer with the next parameter's tag behind it is the end of a value", `{"tools":"qwen3_coder"}`,
			c("lines", tools, writeXML("a\n</parameter>\n<parameter=b>\nc"), call("write", "t", "a\n</parameter>\n<parameter=b>\nc"))),
		"MARKERIN-6": example("qwen3_coder/value-function-alone"),
		"MARKERIN-7": example("qwen3_coder/value-closers-in-line"),
		"PROSE-1":    example("qwen3_coder/quoted-marker"),
		"PROSE-2":    example("qwen3_coder/bare-in-prose"),
		"PROSE-3":    na("of the reasoning stage"),
		"PROSE-4":    na("of the reasoning stage"),
		"PROSE-5":    example("qwen3_coder/code-span"),
		"PROSE-6":    na("as with JSON objects"),
		"PROSE-7":    example("qwen3_coder/bare-in-line"),
		"INTHINK-1":  example("qwen3.5/call-in-reasoning"),
		"INTHINK-2":  example("qwen3.5/bare-in-reasoning"),
		"INTHINK-4":  na("of the reasoning stage"),
		"INTHINK-3":  example("qwen3.5/sample-in-reasoning"),
		"EOF-1":      example("qwen3_coder/cut-name"),
		"EOF-2":      example("qwen3_coder/cut-value"),
		"EOF-3":      example("qwen3_coder/cut-wrapper"),
		"EOF-4":      example("qwen3_coder/opener-cut"),
		"EOF-5":      example("qwen3_coder/cut-wrapper"),
		"EOF-6":      example("qwen3_coder/value-cut-number"),
		"FAIL-1":     example("qwen3_coder/garbage-in-second"),
		"FAIL-2":     example("qwen3_coder/garbage-before-parameters"),
		"FAIL-3":     na("names come first"),
		"FAIL-4":     na("the format has no arrays of calls"),
		"JSON-1":     na("arguments are not JSON"),
		"JSON-2":     na("arguments are not JSON; values keep their bytes"),
		"TYPE-1":     example("qwen3_coder/one"),
		"EMPTY-1":    example("qwen3_coder/no-parameters"),
		"EMPTY-2":    example("qwen3_coder/empty-then-call"),
		"INDEX-1":    example("qwen3_coder/bare-twice"),
		"FINISH-1":   example("qwen3_coder/cut-after-parameter"),
		"AFTER-1":    example("qwen3_coder/tight"),
		"AFTER-2":    example("qwen3_coder/text-between"),
		"WS-1":       example("qwen3_coder/text-after"),
		"WS-2":       example("qwen3_coder/value-long-space"),
		"WS-3":       example("qwen3_coder/value-spaces"),
		"WS-4":       example("qwen3_coder/crlf"),
		"STREAM-1":   example("qwen3_coder/value-long"),
		"THINKOFF-1": example("qwen3.5/off"),
		"THINKOFF-2": example("qwen3.5/plain"),
		"THINKOFF-3": na("of the reasoning stage"),
		"CHOICE-1":   example("qwen3_coder/none"),
		"CHOICE-2":   example("qwen3_coder/no-tools"),
		"UNKNOWN-1":  example("qwen3_coder/unknown"),
		"UNKNOWN-2":  example("qwen3_coder/unknown-then-known"),
		"UNKNOWN-3":  na("names come first"),
		"UNKNOWN-4":  na("names come first"),
		"ROLE-1":     na(template),
		"STOP-1":     na("of the reasoning stage"),
		"UNICODE-1":  example("qwen3_coder/value-utf8"),
		"PERF-1":     example("qwen3_coder/value-long"),
		"NAME-1":     example("qwen3_coder/odd-keys"),
		"NAME-2":     na("tags have no escapes"),
		"SHAPE-2":    example("qwen3_coder/closer-doubled"),
		"SHAPE-3":    na("the format has no arrays of calls"),
		"SHAPE-4":    example("qwen3_coder/next-call"),
		"SHAPE-1":    example("qwen3_coder/parameter-closer-doubled"),
	}
}
