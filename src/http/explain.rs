//! Why a recorded call was answered as it was.

use super::calls::readable;
use super::request;
use super::{Problem, request::path_id};
use crate::actions::again::{Again, Explained, NotAgain};
use crate::app::{App, Caller};
use crate::domain::{ReceiptId, Scope};
use crate::engine::Shown;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{StoreError, tenant};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

/// Decides a recorded call again under the versions that its receipt names, and says why it comes out as it does.
pub(super) async fn receipt(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let caller = request::caller(&app, &request).await?;
    if let Caller::Agent(agent) = &caller {
        agent.require(Scope::CallRead)?;
    }
    let shown = shown(&caller);
    let id: ReceiptId = path_id(&path, "receipt")?;
    let place =
        app.limits.explanations.take(caller.tenant(), caller.subject().chain).map_err(|full| {
            Problem::too_many(full, "as many explanations are being made for you as may be")
        })?;
    let (place, found) = app
        .read_in(place, move |connection| {
            let Some(stored) = readable(connection, &caller, id)? else { return Ok(None) };
            let Some(tenant) = tenant::find(connection, caller.tenant())? else { return Ok(None) };
            match Again::new(&tenant).rebuild(connection, &stored) {
                Ok(case) => Ok(Some(Ok((stored, case)))),
                Err(NotAgain::Undecidable(why)) => Ok(Some(Err(why))),
                Err(NotAgain::Store(error)) => Err(error),
            }
        })
        .await?;
    let (stored, case) = found.ok_or_else(|| Problem::not_found("receipt"))??;
    // Deciding takes no connection from those who read.
    let (_, explained) = app.in_turn_in(place, move || Ok(case.explain())).await?;
    let explained = explained?;
    Ok(HttpResponse::Ok().json(answer(&stored, &explained, shown)?))
}

/// People read the tenant's policy, and what the log they see holds of mandates; an agent reads its mandate if it
/// carries the scope for that.
fn shown(caller: &Caller) -> Shown {
    match caller {
        Caller::Person(_) => Shown::ALL,
        Caller::Agent(agent) => Shown { policy: false, mandate: agent.require(Scope::MandateRead).is_ok() },
    }
}

/// The recorded answer, whether it comes out again, and every step on the way.
fn answer(stored: &StoredReceipt, explained: &Explained, shown: Shown) -> Result<Value, StoreError> {
    let output: Value = serde_json::from_str(&stored.output)
        .map_err(|error| StoreError::Corrupt { place: "receipts.output", detail: error.to_string() })?;
    let redecided = &explained.redecided;
    let mut answer = explained.to_json(shown);
    let body = &stored.body;
    let recorded = |name: &str| Some(output.get(name).cloned().unwrap_or(Value::Null));
    let differs = json!({
        "outcome": redecided.outcome, "clauses": redecided.clauses, "reason": redecided.reason,
    });
    let members = [
        ("receipt", Some(json!(body.id))),
        ("outcome", recorded("outcome")),
        ("clauses", recorded("clauses")),
        ("reason", recorded("reason")),
        ("agrees", Some(json!(redecided.same))),
        ("decided_again", (!redecided.same).then_some(differs)),
        ("mandate_version", Some(json!(body.mandate_version))),
        ("policy_version", Some(json!(body.policy_version))),
        ("catalogue_version", Some(json!(body.catalogue_version))),
        ("engine_version", Some(json!(body.engine_version))),
    ];
    for (name, value) in members {
        super::insert(&mut answer, name, value);
    }
    Ok(answer)
}
