//! Every page's route, and what no route answers.

mod agents;
mod calls;
mod coverage;
mod decision;
mod decision_page;
mod draft;
mod explorer;
mod exports;
mod mandate;
mod multipart;
mod people;
mod queue;
mod reply;
mod reply_rules;
mod session;
mod visit;
mod who;

use super::{STATIC_CACHING, STYLE_SHEET};
use crate::app::App;
use crate::http::{self, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, guard, web};

/// What is never answered with a page, whatever the caller accepts.
const MACHINES: [&str; 5] = ["/v1/", "/oauth/", "/log/", "/.well-known/", "/problems/"];

macro_rules! pages {
    ($($method:ident $path:literal $handler:path;)*) => {
        /// Each page's method and path.
        const PAGES: &[(&str, &str)] = &[$((stringify!($method), $path)),*];

        /// Registers every page; those that are read answer HEAD as well.
        pub fn configure(config: &mut web::ServiceConfig) {
            $(config.route($path, pages!(@$method).to($handler));)*
        }
    };
    (@get) => { web::route().guard(guard::Any(guard::Get()).or(guard::Head())) };
    (@post) => { web::post() };
}

pages! {
    get "/" queue::home;
    get "/sign-in" session::show;
    post "/sign-in" session::sign_in;
    post "/sign-out" session::sign_out;
    get "/queue" queue::list;
    get "/queue/{decision}" decision::show;
    post "/queue/{decision}/approve" decision::approve;
    post "/queue/{decision}/decline" decision::decline;
    post "/queue/{decision}/resolve" decision::resolve;
    get "/mandate" mandate::show;
    get "/mandate/versions/{version}" mandate::version;
    post "/mandate" mandate::save;
    post "/mandate/check" draft::check;
    post "/mandate/terms" mandate::save_terms;
    post "/mandate/stop" mandate::stop;
    get "/agents" agents::list;
    post "/agents" agents::create;
    post "/agents/{agent}/credentials" agents::give;
    post "/agents/{agent}/retire" agents::retire;
    post "/credentials/{credential}/revoke" agents::revoke;
    get "/calls" calls::list;
    get "/calls/export" calls::export;
    get "/exports" exports::list;
    post "/exports" exports::begin;
    get "/exports/{export}/file" exports::file;
    get "/calls/receipts/{receipt}.json" calls::receipt;
    get "/coverage" coverage::show;
    post "/coverage" coverage::compare;
    get "/reply-rules" reply_rules::show;
    post "/reply-rules" reply_rules::save;
    post "/reply-rules/terms" reply_rules::save_terms;
    post "/reply-rules/check" reply_rules::check;
    get "/who" who::show;
    post "/who" who::ask;
    get "/who/{receipt}/file" who::file;
    get "/verify" explorer::show;
    get "/static/procura.css" style_sheet;
    get "/static/explorer.js" explorer::script;
    get "/static/explorer/{part}" explorer::part;
}

async fn style_sheet() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/css; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, STATIC_CACHING))
        .body(STYLE_SHEET)
}

/// Whatever no route answers, as a page for a browser and as a problem for everything else.
pub(crate) async fn nothing_here(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let allowed = PAGES
        .iter()
        .filter(|(_, path)| actix_web::dev::ResourceDef::new(*path).is_match(request.path()))
        .map(|(method, _)| if *method == "get" { "GET, HEAD" } else { "POST" })
        .collect::<Vec<_>>()
        .join(", ");
    let answer = if allowed.is_empty() {
        http::nothing_here(request.clone()).await
    } else {
        let detail = format!("{} is not taken here, {allowed} is", request.method());
        Err(Problem::method_not_allowed(detail, allowed))
    };
    match answer {
        Err(problem) if wants_a_page(&request) => {
            Ok(reply::problem_to_anyone(&app, &request, &problem).await)
        }
        answered => answered,
    }
}

fn wants_a_page(request: &HttpRequest) -> bool {
    let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let is_for_machines = MACHINES.iter().any(|prefix| request.path().starts_with(prefix));
    accepts.is_some_and(|accepts| accepts.contains("text/html")) && !is_for_machines
}
