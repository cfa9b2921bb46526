//! A provider's own list held against the ledger, for those who see the tenant's log: on the page, or as a table to keep.

use super::reply::{html, problem_page, read, upload};
use super::visit::Visit;
use crate::app::App;
use crate::app::coverage::{Asked, Columns, Coverage, Named, Sort, table};
use crate::domain::{IntentPattern, Malformed};
use crate::http::{LARGEST_LIST, Problem, compared, in_order, require_role};
use crate::web::display;
use crate::web::form::Fields;
use crate::web::view::{CoverageAnswer, CoverageList, CoveragePage, CoverageRow, Section, TypedCoverage};
use crate::web::when::{When, read_local};
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;

/// The largest form: a list that is pasted and one that is a file, and room for the fields beside them.
const LARGEST_FORM_BYTES: usize = 2 * LARGEST_LIST + (64 << 10);
/// The largest file that the page shows again as a text to mend; what was pasted always is.
const LARGEST_SHOWN_BYTES: usize = 256 << 10;
/// How much of each sort the page lists.
const MOST_ROWS: usize = 200;
/// How much of each sort the table lists.
const MOST_TABLED: usize = 20_000;

/// The empty form.
pub(super) async fn show(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    read(&app, &request, Section::Coverage, async |visit| {
        if let Err(problem) = require_role(&visit.person) {
            return Ok(turned_away(&request, visit, &problem));
        }
        html(StatusCode::OK, &page(visit, TypedCoverage::default(), None, None))
    })
    .await
}

/// Holds the list that was sent against the ledger; whatever is wrong with it, nothing of the form is lost.
pub(super) async fn compare(
    app: web::Data<App>,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let turn = |request: &HttpRequest, visit: &Visit| {
        require_role(&visit.person).err().map(|problem| turned_away(request, visit, &problem))
    };
    upload(&app, &request, payload, Section::Coverage, (LARGEST_FORM_BYTES, turn), async |visit, fields| {
        let list = list(fields);
        let typed = typed(fields, &list);
        let is_table = fields.one("as") == Ok("csv");
        let found = async {
            let most_named = if is_table { MOST_TABLED } else { MOST_ROWS };
            let asked = asked(visit, fields, most_named)?;
            compared(&app, asked, bounded(list)?).await
        };
        match found.await {
            Ok((_, found)) if is_table => file(visit, &found),
            Ok((_, found)) => html(StatusCode::OK, &page(visit, typed, Some(answer(visit, &found)), None)),
            Err(problem) if problem.status() == StatusCode::UNPROCESSABLE_ENTITY => {
                html(problem.status(), &page(visit, typed, None, Some(problem.detail())))
            }
            Err(problem) => Err(problem),
        }
    })
    .await
}

fn turned_away(request: &HttpRequest, visit: &Visit, problem: &Problem) -> HttpResponse {
    problem_page(request, problem, visit.frame(Section::Calls), Some(Section::Calls))
}

/// The file, where one was chosen, otherwise what was pasted.
fn list(fields: &Fields) -> Vec<u8> {
    match fields.file("file") {
        Some(file) => file.to_vec(),
        None => fields.one("list").unwrap_or_default().as_bytes().to_vec(),
    }
}

fn bounded(list: Vec<u8>) -> Result<Vec<u8>, Malformed> {
    if list.iter().all(u8::is_ascii_whitespace) {
        return Err(Malformed::whole("there is no list: choose a file or paste one"));
    }
    if list.len() > LARGEST_LIST {
        let detail = format!(
            "the list has {} bytes, {LARGEST_LIST} are taken here: divide it by time, or hand it to `procura coverage`",
            list.len()
        );
        return Err(Malformed::whole(detail));
    }
    Ok(list)
}

fn asked(visit: &Visit, fields: &Fields, most_named: usize) -> Result<Asked, Malformed> {
    let one = |name| fields.optional(name).map_err(Malformed::whole);
    let local =
        |name| one(name)?.map(|text| read_local(text, visit.zone)).transpose().map_err(Malformed::whole);
    let column = |name| Ok::<_, Malformed>(one(name)?.map(str::to_owned));
    let intent = one("intent")?.map(str::parse::<IntentPattern>).transpose().map_err(Malformed::whole)?;
    in_order(Asked {
        tenant: visit.person.tenant.clone(),
        intent: intent.unwrap_or(IntentPattern::Any),
        from: local("from")?,
        until: local("until")?,
        columns: Columns {
            reference: column("reference")?,
            amount: column("amount")?,
            currency: column("currency")?,
            time: column("time")?,
            key: column("key")?,
        },
        most_named,
    })
}

/// What was sent, to be shown again.
fn typed(fields: &Fields, list: &[u8]) -> TypedCoverage {
    let text = |name| fields.one(name).unwrap_or_default().to_owned();
    let is_file = fields.file("file").is_some();
    let is_shown = !is_file || list.len() <= LARGEST_SHOWN_BYTES;
    let shown = std::str::from_utf8(list).ok().filter(|_| is_shown);
    TypedCoverage {
        is_left_out: shown.is_none(),
        intent: text("intent"),
        from: text("from"),
        until: text("until"),
        columns: ["reference", "amount", "currency", "time", "key"].map(text),
        ..TypedCoverage::of_list(shown.unwrap_or_default())
    }
}

fn page(
    visit: &Visit,
    typed: TypedCoverage,
    answer: Option<CoverageAnswer>,
    fault: Option<&str>,
) -> CoveragePage {
    CoveragePage {
        frame: visit.frame_with(Section::Coverage, fault),
        typed: TypedCoverage { zone: visit.zone.name().to_owned(), ..typed },
        answer,
        most_bytes: LARGEST_LIST,
    }
}

/// The answer as a table to keep.
fn file(visit: &Visit, found: &Coverage) -> Result<HttpResponse, Problem> {
    let day = visit.now.to_string();
    let day = day.split('T').next().unwrap_or_default();
    let name = format!("attachment; filename=\"coverage-{}-{day}.csv\"", visit.person.tenant);
    Ok(HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((header::CONTENT_DISPOSITION, name))
        .body(table(found)?))
}

fn answer(visit: &Visit, found: &Coverage) -> CoverageAnswer {
    CoverageAnswer {
        agrees: found.agrees(),
        lines: found.lines,
        effects: found.effects,
        outside: found.outside,
        erased: found.erased,
        lists: found.sorts().into_iter().map(|(sort, named)| list_of(visit, sort, named)).collect(),
    }
}

fn list_of(visit: &Visit, sort: Sort, named: &Named) -> CoverageList {
    CoverageList {
        sort,
        count: named.count,
        rows: named.items.iter().map(|item| row(visit, item)).collect(),
        more: named.more(),
    }
}

fn row(visit: &Visit, item: &Value) -> CoverageRow {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let number = |name: &str| item.get(name).and_then(Value::as_u64);
    let at = text("claimed_at").or_else(|| text("at")).and_then(|at| at.parse().ok());
    let has_effect = item.get("effect").is_some();
    let listed = item.get("listed").or_else(|| item.get("amount").filter(|_| !has_effect));
    let allowed = item.get("amount").filter(|_| has_effect);
    CoverageRow {
        line: number("line"),
        reference: text("reference").map(display::line),
        listed: listed.and_then(amount).map(|amount| display::line(&amount)),
        allowed: allowed.and_then(amount),
        at: at.map(|at| When::new(at, visit.now, visit.zone)),
        intent: text("intent").map(str::to_owned),
        status: text("status").map(str::to_owned),
        detail: number("first")
            .map(|first| display::line(&format!("repeats line {first}")))
            .or_else(|| text("detail").map(display::line)),
        receipt: text("receipt").map(|id| format!("/calls/receipts/{id}.json")),
    }
}

/// An amount as it is read: the digits, and the currency where one is named.
fn amount(amount: &Value) -> Option<String> {
    let part = |name: &str| amount.get(name).and_then(Value::as_str);
    let value = part("value")?;
    Some(match part("currency") {
        Some(currency) => format!("{value} {currency}"),
        None => value.to_owned(),
    })
}
