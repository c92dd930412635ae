// bracket is a parser plugin: reasoning stands between << and >>, a tool call is [call:NAME {json}].
// It keeps eight bytes a stream, allocates nothing and imports nothing. ABI.md numbers the sections named here.

// A string literal is UTF-16; the ABI wants bytes. They are put into static memory by weir1_describe.
const MANIFEST = '{"name": "bracket", "version": "1.0.0", "abi": 1, "kinds": ["parser"], "reasoning": ["bracket"], "tools": ["bracket"], "description": "<<reasoning>> and [call:NAME {json}]"}';
const FORMAT = "bracket";

// A call begins with the opener and a name of at most 64 bytes; a space and the brace of the arguments follow.
const OPENER = "[call:";
const MAX_NAME = 64;

// Error codes (§14).
const ERR_CONFIG = -1;
const ERR_INPUT = -2;

// Kinds of records (§7), and the aux of a call that was cut.
const TEXT = 1;
const REASONING = 2;
const BLOCK_END = 3;
const MARKER = 4;
const CALL_BEGIN = 5;
const NAME = 6;
const ARGS = 8;
const CALL_END = 13;
const TRUNCATED = 1;

// The input buffer (§5): at most 1,024 bytes held and 512 new ones, with 513 spans behind them.
const IN_CAP = 8192;
const MAX_INPUT = 1536;
const MAX_SPANS = 513;
const input = memory.data(IN_CAP, 4);

// No record is empty but the end of a call, and a call has three bytes at least.
const RECORD = 16;
const records = memory.data((MAX_INPUT * 4 / 3 + 1) * RECORD, 4);
let count: i32 = 0;
let pos: i32 = 0; // in the input: what lies before it has records

const descriptor = memory.data(32, 4);
const manifest = memory.data(1024);

// What the bytes at the start of the input are.
const IN_TEXT = 0;
const IN_REASONING = 1; // until >>
const BEHIND_NAME = 2; // the space between name and arguments
const IN_ARGS = 3; // until the outermost brace closes
const BEHIND_CALL = 4; // the ] that closes the call, or text

// The state window (§10): what differs between streams. The host copies it in and out around each call. Globals
// of AssemblyScript have no address, so its fields are bytes in static memory.
const state = memory.data(8, 4);
const MODE = 0;
const CALLS = 1; // the request has tools
const QUOTED = 2; // the arguments are inside a string
const ESCAPED = 3; // and behind a backslash
const DEPTH = 4; // u32

// What open chose.
let withReasoning = false;
let withTools = false;

// @ts-ignore: decorator
@inline function get(field: usize): i32 { return load<u8>(state + field); }
// @ts-ignore: decorator
@inline function set(field: usize, value: i32): void { store<u8>(state + field, <u8>value); }
// @ts-ignore: decorator
@inline function at(i: i32): u8 { return load<u8>(input + i); }
// @ts-ignore: decorator
@inline function u32At(i: i32): u32 { return load<u32>(input + i); }

function reset(calls: bool): void {
  store<u64>(state, 0);
  set(CALLS, calls ? 1 : 0);
}

// The descriptor (§2).
export function weir1_describe(): usize {
  for (let i = 0; i < MANIFEST.length; i++) store<u8>(manifest + i, <u8>MANIFEST.charCodeAt(i));
  store<u32>(descriptor, 0x31494557);
  store<u32>(descriptor, 32, 4);
  store<u32>(descriptor, <u32>input, 8);
  store<u32>(descriptor, IN_CAP, 12);
  store<u32>(descriptor, <u32>state, 16);
  store<u32>(descriptor, 8, 20);
  store<u32>(descriptor, <u32>manifest, 24);
  store<u32>(descriptor, MANIFEST.length, 28);
  return descriptor;
}

// same compares the input in [from, to) with a string.
function same(from: i32, to: i32, s: string): bool {
  if (to - from != s.length) return false;
  for (let i = 0; i < s.length; i++) if (at(from + i) != <u8>s.charCodeAt(i)) return false;
  return true;
}

// weir1_open looks at the strings of the outermost object: behind a colon they are values, else names (§3).
export function weir1_open(len: i32): i32 {
  if (len < 1 || len > IN_CAP || at(0) != 0x7b) return ERR_CONFIG;
  let depth = 0, colon = false, key = 0, keyEnd = 0;
  withReasoning = withTools = true; // where the config is silent
  for (let i = 0; i < len; i++) {
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
      continue;
    }
    const reasoning = same(key, keyEnd, "reasoning");
    if (!reasoning && !same(key, keyEnd, "tools")) continue;
    const on = same(from, i, FORMAT);
    if (!on && from != i) return ERR_CONFIG;
    if (reasoning) withReasoning = on;
    else withTools = on;
  }
  if (depth != 0) return ERR_CONFIG;
  reset(withTools);
  return 0;
}

// weir1_start looks for reasoning that the prompt has opened already (§4).
export function weir1_start(len: i32): i32 {
  if (len < 16 || len > IN_CAP || u32At(12) != <u32>(len - 16)) return ERR_INPUT;
  reset(withTools && u32At(4) != 1 && u32At(8) != 0);
  for (let i = 17; withReasoning && i < len; i++) {
    const wanted: u8 = get(MODE) == IN_TEXT ? 0x3c : 0x3e; // < >
    if (at(i - 1) != wanted || at(i) != wanted) continue;
    set(MODE, get(MODE) == IN_TEXT ? IN_REASONING : IN_TEXT);
    i++;
  }
  return 0;
}

export function weir1_feed(len: i32, spans: i32, flags: u32): i64 {
  return run(len, spans, (flags & 1) != 0) ? result() : ERR_INPUT;
}

// weir1_finish is a feed where nothing more can come. The last one has no input and closes what is open (§6).
export function weir1_finish(len: i32, spans: i32, why: u32): i64 {
  if (!run(len, spans, true)) return ERR_INPUT;
  if (len == 0 && get(MODE) == IN_ARGS) {
    emit(CALL_END, 0, TRUNCATED);
    set(MODE, IN_TEXT);
  }
  return result();
}

function result(): i64 {
  return (<i64>records << 32) | <i64>(count * RECORD);
}

// run emits records until a marker may go on behind the input, or a name has come. last says that nothing
// follows the input. It returns false where the input breaks the ABI.
function run(len: i32, spans: i32, last: bool): bool {
  count = 0;
  pos = 0;
  if (len < 0 || len > MAX_INPUT || spans < 0 || spans > MAX_SPANS) return false;
  // No call begins up to here: the verdict is the last span (§9).
  const refused: i32 = spans > 0 && u32At(IN_CAP - 4) == 0xffffffff ? <i32>u32At(IN_CAP - 12) : -1;
  let more = true;
  while (more && pos < len) {
    switch (get(MODE)) {
      case IN_TEXT:
        more = text(len, pos > refused, last);
        break;
      case IN_REASONING:
        more = thought(len, last);
        break;
      case BEHIND_NAME:
        emit(MARKER, 1, 0);
        set(MODE, IN_ARGS);
        store<u32>(state, 0, DEPTH);
        break;
      case IN_ARGS:
        args(len);
        break;
      default:
        if (at(pos) == 0x5d) emit(MARKER, 1, 0); // ]
        set(MODE, IN_TEXT);
    }
  }
  return true;
}

// emit says what the next n bytes are; content and arguments are added to a record that is like them.
function emit(kind: i32, n: i32, aux: u32): void {
  const content = kind == TEXT || kind == REASONING || kind == ARGS;
  const end = records + count * RECORD;
  if (content && count > 0 && load<u16>(end - RECORD) == <u16>kind) {
    store<u32>(end - RECORD, load<u32>(end - RECORD, 8) + n, 8);
  } else {
    store<u32>(end, kind); // and no flags
    store<u32>(end, <u32>input + pos, 4);
    store<u32>(end, n, 8);
    store<u32>(end, aux, 12);
    count++;
  }
  pos += n;
}

// text emits text, a marker or a header; false where it must see more, and after a name.
function text(len: i32, mayCall: bool, last: bool): bool {
  const calls = get(CALLS) != 0;
  let i = pos;
  while (i < len && !(at(i) == 0x3c && withReasoning) && !(at(i) == 0x5b && calls)) i++; // < [
  if (i > pos) {
    emit(TEXT, i - pos, 0);
    return true;
  }
  if (at(i) == 0x3c) {
    if (i + 1 == len && !last) return false;
    if (i + 1 < len && at(i + 1) == 0x3c) {
      emit(MARKER, 2, 0);
      set(MODE, IN_REASONING);
      return true;
    }
  } else if (mayCall) {
    const name = header(len);
    if (name > 0) {
      emit(CALL_BEGIN, OPENER.length, 0);
      emit(NAME, name, 0);
      set(MODE, BEHIND_NAME);
      return false;
    }
    if (name < 0 && !last) return false;
  }
  emit(TEXT, 1, 0);
  return true;
}

// header returns the length of the name if a whole header stands at pos, -1 if the beginning of one does,
// else 0.
function header(len: i32): i32 {
  let i = pos;
  for (let k = 0; k < OPENER.length; k++, i++) {
    if (i == len) return -1;
    if (at(i) != <u8>OPENER.charCodeAt(k)) return 0;
  }
  const from = i;
  while (i < len && isName(at(i))) i++;
  const name = i - from;
  if (name > MAX_NAME) return 0;
  if (i == len) return -1;
  if (name == 0 || at(i) != 0x20) return 0;
  if (i + 1 == len) return -1;
  return at(i + 1) == 0x7b ? name : 0; // {
}

// isName takes letters, digits and _ . -
function isName(c: u8): bool {
  return (c >= 0x61 && c <= 0x7a) || (c >= 0x41 && c <= 0x5a) || (c >= 0x30 && c <= 0x39) || c == 0x5f || c == 0x2e || c == 0x2d;
}

// thought emits reasoning or its closer; false where it must see more.
function thought(len: i32, last: bool): bool {
  let i = pos;
  while (i < len && at(i) != 0x3e) i++; // >
  if (i > pos) {
    emit(REASONING, i - pos, 0);
  } else if (i + 1 < len && at(i + 1) == 0x3e) {
    emit(BLOCK_END, 2, 0);
    set(MODE, IN_TEXT);
  } else if (i + 1 == len && !last) {
    return false;
  } else {
    emit(REASONING, 1, 0);
  }
  return true;
}

// args emits arguments, and the end of the call behind the brace that closes them.
function args(len: i32): void {
  let depth = load<u32>(state, DEPTH);
  let quoted = get(QUOTED) != 0;
  let escaped = get(ESCAPED) != 0;
  let i = pos;
  let whole = false;
  while (i < len && !whole) {
    const c = at(i++);
    if (escaped) {
      escaped = false;
    } else if (quoted) {
      escaped = c == 0x5c; // a backslash
      quoted = c != 0x22; // "
    } else if (c == 0x22) {
      quoted = true;
    } else if (c == 0x7b || c == 0x5b) {
      depth++;
    } else if (c == 0x7d || c == 0x5d) {
      whole = --depth == 0;
    }
  }
  store<u32>(state, depth, DEPTH);
  set(QUOTED, quoted ? 1 : 0);
  set(ESCAPED, escaped ? 1 : 0);
  emit(ARGS, i - pos, 0);
  if (whole) {
    emit(CALL_END, 0, 0);
    set(MODE, BEHIND_CALL);
  }
}
