//! Money: whole minor units of one ISO 4217 currency, read exactly from decimals; no floats.

use serde_json::{Number, Value, json};
use std::{fmt, str::FromStr};

/// A currency of ISO 4217 that has a minor unit (possibly zero digits of it).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency(iso_currency::Currency);

impl Currency {
    /// The three upper-case letters.
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// How many decimal digits its minor unit has: 0 for JPY, 2 for EUR, 3 for KWD.
    pub fn exponent(self) -> u32 {
        self.0.exponent().map_or(0, u32::from)
    }
}

impl PartialOrd for Currency {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Currency {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.code().cmp(other.code())
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Currency {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Some(text)
            .filter(|text| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()))
            .and_then(iso_currency::Currency::from_code)
            .filter(|currency| currency.exponent().is_some())
            .map(Self)
            .ok_or_else(|| {
                format!(
                    "`{}` is not a currency: three upper-case letters of ISO 4217, such as EUR",
                    text.chars().take(16).collect::<String>().escape_debug()
                )
            })
    }
}

/// A positive sum in minor units of one currency.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Amount {
    minor_units: i64,
    currency: Currency,
}

impl Amount {
    /// So many minor units; `None` unless positive.
    pub fn from_minor_units(minor_units: i64, currency: Currency) -> Option<Self> {
        (minor_units > 0).then_some(Self { minor_units, currency })
    }

    /// Cents of a euro, whole yen, thousandths of a dinar.
    pub const fn minor_units(self) -> i64 {
        self.minor_units
    }

    /// The currency.
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Reads a decimal in major units: digits, then at most as many after a point as the currency has.
    /// Signs, exponents, blanks, leading zeros, zero itself and what exceeds 2⁶³-1 minor units are refused.
    pub fn parse(text: &str, currency: Currency) -> Result<Self, String> {
        let shown = || text.chars().take(40).collect::<String>().escape_debug().to_string();
        let wrong = || format!("`{}` is not an amount: a positive decimal such as \"24.00\"", shown());
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(wrong()),
            None => (text, ""),
        };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty()
            || !digits(whole)
            || !digits(fraction)
            || (whole.len() > 1 && whole.starts_with('0'))
        {
            return Err(wrong());
        }
        let exponent = currency.exponent();
        let missing =
            usize::try_from(exponent).unwrap_or(0).checked_sub(fraction.len()).ok_or_else(|| {
                format!("`{}` has {} decimal digits, {currency} has {exponent}", shown(), fraction.len())
            })?;
        let too_large = || format!("`{}` {currency} is larger than any amount that can be held", shown());
        let mut minor_units = 0i64;
        for digit in whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', missing)) {
            minor_units = minor_units
                .checked_mul(10)
                .and_then(|tens| tens.checked_add(i64::from(digit - b'0')))
                .ok_or_else(too_large)?;
        }
        Self::from_minor_units(minor_units, currency)
            .ok_or_else(|| format!("`{}` is not an amount: it must be more than zero", shown()))
    }

    /// Reads a JSON value, string or number, in major units.
    pub fn from_json(value: &Value, currency: Currency) -> Result<Self, String> {
        match value {
            Value::String(text) => Self::parse(text, currency),
            Value::Number(number) => Self::parse(&plain_decimal(number), currency),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                Err(format!("`{value}` is not an amount: a decimal as string or number"))
            }
        }
    }

    /// The sum as a decimal in major units, with all its currency's digits: `24.00`, `5` for JPY.
    pub fn major_units(self) -> String {
        let exponent = usize::try_from(self.currency.exponent()).unwrap_or(0);
        let mut digits = format!("{:0width$}", self.minor_units, width = exponent + 1);
        if exponent > 0 {
            digits.insert(digits.len().saturating_sub(exponent), '.');
        }
        digits
    }

    /// `{"value": "24.00", "currency": "EUR"}`, as documents and answers write it.
    pub fn to_json(self) -> Value {
        json!({"value": self.major_units(), "currency": self.currency.code()})
    }
}

/// A JSON number without exponent, in the shortest digits that read back as the same double.
fn plain_decimal(number: &Number) -> String {
    if number.is_f64() {
        number.as_f64().map_or_else(|| number.to_string(), |double| format!("{double}"))
    } else {
        number.to_string()
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.major_units(), self.currency)
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    #[test]
    fn amounts_are_read_exactly_or_not_at_all() {
        for (text, code, minor_units) in [
            ("24.00", "EUR", 2400),
            ("24", "EUR", 2400),
            ("24.1", "EUR", 2410),
            ("0.01", "EUR", 1),
            ("5", "JPY", 5),
            ("1.234", "KWD", 1234),
            ("92233720368547758.07", "EUR", i64::MAX),
        ] {
            assert_eq!(
                Amount::parse(text, currency(code)).unwrap().minor_units(),
                minor_units,
                "{text} {code}"
            );
        }
        for (text, code) in [
            ("1.001", "EUR"),
            ("1.000", "EUR"),
            ("1.5", "JPY"),
            ("5.0", "JPY"),
            ("1.2345", "KWD"),
            ("0", "EUR"),
            ("0.00", "EUR"),
            ("-1", "EUR"),
            ("+1", "EUR"),
            ("1e3", "EUR"),
            (" 1", "EUR"),
            ("1 ", "EUR"),
            ("1,00", "EUR"),
            ("01", "EUR"),
            (".5", "EUR"),
            ("1.", "EUR"),
            ("", "EUR"),
            ("NaN", "EUR"),
            ("٣", "EUR"),
            ("0x10", "EUR"),
            ("92233720368547758.08", "EUR"),
            ("1.2.3", "EUR"),
        ] {
            assert!(Amount::parse(text, currency(code)).is_err(), "{text} {code}");
        }
    }

    #[test]
    fn a_number_is_read_by_its_decimal_digits() {
        for (number, minor_units) in
            [("1240", 124_000), ("1240.5", 124_050), ("0.1", 10), ("1e3", 100_000), ("1.10", 110)]
        {
            let value: Value = serde_json::from_str(number).unwrap();
            assert_eq!(
                Amount::from_json(&value, currency("EUR")).unwrap().minor_units(),
                minor_units,
                "{number}"
            );
        }
        for number in ["1.001", "-1", "1e400", "1e-3", "0.30000000000000004", "true", "null", "[1]"] {
            let Ok(value) = serde_json::from_str::<Value>(number) else { continue };
            assert!(Amount::from_json(&value, currency("EUR")).is_err(), "{number}");
        }
    }

    #[test]
    fn only_currencies_with_a_minor_unit_are_read() {
        for wrong in ["eur", "EURO", "", "XAU", "XXX", "AAA", "E R", "EUR "] {
            assert!(wrong.parse::<Currency>().is_err(), "{wrong}");
        }
        assert_eq!(
            (currency("JPY").exponent(), currency("EUR").exponent(), currency("KWD").exponent()),
            (0, 2, 3)
        );
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(minor_units in 1i64.., code in prop::sample::select(vec!["EUR", "JPY", "KWD"])) {
            let amount = Amount::from_minor_units(minor_units, currency(code)).unwrap();
            prop_assert_eq!(Amount::parse(&amount.major_units(), amount.currency()), Ok(amount));
        }
    }
}
