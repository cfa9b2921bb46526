//! Finding the values of every class in one pass over a text.
//!
//! A table of bytes leads to the next digit or at sign; around it a chain of words is read ([`chain`]) and what it
//! holds is chosen ([`select`]). Every character is read a bounded number of times.

mod chain;
mod checksum;
mod context;
mod email;
mod further;
mod glyph;
mod iban;
#[cfg(test)]
mod laws;
mod national;
mod phone;
mod reader;
mod registry;
mod select;
#[cfg(test)]
mod tests;

use super::{Class, Finding};
use chain::Chain;
use glyph::Glyph;
use reader::Reader;
use select::State;
use std::{collections::BTreeSet, ops::Range};

pub use further::NationalId;

/// What is looked for beyond the values that are always found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detection {
    further: BTreeSet<NationalId>,
}

impl Detection {
    /// Looks for one more national id, of the class `national_id` and under its own name.
    #[must_use]
    pub fn with(mut self, id: NationalId) -> Self {
        self.further.insert(id);
        self
    }

    /// Reads the names of further national ids; the first that is not known is refused by name.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let further = names.into_iter().map(str::parse).collect::<Result<_, String>>()?;
        Ok(Self { further })
    }

    /// The further national ids that are looked for.
    pub fn further(&self) -> impl Iterator<Item = NationalId> {
        self.further.iter().copied()
    }
}

/// The values in a text, in order, never overlapping.
pub fn detect(text: &str, detection: &Detection) -> Vec<Finding> {
    counted(text, detection).0
}

/// The values in a text, and how many steps it took to find them.
fn counted(text: &str, detection: &Detection) -> (Vec<Finding>, u64) {
    let mut reader = Reader::new(text);
    let (mut chain, mut states): (Chain, Vec<State>) = Default::default();
    let (mut found, mut addresses) = (Vec::new(), Vec::new());
    let (mut place, mut chain_floor, mut address_floor) = (0, 0, 0);
    // Where the last value ends that no name of an address may hold.
    let mut certain = 0;
    while let Some(at) = next_of_interest(&mut reader, place) {
        let Some((glyph, next)) = reader.at(at) else { break };
        place = next;
        if glyph == Glyph::At {
            if let Some(address) = email::around(&mut reader, at, address_floor.max(certain)) {
                email::add(address, &mut addresses);
            }
            address_floor = next;
        } else if matches!(glyph, Glyph::Digit(_)) {
            chain.fill(&mut reader, at, chain_floor);
            let known = found.len();
            select::select(&mut reader, &chain, &mut states, detection, &mut found);
            let new = found.iter().skip(known).filter(|finding| finding.class != Class::Phone);
            certain = new.map(|finding| finding.span.end).fold(certain, usize::max);
            place = chain.end.max(next);
            chain_floor = place;
        }
    }
    (apart(found, addresses), reader.steps)
}

/// Bytes that may begin a digit or an at sign: 1 in ASCII, 2 those of which more has to be read.
const INTEREST: [u8; 256] = {
    let mut table = [0; 256];
    let mut digit = 0;
    while digit < 10 {
        #[expect(clippy::indexing_slicing, reason = "built when the program is compiled")]
        {
            table[0x30 + digit] = 1;
        }
        digit += 1;
    }
    {
        table[0x40] = 1;
        // First bytes of the scripts' digits and of wide at signs.
        table[0xD9] = 2;
        table[0xDB] = 2;
        table[0xDF] = 2;
        table[0xE0] = 2;
        table[0xE1] = 2;
        table[0xEA] = 2;
        table[0xEF] = 2;
        table[0xF0] = 2;
    }
    table
};

/// The next digit or at sign at or after a place.
fn next_of_interest(reader: &mut Reader<'_>, mut place: usize) -> Option<usize> {
    loop {
        let rest = reader.text.as_bytes().get(place..)?;
        let interest = |byte: &u8| INTEREST.get(usize::from(*byte)).copied().unwrap_or(0);
        let skipped = rest.iter().position(|byte| interest(byte) != 0);
        reader.steps += u64::try_from(skipped.unwrap_or(rest.len())).unwrap_or(u64::MAX);
        place += skipped?;
        if rest.get(skipped?).map(interest) == Some(1) {
            return Some(place);
        }
        let (glyph, next) = reader.at(place)?;
        if matches!(glyph, Glyph::Digit(_) | Glyph::At) {
            return Some(place);
        }
        place = next;
    }
}

/// Findings in order without overlaps: what has a checksum or a certain form goes before an address of mail, and that
/// before a number that is told by its length.
fn apart(found: Vec<Finding>, addresses: Vec<Finding>) -> Vec<Finding> {
    let (phones, certain): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|finding| finding.class == Class::Phone);
    let mut kept = Vec::with_capacity(certain.len() + addresses.len() + phones.len());
    for more in [certain, addresses, phones] {
        let free: Vec<_> = more.into_iter().filter(|finding| !overlaps(&kept, &finding.span)).collect();
        for finding in free {
            kept.push(finding);
        }
        kept.sort_by_key(|finding: &Finding| finding.span.start);
        kept.dedup_by(|later, earlier| later.span.start < earlier.span.end);
    }
    kept
}

/// Whether one of some findings in order overlaps a span.
fn overlaps(findings: &[Finding], span: &Range<usize>) -> bool {
    let after = findings.partition_point(|finding| finding.span.end <= span.start);
    findings.get(after).is_some_and(|finding| finding.span.start < span.end)
}

/// The text without some parts of it, in order and apart from each other, joined so that nothing becomes a value.
///
/// Where a value would reach over a joint a line ends there instead; what is a value all the same, because what it
/// hung on is gone, is masked.
pub fn without(text: &str, parts: &[Range<usize>], detection: &Detection) -> String {
    let known = detect(text, detection);
    let (joined, joints) = join(text, parts, "");
    if new(&joined, &joints, &known, 0, detection).is_empty() {
        return joined;
    }
    let (apart, joints) = join(text, parts, "\n");
    super::masked(&apart, &new(&apart, &joints, &known, 1, detection))
}

/// The values in a joined text that were none before, by the joints and how many bytes each has.
fn new(
    joined: &str,
    joints: &[(usize, usize)],
    known: &[Finding],
    joint: usize,
    detection: &Detection,
) -> Vec<Finding> {
    let before = |place: usize| {
        let passed = joints.iter().take_while(|(at, _)| *at < place);
        passed.fold(place, |place, (_, length)| (place + length).saturating_sub(joint))
    };
    let was = |finding: &Finding| {
        let start = before(finding.span.start + 1).saturating_sub(1);
        let span = start..before(finding.span.end);
        known.binary_search_by_key(&start, |known| known.span.start).is_ok_and(|at| {
            known.get(at).is_some_and(|known| {
                known.class == finding.class && known.span == span && known.span.len() == finding.span.len()
            })
        })
    };
    detect(joined, detection).into_iter().filter(|finding| !was(finding)).collect()
}

/// The text without the parts, with something in place of each; and where the parts were, with their lengths.
fn join(text: &str, parts: &[Range<usize>], joint: &str) -> (String, Vec<(usize, usize)>) {
    let mut kept = String::with_capacity(text.len());
    let (mut joints, mut rest) = (Vec::new(), 0);
    for part in parts {
        let Some(before) = text.get(rest..part.start) else { continue };
        kept.push_str(before);
        joints.push((kept.len(), part.len()));
        kept.push_str(joint);
        rest = part.end;
    }
    kept.push_str(text.get(rest..).unwrap_or_default());
    (kept, joints)
}
