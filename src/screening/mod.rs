//! Personal data in what agents are told and say: found by rules on this machine, never by a model.
//!
//! A detector is a pure function of the text. It keeps no value: a [`Finding`] says where one stands and what to show
//! in its place. [`turn()`] and [`Reply`] hold a text to the [`Rules`] of a tenant, a reply also to the ledger and to what calls
//! returned.

mod admission;
mod claim;
mod class;
mod conversation;
mod count;
mod detect;
mod facts;
mod finding;
mod fold;
mod language;
mod lexicon;
mod outcome;
mod pass;
mod personal_data;
mod reply;
mod rules;
mod sentence;
mod stated;
mod turn;
mod wording;

pub use class::Class;
pub use conversation::{Completion, Tail};
pub use count::{Count, Counts};
pub use detect::{Detection, NationalId, detect, without};
pub use facts::Record;
pub use finding::{Finding, masked};
pub use language::Language;
pub use outcome::Effect;
pub use personal_data::PersonalData;
pub use reply::{Audience, Reply};
pub use rules::{Accompany, Action, Exactly, LONGEST_PHRASE, LONGEST_SENTENCE, MOST_ENTRIES, Rules, Write};
pub use sentence::sentences;
pub use turn::{Done, Noted, Screened, turn, turn_after};

#[cfg(test)]
mod tests;
