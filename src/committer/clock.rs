//! The one place that reads the wall clock.

use crate::domain::Timestamp;

/// Now, by this machine's clock.
#[expect(clippy::disallowed_methods, reason = "every other place takes time as an argument")]
pub fn now() -> Timestamp {
    chrono::Utc::now().into()
}
