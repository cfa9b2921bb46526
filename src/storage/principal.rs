//! People.

use super::{AnyConnection, StoreError, read, schema::principals};
use crate::domain::{Label, PrincipalId, Role, Roles, TenantSlug, Timestamp};
use diesel::prelude::*;
use std::collections::BTreeSet;

/// A person of a tenant.
#[derive(Debug, Clone)]
pub struct Principal {
    /// Whose person it is.
    pub tenant: TenantSlug,
    /// The person's id.
    pub id: PrincipalId,
    /// The address they sign in with, in lower case.
    pub email: String,
    /// What they are called.
    pub name: Label,
    /// What they may do.
    pub roles: Roles,
    /// Their password's hash in PHC form, once there is one.
    pub password: Option<String>,
    /// Who chose that password.
    pub password_set_by: Option<PasswordSetBy>,
    /// When they were registered.
    pub created_at: Timestamp,
}

/// Who chose a person's password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordSetBy {
    /// The operator; approvals say so until the person changes it.
    Operator,
    /// The person.
    Person,
}

impl PasswordSetBy {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Person => "person",
        }
    }
}

impl std::str::FromStr for PasswordSetBy {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "operator" => Ok(Self::Operator),
            "person" => Ok(Self::Person),
            other => Err(format!("`{other}` is neither operator nor person")),
        }
    }
}

type Row = (String, String, String, String, String, Option<String>, Option<String>, i64);

fn read_row(row: Row) -> Result<Principal, StoreError> {
    let (tenant, id, email, name, roles, password, password_set_by, created_at) = row;
    Ok(Principal {
        tenant: read::text("principals.tenant", &tenant)?,
        id: read::text("principals.id", &id)?,
        email,
        name: read::text("principals.name", &name)?,
        roles: Roles::from_space_separated(&roles)
            .map_err(|detail| StoreError::Corrupt { place: "principals.roles", detail })?,
        password,
        password_set_by: read::optional_text("principals.password_set_by", password_set_by.as_deref())?,
        created_at: read::time(created_at),
    })
}

/// Adds a person.
pub fn insert(connection: &mut AnyConnection, principal: &Principal) -> Result<(), StoreError> {
    diesel::insert_into(principals::table)
        .values((
            principals::tenant.eq(principal.tenant.as_str()),
            principals::id.eq(principal.id.to_string()),
            principals::email.eq(&principal.email),
            principals::name.eq(principal.name.as_str()),
            principals::roles.eq(principal.roles.to_string()),
            principals::password.eq(&principal.password),
            principals::password_set_by.eq(principal.password_set_by.map(PasswordSetBy::as_str)),
            principals::created_at.eq(principal.created_at.unix_milliseconds()),
        ))
        .execute(connection)?;
    Ok(())
}

/// The person of that id.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: PrincipalId,
) -> Result<Option<Principal>, StoreError> {
    principals::table
        .find((tenant.as_str(), id.to_string()))
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// The person who signs in with that address, given in lower case.
pub fn find_by_email(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    email: &str,
) -> Result<Option<Principal>, StoreError> {
    principals::table
        .filter(principals::tenant.eq(tenant.as_str()).and(principals::email.eq(email)))
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// The tenant's people from `after` on, in the order of their ids.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<Principal>, StoreError> {
    principals::table
        .filter(
            principals::tenant
                .eq(tenant.as_str())
                .and(principals::id.gt(after.unwrap_or_default().to_owned())),
        )
        .order(principals::id)
        .limit(limit)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// At most `limit` people who hold one of these roles, those registered first before others.
pub fn holding(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    roles: &BTreeSet<Role>,
    limit: i64,
) -> Result<Vec<Principal>, StoreError> {
    let mut holders = Vec::new();
    for role in roles {
        // No role's name is part of another's.
        let found = principals::table
            .filter(principals::tenant.eq(tenant.as_str()))
            .filter(principals::roles.like(format!("%{}%", role.as_str())))
            .order(principals::id)
            .limit(limit)
            .load::<Row>(connection)?;
        for row in found {
            holders.push(read_row(row)?);
        }
    }
    holders.sort_by_key(|person| person.id);
    holders.dedup_by_key(|person| person.id);
    holders.truncate(usize::try_from(limit).unwrap_or(0));
    Ok(holders)
}

/// Replaces a password, if `present` is still the stored hash; `false` otherwise.
pub fn set_password(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: PrincipalId,
    present: &str,
    password: &str,
    set_by: PasswordSetBy,
) -> Result<bool, StoreError> {
    let place =
        principals::table.find((tenant.as_str(), id.to_string())).filter(principals::password.eq(present));
    let changed = diesel::update(place)
        .set((principals::password.eq(Some(password)), principals::password_set_by.eq(Some(set_by.as_str()))))
        .execute(connection)?;
    Ok(changed == 1)
}
