//! Sessions, people, and the person's own password.

use super::request::{self, Query, attribute, has_leaf};
use super::{Problem, body};
use crate::actions::principal::{self as act, NewPrincipal};
use crate::actions::session as sessions;
use crate::app::App;
use crate::committer::{clock, entropy};
use crate::crypto::password::PasswordRules;
use crate::crypto::secret::{Secret, SecretKind};
use crate::domain::{Label, Malformed, PrincipalId, Role, Roles, TenantSlug};
use crate::storage::access::Subject;
use crate::storage::principal::{self, Principal};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

/// A session just started.
pub(crate) struct Started {
    pub(crate) person: Principal,
    pub(crate) token: Secret,
    pub(crate) expires_in: i64,
}

/// Signs a person in.
pub(super) async fn sign_in(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let mut members = body::object(&request, &mut payload).await?;
    let tenant: TenantSlug = members.parsed_required("tenant")?;
    let email: String = members.required("email")?;
    let password: String = members.required("password")?;
    if members.take("otp").is_some() {
        return Err(Malformed::at("/otp", "no second factor is enrolled: leave it out").into());
    }
    members.finish("tenant, email, password, otp")?;
    let started = start_session(&app, &request, &tenant, &email, &password).await?;
    let person = &started.person;
    Ok(HttpResponse::Ok().json(json!({
        "token": started.token.expose(),
        "token_type": "Bearer",
        "expires_in": started.expires_in,
        "principal": {"id": person.id, "name": person.name, "roles": person.roles},
    })))
}

/// Checks a password and starts a session; a wrong one and an unknown account look and take the same.
pub(crate) async fn start_session(
    app: &App,
    request: &HttpRequest,
    tenant: &TenantSlug,
    email: &str,
    password: &str,
) -> Result<Started, Problem> {
    let email = normal_email(email);
    let address = request::address(request);
    let now = clock::now();
    let (slug, key) = (tenant.clone(), email.clone());
    let found = app.read(move |connection| principal::find_by_email(connection, &slug, &key)).await?;
    if let Some(found) = &found {
        attribute(request, tenant, Subject::of_principal(found.id));
    }
    app.limits.may_sign_in(tenant, &email, address, now)?;
    let stored = found.as_ref().and_then(|found| found.password.as_deref());
    let right = app.passwords.verify(password, stored).await?;
    let Some(person) = found.filter(|_| right) else {
        app.limits.sign_in_failed(tenant, &email, address, now);
        return Err(Problem::sign_in_failed());
    };
    app.limits.signed_in(tenant, &email);
    let token = Secret::generate(SecretKind::Session, entropy::bytes());
    let (id, digest) = (person.id, token.digest());
    let started =
        app.committer.act(tenant.clone(), move |books| sessions::start(books, id, digest)).await??.value;
    let expires_in = sessions::expires_at(&started).since(started.signed_in_at).whole_seconds();
    Ok(Started { person, token, expires_in })
}

/// Addresses are compared in lower case, without blanks around them.
pub(crate) fn normal_email(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Signs a person out.
pub(super) async fn sign_out(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let digest = person.session;
    app.committer.urgent(person.tenant, move |books| sessions::end(books, digest)).await??;
    Ok(HttpResponse::NoContent().finish())
}

/// Replaces the person's own password.
pub(super) async fn change_password(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let mut members = body::object(&request, &mut payload).await?;
    let old: String = members.required("old")?;
    let new: String = members.required("new")?;
    members.finish("old, new")?;
    let (slug, id) = (person.tenant.clone(), person.id);
    let stored = app.read(move |connection| principal::find(connection, &slug, id)).await?;
    let stored = stored.and_then(|stored| stored.password);
    let address = request::address(&request);
    app.limits.may_sign_in(&person.tenant, &person.email, address, clock::now())?;
    if !app.passwords.verify(&old, stored.as_deref()).await? {
        app.limits.sign_in_failed(&person.tenant, &person.email, address, clock::now());
        return Err(Malformed::at("/old", "this is not the present password").into());
    }
    let present = stored.unwrap_or_default();
    let hash =
        hash(&app, &new, "/new", &[&person.email, person.tenant.as_str(), person.name.as_str()]).await?;
    let sealed = app
        .committer
        .act(person.tenant.clone(), move |books| act::change_password(books, &person, &present, &hash))
        .await??;
    has_leaf(&request);
    Ok(super::recorded(&sealed))
}

/// Hashes a password that the rules accept.
pub(crate) async fn hash(
    app: &App,
    password: &str,
    pointer: &str,
    context: &[&str],
) -> Result<String, Problem> {
    let rules = PasswordRules { second_factor: false, context };
    rules.check(password).map_err(|fault| Malformed::at(pointer, fault.to_string()))?;
    Ok(app.passwords.hash(password, entropy::bytes()).await?)
}

/// Registers a person.
pub(super) async fn create(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let mut members = body::object(&request, &mut payload).await?;
    let email: String = members.required("email")?;
    let name: Label = members.parsed_required("name")?;
    let roles: Vec<String> = members.required("roles")?;
    let password: Option<String> = members.optional("password")?;
    members.finish("email, name, roles, password")?;
    let email = normal_email(&email);
    // A label shows all it holds: what looks like another's address is not one more address.
    if email.parse::<Label>().is_err() || email.parse::<lettre::Address>().is_err() {
        let detail =
            format!("`{}` is not a mail address", email.chars().take(80).collect::<String>().escape_debug());
        return Err(Malformed::at("/email", detail).into());
    }
    let roles: Roles = roles
        .iter()
        .map(|role| role.parse::<Role>())
        .collect::<Result<_, _>>()
        .map_err(|detail| Malformed::at("/roles", detail))?;
    if roles.is_empty() {
        return Err(Malformed::at("/roles", "no role is given, at least one is needed").into());
    }
    let Some(password) = password else {
        let detail = "member `password` is missing: invitations by mail are not offered by this version";
        return Err(Malformed::whole(detail).into());
    };
    let tenant = operator.person().tenant.clone();
    let password = hash(&app, &password, "/password", &[&email, tenant.as_str(), name.as_str()]).await?;
    let new = NewPrincipal { email, name, roles, password };
    let sealed = app.committer.act(tenant, move |books| act::create(books, &operator, new)).await??;
    has_leaf(&request);
    let (person, stored) = &sealed.value;
    let mut answer = describe(person);
    super::insert(&mut answer, "receipt", super::receipt(&sealed, stored));
    Ok(HttpResponse::Created().json(answer))
}

/// Lists the tenant's people.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, cursor) = (query.limit()?, query.id_cursor::<PrincipalId>()?);
    let tenant = operator.person().tenant.clone();
    let people =
        app.read(move |connection| principal::page(connection, &tenant, cursor.as_deref(), limit)).await?;
    let cursor = people.last().map(|last| last.id.to_string());
    Ok(super::page(&people.iter().map(describe).collect::<Vec<_>>(), cursor, limit))
}

fn describe(person: &Principal) -> Value {
    json!({
        "id": person.id,
        "email": person.email,
        "name": person.name,
        "roles": person.roles,
        "created_at": person.created_at,
    })
}
