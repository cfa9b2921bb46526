//! National ids that are looked for where the configuration says so.
//!
//! Each is told by its length, its form and its check digits; the rules are those that the issuing states publish.

use super::Detection;
use super::checksum::{luhn, values, weighted};
use super::reader::Reader;
use super::select::{Selection, State, Value};
use crate::screening::Class;
use std::str::FromStr;

/// The most groups in which one is written.
const MOST_GROUPS: usize = 7;
/// The most characters that one has.
const LONGEST: usize = 16;

/// A national id beyond those that are always looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NationalId(usize);

/// What one is called, how many characters it has, and what tells it.
struct Rule {
    name: &'static str,
    lengths: &'static [usize],
    holds: fn(&[u8]) -> bool,
}

#[rustfmt::skip]
const RULES: [Rule; 20] = [
    Rule { name: "au_tfn", lengths: &[9], holds: au_tfn },
    Rule { name: "be_rrn", lengths: &[11], holds: be_rrn },
    Rule { name: "br_cnpj", lengths: &[14], holds: br_cnpj },
    Rule { name: "ca_sin", lengths: &[9], holds: |read| is_digits(read) && !matches!(read, [b'0' | b'8', ..]) && luhn(read) },
    Rule { name: "ch_ahv", lengths: &[13], holds: ch_ahv },
    Rule { name: "cn_resident", lengths: &[18], holds: cn_resident },
    Rule { name: "de_steuer_id", lengths: &[11], holds: de_steuer_id },
    Rule { name: "es_dni", lengths: &[9], holds: |read| is_digits(head(read, 8)) && spanish(read) },
    Rule { name: "es_nie", lengths: &[9], holds: |read| matches!(read, [b'X'..=b'Z', ..]) && spanish(read) },
    Rule { name: "fr_nir", lengths: &[15], holds: fr_nir },
    Rule { name: "gb_nhs", lengths: &[10], holds: gb_nhs },
    Rule { name: "in_aadhaar", lengths: &[12], holds: in_aadhaar },
    Rule { name: "it_codice_fiscale", lengths: &[16], holds: it_codice_fiscale },
    Rule { name: "nl_bsn", lengths: &[9], holds: nl_bsn },
    Rule { name: "no_fodselsnummer", lengths: &[11], holds: no_fodselsnummer },
    Rule { name: "pl_pesel", lengths: &[11], holds: pl_pesel },
    Rule { name: "pt_nif", lengths: &[9], holds: pt_nif },
    Rule { name: "se_personnummer", lengths: &[10, 12], holds: se_personnummer },
    Rule { name: "tr_kimlik", lengths: &[11], holds: tr_kimlik },
    Rule { name: "za_id", lengths: &[13], holds: |read| is_digits(read) && is_date(tail(read, 2), 0) && luhn(read) },
];

impl NationalId {
    /// All of them, in order of their names.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..RULES.len()).map(Self)
    }

    /// The id's name: the country, and what it is called there.
    pub fn as_str(self) -> &'static str {
        RULES.get(self.0).map_or("", |rule| rule.name)
    }
}

impl FromStr for NationalId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::all().find(|id| id.as_str() == text).ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            let allowed: Vec<_> = Self::all().map(Self::as_str).collect();
            format!(
                "`{}` is not a national id that is known, allowed: {}",
                shown.escape_debug(),
                allowed.join(", ")
            )
        })
    }
}

/// The further national id that some words from `at` are.
pub(super) fn at(
    selection: &Selection<'_>,
    at: usize,
    detection: &Detection,
    reader: &mut Reader<'_>,
) -> Option<Value> {
    if detection.further.is_empty() {
        return None;
    }
    let (mut end, mut length) = (at, 0);
    while end - at < MOST_GROUPS && selection.state(end) == Some(State::Free) {
        reader.steps += 1;
        let group = selection.group(end)?;
        if end > at && !Selection::is_plain(group.join) {
            break;
        }
        length += group.length;
        end += 1;
        if length > LONGEST + 2 {
            break;
        }
        let groups = at..end;
        let known = detection.further.iter().filter_map(|id| RULES.get(id.0));
        let found = known
            .filter(|rule| rule.lengths.contains(&length))
            .find(|rule| (rule.holds)(selection.chain.read(groups.clone())));
        if let Some(rule) = found.filter(|_| selection.stands_apart(&groups)) {
            return Some((groups, Class::NationalId, rule.name));
        }
    }
    None
}

fn is_digits(read: &[u8]) -> bool {
    read.iter().all(u8::is_ascii_digit) && read.iter().any(|digit| Some(digit) != read.first())
}

fn head(read: &[u8], length: usize) -> &[u8] {
    read.get(..length).unwrap_or_default()
}

/// All but the first characters.
fn tail(read: &[u8], from: usize) -> &[u8] {
    read.get(from..).unwrap_or_default()
}

fn number(read: &[u8]) -> u64 {
    values(read).fold(0, |number, value| number * 10 + u64::try_from(value).unwrap_or(0))
}

/// Whether month and day of a date stand at the beginning, the month with some more added to it.
fn is_date(month_and_day: &[u8], added: u64) -> bool {
    let month = number(head(month_and_day, 2)).checked_sub(added);
    let day = number(month_and_day.get(2..4).unwrap_or_default());
    month.is_some_and(|month| (1..=12).contains(&month)) && (1..=31).contains(&day)
}

fn check(read: &[u8]) -> usize {
    values(tail(read, read.len().saturating_sub(1))).next().unwrap_or(usize::MAX)
}

fn au_tfn(read: &[u8]) -> bool {
    is_digits(read) && weighted(read, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11)
}

fn be_rrn(read: &[u8]) -> bool {
    let sum = number(tail(read, 9));
    is_digits(read)
        && is_date(tail(read, 2), 0)
        && (97 - number(head(read, 9)) % 97 == sum
            || 97 - (2_000_000_000 + number(head(read, 9))) % 97 == sum)
}

fn br_cnpj(read: &[u8]) -> bool {
    let weights = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    let digit =
        |length: usize| match weighted(head(read, length), weights.get(13 - length..).unwrap_or_default())
            % 11
        {
            0 | 1 => 0,
            rest => 11 - rest,
        };
    head(read, 12).iter().all(u8::is_ascii_alphanumeric)
        && tail(read, 12).iter().all(u8::is_ascii_digit)
        && read.iter().any(|digit| Some(digit) != read.first())
        && values(tail(read, 12)).eq([digit(12), digit(13)])
}

fn ch_ahv(read: &[u8]) -> bool {
    is_digits(read)
        && read.starts_with(b"756")
        && weighted(read, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]).is_multiple_of(10)
}

fn cn_resident(read: &[u8]) -> bool {
    let sum = weighted(head(read, 17), &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11;
    is_digits(head(read, 17)) && is_date(tail(read, 10), 0) && b"10X98765432".get(sum) == read.last()
}

fn de_steuer_id(read: &[u8]) -> bool {
    let product = values(head(read, 10)).fold(10, |product, value| {
        let sum = (product + value) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    // Of the first ten digits one stands twice or three times, the others once at most.
    let mut counts = [0_u8; 10];
    for value in values(head(read, 10)) {
        if let Some(count) = counts.get_mut(value) {
            *count += 1;
        }
    }
    let mut repeated = counts.iter().filter(|count| **count > 1);
    is_digits(read)
        && !read.starts_with(b"0")
        && matches!((repeated.next(), repeated.next()), (Some(2 | 3), None))
        && (11 - product) % 10 == check(read)
}

fn spanish(read: &[u8]) -> bool {
    let Some((last, number_part)) = read.split_last() else { return false };
    let Some((first, rest)) = number_part.split_first() else { return false };
    let first = match first {
        b'X'..=b'Z' => first - b'X',
        digit => digit.wrapping_sub(b'0'),
    };
    rest.iter().all(u8::is_ascii_digit)
        && usize::try_from((u64::from(first) * 10_000_000 + number(rest)) % 23)
            .is_ok_and(|rest| b"TRWAGMYFPDXBNJZSQVHLCKE".get(rest) == Some(last))
}

fn fr_nir(read: &[u8]) -> bool {
    let (body, sum) = (head(read, 13), number(tail(read, 13)));
    let (department, less) = match body.get(5..7) {
        Some(b"2A") => (true, 1_000_000),
        Some(b"2B") => (true, 2_000_000),
        _ => (false, 0),
    };
    let digits: Vec<u8> = body.iter().map(|read| if read.is_ascii_digit() { *read } else { b'0' }).collect();
    let rest = if department { tail(body, 7) } else { tail(body, 5) };
    head(body, 5).iter().chain(rest).chain(tail(read, 13)).all(u8::is_ascii_digit)
        && matches!(body, [b'1' | b'2' | b'7' | b'8', ..])
        && number(&digits).checked_sub(less).is_some_and(|number| 97 - number % 97 == sum)
}

fn gb_nhs(read: &[u8]) -> bool {
    is_digits(read) && (11 - weighted(head(read, 9), &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 11 == check(read)
}

fn in_aadhaar(read: &[u8]) -> bool {
    is_digits(read) && !matches!(read, [b'0' | b'1', ..]) && verhoeff(read)
}

/// Verhoeff's check over the group of the turns and reflections of a pentagon.
fn verhoeff(read: &[u8]) -> bool {
    const PERMUTATION: [usize; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let times = |one: usize, other: usize| match (one < 5, other < 5) {
        (true, true) => (one + other) % 5,
        (true, false) => (one + other) % 5 + 5,
        (false, true) => (one - other) % 5 + 5,
        (false, false) => (one + 5 - other) % 5,
    };
    values(read).rev().enumerate().fold(0, |sum, (place, value)| {
        let turned = (0..place % 8).fold(value, |value, _| PERMUTATION.get(value).copied().unwrap_or(0));
        times(sum, turned)
    }) == 0
}

fn it_codice_fiscale(read: &[u8]) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let is_digit = |read: &u8| read.is_ascii_digit() || b"LMNPQRSTUV".contains(read);
    let form = read.iter().enumerate().all(|(place, read)| match place {
        0..=5 | 8 | 11 | 15 => read.is_ascii_uppercase(),
        _ => is_digit(read),
    });
    let sum: u32 = head(read, 15)
        .iter()
        .enumerate()
        .map(|(place, read)| {
            let value = if read.is_ascii_digit() { read - b'0' } else { read.wrapping_sub(b'A') };
            if place % 2 == 0 { ODD.get(usize::from(value)).copied().unwrap_or(0) } else { u32::from(value) }
        })
        .sum();
    form && read.get(8).is_some_and(|month| b"ABCDEHLMPRST".contains(month))
        && read.last().is_some_and(|last| u32::from(last.wrapping_sub(b'A')) == sum % 26)
}

fn nl_bsn(read: &[u8]) -> bool {
    is_digits(read) && (weighted(read, &[9, 8, 7, 6, 5, 4, 3, 2]) + 10 * check(read)).is_multiple_of(11)
}

fn no_fodselsnummer(read: &[u8]) -> bool {
    let digit = |length: usize, weights: &[usize]| (11 - weighted(head(read, length), weights) % 11) % 11;
    is_digits(read)
        && (1..=71).contains(&number(head(read, 2)))
        && values(tail(read, 9))
            .eq([digit(9, &[3, 7, 6, 1, 8, 9, 4, 5, 2]), digit(10, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2])])
}

fn pl_pesel(read: &[u8]) -> bool {
    let month = number(read.get(2..4).unwrap_or_default()) % 20;
    is_digits(read)
        && (1..=12).contains(&month)
        && (1..=31).contains(&number(read.get(4..6).unwrap_or_default()))
        && weighted(read, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]).is_multiple_of(10)
}

fn pt_nif(read: &[u8]) -> bool {
    let digit = (11 - weighted(head(read, 8), &[9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 11 % 10;
    is_digits(read) && matches!(read, [b'1'..=b'3', ..] | [b'4', b'5', ..]) && digit == check(read)
}

fn se_personnummer(read: &[u8]) -> bool {
    let short = tail(read, read.len().saturating_sub(10));
    let century = read.len() == 10 || matches!(read, [b'1', b'8' | b'9', ..] | [b'2', b'0', ..]);
    let coordination = number(short.get(4..6).unwrap_or_default());
    is_digits(read)
        && century
        && (1..=12).contains(&number(short.get(2..4).unwrap_or_default()))
        && (1..=31).contains(&(coordination % 60))
        && luhn(short)
}

fn tr_kimlik(read: &[u8]) -> bool {
    let odd: usize = values(head(read, 9)).step_by(2).sum();
    let even: usize = values(head(read, 8)).skip(1).step_by(2).sum();
    let tenth = (odd * 7 + 10 * 9 - even) % 10;
    let eleventh: usize = values(head(read, 10)).sum::<usize>() % 10;
    is_digits(read) && !read.starts_with(b"0") && values(tail(read, 9)).eq([tenth, eleventh])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screening::detect;

    /// Values that their states or the documentation of others' checks print.
    const VALUES: [(&str, &str, &str); 20] = [
        ("au_tfn", "123 456 782", "123 456 783"),
        ("be_rrn", "85.07.30-033.28", "85.07.30-033.29"),
        ("br_cnpj", "16727230000197", "16727230000198"),
        ("ca_sin", "123-456-782", "123-456-783"),
        ("ch_ahv", "756.9217.0769.85", "756.9217.0769.84"),
        ("cn_resident", "360426199101010071", "360426199101010072"),
        ("de_steuer_id", "36 574 261 809", "36 574 261 890"),
        ("es_dni", "54362315-K", "54362315-Z"),
        ("es_nie", "x-2482300w", "x-2482300a"),
        ("fr_nir", "2 95 10 99 126 111 93", "2 95 10 99 126 111 99"),
        ("gb_nhs", "943-476-5870", "943-476-5871"),
        ("in_aadhaar", "2341 2341 2346", "2341 2341 2347"),
        ("it_codice_fiscale", "RCCMNL83S18D969H", "RCCMNL83S18D969J"),
        ("nl_bsn", "1112.22.333", "1112.52.333"),
        ("no_fodselsnummer", "151086 95088", "151086 95077"),
        ("pl_pesel", "44051401359", "44051401358"),
        ("pt_nif", "123 456 789", "123 456 788"),
        ("se_personnummer", "880320-0016", "880320-0018"),
        ("tr_kimlik", "17291716060", "17291716050"),
        ("za_id", "750330 5044089", "850330 5044089"),
    ];

    #[test]
    fn each_further_id_is_found_where_it_is_asked_for_and_its_check_holds() {
        assert!(VALUES.iter().map(|(name, ..)| *name).eq(NationalId::all().map(NationalId::as_str)));
        for (name, value, wrong) in VALUES {
            let text = format!("the number is {value}, thanks");
            let asked = Detection::of([name]).unwrap();
            let found = detect(&text, &asked);
            let kinds: Vec<_> = found.iter().map(|finding| (finding.class, finding.kind)).collect();
            assert_eq!(kinds, [(Class::NationalId, name)], "{text}");
            assert_eq!(&text[found[0].span.clone()], value);
            let wrong = detect(&format!("the number is {wrong}, thanks"), &asked);
            assert!(wrong.iter().all(|finding| finding.kind != name), "{name}: {wrong:?}");
            let unasked = detect(&text, &Detection::default());
            assert!(unasked.iter().all(|finding| finding.kind != name), "{name}");
        }
    }

    #[test]
    fn an_id_that_is_not_known_is_refused_by_name() {
        let refused = Detection::of(["nl_bsn", "xx_id"]).unwrap_err();
        assert!(
            refused.starts_with("`xx_id` is not a national id that is known, allowed: au_tfn, be_rrn"),
            "{refused}"
        );
    }
}
