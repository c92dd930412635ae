//! bracket is a parser plugin: reasoning stands between << and >>, a tool call is [call:NAME {json}].
//! It keeps eight bytes a stream, allocates nothing and imports nothing. ABI.md numbers the sections named here.
#![no_std]

use core::cell::UnsafeCell;

const MANIFEST: &[u8] = br#"{"name": "bracket", "version": "1.0.0", "abi": 1, "kinds": ["parser"], "reasoning": ["bracket"], "tools": ["bracket"], "description": "<<reasoning>> and [call:NAME {json}]"}"#;
const FORMAT: &[u8] = b"bracket";

/// A call begins with the opener and a name of at most 64 bytes; a space and the brace of the arguments follow.
const OPENER: &[u8] = b"[call:";
const MAX_NAME: usize = 64;

/// Error codes (§14).
const ERR_CONFIG: i32 = -1;
const ERR_INPUT: i32 = -2;

/// Kinds of records (§7).
const TEXT: u16 = 1;
const REASONING: u16 = 2;
const BLOCK_END: u16 = 3;
const MARKER: u16 = 4;
const CALL_BEGIN: u16 = 5;
const NAME: u16 = 6;
const ARGS: u16 = 8;
const CALL_END: u16 = 13;
const TRUNCATED: u32 = 1;

/// The input (§5): at most 1,024 bytes held and 512 new ones, with 513 spans behind them.
const IN_CAP: usize = 8192;
const MAX_INPUT: usize = 1536;
const MAX_SPANS: usize = 513;

/// No record is empty but the end of a call, and a call has three bytes at least.
const MAX_RECORDS: usize = MAX_INPUT * 4 / 3 + 1;

#[repr(C)]
#[derive(Clone, Copy)]
struct Record {
    kind: u16,
    flags: u16,
    address: u32,
    length: u32,
    aux: u32,
}

/// What the bytes at the start of the input are.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Text,
    Reasoning,  // until >>
    BehindName, // the space between name and arguments
    Args,       // until the outermost brace closes
    BehindCall, // the ] that closes the call, or text
}

/// The state window (§10): what differs between streams. The host copies it in and out around each call.
#[repr(C)]
struct State {
    mode: Mode,
    calls: bool,   // the request has tools
    quoted: bool,  // the arguments are inside a string
    escaped: bool, // and behind a backslash
    depth: u32,
}

#[repr(C, align(4))]
struct Parser {
    input: [u8; IN_CAP],
    state: State,
    records: [Record; MAX_RECORDS],
    count: usize,
    pos: usize, // in the input: what lies before it has records
    reasoning: bool,
    tools: bool,
    descriptor: [u32; 8],
}

struct Instance(UnsafeCell<Parser>);

// An instance is called by one thread, one call at a time (§1).
unsafe impl Sync for Instance {}

static INSTANCE: Instance = Instance(UnsafeCell::new(Parser {
    input: [0; IN_CAP],
    state: State { mode: Mode::Text, calls: false, quoted: false, escaped: false, depth: 0 },
    records: [Record { kind: 0, flags: 0, address: 0, length: 0, aux: 0 }; MAX_RECORDS],
    count: 0,
    pos: 0,
    reasoning: false,
    tools: false,
    descriptor: [0; 8],
}));

fn parser() -> &'static mut Parser {
    // Each export takes it once, and none calls another.
    unsafe { &mut *INSTANCE.0.get() }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

/// The descriptor (§2).
#[no_mangle]
extern "C" fn weir1_describe() -> *const u32 {
    let p = parser();
    p.descriptor = [
        0x31494557,
        32,
        p.input.as_ptr() as u32,
        IN_CAP as u32,
        &p.state as *const State as u32,
        core::mem::size_of::<State>() as u32,
        MANIFEST.as_ptr() as u32,
        MANIFEST.len() as u32,
    ];
    p.descriptor.as_ptr()
}

#[no_mangle]
extern "C" fn weir1_open(len: usize) -> i32 {
    if parser().open(len).is_some() { 0 } else { ERR_CONFIG }
}

#[no_mangle]
extern "C" fn weir1_start(len: usize) -> i32 {
    if parser().start(len).is_some() { 0 } else { ERR_INPUT }
}

#[no_mangle]
extern "C" fn weir1_feed(len: usize, spans: usize, flags: u32) -> i64 {
    let p = parser();
    match p.run(len, spans, flags & 1 != 0) {
        Some(()) => p.result(),
        None => ERR_INPUT as i64,
    }
}

/// A feed where nothing more can come. The last one has no input and closes what is open (§6).
#[no_mangle]
extern "C" fn weir1_finish(len: usize, spans: usize, _why: u32) -> i64 {
    let p = parser();
    if p.run(len, spans, true).is_none() {
        return ERR_INPUT as i64;
    }
    if len == 0 && p.state.mode == Mode::Args {
        p.emit(CALL_END, 0, TRUNCATED);
        p.state.mode = Mode::Text;
    }
    p.result()
}

/// Whether a format is on: not where its name is empty. None if it is not known.
fn choose(name: &[u8]) -> Option<bool> {
    match name {
        b"" => Some(false),
        n if n == FORMAT => Some(true),
        _ => None,
    }
}

impl Parser {
    /// Looks at the strings of the outermost object: behind a colon they are values, else names (§3).
    fn open(&mut self, len: usize) -> Option<()> {
        let config = self.input.get(..len)?;
        let (mut depth, mut colon, mut key) = (0, false, &config[..0]);
        let (mut reasoning, mut tools) = (true, true); // where the config is silent
        if config.first() != Some(&b'{') {
            return None;
        }
        let mut i = 0;
        while i < len {
            match config[i] {
                b'{' => (depth, colon) = (depth + 1, false),
                b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b',' => colon = false,
                b':' => colon = true,
                b'"' => {
                    let from = i + 1;
                    i = from;
                    while *config.get(i)? != b'"' {
                        i += if config[i] == b'\\' { 2 } else { 1 };
                    }
                    let text = &config[from..i];
                    match key {
                        _ if depth != 1 => {}
                        _ if !colon => key = text,
                        b"reasoning" => reasoning = choose(text)?,
                        b"tools" => tools = choose(text)?,
                        _ => {}
                    }
                }
                _ => {}
            }
            i += 1;
        }
        if depth != 0 {
            return None;
        }
        (self.reasoning, self.tools) = (reasoning, tools);
        self.state = State { mode: Mode::Text, calls: tools, quoted: false, escaped: false, depth: 0 };
        Some(())
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.input.get(at..at + 4)?.try_into().ok()?))
    }

    /// Looks for reasoning that the prompt has opened already (§4).
    fn start(&mut self, len: usize) -> Option<()> {
        if len < 16 || len > IN_CAP || self.u32_at(12)? as usize != len - 16 {
            return None;
        }
        let calls = self.tools && self.u32_at(4)? != 1 && self.u32_at(8)? != 0;
        let mut mode = Mode::Text;
        let mut tail = &self.input[16..len];
        while self.reasoning && tail.len() > 1 {
            let marker: &[u8] = if mode == Mode::Text { b"<<" } else { b">>" };
            if tail.starts_with(marker) {
                mode = if mode == Mode::Text { Mode::Reasoning } else { Mode::Text };
                tail = &tail[1..];
            }
            tail = &tail[1..];
        }
        self.state = State { mode, calls, quoted: false, escaped: false, depth: 0 };
        Some(())
    }

    /// Emits records until a marker may go on behind the input, or a name has come. last says that nothing
    /// follows the input.
    fn run(&mut self, len: usize, spans: usize, last: bool) -> Option<()> {
        (self.count, self.pos) = (0, 0);
        if len > MAX_INPUT || spans > MAX_SPANS {
            return None;
        }
        // No call begins up to here: the verdict is the last span (§9).
        let refused = match self.u32_at(IN_CAP - 4)? {
            u32::MAX if spans > 0 => Some(self.u32_at(IN_CAP - 12)? as usize),
            _ => None,
        };
        let mut more = true;
        while more && self.pos < len {
            match self.state.mode {
                Mode::Text => more = self.text(len, refused.is_none_or(|off| self.pos > off), last),
                Mode::Reasoning => more = self.thought(len, last),
                Mode::BehindName => {
                    self.emit(MARKER, 1, 0);
                    (self.state.mode, self.state.depth) = (Mode::Args, 0);
                }
                Mode::Args => self.args(len),
                Mode::BehindCall => {
                    if self.input[self.pos] == b']' {
                        self.emit(MARKER, 1, 0);
                    }
                    self.state.mode = Mode::Text;
                }
            }
        }
        Some(())
    }

    fn result(&self) -> i64 {
        let bytes = self.count * core::mem::size_of::<Record>();
        (self.records.as_ptr() as i64) << 32 | bytes as i64
    }

    /// Says what the next n bytes are; content and arguments are added to a record that is like them.
    fn emit(&mut self, kind: u16, n: usize, aux: u32) {
        let content = kind == TEXT || kind == REASONING || kind == ARGS;
        let address = self.input.as_ptr() as u32 + self.pos as u32;
        self.pos += n;
        if content && self.count > 0 && self.records[self.count - 1].kind == kind {
            self.records[self.count - 1].length += n as u32;
            return;
        }
        self.records[self.count] = Record { kind, flags: 0, address, length: n as u32, aux };
        self.count += 1;
    }

    /// Emits text, a marker or a header; false where it must see more, and after a name.
    fn text(&mut self, len: usize, may_call: bool, last: bool) -> bool {
        let b = &self.input[self.pos..len];
        let (reasoning, calls) = (self.reasoning, self.state.calls);
        let n = b.iter().position(|&c| c == b'<' && reasoning || c == b'[' && calls).unwrap_or(b.len());
        if n > 0 {
            self.emit(TEXT, n, 0);
            return true;
        }
        if b[0] == b'<' {
            if b.get(1) == Some(&b'<') {
                self.emit(MARKER, 2, 0);
                self.state.mode = Mode::Reasoning;
                return true;
            }
            if b.len() == 1 && !last {
                return false;
            }
        } else if may_call {
            match header(b) {
                Header::Whole(name) => {
                    self.emit(CALL_BEGIN, OPENER.len(), 0);
                    self.emit(NAME, name, 0);
                    self.state.mode = Mode::BehindName;
                    return false;
                }
                Header::Partial if !last => return false,
                _ => {}
            }
        }
        self.emit(TEXT, 1, 0);
        true
    }

    /// Emits reasoning or its closer; false where it must see more.
    fn thought(&mut self, len: usize, last: bool) -> bool {
        let b = &self.input[self.pos..len];
        let n = b.iter().position(|&c| c == b'>').unwrap_or(b.len());
        if n > 0 {
            self.emit(REASONING, n, 0);
        } else if b.get(1) == Some(&b'>') {
            self.emit(BLOCK_END, 2, 0);
            self.state.mode = Mode::Text;
        } else if b.len() == 1 && !last {
            return false;
        } else {
            self.emit(REASONING, 1, 0);
        }
        true
    }

    /// Emits arguments, and the end of the call behind the brace that closes them.
    fn args(&mut self, len: usize) {
        let s = &mut self.state;
        let mut n = 0;
        let mut whole = false;
        for &c in &self.input[self.pos..len] {
            n += 1;
            match c {
                _ if s.escaped => s.escaped = false,
                _ if s.quoted => (s.escaped, s.quoted) = (c == b'\\', c != b'"'),
                b'"' => s.quoted = true,
                b'{' | b'[' => s.depth += 1,
                b'}' | b']' => s.depth -= 1,
                _ => {}
            }
            if s.depth == 0 {
                whole = true;
                break;
            }
        }
        self.emit(ARGS, n, 0);
        if whole {
            self.emit(CALL_END, 0, 0);
            self.state.mode = Mode::BehindCall;
        }
    }
}

enum Header {
    Whole(usize), // with the length of the name
    Partial,      // the beginning of one
    None,
}

fn header(b: &[u8]) -> Header {
    let n = b.len().min(OPENER.len());
    if b[..n] != OPENER[..n] {
        return Header::None;
    }
    let rest = &b[n..];
    let name = rest.iter().position(|&c| !is_name(c)).unwrap_or(rest.len());
    match (rest.get(name), rest.get(name + 1)) {
        _ if name > MAX_NAME => Header::None,
        (None, _) => Header::Partial,
        (Some(b' '), None) if name > 0 => Header::Partial,
        (Some(b' '), Some(b'{')) if name > 0 => Header::Whole(name),
        _ => Header::None,
    }
}

fn is_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-')
}
