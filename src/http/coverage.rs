//! A provider's own list held against the ledger.

use super::request::{self, Query};
use super::{Problem, body};
use crate::actions::Error;
use crate::actions::caller::Person;
use crate::app::coverage::{Asked, Columns, Coverage, CoverageError, MOST_NAMED, coverage};
use crate::app::{App, Caller};
use crate::domain::{IntentPattern, Malformed};
use actix_web::{HttpRequest, HttpResponse, web};
use std::io::Cursor;

/// The largest list that is taken; longer ones are for `procura coverage`.
pub(crate) const LARGEST_LIST: usize = 4 << 20;

/// Holds the list in the body against the tenant's ledger.
pub(super) async fn compare(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let caller = request::caller(&app, &request).await?;
    let names = ["intent", "from", "until", "reference", "amount", "currency", "time", "key"];
    let asked = asked(&caller, &Query::read(&request, &names)?)?;
    let list = body::bytes_up_to(&request, &mut payload, LARGEST_LIST).await?;
    let (asked, found) = compared(&app, asked, list.to_vec()).await?;
    Ok(HttpResponse::Ok().json(found.to_json(&asked)))
}

/// What a query asks for, by somebody who sees the tenant's log.
fn asked(caller: &Caller, query: &Query) -> Result<Asked, Problem> {
    match caller {
        Caller::Person(person) => require_role(person)?,
        Caller::Agent(_) => return Err(forbidden()),
    }
    let column = |name: &str| query.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let asked = Asked {
        tenant: caller.tenant().clone(),
        intent: query.parsed("intent")?.unwrap_or(IntentPattern::Any),
        from: query.time("from")?,
        until: query.time("until")?,
        columns: Columns {
            reference: column("reference"),
            amount: column("amount"),
            currency: column("currency"),
            time: column("time"),
            key: column("key"),
        },
        most_named: MOST_NAMED,
    };
    Ok(in_order(asked)?)
}

/// Lets in who sees the tenant's log.
pub(crate) fn require_role(person: &Person) -> Result<(), Problem> {
    if person.sees_tenant() { Ok(()) } else { Err(forbidden()) }
}

fn forbidden() -> Problem {
    Error::Forbidden("coverage is of the whole tenant: it needs the role compliance".into()).into()
}

/// What is asked, if its time does not end before it begins.
pub(crate) fn in_order(asked: Asked) -> Result<Asked, Malformed> {
    match (asked.from, asked.until) {
        (Some(from), Some(until)) if from >= until => {
            Err(Malformed::whole(format!("`until`: {until} is not after `from`, {from}")))
        }
        (Some(_) | None, Some(_) | None) => Ok(asked),
    }
}

/// Holds a list against the ledger, away from the threads that answer, one after the other's turn.
pub(crate) async fn compared(app: &App, asked: Asked, list: Vec<u8>) -> Result<(Asked, Coverage), Problem> {
    let readers = app.readers.clone();
    let work = app.in_turn(move || match coverage(&readers, &asked, Cursor::new(list), &|_| {}) {
        Ok(found) => Ok(Ok((asked, found))),
        Err(CoverageError::List(why)) => Ok(Err(why)),
        Err(CoverageError::Store(error)) => Err(error),
    });
    work.await?.map_err(|why| Malformed::whole(format!("the list cannot be read: {why}")).into())
}
