"""The official OpenAI client for Python against weir's responses."""

import json

import openai
from lib import BOTH_CALLS, BOTH_INPUTS, MODEL, PARAMETERS, SAID, URL, equal, main, weather

client = openai.OpenAI(base_url=URL + "/v1", api_key="any", max_retries=0, timeout=20)
TOOLS = [{"type": "function", "name": "get_weather", "description": "Current weather of a city", "parameters": PARAMETERS, "strict": False}]


def calls(response):
    return [i for i in response.output if i.type == "function_call"]


def results(response):
    return [{"type": "function_call_output", "call_id": c.call_id, "output": weather(**json.loads(c.arguments))} for c in calls(response)]


def check(holds, why):
    if not holds:
        raise AssertionError(why)


def check_calls(response):
    equal(response.status, "completed", "status")
    equal([i.type for i in response.output], ["reasoning", "function_call", "function_call"], "output")
    equal([json.loads(c.arguments) for c in calls(response)], BOTH_INPUTS, "arguments")


def check_usage(usage):
    check(usage and usage.input_tokens > 0 and usage.output_tokens > 0, f"usage: {usage}")
    equal(usage.total_tokens, usage.input_tokens + usage.output_tokens, "total")


def check_numbers(events):
    equal([e.sequence_number for e in events], list(range(len(events))), "numbers")
    equal([e.type for e in events[:2]], ["response.created", "response.in_progress"], "first events")
    equal(events[-1].type, "response.completed", "last event")


def refused(status, code, call):
    try:
        call()
    except openai.APIStatusError as err:
        equal(err.status_code, status, "status")
        if code:
            equal(err.code, code, "code")
        check(err.request_id, "no request id")
        return
    raise AssertionError(f"not refused with {status}")


def create():
    r = client.responses.create(model=MODEL, input="say " + SAID, instructions="Be brief.", metadata={"a": "b"}, tools=TOOLS)
    equal(r.output_text, SAID, "text")
    equal((r.status, r.model, r.instructions, r.metadata), ("completed", MODEL, "Be brief.", {"a": "b"}), "resource")
    equal([i.type for i in r.output], ["reasoning", "message"], "output")
    check_usage(r.usage)
    schema = {**PARAMETERS, "additionalProperties": False}
    r = client.responses.create(model=MODEL, input="Where?", text={"format": {"type": "json_schema", "name": "place", "strict": True, "schema": schema}})
    check(isinstance(json.loads(r.output_text)["city"], str), r.output_text)
    r = client.responses.create(model=MODEL, input="long 500", max_output_tokens=20)
    equal((r.status, r.incomplete_details.reason), ("incomplete", "max_output_tokens"), "status")


def stream():
    text, thought, events = "", "", []
    with client.responses.stream(model=MODEL, input="say " + SAID, reasoning={"summary": "auto"}, include=["reasoning.encrypted_content"]) as s:
        for event in s:
            events.append(event)
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type == "response.reasoning_summary_text.delta":
                thought += event.delta
        final = s.get_final_response()
    equal(text, SAID, "deltas")
    equal(final.output_text, SAID, "text")
    equal(thought, final.output[0].summary[0].text, "summary")
    check(final.output[0].encrypted_content, "no sealed reasoning")
    check_numbers(events)
    check_usage(final.usage)


def tools():
    """The answer is gone on with by its id: what it said stands on the server alone."""
    first = client.responses.create(model=MODEL, input=BOTH_CALLS, tools=TOOLS)
    check_calls(first)
    with client.responses.stream(model=MODEL, previous_response_id=first.id, input=results(first), tools=TOOLS) as s:
        second = s.get_final_response()
    check("18 degrees in Łódź" in second.output_text, second.output_text)
    equal(second.previous_response_id, first.id, "previous")
    check(second.usage.input_tokens > first.usage.input_tokens, "the conversation is not part of the prompt")
    events = list(client.responses.create(model=MODEL, previous_response_id=second.id, input=BOTH_CALLS, tools=TOOLS, stream=True))
    check_numbers(events)
    check_calls(events[-1].response)


def tools_stateless():
    """Nothing is kept: the client sends everything again, reasoning sealed."""
    base = {"model": MODEL, "tools": TOOLS, "store": False, "include": ["reasoning.encrypted_content"]}
    first = client.responses.create(input=BOTH_CALLS, **base)
    check_calls(first)
    check(first.output[0].encrypted_content, "no sealed reasoning")
    again = [{"role": "user", "content": BOTH_CALLS}, *(i.model_dump(exclude_none=True) for i in first.output), *results(first)]
    second = client.responses.create(input=again, **base)
    check("18 degrees in Łódź" in second.output_text, second.output_text)
    refused(400, "previous_response_not_found", lambda: client.responses.create(previous_response_id=first.id, input="say x", **base))
    refused(404, None, lambda: client.responses.retrieve(first.id))


def kept():
    first = client.responses.create(model=MODEL, input=BOTH_CALLS, tools=TOOLS)
    second = client.responses.create(model=MODEL, previous_response_id=first.id, input=results(first), tools=TOOLS)
    again = client.responses.retrieve(second.id)
    equal((again.output, again.status, again.previous_response_id), (second.output, "completed", first.id), "what was kept")
    items = list(client.responses.input_items.list(second.id, limit=2, order="asc"))
    want = ["message", "reasoning", "function_call", "function_call", "function_call_output", "function_call_output"]
    equal([i.type for i in items], want, "items")
    own = [{"type": "item_reference", "id": i.id} for i in items[1:4]]
    third = client.responses.create(model=MODEL, input=[{"role": "user", "content": BOTH_CALLS}, *own, *results(first)], tools=TOOLS)
    check("18 degrees in Łódź" in third.output_text, third.output_text)
    refused(400, None, lambda: client.responses.cancel(second.id))
    client.responses.delete(second.id)
    refused(404, None, lambda: client.responses.retrieve(second.id))
    refused(400, "previous_response_not_found", lambda: client.responses.create(model=MODEL, previous_response_id=second.id, input="say x"))
    client.responses.retrieve(first.id)


def cancel():
    """A turn that runs is ended by another request."""
    events, cancelled = [], None
    for event in client.responses.create(model=MODEL, input="long 100000", stream=True):
        events.append(event)
        if not cancelled and event.type == "response.output_text.delta":
            cancelled = client.responses.cancel(events[0].response.id)
    equal((cancelled.id, cancelled.status), (events[0].response.id, "cancelled"), "what was cancelled")
    check(len(events) < 10_000, "it went on")
    check(events[-1].type in ("response.failed", "response.incomplete"), f"it ended with {events[-1].type}")
    refused(404, None, lambda: client.responses.cancel("resp_nobody"))


def compact():
    first = client.responses.create(model=MODEL, input="say the first word was amber")
    compacted = client.responses.compact(model=MODEL, previous_response_id=first.id)
    equal(compacted.object, "response.compaction", "object")
    equal([i.type for i in compacted.output], ["message", "compaction"], "output")
    check_usage(compacted.usage)
    again = [i.model_dump(exclude_none=True) for i in compacted.output]
    following = client.responses.create(model=MODEL, input=[*again, {"role": "user", "content": "say onward"}])
    equal(following.output_text, "onward", "text")


def count():
    request = {"model": MODEL, "input": [{"role": "user", "content": "say hello"}], "tools": TOOLS, "instructions": "Be brief."}
    counted = client.responses.input_tokens.count(**request)
    equal(counted.object, "response.input_tokens", "object")
    first = client.responses.create(**request)
    equal(counted.input_tokens, first.usage.input_tokens, "count")
    return f"{counted.input_tokens} tokens"


def turn(connection, **request):
    """The events up to a last one, of which an error is one."""
    connection.response.create(**{"model": MODEL, "tools": TOOLS, "store": False, **request})
    events = []
    for event in connection:
        events.append(event)
        if event.type in ("response.completed", "response.failed", "response.incomplete", "error"):
            return events
    raise AssertionError("the socket was closed")


def socket():
    with client.responses.connect() as connection:
        warm = turn(connection, input=[{"role": "developer", "content": "Be brief."}], generate=False)[-1].response
        equal(warm.output, [], "output of what generates nothing")
        first = turn(connection, input=BOTH_CALLS, previous_response_id=warm.id)
        check_numbers(first)
        check_calls(first[-1].response)
        second = turn(connection, input=results(first[-1].response), previous_response_id=first[-1].response.id)
        check("18 degrees in Łódź" in second[-1].response.output_text, second[-1])
        unknown = turn(connection, input="say x", previous_response_id="resp_nobody")[-1]
        equal((unknown.type, unknown.error.code), ("error", "previous_response_not_found"), "error")
        last = turn(connection, input="say still here")
        equal(last[-1].response.output_text, "still here", "text")


def errors():
    refused(404, None, lambda: client.responses.create(model="nobody", input="x"))
    refused(400, None, lambda: client.responses.create(model=MODEL, input=[{"type": "message", "role": "nobody", "content": "x"}]))
    refused(400, "previous_response_not_found", lambda: client.responses.create(model=MODEL, input="x", previous_response_id="resp_nobody"))
    refused(404, None, lambda: client.responses.retrieve("resp_nobody"))
    refused(400, None, lambda: client.responses.create(model=MODEL, input="x", background=True))
    broken = list(client.responses.create(model=MODEL, input="long 200\nfail after 40", stream=True))
    equal(broken[-1].type, "response.failed", "last event")
    check(broken[-1].response.error.message, "no reason")


main(
    {
        "create": create,
        "stream": stream,
        "tools": tools,
        "tools-stateless": tools_stateless,
        "kept": kept,
        "cancel": cancel,
        "compact": compact,
        "count": count,
        "socket": socket,
        "errors": errors,
    }
)
