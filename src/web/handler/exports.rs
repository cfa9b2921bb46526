//! Copies of the log: begun, fetched, and the list of those that were.

use super::reply::{change, done, html, query_value, read};
use super::visit::Visit;
use crate::app::App;
use crate::app::export::{self, Format};
use crate::domain::{ExportId, Malformed, PrincipalId, TenantSlug};
use crate::evidence::subject::Subject;
use crate::http::{Problem, Query, Wanted, begin_export, export_answer, kept_export, path_id, subject_for};
use crate::storage::export::{self as stored, Export};
use crate::storage::{AnyConnection, StoreError, agent, credential, principal, receipt};
use crate::web::display::{self, Shown};
use crate::web::form::Fields;
use crate::web::view::{Choice, ExportRow, ExportStage, ExportsPage, Section, TypedExport};
use crate::web::when::{When, read_local};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use std::collections::HashMap;

/// How many exports one page shows.
const PAGE: i64 = 50;
/// How many of each there are to choose from.
const MOST_CHOICES: i64 = 500;
/// Where the page is.
const PATH: &str = "/exports";
/// How many seconds a page that is watched stands before it is read again.
const WATCH_SECONDS: &str = "3";

/// The exports that were begun, newest first, and the form for another.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    read(&app, &request, Section::Calls, async |visit| {
        let query = Query::read(&request, &["cursor", "watch"])?;
        let before = query.id_cursor::<ExportId>()?;
        let page = page(&app, visit, TypedExport::default(), None, before).await?;
        let mut response = html(StatusCode::OK, &page)?;
        if query.text("watch").is_some() {
            let refresh = HeaderName::from_static("refresh");
            response.headers_mut().insert(refresh, HeaderValue::from_static(WATCH_SECONDS));
        }
        Ok(response)
    })
    .await
}

/// Fixes what an export holds; it is fetched with its link.
pub(super) async fn begin(app: web::Data<App>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    change(&app, &request, payload, Section::Calls, async |visit, fields| {
        let begun = async {
            let (subject, wanted) = asked(visit, fields)?;
            let subject = subject_for(&app, &visit.person, subject).await?;
            begin_export(&app, &visit.person, subject, wanted).await
        };
        match begun.await {
            Ok(_) => Ok(done(&app, visit, PATH, "The export is ready: fetch it below.")),
            Err(problem) => {
                let page = page(&app, visit, typed(fields), Some(&problem), None).await?;
                html(problem.status(), &page)
            }
        }
    })
    .await
}

/// An export as a file to keep.
pub(super) async fn file(app: web::Data<App>, request: HttpRequest, path: web::Path<String>) -> HttpResponse {
    read(&app, &request, Section::Calls, async |visit| {
        let begun = kept_export(&app, &visit.person, path_id(&path, "export")?).await?;
        // A role may have been taken since.
        subject_for(&app, &visit.person, begun.header.subject).await?;
        export_answer(app.clone().into_inner(), begun, 0).await
    })
    .await
}

fn asked(visit: &Visit, fields: &Fields) -> Result<(Subject, Wanted), Problem> {
    let one = |name| fields.optional(name).map_err(Malformed::whole);
    let subject = match one("id")? {
        Some(id) => subject_of(id),
        None => one("subject")?.and_then(|chosen| match chosen {
            "tenant" => Some(Subject::Tenant),
            id => subject_of(id),
        }),
    };
    let wrong = "not an id of a credential, an agent or a person: crd_…, agt_… or prn_…";
    let subject = subject.ok_or_else(|| Malformed::whole(wrong))?;
    let format = one("format")?.map_or(Ok(Format::JsonLines), str::parse).map_err(Malformed::whole)?;
    let local =
        |name| one(name)?.map(|text| read_local(text, visit.zone)).transpose().map_err(Malformed::whole);
    Ok((subject, Wanted { format, from: local("from")?, until: local("until")? }))
}

fn subject_of(id: &str) -> Option<Subject> {
    let credential = id.parse().map(Subject::Credential);
    let agent = || id.parse().map(Subject::Agent);
    let person = || id.parse().map(Subject::Principal);
    credential.or_else(|_: String| agent()).or_else(|_: String| person()).ok()
}

/// What was sent, to be shown again.
fn typed(fields: &Fields) -> TypedExport {
    let text = |name| fields.one(name).unwrap_or_default().to_owned();
    TypedExport {
        subject: text("subject"),
        id: text("id"),
        format: text("format"),
        from: text("from"),
        until: text("until"),
        zone: String::new(),
    }
}

async fn page(
    app: &App,
    visit: &Visit,
    typed: TypedExport,
    problem: Option<&Problem>,
    before: Option<String>,
) -> Result<ExportsPage, Problem> {
    let (slug, person, sees) = (visit.person.tenant.clone(), visit.person.id, visit.person.sees_tenant());
    let chosen = typed.subject.clone();
    let (subjects, exports, names) = app
        .read(move |connection| {
            let whose = if sees { None } else { Some(person) };
            let exports = stored::page(connection, &slug, whose, before.as_deref(), PAGE)?;
            let names = Names::of(connection, &slug, &exports)?;
            Ok((subjects(connection, &slug, person, sees, &chosen)?, exports, names))
        })
        .await?;
    let is_full = i64::try_from(exports.len()).is_ok_and(|count| count == PAGE);
    let older = exports.last().filter(|_| is_full).map(|last| last.header.export.to_string());
    Ok(ExportsPage {
        frame: visit.frame_with(Section::Calls, problem.map(Problem::detail)),
        subjects,
        typed: TypedExport { zone: visit.zone.name().to_owned(), ..typed },
        exports: exports.iter().map(|export| row(app, visit, export, &names)).collect(),
        older: older.map(|cursor| format!("{PATH}?cursor={}", query_value(&cursor))),
        sees_tenant: sees,
    })
}

/// What this person may export, by heading.
fn subjects(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    person: PrincipalId,
    sees_tenant: bool,
    chosen: &str,
) -> Result<Vec<(&'static str, Vec<Choice>)>, StoreError> {
    let choice = |value: String, says: String| Choice { is_chosen: value == chosen, value, says };
    let mut all = Vec::new();
    if sees_tenant {
        all.push(("The tenant", vec![choice("tenant".to_owned(), "its whole log".to_owned())]));
        let people = principal::page(connection, tenant, None, MOST_CHOICES)?;
        let people = people.iter().map(|one| choice(one.id.to_string(), one.name.to_string())).collect();
        all.push(("People", people));
    } else {
        all.push(("You", vec![choice(person.to_string(), "all that concerns you".to_owned())]));
    }
    let agents = agent::page(connection, tenant, person, None, MOST_CHOICES)?;
    let credentials = credential::page(connection, tenant, person, None, MOST_CHOICES)?;
    let agents: Vec<_> = agents.iter().map(|one| choice(one.id.to_string(), one.name.to_string())).collect();
    let credentials: Vec<_> =
        credentials.iter().map(|one| choice(one.id.to_string(), one.label.to_string())).collect();
    all.push(("Your agents", agents));
    all.push(("Your credentials", credentials));
    all.retain(|(_, choices)| !choices.is_empty());
    Ok(all)
}

/// What the people, agents and credentials of a page of exports are called, and the receipts of their manifests.
struct Names {
    called: HashMap<String, String>,
    receipts: HashMap<u64, String>,
}

impl Names {
    fn of(
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        exports: &[Export],
    ) -> Result<Self, StoreError> {
        let mut called = HashMap::new();
        let people = exports.iter().filter_map(|export| export.taken_by).map(Subject::Principal);
        for subject in people.chain(exports.iter().map(|export| export.header.subject)) {
            let id = subject.to_string();
            if called.contains_key(&id) {
                continue;
            }
            let name = match subject {
                Subject::Credential(id) => {
                    credential::find(connection, tenant, id)?.map(|found| found.label.to_string())
                }
                Subject::Agent(id) => {
                    agent::find(connection, tenant, id)?.map(|found| found.name.to_string())
                }
                Subject::Principal(id) => {
                    principal::find(connection, tenant, id)?.map(|found| found.name.to_string())
                }
                Subject::Tenant => None,
            };
            called.insert(id.clone(), name.unwrap_or(id));
        }
        let places = exports.iter().filter_map(|export| export.log_index);
        let receipts = receipt::find_many(connection, tenant, places)?;
        let receipts = receipts.into_iter().map(|(place, stored)| (place, stored.body.id.to_string()));
        Ok(Self { called, receipts: receipts.collect() })
    }

    fn name(&self, id: &str) -> Shown {
        display::line(self.called.get(id).map_or(id, String::as_str))
    }
}

fn row(app: &App, visit: &Visit, export: &Export, names: &Names) -> ExportRow {
    let header = &export.header;
    let when = |at| When::new(at, visit.now, visit.zone);
    let is_own = export.taken_by == Some(visit.person.id);
    let stage = match (app.exports.of(header.export), export.lines) {
        (Some((done, all)), _) => ExportStage::Running { done, all },
        (None, Some(lines)) => ExportStage::Whole { lines },
        (None, None) => ExportStage::Begun,
    };
    let by_another = || match export.taken_by {
        Some(person) => names.name(&person.to_string()),
        None => display::line("the console"),
    };
    let has_period = header.from.is_some() || header.until.is_some();
    let receipt = export.log_index.and_then(|place| names.receipts.get(&place));
    ExportRow {
        at: when(header.at),
        who: (!is_own).then(by_another),
        what: names.name(&header.subject.to_string()),
        period: has_period.then(|| (header.from.map(when), header.until.map(when))),
        format: export.format.clone(),
        stage,
        file: (is_own && export::is_kept(export, visit.now))
            .then(|| format!("{PATH}/{}/file", header.export)),
        receipt: receipt.map(|id| format!("/calls/receipts/{id}.json")),
    }
}
