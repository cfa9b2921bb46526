//! Personal data in what agents are told and say: found by rules on this machine, never by a model.
//!
//! A detector is a pure function of the text. It keeps no value: a [`Finding`] says where one stands and what to show
//! in its place.

mod class;
mod conversation;
mod detect;
mod finding;

pub use class::Class;
pub use conversation::{Completion, Tail};
pub use detect::{Detection, NationalId, detect, without};
pub use finding::{Finding, masked};
