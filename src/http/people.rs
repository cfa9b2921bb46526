//! Sessions, people, and the person's own password.

use super::body::Plain;
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
    let tenant: Option<TenantSlug> = members.parsed_required("tenant");
    let email = members.required("email", String::of);
    let password = members.required("password", String::of);
    members.read::<()>("otp", |_| Err(Malformed::whole("no second factor is enrolled: leave it out")));
    let read = tenant.zip(email).zip(password);
    let ((tenant, email), password) = members.finish("tenant, email, password, otp", read)?;
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
    app.limits.try_sign_in(tenant, &email, address, now)?;
    let stored = found.as_ref().and_then(|found| found.password.as_deref());
    let right = app.passwords.verify(password, stored).await?;
    let Some(person) = found.filter(|_| right) else {
        return Err(Problem::sign_in_failed());
    };
    app.limits.signed_in(tenant, &email, address);
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
    let old = members.required("old", String::of);
    let new = members.required("new", String::of);
    let (old, new) = members.finish("old, new", old.zip(new))?;
    let (slug, id) = (person.tenant.clone(), person.id);
    let stored = app.read(move |connection| principal::find(connection, &slug, id)).await?;
    let stored = stored.and_then(|stored| stored.password);
    let address = request::address(&request);
    app.limits.try_sign_in(&person.tenant, &person.email, address, clock::now())?;
    if !app.passwords.verify(&old, stored.as_deref()).await? {
        return Err(Malformed::at("/old", "this is not the present password").into());
    }
    app.limits.signed_in(&person.tenant, &person.email, address);
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
    let email = members.required("email", mail_address);
    let name: Option<Label> = members.parsed_required("name");
    let roles = members.required("roles", roles);
    if members.look("password").is_none_or(Value::is_null) {
        let detail = "member `password` is missing: invitations by mail are not offered by this version";
        members.fault(Malformed::whole(detail));
    }
    let password: Option<String> = members.optional("password");
    let read = email.zip(name).zip(roles.zip(password));
    let ((email, name), (roles, password)) = members.finish("email, name, roles, password", read)?;
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

/// A mail address in the form that addresses are compared in.
fn mail_address(value: Value) -> Result<String, Malformed> {
    let email = normal_email(&String::of(value)?);
    // A label shows all it holds: what looks like another's address is not one more address.
    if email.parse::<Label>().is_err() || email.parse::<lettre::Address>().is_err() {
        let shown: String = email.chars().take(80).collect();
        return Err(Malformed::whole(format!("`{}` is not a mail address", shown.escape_debug())));
    }
    Ok(email)
}

/// One role or several.
fn roles(value: Value) -> Result<Roles, Malformed> {
    let roles: Roles = body::each(Plain::of(value)?, body::parse::<Role>)?.into_iter().collect();
    if roles.is_empty() {
        return Err(Malformed::whole("no role is given, at least one is needed"));
    }
    Ok(roles)
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
