// What the client programs share. A program runs the scenario that its argument names, and ends with 0,
// or with 1 and a line "FAIL: reason".
import assert from 'node:assert/strict';

export const url = process.env.WEIR_URL;
export const model = process.env.WEIR_MODEL;
export { assert };

export const parameters = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
};

export const said = 'naïve 堰 😀 "quoted" \\back </tool> {"a":1}';
export const bothCalls = 'call get_weather {"city":"Paris","days":2}\ncall get_weather {"city":"Łódź"}';

// The tool that the scenarios offer. It says what it was called with.
export const weather = ({ city, days }) => `18 degrees in ${city}, ${days ?? 1} days`;

export async function main(scenarios, name = process.argv[2]) {
  try {
    assert.ok(scenarios[name], `no scenario ${name}`);
    const note = await scenarios[name]();
    console.log(note ?? 'ok');
  } catch (err) {
    console.error(err?.stack ?? err);
    console.error('FAIL: ' + String(err?.message ?? err).split('\n').slice(0, 12).join(' '));
    process.exit(1);
  }
  process.exit(0);
}
