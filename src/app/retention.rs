//! Erases by itself what the tenant's rules no longer keep.

use super::App;
use crate::actions::erasure;
use crate::actions::retention::{Rules, live};
use crate::committer::clock;
use crate::domain::{Chain, Duration, Intent, TenantSlug, Timestamp};
use crate::storage::{StoreError, content};
use std::collections::BTreeMap;

/// Of how many receipts the content is looked at, and erased, in one go.
const PAGE: i64 = 200;
/// How many such goes one look at a tenant takes at most: the rest is the next look's.
const MOST_GOES: usize = 50;

/// Erases what is due of one tenant; of how many receipts.
pub(super) async fn sweep(app: &App, tenant: &TenantSlug) -> Result<usize, StoreError> {
    let slug = tenant.clone();
    let (rules, _) = app.read(move |connection| live(connection, &slug)).await?;
    if rules.is_empty() {
        return Ok(0);
    }
    let (mut erased, mut goes) = (0usize, 0);
    let mut after = String::new();
    loop {
        let slug = tenant.clone();
        let next = app.read(move |connection| content::next_intent(connection, &slug, &after)).await?;
        let Some(intent) = next else { break };
        after = intent.as_str().to_owned();
        erased = erased.saturating_add(of_intent(app, tenant, &rules, &intent, &mut goes).await?);
        if goes >= MOST_GOES {
            break;
        }
    }
    if erased > 0 {
        app.content_erased();
        tracing::info!(%tenant, receipts = erased, "content was erased by the rules of retention");
    }
    Ok(erased)
}

/// Erases what is due of one intent, chain by chain, page after page; what has to wait is passed over.
async fn of_intent(
    app: &App,
    tenant: &TenantSlug,
    rules: &Rules,
    intent: &Intent,
    goes: &mut usize,
) -> Result<usize, StoreError> {
    let Some((_, days)) = rules.of(intent) else { return Ok(0) };
    let before = clock::now().minus(Duration::days(i64::from(*days)));
    let (mut erased, mut cursor) = (0usize, (Timestamp::from_unix_milliseconds(0), 0));
    while *goes < MOST_GOES {
        *goes = goes.saturating_add(1);
        let (slug, named) = (tenant.clone(), intent.clone());
        let page = app
            .read(move |connection| content::older_than(connection, &slug, &named, before, cursor, PAGE))
            .await?;
        let Some((index, at, _)) = page.last() else { break };
        cursor = (*at, *index);
        let mut chains: BTreeMap<Chain, Vec<u64>> = BTreeMap::new();
        for (index, _, chain) in &page {
            chains.entry(*chain).or_default().push(*index);
        }
        for (chain, places) in chains {
            erased = erased.saturating_add(of_chain(app, tenant, chain, intent.clone(), places).await);
        }
    }
    Ok(erased)
}

async fn of_chain(app: &App, tenant: &TenantSlug, chain: Chain, intent: Intent, places: Vec<u64>) -> usize {
    let done = app
        .committer
        .upkeep(tenant.clone(), move |books| erasure::erase_due(books, chain, &intent, &places))
        .await;
    match done {
        Ok(Ok(sealed)) => sealed.value.map_or(0, |erased| erased.receipts.len()),
        Ok(Err(error)) => {
            tracing::warn!(?error, "what is due to be erased was refused");
            0
        }
        Err(why) => {
            tracing::warn!(?why, "what is due to be erased could not be recorded; it is tried again");
            0
        }
    }
}
