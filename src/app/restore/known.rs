//! What is known of how far the logs went: by the database that is there, and by checkpoints from elsewhere.

use super::super::ends;
use super::super::examine::log_keys;
use super::super::tree::Tree;
use super::{Plan, RestoreError};
use crate::domain::{Hash, TenantSlug};
use crate::evidence::note::{open_checkpoint, parse_checkpoint};
use crate::storage::{self, AnyConnection, Database, StoreError, backup};
use std::fs;
use std::path::Path;

/// How a head is recorded that the database had which was there.
pub(super) const DATABASE: &str = "database";

/// A head that is known of a log.
pub(super) struct Known {
    pub(super) tenant: TenantSlug,
    pub(super) size: u64,
    pub(super) root: Hash,
    pub(super) from: String,
    pub(super) sort: &'static str,
}

/// What the database that is there says of its logs.
pub(super) enum Here {
    Heads {
        heads: Vec<Known>,
        /// Logs whose end it is not to be believed about, and why.
        doubtful: Vec<(TenantSlug, String)>,
    },
    Unreadable(String),
}

impl Here {
    /// Nothing: it holds no log.
    const fn empty() -> Self {
        Self::Heads { heads: Vec::new(), doubtful: Vec::new() }
    }
}

pub(super) fn known_here(database: &Database) -> Result<Here, RestoreError> {
    if let Database::Sqlite(file) = database {
        // An empty file is what a setup that never went on leaves.
        if !fs::metadata(file).is_ok_and(|about| about.len() > 0) {
            return Ok(Here::empty());
        }
    }
    // One connection and no pool of them, which would count as others.
    let opened = database.open_writer().and_then(|mut connection| {
        let others = backup::others_connected(&mut connection)?;
        let heads = heads(&mut connection, database)?;
        Ok((others, heads))
    });
    match opened {
        Ok((others, _)) if !others.is_empty() => Err(RestoreError::Other(format!(
            "{database} is in use by another procura: {}: stop every node first",
            others.join(", ")
        ))),
        Ok((_, here)) => Ok(here),
        // A server that cannot be reached cannot be restored to either.
        Err(error) => match database {
            Database::Sqlite(_) => Ok(Here::Unreadable(error.to_string())),
            Database::Postgres(_) => Err(error.into()),
        },
    }
}

fn heads(connection: &mut AnyConnection, database: &Database) -> Result<Here, StoreError> {
    if !backup::has_tables(connection)? {
        return Ok(Here::empty());
    }
    let (mut heads, mut doubtful) = (Vec::new(), Vec::new());
    for tenant in storage::tenant::all(connection)? {
        // A head that was taken away or set back says nothing of how far the log went.
        if let Some(why) = ends::disagreements(connection, &tenant)?.into_iter().next() {
            doubtful.push((tenant.slug.clone(), format!("{database}: {why}")));
        }
        let tree = match Tree::now(connection, &tenant.slug) {
            Ok(Some(tree)) => tree,
            Ok(None) | Err(StoreError::Corrupt { .. }) => continue,
            Err(error @ StoreError::Failed(_)) => return Err(error),
        };
        heads.push(Known {
            tenant: tenant.slug,
            size: tree.size(),
            root: tree.root(),
            from: format!("{database}"),
            sort: DATABASE,
        });
    }
    Ok(Here::Heads { heads, doubtful })
}

/// The checkpoints that were given, each opened with a key of its log.
pub(super) fn known_elsewhere(plan: &Plan, part: &Path) -> Result<Vec<Known>, RestoreError> {
    let mut connection = backup::open_file(part)?;
    let tenants = storage::tenant::all(&mut connection)?;
    let mut known = Vec::new();
    for (name, text) in &plan.checkpoints {
        let unfit = |why: String| RestoreError::Unfit(format!("`--checkpoint`: `{name}` {why}"));
        let body = text.split_inclusive("\n\n").next().unwrap_or_default();
        let stated = parse_checkpoint(body.strip_suffix('\n').unwrap_or(body))
            .map_err(|error| unfit(format!("is no checkpoint: {error}")))?;
        let tenant = tenants.iter().find(|tenant| tenant.origin == stated.origin).ok_or_else(|| {
            unfit(format!("is of the log `{}`, which the backup does not hold", stated.origin))
        })?;
        let keys = log_keys(&storage::key::of_tenant(&mut connection, &tenant.slug)?, tenant);
        let opened = keys.iter().find_map(|key| open_checkpoint(text, key).ok()).ok_or_else(|| {
            unfit(format!("is signed by no key that the backup holds of the log of `{}`", tenant.slug))
        })?;
        known.push(Known {
            tenant: tenant.slug.clone(),
            size: opened.size,
            root: opened.root,
            from: format!("`{name}`"),
            sort: "checkpoint",
        });
    }
    Ok(known)
}
