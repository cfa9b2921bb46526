//! `procura mandate explain`: what a mandate says to one request, step by step, without a server.

use super::arguments::MandateExplain;
use super::catalogue;
use super::config::Sources;
use super::mandate::document;
use super::output::{self, Failure, Form};
use super::values;
use crate::committer::clock;
use crate::domain::{
    AgentId, AgentKind, ExternalName, FactsFrom, Malformed, Outcome, PrincipalId, Scope, Scopes, Timestamp,
};
use crate::engine::{
    self, Action, Catalogue, Described, Explanation, MandateDocument, PolicyDocument, Shown, Standing, Used,
    check_labels, read_attested_request,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::convert::Infallible;

/// What the answer rests on beside the files.
const ASSUMED: &str = "nothing is used yet, nobody was approved before, the agent holds `action:request`";

/// What only the catalogue's entry for the intent can tell.
const ARGUMENTS: &str = "the arguments: without an entry for the intent in --catalogue nothing says what they are, and \
                         no fact is derived from them";

/// Decides the request and says why: 0 for allow, 3 for escalate, 4 for refuse.
pub(super) fn run(sources: &Sources, options: &MandateExplain, form: Form) -> Result<u8, Failure> {
    let name = |option: &str, typed: Option<&str>| sources.parse(option, typed, |text| Ok(text.to_owned()));
    let mandate = document(&options.file, MandateDocument::read)?;
    let request = document(&options.request, read_attested_request)?;
    let policy = match name("policy", options.policy.as_deref())? {
        Some(file) => document(&file, PolicyDocument::read)?,
        None => PolicyDocument::empty(),
    };
    let catalogue = match name("catalogue", options.catalogue.as_deref())? {
        Some(file) => document(&file, catalogue::read)?,
        None => Catalogue::default(),
    };
    let at: Option<Timestamp> = sources.parse("at", options.at.as_deref(), str::parse)?;
    let zone = sources.parse("zone", options.zone.as_deref(), values::zone)?.unwrap_or(chrono_tz::UTC);
    let kind: Option<AgentKind> = sources.parse("kind", options.kind.as_deref(), str::parse)?;
    let case = Case {
        mandate,
        policy,
        kind: kind.unwrap_or(AgentKind::Acting),
        at: at.unwrap_or_else(clock::now),
        zone,
    };
    let action = check_labels(&case.policy, &request).and_then(|()| action(&catalogue, &request));
    let action = action.map_err(|malformed| Failure::usage(format!("`{}`: {malformed}", options.request)))?;
    let explanation = case.explain(&action);
    let is_known = catalogue.get(&request.intent).is_some();
    let not_checked = (request.arguments.is_some() && !is_known).then_some(ARGUMENTS);
    say(&explanation, not_checked, form)?;
    Ok(match explanation.verdict.map_or(Outcome::Refuse, |verdict| verdict.outcome) {
        Outcome::Allow => 0,
        Outcome::Escalate => 3,
        Outcome::Refuse => 4,
    })
}

/// The facts: derived wherever the catalogue knows the intent; attested if the request states what only an
/// enforcement point may.
fn action(catalogue: &Catalogue, request: &Described) -> Result<Action, Malformed> {
    if let Some(entry) = catalogue.get(&request.intent) {
        return engine::derive(entry, request);
    }
    let facts_from = if request.facts.is_some() { FactsFrom::Attested } else { FactsFrom::Described };
    Ok(Action { facts_from, ..Action::described(request) })
}

/// What decides, out of files alone.
struct Case {
    mandate: MandateDocument,
    policy: PolicyDocument,
    kind: AgentKind,
    at: Timestamp,
    zone: chrono_tz::Tz,
}

impl Case {
    fn explain(&self, action: &Action) -> Explanation {
        let nobody: BTreeSet<ExternalName> = BTreeSet::new();
        let unread = Used::default();
        // Ids that no document names.
        let beginning = Timestamp::from_unix_milliseconds(0);
        let standing = Standing {
            scopes: Scopes::NONE.with(Scope::ActionRequest),
            principal: PrincipalId::new(beginning, [0; 10]),
            agent: AgentId::new(beginning, [0; 10]),
            agent_kind: self.kind,
            mandate: &self.mandate,
            policy: &self.policy,
            credentials: &[],
            country_fixed: None,
            known: &nobody,
            used: &unread,
            zone: self.zone,
        };
        let Ok((_, empty)) = engine::decide_reading(&standing, action, self.at, |_| Ok::<_, Infallible>(0));
        engine::explain(&Standing { used: &empty, ..standing }, action, self.at)
    }
}

fn say(explanation: &Explanation, not_checked: Option<&str>, form: Form) -> Result<(), Failure> {
    if form == Form::Json {
        let mut value = explanation.to_json(Shown::ALL);
        if let Some(members) = value.as_object_mut() {
            members.insert("assumed".into(), json!(ASSUMED));
            members.insert("not_checked".into(), json!(not_checked));
        }
        return output::json(&value);
    }
    output::line(format!("assumed     {ASSUMED}"))?;
    if let Some(not_checked) = not_checked {
        output::line(format!("not checked {not_checked}"))?;
    }
    explanation.lines().iter().try_for_each(output::line)
}
