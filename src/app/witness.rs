//! Puts each log's newest checkpoint before its witnesses, and keeps what they sign (C2SP tlog-witness).

use super::App;
use super::background::tenants;
use super::tree::Tree;
use crate::actions::Error;
use crate::committer::clock;
use crate::domain::{Duration, Hash, TenantSlug, Timestamp};
use crate::evidence::note::{
    Cosignature, SIZE_MEDIA_TYPE, VerifierKey, read_cosignatures, read_size, submission, text_of,
};
use crate::storage::round::{self, Name, Round};
use crate::storage::{self, StoreError};
use std::sync::Arc;
use std::time::Duration as Wait;
use tokio::task::JoinSet;
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};

/// How long one answer of a witness may take.
const PATIENCE: Wait = Wait::from_secs(10);
/// How much of an answer is read, in bytes: some signature lines.
const LARGEST_ANSWER: u64 = 64 * 1024;
/// How often a checkpoint is put before a witness that has seen the log up to elsewhere than was thought.
const MOST_TRIES: u32 = 3;
/// For how many tenants witnesses are asked at once.
const MOST_AT_ONCE: usize = 16;
/// How long it waits before it looks again whether somebody is to be asked, at most.
const TICK: Wait = Wait::from_secs(5);

/// Who is asked to cosign checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// The key its cosignatures are made with.
    pub key: VerifierKey,
    /// Where it takes checkpoints, without a trailing slash: its submission prefix.
    pub url: String,
}

/// A checkpoint to be cosigned, and how far each witness has seen the log.
struct Asking {
    origin: String,
    size: u64,
    checkpoint: String,
    before: Option<Round>,
    missing: Vec<(Witness, u64)>,
}

/// What a witness said.
enum Said {
    /// It has signed.
    Signed(Vec<Cosignature>),
    /// It has seen so many leaves, and asks to be shown the way from there.
    Seen(u64),
    /// It has not signed, for this reason.
    Refused(String),
}

/// Asks again and again, each witness at most once in `every`.
pub(super) async fn run(app: Arc<App>, witnesses: Vec<Witness>, every: Duration) {
    let agent = agent();
    let every_wait = Wait::from_millis(u64::try_from(every.whole_milliseconds()).unwrap_or(0));
    let witnesses: Arc<[Witness]> = witnesses.into();
    loop {
        // One witness that never answers holds up the logs it is asked for, and not those of everybody.
        let mut rounds = JoinSet::new();
        for tenant in tenants(&app).await.unwrap_or_default() {
            if rounds.len() >= MOST_AT_ONCE {
                rounds.join_next().await;
            }
            let (app, agent, witnesses) = (app.clone(), agent.clone(), witnesses.clone());
            rounds.spawn(async move {
                if let Err(error) = ask_all(&app, &agent, &tenant, &witnesses, (clock::now(), every)).await {
                    let tenant = tenant.as_str();
                    tracing::warn!(%error, tenant, "the witnesses could not be asked; it is tried again");
                }
            });
        }
        while rounds.join_next().await.is_some() {}
        tokio::time::sleep(every_wait.clamp(Wait::from_millis(100), TICK)).await;
    }
}

/// The client that asks: over TLS, without redirects.
fn agent() -> ureq::Agent {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::WebPki)
        .unversioned_rustls_crypto_provider(provider)
        .build();
    ureq::Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(PATIENCE))
        .build()
        .new_agent()
}

/// One round for one tenant, if it is due and some witness has not seen the newest checkpoint.
async fn ask_all(
    app: &Arc<App>,
    agent: &ureq::Agent,
    tenant: &TenantSlug,
    witnesses: &[Witness],
    (now, every): (Timestamp, Duration),
) -> Result<(), StoreError> {
    let (slug, known) = (tenant.clone(), witnesses.to_vec());
    let asking = app
        .read(move |connection| {
            let before = round::last(connection, &slug, Name::Witness)?;
            if before.is_some_and(|before| now < before.at.plus(every)) {
                return Ok(None);
            }
            let Some(tree) = Tree::now(connection, &slug)? else { return Ok(None) };
            let mut missing = Vec::new();
            for witness in known {
                let seen = storage::witness::seen_by(connection, &slug, &witness.key)?;
                if seen != tree.size() {
                    missing.push((witness, seen));
                }
            }
            let (origin, checkpoint) = (tree.origin().to_owned(), tree.checkpoint().to_owned());
            let asking = Asking { origin, size: tree.size(), checkpoint, before, missing };
            Ok(Some(asking).filter(|asking| !asking.missing.is_empty()))
        })
        .await?;
    let Some(asking) = asking else { return Ok(()) };
    let (before, this) = (asking.before, Round { at: now, size: asking.size });
    let taken = app.committer.upkeep(tenant.clone(), move |books| {
        let (connection, slug) = books.place();
        round::take(connection, slug, Name::Witness, before, this).map_err(Error::from)
    });
    if !matches!(taken.await, Ok(Ok(taken)) if taken.value) {
        return Ok(());
    }
    let asking = Arc::new(asking);
    let mut answers = JoinSet::new();
    for (witness, seen) in asking.missing.clone() {
        let (app, agent, tenant, asking) = (app.clone(), agent.clone(), tenant.clone(), asking.clone());
        answers.spawn(async move { ask(&app, &agent, &tenant, &asking, &witness, seen).await });
    }
    while answers.join_next().await.is_some() {}
    Ok(())
}

/// Asks one witness, and keeps what it signs.
async fn ask(
    app: &App,
    agent: &ureq::Agent,
    tenant: &TenantSlug,
    asking: &Asking,
    witness: &Witness,
    seen: u64,
) {
    let name = witness.key.name();
    let why = match put_before(app, agent, tenant, asking, witness, seen).await {
        Ok(Said::Signed(signed)) => {
            let (size, checkpoint) = (asking.size, asking.checkpoint.clone());
            let kept = app.committer.upkeep(tenant.clone(), move |books| {
                let (connection, slug) = books.place();
                storage::witness::keep(connection, slug, size, &checkpoint, &signed).map_err(Error::from)
            });
            match kept.await {
                Ok(Ok(_)) => {
                    metrics::counter!("procura_cosignatures_total").increment(1);
                    tracing::debug!(witness = name, log = asking.origin, size, "a checkpoint was cosigned");
                    return;
                }
                Ok(Err(error)) => format!("what it signed could not be kept: {error:?}"),
                Err(error) => format!("what it signed could not be kept: {error:?}"),
            }
        }
        Ok(Said::Seen(seen)) if seen > asking.size => {
            // Another node may have been faster; a log that lost its end looks alike, and stays so.
            let here = newest_size(app, tenant).await.unwrap_or(asking.size);
            if seen <= here {
                return;
            }
            metrics::counter!("procura_witness_alarms_total").increment(1);
            tracing::error!(
                witness = name,
                log = asking.origin,
                seen,
                here,
                "a witness has seen more of this log than there is: it lost its end, or somebody else signs for it"
            );
            return;
        }
        Ok(Said::Seen(seen)) => {
            format!("it says each time that it has seen other than shown, last {seen} leaves")
        }
        Ok(Said::Refused(why)) => why,
        Err(error) => error.to_string(),
    };
    metrics::counter!("procura_witness_failures_total").increment(1);
    tracing::warn!(
        witness = name,
        log = asking.origin,
        why,
        "a checkpoint was not cosigned; it is tried again"
    );
}

async fn newest_size(app: &App, tenant: &TenantSlug) -> Option<u64> {
    let slug = tenant.clone();
    app.read(move |connection| storage::head::find(connection, &slug)).await.ok()?.map(|head| head.size)
}

/// Puts the checkpoint before a witness, with the way from where it has seen the log.
async fn put_before(
    app: &App,
    agent: &ureq::Agent,
    tenant: &TenantSlug,
    asking: &Asking,
    witness: &Witness,
    mut seen: u64,
) -> Result<Said, StoreError> {
    for _ in 0..MOST_TRIES {
        if seen > asking.size {
            break;
        }
        let (slug, size) = (tenant.clone(), asking.size);
        let path: Vec<Hash> = app
            .read(move |connection| match Tree::now(connection, &slug)? {
                Some(mut tree) => tree.consistency(connection, seen, size),
                None => Ok(Vec::new()),
            })
            .await?;
        let body = submission(seen, &path, &asking.checkpoint);
        let (agent, witness, checkpoint) = (agent.clone(), witness.clone(), asking.checkpoint.clone());
        let said = tokio::task::spawn_blocking(move || post(&agent, &witness, &body, &checkpoint)).await;
        match said.map_err(|error| StoreError::Failed(error.to_string()))? {
            Said::Seen(elsewhere) => seen = elsewhere,
            said @ (Said::Signed(_) | Said::Refused(_)) => return Ok(said),
        }
    }
    Ok(Said::Seen(seen))
}

/// Sends a checkpoint and reads the answer (tlog-witness, add-checkpoint).
fn post(agent: &ureq::Agent, witness: &Witness, body: &str, checkpoint: &str) -> Said {
    let answer = agent
        .post(format!("{}/add-checkpoint", witness.url))
        .content_type("text/plain; charset=utf-8")
        .send(body)
        .and_then(|answer| {
            let (head, mut body) = answer.into_parts();
            let text = body.with_config().limit(LARGEST_ANSWER).read_to_string()?;
            let kind =
                head.headers.get("content-type").and_then(|kind| kind.to_str().ok()).map(str::to_owned);
            Ok((head.status.as_u16(), kind.unwrap_or_default(), text))
        });
    match answer {
        Ok((200, _, lines)) => {
            let signed = text_of(checkpoint)
                .and_then(|text| read_cosignatures(text, &lines, std::slice::from_ref(&witness.key)));
            match signed {
                Ok(signed) if signed.is_empty() => {
                    Said::Refused(format!("nothing in its answer is signed with the key `{}`", witness.key))
                }
                Ok(signed) => Said::Signed(signed),
                Err(error) => Said::Refused(format!("its answer does not hold: {error}")),
            }
        }
        Ok((409, kind, size)) => match read_size(&size) {
            Some(seen) if kind.split(';').next().map(str::trim) == Some(SIZE_MEDIA_TYPE) => Said::Seen(seen),
            Some(_) | None => {
                Said::Refused(format!("it says that it has seen other, but not what, as `{kind}`"))
            }
        },
        Ok((404, ..)) => Said::Refused("it does not know this log".into()),
        Ok((403, ..)) => Said::Refused("it does not know the key of this log".into()),
        Ok((422, ..)) => {
            metrics::counter!("procura_witness_alarms_total").increment(1);
            tracing::error!(witness = witness.key.name(), "a witness does not find that the log only grew");
            Said::Refused("it does not find that the log only grew".into())
        }
        Ok((status, ..)) => Said::Refused(format!("it answers with status {status}")),
        Err(error) => Said::Refused(format!("it cannot be reached: {error}")),
    }
}
