// The official Anthropic client for Node against weir's messages.
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { assert, bothCalls, main, model, parameters, said, url, weather } from './lib.mjs';

const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0, timeout: 20_000 });
const description = 'Current weather of a city';
const tools = [{ name: 'get_weather', description, input_schema: parameters }];
const thinking = { type: 'enabled', budget_tokens: 1024 };
const base = { model, max_tokens: 2048, thinking, tools };

await main({
  async stream() {
    const s = client.messages.stream({ ...base, messages: [{ role: 'user', content: 'say ' + said }] });
    let text = '';
    let thought = '';
    s.on('text', (delta) => { text += delta; });
    s.on('thinking', (delta) => { thought += delta; });
    const final = await s.finalMessage();
    assert.equal(text, said);
    assert.deepEqual(final.content.map((b) => b.type), ['thinking', 'text']);
    assert.equal(final.content[0].thinking, thought);
    assert.ok(final.content[0].signature, 'no signature');
    assert.equal(final.stop_reason, 'end_turn');
    assert.ok(final.usage.input_tokens + (final.usage.cache_read_input_tokens ?? 0) > 0 && final.usage.output_tokens > 0, 'no usage');
  },

  async 'tool-loop'() {
    const messages = [{ role: 'user', content: 'interleave\n' + bothCalls }];
    let final;
    let rounds = 0;
    for (; rounds < 5; rounds++) {
      final = await client.messages.stream({ ...base, messages }).finalMessage();
      // As the documentation wants it: the content goes back as it came, thinking and signatures included.
      messages.push({ role: 'assistant', content: final.content });
      if (final.stop_reason !== 'tool_use') break;
      const calls = final.content.filter((b) => b.type === 'tool_use');
      messages.push({ role: 'user', content: calls.map((c) => ({ type: 'tool_result', tool_use_id: c.id, content: weather(c.input) })) });
    }
    assert.equal(rounds, 1);
    assert.deepEqual(messages[1].content.map((b) => b.type), ['thinking', 'tool_use', 'thinking', 'tool_use']);
    assert.deepEqual(messages[1].content.filter((b) => b.type === 'tool_use').map((b) => b.input), [{ city: 'Paris', days: 2 }, { city: 'Łódź' }]);
    assert.match(final.content.at(-1).text, /18 degrees in Łódź/);
  },

  async 'tool-runner'() {
    const asked = [];
    const runnable = [betaTool({ name: 'get_weather', description, inputSchema: parameters, run: (input) => { asked.push(input); return weather(input); } })];
    for (const stream of [true, false]) {
      asked.length = 0;
      const runner = client.beta.messages.toolRunner({ model, max_tokens: 2048, thinking, stream, tools: runnable, messages: [{ role: 'user', content: bothCalls }], max_iterations: 4 });
      const final = await runner.runUntilDone();
      assert.deepEqual(asked, [{ city: 'Paris', days: 2 }, { city: 'Łódź' }]);
      assert.match(final.content.at(-1).text, /18 degrees in Łódź/);
    }
  },

  async count() {
    const messages = [{ role: 'user', content: 'say hello' }];
    const counted = await client.messages.countTokens({ model, thinking, tools, messages });
    const answer = await client.messages.create({ ...base, messages });
    assert.equal(counted.input_tokens, answer.usage.input_tokens + (answer.usage.cache_read_input_tokens ?? 0));
    return `${counted.input_tokens} tokens`;
  },

  async models() {
    const ids = [];
    for await (const m of client.models.list()) ids.push(m.id);
    assert.equal(ids[0], model);
    assert.equal((await client.models.retrieve(model)).id, model);
    return ids.join(', ');
  },

  async errors() {
    await assert.rejects(client.messages.create({ ...base, model: 'nobody', messages: [{ role: 'user', content: 'x' }] }), (err) => {
      assert.ok(err instanceof Anthropic.NotFoundError, String(err));
      assert.ok(err.requestID, 'no request id');
      return true;
    });
    const broken = client.messages.stream({ model, max_tokens: 2048, messages: [{ role: 'user', content: 'long 200\nfail after 40' }] });
    await assert.rejects(broken.finalMessage(), Anthropic.APIError);
  },
});
