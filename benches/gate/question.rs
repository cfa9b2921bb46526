//! The question that every server is asked: may this refund be paid?

use serde_json::{Value, json};

/// A refund of an order, in euros.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refund {
    /// How much, in cents.
    pub(crate) minor_units: u32,
    /// Where the customer lives.
    pub(crate) country: &'static str,
    /// What is paid back.
    pub(crate) resource: &'static str,
    /// Whether somebody else wrote what led to it.
    pub(crate) untrusted: bool,
}

impl Refund {
    /// The mandate allows it.
    pub(crate) const ALLOWED: Self =
        Self { minor_units: 2_400, country: "DE", resource: "order:4412", untrusted: false };

    /// Each leaves the mandate at one place.
    pub(crate) const BEYOND: [Self; 4] = [
        Self { minor_units: 24_000, ..Self::ALLOWED },
        Self { country: "FR", ..Self::ALLOWED },
        Self { resource: "invoice:4412", ..Self::ALLOWED },
        Self { untrusted: true, ..Self::ALLOWED },
    ];

    /// As Procura's gate is asked.
    pub(crate) fn to_evaluate(self) -> Value {
        let amount = format!("{}.{:02}", self.minor_units / 100, self.minor_units % 100);
        json!({
            "intent": "payments.refund", "country": self.country,
            "amount": {"value": amount, "currency": "EUR"},
            "counterparty": "acct:cus_91", "resource": self.resource,
            "arguments": {"order": "4412", "reason": "the parcel came back unopened"},
            "evidence": {"confidence": 0.93, "cites": ["order:4412"]}, "untrusted": self.untrusted,
        })
    }
}
