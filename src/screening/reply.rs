//! Screening what a model wrote, before anyone is shown it.

use super::count::{Count, Counts};
use super::facts::{Facts, Record};
use super::fold::Folded;
use super::outcome::{Effect, Ledger, Told};
use super::pass::{Fate, joined, united};
use super::stated::{Plain, Stated, stated, values};
use super::turn::{Done, Noted, Screened};
use super::wording::{Phrases, says};
use super::{Action, Finding, Language, Rules, detect, sentences};
use crate::domain::{Intent, Timestamp};
use std::collections::BTreeSet;
use std::ops::Range;

/// After so many rounds a reply that still changes is not shown.
const MOST_ROUNDS: usize = 8;

/// The most values of one sentence that are traced.
const MOST_TRACED: usize = 200;

/// Who is shown a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    /// Somebody outside: what no call bears out is replaced.
    #[default]
    Customer,
    /// The tenant's own people: it is kept and highlighted.
    Staff,
}

/// A reply, and what the turn it answers came to.
pub struct Reply<'a> {
    /// What the model wrote.
    pub text: &'a str,
    /// The language it is read in.
    pub language: Language,
    /// Who is shown it.
    pub audience: Audience,
    /// The writes of this turn; without them, nothing is said of what the reply claims.
    pub effects: Option<&'a [Effect]>,
    /// Every write there is.
    pub writes: &'a [Intent],
    /// The tags of the passages it cites.
    pub cites: &'a [String],
    /// What the calls of this turn returned; without them, no value is traced.
    pub records: Option<&'a [Record]>,
    /// The instant that freshness is judged at.
    pub now: Timestamp,
}

impl Reply<'_> {
    /// Screens it under the rules. What comes out comes out the same when it is screened again.
    pub fn screen(&self, rules: &Rules) -> Screened {
        if let Some(exact) = self.exactly(rules) {
            return exact;
        }
        let (mut counts, mut findings) = (Counts::default(), Vec::new());
        let screen = Screen::new(self, rules);
        let mut text = screen.pass(self.text, Some(&mut findings), &mut counts);
        for round in 1..=MOST_ROUNDS {
            let again = screen.pass(&text, None, &mut counts);
            if again == text {
                break;
            }
            text = if round == MOST_ROUNDS { String::new() } else { again };
        }
        findings.sort_by_key(|noted: &Noted| (noted.span.start, noted.span.end));
        Screened { text, withheld: false, say: None, findings, counts }
    }

    /// The reply given word for word where a cited passage has the tag.
    fn exactly(&self, rules: &Rules) -> Option<Screened> {
        let is_cited = |tag: &Option<String>| tag.as_ref().is_some_and(|tag| self.cites.contains(tag));
        let rule = rules.reply_exactly.iter().find(|rule| is_cited(&rule.when_cited))?;
        let mut counts = Counts::default();
        counts.add(Count::ExactReply);
        Some(Screened { text: rule.say.clone(), withheld: false, say: None, findings: Vec::new(), counts })
    }
}

/// One reply's rules and records, made ready.
struct Screen<'a> {
    reply: &'a Reply<'a>,
    rules: &'a Rules,
    ledger: Option<Ledger<'a>>,
    /// What each effect was sent.
    sent: Vec<BTreeSet<Plain>>,
    facts: Facts<'a>,
    never: Phrases,
    markers: Phrases,
    allowed: Phrases,
}

/// One sentence on its way through.
struct Sentence<'a> {
    text: &'a str,
    span: Range<usize>,
    found: Vec<Finding>,
    stated: Vec<Stated>,
}

impl<'a> Screen<'a> {
    fn new(reply: &'a Reply<'a>, rules: &'a Rules) -> Self {
        let phrases = |list: &[String]| Phrases::new(list.iter().map(String::as_str), reply.language);
        let sent = |effect: &Effect| values(&effect.sent).into_iter().flat_map(|(_, plain)| plain).collect();
        Self {
            reply,
            rules,
            ledger: reply.effects.map(|effects| Ledger::new(effects, reply.writes, rules, reply.language)),
            sent: reply.effects.unwrap_or_default().iter().map(sent).collect(),
            facts: Facts::new(reply.records.unwrap_or_default(), reply.now),
            never: phrases(&rules.never_say),
            markers: phrases(&rules.offer_markers),
            allowed: phrases(&rules.offers_allowed),
        }
    }

    /// Once through a text. What is noted, and what changes nothing, counts only the first time.
    fn pass(&self, text: &str, mut noted: Option<&mut Vec<Noted>>, counts: &mut Counts) -> String {
        let found = detect(text, &self.rules.detection());
        let spans = united(&sentences(text), &found);
        let folded = Folded::of(text, self.reply.language);
        let never = touched(&spans, &self.never, &folded);
        let (markers, allowed) =
            (touched(&spans, &self.markers, &folded), touched(&spans, &self.allowed, &folded));
        let (mut fates, mut reported) = (Vec::with_capacity(spans.len()), BTreeSet::new());
        let mut waiting = found.into_iter().peekable();
        for (at, span) in spans.iter().enumerate() {
            let said = text.get(span.clone()).unwrap_or_default();
            let mut own = Vec::new();
            while let Some(finding) = waiting.next_if(|finding| finding.span.start < span.end) {
                own.push(finding);
            }
            let stated = stated(text, span, &own, self.reply.language);
            let sentence = Sentence { text: said, span: span.clone(), found: own, stated };
            let is_phrasing = self.ledger.as_ref().is_some_and(|ledger| ledger.is_phrasing(said));
            let wording = if is_phrasing {
                None
            } else if never.contains(&at) {
                Some((Count::WordingRemoved, "never_say"))
            } else {
                (markers.contains(&at) && !allowed.contains(&at)).then_some((Count::OfferRemoved, "offers"))
            };
            let mut own_notes = Vec::new();
            let fate = match wording {
                Some((count, class)) => {
                    counts.add(count);
                    self.found_in(&sentence, &BTreeSet::new(), false, &mut own_notes);
                    own_notes.push(note(class, span, Done::Remove));
                    Fate::Removed
                }
                None => self.sentence(&sentence, &mut reported, noted.is_some(), &mut own_notes, counts),
            };
            if let Some(noted) = noted.as_deref_mut() {
                for finding in &sentence.found {
                    counts.add(Count::Detected(finding.class));
                }
                noted.extend(own_notes);
            }
            fates.push(fate);
        }
        let mut text = joined(text, &spans, &fates);
        self.add(&mut text, &reported, counts);
        text
    }

    /// What becomes of a sentence that no wording takes away.
    fn sentence(
        &self,
        sentence: &Sentence<'_>,
        reported: &mut BTreeSet<usize>,
        is_first: bool,
        noted: &mut Vec<Noted>,
        counts: &mut Counts,
    ) -> Fate {
        let told = self.ledger.as_ref().map_or(Told::Nothing, |ledger| ledger.told(sentence.text));
        let mut replaced = |class, count, instead, noted: &mut Vec<Noted>| {
            counts.add(count);
            self.found_in(sentence, &BTreeSet::new(), false, noted);
            noted.push(note(class, &sentence.span, Done::Replace));
            Fate::Replaced(instead)
        };
        let reports = match told {
            Told::Nothing => Vec::new(),
            Told::Refused(instead) => return replaced("assertion", Count::AssertionRefused, instead, noted),
            Told::Replaced(at, instead) => {
                reported.insert(at);
                return replaced("outcome", Count::OutcomeReplaced, instead, noted);
            }
            Told::Reports(at) => at,
        };
        reported.extend(&reports);
        let sent: BTreeSet<Plain> =
            reports.iter().filter_map(|at| self.sent.get(*at)).flatten().cloned().collect();
        let mut highlighted: BTreeSet<usize> = BTreeSet::new();
        if let Some(first) = reports.first() {
            let foreign = sentence.stated.iter().filter(|stated| !self.is_borne_out(stated, &reports, &sent));
            highlighted.extend(foreign.map(|stated| stated.span.start));
            let phrasing = self.ledger.as_ref().and_then(|ledger| ledger.phrasing(*first));
            if let Some(instead) = phrasing.filter(|_| !highlighted.is_empty()).map(str::to_owned)
                && self.reply.audience == Audience::Customer
            {
                return replaced("value", Count::ValueReplaced, instead, noted);
            }
        }
        let masks = self.found_in(sentence, &sent, true, noted);
        for (action, is_sent) in &masks.actions {
            match (action, is_sent) {
                (Action::Redact | Action::Withhold, true) => counts.add(Count::Masked),
                (Action::Redact, false) => counts.add(Count::Redacted),
                (Action::Allow, _) | (Action::Withhold, false) => {}
            }
        }
        if masks.actions.contains(&(Action::Withhold, false)) {
            counts.add(Count::Withheld);
            return Fate::Removed;
        }
        if is_first {
            self.trace(sentence, &mut highlighted, counts);
            if !highlighted.is_empty() {
                counts.add(Count::ValueHighlighted);
            }
            let lit = sentence.stated.iter().filter(|stated| highlighted.contains(&stated.span.start));
            noted.extend(lit.map(|stated| note("value", &stated.span, Done::Highlight)));
        }
        Fate::Kept(masks.masked)
    }

    /// Whether one of the writes that a sentence reports was sent or returned the value.
    fn is_borne_out(&self, stated: &Stated, reports: &[usize], sent: &BTreeSet<Plain>) -> bool {
        let ledger = self.ledger.as_ref();
        let mut effects = reports.iter().filter_map(|at| ledger?.effect(*at));
        stated.plain.is_within(sent, stated.is_masked)
            || effects.any(|effect| self.facts.returned(effect.id, &stated.plain, stated.is_masked))
    }

    /// Traces what a sentence states; to staff, what no record holds is highlighted.
    fn trace(&self, sentence: &Sentence<'_>, highlighted: &mut BTreeSet<usize>, counts: &mut Counts) {
        if self.reply.records.is_none() {
            return;
        }
        let traced = sentence.stated.iter().filter(|stated| !stated.is_masked).take(MOST_TRACED);
        for stated in traced {
            if !self.facts.trace(&stated.plain, counts) && self.reply.audience == Audience::Staff {
                highlighted.insert(stated.span.start);
            }
        }
    }

    /// Notes the personal data of a sentence and masks what is to be masked in it.
    fn found_in(
        &self,
        sentence: &Sentence<'_>,
        sent: &BTreeSet<Plain>,
        is_kept: bool,
        noted: &mut Vec<Noted>,
    ) -> Masks {
        let (mut actions, mut masked) = (Vec::new(), Vec::new());
        // What is found comes first in what is stated.
        for (at, finding) in sentence.found.iter().enumerate() {
            let action = self.rules.personal_data.of(finding.class);
            let value = sentence.stated.get(at).filter(|stated| stated.span == finding.span);
            let is_sent = value.is_some_and(|value| value.plain.is_within(sent, false));
            let done = if is_sent && action == Action::Withhold { Done::Redact } else { action.into() };
            let mask = (is_kept && done == Done::Redact).then(|| finding.mask.clone());
            if let Some(mask) = &mask {
                masked.push((finding.span.clone(), mask.clone()));
            }
            actions.push((action, is_sent));
            let (class, span) = (finding.class.as_str(), finding.span.clone());
            noted.push(Noted { class, span, action: done, mask });
        }
        Masks { actions, masked }
    }

    /// Adds the writes that the reply leaves out, and the sentences that must go with what was done or cited.
    fn add(&self, text: &mut String, reported: &BTreeSet<usize>, counts: &mut Counts) {
        let effects = self.reply.effects.unwrap_or_default();
        for at in (0..effects.len()).filter(|at| !reported.contains(at)) {
            let Some(phrasing) = self.ledger.as_ref().and_then(|ledger| ledger.phrasing(at)) else {
                continue;
            };
            if self.append(text, phrasing) {
                counts.add(Count::OutcomeAdded);
            }
        }
        for rule in &self.rules.must_accompany {
            let is_cited = rule.when_cited.as_ref().is_some_and(|tag| self.reply.cites.contains(tag));
            let is_done = rule.when_done.as_ref().is_some_and(|intent| {
                effects.iter().any(|effect| effect.intent == *intent && effect.is_done())
            });
            if (is_cited || is_done) && self.append(text, &rule.add) {
                counts.add(Count::WordingAdded);
            }
        }
    }

    /// Adds a sentence unless the text says it already; whether it was added.
    fn append(&self, text: &mut String, sentence: &str) -> bool {
        if says(&Folded::of(text, self.reply.language), sentence, self.reply.language) {
            return false;
        }
        super::pass::append(text, sentence);
        true
    }
}

struct Masks {
    /// What the class of each finding gets, and whether the write that the sentence reports was sent it.
    actions: Vec<(Action, bool)>,
    /// What is masked, and how.
    masked: Vec<(Range<usize>, String)>,
}

fn note(class: &'static str, span: &Range<usize>, action: Done) -> Noted {
    Noted { class, span: span.clone(), action, mask: None }
}

/// The sentences that a phrase stands in, by their place.
fn touched(spans: &[Range<usize>], phrases: &Phrases, folded: &Folded) -> BTreeSet<usize> {
    let mut touched = BTreeSet::new();
    for (_, found) in phrases.find(folded) {
        let first = spans.partition_point(|span| span.end <= found.start);
        let inside = spans.iter().enumerate().skip(first).take_while(|(_, span)| span.start < found.end);
        touched.extend(inside.map(|(at, _)| at));
    }
    touched
}
