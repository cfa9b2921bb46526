//! Screening a text, and what screening counted.

use super::body::{self, Members, Plain, each};
use super::{Problem, request};
use crate::actions::Error;
use crate::actions::screen::{self, Asked, Direction};
use crate::app::{App, Caller};
use crate::committer::clock;
use crate::domain::{Duration, EffectId, Malformed, Role, Timestamp, json::parse_up_to};
use crate::screening::{Audience, Count, Counts, Language, Noted, Record, Rules, Screened, Tail};
use crate::storage::reply_counts;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Map, Value, json};
use std::str::FromStr;

/// The longest text that is screened, in bytes.
const LONGEST_TEXT_BYTES: usize = 1024 * 1024;
/// The largest body that asks for it: a text may take more in JSON than it has.
const LARGEST_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The most effects, tags or records that one text is held against.
const MOST_BESIDE: usize = 200;
/// The longest name of a conversation, and the longest tag, in bytes.
const LONGEST_NAME_BYTES: usize = 200;

/// What is said of a body that cannot be read.
const UNREADABLE: &str =
    "not JSON, or nested too deep, or a member stands twice, or a number does not survive as a double";

/// Screens a text. Nothing of it is kept: not in the log, not in a receipt, not in what is said of errors.
pub(super) async fn screen(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let caller = request::caller(&app, &request).await?;
    let bytes = body::bytes_up_to(&request, &mut payload, LARGEST_BODY_BYTES).await?;
    // What a reader says of a broken body may show a piece of it.
    let unreadable = |_| Problem::unreadable(Malformed::whole(UNREADABLE));
    let body = parse_up_to(&bytes, LARGEST_BODY_BYTES).map_err(unreadable)?;
    let asked = read(body)?;
    let tenant = caller.tenant().clone();
    let principal = match &caller {
        Caller::Person(person) => person.id,
        Caller::Agent(agent) => agent.principal,
    };
    let slug = tenant.clone();
    let now = clock::now();
    let (node, chain) = (app.clone(), caller.subject().chain);
    let (asked, screened) = app
        .read(move |connection| {
            let before = |rules: &Rules| {
                let Some(name) = &asked.conversation else { return Tail::new() };
                let key = (chain, name.clone());
                node.conversations.pass(key, &asked.text, &rules.detection(), now)
            };
            let screened = screen::screen(connection, &slug, principal, &asked, before, now);
            Ok((asked, screened))
        })
        .await?;
    let screened = screened?;
    count(&app, &caller, &screened.counts).await;
    Ok(HttpResponse::Ok().json(to_json(&asked.text, &screened)))
}

/// What screening counted for the caller's tenant, by name.
pub(super) async fn counts(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    if !(person.roles.contains(Role::Operator) || person.roles.contains(Role::Compliance)) {
        return Err(Error::Forbidden("counts are for the roles operator and compliance".into()).into());
    }
    let counted = app.read(move |connection| reply_counts::all(connection, &person.tenant)).await?;
    let mut all: Map<String, Value> =
        Count::ALL.iter().map(|count| (count.as_str().to_owned(), json!(0))).collect();
    all.extend(counted.into_iter().map(|(name, times)| (name, json!(times))));
    Ok(HttpResponse::Ok().json(json!({"counts": all})))
}

/// Adds to the tenant's counts. A text that was screened is answered also where counting fails.
async fn count(app: &App, caller: &Caller, counts: &Counts) {
    let counted: Vec<(&'static str, u64)> =
        counts.iter().map(|(count, times)| (count.as_str(), times)).collect();
    if counted.is_empty() {
        return;
    }
    for (name, times) in &counted {
        metrics::counter!(*name).increment(*times);
    }
    let add = move |books: &mut crate::committer::Books<'_>| {
        let (connection, slug) = books.place();
        reply_counts::add(connection, slug, &counted).map_err(Error::from)
    };
    match app.committer.act(caller.tenant().clone(), add).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::warn!(?error, "what screening counted was not written down"),
        Err(error) => tracing::warn!(?error, "what screening counted was not written down"),
    }
}

fn read(body: Value) -> Result<Asked, Problem> {
    let mut members = Members::of(body)?;
    let direction = members.required("direction", |value| word(&value, &[("turn", false), ("reply", true)]));
    let text = members.required("text", |value| {
        let text = String::of(value)?;
        if text.len() > LONGEST_TEXT_BYTES {
            return Err(Malformed::whole(format!("{} bytes, {LONGEST_TEXT_BYTES} are allowed", text.len())));
        }
        Ok(text)
    });
    let rules = members.read("rules", |value| Rules::read(&value));
    let conversation = members.read("conversation", name);
    let language = members.read("language", |value| {
        word(&value, &[("en", Language::English), ("pt-BR", Language::BrazilianPortuguese)])
    });
    let effects = members
        .read("effects", |value| listed(value, |value| unseen::<EffectId>(value, "the id of an effect")));
    let cites = members.read("cites", |value| listed(value, name));
    let audience = members.read("audience", |value| {
        word(&value, &[("customer", Audience::Customer), ("staff", Audience::Staff)])
    });
    let records = members.read("records", |value| listed(value, record));
    if direction == Some(false)
        && (effects.is_some() || cites.is_some() || audience.is_some() || records.is_some())
    {
        members.fault(Malformed::whole("`effects`, `cites`, `audience` and `records` go with a reply"));
    }
    let allowed = "direction, text, rules, conversation, effects, cites, language, audience, records";
    let (is_reply, text) = members.finish(allowed, direction.zip(text))?;
    let direction = if is_reply {
        let (cites, audience) = (cites.unwrap_or_default(), audience.unwrap_or_default());
        Direction::Reply { effects, cites, audience, records }
    } else {
        Direction::Turn
    };
    Ok(Asked { direction, text, rules, conversation, language })
}

/// One of several words. What stands there instead is not shown: any part of this body may hold a value.
fn word<T: Copy>(value: &Value, words: &[(&str, T)]) -> Result<T, Malformed> {
    let found = words.iter().find(|(word, _)| value.as_str() == Some(*word));
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Malformed::whole(format!("allowed: {}", allowed.join(", ")))
    })
}

fn unseen<T: FromStr>(value: Value, expected: &str) -> Result<T, Malformed> {
    String::of(value)?.parse().map_err(|_| Malformed::whole(format!("{expected} is expected")))
}

fn name(value: Value) -> Result<String, Malformed> {
    let name = String::of(value)?;
    if name.is_empty() || name.len() > LONGEST_NAME_BYTES {
        return Err(Malformed::whole(format!("{} bytes, 1 to {LONGEST_NAME_BYTES} are allowed", name.len())));
    }
    Ok(name)
}

fn listed<T>(value: Value, read: impl Fn(Value) -> Result<T, Malformed>) -> Result<Vec<T>, Malformed> {
    let items: Vec<Value> = Plain::of(value)?;
    if items.len() > MOST_BESIDE {
        return Err(Malformed::whole(format!("{} entries, {MOST_BESIDE} are allowed", items.len())));
    }
    each(items, read)
}

fn record(value: Value) -> Result<Record, Malformed> {
    let object = |value: Value| match value {
        object @ Value::Object(_) => Ok(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Malformed::whole("an object is expected"))
        }
    };
    let Value::Object(_) = &value else { return Err(Malformed::whole("an object is expected")) };
    let mut members = Members::of(value).map_err(|_| Malformed::whole("an object is expected"))?;
    let effect = members.read("effect", |value| unseen::<EffectId>(value, "the id of an effect"));
    let fields = members.required("fields", object);
    let at = members.read("at", |value| unseen::<Timestamp>(value, "a time as RFC 3339 writes it"));
    let fresh_for = members.optional::<i64>("fresh_for").map(Duration::seconds);
    let schema = members.read("schema", object);
    let fields = members.finish("effect, fields, at, fresh_for, schema", fields)?;
    Ok(Record { effect, fields, at, fresh_for, schema })
}

/// The answer; places are counted in code points.
fn to_json(text: &str, screened: &Screened) -> Value {
    let mut places = Places { text, byte: 0, character: 0 };
    let mut ends: Vec<usize> =
        screened.findings.iter().flat_map(|noted| [noted.span.start, noted.span.end]).collect();
    ends.sort_unstable();
    ends.dedup();
    let characters: std::collections::BTreeMap<usize, usize> =
        ends.into_iter().map(|byte| (byte, places.character_at(byte))).collect();
    let finding = |noted: &Noted| {
        let mut finding = json!({
            "class": noted.class,
            "start": characters.get(&noted.span.start),
            "end": characters.get(&noted.span.end),
            "action": noted.action.as_str(),
        });
        if let (Some(mask), Some(members)) = (&noted.mask, finding.as_object_mut()) {
            members.insert("mask".into(), json!(mask));
        }
        finding
    };
    let counts = screened.counts.iter().map(|(count, times)| (count.as_str().to_owned(), json!(times)));
    let mut answer = json!({
        "text": screened.text,
        "withheld": screened.withheld,
        "findings": screened.findings.iter().map(finding).collect::<Vec<_>>(),
        "counts": counts.collect::<Map<_, _>>(),
    });
    if let (Some(say), Some(members)) = (&screened.say, answer.as_object_mut()) {
        members.insert("say".into(), json!(say));
    }
    answer
}

/// Bytes of a text turned into code points, in order, in one walk.
struct Places<'a> {
    text: &'a str,
    byte: usize,
    character: usize,
}

impl Places<'_> {
    fn character_at(&mut self, byte: usize) -> usize {
        self.character += self.text.get(self.byte..byte).map_or(0, |passed| passed.chars().count());
        self.byte = byte;
        self.character
    }
}
