//! recent is a template policy: the reasoning in front of the last message that a user wrote is dropped from the
//! prompt, and everything else is kept. It imports nothing. ABI.md numbers the sections named here.
#![no_std]

use core::arch::wasm32::{memory_grow, memory_size, unreachable};

const MANIFEST: &[u8] = br#"{"name": "recent", "version": "1.0.0", "abi": 1, "kinds": ["template"], "policies": ["recent"], "description": "drops the reasoning in front of the last user message"}"#;
const POLICY: &[u8] = b"recent";

/// Error codes (§14).
const ERR_CONFIG: i32 = -1;
const ERR_INPUT: i64 = -2;

/// Outlines and plans (§12).
const HEADER: usize = 16;
const ROW: usize = 24;
const OP: usize = 16;
const MAX_OPS: usize = 262_144 / OP;
const REASONING: u8 = 2; // kind of a row
const LAST_USER: u16 = 4; // flag of a row
const PART: u16 = 2;
const DROP: u8 = 1;

const PAGE: usize = 65_536;
const MAX_IN_CAP: usize = 1 << 20;

extern "C" {
    static __heap_base: u8;
}

/// Where the input buffer begins: it is all memory behind the static data, so that it grows without moving.
fn base() -> usize {
    (&raw const __heap_base as usize + 7) & !7
}

/// How long it is.
fn room() -> usize {
    (memory_size(0) * PAGE - base()) & !3
}

/// The input of a call, if it is as long as that.
fn input(len: usize) -> Option<&'static mut [u8]> {
    // Nothing else is behind the static data, and an instance runs one call at a time (§1).
    (len <= room()).then(|| unsafe { core::slice::from_raw_parts_mut(base() as *mut u8, len) })
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unreachable()
}

/// The descriptor (§2) stands in front of the input buffer.
static mut DESCRIPTOR: [u32; 8] = [0; 8];

#[no_mangle]
extern "C" fn weir1_describe() -> *const [u32; 8] {
    let cap = room().min(MAX_IN_CAP);
    let d = [0x31494557, 32, base() as u32, cap as u32, 0, 0, MANIFEST.as_ptr() as u32, MANIFEST.len() as u32];
    unsafe { DESCRIPTOR = d };
    &raw const DESCRIPTOR
}

#[no_mangle]
extern "C" fn weir1_reserve(len: usize) -> usize {
    let more = len.saturating_sub(room()).div_ceil(PAGE);
    if more > 0 && memory_grow(0, more) == usize::MAX {
        return 0;
    }
    base()
}

#[no_mangle]
extern "C" fn weir1_open(len: usize) -> i32 {
    match input(len).and_then(|config| open(config)) {
        Some(()) => 0,
        None => ERR_CONFIG,
    }
}

/// Looks at the strings of the outermost object: behind a colon they are values, else names (§3).
fn open(config: &[u8]) -> Option<()> {
    if config.first() != Some(&b'{') {
        return None;
    }
    let (mut depth, mut colon, mut key) = (0, false, &config[..0]);
    let mut i = 0;
    while i < config.len() {
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
                    b"policy" if !text.is_empty() && text != POLICY => return None,
                    _ => {}
                }
            }
            _ => {}
        }
        i += 1;
    }
    (depth == 0).then_some(())
}

#[no_mangle]
extern "C" fn weir1_plan(len: usize) -> i64 {
    match input(len).and_then(plan) {
        Some(n) => (base() as i64) << 32 | n as i64,
        None => ERR_INPUT,
    }
}

fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

/// Drops what is old, the oldest first; nothing is old in a conversation that no user wrote in. An instruction
/// is shorter than a row, so the plan takes the place of the rows that were read. The result is its length.
fn plan(b: &mut [u8]) -> Option<usize> {
    if b.len() < HEADER || u32_at(b, 0) != 1 {
        return None;
    }
    let end = HEADER + (u32_at(b, 4) as usize).checked_mul(ROW)?;
    if end > b.len() {
        return None;
    }
    let last = b[HEADER..end].chunks(ROW).filter(|r| u16_at(r, 18) & LAST_USER != 0).last().map_or(0, |r| u32_at(r, 0));
    let mut len = 0;
    for at in (HEADER..end).step_by(ROW) {
        let (message, part) = (u32_at(b, at), u16_at(b, at + 4));
        if b[at + 6] != REASONING || message >= last || len == MAX_OPS * OP {
            continue;
        }
        let op = &mut b[len..len + OP];
        op.fill(0);
        op[..2].copy_from_slice(&PART.to_le_bytes());
        op[2] = DROP;
        op[4..8].copy_from_slice(&message.to_le_bytes());
        op[8..10].copy_from_slice(&part.to_le_bytes());
        len += OP;
    }
    Some(len)
}
