// The official OpenAI client for Node against weir's responses.
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { assert, bothCalls, main, model, parameters, said, url, weather } from './lib.mjs';

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0, timeout: 20_000 });
const tools = [{ type: 'function', name: 'get_weather', description: 'Current weather of a city', parameters, strict: false }];
const inputs = [{ city: 'Paris', days: 2 }, { city: 'Łódź' }];
const types = (items) => items.map((i) => i.type);
const calls = (response) => response.output.filter((i) => i.type === 'function_call');
const results = (response) => calls(response).map((c) => ({ type: 'function_call_output', call_id: c.call_id, output: weather(JSON.parse(c.arguments)) }));

function checkUsage({ usage }) {
  assert.ok(usage.input_tokens > 0 && usage.output_tokens > 0, 'no usage');
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  assert.ok(Number.isInteger(usage.input_tokens_details.cached_tokens) && Number.isInteger(usage.output_tokens_details.reasoning_tokens));
}

function checkCalls(response) {
  assert.equal(response.status, 'completed');
  assert.deepEqual(types(response.output), ['reasoning', 'function_call', 'function_call']);
  assert.deepEqual(calls(response).map((c) => JSON.parse(c.arguments)), inputs);
}

const is = (Class, status, code) => (err) => {
  assert.ok(err instanceof Class, String(err));
  if (status) assert.equal(err.status, status);
  if (code) assert.equal(err.code, code);
  assert.ok(err.requestID, 'no request id');
  return true;
};

// Events of a stream: numbered from 0, and ending with one that is the last.
function checkNumbers(events) {
  assert.deepEqual(events.map((e) => e.sequence_number), events.map((_, i) => i));
  assert.deepEqual(events.slice(0, 2).map((e) => e.type), ['response.created', 'response.in_progress']);
  assert.equal(events.at(-1).type, 'response.completed');
}

await main({
  async create() {
    const r = await client.responses.create({ model, input: 'say ' + said, instructions: 'Be brief.', metadata: { a: 'b' }, tools });
    assert.equal(r.output_text, said);
    assert.equal(r.status, 'completed');
    assert.equal(r.model, model);
    assert.equal(r.instructions, 'Be brief.');
    assert.deepEqual(r.metadata, { a: 'b' });
    assert.deepEqual(types(r.output), ['reasoning', 'message']);
    assert.equal(r.tools[0].name, 'get_weather');
    checkUsage(r);
    const parts = [{ role: 'developer', content: 'Be brief.' }, { role: 'user', content: [{ type: 'input_text', text: 'say ' + said }] }];
    assert.equal((await client.responses.create({ model, input: parts })).output_text, said);
    const format = { type: 'json_schema', name: 'place', strict: true, schema: { ...parameters, additionalProperties: false } };
    const object = JSON.parse((await client.responses.create({ model, input: 'Where?', text: { format } })).output_text);
    assert.equal(typeof object.city, 'string');
    const short = await client.responses.create({ model, input: 'long 500', max_output_tokens: 20 });
    assert.equal(short.status, 'incomplete');
    assert.equal(short.incomplete_details.reason, 'max_output_tokens');
  },

  async stream() {
    const s = client.responses.stream({ model, input: 'say ' + said, reasoning: { summary: 'auto' }, include: ['reasoning.encrypted_content'] });
    const events = [];
    let text = '';
    let thought = '';
    s.on('event', (e) => { events.push(e); });
    s.on('response.output_text.delta', (e) => { text += e.delta; });
    s.on('response.reasoning_summary_text.delta', (e) => { thought += e.delta; });
    const final = await s.finalResponse();
    assert.equal(text, said);
    assert.equal(final.output_text, said);
    assert.equal(thought, final.output[0].summary[0].text);
    assert.ok(final.output[0].encrypted_content, 'no sealed reasoning');
    checkNumbers(events);
    checkUsage(final);
  },

  // The answer is gone on with by its id: what it said stands on the server alone.
  async tools() {
    const first = await client.responses.create({ model, input: bothCalls, tools });
    checkCalls(first);
    const s = client.responses.stream({ model, previous_response_id: first.id, input: results(first), tools });
    const done = [];
    s.on('response.output_item.done', (e) => { done.push(e.item.type); });
    const second = await s.finalResponse();
    assert.match(second.output_text, /18 degrees in Łódź/);
    assert.equal(second.previous_response_id, first.id);
    assert.ok(second.usage.input_tokens > first.usage.input_tokens, 'the conversation is not part of the prompt');
    assert.deepEqual(done, types(second.output));
    const events = [];
    for await (const e of await client.responses.create({ model, previous_response_id: second.id, input: bothCalls, tools, stream: true })) events.push(e);
    checkNumbers(events);
    checkCalls(events.at(-1).response);
    const args = events.filter((e) => e.type === 'response.function_call_arguments.delta').map((e) => e.delta).join('');
    assert.equal(args, calls(events.at(-1).response).map((c) => c.arguments).join(''));
  },

  // Nothing is kept: the client sends everything again, reasoning sealed.
  async 'tools-stateless'() {
    const base = { model, tools, store: false, include: ['reasoning.encrypted_content'] };
    const first = await client.responses.create({ ...base, input: bothCalls });
    checkCalls(first);
    assert.ok(first.output[0].encrypted_content, 'no sealed reasoning');
    const second = await client.responses.create({ ...base, input: [{ role: 'user', content: bothCalls }, ...first.output, ...results(first)] });
    assert.match(second.output_text, /18 degrees in Łódź/);
    await assert.rejects(client.responses.create({ ...base, previous_response_id: first.id, input: 'say x' }), is(OpenAI.BadRequestError, 400, 'previous_response_not_found'));
    await assert.rejects(client.responses.retrieve(first.id), is(OpenAI.NotFoundError, 404));
  },

  async kept() {
    const first = await client.responses.create({ model, input: bothCalls, tools });
    const second = await client.responses.create({ model, previous_response_id: first.id, input: results(first), tools });
    assert.deepEqual(await client.responses.retrieve(second.id).then(({ output, status, previous_response_id }) => ({ output, status, previous_response_id })),
      { output: second.output, status: 'completed', previous_response_id: first.id });
    const items = [];
    for await (const i of client.responses.inputItems.list(second.id, { limit: 2, order: 'asc' })) items.push(i);
    assert.deepEqual(types(items), ['message', 'reasoning', 'function_call', 'function_call', 'function_call_output', 'function_call_output']);
    const own = items.slice(1, 4).map((i) => ({ type: 'item_reference', id: i.id }));
    const third = await client.responses.create({ model, input: [{ role: 'user', content: bothCalls }, ...own, ...results(first)], tools });
    assert.match(third.output_text, /18 degrees in Łódź/);
    await assert.rejects(client.responses.cancel(second.id), is(OpenAI.BadRequestError, 400));
    await client.responses.delete(second.id);
    await assert.rejects(client.responses.retrieve(second.id), is(OpenAI.NotFoundError, 404));
    await assert.rejects(client.responses.create({ model, previous_response_id: second.id, input: 'say x' }), is(OpenAI.BadRequestError, 400, 'previous_response_not_found'));
    await client.responses.retrieve(first.id);
  },

  // A turn that runs is ended by another request.
  async cancel() {
    const events = [];
    let cancelled;
    for await (const e of await client.responses.create({ model, input: 'long 100000', stream: true })) {
      events.push(e.type);
      if (!cancelled && e.type === 'response.output_text.delta') cancelled = client.responses.cancel(events.id);
      if (e.type === 'response.created') events.id = e.response.id;
    }
    const response = await cancelled;
    assert.equal(response.id, events.id);
    assert.equal(response.status, 'cancelled');
    assert.ok(events.length < 10_000, 'it went on');
    assert.match(events.at(-1), /^response\.(failed|incomplete)$/);
    await assert.rejects(client.responses.cancel('resp_nobody'), is(OpenAI.NotFoundError, 404));
  },

  async compact() {
    const first = await client.responses.create({ model, input: 'say the first word was amber' });
    const compacted = await client.responses.compact({ model, previous_response_id: first.id });
    assert.equal(compacted.object, 'response.compaction');
    assert.deepEqual(types(compacted.output), ['message', 'compaction']);
    assert.ok(compacted.output[1].encrypted_content, 'no seal');
    checkUsage(compacted);
    const next = await client.responses.create({ model, input: [...compacted.output, { role: 'user', content: 'say onward' }] });
    assert.equal(next.output_text, 'onward');
    await assert.rejects(client.responses.compact({ input: 'x' }), is(OpenAI.BadRequestError, 400));
  },

  async count() {
    const request = { model, input: [{ role: 'user', content: 'say hello' }], tools, instructions: 'Be brief.' };
    const counted = await client.responses.inputTokens.count(request);
    assert.equal(counted.object, 'response.input_tokens');
    const first = await client.responses.create(request);
    assert.equal(counted.input_tokens, first.usage.input_tokens);
    const more = { model, previous_response_id: first.id, input: 'say more', tools };
    const recount = await client.responses.inputTokens.count(more);
    assert.equal(recount.input_tokens, (await client.responses.create(more)).usage.input_tokens);
    return `${counted.input_tokens}, ${recount.input_tokens} tokens`;
  },

  async socket() {
    const ws = new ResponsesWS(client);
    const stream = ws.stream();
    // The messages up to a last one. An error frame is one.
    const turn = async (request) => {
      ws.send({ type: 'response.create', model, tools, store: false, ...request });
      const events = [];
      for (;;) {
        const { value: m, done } = await stream.next();
        if (done) throw new Error('the stream of messages ended');
        if (m.type === 'close') throw new Error(`closed with ${m.code}`);
        if (m.type === 'error') return { error: m.error.error?.error ?? m.error };
        if (m.type !== 'message') continue;
        events.push(m.message);
        if (/^response\.(completed|failed|incomplete)$/.test(m.message.type)) return { events, response: m.message.response };
      }
    };
    const warm = await turn({ input: [{ role: 'developer', content: 'Be brief.' }], generate: false });
    assert.deepEqual(warm.response.output, []);
    // Not stored, and gone on with all the same: a socket keeps its own.
    const first = await turn({ input: bothCalls, previous_response_id: warm.response.id });
    checkNumbers(first.events);
    checkCalls(first.response);
    const second = await turn({ input: results(first.response), previous_response_id: first.response.id });
    assert.match(second.response.output.at(-1).content[0].text, /18 degrees in Łódź/);
    const unknown = await turn({ input: 'say x', previous_response_id: 'resp_nobody' });
    assert.equal(unknown.error.code, 'previous_response_not_found');
    const model404 = await turn({ model: 'nobody', input: 'say x' });
    assert.match(model404.error.message, /nobody/);
    const last = await turn({ input: 'say still here' });
    assert.equal(last.response.output.at(-1).content[0].text, 'still here');
    ws.close();
  },

  async errors() {
    await assert.rejects(client.responses.create({ model: 'nobody', input: 'x' }), is(OpenAI.NotFoundError, 404));
    await assert.rejects(client.responses.create({ model, input: [{ type: 'message', role: 'nobody', content: 'x' }] }), is(OpenAI.BadRequestError, 400));
    await assert.rejects(client.responses.create({ model, input: 'x', previous_response_id: 'resp_nobody' }), is(OpenAI.BadRequestError, 400, 'previous_response_not_found'));
    await assert.rejects(client.responses.create({ model, input: [{ type: 'item_reference', id: 'msg_nobody' }] }), is(OpenAI.APIError));
    await assert.rejects(client.responses.retrieve('resp_nobody'), is(OpenAI.NotFoundError, 404));
    await assert.rejects(client.responses.create({ model, input: 'x', background: true }), is(OpenAI.BadRequestError, 400));
    const broken = [];
    for await (const e of await client.responses.create({ model, input: 'long 200\nfail after 40', stream: true })) broken.push(e);
    assert.equal(broken.at(-1).type, 'response.failed');
    assert.ok(broken.at(-1).response.error.message, 'no reason');
  },
});
