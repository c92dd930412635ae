//! bracket is a parser plugin: reasoning stands between << and >>, a tool call is [call:NAME {json}].
//! It keeps eight bytes a stream, allocates nothing and imports nothing. ABI.md numbers the sections named here.

const std = @import("std");

const manifest =
    \\{"name": "bracket", "version": "1.0.0", "abi": 1, "kinds": ["parser"], "reasoning": ["bracket"], "tools": ["bracket"],
    \\ "description": "<<reasoning>> and [call:NAME {json}]"}
;
const format = "bracket";

/// A call begins with the opener and a name of at most 64 bytes; a space and the brace of the arguments follow.
const opener = "[call:";
const max_name = 64;

/// Error codes (§14).
const err_config: i32 = -1;
const err_input: i32 = -2;

/// Kinds of records (§7), and the aux of a call that was cut.
const Kind = enum(u16) {
    text = 1,
    reasoning = 2,
    block_end = 3,
    marker = 4,
    call_begin = 5,
    name = 6,
    args = 8,
    call_end = 13,
};
const truncated = 1;

/// The input buffer (§5): at most 1,024 bytes held and 512 new ones, with 513 spans behind them.
const in_cap = 8192;
const max_input = 1536;
const max_spans = 513;
var input: [in_cap]u8 align(4) = undefined;

const Record = extern struct { kind: Kind, flags: u16 = 0, address: u32, length: u32, aux: u32 };

/// No record is empty but the end of a call, and a call has three bytes at least.
var records: [max_input * 4 / 3 + 1]Record = undefined;
var count: usize = 0;
var pos: usize = 0; // in the input: what lies before it has records

/// What the bytes at the start of the input are.
const Mode = enum(u8) {
    text,
    reasoning, // until >>
    behind_name, // the space between name and arguments
    args, // until the outermost brace closes
    behind_call, // the ] that closes the call, or text
};

/// The state window (§10): what differs between streams. The host copies it in and out around each call.
const State = extern struct {
    mode: Mode = .text,
    calls: bool = false, // the request has tools
    quoted: bool = false, // the arguments are inside a string
    escaped: bool = false, // and behind a backslash
    depth: u32 = 0,
};
var state: State = .{};

/// What open chose.
var with_reasoning = false;
var with_tools = false;

var descriptor: [8]u32 = undefined;

/// The descriptor (§2).
export fn weir1_describe() *const [8]u32 {
    descriptor = .{
        0x31494557,           @sizeOf(@TypeOf(descriptor)),
        @intFromPtr(&input),  in_cap,
        @intFromPtr(&state),  @sizeOf(State),
        @intFromPtr(manifest), manifest.len,
    };
    return &descriptor;
}

export fn weir1_open(len: usize) i32 {
    open(len) catch return err_config;
    return 0;
}

/// Whether a format is on: not where its name is empty.
fn choose(name: []const u8) !bool {
    if (name.len == 0) return false;
    return if (std.mem.eql(u8, name, format)) true else error.Unknown;
}

/// Looks at the strings of the outermost object: behind a colon they are values, else names (§3).
fn open(len: usize) !void {
    if (len == 0 or len > in_cap or input[0] != '{') return error.Config;
    const config = input[0..len];
    var depth: u32 = 0;
    var colon = false;
    var key: []const u8 = "";
    with_reasoning = true; // where the config is silent
    with_tools = true;
    var i: usize = 0;
    while (i < len) : (i += 1) {
        switch (config[i]) {
            '{' => {
                depth +%= 1;
                colon = false;
            },
            '[' => depth +%= 1,
            '}', ']' => depth -%= 1,
            ',' => colon = false,
            ':' => colon = true,
            '"' => {
                const from = i + 1;
                i = from;
                while (i < len and config[i] != '"') i += if (config[i] == '\\') 2 else 1;
                if (i >= len) return error.Config;
                const string = config[from..i];
                if (depth != 1) continue;
                if (!colon) {
                    key = string;
                } else if (std.mem.eql(u8, key, "reasoning")) {
                    with_reasoning = try choose(string);
                } else if (std.mem.eql(u8, key, "tools")) {
                    with_tools = try choose(string);
                }
            },
            else => {},
        }
    }
    if (depth != 0) return error.Config;
    state = .{ .calls = with_tools };
}

fn u32At(at: usize) u32 {
    return std.mem.readInt(u32, input[at..][0..4], .little);
}

/// Looks for reasoning that the prompt has opened already (§4).
export fn weir1_start(len: usize) i32 {
    if (len < 16 or len > in_cap or u32At(12) != len - 16) return err_input;
    state = .{ .calls = with_tools and u32At(4) != 1 and u32At(8) != 0 };
    var i: usize = 17;
    while (with_reasoning and i < len) : (i += 1) {
        const wanted: u8 = if (state.mode == .text) '<' else '>';
        if (input[i - 1] != wanted or input[i] != wanted) continue;
        state.mode = if (state.mode == .text) .reasoning else .text;
        i += 1;
    }
    return 0;
}

export fn weir1_feed(len: usize, spans: usize, flags: u32) i64 {
    run(len, spans, flags & 1 != 0) catch return err_input;
    return result();
}

/// A feed where nothing more can come. The last one has no input and closes what is open (§6).
export fn weir1_finish(len: usize, spans: usize, why: u32) i64 {
    _ = why;
    run(len, spans, true) catch return err_input;
    if (len == 0 and state.mode == .args) {
        emit(.call_end, 0, truncated);
        state.mode = .text;
    }
    return result();
}

fn result() i64 {
    return @as(i64, @intFromPtr(&records)) << 32 | @as(i64, @intCast(count * @sizeOf(Record)));
}

/// Emits records until a marker may go on behind the input, or a name has come. last says that nothing
/// follows the input.
fn run(len: usize, spans: usize, last: bool) !void {
    count = 0;
    pos = 0;
    if (len > max_input or spans > max_spans) return error.Input;
    // No call begins before this: the verdict is the last span (§9).
    const allowed: usize = if (spans > 0 and u32At(in_cap - 4) == 0xFFFFFFFF) u32At(in_cap - 12) + 1 else 0;
    var more = true;
    while (more and pos < len) {
        const b = input[pos..len];
        switch (state.mode) {
            .text => more = text(b, pos >= allowed, last),
            .reasoning => more = thought(b, last),
            .behind_name => {
                emit(.marker, 1, 0);
                state.mode = .args;
                state.depth = 0;
            },
            .args => args(b),
            .behind_call => {
                if (b[0] == ']') emit(.marker, 1, 0);
                state.mode = .text;
            },
        }
    }
}

/// Says what the next n bytes are; content and arguments are added to a record that is like them.
fn emit(kind: Kind, n: usize, aux: u32) void {
    const content = kind == .text or kind == .reasoning or kind == .args;
    if (content and count > 0 and records[count - 1].kind == kind) {
        records[count - 1].length += @intCast(n);
    } else {
        records[count] = .{ .kind = kind, .address = @intFromPtr(&input[pos]), .length = @intCast(n), .aux = aux };
        count += 1;
    }
    pos += n;
}

/// Emits text, a marker or a header; false where it must see more, and after a name.
fn text(b: []const u8, may_call: bool, last: bool) bool {
    var n: usize = 0;
    while (n < b.len and !(b[n] == '<' and with_reasoning) and !(b[n] == '[' and state.calls)) n += 1;
    if (n > 0) {
        emit(.text, n, 0);
        return true;
    }
    if (b[0] == '<') {
        if (b.len == 1 and !last) return false;
        if (b.len > 1 and b[1] == '<') {
            emit(.marker, 2, 0);
            state.mode = .reasoning;
            return true;
        }
    } else if (may_call) {
        switch (header(b)) {
            .whole => |name| {
                emit(.call_begin, opener.len, 0);
                emit(.name, name, 0);
                state.mode = .behind_name;
                return false;
            },
            .partial => if (!last) return false,
            .none => {},
        }
    }
    emit(.text, 1, 0);
    return true;
}

/// Whether a header begins here; a whole one has the length of the name.
const Header = union(enum) { whole: usize, partial, none };

fn header(b: []const u8) Header {
    const n = @min(b.len, opener.len);
    if (!std.mem.eql(u8, b[0..n], opener[0..n])) return .none;
    const rest = b[n..];
    var name: usize = 0;
    while (name < rest.len and isName(rest[name])) name += 1;
    if (name > max_name) return .none;
    if (name == rest.len) return .partial;
    if (name == 0 or rest[name] != ' ') return .none;
    if (name + 1 == rest.len) return .partial;
    return if (rest[name + 1] == '{') .{ .whole = name } else .none;
}

fn isName(c: u8) bool {
    return std.ascii.isAlphanumeric(c) or c == '_' or c == '.' or c == '-';
}

/// Emits reasoning or its closer; false where it must see more.
fn thought(b: []const u8, last: bool) bool {
    var n: usize = 0;
    while (n < b.len and b[n] != '>') n += 1;
    if (n > 0) {
        emit(.reasoning, n, 0);
    } else if (b.len > 1 and b[1] == '>') {
        emit(.block_end, 2, 0);
        state.mode = .text;
    } else if (b.len == 1 and !last) {
        return false;
    } else {
        emit(.reasoning, 1, 0);
    }
    return true;
}

/// Emits arguments, and the end of the call behind the brace that closes them.
fn args(b: []const u8) void {
    for (b, 1..) |c, n| {
        if (state.escaped) {
            state.escaped = false;
        } else if (state.quoted) {
            state.escaped = c == '\\';
            state.quoted = c != '"';
        } else switch (c) {
            '"' => state.quoted = true,
            '{', '[' => state.depth += 1,
            '}', ']' => state.depth -= 1,
            else => {},
        }
        if (state.depth == 0) {
            emit(.args, n, 0);
            emit(.call_end, 0, 0);
            state.mode = .behind_call;
            return;
        }
    }
    emit(.args, b.len, 0);
}
