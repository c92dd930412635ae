"""The official OpenAI client for Python against weir's chat completions."""

import json

import openai
from lib import BOTH_CALLS, BOTH_INPUTS, MODEL, PARAMETERS, SAID, URL, equal, main, weather

client = openai.OpenAI(base_url=URL + "/v1", api_key="any", max_retries=0, timeout=20)
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Current weather of a city", "parameters": PARAMETERS}}]


def stream():
    text, reasoning = "", ""
    with client.chat.completions.stream(
        model=MODEL, messages=[{"role": "user", "content": "say " + SAID}], tools=TOOLS, stream_options={"include_usage": True}
    ) as s:
        for event in s:
            if event.type == "content.delta":
                text += event.delta
            elif event.type == "chunk" and event.chunk.choices:
                reasoning += getattr(event.chunk.choices[0].delta, "reasoning_content", None) or ""
        final = s.get_final_completion()
    equal(text, SAID, "deltas")
    equal(final.choices[0].message.content, SAID, "content")
    equal(final.choices[0].finish_reason, "stop", "finish")
    if not reasoning or not final.usage or final.usage.completion_tokens <= 0:
        raise AssertionError(f"reasoning {reasoning!r}, usage {final.usage}")


def tool_loop():
    messages = [{"role": "user", "content": BOTH_CALLS}]
    rounds = 0
    while True:
        rounds += 1
        with client.chat.completions.stream(model=MODEL, messages=messages, tools=TOOLS) as s:
            for _ in s:
                pass
            choice = s.get_final_completion().choices[0]
        messages.append(choice.message.model_dump(exclude_none=True, exclude={"parsed"}))
        for call in choice.message.tool_calls or []:
            result = weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if choice.finish_reason != "tool_calls" or rounds == 5:
            break
    equal(rounds, 2, "rounds")
    equal([json.loads(c["function"]["arguments"]) for c in messages[1]["tool_calls"]], BOTH_INPUTS, "arguments")
    if "18 degrees in Łódź" not in messages[-1]["content"]:
        raise AssertionError(f"the answer is {messages[-1]}")


def models():
    ids = [m.id for m in client.models.list()]
    equal(ids[0], MODEL)
    equal(client.models.retrieve(MODEL).id, MODEL)
    return ", ".join(ids)


def errors():
    try:
        client.chat.completions.create(model="nobody", messages=[{"role": "user", "content": "x"}])
        raise AssertionError("an unknown model was served")
    except openai.NotFoundError as err:
        if not err.request_id:
            raise AssertionError("no request id") from err
    try:
        with client.chat.completions.stream(model=MODEL, messages=[{"role": "user", "content": "long 200\nfail after 40"}]) as s:
            for _ in s:
                pass
        raise AssertionError("a broken stream was taken for whole")
    except openai.APIError:
        pass


main({"stream": stream, "tool-loop": tool_loop, "models": models, "errors": errors})
