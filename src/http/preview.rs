//! What a draft of the mandate or the policy would have done. It writes nothing.

use super::body::{self, Members};
use super::terms::warnings;
use super::{Problem, request};
use crate::actions::caller::Person;
use crate::actions::preview::{Changed, Preview, Proposal, USUAL_WINDOW};
use crate::app::{App, Place};
use crate::committer::clock;
use crate::domain::{Chain, Malformed, Timestamp};
use crate::engine::{MandateDocument, PolicyDocument};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Map, Value, json};

/// Puts a draft of the caller's mandate to their agents' past calls.
pub(super) async fn mandate(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let asked = Asked::read("mandate", body::document(&request, &mut payload).await?)?;
    let draft = MandateDocument::read(&asked.draft).map_err(|malformed| malformed.under("/mandate"))?;
    let proposal = Proposal::Mandate(person.id, draft);
    Ok(HttpResponse::Ok().json(to_json(&rehearse(&app, &person, proposal, asked.since).await?)))
}

/// Puts a draft of the policy to all past calls of the tenant.
pub(super) async fn policy(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let asked = Asked::read("policy", body::document(&request, &mut payload).await?)?;
    let draft = PolicyDocument::read(&asked.draft).map_err(|malformed| malformed.under("/policy"))?;
    let person = operator.person().clone();
    let preview = rehearse(&app, &person, Proposal::Policy(draft), asked.since).await?;
    let mut answer = to_json(&preview);
    // Which calls of other people change, and how many, would tell what stood in them, draft by draft: that is for
    // those who may read them.
    if !person.sees_tenant()
        && let Some(members) = answer.as_object_mut()
    {
        for name in ["changed", "changes", "summary"] {
            members.remove(name);
        }
    }
    Ok(HttpResponse::Ok().json(answer))
}

/// Puts a draft to past calls, for the wire and for the page; since [`USUAL_WINDOW`] ago, if not said.
pub(crate) async fn rehearse(
    app: &App,
    person: &Person,
    proposal: Proposal,
    since: Option<Timestamp>,
) -> Result<Preview, Problem> {
    let place = place_for(app, person)?;
    let since = since.unwrap_or_else(|| clock::now().minus(USUAL_WINDOW));
    app.preview(place, person.tenant.clone(), proposal, since)
        .await?
        .ok_or_else(|| Problem::not_found("tenant"))
}

/// A place for one more preview of a person.
pub(super) fn place_for(app: &App, person: &Person) -> Result<Place, Problem> {
    app.limits
        .previews
        .take(&person.tenant, Chain::Principal(person.id))
        .map_err(|full| Problem::too_many(full, "a preview of yours runs, or as many of your tenant as may"))
}

/// What is put to which calls.
struct Asked {
    draft: Value,
    since: Option<Timestamp>,
}

impl Asked {
    fn read(document: &str, body: Value) -> Result<Self, Problem> {
        let mut members = Members::of(body)?;
        let draft = members.required(document, Ok);
        let now = clock::now();
        let since = members.read("since", |value| {
            let since: Timestamp = body::parse(value)?;
            if since > now {
                return Err(Malformed::whole(format!("`{since}` is not past: it is {now} now")));
            }
            Ok(since)
        });
        let draft = members.finish(&format!("{document}, since"), draft)?;
        Ok(Self { draft, since })
    }
}

fn to_json(preview: &Preview) -> Value {
    let summary: Map<String, Value> = preview
        .summary
        .iter()
        .map(|((was, would_be), count)| (format!("{was}_to_{}", would_be.as_str()), json!(count)))
        .collect();
    let errors = preview.admission.errors.iter();
    let errors: Vec<Value> =
        errors.map(|fault| json!({"pointer": fault.pointer, "detail": fault.detail})).collect();
    json!({
        "change": preview.change.as_str(),
        "errors": errors,
        "warnings": warnings(&preview.admission),
        "assumptions": preview.admission.assumptions,
        "window": {
            "from": preview.from,
            "until": preview.until,
        },
        "calls": preview.calls,
        "considered": preview.considered,
        "left_out": {
            "erased": preview.left_out.erased,
            "refused_by_service": preview.left_out.refused_by_service,
            "undecidable": preview.left_out.undecidable,
            "beyond_window": preview.left_out.beyond_window,
        },
        "changes": preview.changes(),
        "changed": preview.changed.iter().map(changed_json).collect::<Vec<_>>(),
        "summary": summary,
    })
}

fn changed_json(changed: &Changed) -> Value {
    json!({
        "receipt": changed.receipt,
        "at": changed.at,
        "intent": changed.intent,
        "was": changed.was,
        "would_be": changed.would_be.as_str(),
        "clauses": changed.clauses,
    })
}
