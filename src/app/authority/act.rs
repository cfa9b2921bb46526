//! One act's receipt, and the rows it speaks of.

use super::{Ledger, PAGE, found};
use crate::domain::{
    Chain, CredentialId, DecisionId, DecisionStatus, EnforcementPointId, Intent, Outcome, PrincipalId,
    ReceiptId,
};
use crate::engine::{MandateDocument, PolicyDocument};
use crate::evidence::commitment::{Opening, commit, committed};
use crate::evidence::receipt::{Body, Kind};
use crate::storage::authority::Authority;
use crate::storage::decision::Decision;
use crate::storage::receipt::StoredReceipt;
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, StoreError};
use serde_json::{Value, json};
use std::str::FromStr;

/// A receipt with its documents, and where what it says is held against what stands.
pub(super) struct Act<'a> {
    connection: &'a mut AnyConnection,
    tenant: &'a Tenant,
    ledger: &'a mut Ledger,
    body: &'a Body,
    /// Input and output, as pointers into a line lead to them.
    line: Value,
    content: Value,
}

impl<'a> Act<'a> {
    pub(super) fn of(
        connection: &'a mut AnyConnection,
        tenant: &'a Tenant,
        ledger: &'a mut Ledger,
        stored: &'a StoredReceipt,
    ) -> Self {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let line = json!({"input": read(&stored.input), "output": read(&stored.output)});
        let content = stored.content.as_deref().map(read).unwrap_or_default();
        Self { connection, tenant, ledger, body: &stored.body, line, content }
    }

    /// Holds what the receipt says against the rows.
    pub(super) fn hold(mut self) -> Result<(), StoreError> {
        match self.body.kind {
            Kind::TenantSetup => self.tenant_setup(),
            Kind::PrincipalCreate => self.principal("/input/registered"),
            Kind::MandatePut => self.mandate(),
            Kind::PolicyPut => self.policy(),
            Kind::CataloguePut => self.catalogue(),
            Kind::AgentCreate => self.agent(false),
            Kind::AgentRetire => self.agent(true),
            Kind::CredentialCreate | Kind::CredentialDerive => self.credential(),
            Kind::CredentialRevoke => self.revoked(),
            Kind::EnforcementPointCreate => self.enforcement_point("/output/id", false),
            Kind::EnforcementPointRevoke => self.enforcement_point("/input/enforcement_point", true),
            Kind::DecisionApprove => self.approval(),
            Kind::DecisionRenew => {
                if let Some(decision) = self.text("/input/decision") {
                    self.ledger.given.remove(&decision);
                }
                Ok(())
            }
            Kind::DecisionDecline => self.decided(DecisionStatus::Declined),
            Kind::DecisionExpire => self.decided(DecisionStatus::Expired),
            Kind::DecisionWithdraw => self.decided(DecisionStatus::Withdrawn),
            Kind::DecisionResolve => self.decided(DecisionStatus::Resolved),
            Kind::GateEvaluate
            | Kind::GateReplay
            | Kind::GateWithdrawn
            | Kind::PrincipalPassword
            | Kind::EffectOutcome
            | Kind::AccessMinute
            | Kind::LogGap
            | Kind::LogRestore
            | Kind::Export
            | Kind::KeyRotate => Ok(()),
        }
    }

    fn tenant_setup(&mut self) -> Result<(), StoreError> {
        let (tenant, what) = (self.tenant, format!("tenant {}", self.tenant.slug));
        self.same("tenants.zone", &what, "/input/zone", &json!(tenant.zone.name()));
        self.same("tenants.origin", &what, "/input/origin", &json!(tenant.origin));
        self.same("tenants.issuer", &what, "/input/issuer", &json!(tenant.issuer));
        let named = Authority::Policy(1);
        let row = storage::policy::find(self.connection, &tenant.slug, 1);
        if let Some(row) = found(self.ledger, named.clone(), row)? {
            let empty = PolicyDocument::empty().to_json();
            self.first("policies.document", &named, &row.document, &empty);
        }
        self.principal("/output/operator")
    }

    /// A person, with their first mandate.
    fn principal(&mut self, id: &str) -> Result<(), StoreError> {
        let Some(id) = self.named::<PrincipalId>(id) else { return Ok(()) };
        let slug = &self.tenant.slug;
        let named = Authority::Principal(id.to_string());
        let row = storage::principal::find(self.connection, slug, id);
        if let Some(row) = found(self.ledger, named.clone(), row)? {
            let what = named.to_string();
            self.committed("principals.email", &what, "/input/email", Some(json!(row.email)));
            if self.body.kind == Kind::PrincipalCreate {
                self.committed("principals.name", &what, "/input/name", Some(json!(row.name)));
                self.same("principals.roles", &what, "/input/roles", &json!(row.roles));
            }
        }
        let named = Authority::Mandate(id.to_string(), 1);
        let row = storage::mandate::find(self.connection, slug, id, 1);
        if let Some(row) = found(self.ledger, named.clone(), row)? {
            let initial = MandateDocument::initial().to_json();
            self.first("mandates.document", &named, &row.document, &initial);
        }
        Ok(())
    }

    fn mandate(&mut self) -> Result<(), StoreError> {
        let (Some(id), Some(version)) = (self.body.principal, self.body.mandate_version) else {
            return Ok(());
        };
        let named = Authority::Mandate(id.to_string(), stored(version));
        let row = storage::mandate::find(self.connection, &self.tenant.slug, id, version);
        let Some(row) = found(self.ledger, named.clone(), row)? else { return Ok(()) };
        let what = named.to_string();
        self.committed("mandates.document", &what, "/input/document", Some(document(&row.document)));
        self.same("mandates.change", &what, "/output/change", &json!(row.change));
        self.same("mandates.id", &what, "/input/mandate", &json!(row.id));
        Ok(())
    }

    fn policy(&mut self) -> Result<(), StoreError> {
        let Some(version) = self.body.policy_version else { return Ok(()) };
        let named = Authority::Policy(stored(version));
        let row = storage::policy::find(self.connection, &self.tenant.slug, version);
        let Some(row) = found(self.ledger, named.clone(), row)? else { return Ok(()) };
        let what = named.to_string();
        self.committed("policies.document", &what, "/input/document", Some(document(&row.document)));
        self.same("policies.change", &what, "/output/change", &json!(row.change));
        Ok(())
    }

    fn catalogue(&mut self) -> Result<(), StoreError> {
        let (Some(version), Some(intent)) =
            (self.body.catalogue_version, self.named::<Intent>("/input/intent"))
        else {
            return Ok(());
        };
        let named = Authority::Catalogue(stored(version));
        let row = storage::catalogue::at_version(self.connection, &self.tenant.slug, &intent, version);
        // What the version says of the intent is the entry of that version, or the row was moved to another.
        let row = row.map(|row| row.filter(|row| row.version == version));
        let Some(row) = found(self.ledger, named.clone(), row)? else { return Ok(()) };
        self.committed(
            "catalogue.document",
            &named.to_string(),
            "/input/entry",
            Some(document(&row.document)),
        );
        Ok(())
    }

    fn agent(&mut self, is_retired: bool) -> Result<(), StoreError> {
        let Some(id) = self.body.agent else { return Ok(()) };
        let named = Authority::Agent(id.to_string());
        let row = storage::agent::find(self.connection, &self.tenant.slug, id);
        if let Some(row) = found(self.ledger, named.clone(), row)? {
            let what = named.to_string();
            self.same("agents.principal", &what, "/input/principal", &json!(row.principal));
            if !is_retired {
                self.same("agents.kind", &what, "/input/agent_kind", &json!(row.kind));
                self.same("agents.name", &what, "/input/name", &json!(row.name));
            } else if row.retired_at.is_none() {
                self.ledger.say(format!("{what} was retired, and `agents.retired_at` says that it was not"));
            }
        }
        if is_retired { self.revoked() } else { Ok(()) }
    }

    fn credential(&mut self) -> Result<(), StoreError> {
        let Some(id) = self.named::<CredentialId>("/output/id") else { return Ok(()) };
        let named = Authority::Credential(id.to_string());
        let row = storage::credential::find(self.connection, &self.tenant.slug, id);
        let Some(row) = found(self.ledger, named.clone(), row)? else { return Ok(()) };
        let what = named.to_string();
        for (column, pointer, stands) in [
            ("credentials.agent", "/input/agent", json!(row.agent)),
            ("credentials.principal", "/input/principal", json!(row.principal)),
            ("credentials.parent", "/input/parent", json!(row.parent)),
            ("credentials.label", "/input/label", json!(row.label)),
            ("credentials.scopes", "/input/scopes", json!(row.scopes)),
            ("credentials.country", "/input/country", json!(row.country)),
            ("credentials.expires_at", "/output/expires_at", json!(row.expires_at)),
        ] {
            self.same(column, &what, pointer, &stands);
        }
        if (row.depth == 0) != row.parent.is_none() {
            self.ledger.say(format!("`credentials.depth` of {what} is {}", row.depth));
        }
        self.committed("credentials.clauses", &what, "/input/clauses", row.clauses.as_deref().map(document));
        let purpose = row.purpose.map(|purpose| json!(purpose));
        self.committed("credentials.purpose", &what, "/input/purpose", purpose);
        Ok(())
    }

    /// Whatever the act revoked stays so.
    fn revoked(&mut self) -> Result<(), StoreError> {
        let listed = self.line.pointer("/output/revoked").and_then(Value::as_array).cloned();
        for id in listed.iter().flatten().filter_map(Value::as_str).filter_map(|id| id.parse().ok()) {
            let id: CredentialId = id;
            let named = Authority::Credential(id.to_string());
            let row = storage::credential::find(self.connection, &self.tenant.slug, id);
            if found(self.ledger, named.clone(), row)?.is_some_and(|row| row.revoked.is_none()) {
                self.ledger
                    .say(format!("{named} was revoked, and `credentials.revoked_at` says that it was not"));
            }
        }
        Ok(())
    }

    fn enforcement_point(&mut self, id: &str, is_revoked: bool) -> Result<(), StoreError> {
        let Some(id) = self.named::<EnforcementPointId>(id) else { return Ok(()) };
        let named = Authority::EnforcementPoint(id.to_string());
        let row = storage::enforcement_point::find(self.connection, &self.tenant.slug, id);
        let Some(row) = found(self.ledger, named.clone(), row)? else { return Ok(()) };
        if !is_revoked {
            self.same("enforcement_points.name", &named.to_string(), "/input/name", &json!(row.name));
        } else if row.revoked.is_none() {
            self.ledger.say(format!(
                "{named} was revoked, and `enforcement_points.revoked_at` says that it was not"
            ));
        }
        Ok(())
    }

    /// A person's yes; the last that it takes approves.
    fn approval(&mut self) -> Result<(), StoreError> {
        let Some(id) = self.named::<DecisionId>("/input/decision") else { return Ok(()) };
        if let Some(by) = self.body.principal {
            self.ledger.given.entry(id.to_string()).or_default().insert(by.to_string());
        }
        if self.text("/output/status").as_deref() != Some(DecisionStatus::Approved.as_str()) {
            return Ok(());
        }
        let Some((row, what)) = self.decision(id, Authority::Approved(id.to_string()))? else {
            return Ok(());
        };
        self.same("decisions.input_hash", &what, "/input/shown", &json!(row.input_hash));
        self.same("decisions.approved_until", &what, "/output/approved_until", &json!(row.approved_until));
        match row.status {
            // What was approved is used, or ends unused.
            DecisionStatus::Approved => {
                if let Some(by) = self.use_of(id, &row)?
                    && self.is_approved(id)?
                    && self.use_of(id, &row)? == Some(by)
                {
                    let why = format!("{what} was used by {by}, and `decisions.status` says that it was not");
                    self.ledger.say(why);
                }
            }
            DecisionStatus::Used | DecisionStatus::Expired | DecisionStatus::Withdrawn => {}
            DecisionStatus::Open | DecisionStatus::Declined | DecisionStatus::Resolved => {
                self.ledger
                    .say(format!("decision {id} was approved, and `decisions.status` is {}", row.status));
            }
        }
        Ok(())
    }

    /// Whether a decision is approved still: beside a server, it may have been used since its row was read.
    fn is_approved(&mut self, id: DecisionId) -> Result<bool, StoreError> {
        let row = storage::decision::find(self.connection, &self.tenant.slug, id)?;
        Ok(row.is_some_and(|row| row.status == DecisionStatus::Approved))
    }

    /// The call that used an approval and was not withdrawn, by the log: one that names it, when it was approved, and
    /// was allowed.
    fn use_of(&mut self, id: DecisionId, row: &Decision) -> Result<Option<ReceiptId>, StoreError> {
        let (slug, chain) = (&self.tenant.slug, Chain::Credential(row.credential));
        let Some(mut next) = storage::receipt::first_seq_since(self.connection, slug, &chain, self.body.at)?
        else {
            return Ok(None);
        };
        let (mut used, id) = (None, id.to_string());
        loop {
            let page = match storage::receipt::of_chain(self.connection, slug, &chain, next, PAGE) {
                Ok(page) => page,
                // What cannot be read is found where the log is looked over.
                Err(StoreError::Corrupt { .. }) => return Ok(used),
                Err(error @ StoreError::Failed(_)) => return Err(error),
            };
            let Some(last) = page.last() else { return Ok(used) };
            next = last.body.seq.saturating_add(1);
            for stored in &page {
                let input: Value = serde_json::from_str(&stored.input).unwrap_or_default();
                let says = |pointer: &str| input.pointer(pointer).and_then(Value::as_str);
                if stored.body.kind == Kind::GateWithdrawn {
                    let withdrawn = says("/receipt").map(str::to_owned);
                    used = used.filter(|used: &ReceiptId| Some(used.to_string()) != withdrawn);
                } else if stored.body.kind == Kind::GateEvaluate
                    && stored.body.outcome == Some(Outcome::Allow)
                    && says("/decision") == Some(&id)
                    && says("/asked/status") == Some(DecisionStatus::Approved.as_str())
                {
                    used = Some(stored.body.id);
                }
            }
        }
    }

    /// A decision that ended stays so.
    fn decided(&mut self, status: DecisionStatus) -> Result<(), StoreError> {
        let Some(id) = self.named::<DecisionId>("/input/decision") else { return Ok(()) };
        let row = storage::decision::find(self.connection, &self.tenant.slug, id);
        match row {
            Ok(Some(row)) if row.status == status => {}
            Ok(Some(row)) => {
                self.ledger
                    .say(format!("decision {id} is {status}, and `decisions.status` is {}", row.status));
            }
            Ok(None) => self.ledger.say(format!("decision {id} is not there")),
            Err(StoreError::Corrupt { place, detail }) => {
                self.ledger.say(format!("decision {id}: {place} cannot be read: {detail}"));
            }
            Err(error @ StoreError::Failed(_)) => return Err(error),
        }
        Ok(())
    }

    /// A decision's row, whose credential and agent are those of the receipt.
    fn decision(
        &mut self,
        id: DecisionId,
        named: Authority,
    ) -> Result<Option<(Decision, String)>, StoreError> {
        let row = storage::decision::find(self.connection, &self.tenant.slug, id);
        let Some(row) = found(self.ledger, named, row)? else { return Ok(None) };
        let what = format!("decision {id}");
        let whose = (Some(row.credential), Some(row.agent));
        if whose != (self.body.credential, self.body.agent) {
            self.ledger.say(format!("`decisions.credential` or `decisions.agent` of {what} is another's"));
        }
        Ok(Some((row, what)))
    }

    /// Holds a value against what the receipt says plainly.
    fn same(&mut self, column: &str, what: &str, pointer: &str, stands: &Value) {
        let said = self.line.pointer(pointer).unwrap_or(&Value::Null);
        if said != stands {
            let why = format!("`{column}` of {what} is {stands}, {said} was recorded");
            self.ledger.say(why);
        }
    }

    /// Holds a value against the commitment that stands for it in the receipt.
    fn committed(&mut self, column: &str, what: &str, pointer: &str, stands: Option<Value>) {
        let recorded = self.line.pointer(pointer).and_then(committed);
        let opening = self.content.get(pointer).and_then(|entry| Opening::from_json(entry).ok());
        let why = match (recorded, stands, opening) {
            (None, None, _) => return,
            (None, Some(_), _) => format!("`{column}` of {what} stands there, and none was recorded"),
            (Some(recorded), None, _) => format!("`{column}` of {what} is gone, {recorded} was recorded"),
            (Some(_), Some(_), None) => {
                format!(
                    "`{column}` of {what} cannot be held against its receipt, whose content is not there any more"
                )
            }
            (Some(recorded), Some(stands), Some(opening)) => {
                let found = commit(&opening.salt, &stands);
                if found == recorded {
                    return;
                }
                format!("`{column}` of {what} was changed: it comes to {found}, {recorded} was recorded")
            }
        };
        self.ledger.say(why);
    }

    /// Holds a first version, which nobody wrote, against what every first version says.
    fn first(&mut self, column: &str, named: &Authority, stands: &str, initial: &Value) {
        if document(stands) != *initial {
            self.ledger.say(format!("`{column}` of {named} is not what every first version says"));
        }
    }

    fn text(&self, pointer: &str) -> Option<String> {
        Some(self.line.pointer(pointer)?.as_str()?.to_owned())
    }

    /// An id that the documents name. Without one there is nothing to hold: the rows it made have no receipt then.
    fn named<T: FromStr>(&self, pointer: &str) -> Option<T> {
        self.line.pointer(pointer)?.as_str()?.parse().ok()
    }
}

/// A stored document; one that is no JSON is a text, which no receipt commits to.
fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn stored(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}
