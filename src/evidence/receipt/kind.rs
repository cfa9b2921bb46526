//! What a receipt records.

use std::{fmt, str::FromStr};

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// What a receipt records: a call to the gate, an act of authority, or the service's own account.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The kind's name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// The gate answered a described action.
    GateEvaluate "gate.evaluate";
    /// The gate was asked again under a key it had answered.
    GateReplay "gate.replay";
    /// An answer that missed its window was taken back.
    GateWithdrawn "gate.withdrawn";
    /// A version of a mandate went live.
    MandatePut "mandate.put";
    /// A version of the tenant's policy went live.
    PolicyPut "policy.put";
    /// A version of the catalogue went live.
    CataloguePut "catalogue.put";
    /// A person was registered.
    PrincipalCreate "principal.create";
    /// A person's password was set.
    PrincipalPassword "principal.password";
    /// An agent was registered.
    AgentCreate "agent.create";
    /// An agent was retired, with its credentials.
    AgentRetire "agent.retire";
    /// A credential was issued by a person.
    CredentialCreate "credential.create";
    /// A credential was derived from another.
    CredentialDerive "credential.derive";
    /// A credential was revoked, with its children.
    CredentialRevoke "credential.revoke";
    /// An enforcement point was registered.
    EnforcementPointCreate "enforcement_point.create";
    /// An enforcement point was revoked.
    EnforcementPointRevoke "enforcement_point.revoke";
    /// A person said yes.
    DecisionApprove "decision.approve";
    /// A person said no.
    DecisionDecline "decision.decline";
    /// Nobody decided in time.
    DecisionExpire "decision.expire";
    /// A question was put anew, since more stands in the way than was shown.
    DecisionRenew "decision.renew";
    /// What was to be decided, or a yes already given, no longer stands.
    DecisionWithdraw "decision.withdraw";
    /// A person settled an uncertain effect.
    DecisionResolve "decision.resolve";
    /// An effect ended, failed, or nobody knows.
    EffectOutcome "effect.outcome";
    /// An agent asked another member's agent a question.
    QuestionAsk "question.ask";
    /// Whether a question may reach whom it is for.
    QuestionReceive "question.receive";
    /// A question reached nobody.
    QuestionLost "question.lost";
    /// An answering agent answered a question.
    QuestionAnswer "question.answer";
    /// An answer reached who asked.
    QuestionAnswered "question.answered";
    /// An acting agent fetched an answer: what it asks of the gate from then on counts as untrusted.
    QuestionFetch "question.fetch";
    /// A question was taken back.
    QuestionWithdraw "question.withdraw";
    /// Nobody answered a question in time.
    QuestionExpire "question.expire";
    /// The list and count of one credential's minute in the call log.
    AccessMinute "access.minute";
    /// Calls that could not be recorded: from, until, how many.
    LogGap "log.gap";
    /// The log was restored from a backup: from which size, and what was known of a later one.
    LogRestore "log.restore";
    /// An export was handed out; the last line of it.
    Export "export";
    /// The content of a request was erased: of which receipts, and why.
    ContentErase "content.erase";
    /// What is erased at which age was set.
    RetentionPut "retention.put";
    /// A key of the tenant was put in the place of another.
    KeyRotate "key.rotate";
    /// The tenant was set up.
    TenantSetup "tenant.setup";
}

impl Kind {
    /// Whether it records a described request and what the engine said to it, under a credential.
    pub const fn is_call(self) -> bool {
        matches!(self, Self::GateEvaluate | Self::QuestionAsk | Self::QuestionAnswer)
    }

    /// Whether it records what the engine said, whoever's terms it was under.
    pub const fn is_decided(self) -> bool {
        self.is_call() || matches!(self, Self::QuestionReceive)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
            format!("`{}` is not a kind of receipt: one of {}", text.escape_debug(), names.join(", "))
        })
    }
}
