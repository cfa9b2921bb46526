//! One act's receipt, and the rows it speaks of.

use super::course::named;
use super::{Ledger, Password, counts, found, noted};
use crate::crypto::{AuthKey, seal};
use crate::domain::{
    CredentialId, DecisionId, DecisionStatus, EnforcementPointId, Intent, KeyId, MandateId, PrincipalId,
    Timestamp,
};
use crate::engine::{MandateDocument, PolicyDocument};
use crate::evidence::commitment::{Opening, commit, committed};
use crate::evidence::receipt::{Body, Kind};
use crate::storage::authority::Authority;
use crate::storage::receipt::StoredReceipt;
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, StoreError};
use serde_json::{Value, json};
use std::str::FromStr;

/// A receipt with its documents, and where what it says is held against what stands.
pub(super) struct Act<'a> {
    pub(super) connection: &'a mut AnyConnection,
    pub(super) tenant: &'a Tenant,
    /// What the service's own hashes of what it keeps are made with.
    lookup: Option<&'a AuthKey>,
    pub(super) ledger: &'a mut Ledger,
    pub(super) body: &'a Body,
    pub(super) stored: &'a StoredReceipt,
    /// Input and output, as pointers into a line lead to them.
    pub(super) line: Value,
    pub(super) content: Value,
}

impl<'a> Act<'a> {
    pub(super) fn of(
        connection: &'a mut AnyConnection,
        tenant: &'a Tenant,
        lookup: Option<&'a AuthKey>,
        ledger: &'a mut Ledger,
        stored: &'a StoredReceipt,
    ) -> Self {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let line = json!({"input": read(&stored.input), "output": read(&stored.output)});
        let content = stored.content.as_deref().map(read).unwrap_or_default();
        Self { connection, tenant, lookup, ledger, body: &stored.body, stored, line, content }
    }

    /// Holds what the receipt says against the rows.
    pub(super) fn hold(mut self) -> Result<(), StoreError> {
        self.ledger.course.take(self.stored, &self.line);
        match self.body.kind {
            Kind::TenantSetup => self.tenant_setup(),
            Kind::PrincipalCreate => self.principal("/input/registered", false),
            Kind::PrincipalPassword => {
                if let Some(id) = self.body.principal {
                    self.password(id, true);
                }
                Ok(())
            }
            Kind::MandatePut => self.mandate(),
            Kind::PolicyPut => self.policy(),
            Kind::CataloguePut => self.catalogue(),
            Kind::RetentionPut => self.retention(),
            Kind::KeyRotate => self.key_rotate(),
            Kind::AgentCreate => self.agent(false),
            Kind::AgentRetire => self.agent(true),
            Kind::CredentialCreate | Kind::CredentialDerive => self.credential(),
            Kind::CredentialRevoke => self.revoked(),
            Kind::EnforcementPointCreate => self.enforcement_point("/output/id", false),
            Kind::EnforcementPointRevoke => self.enforcement_point("/input/enforcement_point", true),
            Kind::DecisionApprove => {
                self.approval();
                Ok(())
            }
            Kind::DecisionRenew => {
                if let Some(decision) = self.text("/input/decision") {
                    self.ledger.given.remove(&decision);
                }
                Ok(())
            }
            Kind::AccessMinute => noted::minute(&mut self),
            Kind::Export => noted::export(&mut self),
            Kind::GateEvaluate | Kind::QuestionAsk | Kind::QuestionAnswer => counts::answered(&mut self),
            Kind::GateReplay
            | Kind::GateWithdrawn
            | Kind::QuestionReceive
            | Kind::QuestionLost
            | Kind::QuestionAnswered
            | Kind::QuestionFetch
            | Kind::QuestionWithdraw
            | Kind::QuestionExpire
            | Kind::EffectOutcome
            | Kind::DecisionDecline
            | Kind::DecisionExpire
            | Kind::DecisionWithdraw
            | Kind::DecisionResolve
            | Kind::LogGap
            | Kind::LogRestore
            | Kind::ContentErase => Ok(()),
        }
    }

    fn tenant_setup(&mut self) -> Result<(), StoreError> {
        let (tenant, what) = (self.tenant, format!("tenant {}", self.tenant.slug));
        self.says("tenants.id", &what, &json!(tenant.id), &json!(self.body.chain));
        self.says("tenants.created_at", &what, &json!(tenant.created_at), &json!(tenant.id.made_at()));
        self.same("tenants.zone", &what, "/input/zone", &json!(tenant.zone.name()));
        self.same("tenants.origin", &what, "/input/origin", &json!(tenant.origin));
        self.same("tenants.issuer", &what, "/input/issuer", &json!(tenant.issuer));
        let named = Authority::Policy(1);
        let row = storage::policy::find(self.connection, &tenant.slug, 1);
        if let Some(row) = found(self.ledger, named.clone(), row)? {
            let (what, author) = (named.to_string(), self.line.pointer("/output/operator").cloned());
            let empty = PolicyDocument::empty().to_json();
            self.first("policies.document", &what, &row.document, &empty);
            self.says("policies.change", &what, &json!(row.change), &json!("unchanged"));
            self.says("policies.author", &what, &json!(row.author), &json!(author));
            self.at("policies.live_since", &what, Some(row.live_since));
        }
        self.founding_keys()?;
        self.principal("/output/operator", true)
    }

    /// The keys that a tenant is founded with.
    fn founding_keys(&mut self) -> Result<(), StoreError> {
        let stored = storage::key::of_tenant(self.connection, &self.tenant.slug)?;
        let Some(listed) = self.line.pointer("/input/keys").and_then(Value::as_array).cloned() else {
            // A log that was begun before they were recorded: whatever was made with the tenant counts.
            let founded = stored.iter().filter(|key| key.id.made_at() == self.tenant.id.made_at());
            self.ledger.put.extend(founded.map(|key| Authority::Key(key.id.to_string())));
            return Ok(());
        };
        for key in &listed {
            let Some(id) = named::<KeyId>(key, "/id") else { continue };
            self.key(id, key.get("purpose"))?;
        }
        Ok(())
    }

    fn key_rotate(&mut self) -> Result<(), StoreError> {
        let purpose = self.line.pointer("/input/purpose").cloned();
        if let Some(id) = self.named::<KeyId>("/output/key") {
            self.key(id, purpose.as_ref())?;
        }
        let Some(id) = self.named::<KeyId>("/input/retired") else { return Ok(()) };
        let stored = storage::key::of_tenant(self.connection, &self.tenant.slug)?;
        let retired_at = stored.iter().find(|key| key.id == id).and_then(|key| key.retired_at);
        self.ended("keys.retired_at", &format!("key {id}"), &id.to_string(), retired_at);
        Ok(())
    }

    fn key(&mut self, id: KeyId, purpose: Option<&Value>) -> Result<(), StoreError> {
        let stored = storage::key::of_tenant(self.connection, &self.tenant.slug)?;
        let named = Authority::Key(id.to_string());
        let row = Ok(stored.into_iter().find(|key| key.id == id));
        if let Some(row) = found(self.ledger, named.clone(), row)? {
            let what = named.to_string();
            self.says("keys.purpose", &what, &json!(row.purpose), &json!(purpose));
            self.says("keys.created_at", &what, &json!(row.created_at), &json!(id.made_at()));
        }
        Ok(())
    }

    /// A person, with their first mandate.
    fn principal(&mut self, id: &str, is_first: bool) -> Result<(), StoreError> {
        let Some(id) = self.named::<PrincipalId>(id) else { return Ok(()) };
        let slug = &self.tenant.slug;
        let named = Authority::Principal(id.to_string());
        let row = storage::principal::find(self.connection, slug, id);
        if let Some(row) = found(self.ledger, named.clone(), row)? {
            let what = named.to_string();
            self.committed("principals.email", &what, "/input/email", Some(json!(row.email)));
            // A log that was begun before they were recorded says neither of its first operator.
            if !is_first || self.line.pointer("/input/roles").is_some() {
                self.committed("principals.name", &what, "/input/name", Some(json!(row.name)));
                self.same("principals.roles", &what, "/input/roles", &json!(row.roles));
            }
            self.at("principals.created_at", &what, Some(row.created_at));
        }
        self.password(id, is_first);
        let named = Authority::Mandate(id.to_string(), 1);
        let row = storage::mandate::find(self.connection, slug, id, 1);
        if let Some(row) = found(self.ledger, named.clone(), row)? {
            let what = named.to_string();
            let initial = MandateDocument::initial().to_json();
            self.first("mandates.document", &what, &row.document, &initial);
            self.says("mandates.change", &what, &json!(row.change), &json!("unchanged"));
            self.says("mandates.author", &what, &json!(row.author), &json!(id));
            self.at("mandates.live_since", &what, Some(row.live_since));
            if let Some(recorded) = self.named::<MandateId>("/input/mandate") {
                self.says("mandates.id", &what, &json!(row.id), &json!(recorded));
            }
        }
        Ok(())
    }

    /// Notes what a person's password is from here on; the row is held against it once the log is read.
    fn password(&mut self, id: PrincipalId, is_their_own: bool) {
        let (receipt, seal) = (self.ledger.place, self.text("/input/password"));
        self.ledger.passwords.insert(id.to_string(), Password { receipt, seal, is_their_own });
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
        self.says("mandates.author", &what, &json!(row.author), &json!(id));
        self.at("mandates.live_since", &what, Some(row.live_since));
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
        self.says("policies.author", &what, &json!(row.author), &json!(self.body.principal));
        self.at("policies.live_since", &what, Some(row.live_since));
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
        let what = named.to_string();
        self.committed("catalogue.document", &what, "/input/entry", Some(document(&row.document)));
        self.says("catalogue.author", &what, &json!(row.author), &json!(self.body.principal));
        self.at("catalogue.live_since", &what, Some(row.live_since));
        Ok(())
    }

    fn retention(&mut self) -> Result<(), StoreError> {
        let Some(version) = self.line.pointer("/output/version").and_then(Value::as_u64) else {
            return Ok(());
        };
        let named = Authority::Retention(stored(version));
        let row = storage::retention::find(self.connection, &self.tenant.slug, version);
        let Some(row) = found(self.ledger, named.clone(), row)? else { return Ok(()) };
        let what = named.to_string();
        self.same("retention.document", &what, "/input/retention", &document(&row.document));
        self.says("retention.author", &what, &json!(row.author), &json!(self.body.principal));
        self.at("retention.live_since", &what, Some(row.live_since));
        Ok(())
    }

    fn agent(&mut self, is_retired: bool) -> Result<(), StoreError> {
        let Some(id) = self.body.agent else { return Ok(()) };
        let named = Authority::Agent(id.to_string());
        let row = storage::agent::find(self.connection, &self.tenant.slug, id);
        if let Some(row) = found(self.ledger, named.clone(), row)? {
            let what = named.to_string();
            self.same("agents.principal", &what, "/input/principal", &json!(row.principal));
            if is_retired {
                self.ended("agents.retired_at", &what, &id.to_string(), row.retired_at);
            } else {
                self.same("agents.kind", &what, "/input/agent_kind", &json!(row.kind));
                self.same("agents.name", &what, "/input/name", &json!(row.name));
                self.at("agents.created_at", &what, Some(row.created_at));
            }
        }
        if is_retired { self.revoked() } else { Ok(()) }
    }

    fn credential(&mut self) -> Result<(), StoreError> {
        let Some(id) = self.named::<CredentialId>("/output/id") else { return Ok(()) };
        let parent = self.named::<CredentialId>("/input/parent");
        let above = parent.and_then(|parent| self.ledger.depths.get(&parent));
        let depth = above.map_or(0, |above| above.saturating_add(1));
        self.ledger.depths.insert(id, depth);
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
        if row.depth != depth {
            self.ledger
                .say(format!("`credentials.depth` of {what} is {}, it has {depth} ancestors", row.depth));
        }
        self.committed("credentials.clauses", &what, "/input/clauses", row.clauses.as_deref().map(document));
        let purpose = row.purpose.map(|purpose| json!(purpose));
        self.committed("credentials.purpose", &what, "/input/purpose", purpose);
        self.at("credentials.created_at", &what, Some(row.created_at));
        self.sealed("credentials.secret_digest", &what, row.secret_digest.as_bytes());
        Ok(())
    }

    /// Whatever the act revoked stays so.
    fn revoked(&mut self) -> Result<(), StoreError> {
        let listed = self.line.pointer("/output/revoked").and_then(Value::as_array).cloned();
        for id in listed.iter().flatten().filter_map(Value::as_str).filter_map(|id| id.parse().ok()) {
            let id: CredentialId = id;
            let named = Authority::Credential(id.to_string());
            let row = storage::credential::find(self.connection, &self.tenant.slug, id);
            if let Some(row) = found(self.ledger, named.clone(), row)? {
                let what = named.to_string();
                let at = row.revoked.as_ref().map(|revoked| revoked.at);
                self.ended("credentials.revoked_at", &what, &id.to_string(), at);
                if let Some(revoked) = row.revoked {
                    let by = json!(self.body.principal);
                    self.says("credentials.revoked_by", &what, &json!(revoked.by), &by);
                }
            }
        }
        Ok(())
    }

    fn enforcement_point(&mut self, id: &str, is_revoked: bool) -> Result<(), StoreError> {
        let Some(id) = self.named::<EnforcementPointId>(id) else { return Ok(()) };
        let named = Authority::EnforcementPoint(id.to_string());
        let row = storage::enforcement_point::find(self.connection, &self.tenant.slug, id);
        let Some(row) = found(self.ledger, named.clone(), row)? else { return Ok(()) };
        let (what, by) = (named.to_string(), json!(self.body.principal));
        if is_revoked {
            let at = row.revoked.as_ref().map(|revoked| revoked.at);
            self.ended("enforcement_points.revoked_at", &what, &id.to_string(), at);
            if let Some(revoked) = row.revoked {
                self.says("enforcement_points.revoked_by", &what, &json!(revoked.by), &by);
            }
        } else {
            self.same("enforcement_points.name", &what, "/input/name", &json!(row.name));
            self.says("enforcement_points.created_by", &what, &json!(row.created_by), &by);
            self.at("enforcement_points.created_at", &what, Some(row.created_at));
            self.sealed("enforcement_points.secret_digest", &what, row.secret_digest.as_bytes());
        }
        Ok(())
    }

    /// A person's yes; the last that it takes approves.
    fn approval(&mut self) {
        let Some(id) = self.named::<DecisionId>("/input/decision") else { return };
        let id = id.to_string();
        if let (Some(by), Some(place)) = (self.body.principal, self.ledger.place) {
            self.ledger.given.entry(id.clone()).or_default().insert(by.to_string(), place);
        }
        if self.text("/output/status").as_deref() == Some(DecisionStatus::Approved.as_str()) {
            self.ledger.put.insert(Authority::Approved(id));
        }
    }

    /// Holds a time against the act's own.
    fn at(&mut self, column: &str, what: &str, stands: Option<Timestamp>) {
        self.says(column, what, &json!(stands), &json!(self.body.at));
    }

    /// Holds the end of something against the act that ended it.
    fn ended(&mut self, column: &str, what: &str, id: &str, stands: Option<Timestamp>) {
        self.ledger.put.insert(Authority::Ended(id.to_owned()));
        if stands.is_some() {
            self.at(column, what, stands);
        } else {
            let word = if column.ends_with("revoked_at") { "revoked" } else { "retired" };
            self.ledger.say(format!("{what} was {word}, and `{column}` says that it was not"));
        }
    }

    /// Holds a hash that is kept against its seal, where the receipt has one and the key is at hand.
    fn sealed(&mut self, column: &str, what: &str, stands: &[u8]) {
        if let (Some(recorded), Some(lookup)) = (self.text("/input/secret"), self.lookup)
            && seal(lookup, stands) != recorded
        {
            self.ledger.say(format!("`{column}` of {what} is not the one that was recorded"));
        }
    }

    /// Holds a value against another.
    pub(super) fn says(&mut self, column: &str, what: &str, stands: &Value, said: &Value) {
        if said != stands {
            self.ledger.say(format!("`{column}` of {what} is {stands}, {said} was recorded"));
        }
    }

    /// Holds a value against what the receipt says plainly.
    pub(super) fn same(&mut self, column: &str, what: &str, pointer: &str, stands: &Value) {
        let said = self.line.pointer(pointer).cloned().unwrap_or_default();
        self.says(column, what, stands, &said);
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
    fn first(&mut self, column: &str, what: &str, stands: &str, initial: &Value) {
        if document(stands) != *initial {
            self.ledger.say(format!("`{column}` of {what} is not what every first version says"));
        }
    }

    fn text(&self, pointer: &str) -> Option<String> {
        Some(self.line.pointer(pointer)?.as_str()?.to_owned())
    }

    /// An id that the documents name. Without one there is nothing to hold: the rows it made have no receipt then.
    pub(super) fn named<T: FromStr>(&self, pointer: &str) -> Option<T> {
        named(&self.line, pointer)
    }
}

/// What cannot be read is found where it stands.
pub(super) fn readable<T>(found: Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
    match found {
        Err(StoreError::Corrupt { .. }) => Ok(None),
        other => other,
    }
}

/// A stored document; one that is no JSON is a text, which no receipt commits to.
fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn stored(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}
