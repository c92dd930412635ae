//! recent is a template policy: the reasoning in front of the last message that a user wrote is dropped from the
//! prompt, and everything else is kept. It imports nothing. ABI.md numbers the sections named here.

const std = @import("std");

const manifest =
    \\{"name": "recent", "version": "1.0.0", "abi": 1, "kinds": ["template"], "policies": ["recent"],
    \\ "description": "drops the reasoning in front of the last user message"}
;
const policy = "recent";

/// Error codes (§14).
const err_config: i32 = -1;
const err_input: i64 = -2;

/// Outlines and plans (§12).
const header = 16;
const row_size = 24;
const op_size = 16;
const max_ops = 262144 / op_size;
const reasoning = 2; // kind of a row
const last_user = 4; // flag of a row
const part_op = 2;
const drop = 1;

const page = 65536;
const max_in_cap = 1 << 20;

extern const __heap_base: u8;

/// Where the input buffer begins: it is all memory behind the static data, so that it grows without moving.
fn base() usize {
    return (@intFromPtr(&__heap_base) + 7) & ~@as(usize, 7);
}

/// How long it is.
fn room() usize {
    return (@wasmMemorySize(0) * page - base()) & ~@as(usize, 3);
}

/// The input of a call.
fn input(len: usize) ![]u8 {
    if (len > room()) return error.Input;
    return @as([*]u8, @ptrFromInt(base()))[0..len];
}

var descriptor: [8]u32 = undefined;

/// The descriptor (§2).
export fn weir1_describe() *const [8]u32 {
    descriptor = .{ 0x31494557, 32, base(), @min(room(), max_in_cap), 0, 0, @intFromPtr(manifest), manifest.len };
    return &descriptor;
}

export fn weir1_reserve(len: usize) usize {
    if (len > room() and @wasmMemoryGrow(0, (len - room() + page - 1) / page) < 0) return 0;
    return base();
}

export fn weir1_open(len: usize) i32 {
    open(len) catch return err_config;
    return 0;
}

/// Looks at the strings of the outermost object: behind a colon they are values, else names (§3).
fn open(len: usize) !void {
    const config = try input(len);
    if (len == 0 or config[0] != '{') return error.Config;
    var depth: u32 = 0;
    var colon = false;
    var key: []const u8 = "";
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
                } else if (std.mem.eql(u8, key, "policy") and string.len > 0 and !std.mem.eql(u8, string, policy)) {
                    return error.Config;
                }
            },
            else => {},
        }
    }
    if (depth != 0) return error.Config;
}

export fn weir1_plan(len: usize) i64 {
    const n = plan(len) catch return err_input;
    return @as(i64, base()) << 32 | @as(i64, @intCast(n));
}

/// Drops what is old, the oldest first; nothing is old in a conversation that no user wrote in. An instruction
/// is shorter than a row, so the plan takes the place of the rows that were read. The result is its length.
fn plan(len: usize) !usize {
    const b = try input(len);
    if (len < header or get(u32, b, 0) != 1) return error.Input;
    const rows = get(u32, b, 4);
    if (rows > (len - header) / row_size) return error.Input;
    const end = header + rows * row_size;
    var last: u32 = 0;
    var at: usize = header;
    while (at < end) : (at += row_size) {
        if (get(u16, b, at + 18) & last_user != 0) last = get(u32, b, at);
    }
    var n: usize = 0;
    at = header;
    while (at < end and n < max_ops * op_size) : (at += row_size) {
        const message = get(u32, b, at);
        const part = get(u16, b, at + 4);
        if (b[at + 6] != reasoning or message >= last) continue;
        put(u32, b, n, part_op | drop << 16);
        put(u32, b, n + 4, message);
        put(u32, b, n + 8, part); // and a key of no length
        put(u32, b, n + 12, 0);
        n += op_size;
    }
    return n;
}

fn get(comptime T: type, b: []const u8, at: usize) T {
    return std.mem.readInt(T, b[at..][0..@sizeOf(T)], .little);
}

fn put(comptime T: type, b: []u8, at: usize, value: T) void {
    std.mem.writeInt(T, b[at..][0..@sizeOf(T)], value, .little);
}
