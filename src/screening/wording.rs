//! Phrases looked for in a text: whole words, in any case.

use super::Language;
use super::fold::Folded;
use aho_corasick::AhoCorasick;
use std::ops::Range;

/// Phrases, ready to be looked for all at once.
pub(super) struct Phrases {
    finder: Option<AhoCorasick>,
}

impl Phrases {
    /// Makes phrases ready. One that no finder can be built for finds nothing, which bounds on rules rule out.
    pub(super) fn new<'a>(phrases: impl Iterator<Item = &'a str>, language: Language) -> Self {
        let folded: Vec<String> = phrases.map(|phrase| folded(phrase, language)).collect();
        let finder = if folded.is_empty() { None } else { AhoCorasick::new(folded).ok() };
        Self { finder }
    }

    /// Where each of them stands in the source of `text`, and which it is.
    pub(super) fn find<'a>(&'a self, text: &'a Folded) -> impl Iterator<Item = (usize, Range<usize>)> + 'a {
        let found = self.finder.iter().flat_map(|finder| finder.find_overlapping_iter(&text.text));
        found
            .filter(|found| !found.is_empty() && text.is_whole(&found.range()))
            .map(|found| (found.pattern().as_usize(), text.in_source(found.range())))
    }
}

/// Whether a text says a sentence already, whatever mark it ends with.
pub(super) fn says(text: &Folded, sentence: &str, language: Language) -> bool {
    Phrases::new([sentence].into_iter(), language).find(text).next().is_some()
}

/// A phrase in the form of [`Folded`], without blanks around it and the mark it ends with.
fn folded(phrase: &str, language: Language) -> String {
    let folded = Folded::of(phrase, language).text;
    folded
        .trim_matches(|mark: char| mark.is_whitespace() || mark.is_control())
        .trim_end_matches(['.', '!'])
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, phrase: &str, language: Language) -> bool {
        let (phrases, text) = (Phrases::new([phrase].into_iter(), language), Folded::of(text, language));
        phrases.find(&text).next().is_some()
    }

    #[test]
    fn words_are_whole_and_of_any_case_whatever_stands_between_them() {
        let english = Language::English;
        for text in [
            "a GUARANTEED\u{a0}\u{a0}Refund!",
            "**guaranteed** refund",
            "guaranteed-refund",
            "guar\u{200b}anteed re\u{ad}fund",
            "a ｇｕａｒａｎｔｅｅｄ refund",
            "a guaranteed\nrefund",
        ] {
            assert!(holds(text, "guaranteed refund", english), "{text}");
        }
        for text in [
            "guaranteed refunds",
            "unguaranteed refund",
            "guaranteed. Refund",
            "guaranteed\n\nrefund",
            "guaranteed, refund",
        ] {
            assert!(!holds(text, "guaranteed refund", english), "{text}");
        }
    }

    #[test]
    fn accents_count_in_english_and_may_be_left_out_in_portuguese() {
        assert!(!holds("your resumé", "resume", Language::English));
        assert!(!holds("a promocao", "promoção", Language::English));
        assert!(holds("a promocao", "promoção", Language::BrazilianPortuguese));
        assert!(holds("a PROMOC\u{327}A\u{303}O", "promocao", Language::BrazilianPortuguese));
    }
}
