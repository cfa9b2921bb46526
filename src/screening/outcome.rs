//! Sentences that say what became of a write, held against the ledger.

use super::Language;
use super::claim::{Claim, Says, claims, participles_say};
use super::fold::Folded;
use super::lexicon::{DEEDS, deeds, own_participle, words};
use super::rules::Rules;
use super::wording::Phrases;
use crate::domain::{EffectId, EffectStatus, Intent};
use serde_json::Value;
use std::collections::BTreeSet;

/// One write of this turn, as the ledger holds it.
#[derive(Clone)]
pub struct Effect {
    /// Which one.
    pub id: EffectId,
    /// What it did, or was to do.
    pub intent: Intent,
    /// How it ended.
    pub status: EffectStatus,
    /// What it was sent.
    pub sent: Value,
}

impl Effect {
    /// Whether it happened.
    pub(super) fn is_done(&self) -> bool {
        match self.status {
            EffectStatus::Done => true,
            EffectStatus::Claimed | EffectStatus::Failed | EffectStatus::Unknown => false,
        }
    }
}

/// What is to become of a sentence.
pub(super) enum Told {
    /// It says nothing of a write, or nothing that anyone could hold against it.
    Nothing,
    /// It reports these writes, by their place, as they ended.
    Reports(Vec<usize>),
    /// It says what nothing attempted: this is said instead.
    Refused(String),
    /// It says what the outcome of the write at this place does not allow: this is said instead.
    Replaced(usize, String),
}

/// The writes of a turn, ready to hold sentences against.
pub(super) struct Ledger<'a> {
    effects: &'a [Effect],
    /// How the product says that each effect ended.
    phrasings: Vec<String>,
    /// The deeds of each effect, by stem.
    deeds: Vec<Vec<&'static str>>,
    /// The deeds of all writes there are, by stem.
    known: BTreeSet<&'static str>,
    /// Participles of verbs that no deed names, and the intent whose verb each is.
    own: Vec<(String, &'a Intent)>,
    /// Every write there is, of which a report may be false.
    writes: &'a [Intent],
    language: Language,
    /// Words that the rules give to writes, in the order of `spoken_of`.
    phrases: Phrases,
    spoken_of: Vec<&'a Intent>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(
        effects: &'a [Effect],
        writes: &'a [Intent],
        rules: &'a Rules,
        language: Language,
    ) -> Self {
        let spoken =
            rules.writes.iter().flat_map(|write| write.words.iter().map(move |word| (word, &write.intent)));
        let (phrases, spoken_of): (Vec<&String>, Vec<&Intent>) = spoken.unzip();
        let phrases = Phrases::new(phrases.into_iter().map(String::as_str), language);
        let stems = |intent: &Intent| deeds(intent).iter().map(|deed| deed.stem).collect::<Vec<_>>();
        let all = writes.iter().chain(effects.iter().map(|effect| &effect.intent));
        let own = all.filter(|intent| language == Language::English && deeds(intent).is_empty());
        let said = |effect: &Effect| phrasing(Some(effect.status), &words(&effect.intent), language);
        Self {
            effects,
            phrasings: effects.iter().map(said).collect(),
            deeds: effects.iter().map(|effect| stems(&effect.intent)).collect(),
            known: writes.iter().flat_map(stems).collect(),
            own: own.map(|intent| (own_participle(intent), intent)).collect(),
            writes,
            language,
            phrases,
            spoken_of,
        }
    }

    /// The write at a place.
    pub(super) fn effect(&self, at: usize) -> Option<&'a Effect> {
        self.effects.get(at)
    }

    /// How the ledger says that the write at that place ended.
    pub(super) fn phrasing(&self, at: usize) -> Option<&str> {
        self.phrasings.get(at).map(String::as_str)
    }

    /// Whether a sentence is one of those that the product itself says of writes.
    pub(super) fn is_phrasing(&self, sentence: &str) -> bool {
        if sentence == nothing(self.language) || self.phrasings.iter().any(|own| own == sentence) {
            return true;
        }
        let opening = opening(None, self.language);
        let what = sentence.strip_prefix(opening).and_then(|rest| rest.strip_prefix(": ")?.strip_suffix('.'));
        what.is_some_and(|what| {
            let mut intents = self.writes.iter().chain(self.spoken_of.iter().copied());
            DEEDS.iter().any(|deed| deed.stem == what) || intents.any(|intent| words(intent) == what)
        })
    }

    /// Holds one sentence against the writes.
    pub(super) fn told(&self, sentence: &str) -> Told {
        let own = self.phrasings.iter().enumerate().filter(|(_, own)| *own == sentence);
        let own: Vec<usize> = own.map(|(at, _)| at).collect();
        if !own.is_empty() {
            return Told::Reports(own);
        }
        if self.is_phrasing(sentence) {
            return Told::Nothing;
        }
        let folded = Folded::of(sentence, self.language);
        let claims = claims(&folded.text, self.language);
        let mut reported = Vec::new();
        let mut against = None;
        let mut unheld = None;
        for claim in &claims {
            self.hold(*claim, &mut reported, &mut against, &mut unheld);
        }
        self.hold_words(&folded, &mut reported, &mut against, &mut unheld);
        if !reported.is_empty() {
            return Told::Reports(reported);
        }
        match (against, unheld) {
            (Some(at), _) => match self.phrasing(at) {
                Some(phrasing) => Told::Replaced(at, phrasing.to_owned()),
                None => Told::Nothing,
            },
            (None, Some(instead)) => Told::Refused(instead),
            (None, None) => Told::Nothing,
        }
    }

    fn hold(
        &self,
        claim: Claim,
        reported: &mut Vec<usize>,
        against: &mut Option<usize>,
        unheld: &mut Option<String>,
    ) {
        let is_meant = |deeds: &[&str]| claim.deed.is_empty() || deeds.contains(&claim.deed);
        let meant: Vec<usize> =
            self.deeds.iter().enumerate().filter(|(_, deeds)| is_meant(deeds)).map(|(at, _)| at).collect();
        self.settle(&meant, claim.says, reported, against);
        let is_known = self.known.contains(claim.deed);
        let is_asserted = claim.says == Says::Did || claim.says == Says::Happened && is_known;
        if meant.is_empty() && is_asserted && unheld.is_none() {
            *unheld = Some(match claim.deed {
                "" => nothing(self.language).to_owned(),
                deed => phrasing(None, deed, self.language),
            });
        }
    }

    /// As [`hold`](Self::hold), for what the rules call a write and for verbs that only an intent has.
    fn hold_words(
        &self,
        folded: &Folded,
        reported: &mut Vec<usize>,
        against: &mut Option<usize>,
        unheld: &mut Option<String>,
    ) {
        let mut told: Vec<(&Intent, Says)> = Vec::new();
        if !folded.text.ends_with('?') {
            let spoken = self.phrases.find(folded).filter_map(|(phrase, _)| self.spoken_of.get(phrase));
            told.extend(spoken.map(|intent| (*intent, Says::Did)));
        }
        if !self.own.is_empty() {
            let participles = self.own.iter().map(|(participle, _)| participle.as_str());
            let said = participles_say(&folded.text, participles, self.language);
            told.extend(self.own.iter().zip(said).filter_map(|((_, intent), says)| Some((*intent, says?))));
        }
        for (intent, says) in told {
            let meant = self.effects.iter().enumerate().filter(|(_, effect)| effect.intent == *intent);
            let meant: Vec<usize> = meant.map(|(at, _)| at).collect();
            self.settle(&meant, says, reported, against);
            if meant.is_empty() && matches!(says, Says::Did | Says::Happened) && unheld.is_none() {
                *unheld = Some(phrasing(None, &words(intent), self.language));
            }
        }
    }

    /// What one claim comes to for the writes it may mean: one of them that ended so is enough.
    fn settle(&self, meant: &[usize], says: Says, reported: &mut Vec<usize>, against: &mut Option<usize>) {
        let (held, other): (Vec<usize>, Vec<usize>) = meant.iter().partition(|at| {
            let status = self.effects.get(**at).map(|effect| effect.status);
            match says {
                Says::Did | Says::Happened | Says::Was => status == Some(EffectStatus::Done),
                Says::DidNot => status == Some(EffectStatus::Failed),
            }
        });
        if held.is_empty() {
            if against.is_none() {
                *against = other.first().copied();
            }
        } else {
            reported.extend(held);
        }
    }
}

/// How the product says what became of a write; without a status, that nothing attempted it.
fn phrasing(status: Option<EffectStatus>, what: &str, language: Language) -> String {
    format!("{}: {what}.", opening(status, language))
}

fn opening(status: Option<EffectStatus>, language: Language) -> &'static str {
    match (language, status) {
        (Language::English, Some(EffectStatus::Done)) => "Done",
        (Language::English, Some(EffectStatus::Failed)) => "This did not go through",
        (Language::English, Some(EffectStatus::Claimed | EffectStatus::Unknown)) => {
            "It is not known yet whether this went through"
        }
        (Language::English, None) => "This was not done",
        (Language::BrazilianPortuguese, Some(EffectStatus::Done)) => "Feito",
        (Language::BrazilianPortuguese, Some(EffectStatus::Failed)) => "Isto não deu certo",
        (Language::BrazilianPortuguese, Some(EffectStatus::Claimed | EffectStatus::Unknown)) => {
            "Ainda não se sabe se isto deu certo"
        }
        (Language::BrazilianPortuguese, None) => "Isto não foi feito",
    }
}

fn nothing(language: Language) -> &'static str {
    match language {
        Language::English => "Nothing was done.",
        Language::BrazilianPortuguese => "Nada foi feito.",
    }
}
