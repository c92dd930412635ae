// recent is a template policy: the reasoning in front of the last message that a user wrote is dropped from the
// prompt, and everything else is kept. It allocates nothing but the room that the host asks for, and imports
// nothing. ABI.md numbers the sections named here.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define EXPORT(name) __attribute__((export_name(#name), used))

static const char manifest[] = "{\"name\": \"recent\", \"version\": \"1.0.0\", \"abi\": 1, \"kinds\": [\"template\"],"
                               " \"policies\": [\"recent\"], \"description\": \"drops the reasoning in front of the last user message\"}";
static const char policy[] = "recent";

enum { ERR_CONFIG = -1, ERR_INPUT = -2 }; // §14

// Outlines and plans (§12).
enum {
  HEADER = 16, ROW = 24, OP = 16, MAX_OPS = 262144 / OP,
  REASONING = 2, // kind of a row
  LAST_USER = 4, // flag of a row
  PART = 2, DROP = 1,
};

// The input buffer is all memory behind the static data, so that it grows without moving.
extern u8 __heap_base;
enum { PAGE = 65536, MAX_IN_CAP = 1 << 20 };

static u8 *in(void) { return (u8 *)(((u32)&__heap_base + 7) & ~7u); }
static u32 room(void) { return (__builtin_wasm_memory_size(0) * PAGE - (u32)in()) & ~3u; }

static u32 descriptor[8]; // §2

EXPORT(weir1_describe) const u32 *describe(void) {
  u32 cap = room();
  descriptor[0] = 0x31494557;
  descriptor[1] = sizeof descriptor;
  descriptor[2] = (u32)in();
  descriptor[3] = cap < MAX_IN_CAP ? cap : MAX_IN_CAP;
  descriptor[6] = (u32)manifest;
  descriptor[7] = sizeof manifest - 1;
  return descriptor;
}

EXPORT(weir1_reserve) u32 reserve(u32 n) {
  if (n > room() && __builtin_wasm_memory_grow(0, (n - room() + PAGE - 1) / PAGE) == (u32)-1) return 0;
  return (u32)in();
}

static int same(const u8 *b, u32 n, const char *s, u32 length) {
  if (n != length) return 0;
  for (u32 i = 0; i < n; i++)
    if (b[i] != (u8)s[i]) return 0;
  return 1;
}

// weir1_open looks at the strings of the outermost object: behind a colon they are values, else names (§3).
EXPORT(weir1_open) int open(u32 n) {
  const u8 *b = in();
  u32 depth = 0, key = 0, key_length = 0, colon = 0;
  if (n > room() || n == 0 || b[0] != '{') return ERR_CONFIG;
  for (u32 i = 0; i < n; i++) {
    u8 c = b[i];
    if (c == '{' || c == '[') depth++;
    if (c == '}' || c == ']') depth--;
    if (c == ',' || c == '{') colon = 0;
    if (c == ':') colon = 1;
    if (c != '"') continue;
    u32 from = ++i;
    for (; i < n && b[i] != '"'; i++)
      if (b[i] == '\\') i++;
    if (i >= n) return ERR_CONFIG;
    if (depth != 1) continue;
    if (!colon) {
      key = from, key_length = i - from;
    } else if (same(b + key, key_length, "policy", sizeof "policy" - 1) && i > from && !same(b + from, i - from, policy, sizeof policy - 1)) {
      return ERR_CONFIG;
    }
  }
  return depth == 0 ? 0 : ERR_CONFIG;
}

static u32 get(u32 i) {
  const u8 *b = in() + i;
  return b[0] | b[1] << 8 | b[2] << 16 | (u32)b[3] << 24;
}

static void put(u32 i, u32 v) {
  for (u32 k = 0; k < 4; k++) in()[i + k] = (u8)(v >> 8 * k);
}

// weir1_plan drops what is old, the oldest first; nothing is old in a conversation that no user wrote in. An
// instruction is shorter than a row, so the plan takes the place of the rows that were read.
EXPORT(weir1_plan) i64 plan(u32 n) {
  if (n < HEADER || n > room() || get(0) != 1 || get(4) > (n - HEADER) / ROW) return ERR_INPUT;
  u32 rows = get(4), last = 0, ops = 0;
  for (u32 i = 0; i < rows; i++) {
    u32 row = HEADER + i * ROW;
    if (get(row + 16) >> 16 & LAST_USER) last = get(row);
  }
  for (u32 i = 0; i < rows && ops < MAX_OPS; i++) {
    u32 row = HEADER + i * ROW, message = get(row), part = get(row + 4) & 0xFFFF;
    if (in()[row + 6] != REASONING || message >= last) continue;
    put(ops * OP, PART | DROP << 16);
    put(ops * OP + 4, message);
    put(ops * OP + 8, part); // and a key of no length
    put(ops * OP + 12, 0);
    ops++;
  }
  return (i64)((u64)(u32)in() << 32 | ops * OP);
}
