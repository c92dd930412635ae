// The official OpenAI client for Node against weir's chat completions.
import OpenAI from 'openai';
import { assert, bothCalls, main, model, parameters, said, url, weather } from './lib.mjs';

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0, timeout: 20_000 });
const tools = [{ type: 'function', function: { name: 'get_weather', description: 'Current weather of a city', parameters } }];
const user = (content) => [{ role: 'user', content }];

await main({
  async stream() {
    const s = client.chat.completions.stream({ model, messages: user('say ' + said), tools, stream_options: { include_usage: true } });
    let text = '';
    let reasoning = '';
    s.on('content', (delta) => { text += delta; });
    s.on('chunk', (c) => { reasoning += c.choices[0]?.delta?.reasoning_content ?? ''; });
    const final = await s.finalChatCompletion();
    assert.equal(text, said);
    assert.equal(final.choices[0].message.content, said);
    assert.equal(final.choices[0].finish_reason, 'stop');
    assert.ok(reasoning.length > 0, 'no reasoning_content');
    assert.ok((await s.totalUsage()).completion_tokens > 0, 'no usage');
  },

  async 'two-calls'() {
    const s = client.chat.completions.stream({ model, messages: user(bothCalls), tools, parallel_tool_calls: true });
    const done = [];
    s.on('tool_calls.function.arguments.done', (call) => { done.push(call); });
    const final = await s.finalChatCompletion();
    assert.equal(final.choices[0].finish_reason, 'tool_calls');
    const args = final.choices[0].message.tool_calls.map((c) => JSON.parse(c.function.arguments));
    assert.deepEqual(args, [{ city: 'Paris', days: 2 }, { city: 'Łódź' }]);
    assert.deepEqual(done.map((c) => c.index), [0, 1]);
  },

  async 'run-tools'() {
    const asked = [];
    const runnable = [{
      type: 'function',
      function: { ...tools[0].function, parse: JSON.parse, function: (args) => { asked.push(args); return weather(args); } },
    }];
    for (const stream of [true, false]) {
      asked.length = 0;
      const runner = client.chat.completions.runTools({ model, stream, messages: user(bothCalls), tools: runnable }, { maxChatCompletions: 4 });
      const text = await runner.finalContent();
      assert.deepEqual(asked, [{ city: 'Paris', days: 2 }, { city: 'Łódź' }]);
      assert.match(text, /18 degrees in Łódź/);
      assert.equal(runner.allChatCompletions().length, 2);
    }
  },

  async models() {
    const ids = [];
    for await (const m of client.models.list()) ids.push(m.id);
    assert.equal(ids[0], model);
    assert.equal((await client.models.retrieve(model)).id, model);
    return ids.join(', ');
  },

  async errors() {
    await assert.rejects(client.chat.completions.create({ model: 'nobody', messages: user('x') }), (err) => {
      assert.ok(err instanceof OpenAI.NotFoundError, String(err));
      assert.ok(err.requestID, 'no request id');
      return true;
    });
    const broken = client.chat.completions.stream({ model, messages: user('long 200\nfail after 40') });
    await assert.rejects(broken.finalChatCompletion(), OpenAI.APIError);
  },
});
