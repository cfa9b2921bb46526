//! Numbers as exact decimals: read from JSON's grammar, compared digit by digit, never as floats.

use serde_json::{Number, Value};
use std::{cmp::Ordering, fmt, str::FromStr};

/// The most characters a number may be written with.
const LONGEST: usize = 400;
/// The largest power of ten, up or down, that an exponent may name.
const LARGEST_EXPONENT: i32 = 1000;

/// An exact decimal: `1`, `1.0` and `10e-1` are one and the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Decimal {
    negative: bool,
    /// The significant digits, neither beginning nor ending with a zero; none for zero itself.
    digits: String,
    /// Where the point stands, counted from before the first digit: the value is `0.digits` times ten to this.
    scale: i32,
}

impl Decimal {
    /// The number that a JSON value is, or that a text writes plainly as JSON would; `None` for anything else.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.to_string().parse().ok(),
            Value::String(text) => text.parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The number as JSON has it, where JSON as it is read here can hold it exactly.
    pub fn to_number(&self) -> Option<Number> {
        let text = self.to_string();
        let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
        let number = whole.ok().or_else(|| Number::from_f64(text.parse().ok()?))?;
        (number.to_string().parse::<Self>().as_ref() == Ok(self)).then_some(number)
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // Without trailing zeros, and with the point in one place, the order of the texts is that of the numbers.
            (false, false) => self.scale.cmp(&other.scale).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Decimal {
    type Err = String;

    /// Reads a number as RFC 8259 §6 writes it: no plus, no leading zeros, digits on both sides of a point.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let shown = text.chars().take(40).collect::<String>().escape_debug().to_string();
            format!("`{shown}` is not a number as JSON writes it, such as 12.5")
        };
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return Err(wrong()),
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let well_formed = !whole.is_empty()
            && digits(whole)
            && digits(fraction)
            && (whole.len() == 1 || !whole.starts_with('0'))
            && !unsigned.is_empty()
            && digits(unsigned);
        if text.len() > LONGEST || !well_formed {
            return Err(wrong());
        }
        let exponent: i32 = exponent.parse().map_err(|_| wrong())?;
        if exponent.abs() > LARGEST_EXPONENT {
            return Err(wrong());
        }
        let all = format!("{whole}{fraction}");
        let leading = all.bytes().take_while(|byte| *byte == b'0').count();
        let digits = all.trim_matches('0').to_owned();
        if digits.is_empty() {
            return Ok(Self { negative: false, digits, scale: 0 });
        }
        let places = |count: usize| i32::try_from(count).map_err(|_| wrong());
        let scale = exponent + places(whole.len())? - places(leading)?;
        Ok(Self { negative, digits, scale })
    }
}

impl fmt::Display for Decimal {
    /// Plainly where that is short, otherwise with an exponent; either way as JSON writes numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits.is_empty() {
            return f.write_str("0");
        }
        if self.negative {
            f.write_str("-")?;
        }
        let count = self.digits.len();
        match usize::try_from(self.scale) {
            Ok(scale) if scale > 0 && scale <= 24 => {
                let whole = self.digits.get(..scale.min(count)).unwrap_or_default();
                write!(f, "{whole:0<scale$}")?;
                match self.digits.get(scale..) {
                    None | Some("") => Ok(()),
                    Some(fraction) => write!(f, ".{fraction}"),
                }
            }
            _ if (-6..=0).contains(&self.scale) => {
                let zeros = usize::try_from(self.scale.unsigned_abs()).unwrap_or_default();
                write!(f, "0.{}{}", "0".repeat(zeros), self.digits)
            }
            _ => {
                let (first, rest) = self.digits.split_at(1);
                let point = if rest.is_empty() { "" } else { "." };
                write!(f, "{first}{point}{rest}e{}", self.scale - 1)
            }
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn one_number_has_many_spellings() {
        for (one, other) in [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("0", "-0.000e7"),
            ("1200", "1.2E+3"),
            ("0.00012", "12e-5"),
            ("-5", "-0.5e1"),
        ] {
            assert_eq!(decimal(one), decimal(other), "{one} {other}");
        }
        assert_eq!(Decimal::of(&json!(1.0)), Decimal::of(&json!("1")));
        assert_ne!(decimal("0.1"), decimal("0.1000000000000000055511151231257827"));
    }

    #[test]
    fn numbers_stand_in_their_order() {
        let ascending = [
            "-1e400", "-10", "-9.99", "-1", "-0.1", "-0.09", "0", "1e-400", "0.09", "0.1", "0.11", "1",
            "1.5", "2", "9.99", "10", "99", "100", "1e21", "1e400",
        ];
        for (index, one) in ascending.iter().enumerate() {
            for (other_index, other) in ascending.iter().enumerate() {
                assert_eq!(decimal(one).cmp(&decimal(other)), index.cmp(&other_index), "{one} {other}");
            }
        }
    }

    #[test]
    fn what_json_would_not_write_is_no_number() {
        for wrong in [
            "",
            "+1",
            "01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "e5",
            "-",
            "--1",
            " 1",
            "1 ",
            "1_000",
            "1,5",
            "0x10",
            "NaN",
            "inf",
            "١",
            "1e1001",
            "1e99999999999",
            "1e-+5",
            "1e5.0",
        ] {
            assert!(wrong.parse::<Decimal>().is_err(), "{wrong}");
        }
        assert!("1".repeat(401).parse::<Decimal>().is_err());
        assert_eq!(Decimal::of(&json!(true)), None);
    }

    #[test]
    fn a_number_is_written_plainly_where_that_is_short() {
        for (given, written) in [
            ("1.50", "1.5"),
            ("100", "100"),
            ("1e3", "1000"),
            ("0.00012", "0.00012"),
            ("-12.5", "-12.5"),
            ("1e30", "1e30"),
            ("1.25e-9", "1.25e-9"),
            ("0.0", "0"),
        ] {
            assert_eq!(decimal(given).to_string(), written);
        }
    }

    proptest! {
        #[test]
        fn whole_numbers_compare_as_they_always_did(one in -2000i64..2000, other in -2000i64..2000, places in 0usize..4) {
            let shifted = |number: i64| decimal(&format!("{number}e-{places}"));
            prop_assert_eq!(shifted(one).cmp(&shifted(other)), one.cmp(&other));
        }

        #[test]
        fn a_number_reads_back_as_it_was_written(text in "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?") {
            let read = decimal(&text);
            prop_assert_eq!(decimal(&read.to_string()), read);
        }

        #[test]
        fn every_double_is_a_decimal(double in any::<f64>().prop_filter("finite", |double| double.is_finite())) {
            let number = Decimal::of(&json!(double)).unwrap();
            prop_assert_eq!(number.to_number().unwrap().as_f64().unwrap().to_bits(), (double + 0.0).to_bits());
        }
    }
}
