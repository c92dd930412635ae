// bracket is a parser plugin: reasoning stands between << and >>, a tool call is [call:NAME {json}].
// It keeps eight bytes a stream, allocates nothing and imports nothing. ABI.md numbers the sections named here.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define EXPORT(name) __attribute__((export_name(#name), used))
#define LEN(literal) ((u32)(sizeof(literal) - 1))

static const char manifest[] =
    "{\"name\": \"bracket\", \"version\": \"1.0.0\", \"abi\": 1, \"kinds\": [\"parser\"],"
    " \"reasoning\": [\"bracket\"], \"tools\": [\"bracket\"], \"description\": \"<<reasoning>> and [call:NAME {json}]\"}";
static const char format[] = "bracket";

// A call begins with the opener and a name of at most 64 bytes; a space and the brace of the arguments follow.
static const char opener[] = "[call:";
enum { OPENER = sizeof opener - 1, MAX_NAME = 64 };

enum { ERR_CONFIG = -1, ERR_INPUT = -2 }; // §14

enum { // §7
  TEXT = 1, REASONING = 2, BLOCK_END = 3, MARKER = 4, CALL_BEGIN = 5, NAME = 6, ARGS = 8, CALL_END = 13,
  TRUNCATED = 1,
};

// The input buffer (§5): at most 1,024 bytes held and 512 new ones, with 513 spans behind them.
enum { IN_CAP = 8192, MAX_INPUT = 1536 };
static _Alignas(4) u8 in[IN_CAP];

typedef struct {
  u16 kind, flags;
  u32 address, length, aux;
} record;

// No record is empty but the end of a call, and a call has three bytes at least.
static record records[MAX_INPUT * 4 / 3 + 1];
static u32 count;
static u32 pos; // in the input: what lies before it has records

// mode says what the bytes at the start of the input are.
enum mode {
  IN_TEXT,
  IN_REASONING, // until >>
  BEHIND_NAME,  // the space between name and arguments
  IN_ARGS,      // until the outermost brace closes
  BEHIND_CALL,  // the ] that closes the call, or text
};

// The state window (§10): what differs between streams. The host copies it in and out around each call.
static struct {
  u8 mode;
  u8 calls;   // the request has tools
  u8 quoted;  // the arguments are inside a string
  u8 escaped; // and behind a backslash
  u32 depth;
} state;

static u8 with_reasoning, with_tools; // what open chose

static u32 descriptor[8]; // §2

EXPORT(weir1_describe) const u32 *describe(void) {
  descriptor[0] = 0x31494557;
  descriptor[1] = sizeof descriptor;
  descriptor[2] = (u32)in;
  descriptor[3] = IN_CAP;
  descriptor[4] = (u32)&state;
  descriptor[5] = sizeof state;
  descriptor[6] = (u32)manifest;
  descriptor[7] = sizeof manifest - 1;
  return descriptor;
}

static int same(const u8 *b, u32 n, const char *s, u32 length) {
  if (n != length) return 0;
  for (u32 i = 0; i < n; i++)
    if (b[i] != (u8)s[i]) return 0;
  return 1;
}

// choose reads the name of a format: off where it is empty, -1 where it is not known.
static int choose(const u8 *b, u32 n) { return n == 0 ? 0 : same(b, n, format, LEN("bracket")) ? 1 : -1; }

// weir1_open looks at the strings of the outermost object: behind a colon they are values, else names (§3).
EXPORT(weir1_open) int open(u32 n) {
  u32 depth = 0, key = 0, key_length = 0, colon = 0;
  with_reasoning = with_tools = 1; // where the config is silent
  if (n > IN_CAP || n == 0 || in[0] != '{') return ERR_CONFIG;
  for (u32 i = 0; i < n; i++) {
    u8 c = in[i];
    if (c == '{' || c == '[') depth++;
    if (c == '}' || c == ']') depth--;
    if (c == ',' || c == '{') colon = 0;
    if (c == ':') colon = 1;
    if (c != '"') continue;
    u32 from = ++i;
    for (; i < n && in[i] != '"'; i++)
      if (in[i] == '\\') i++;
    if (i >= n) return ERR_CONFIG;
    if (depth != 1) continue;
    if (!colon) {
      key = from, key_length = i - from;
      continue;
    }
    int on = choose(in + from, i - from);
    int reasoning = same(in + key, key_length, "reasoning", LEN("reasoning"));
    int tools = same(in + key, key_length, "tools", LEN("tools"));
    if ((reasoning || tools) && on < 0) return ERR_CONFIG;
    if (reasoning) with_reasoning = (u8)on;
    if (tools) with_tools = (u8)on;
  }
  if (depth != 0) return ERR_CONFIG;
  state.mode = IN_TEXT;
  state.calls = with_tools;
  return 0;
}

static u32 u32_at(u32 i) { return in[i] | in[i + 1] << 8 | in[i + 2] << 16 | (u32)in[i + 3] << 24; }

// weir1_start looks for reasoning that the prompt has opened already (§4).
EXPORT(weir1_start) int start(u32 n) {
  if (n < 16 || n > IN_CAP || u32_at(12) != n - 16) return ERR_INPUT;
  state.mode = IN_TEXT;
  state.calls = with_tools && u32_at(4) != 1 && u32_at(8) != 0;
  state.quoted = state.escaped = 0;
  state.depth = 0;
  for (u32 i = 17; with_reasoning && i < n; i++) {
    u8 wanted = state.mode == IN_TEXT ? '<' : '>';
    if (in[i - 1] == wanted && in[i] == wanted) {
      state.mode = state.mode == IN_TEXT ? IN_REASONING : IN_TEXT;
      i++;
    }
  }
  return 0;
}

// emit says what the next n bytes are; content and arguments are added to a record that is like them.
static void emit(u16 kind, u32 n, u32 aux) {
  int content = kind == TEXT || kind == REASONING || kind == ARGS;
  if (content && count > 0 && records[count - 1].kind == kind) {
    records[count - 1].length += n;
  } else {
    records[count++] = (record){.kind = kind, .address = (u32)in + pos, .length = n, .aux = aux};
  }
  pos += n;
}

static int is_name(u8 c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

// header returns the length of the name if a whole header stands in [pos, n), -1 if the beginning of one
// does, else 0.
static int header(u32 n) {
  u32 i = pos;
  for (u32 k = 0; k < OPENER; k++, i++) {
    if (i == n) return -1;
    if (in[i] != (u8)opener[k]) return 0;
  }
  u32 name = i;
  while (i < n && is_name(in[i])) i++;
  name = i - name;
  if (name > MAX_NAME) return 0;
  if (i == n) return -1;
  if (name == 0 || in[i] != ' ') return 0;
  if (i + 1 == n) return -1;
  return in[i + 1] == '{' ? (int)name : 0;
}

// find returns where one of two bytes stands in [i, n), or n. It looks at eight bytes at a time: in x a byte
// that is wanted has become 0, and only for a byte that is 0 does x - ones have a high bit that x has not.
static u32 find(u32 i, u32 n, u8 one, u8 other) {
  const u64 ones = 0x0101010101010101, highs = ones << 7;
  for (; i + 8 <= n; i += 8) {
    u64 word;
    __builtin_memcpy(&word, in + i, 8);
    u64 x = word ^ ones * one, y = word ^ ones * other;
    if ((((x - ones) & ~x) | ((y - ones) & ~y)) & highs) break;
  }
  while (i < n && in[i] != one && in[i] != other) i++;
  return i;
}

// text emits text, a marker or a header; 0 where it must see more, and after a name.
static int text(u32 n, int may_call, int last) {
  u32 i = pos;
  u8 one = with_reasoning ? '<' : '[', other = state.calls ? '[' : '<'; // what may begin something
  i = with_reasoning || state.calls ? find(i, n, one, other) : n;
  if (i > pos) {
    emit(TEXT, i - pos, 0);
    return 1;
  }
  if (in[i] == '<' && i + 1 < n && in[i + 1] == '<') {
    emit(MARKER, 2, 0);
    state.mode = IN_REASONING;
    return 1;
  }
  if (in[i] == '<' && i + 1 == n && !last) return 0;
  if (in[i] == '[' && may_call) {
    int name = header(n);
    if (name > 0) {
      emit(CALL_BEGIN, OPENER, 0);
      emit(NAME, (u32)name, 0);
      state.mode = BEHIND_NAME;
      return 0;
    }
    if (name < 0 && !last) return 0;
  }
  emit(TEXT, 1, 0);
  return 1;
}

// thought emits reasoning or its closer; 0 where it must see more.
static int thought(u32 n, int last) {
  u32 i = pos;
  i = find(i, n, '>', '>');
  if (i > pos) {
    emit(REASONING, i - pos, 0);
  } else if (i + 1 < n && in[i + 1] == '>') {
    emit(BLOCK_END, 2, 0);
    state.mode = IN_TEXT;
  } else if (i + 1 == n && !last) {
    return 0;
  } else {
    emit(REASONING, 1, 0);
  }
  return 1;
}

// args emits arguments, and the end of the call behind the brace that closes them.
static void args(u32 n) {
  u32 i = pos;
  int whole = 0;
  while (i < n && !whole) {
    u8 c = in[i++];
    if (state.escaped) {
      state.escaped = 0;
    } else if (state.quoted) {
      state.escaped = c == '\\';
      state.quoted = c != '"';
    } else if (c == '"') {
      state.quoted = 1;
    } else if (c == '{' || c == '[') {
      state.depth++;
    } else if (c == '}' || c == ']') {
      whole = --state.depth == 0;
    }
  }
  emit(ARGS, i - pos, 0);
  if (whole) {
    emit(CALL_END, 0, 0);
    state.mode = BEHIND_CALL;
  }
}

// run emits records until a marker may go on behind the input, or a name has come. last says that nothing
// follows the input. It returns 0 where the input breaks the ABI.
static int run(u32 n, u32 spans, int last) {
  count = pos = 0;
  if (n > MAX_INPUT || spans > 513) return 0;
  i64 refused = -1; // no call begins up to here: the verdict is the last span (§9)
  if (spans > 0 && u32_at(IN_CAP - 4) == 0xFFFFFFFF) refused = u32_at(IN_CAP - 12);
  for (int more = 1; more && pos < n;) {
    switch (state.mode) {
    case IN_TEXT: more = text(n, pos > refused, last); break;
    case IN_REASONING: more = thought(n, last); break;
    case BEHIND_NAME:
      emit(MARKER, 1, 0);
      state.mode = IN_ARGS;
      state.depth = 0;
      break;
    case IN_ARGS: args(n); break;
    default:
      if (in[pos] == ']') emit(MARKER, 1, 0);
      state.mode = IN_TEXT;
    }
  }
  return 1;
}

static i64 result(void) { return (i64)(u32)records << 32 | count * sizeof(record); }

EXPORT(weir1_feed) i64 feed(u32 n, u32 spans, u32 flags) { return run(n, spans, flags & 1) ? result() : ERR_INPUT; }

// weir1_finish is a feed where nothing more can come. The last one has no input and closes what is open (§6).
EXPORT(weir1_finish) i64 finish(u32 n, u32 spans, u32 why) {
  (void)why;
  if (!run(n, spans, 1)) return ERR_INPUT;
  if (n == 0 && state.mode == IN_ARGS) {
    emit(CALL_END, 0, TRUNCATED);
    state.mode = IN_TEXT;
  }
  return result();
}
