//! Where the sentences of a text begin and end.
//!
//! UAX #29 says where a sentence may end. What it cannot know is taken back here: abbreviations, initials, numbers of
//! lists, marks inside names and addresses.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Never the end of a sentence: a name, or what is explained, follows.
const BEFORE_WORDS: [&str; 71] = [
    "adj", "alm", "approx", "aprox", "arq", "av", "brig", "capt", "cel", "cf", "cmdr", "col", "cpt", "dept",
    "des", "dom", "dr", "dra", "drs", "e.g", "eg", "eng", "enga", "est", "ex", "exma", "exmo", "gen", "gov",
    "hon", "i.e", "ie", "ilma", "ilmo", "lt", "maj", "mdm", "messrs", "mm", "mme", "mr", "mrs", "ms", "msgr",
    "mt", "pça", "pca", "pe", "pres", "prof", "profa", "rep", "resp", "rev", "rod", "sen", "sgt", "sr",
    "sra", "sras", "srs", "srta", "sta", "sto", "st", "supt", "trav", "v.g", "vd", "vs", "viz",
];
/// Not the end of a sentence where a number follows.
const BEFORE_NUMBERS: [&str; 37] = [
    "ap", "apr", "apto", "art", "arts", "aug", "cap", "caps", "ch", "dec", "eq", "ext", "feb", "fig", "figs",
    "inc", "jan", "n", "no", "nos", "nov", "num", "núm", "n\u{ba}", "n\u{b0}", "oct", "p", "pag", "par",
    "pg", "pp", "pág", "ramal", "sec", "sep", "tel", "vol",
];
/// The longest word that is looked up as an abbreviation, in bytes.
const LONGEST_ABBREVIATION_BYTES: usize = 12;
/// The longest number of a list's entry, in digits.
const LONGEST_LIST_NUMBER: usize = 3;

/// The sentences of a text, without the blanks around them, in order. Everything but blanks lies in one of them.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for end in ends(text) {
        let piece = text.get(start..end).unwrap_or_default();
        let inside = piece.trim();
        if !inside.is_empty() {
            let begin = start + (piece.len() - piece.trim_start().len());
            found.push(begin..begin + inside.len());
        }
        start = end;
    }
    found
}

/// Where one sentence ends and the next may begin, the end of the text included.
fn ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    let mut bounds: Vec<usize> = text.split_sentence_bound_indices().map(|(at, _)| at).skip(1).collect();
    bounds.extend(after_ellipses(text));
    bounds.sort_unstable();
    bounds.dedup();
    for bound in bounds {
        let (before, after) = text.split_at_checked(bound).unwrap_or((text, ""));
        if is_end(before.get(start..).unwrap_or_default(), after) {
            ends.push(bound);
            start = bound;
        }
    }
    ends.push(text.len());
    ends
}

/// An ellipsis before a capital ends a sentence, which UAX #29 does not say.
fn after_ellipses(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.match_indices('…').filter_map(|(at, mark)| {
        let after = text.get(at + mark.len()..)?.trim_start_matches(is_closer);
        let next = after.trim_start();
        let begins = next.chars().next().is_some_and(char::is_uppercase);
        (next.len() < after.len() && begins).then(|| text.len() - next.len())
    })
}

/// Whether a sentence ends between the two.
fn is_end(sentence: &str, after: &str) -> bool {
    let said = sentence.trim_end();
    let blanks = sentence.get(said.len()..).unwrap_or_default();
    if blanks.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        return true;
    }
    if blanks.is_empty() {
        return said.ends_with(['。', '！', '？', '｡', '．']);
    }
    let next = after.trim_start_matches(is_opener).chars().next();
    if next.is_some_and(char::is_lowercase) {
        return false;
    }
    !is_abbreviated(said, after)
}

/// Whether the full stop at the end of `said` belongs to its last word.
fn is_abbreviated(said: &str, after: &str) -> bool {
    let next = after.trim_start_matches(is_opener).chars().next();
    let Some(stem) = said.strip_suffix('.') else { return false };
    let word_start = stem.rfind(|letter: char| letter.is_whitespace() || is_opener(letter));
    let word_start = word_start.map_or(0, |at| at + stem.get(at..).and_then(first_length).unwrap_or(1));
    let (before, word) = stem.split_at_checked(word_start).unwrap_or(("", stem));
    if word.is_empty() || word.len() > LONGEST_ABBREVIATION_BYTES {
        return false;
    }
    let is_list_number = before.trim().is_empty()
        && word.len() <= LONGEST_LIST_NUMBER
        && (word.bytes().all(|byte| byte.is_ascii_digit()) || word.chars().count() == 1);
    if is_list_number {
        return true;
    }
    let lower = word.to_lowercase();
    if BEFORE_WORDS.contains(&lower.as_str()) {
        return true;
    }
    if BEFORE_NUMBERS.contains(&lower.as_str()) {
        return next.is_some_and(char::is_numeric);
    }
    let mut letters = word.chars();
    let is_initial = letters.next().is_some_and(char::is_uppercase) && letters.next().is_none();
    is_initial && (follows_a_name(before) || begins_with_initial(after))
}

/// Whether a capital letter and a full stop stand first.
fn begins_with_initial(after: &str) -> bool {
    let mut letters = after.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next() == Some('.')
}

/// Whether the word before an initial is a name, or another initial.
fn follows_a_name(before: &str) -> bool {
    let word = before.split_whitespace().next_back().unwrap_or_default();
    word.trim_start_matches(is_opener).starts_with(char::is_uppercase)
}

fn first_length(text: &str) -> Option<usize> {
    text.chars().next().map(char::len_utf8)
}

fn is_opener(letter: char) -> bool {
    matches!(letter, '(' | '[' | '{' | '"' | '\'' | '“' | '‘' | '«' | '¿' | '¡' | '*' | '_' | '`' | '~' | '>')
}

fn is_closer(letter: char) -> bool {
    matches!(letter, ')' | ']' | '}' | '"' | '\'' | '”' | '’' | '»' | '*' | '_' | '`' | '~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|at| &text[at]).collect()
    }

    #[test]
    fn a_stop_that_belongs_to_a_word_ends_nothing() {
        for whole in [
            "I can see Mt. Fuji from here.",
            "Ligue p. ex. amanhã para a Dra. Lima, na Av. Brasil, nº 5.",
            "See https://shop.example/FAQ?Id=3&X=1 for more.",
            "My name is J. R. R. Smith.",
            "Look at fig. 3 and No. 7 of vol. 2.",
        ] {
            assert_eq!(split(whole), [whole]);
        }
    }

    #[test]
    fn what_ends_a_sentence_ends_it() {
        assert_eq!(split("Is it? No. It is not."), ["Is it?", "No.", "It is not."]);
        assert_eq!(split("We go with plan B. It is done."), ["We go with plan B.", "It is done."]);
        assert_eq!(split("Wait… She left. 謝謝。再見。"), ["Wait…", "She left.", "謝謝。", "再見。"]);
        assert_eq!(split("1. One\n2. Two\r\n\r\n  3. Three"), ["1. One", "2. Two", "3. Three"]);
        assert!(split(" \n ").is_empty());
    }

    proptest! {
        #[test]
        fn all_but_blanks_lies_in_one_sentence(text in "[ a-zA-Z0-9.!?…\n\"()é。]{0,60}|\\PC{0,60}") {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            let found = sentences(&text);
            let joined: String = found.iter().map(|at| &text[at.clone()]).collect();
            prop_assert_eq!(bare(&joined), bare(&text));
            prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
