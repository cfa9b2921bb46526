//! JSON from outside, read strictly: no duplicate members, no number that a double would change, bounded
//! in size and depth.

use super::Malformed;
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// The largest body of a request, in bytes.
pub const LARGEST_BODY_BYTES: usize = 64 * 1024;
/// The largest document, such as a mandate or a policy, in bytes.
pub const LARGEST_DOCUMENT_BYTES: usize = 256 * 1024;
/// How deep objects and lists may nest.
pub const DEEPEST: usize = 32;

/// Reads one JSON text (RFC 8259) of at most [`LARGEST_BODY_BYTES`].
///
/// Refused beyond what the grammar refuses: a member named twice at any depth, nesting deeper than
/// [`DEEPEST`], and numbers whose value a double does not hold exactly as written.
pub fn parse(bytes: &[u8]) -> Result<Value, Malformed> {
    parse_up_to(bytes, LARGEST_BODY_BYTES)
}

/// As [`parse`], with another bound on the size.
pub fn parse_up_to(bytes: &[u8], largest_bytes: usize) -> Result<Value, Malformed> {
    parse_within(bytes, largest_bytes, DEEPEST)
}

/// As [`parse`], with other bounds on size and depth: for what holds a whole body somewhere inside it.
pub fn parse_within(bytes: &[u8], largest_bytes: usize, deepest: usize) -> Result<Value, Malformed> {
    if bytes.len() > largest_bytes {
        return Err(Malformed::whole(format!("{} bytes, {largest_bytes} are allowed", bytes.len())));
    }
    scan(bytes, deepest)?;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict.deserialize(&mut deserializer).map_err(|error| {
        let said = error.to_string();
        match said.split_once(TWICE) {
            Some((_, rest)) => {
                Malformed::whole(format!("member {} stands twice", rest.split(TWICE).next().unwrap_or(rest)))
            }
            None => Malformed::whole(format!("not JSON: {said}")),
        }
    })?;
    deserializer.end().map_err(|error| Malformed::whole(format!("not JSON: {error}")))?;
    Ok(value)
}

/// Bounds the depth and looks at every number as it is written, before anything is built.
fn scan(bytes: &[u8], deepest: usize) -> Result<(), Malformed> {
    let mut depth = 0usize;
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'"' => rest = skip_string(after),
            b'{' | b'[' => {
                depth += 1;
                if depth > deepest {
                    return Err(Malformed::whole(format!("nested deeper than {deepest}")));
                }
                rest = after;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                rest = after;
            }
            b'-' | b'0'..=b'9' => {
                let length = rest
                    .iter()
                    .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                    .count();
                let (token, after) = rest.split_at(length);
                check_number(token)?;
                rest = after;
            }
            _ => rest = after,
        }
    }
    Ok(())
}

fn skip_string(mut rest: &[u8]) -> &[u8] {
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'"' => return after,
            b'\\' => after.get(1..).unwrap_or_default(),
            _ => after,
        };
    }
    rest
}

/// Up to 15 digits and no exponent always survive; everything longer is compared digit by digit.
fn check_number(token: &[u8]) -> Result<(), Malformed> {
    let short = token.len() <= 16 && token.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'.'));
    if short && token.iter().filter(|byte| byte.is_ascii_digit()).count() <= 15 {
        return Ok(());
    }
    let text = String::from_utf8_lossy(token);
    let survives = text.parse::<f64>().ok().filter(|double| double.is_finite()).is_some_and(|double| {
        decimal(&text).is_some_and(|given| decimal(ryu_js::Buffer::new().format(double)) == Some(given))
    });
    if survives {
        Ok(())
    } else {
        let shown: String = text.chars().take(40).collect();
        Err(Malformed::whole(format!("number `{shown}` does not survive as a double: send it as a string")))
    }
}

/// The significant digits of a decimal and the power of ten of the last one; zero has no digits.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    let cut = i64::try_from(digits.len() - significant.len()).ok()?;
    let power = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(cut)?;
    let significant = significant.trim_start_matches('0').to_owned();
    if significant.is_empty() { Some((false, significant, 0)) } else { Some((negative, significant, power)) }
}

/// Marks a duplicate member's name inside serde's error text, which is the only way out of a visitor.
const TWICE: char = '\u{1}';

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(Strict)?;
            match object.entry(name) {
                serde_json::map::Entry::Vacant(place) => {
                    place.insert(value);
                }
                serde_json::map::Entry::Occupied(place) => {
                    return Err(de::Error::custom(format!("{TWICE}`{}`{TWICE}", place.key().escape_debug())));
                }
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn duplicates_are_refused_by_name_at_every_depth() {
        for (text, name) in [(r#"{"a":1,"a":1}"#, "`a`"), (r#"{"x":[{"b":{"c":1,"\u0063":2}}]}"#, "`c`")] {
            let said = parse(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(said, format!("member {name} stands twice"));
        }
    }

    #[test]
    fn numbers_that_a_double_changes_are_refused() {
        for wrong in [
            "18446744073709551617",
            "9007199254740993",
            "1e400",
            "0.1000000000000000055511151231257827",
            "-1e999",
        ] {
            assert!(
                parse(wrong.as_bytes()).unwrap_err().to_string().contains("send it as a string"),
                "{wrong}"
            );
        }
        for right in [
            "9007199254740992",
            "0.1",
            "1e21",
            "1.50",
            "100000000000000000000",
            "0",
            "-0",
            "-0.0",
            "0e5",
            "123456789012345",
            "5e-324",
        ] {
            assert!(parse(right.as_bytes()).is_ok(), "{right}");
        }
    }

    #[test]
    fn depth_and_size_have_bounds() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(DEEPEST).as_bytes()).is_ok());
        assert!(parse(nested(DEEPEST + 1).as_bytes()).is_err());
        let long = |length: usize| format!("\"{}\"", "a".repeat(length - 2));
        assert!(parse(long(LARGEST_BODY_BYTES).as_bytes()).is_ok());
        assert!(parse(long(LARGEST_BODY_BYTES + 1).as_bytes()).is_err());
    }

    #[test]
    fn what_the_grammar_refuses_is_refused() {
        for wrong in [
            "",
            "{",
            "NaN",
            "[1,]",
            "{\"a\":NaN}",
            "01",
            "1 2",
            "\"\u{1}\"",
            "{'a':1}",
            "\"\\ud800\"",
            "+1",
            ".5",
            "nul",
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert!(parse(b"\xef\xbb\xbf{}").is_err(), "a byte order mark is not JSON");
    }

    proptest! {
        #[test]
        fn never_panics(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }

        #[test]
        fn every_double_survives_in_its_shortest_form(double in any::<f64>().prop_filter("finite", |d| d.is_finite())) {
            let text = ryu_js::Buffer::new().format(double).to_owned();
            prop_assert!(parse(text.as_bytes()).is_ok(), "{}", text);
        }
    }
}
