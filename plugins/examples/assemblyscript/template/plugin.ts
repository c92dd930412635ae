// recent is a template policy: the reasoning in front of the last message that a user wrote is dropped from the
// prompt, and everything else is kept. It imports nothing. ABI.md numbers the sections named here.

// A string literal is UTF-16; the ABI wants bytes. They are put into static memory by weir1_describe.
const MANIFEST = '{"name": "recent", "version": "1.0.0", "abi": 1, "kinds": ["template"], "policies": ["recent"], "description": "drops the reasoning in front of the last user message"}';
const POLICY = "recent";

// Error codes (§14).
const ERR_CONFIG = -1;
const ERR_INPUT = -2;

// Outlines and plans (§12).
const HEADER: u32 = 16;
const ROW: u32 = 24;
const OP: u32 = 16;
const MAX_OPS: u32 = 262144 / OP;
const REASONING = 2; // kind of a row
const LAST_USER = 4; // flag of a row
const PART = 2;
const DROP = 1;

const PAGE: u32 = 65536;
const MAX_IN_CAP: u32 = 1 << 20;

const descriptor = memory.data(32, 4);
const manifest = memory.data(1024);

// base is where the input buffer begins: it is all memory behind the static data, so that it grows without
// moving. room is how long it is.
function base(): u32 { return (<u32>__heap_base + 7) & ~7; }
function room(): u32 { return (<u32>memory.size() * PAGE - base()) & ~3; }

function at(i: u32): u32 { return load<u8>(base() + i); }

// The descriptor (§2).
export function weir1_describe(): usize {
  for (let i = 0; i < MANIFEST.length; i++) store<u8>(manifest + i, <u8>MANIFEST.charCodeAt(i));
  store<u32>(descriptor, 0x31494557);
  store<u32>(descriptor, 32, 4);
  store<u32>(descriptor, base(), 8);
  store<u32>(descriptor, min(room(), MAX_IN_CAP), 12);
  store<u32>(descriptor, <u32>manifest, 24);
  store<u32>(descriptor, MANIFEST.length, 28);
  return descriptor;
}

export function weir1_reserve(len: u32): u32 {
  if (len > room() && memory.grow(<i32>((len - room() + PAGE - 1) / PAGE)) < 0) return 0;
  return base();
}

// same compares the input in [from, to) with a string.
function same(from: u32, to: u32, s: string): bool {
  if (to - from != <u32>s.length) return false;
  for (let i = 0; i < s.length; i++) if (at(from + i) != s.charCodeAt(i)) return false;
  return true;
}

// weir1_open looks at the strings of the outermost object: behind a colon they are values, else names (§3).
export function weir1_open(len: u32): i32 {
  if (len < 1 || len > room() || at(0) != 0x7b) return ERR_CONFIG;
  let depth = 0, colon = false, key: u32 = 0, keyEnd: u32 = 0;
  for (let i: u32 = 0; i < len; i++) {
    const c = at(i);
    if (c == 0x7b || c == 0x5b) depth++; // { [
    if (c == 0x7d || c == 0x5d) depth--; // } ]
    if (c == 0x2c || c == 0x7b) colon = false; // , {
    if (c == 0x3a) colon = true; // :
    if (c != 0x22) continue; // "
    const from = ++i;
    while (i < len && at(i) != 0x22) i += at(i) == 0x5c ? 2 : 1; // a backslash takes the next byte along
    if (i >= len) return ERR_CONFIG;
    if (depth != 1) continue;
    if (!colon) {
      key = from;
      keyEnd = i;
    } else if (same(key, keyEnd, "policy") && i > from && !same(from, i, POLICY)) {
      return ERR_CONFIG;
    }
  }
  return depth == 0 ? 0 : ERR_CONFIG;
}

// weir1_plan drops what is old, the oldest first; nothing is old in a conversation that no user wrote in. An
// instruction is shorter than a row, so the plan takes the place of the rows that were read.
export function weir1_plan(len: u32): i64 {
  const b = base();
  if (len < HEADER || len > room() || load<u32>(b) != 1) return ERR_INPUT;
  const rows = load<u32>(b, 4);
  if (rows > (len - HEADER) / ROW) return ERR_INPUT;
  let last: u32 = 0;
  for (let i: u32 = 0; i < rows; i++) {
    const row = b + HEADER + i * ROW;
    if ((load<u16>(row, 18) & LAST_USER) != 0) last = load<u32>(row);
  }
  let ops: u32 = 0;
  for (let i: u32 = 0; i < rows && ops < MAX_OPS; i++) {
    const row = b + HEADER + i * ROW;
    const message = load<u32>(row), part = load<u16>(row, 4);
    if (load<u8>(row, 6) != REASONING || message >= last) continue;
    const op = b + ops++ * OP;
    store<u32>(op, PART | (DROP << 16));
    store<u32>(op, message, 4);
    store<u32>(op, part, 8); // and a key of no length
    store<u32>(op, 0, 12);
  }
  return (<i64>b << 32) | <i64>(ops * OP);
}
