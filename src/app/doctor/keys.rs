//! The keys: whether the master key opens them, and which are in force.

use super::{Finding, Patient};
use crate::crypto::SigningKey;
use crate::crypto::keyring::{KeyName, KeyPurpose, KeyringError, MasterKey};
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, DataDirectory, StoreError};

/// Reads the master key, which must be for its owner alone.
pub(super) fn master(patient: &Patient, found: &mut dyn FnMut(Finding)) -> Option<MasterKey> {
    let Some(directory) = &patient.data_dir else {
        found(Finding::warn(
            "master key",
            "not looked at: give `--data-dir`, where it lies; keys and authentication were not checked",
        ));
        return None;
    };
    let file = DataDirectory::master_key_file(directory);
    match MasterKey::read(&file) {
        Ok(master) => {
            let says =
                format!("{}, for its owner alone: have a copy elsewhere, no backup holds it", file.display());
            found(Finding::ok("master key", says));
            Some(master)
        }
        Err(error) => {
            let mend = if let KeyringError::Exposed { .. } = error {
                "take the access away with `chmod 600`, and see who could have read it"
            } else {
                "copy it from another node or from where it is kept"
            };
            let says = format!("{error}: without it no server starts; {mend}");
            found(Finding::fail("master key", says));
            None
        }
    }
}

/// Whether every key of a tenant opens, and one of each purpose is in force.
pub(super) fn look_over(
    connection: &mut AnyConnection,
    tenant: &Tenant,
    master: Option<&MasterKey>,
    found: &mut dyn FnMut(Finding),
) -> Result<(), StoreError> {
    let Some(master) = master else { return Ok(()) };
    let stored = storage::key::of_tenant(connection, &tenant.slug)?;
    let slug = &tenant.slug;
    let mut wrong = Vec::new();
    for key in &stored {
        let purpose = match key.purpose.parse::<KeyPurpose>() {
            Ok(purpose) => purpose,
            Err(why) => {
                wrong.push(format!("{}: {why}", key.id));
                continue;
            }
        };
        let name = KeyName { tenant: &key.tenant, key: key.id, purpose };
        let private = match master.unwrap(&key.wrapped, &name) {
            Ok(private) => private,
            Err(error) => {
                wrong.push(format!("{purpose} key {}: {error}", key.id));
                continue;
            }
        };
        if key.public != public_half(purpose, &private) {
            wrong.push(format!("`keys.public` of {purpose} key {} is not its own", key.id));
        }
    }
    let mut overlaps = Vec::new();
    for purpose in KeyPurpose::ALL {
        let in_force =
            stored.iter().filter(|key| key.purpose == purpose.as_str() && key.retired_at.is_none());
        match in_force.count() {
            0 => wrong.push(format!("no {purpose} key is in force")),
            1 => {}
            count => overlaps.push(format!("{count} {purpose} keys are in force, the newest is used")),
        }
    }
    for other in wrong.iter().skip(1) {
        found(Finding::fail("keys", format!("{slug}: {other}")));
    }
    found(match wrong.first() {
        Some(first) => Finding::fail(
            "keys",
            format!("{slug}: {first}: see that master.key is the one this database was set up with"),
        ),
        None if overlaps.is_empty() => {
            Finding::ok("keys", format!("{slug}: {} open, one of each purpose in force", stored.len()))
        }
        None => Finding::ok("keys", format!("{slug}: {} open; {}", stored.len(), overlaps.join("; "))),
    });
    Ok(())
}

/// The public half of a private one, of those that have any.
fn public_half(purpose: KeyPurpose, private: &[u8]) -> Option<Vec<u8>> {
    match purpose {
        KeyPurpose::Log | KeyPurpose::Token => {
            let seed = <&[u8; 32]>::try_from(private).ok()?;
            SigningKey::from_seed(seed).map(|key| key.public().0.to_vec())
        }
        KeyPurpose::Auth | KeyPurpose::Lookup => None,
    }
}
