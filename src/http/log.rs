//! The public log of a tenant: signed heads, tiles and proofs, hashes all of it (C2SP tlog-tiles, tlog-checkpoint).

use super::request::{self, Query, path_id};
use super::{Problem, body};
use crate::actions::Error;
use crate::app::App;
use crate::app::public_log::{self, NotTaken};
use crate::app::tree::Tree;
use crate::domain::{Hash, Malformed, TenantSlug};
use crate::evidence::merkle::TilePath;
use crate::evidence::note::LogProof;
use crate::storage::{self, AnyConnection, StoreError};
use actix_web::http::header;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use serde_json::json;

/// What never changes may be kept for as long as anyone likes.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// What changes with every batch is asked for again.
const MUTABLE: &str = "no-cache";
const NOTE: &str = "text/plain; charset=utf-8";
/// The largest cosigned checkpoint that is taken, in bytes: a hundred signatures.
const LARGEST_NOTE: usize = 32 * 1024;

/// Looks into a log, in turn with others who do.
async fn look<T: Send + 'static>(
    app: &App,
    query: impl FnOnce(&mut AnyConnection) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    let turn = app.limits.look().await;
    let _turn = turn.map_err(|limit| Problem::too_many(limit, "too many look into the logs at once"))?;
    Ok(app.read(query).await?)
}

fn note(text: String) -> HttpResponse {
    HttpResponse::Ok().content_type(NOTE).insert_header((header::CACHE_CONTROL, MUTABLE)).body(text)
}

/// The newest signed checkpoint, with what witnesses signed of it so far.
pub(super) async fn checkpoint(app: Data<App>, path: Path<String>) -> Result<HttpResponse, Problem> {
    let tenant: TenantSlug = path_id(&path, "log")?;
    let found = look(&app, move |connection| public_log::checkpoint(connection, &tenant)).await?;
    found.map(note).ok_or_else(|| Problem::not_found("log"))
}

/// The newest checkpoint that a witness has signed.
pub(super) async fn witnessed(app: Data<App>, path: Path<String>) -> Result<HttpResponse, Problem> {
    let tenant: TenantSlug = path_id(&path, "log")?;
    let found = look(&app, move |connection| public_log::witnessed(connection, &tenant)).await?;
    found.map(note).ok_or_else(|| Problem::not_found("log, or no witness has signed it yet"))
}

/// A tile of hashes or entries.
pub(super) async fn tile(app: Data<App>, path: Path<(String, String)>) -> Result<HttpResponse, Problem> {
    let (tenant, tile) = path.into_inner();
    let tenant: TenantSlug = path_id(&tenant, "log")?;
    let tile: TilePath = path_id(&tile, "tile")?;
    let roots = app.roots.clone();
    let found = look(&app, move |connection| public_log::tile(connection, &roots, &tenant, &tile)).await?;
    let bytes = found.ok_or_else(|| Problem::not_found("tile"))?;
    Ok(HttpResponse::Ok()
        .content_type("application/octet-stream")
        .insert_header((header::CACHE_CONTROL, IMMUTABLE))
        .body(bytes))
}

/// What shows that the log has only grown from one size to another.
pub(super) async fn consistency(
    app: Data<App>,
    request: HttpRequest,
    path: Path<String>,
) -> Result<HttpResponse, Problem> {
    let tenant: TenantSlug = path_id(&path, "log")?;
    let query = Query::read(&request, &["from", "to"])?;
    let from = query.text("from").map(str::to_owned);
    let to = query.text("to").map(str::to_owned);
    let roots = app.roots.clone();
    let shown = look(&app, move |connection| {
        let Some(tree) = Tree::now(connection, &tenant)? else { return Ok(None) };
        let mut tree = tree.knowing(&roots);
        let bounds = to.map_or(Ok(tree.size()), |to| within("to", &to, 1, tree.size())).and_then(|to| {
            let from =
                from.ok_or_else(|| Malformed::whole("parameter `from` is missing: a size of the log"))?;
            Ok((within("from", &from, 1, to)?, to))
        });
        let (from, to) = match bounds {
            Ok(bounds) => bounds,
            Err(malformed) => return Ok(Some(Err(malformed))),
        };
        let path = tree.consistency(connection, from, to)?;
        Ok(Some(Ok((tree.origin().to_owned(), from, to, path))))
    });
    let (origin, from, to, path): (String, u64, u64, Vec<Hash>) =
        shown.await?.ok_or_else(|| Problem::not_found("log"))??;
    Ok(HttpResponse::Ok().json(json!({"origin": origin, "from": from, "to": to, "path": path})))
}

/// What shows that a leaf is in the log as it is now, in one text that needs nothing else.
pub(super) async fn proof(
    app: Data<App>,
    request: HttpRequest,
    path: Path<String>,
) -> Result<HttpResponse, Problem> {
    let tenant: TenantSlug = path_id(&path, "log")?;
    let query = Query::read(&request, &["index"])?;
    let index = query.text("index").map(str::to_owned);
    let roots = app.roots.clone();
    let shown = look(&app, move |connection| {
        let Some(tree) = Tree::now(connection, &tenant)? else { return Ok(None) };
        let mut tree = tree.knowing(&roots);
        let last = tree.size().saturating_sub(1);
        let index = index.ok_or_else(|| Malformed::whole("parameter `index` is missing: a leaf's place"));
        let index = match index.and_then(|index| within("index", &index, 0, last)) {
            Ok(index) => index,
            Err(malformed) => return Ok(Some(Err(malformed))),
        };
        let path = tree.inclusion(connection, index)?;
        Ok(Some(Ok(LogProof { extra: None, index, path, checkpoint: tree.checkpoint().to_owned() })))
    });
    let proof = shown.await?.ok_or_else(|| Problem::not_found("log"))??;
    Ok(note(proof.to_string()))
}

/// Takes what witnesses signed, from whoever brings it.
pub(super) async fn cosign(
    app: Data<App>,
    request: HttpRequest,
    mut payload: Payload,
    path: Path<String>,
) -> Result<HttpResponse, Problem> {
    let tenant: TenantSlug = path_id(&path, "log")?;
    let kind = request.content_type().to_ascii_lowercase();
    if kind.trim() != "text/plain" {
        return Err(Problem::media_type(&kind, "text/plain"));
    }
    let too_many =
        |limit| Problem::too_many(limit, "as many cosignatures were handed in as may be in a minute");
    app.limits.cosigning(request::address(&request)).map_err(too_many)?;
    let slug = tenant.clone();
    let known = look(&app, move |connection| storage::tenant::find(connection, &slug)).await?;
    known.ok_or_else(|| Problem::not_found("log"))?;
    let bytes = body::bytes_up_to(&request, &mut payload, LARGEST_NOTE).await?;
    let text = String::from_utf8(bytes.to_vec())
        .map_err(|_| Problem::unreadable(Malformed::whole("a checkpoint is text in UTF-8")))?;
    let (slug, witnesses) = (tenant.clone(), app.witnesses.clone());
    let read = look(&app, move |connection| public_log::read_cosigned(connection, &slug, &text, &witnesses));
    let cosigned = read.await?.map_err(|why| match why {
        NotTaken::NoLog => Problem::not_found("log"),
        NotTaken::Malformed(malformed) => malformed.into(),
        NotTaken::Elsewhere(why) => Problem::conflict(format!("this log never stood there: {why}")),
    })?;
    // What no witness signed takes nothing of what witnesses may hand in.
    app.limits.cosigned(&tenant).map_err(too_many)?;
    let kept = app.committer.upkeep(tenant, move |books| {
        let (connection, slug) = books.place();
        let public_log::Cosigned { size, checkpoint, signed } = cosigned;
        storage::witness::keep(connection, slug, size, &checkpoint, &signed)?;
        let now = storage::witness::find(connection, slug, size)?;
        Ok::<_, Error>(now.map(|now| now.checkpoint + &now.lines).unwrap_or_default())
    });
    Ok(note(kept.await??.value))
}

/// A whole number between two, both included.
fn within(name: &str, text: &str, least: u64, most: u64) -> Result<u64, Malformed> {
    let number = text.parse::<u64>().ok().filter(|_| text.bytes().all(|digit| digit.is_ascii_digit()));
    number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let detail =
            format!("parameter `{name}`: `{}` is not a number from {least} to {most}", shown.escape_debug());
        Malformed::whole(detail)
    })
}
