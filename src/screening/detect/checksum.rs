//! Check digits.

/// Whether the last of some ASCII digits is their check digit by Luhn's formula (ISO/IEC 7812-1, annex B).
pub(super) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let value = u32::from(digit.wrapping_sub(b'0'));
            match (place % 2, value * 2) {
                (0, _) => value,
                (_, doubled @ 0..=9) => doubled,
                (_, doubled) => doubled - 9,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Whether an account number's check digits hold (ISO 7064, MOD 97-10): ASCII digits and upper-case letters.
pub(super) fn mod_97_10(number: &[u8]) -> bool {
    let (front, rest) = number.split_at(4.min(number.len()));
    rest.iter().chain(front).fold(0, |sum: u32, character| match character {
        b'0'..=b'9' => (sum * 10 + u32::from(character - b'0')) % 97,
        b'A'..=b'Z' => (sum * 100 + u32::from(character - b'A') + 10) % 97,
        _ => 0,
    }) == 1
}

/// Whether both check digits of a CPF hold, and it is not one digit eleven times, which none is.
pub(super) fn cpf(digits: &[u8]) -> bool {
    let check = |length: usize| {
        let sum: usize = values(digits)
            .take(length)
            .zip((2..=length + 1).rev())
            .map(|(value, weight)| value * weight)
            .sum();
        (sum * 10 % 11) % 10
    };
    digits.len() == 11
        && digits.iter().any(|digit| Some(digit) != digits.first())
        && values(digits).skip(9).eq([check(9), check(10)])
}

/// The values of ASCII digits.
pub(super) fn values(digits: &[u8]) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone {
    digits.iter().map(|digit| usize::from(digit.wrapping_sub(b'0')))
}

/// The sum of digits, each times its weight.
pub(super) fn weighted(digits: &[u8], weights: &[usize]) -> usize {
    values(digits).zip(weights).map(|(value, weight)| value * weight).sum()
}
