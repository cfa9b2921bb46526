//! Mechanisms taken away one at a time: each must break a promise, or the promise is not kept by it.

/// A mechanism that is taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutant {
    /// The version of the mandate is read when a call arrives, not in the transaction of its answer.
    StaleVersionRead,
    /// A yes goes by what was found when the decision was opened.
    NoRecheckAtApproval,
    /// A person's act goes by the state its page was made from.
    NoCompareAndSet,
    /// The answer is told before it is recorded.
    AnswerBeforeRecord,
    /// What an allow takes is written to the books after the transaction of its answer.
    ReservationOutsideTransaction,
}
