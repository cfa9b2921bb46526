//! The reply rules: what a tenant's replies must hold to, read from the file that people write.

use super::{Class, Detection, Language, NationalId, PersonalData};
use crate::domain::node::{Faults, Members, Node, Vocabulary};
use crate::domain::{Intent, Malformed};
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, str::FromStr};

/// The most entries of each list.
pub const MOST_ENTRIES: usize = 500;
/// The longest phrase, topic or tag, in characters.
pub const LONGEST_PHRASE: usize = 200;
/// The longest sentence that is added or given word for word, in characters.
pub const LONGEST_SENTENCE: usize = 2000;

const RULES: Vocabulary = Vocabulary {
    noun: "key",
    allowed: &[
        "language",
        "personal_data",
        "national_ids",
        "must_accompany",
        "reply_exactly",
        "never_say",
        "offers",
        "writes",
    ],
};
const CLASSES: Vocabulary =
    Vocabulary { noun: "class", allowed: &["email", "iban", "national_id", "card", "phone"] };
const ACCOMPANY: Vocabulary = Vocabulary { noun: "key", allowed: &["add", "when_done", "when_cited"] };
const EXACTLY: Vocabulary =
    Vocabulary { noun: "key", allowed: &["say", "when_cited", "when_asked", "words"] };
const OFFERS: Vocabulary = Vocabulary { noun: "key", allowed: &["allowed", "markers"] };
const WRITE: Vocabulary = Vocabulary { noun: "key", allowed: &["intent", "words"] };

/// What a class of personal data gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Masked.
    Redact,
    /// A turn is held back whole; a reply loses the sentence.
    Withhold,
    /// Left as it is.
    Allow,
}

impl Action {
    /// All there are, by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("redact", Self::Redact), ("withhold", Self::Withhold), ("allow", Self::Allow)];

    /// The action's name in files and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Redact => "redact",
            Self::Withhold => "withhold",
            Self::Allow => "allow",
        }
    }
}

/// A sentence that must go with something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accompany {
    /// The sentence.
    pub add: String,
    /// Added when an effect of this intent is done.
    pub when_done: Option<Intent>,
    /// Added when a passage with this tag is cited.
    pub when_cited: Option<String>,
}

/// A reply given word for word in place of any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exactly {
    /// The reply.
    pub say: String,
    /// Given when a passage with this tag is cited.
    pub when_cited: Option<String>,
    /// Given when a turn asks about this topic.
    pub when_asked: Option<String>,
    /// The phrases that ask about it; none: the topic's name.
    pub words: Vec<String>,
}

impl Exactly {
    /// The phrases that ask about its topic; none where it has no topic.
    pub fn asked_by(&self) -> Vec<String> {
        match &self.when_asked {
            Some(topic) if self.words.is_empty() => vec![topic.replace(['_', '-'], " ")],
            Some(_) => self.words.clone(),
            None => Vec::new(),
        }
    }
}

/// Words with which replies say that a write was done, beyond those that are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The write.
    pub intent: Intent,
    /// The words, such as `sent back`.
    pub words: Vec<String>,
}

/// The rules of one tenant. The default is what holds where nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// The language of turns and replies, where a request names none.
    pub language: Option<Language>,
    /// What each class of personal data gets; what is not named gets its default.
    pub personal_data: PersonalData,
    /// National ids that are looked for beyond those that always are.
    pub national_ids: BTreeSet<NationalId>,
    /// Sentences that must go with something.
    pub must_accompany: Vec<Accompany>,
    /// Replies given word for word.
    pub reply_exactly: Vec<Exactly>,
    /// Phrases never said.
    pub never_say: Vec<String>,
    /// The offers allowed.
    pub offers_allowed: Vec<String>,
    /// The words that make a sentence an offer.
    pub offer_markers: Vec<String>,
    /// Words for writes.
    pub writes: Vec<Write>,
}

impl Rules {
    /// Reads rules as people write them.
    ///
    /// # Errors
    /// Everything wrong with them, each with its JSON Pointer, what was found and what is allowed.
    pub fn read(value: &Value) -> Result<Self, Malformed> {
        let mut faults = Faults::default();
        let rules = read(&Node::root(value), &mut faults);
        if let Some(rules) = &rules {
            super::admission::contradictions(rules, &mut faults);
        }
        faults.finish(rules)
    }

    /// What is looked for.
    pub fn detection(&self) -> Detection {
        self.national_ids.iter().fold(Detection::default(), |detection, id| detection.with(*id))
    }

    /// As [`read`](Self::read) takes them.
    pub fn to_json(&self) -> Value {
        let mut document = Map::new();
        if let Some(language) = self.language {
            document.insert("language".into(), json!(language.as_str()));
        }
        let named = self.personal_data.named();
        let named: Map<_, _> =
            named.map(|(class, action)| (class.as_str().to_owned(), json!(action.as_str()))).collect();
        insert(&mut document, "personal_data", Value::Object(named));
        let ids: Vec<&str> = self.national_ids.iter().map(|id| id.as_str()).collect();
        insert(&mut document, "national_ids", json!(ids));
        let each = self.must_accompany.iter().map(|rule| {
            let done = rule.when_done.as_ref().map(ToString::to_string);
            object([
                ("add", json!(rule.add)),
                ("when_done", json!(done)),
                ("when_cited", json!(rule.when_cited)),
            ])
        });
        insert(&mut document, "must_accompany", each.collect());
        let each = self.reply_exactly.iter().map(|rule| {
            object([
                ("say", json!(rule.say)),
                ("when_cited", json!(rule.when_cited)),
                ("when_asked", json!(rule.when_asked)),
                ("words", if rule.words.is_empty() { Value::Null } else { json!(rule.words) }),
            ])
        });
        insert(&mut document, "reply_exactly", each.collect());
        insert(&mut document, "never_say", json!(self.never_say));
        if !(self.offers_allowed.is_empty() && self.offer_markers.is_empty()) {
            let offers = json!({"allowed": self.offers_allowed, "markers": self.offer_markers});
            document.insert("offers".into(), offers);
        }
        let each =
            self.writes.iter().map(|write| json!({"intent": write.intent.to_string(), "words": write.words}));
        insert(&mut document, "writes", each.collect());
        Value::Object(document)
    }
}

/// Puts a member in unless it holds nothing.
fn insert(document: &mut Map<String, Value>, name: &str, value: Value) {
    let is_empty =
        value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
    if !is_empty {
        document.insert(name.to_owned(), value);
    }
}

/// An object of those members that are there.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let there = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(there.map(|(name, value)| (name.to_owned(), value)).collect())
}

fn read(node: &Node<'_>, faults: &mut Faults) -> Option<Rules> {
    let members = node.object(&RULES, faults)?;
    let language = members.get("language").and_then(|node| node.parse::<Language>(faults));
    let personal_data = members.get("personal_data").and_then(|node| personal_data(&node, faults));
    let national_ids = members.get("national_ids").and_then(|node| node.set(0..=MOST_ENTRIES, faults));
    let must_accompany = entries(&members, "must_accompany", faults, accompany);
    let reply_exactly = entries(&members, "reply_exactly", faults, exactly);
    let never_say = phrases(&members, "never_say", faults);
    let offers = members.get("offers").and_then(|node| {
        let members = node.object(&OFFERS, faults)?;
        Some((phrases(&members, "allowed", faults), phrases(&members, "markers", faults)))
    });
    let writes = entries(&members, "writes", faults, write);
    let (offers_allowed, offer_markers) = offers.unwrap_or_default();
    Some(Rules {
        language,
        personal_data: personal_data.unwrap_or_default(),
        national_ids: national_ids.unwrap_or_default(),
        must_accompany,
        reply_exactly,
        never_say,
        offers_allowed,
        offer_markers,
        writes,
    })
}

fn personal_data(node: &Node<'_>, faults: &mut Faults) -> Option<PersonalData> {
    let mut read = PersonalData::default();
    for (name, node) in node.object(&CLASSES, faults)?.iter() {
        let Ok(class) = Class::from_str(name) else { continue };
        if let Some(action) = node.word(&Action::ALL, faults) {
            read.set(class, action);
        }
    }
    Some(read)
}

fn entries<T>(
    members: &Members<'_>,
    name: &str,
    faults: &mut Faults,
    read: fn(&Node<'_>, &mut Faults) -> Option<T>,
) -> Vec<T> {
    let listed = members.get(name).and_then(|node| node.list(0..=MOST_ENTRIES, faults));
    listed.into_iter().flatten().filter_map(|node| read(&node, faults)).collect()
}

fn phrases(members: &Members<'_>, name: &str, faults: &mut Faults) -> Vec<String> {
    entries(members, name, faults, |node, faults| text(node, LONGEST_PHRASE, faults))
}

fn accompany(node: &Node<'_>, faults: &mut Faults) -> Option<Accompany> {
    let members = node.object(&ACCOMPANY, faults)?;
    let add = members.required("add", faults).and_then(|node| text(&node, LONGEST_SENTENCE, faults));
    let when_done = members.get("when_done").and_then(|node| node.parse::<Intent>(faults));
    let when_cited = members.get("when_cited").and_then(|node| text(&node, LONGEST_PHRASE, faults));
    if members.get("when_done").is_none() && members.get("when_cited").is_none() {
        node.fault(faults, "neither `when_done` nor `when_cited` is given");
    }
    Some(Accompany { add: add?, when_done, when_cited })
}

fn exactly(node: &Node<'_>, faults: &mut Faults) -> Option<Exactly> {
    let members = node.object(&EXACTLY, faults)?;
    let say = members.required("say", faults).and_then(|node| text(&node, LONGEST_SENTENCE, faults));
    let when_cited = members.get("when_cited").and_then(|node| text(&node, LONGEST_PHRASE, faults));
    let when_asked = members.get("when_asked").and_then(|node| text(&node, LONGEST_PHRASE, faults));
    let words = phrases(&members, "words", faults);
    match (members.get("when_asked"), members.get("words")) {
        (None, Some(words)) => words.fault(faults, "`words` are given without `when_asked`"),
        (None, None) if members.get("when_cited").is_none() => {
            node.fault(faults, "neither `when_cited` nor `when_asked` is given");
        }
        (Some(_) | None, Some(_) | None) => {}
    }
    Some(Exactly { say: say?, when_cited, when_asked, words })
}

fn write(node: &Node<'_>, faults: &mut Faults) -> Option<Write> {
    let members = node.object(&WRITE, faults)?;
    let intent = members.required("intent", faults).and_then(|node| node.parse::<Intent>(faults));
    members.required("words", faults);
    let words = phrases(&members, "words", faults);
    Some(Write { intent: intent?, words })
}

/// A text of at most that many characters with a letter or a digit in it.
fn text(node: &Node<'_>, longest: usize, faults: &mut Faults) -> Option<String> {
    let text = node.text(faults)?;
    let length = text.chars().count();
    if length > longest {
        node.fault(faults, format!("{length} characters, {longest} are allowed"));
        return None;
    }
    if !text.contains(char::is_alphanumeric) {
        node.fault(faults, "a text with a letter or a digit is expected");
        return None;
    }
    Some(text.to_owned())
}
