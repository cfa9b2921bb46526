//! Enforcement points, as an operator registers, lists and revokes them.

use super::request::{self, Query, has_leaf, path_id};
use super::{Problem, body};
use crate::actions::enforcement_point as act;
use crate::app::App;
use crate::committer::entropy;
use crate::crypto::secret::{Secret, SecretKind};
use crate::domain::{EnforcementPointId, Label};
use crate::storage::enforcement_point::{self, EnforcementPoint};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

/// Registers an enforcement point; its secret is shown this once.
pub(super) async fn create(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let mut members = body::object(&request, &mut payload).await?;
    let name: Option<Label> = members.parsed_required("name");
    let name = members.finish("name", name)?;
    let secret = Secret::generate(SecretKind::Client, entropy::bytes());
    let digest = secret.digest();
    let tenant = operator.person().tenant.clone();
    let sealed =
        app.committer.act(tenant, move |books| act::create(books, &operator, name, digest)).await??;
    has_leaf(&request);
    let given = &sealed.value;
    let mut answer = describe(&given.point);
    for (name, value) in [
        ("token", Some(json!(given.token))),
        ("token_type", Some(json!("Bearer"))),
        ("client_secret", Some(json!(secret.expose()))),
        ("expires_at", Some(json!(given.token_expires_at))),
        ("receipt", super::receipt(&sealed, &given.stored)),
    ] {
        super::insert(&mut answer, name, value);
    }
    Ok(HttpResponse::Created().json(answer))
}

/// Lists the tenant's enforcement points.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, cursor) = (query.limit()?, query.id_cursor::<EnforcementPointId>()?);
    let tenant = operator.person().tenant.clone();
    let points = app
        .read(move |connection| enforcement_point::page(connection, &tenant, cursor.as_deref(), limit))
        .await?;
    let cursor = points.last().map(|last| last.id.to_string());
    Ok(super::page(&points.iter().map(describe).collect::<Vec<_>>(), cursor, limit))
}

/// Revokes an enforcement point.
pub(super) async fn revoke(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let id: EnforcementPointId = path_id(&path, "enforcement point")?;
    let tenant = operator.person().tenant.clone();
    let sealed = app.committer.urgent(tenant, move |books| act::revoke(books, &operator, id)).await??;
    has_leaf(&request);
    Ok(super::recorded(&sealed))
}

fn describe(point: &EnforcementPoint) -> Value {
    json!({
        "id": point.id,
        "name": point.name,
        "created_at": point.created_at,
        "created_by": point.created_by,
        "revoked_at": point.revoked.as_ref().map(|revoked| revoked.at),
        "revoked_by": point.revoked.as_ref().map(|revoked| &revoked.by),
    })
}
