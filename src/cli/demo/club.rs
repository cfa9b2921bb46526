//! The sample club: its people and what they write down.

use super::super::output::Failure;
use super::super::place::Place;
use super::super::setup::{self, Plan};
use crate::committer::entropy;
use crate::domain::TenantSlug;
use crate::evidence::note::{NoteError, VerifierKey};
use serde_json::{Value, json};
use zeroize::Zeroizing;

/// The letters of a password: none that is taken for another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Someone of the club.
pub(super) struct Person {
    /// What they are called.
    pub(super) name: &'static str,
    /// What they may do.
    pub(super) role: &'static str,
    /// What they sign in with.
    pub(super) email: String,
    /// And their password.
    pub(super) password: Zeroizing<String>,
}

impl Person {
    fn new(name: &'static str, role: &'static str) -> Self {
        let first = name.split(' ').next().unwrap_or(name).to_lowercase();
        Self { name, role, email: format!("{first}@harbour-club.example"), password: password() }
    }
}

/// The club.
pub(super) struct Club {
    /// Its name.
    pub(super) tenant: TenantSlug,
    /// Runs the service for the club.
    pub(super) operator: Person,
    /// The member whose agents the tour follows.
    pub(super) marta: Person,
    /// Another member.
    pub(super) jonas: Person,
    /// The key of the club's log, known before the first answer comes.
    pub(super) log_key: VerifierKey,
}

impl Club {
    /// Sets the club up with its operator.
    pub(super) fn set_up(place: &Place) -> Result<Self, Failure> {
        let tenant: TenantSlug = "harbour-club".parse().map_err(|why: String| Failure::failed(why))?;
        let operator = Person::new("Olga Brandt", "operator");
        let plan = Plan {
            tenant: tenant.clone(),
            operator: operator.email.clone(),
            password: operator.password.clone(),
            zone: chrono_tz::Europe::Berlin,
            public_url: None,
        };
        let made = setup::make(place, &plan)?;
        let log_key = made.log_key.parse().map_err(|error: NoteError| Failure::failed(error.to_string()))?;
        let (marta, jonas) = (Person::new("Marta Lind", "member"), Person::new("Jonas Weber", "member"));
        Ok(Self { tenant, operator, marta, jonas, log_key })
    }

    /// Everyone, those first whom the tour follows.
    pub(super) fn people(&self) -> [&Person; 3] {
        [&self.marta, &self.jonas, &self.operator]
    }
}

/// Twenty letters in fours: 100 random bits.
fn password() -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::new());
    for (position, byte) in Zeroizing::new(entropy::bytes::<20>()).iter().enumerate() {
        if position > 0 && position % 4 == 0 {
            text.push('-');
        }
        let letter = LETTERS.get(usize::from(byte % 32)).copied().unwrap_or(b'x');
        text.push(char::from(letter));
    }
    text
}

/// What the operator registers of refunds: where in the arguments of the tool the facts stand.
pub(super) fn refunds() -> Value {
    json!({
        "title": "Refund an order",
        "arguments": {
            "type": "object",
            "required": ["order", "amount", "currency"],
            "properties": {
                "order": {"type": "string"}, "amount": {"type": "string"}, "currency": {"type": "string"},
            },
        },
        "effect": true,
        "amount": "/amount",
        "currency": "/currency",
        "resource": "/order",
    })
}

/// Marta's terms: small refunds, and hands off her account.
pub(super) fn mandate() -> Value {
    json!({
        "scopes": ["action:request", "mandate:read", "decision:read"],
        "unlisted": "escalate",
        "clauses": [
            {
                "id": "M-001", "title": "Small refunds for our own orders",
                "intent": "payments.refund", "effect": "allow",
                "when": {"amount": {"at_most": {"value": "100.00", "currency": "EUR"}}},
            },
            {"id": "M-002", "title": "Hands off my account", "intent": "account.*", "effect": "refuse"},
        ],
    })
}

/// The same, with no refunds at all.
pub(super) fn narrower_mandate() -> Value {
    let mut mandate = mandate();
    if let Some(clauses) = mandate.get_mut("clauses").and_then(Value::as_array_mut) {
        clauses.push(json!({
            "id": "M-003", "title": "No refunds while I am away", "intent": "payments.*", "effect": "refuse",
        }));
    }
    mandate
}

/// A refund as an agent describes it, and the arguments its tool will run with.
pub(super) fn refund(order: &str, described: &str, amount: &str) -> Value {
    json!({
        "intent": "payments.refund",
        "amount": {"value": described, "currency": "EUR"},
        "resource": order,
        "arguments": {"order": order, "amount": amount, "currency": "EUR"},
        "untrusted": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::password::PasswordRules;
    use crate::domain::Timestamp;
    use crate::engine::{Admission, Beside, CatalogueEntry, Change, MandateDocument, admit_mandate, compare};

    #[test]
    fn the_club_writes_what_the_service_reads() {
        let (before, after) = (mandate(), narrower_mandate());
        let (before, after) =
            (MandateDocument::read(&before).unwrap(), MandateDocument::read(&after).unwrap());
        assert_eq!(compare(&before, &after), Change::Narrowed);
        let admission = admit_mandate(&before, None, Beside::default(), Timestamp::from_unix_seconds(0));
        assert_eq!(admission, Admission::default());
        assert!(CatalogueEntry::read(&refunds()).is_ok());
    }

    #[test]
    fn a_drawn_password_is_one_that_may_be_chosen() {
        let drawn = password();
        assert_eq!(drawn.len(), 24);
        let rules = PasswordRules { second_factor: false, context: &["marta", "harbour-club"] };
        assert_eq!(rules.check(&drawn), Ok(()));
        assert_ne!(*drawn, *password());
    }
}
