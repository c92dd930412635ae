"""The official Anthropic client for Python against weir's messages."""

import anthropic
from anthropic import beta_tool
from lib import BOTH_CALLS, BOTH_INPUTS, MODEL, PARAMETERS, SAID, URL, equal, main, weather

client = anthropic.Anthropic(base_url=URL, api_key="any", max_retries=0, timeout=20)
BASE = {
    "model": MODEL,
    "max_tokens": 2048,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "tools": [{"name": "get_weather", "description": "Current weather of a city", "input_schema": PARAMETERS}],
}


def stream():
    text, thought = "", ""
    with client.messages.stream(messages=[{"role": "user", "content": "say " + SAID}], **BASE) as s:
        for event in s:
            if event.type == "text":
                text += event.text
            elif event.type == "thinking":
                thought += event.thinking
        final = s.get_final_message()
    equal(text, SAID, "deltas")
    equal([b.type for b in final.content], ["thinking", "text"], "blocks")
    equal(final.content[0].thinking, thought, "thinking")
    equal(final.stop_reason, "end_turn", "stop_reason")
    if not final.content[0].signature or final.usage.output_tokens <= 0:
        raise AssertionError(f"signature {final.content[0].signature!r}, usage {final.usage}")


def tool_loop():
    messages = [{"role": "user", "content": "interleave\n" + BOTH_CALLS}]
    rounds = 0
    while True:
        rounds += 1
        with client.messages.stream(messages=messages, **BASE) as s:
            final = s.get_final_message()
        messages.append({"role": "assistant", "content": final.content})
        if final.stop_reason != "tool_use" or rounds == 5:
            break
        calls = [b for b in final.content if b.type == "tool_use"]
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": c.id, "content": weather(**c.input)} for c in calls]})
    equal(rounds, 2, "rounds")
    equal([b.type for b in messages[1]["content"]], ["thinking", "tool_use", "thinking", "tool_use"], "blocks")
    equal([b.input for b in messages[1]["content"] if b.type == "tool_use"], BOTH_INPUTS, "inputs")
    if "18 degrees in Łódź" not in final.content[-1].text:
        raise AssertionError(f"the answer is {final.content}")


def tool_runner():
    asked = []

    @beta_tool
    def get_weather(city: str, days: int = 1) -> str:
        """Current weather of a city."""
        asked.append(city)
        return weather(city, days)

    runner = client.beta.messages.tool_runner(
        model=MODEL, max_tokens=2048, tools=[get_weather], messages=[{"role": "user", "content": BOTH_CALLS}], max_iterations=4
    )
    final = runner.until_done()
    equal(asked, ["Paris", "Łódź"], "calls")
    if "18 degrees in Łódź" not in final.content[-1].text:
        raise AssertionError(f"the answer is {final.content}")


def count():
    messages = [{"role": "user", "content": "say hello"}]
    counted = client.messages.count_tokens(model=MODEL, messages=messages, tools=BASE["tools"], thinking=BASE["thinking"])
    usage = client.messages.create(messages=messages, **BASE).usage
    equal(counted.input_tokens, usage.input_tokens + (usage.cache_read_input_tokens or 0), "count")
    return f"{counted.input_tokens} tokens"


def models():
    ids = [m.id for m in client.models.list()]
    equal(ids[0], MODEL)
    equal(client.models.retrieve(MODEL).id, MODEL)
    return ", ".join(ids)


def errors():
    try:
        client.messages.create(messages=[{"role": "user", "content": "x"}], **{**BASE, "model": "nobody"})
        raise AssertionError("an unknown model was served")
    except anthropic.NotFoundError as err:
        if not err.request_id:
            raise AssertionError("no request id") from err
    try:
        with client.messages.stream(model=MODEL, max_tokens=2048, messages=[{"role": "user", "content": "long 200\nfail after 40"}]) as s:
            s.get_final_message()
        raise AssertionError("a broken stream was taken for whole")
    except anthropic.APIError:
        pass


main({"stream": stream, "tool-loop": tool_loop, "tool-runner": tool_runner, "count": count, "models": models, "errors": errors})
