// Vercel's AI SDK with each of its providers that speak a protocol of weir's. The argument is provider/scenario.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { assert, bothCalls, main, model, parameters, said, url, weather } from './lib.mjs';

// What the SDK sent.
const sent = [];
const settings = {
  apiKey: 'any',
  fetch: (input, init) => {
    sent.push(JSON.parse(init.body));
    return fetch(input, init);
  },
};
const openai = createOpenAI({ ...settings, baseURL: `${url}/v1` });
const providers = {
  chat: { of: (id) => openai.chat(id) },
  compatible: { of: createOpenAICompatible({ ...settings, name: 'weir', baseURL: `${url}/v1`, includeUsage: true, supportsStructuredOutputs: true }), reasons: true },
  anthropic: {
    of: createAnthropic({ ...settings, baseURL: `${url}/v1` }),
    options: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
    reasons: true,
  },
  responses: { of: (id) => openai.responses(id), options: { openai: { forceReasoning: true, reasoningSummary: 'auto' } }, reasons: true },
  'open-responses': { of: createOpenResponses({ ...settings, name: 'weir', url: `${url}/v1/responses` }), reasons: true },
};

const [name, scenario] = process.argv[2].split('/');
const provider = providers[name];
const base = { model: provider.of(model), providerOptions: provider.options, maxRetries: 0 };
const inputs = [{ city: 'Paris', days: 2 }, { city: 'Łódź' }];

function weatherTools(asked) {
  return {
    get_weather: tool({
      description: 'Current weather of a city',
      inputSchema: jsonSchema(parameters),
      execute: (input) => { asked.push(input); return weather(input); },
    }),
  };
}

function checkUsage(usage) {
  assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0, `usage: ${JSON.stringify(usage)}`);
}

// Both runs of the tool loop: a step with two calls, and one with the answer.
async function loop(run) {
  const asked = [];
  sent.length = 0;
  const steps = await run({ ...base, tools: weatherTools(asked), stopWhen: stepCountIs(4), prompt: bothCalls });
  assert.deepEqual(asked, inputs);
  assert.equal(steps.length, 2);
  assert.equal(steps[0].finishReason, 'tool-calls');
  assert.deepEqual(steps[0].toolCalls.map((c) => c.input), inputs);
  assert.deepEqual(steps[0].toolResults.map((r) => r.output), inputs.map(weather));
  assert.equal(steps[1].finishReason, 'stop');
  assert.match(steps[1].text, /18 degrees in Łódź/);
  if (provider.reasons) assert.ok(steps[0].reasoningText, 'no reasoning');
  assert.equal(sent.length, 2);
  if (name === 'responses') {
    // This provider does not send back what is kept under an id.
    assert.notEqual(sent[0].store, false);
    const references = sent[1].input.filter((i) => i.type === 'item_reference').map((i) => i.id);
    assert.ok(references.some((id) => id.startsWith('rs_')), `references: ${references}`);
  }
}

await main({
  async text() {
    const r = await generateText({ ...base, prompt: 'say ' + said });
    assert.equal(r.text, said);
    assert.equal(r.finishReason, 'stop');
    checkUsage(r.usage);
    if (provider.reasons) assert.ok(r.reasoningText, 'no reasoning');
    if (sent[0].stream) assert.fail('this was to be one body');
  },

  async stream() {
    const r = streamText({ ...base, prompt: 'say ' + said });
    const kinds = [];
    let text = '';
    for await (const part of r.fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta') text += part.text;
      if (kinds.at(-1) !== part.type) kinds.push(part.type);
    }
    assert.equal(text, said);
    assert.equal(await r.text, said);
    assert.equal(await r.finishReason, 'stop');
    checkUsage(await r.usage);
    assert.ok(sent[0].stream);
    const blocks = kinds.filter((k) => k.endsWith('-start') && k !== 'start-step');
    const reasoned = blocks.filter((k) => k === 'reasoning-start').length;
    assert.deepEqual(blocks.slice(-1), ['text-start']);
    assert.equal(reasoned > 0, Boolean(provider.reasons), `parts: ${kinds}`);
  },

  async 'tool-loop'() {
    await loop(async (options) => (await generateText(options)).steps);
    await loop(async (options) => {
      const r = streamText(options);
      for await (const part of r.fullStream) if (part.type === 'error') throw part.error;
      return r.steps;
    });
  },

  async object() {
    const schema = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city', 'days'], additionalProperties: false };
    const { object } = await generateObject({ ...base, providerOptions: undefined, schema: jsonSchema(schema), prompt: 'Where, and for how long?' });
    assert.deepEqual(Object.keys(object).sort(), ['city', 'days']);
    assert.equal(typeof object.city, 'string');
    assert.ok(Number.isInteger(object.days));
    return JSON.stringify(object);
  },

  async errors() {
    await assert.rejects(generateText({ ...base, model: provider.of('nobody'), prompt: 'x' }), (err) => {
      assert.ok(APICallError.isInstance(err), String(err));
      assert.equal(err.statusCode, 404);
      assert.match(err.message, /nobody/);
      return true;
    });
    const r = streamText({ ...base, prompt: 'long 200\nfail after 40', onError() {} });
    const broken = [];
    for await (const part of r.fullStream) if (part.type === 'error') broken.push(part.error);
    assert.equal(broken.length, 1, 'a broken stream was taken for whole');
  },
}, scenario);
