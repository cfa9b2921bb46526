//! `procura keys rotate`: a new key in the place of one that is in force, recorded in the log.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form};
use super::place::Place;
use crate::actions::key::{Rotated, Rotating, rotate};
use crate::committer::{self, Committer};
use crate::crypto::keyring::MasterKey;
use crate::domain::TenantSlug;
use crate::storage::{self, DataDirectory};
use serde_json::json;

/// Rotates one key of one tenant.
pub(super) fn run(sources: &Sources, options: &arguments::KeysRotate, form: Form) -> Result<u8, Failure> {
    let place = Place::existing(sources, &options.place)?;
    let tenant: TenantSlug = sources.required("tenant", options.tenant.as_deref(), str::parse)?;
    let which: Rotating = sources.required("purpose", options.purpose.as_deref(), str::parse)?;
    let _directory = DataDirectory::lock(&place.data_dir, &place.database).map_err(|why| {
        Failure::failed(why).with("stop the server: it would go on with the key it has read")
    })?;
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    let master =
        MasterKey::read(&DataDirectory::master_key_file(&place.data_dir)).map_err(|error| failed(&error))?;
    let mut connection = place.database.open_writer().map_err(|error| failed(&error))?;
    let others = storage::backup::others_connected(&mut connection).map_err(|error| failed(&error))?;
    if !others.is_empty() {
        let others = others.join(", ");
        return Err(Failure::failed(format!(
            "{} is in use by {others}: stop every node first",
            place.database
        )));
    }
    let known = storage::tenant::find(&mut connection, &tenant).map_err(|error| failed(&error))?;
    if known.is_none() {
        return Err(Failure::usage(format!("`--tenant`: there is no tenant `{tenant}`")));
    }
    drop(connection);
    let rotated = act(&place, &tenant, which, master)?;
    let Rotated { retired, key } = rotated;
    if form == Form::Json {
        output::json(&json!({"tenant": tenant, "retired": retired, "key": key}))?;
        return Ok(0);
    }
    output::line(format!("{tenant}: {key} is in force, {retired} is retired: what it made stays good"))?;
    output::line("next: start the servers again")?;
    Ok(0)
}

/// Through a committer, as everything is written.
fn act(place: &Place, tenant: &TenantSlug, which: Rotating, master: MasterKey) -> Result<Rotated, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| failed(&error))?;
    let committer = Committer::start(committer::Settings {
        database: place.database.clone(),
        master: master.clone(),
        outage_file: DataDirectory::outage_file(&place.data_dir),
        mailed_links: None,
    })
    .map_err(|error| failed(&error))?;
    let acted = runtime.block_on(committer.act(tenant.clone(), move |books| rotate(books, which, &master)));
    committer.stop();
    match acted {
        Ok(Ok(sealed)) => Ok(sealed.value),
        Ok(Err(error)) => Err(Failure::failed(format!("`{tenant}`: the key was not rotated: {error:?}"))),
        Err(why) => Err(Failure::failed(format!("`{tenant}`: the key was not rotated: {why:?}"))),
    }
}
