//! Credentials.

use super::{AnyConnection, StoreError, read, schema::credentials};
use crate::domain::{
    AgentId, Country, CredentialId, Hash, Label, PrincipalId, Scopes, TenantSlug, Timestamp,
};
use diesel::prelude::*;

/// What an agent presents.
#[derive(Debug, Clone)]
pub struct Credential {
    /// Whose tenant.
    pub tenant: TenantSlug,
    /// The credential's id.
    pub id: CredentialId,
    /// Which agent presents it.
    pub agent: AgentId,
    /// For whom.
    pub principal: PrincipalId,
    /// What it was derived from.
    pub parent: Option<CredentialId>,
    /// How many ancestors it has.
    pub depth: u64,
    /// What people call it.
    pub label: Label,
    /// What it carries.
    pub scopes: Scopes,
    /// Its own narrower clauses, as JSON.
    pub clauses: Option<String>,
    /// The country it is fixed to.
    pub country: Option<Country>,
    /// What it is for, in the person's words.
    pub purpose: Option<Label>,
    /// SHA-256 of its secret.
    pub secret_digest: Hash,
    /// When it was given.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// Since when and by whom it is revoked.
    pub revoked: Option<Revoked>,
}

/// A revocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoked {
    /// Since when.
    pub at: Timestamp,
    /// The principal or credential that did it.
    pub by: String,
}

type Row = (
    (String, String, String, String, Option<String>, i64, String, String),
    (Option<String>, Option<String>, Option<String>, Vec<u8>, i64, i64, Option<i64>, Option<String>),
);

#[rustfmt::skip]
type Columns = (
    (credentials::tenant, credentials::id, credentials::agent, credentials::principal, credentials::parent,
     credentials::depth, credentials::label, credentials::scopes),
    (credentials::clauses, credentials::country, credentials::purpose, credentials::secret_digest,
     credentials::created_at, credentials::expires_at, credentials::revoked_at, credentials::revoked_by),
);

#[rustfmt::skip]
const COLUMNS: Columns = (
    (credentials::tenant, credentials::id, credentials::agent, credentials::principal, credentials::parent,
     credentials::depth, credentials::label, credentials::scopes),
    (credentials::clauses, credentials::country, credentials::purpose, credentials::secret_digest,
     credentials::created_at, credentials::expires_at, credentials::revoked_at, credentials::revoked_by),
);

fn read_row((identity, terms): Row) -> Result<Credential, StoreError> {
    let (tenant, id, agent, principal, parent, depth, label, scopes) = identity;
    let (clauses, country, purpose, secret_digest, created_at, expires_at, revoked_at, revoked_by) = terms;
    Ok(Credential {
        tenant: read::text("credentials.tenant", &tenant)?,
        id: read::text("credentials.id", &id)?,
        agent: read::text("credentials.agent", &agent)?,
        principal: read::text("credentials.principal", &principal)?,
        parent: read::optional_text("credentials.parent", parent.as_deref())?,
        depth: read::count("credentials.depth", depth)?,
        label: read::text("credentials.label", &label)?,
        scopes: Scopes::from_space_separated(&scopes)
            .map_err(|detail| StoreError::Corrupt { place: "credentials.scopes", detail })?,
        clauses,
        country: read::optional_text("credentials.country", country.as_deref())?,
        purpose: read::optional_text("credentials.purpose", purpose.as_deref())?,
        secret_digest: read::hash("credentials.secret_digest", &secret_digest)?,
        created_at: read::time(created_at),
        expires_at: read::time(expires_at),
        revoked: revoked_at.map(|at| Revoked { at: read::time(at), by: revoked_by.unwrap_or_default() }),
    })
}

/// Adds a credential.
pub fn insert(connection: &mut AnyConnection, credential: &Credential) -> Result<(), StoreError> {
    diesel::insert_into(credentials::table)
        .values((
            credentials::tenant.eq(credential.tenant.as_str()),
            credentials::id.eq(credential.id.to_string()),
            credentials::agent.eq(credential.agent.to_string()),
            credentials::principal.eq(credential.principal.to_string()),
            credentials::parent.eq(credential.parent.map(|id| id.to_string())),
            credentials::depth.eq(read::stored_count(credential.depth)),
            credentials::label.eq(credential.label.as_str()),
            credentials::scopes.eq(credential.scopes.to_string()),
            credentials::clauses.eq(&credential.clauses),
            credentials::country.eq(credential.country.map(Country::as_str)),
            credentials::purpose.eq(credential.purpose.as_ref().map(Label::as_str)),
            credentials::secret_digest.eq(credential.secret_digest.as_bytes().to_vec()),
            credentials::created_at.eq(credential.created_at.unix_milliseconds()),
            credentials::expires_at.eq(credential.expires_at.unix_milliseconds()),
        ))
        .execute(connection)?;
    Ok(())
}

/// The credential of that id.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: CredentialId,
) -> Result<Option<Credential>, StoreError> {
    credentials::table
        .find((tenant.as_str(), id.to_string()))
        .select(COLUMNS)
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// What a credential was derived from, nearest first. Each stands nearer to the root than the one before it: whatever
/// the rows say, this ends.
pub fn ancestors(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    credential: &Credential,
) -> Result<Vec<Credential>, StoreError> {
    let corrupt = |detail: String| StoreError::Corrupt { place: "credentials.parent", detail };
    let mut ancestors: Vec<Credential> = Vec::new();
    while let Some((id, below)) = {
        let last = ancestors.last().unwrap_or(credential);
        last.parent.map(|parent| (parent, last.depth))
    } {
        let found = find(connection, tenant, id)?;
        let ancestor = found.ok_or_else(|| corrupt(format!("the ancestor `{id}` is missing")))?;
        if ancestor.depth >= below {
            let depth = ancestor.depth;
            return Err(corrupt(format!("the ancestor `{id}` stands at depth {depth}, below it {below}")));
        }
        ancestors.push(ancestor);
    }
    Ok(ancestors)
}

/// The credential of that id in whichever tenant has it: ids are unique, and its secret proves the caller.
pub fn find_anywhere(
    connection: &mut AnyConnection,
    id: CredentialId,
) -> Result<Option<Credential>, StoreError> {
    credentials::table
        .filter(credentials::id.eq(id.to_string()))
        .select(COLUMNS)
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// One person's credentials after `after`, in the order of their ids.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<Credential>, StoreError> {
    credentials::table
        .filter(credentials::tenant.eq(tenant.as_str()).and(credentials::principal.eq(principal.to_string())))
        .filter(credentials::id.gt(after.unwrap_or_default().to_owned()))
        .order(credentials::id)
        .limit(limit)
        .select(COLUMNS)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// The credentials of an agent.
pub fn of_agent(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    agent: AgentId,
) -> Result<Vec<Credential>, StoreError> {
    credentials::table
        .filter(credentials::tenant.eq(tenant.as_str()).and(credentials::agent.eq(agent.to_string())))
        .order(credentials::id)
        .select(COLUMNS)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// What was derived from a credential, one step down.
pub fn children(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    parent: CredentialId,
) -> Result<Vec<Credential>, StoreError> {
    credentials::table
        .filter(credentials::tenant.eq(tenant.as_str()).and(credentials::parent.eq(parent.to_string())))
        .order(credentials::id)
        .select(COLUMNS)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// How many credentials derived from one are live at an instant.
pub fn count_live_children(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    parent: CredentialId,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let live: i64 = credentials::table
        .filter(credentials::tenant.eq(tenant.as_str()).and(credentials::parent.eq(parent.to_string())))
        .filter(credentials::revoked_at.is_null().and(credentials::expires_at.gt(now.unix_milliseconds())))
        .count()
        .get_result(connection)?;
    read::count("credentials", live)
}

/// Revokes a credential that is not revoked yet; `false` otherwise.
pub fn revoke(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: CredentialId,
    revoked: &Revoked,
) -> Result<bool, StoreError> {
    let changed = diesel::update(
        credentials::table.find((tenant.as_str(), id.to_string())).filter(credentials::revoked_at.is_null()),
    )
    .set((
        credentials::revoked_at.eq(Some(revoked.at.unix_milliseconds())),
        credentials::revoked_by.eq(Some(&revoked.by)),
    ))
    .execute(connection)?;
    Ok(changed == 1)
}
