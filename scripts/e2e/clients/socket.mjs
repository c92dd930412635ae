// Weir's framed WebSocket mode, with the WebSocket of Node itself.
import { assert, main, model, parameters, said, url } from './lib.mjs';

const surfaces = {
  chat: {
    path: '/v1/chat/completions',
    body: (content) => ({
      model,
      messages: [{ role: 'user', content }],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
    }),
    text: (frames) => frames.map((f) => f.data?.choices?.[0]?.delta?.content ?? '').join(''),
    args: (frames) => frames.map((f) => f.data?.choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments ?? '').join(''),
    finish: (frames) => frames.map((f) => f.data?.choices?.[0]?.finish_reason).filter(Boolean).join(),
    ends: ['stop', 'tool_calls'],
  },
  messages: {
    path: '/v1/messages',
    body: (content) => ({
      model,
      max_tokens: 2_000_000,
      messages: [{ role: 'user', content }],
      tools: [{ name: 'get_weather', input_schema: parameters }],
    }),
    text: (frames) => frames.map((f) => f.data?.delta?.text ?? '').join(''),
    args: (frames) => frames.map((f) => f.data?.delta?.partial_json ?? '').join(''),
    finish: (frames) => frames.map((f) => f.data?.delta?.stop_reason).filter(Boolean).join(),
    ends: ['end_turn', 'tool_use'],
  },
};

// A socket whose frames are waited for one by one.
class Socket {
  #waiting = [];
  #frames = [];

  static async open(path) {
    const s = new Socket();
    s.ws = new WebSocket(url.replace(/^http/, 'ws') + path);
    s.ws.onmessage = (m) => s.#take(JSON.parse(m.data));
    s.closed = new Promise((resolve) => { s.ws.onclose = (e) => { s.#take({ event: 'closed', code: e.code }); resolve(e.code); }; });
    await new Promise((resolve, reject) => { s.ws.onopen = resolve; s.ws.onerror = () => reject(new Error('the socket does not open')); });
    return s;
  }

  #take(frame) {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(frame); else this.#frames.push(frame);
  }

  send(value) { this.ws.send(typeof value === 'string' ? value : JSON.stringify(value)); }

  async next() {
    const frame = this.#frames.shift() ?? await new Promise((resolve, reject) => {
      const t = setTimeout(() => reject(new Error('no frame within 10 s')), 10_000);
      this.#waiting.push((f) => { clearTimeout(t); resolve(f); });
    });
    assert.notEqual(frame.event, 'closed', `the socket was closed with ${frame.code}`);
    return frame;
  }

  // The frames of a turn up to done, which is left out.
  async rest(id) {
    const frames = [];
    for (;;) {
      const f = await this.next();
      assert.equal(f.id, id);
      if (f.event === 'done') return frames;
      frames.push(f);
    }
  }

  async turn(id, body) {
    this.send({ type: 'request', id, body });
    const frames = await this.rest(id);
    assert.ok(!frames.some((f) => f.event === 'error'), JSON.stringify(frames.find((f) => f.event === 'error')));
    return frames;
  }
}

async function run(surface) {
  const { path, body, text, args, finish, ends } = surface;
  const s = await Socket.open(path);

  let frames = await s.turn('one', body('say ' + said));
  assert.equal(text(frames), said);
  assert.equal(finish(frames), ends[0]);
  frames = await s.turn(2, body('call get_weather {"city":"Paris"}'));
  assert.deepEqual(JSON.parse(args(frames)), { city: 'Paris' });
  assert.equal(finish(frames), ends[1]);

  // What is wrong costs a frame, not the socket.
  for (const nonsense of ['nonsense', '{"type":"dance","id":"x"}', '{"type":"request","id":"x"}', '[]', new Uint8Array([1, 2, 3])]) {
    if (typeof nonsense === 'string') s.send(nonsense); else s.ws.send(nonsense);
    let f = await s.next();
    assert.equal(f.event, 'error', JSON.stringify(f));
    assert.equal(f.status, 400, JSON.stringify(f));
    assert.ok(f.data.error.message, JSON.stringify(f));
    if (String(nonsense).includes('"request"')) {
      f = await s.next();
      assert.equal(f.event, 'done', JSON.stringify(f));
    }
  }

  // A turn that runs is not disturbed by another, and ends when it is cancelled.
  s.send({ type: 'request', id: 'long', body: body('long 100000') });
  while (text([await s.next()]) === '');
  s.send({ type: 'request', id: 'early', body: body('say no') });
  const early = [];
  while (early.length < 2) {
    const f = await s.next();
    if (f.id === 'early') early.push(f);
  }
  assert.deepEqual(early.map((f) => [f.event, f.status]), [['error', 409], ['done', undefined]]);
  s.send({ type: 'cancel', id: 'other' });
  s.send({ type: 'cancel', id: 'long' });
  frames = await s.rest('long');
  assert.ok(frames.length < 2_000, `${frames.length} frames after the cancel`);

  frames = await s.turn('last', body('say ' + said));
  assert.equal(text(frames), said);
  s.ws.close(1000);
  assert.equal(await s.closed, 1000);
}

await main({ chat: () => run(surfaces.chat), messages: () => run(surfaces.messages) });
