//! One spelling for every JSON value, so that its hash means the value (RFC 8785, JCS).

use serde_json::{Map, Value};
use std::cmp::Ordering;

/// The canonical bytes of `value` (RFC 8785).
///
/// Numbers are written through a double, as §3.2.2.3 says; whoever reads JSON from outside refuses what a
/// double would change before it gets here.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write(value, &mut out);
    out
}

/// Appends the canonical bytes of `value` to `out`.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => {
            let double = number.as_f64().unwrap_or_default();
            out.extend_from_slice(ryu_js::Buffer::new().format_finite(double).as_bytes());
        }
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => write_object(members, out),
    }
}

/// Appends `text` as a JSON string with no escape that is not needed (RFC 8785 §3.2.2.2).
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(plain) = rest.iter().position(|byte| needs_escape(*byte)) {
        let (before, from) = rest.split_at(plain);
        out.extend_from_slice(before);
        let Some((byte, after)) = from.split_first() else { break };
        write_escape(*byte, out);
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends the canonical bytes of an object's members.
pub fn write_object(members: &Map<String, Value>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut first = true;
    let mut member = |name: &str, value: &Value| {
        if !first {
            out.push(b',');
        }
        first = false;
        write_string(name, out);
        out.push(b':');
        write(value, out);
    };
    if members.keys().is_sorted_by(|left, right| utf16_order(left, right).is_lt()) {
        for (name, value) in members {
            member(name, value);
        }
    } else {
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort_unstable_by(|(left, _), (right, _)| utf16_order(left, right));
        for (name, value) in sorted {
            member(name, value);
        }
    }
    out.push(b'}');
}

/// The order of UTF-16 code units (RFC 8785 §3.2.3), read off the UTF-8 bytes.
///
/// The two orders differ in one place: UTF-16 writes what lies beyond U+FFFF (first byte F0 and up) with
/// surrogates, which sort below U+E000 to U+FFFF (first byte EE or EF).
fn utf16_order(left: &str, right: &str) -> Ordering {
    match left.bytes().zip(right.bytes()).find(|(left, right)| left != right) {
        None => left.len().cmp(&right.len()),
        Some((0xEE | 0xEF, 0xF0..)) => Ordering::Greater,
        Some((0xF0.., 0xEE | 0xEF)) => Ordering::Less,
        Some((left, right)) => left.cmp(&right),
    }
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        other => {
            let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(other >> 4), digit(other & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
