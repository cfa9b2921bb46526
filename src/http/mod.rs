//! The wire: parse, act, answer. Handlers hold no rules and no SQL.

mod agents;
mod body;
mod calls;
mod coverage;
mod decision_shown;
mod decisions;
mod enforcement_points;
mod erasure;
mod explain;
mod exports;
mod gate;
mod health;
mod log;
mod middleware;
mod oauth;
mod openapi;
mod people;
mod preview;
mod problem;
mod questions;
mod request;
mod routes;
mod server;
mod terms;
mod who;

pub use openapi::document as openapi_document;
pub use problem::Problem;
pub use server::serve;

pub(crate) use body::bytes_up_to;
pub(crate) use calls::{narrow_to, page_of, receipt_line};
pub(crate) use coverage::{LARGEST_LIST, compared, in_order, require_role};
pub(crate) use decision_shown::opened;
pub(crate) use decisions::{give_approval, give_decline, give_resolution};
pub(crate) use exports::{
    Wanted, answer as export_answer, begin as begin_export, kept as kept_export, subject_for,
};
pub(crate) use people::start_session;
pub(crate) use preview::rehearse;
pub(crate) use request::{Query, attribute, has_leaf, note, path_id};
pub(crate) use routes::nothing_here;
pub(crate) use terms::put_document;
pub(crate) use who::{asked, hand_over};

use crate::committer::Sealed;
use crate::storage::receipt::StoredReceipt;
use actix_web::HttpResponse;
use serde_json::{Value, json};
use std::sync::Arc;

/// A page of a list: a full one says where the next begins.
fn page(items: &[Value], last: Option<String>, limit: i64) -> HttpResponse {
    let is_full = i64::try_from(items.len()).is_ok_and(|count| count == limit);
    HttpResponse::Ok().json(json!({"items": items, "next_cursor": last.filter(|_| is_full)}))
}

/// Adds a member to an object, if there is one to add.
fn insert(object: &mut Value, name: &str, value: Option<Value>) {
    if let (Some(members), Some(value)) = (object.as_object_mut(), value) {
        members.insert(name.to_owned(), value);
    }
}

/// The receipt of something an act recorded, as the wire shows it.
fn receipt<T>(sealed: &Sealed<T>, stored: &StoredReceipt) -> Option<Value> {
    sealed.receipt(stored).map(|receipt| receipt.to_json())
}

/// The answer to an act of which nothing but the receipt is to be told.
fn recorded(sealed: &Sealed<Arc<StoredReceipt>>) -> HttpResponse {
    HttpResponse::Ok().json(json!({"receipt": receipt(sealed, &sealed.value)}))
}
