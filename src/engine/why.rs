//! Why a person is asked: what stands in the way of an action, as whoever decides is shown it.
//!
//! A yes is a yes to these reasons. It lets through what they stood in the way of, and nothing that another reason
//! stands in the way of by the time it is given or used.

use super::decide::Verdict;
use super::reason::{Finding, Reason};
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, fmt};

/// How many sentences a person is shown; of more they are told how many.
const MOST_SENTENCES: usize = 50;

/// One thing that stands in the way: of which document, which clause, and which condition or limit of it. Figures are no part of it,
/// since they change while a question waits; the words of an obligation are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ground(String);

impl Ground {
    fn of(finding: &Finding) -> Self {
        let (clause, code) = (&finding.clause, finding.reason.code());
        let mut ground = finding.credential.map_or_else(
            || format!("{} {clause} {code}", finding.source.as_str()),
            // Clauses of a credential and of one it was derived from may be called the same.
            |credential| format!("{credential} {clause} {code}"),
        );
        let which = if let Reason::Obliged(obligation) = &finding.reason {
            Some(obligation.as_str().to_owned())
        } else if let Reason::Unmet(unmet) = &finding.reason {
            unmet.of_what()
        } else {
            finding.limit.clone()
        };
        if let Some(which) = which {
            ground.push_str(": ");
            ground.push_str(&which);
        }
        Self(ground)
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything that stands in the way.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Grounds(BTreeSet<Ground>);

impl Grounds {
    /// Whether nothing stands in the way now that did not when these were shown.
    pub fn cover(&self, now: &Self) -> bool {
        now.0.is_subset(&self.0)
    }

    /// Those of `now` that were not shown.
    pub fn lack<'a>(&'a self, now: &'a Self) -> impl Iterator<Item = &'a Ground> {
        now.0.difference(&self.0)
    }

    /// As receipts and decisions write it.
    pub fn to_json(&self) -> Value {
        self.0.iter().map(|ground| json!(ground.0)).collect()
    }

    /// What [`Grounds::to_json`] wrote.
    pub fn from_json(value: &Value) -> Option<Self> {
        let written = value.as_array()?.iter();
        written.map(|ground| Some(Ground(ground.as_str()?.to_owned()))).collect::<Option<_>>().map(Self)
    }
}

/// What the person who decides is shown of why they are asked.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Why {
    /// One sentence for each reason; they name no counterparty and no resource.
    pub sentences: Vec<String>,
    /// The clauses that ask, none twice.
    pub clauses: Vec<String>,
    /// What must hold, in the words of the policy.
    pub obligations: Vec<String>,
    /// What the yes is good against.
    pub grounds: Grounds,
}

impl Why {
    /// In one line.
    pub fn reason(&self) -> String {
        self.sentences.join("; ")
    }

    /// As receipts and decisions write it.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("sentences".into(), json!(self.sentences));
        object.insert("clauses".into(), json!(self.clauses));
        if !self.obligations.is_empty() {
            object.insert("obligations".into(), json!(self.obligations));
        }
        object.insert("grounds".into(), self.grounds.to_json());
        Value::Object(object)
    }

    /// What [`Why::to_json`] wrote.
    pub fn from_json(value: &Value) -> Option<Self> {
        let texts = |name: &str| match value.get(name) {
            None => Some(Vec::new()),
            Some(list) => {
                let list = list.as_array()?.iter();
                list.map(|text| Some(text.as_str()?.to_owned())).collect::<Option<Vec<_>>>()
            }
        };
        Some(Self {
            sentences: texts("sentences")?,
            clauses: texts("clauses")?,
            obligations: texts("obligations")?,
            grounds: Grounds::from_json(value.get("grounds")?)?,
        })
    }
}

impl Verdict {
    /// What stands in the way of an escalated action, or stood in that of an approved one; nothing otherwise.
    pub fn grounds(&self) -> Grounds {
        Grounds(self.asking().map(Ground::of).collect())
    }

    /// What whoever decides is shown.
    pub fn why(&self) -> Why {
        let mut sentences: Vec<String> = Vec::new();
        for finding in self.asking() {
            let sentence = finding.to_string();
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        let more = sentences.len().saturating_sub(MOST_SENTENCES);
        sentences.truncate(MOST_SENTENCES);
        if more > 0 {
            sentences.push(format!("and {more} more"));
        }
        Why {
            sentences,
            clauses: self.clauses(),
            obligations: self.obligations().into_iter().map(str::to_owned).collect(),
            grounds: self.grounds(),
        }
    }
}
