//! What a sentence says was done, or was not.

use super::Language;
use super::lexicon::{DEEDS, Deed, Form};

/// One thing a sentence says of one deed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    /// Which deed, by its stem; empty where the sentence only says that it is done.
    pub deed: &'static str,
    /// How it says so.
    pub says: Says,
}

/// How a sentence speaks of a deed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// The one who writes did it: `I've refunded it`.
    Did,
    /// It happened, as the writer or anyone else might report: `it has been refunded`.
    Happened,
    /// It was so once, which says nothing of now: `you were refunded in May`.
    Was,
    /// It did not happen: `I couldn't refund it`.
    DidNot,
}

/// Far enough to hold an auxiliary, a negation and two adverbs.
const WINDOW: usize = 6;
/// How far a noun and its verb stand apart.
const REACH: usize = 4;

const PLAIN: [&str; 14] = [
    "done",
    "all done",
    "that's done",
    "that is done",
    "it's done",
    "it is done",
    "completed",
    "it's completed",
    "feito",
    "tudo feito",
    "esta feito",
    "ja esta feito",
    "concluido",
    "esta concluido",
];
const CARRIED_OUT: [&str; 14] = [
    "done",
    "made",
    "issued",
    "processed",
    "completed",
    "sent",
    "placed",
    "confirmed",
    "approved",
    "created",
    "submitted",
    "applied",
    "initiated",
    "executed",
];
const FEITO: [&str; 10] = [
    "feit",
    "realizad",
    "processad",
    "concluid",
    "emitid",
    "enviad",
    "efetuad",
    "confirmad",
    "aprovad",
    "aplicad",
];
const FIZ: [&str; 12] = [
    "fiz",
    "fizemos",
    "realizei",
    "realizamos",
    "processei",
    "processamos",
    "conclui",
    "efetuei",
    "efetuamos",
    "emiti",
    "apliquei",
    "aplicamos",
];
const NOT_YET: [&str; 28] = [
    "will", "won't", "would", "wouldn't", "can", "may", "might", "shall", "should", "must", "be", "being",
    "get", "gets", "i'll", "we'll", "you'll", "it'll", "they'll", "to", "sera", "serao", "vai", "vou",
    "pode", "deve", "ser", "podemos",
];
const NOT: [&str; 11] =
    ["not", "never", "no", "nothing", "nor", "without", "nao", "nunca", "nem", "sem", "nobody"];
const UNABLE: [&str; 12] = [
    "couldn't",
    "unable",
    "cannot",
    "can't",
    "failed",
    "wasn't",
    "weren't",
    "falhou",
    "falhei",
    "consegui",
    "conseguimos",
    "possivel",
];

/// What a folded sentence claims of the deeds that are known.
pub(super) fn claims(folded: &str, language: Language) -> Vec<Claim> {
    if folded.trim_end_matches(|mark: char| !mark.is_alphanumeric() && mark != '?').ends_with('?') {
        return Vec::new();
    }
    let words = words(folded);
    let plain = words.iter().take_while(|word| **word != ",").copied().collect::<Vec<_>>().join(" ");
    if PLAIN.contains(&plain.as_str()) {
        return vec![Claim { deed: "", says: Says::Did }];
    }
    let sentence = Sentence { words, language };
    let mut claims = Vec::new();
    for at in 0..sentence.words.len() {
        for deed in &DEEDS {
            if let Some(says) = sentence.says(at, deed) {
                claims.push(Claim { deed: deed.stem, says });
            }
        }
    }
    claims
}

/// How a folded sentence uses each of these participles, which no deed has.
pub(super) fn participles_say<'a>(
    folded: &str,
    participles: impl Iterator<Item = &'a str>,
    language: Language,
) -> Vec<Option<Says>> {
    let sentence = Sentence { words: words(folded), language };
    let says = |participle: &str| {
        let at = sentence.words.iter().position(|word| *word == participle)?;
        sentence.participle(at)
    };
    participles.map(says).collect()
}

struct Sentence<'a> {
    /// Words in small letters; a comma stands for whatever parts clauses.
    words: Vec<&'a str>,
    language: Language,
}

impl Sentence<'_> {
    fn says(&self, at: usize, deed: &Deed) -> Option<Says> {
        let word = self.word(at)?;
        match self.language {
            Language::English if deed.done.contains(&word) => self.participle(at),
            Language::English if deed.stem == word || deed.nouns.contains(&word) => self.noun(at),
            Language::English => None,
            Language::BrazilianPortuguese => {
                let form = deed.verbs.iter().find_map(|verb| verb.form(word));
                match form {
                    Some(form) => self.verbo(at, form),
                    None if deed.nomes.contains(&word) => self.nome(at),
                    None => None,
                }
            }
        }
    }

    fn participle(&self, at: usize) -> Option<Says> {
        let before = self.before(at);
        if is_any(before, &NOT_YET) || self.is_condition(at) {
            return None;
        }
        if before.iter().any(|word| NOT.contains(word) || word.ends_with("n't")) {
            return Some(Says::DidNot);
        }
        if before.is_empty() || is_any(before, &["i", "we", "i've", "we've"]) {
            return Some(Says::Did);
        }
        let has_been = is_any(before, &["been", "is", "are", "it's", "that's", "now"]);
        if has_been || is_any(before, &["has", "have"]) {
            return Some(Says::Happened);
        }
        is_any(before, &["was", "were", "got"]).then_some(Says::Was)
    }

    /// A noun, or the plain verb: `your refund has been issued`, `I've issued your refund`, `I couldn't refund it`.
    fn noun(&self, at: usize) -> Option<Says> {
        let (before, after) = (self.before(at), self.after(at));
        if is_any(before, &UNABLE)
            || is_any(before, &["could", "able"]) && is_any(before, &NOT)
            || is_any(after, &["failed"])
        {
            return Some(Says::DidNot);
        }
        let carried = after.iter().position(|word| CARRIED_OUT.contains(word));
        if let Some(place) = carried
            && is_any(
                after.get(..place).unwrap_or_default(),
                &["has", "have", "been", "was", "were", "is", "are"],
            )
        {
            return self.participle(at + 1 + place);
        }
        if is_any(after, &["through"]) && is_any(after, &["went", "gone"]) {
            let is_denied = is_any(after, &NOT) || after.iter().any(|word| word.ends_with("n't"));
            return Some(if is_denied { Says::DidNot } else { Says::Happened });
        }
        let verb = before.iter().rposition(|word| CARRIED_OUT.contains(word))?;
        let says = self.participle(at - (before.len() - verb))?;
        matches!(says, Says::Did | Says::DidNot).then_some(says)
    }

    fn verbo(&self, at: usize, form: Form) -> Option<Says> {
        let before = self.before(at);
        let is_denied = is_any(before, &NOT);
        if self.is_condition(at) {
            return None;
        }
        match form {
            Form::First | Form::Plural if is_denied => Some(Says::DidNot),
            Form::First => Some(Says::Did),
            Form::Plural => Some(if is_any(before, &["ja"]) { Says::Did } else { Says::Was }),
            Form::Participle if is_any(before, &NOT_YET) => None,
            Form::Participle if is_denied => Some(Says::DidNot),
            Form::Participle if before.is_empty() => Some(Says::Did),
            Form::Participle if is_any(before, &["tenho", "temos"]) => Some(Says::Did),
            Form::Participle if is_any(before, &["foi", "foram", "ja", "sido", "esta", "estao", "ficou"]) => {
                Some(Says::Happened)
            }
            Form::Participle => None,
            Form::Infinitive => (is_denied && is_any(before, &UNABLE)).then_some(Says::DidNot),
        }
    }

    fn nome(&self, at: usize) -> Option<Says> {
        let (before, after) = (self.before(at), self.after(at));
        if is_any(after, &["falhou"]) || is_any(before, &UNABLE) && is_any(before, &NOT) {
            return Some(Says::DidNot);
        }
        let is_done =
            |word: &&str| FEITO.iter().any(|stem| word.strip_prefix(stem).is_some_and(|end| end.len() <= 2));
        if let Some(place) = after.iter().position(is_done) {
            return self.verbo(at + 1 + place, Form::Participle);
        }
        let verb = before.iter().rposition(|word| FIZ.contains(word))?;
        self.verbo(at - (before.len() - verb), Form::First)
    }

    /// Whether the word stands in a condition: `if it was refunded, …`.
    fn is_condition(&self, at: usize) -> bool {
        let begins = ["if", "when", "unless", "until", "se", "quando", "caso"];
        let is_first_clause = !self.words.get(..at).unwrap_or_default().contains(&",");
        is_first_clause && self.words.first().is_some_and(|first| begins.contains(first))
    }

    fn word(&self, at: usize) -> Option<&str> {
        self.words.get(at).copied()
    }

    /// The words of the same clause before the one at `at`, as many as count.
    fn before(&self, at: usize) -> &[&str] {
        let before = self.words.get(at.saturating_sub(WINDOW)..at).unwrap_or_default();
        let clause = before.iter().rposition(|word| *word == ",").map_or(0, |comma| comma + 1);
        before.get(clause..).unwrap_or_default()
    }

    /// The words of the same clause after the one at `at`, as many as count.
    fn after(&self, at: usize) -> &[&str] {
        let end = self.words.len().min(at + 1 + REACH + 2);
        let after = self.words.get(at + 1..end).unwrap_or_default();
        let clause = after.iter().position(|word| *word == ",").unwrap_or(after.len());
        after.get(..clause).unwrap_or_default()
    }
}

fn is_any(words: &[&str], of: &[&str]) -> bool {
    words.iter().any(|word| of.contains(word))
}

fn words(folded: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for piece in folded.split_whitespace() {
        let word = piece.trim_matches(|mark: char| !mark.is_alphanumeric());
        if !word.is_empty() {
            words.push(word);
        }
        if piece.ends_with([',', ';', ':', '.', '!']) {
            words.push(",");
        }
    }
    while words.last() == Some(&",") {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::fold::Folded;
    use super::*;

    fn said(text: &str, language: Language) -> Vec<(&'static str, Says)> {
        claims(&Folded::of(text, language).text, language)
            .iter()
            .map(|claim| (claim.deed, claim.says))
            .collect()
    }

    #[test]
    fn english_says_what_was_done_in_several_ways() {
        for (text, says) in [
            ("I've refunded 12.50 pounds.", Says::Did),
            ("We have just refunded it.", Says::Did),
            ("Refunded, as you asked.", Says::Did),
            ("I’ve issued your refund.", Says::Did),
            ("It has been refunded.", Says::Happened),
            ("Your refund has been issued.", Says::Happened),
            ("Your refund went through.", Says::Happened),
            ("You were refunded in May.", Says::Was),
            ("I couldn't refund it.", Says::DidNot),
            ("It has not been refunded.", Says::DidNot),
            ("The refund failed.", Says::DidNot),
        ] {
            assert!(said(text, Language::English).contains(&("refund", says)), "{text}");
        }
    }

    #[test]
    fn what_is_asked_planned_or_supposed_is_no_claim() {
        for text in [
            "Have I refunded it?",
            "It will be refunded.",
            "I can refund it.",
            "If it has been refunded, tell me.",
            "The refunded amount is 5.",
            "We refund within ten days.",
            "Your order ships today.",
        ] {
            assert!(said(text, Language::English).is_empty(), "{text}");
        }
    }

    #[test]
    fn portuguese_says_it_with_its_accents_or_without() {
        for (text, says) in [
            ("Reembolsei o pedido.", Says::Did),
            ("Já reembolsamos o pedido.", Says::Did),
            ("Fiz o reembolso.", Says::Did),
            ("O pedido foi reembolsado.", Says::Happened),
            ("O reembolso ja foi feito.", Says::Happened),
            ("Não reembolsei o pedido.", Says::DidNot),
            ("Nao foi possivel reembolsar.", Says::DidNot),
        ] {
            assert!(said(text, Language::BrazilianPortuguese).contains(&("refund", says)), "{text}");
        }
        for text in ["O pedido será reembolsado.", "Já foi reembolsado?", "Se foi reembolsado, avise."] {
            assert!(said(text, Language::BrazilianPortuguese).is_empty(), "{text}");
        }
    }
}
