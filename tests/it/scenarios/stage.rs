//! Where a scenario plays: one company's people, agents and tools, and what each step does there.

use super::answer::{kind_of, points_to};
use super::clock::{self, resolve};
use super::people::{person, point, put_entry};
use super::script::{Ask, Cast, Company, Counts, Decide, Expected, Report, RunTool, Scenario, Step};
use super::tool::{Behaviour, Tool};
use crate::agent::Agent;
use crate::client::{Client, Reply, in_parallel};
use crate::documents::ACTING_SCOPES;
use crate::server::{Server, eventually};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// The rules of a company that has none.
fn no_rules() -> Value {
    json!({"clauses": []})
}

/// The server that all companies share; whoever restarts it waits until nobody is in the middle of a step.
#[derive(Debug)]
pub(crate) struct House(RwLock<Server>);

impl House {
    /// Of a server that runs.
    pub(crate) fn new(server: Server) -> Self {
        Self(RwLock::new(server))
    }

    /// The server, which stays up while this is held.
    pub(crate) fn enter(&self) -> RwLockReadGuard<'_, Server> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn restart(&self) {
        let mut server = self.0.write().unwrap_or_else(PoisonError::into_inner);
        server.kill();
        server.serve();
    }
}

/// What was asked and answered.
#[derive(Debug)]
struct Asked {
    by: String,
    request: Value,
    replies: Vec<Reply>,
}

/// One scenario while it plays.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    house: &'a House,
    company: &'a Company,
    operator: &'a Client,
    member: Client,
    principal: String,
    /// Of all whose queues and effects are counted.
    principals: Vec<String>,
    people: BTreeMap<String, Client>,
    agents: BTreeMap<String, Agent>,
    /// Whose agent it is, where it is a colleague's.
    owners: BTreeMap<String, String>,
    points: BTreeMap<String, Client>,
    asked: BTreeMap<String, Asked>,
    tool: Tool,
    told: Counts,
}

impl<'a> Stage<'a> {
    /// Makes the people, agents and enforcement points of a scenario, and puts its terms and rules live.
    pub(crate) fn set(
        house: &'a House,
        company: &'a Company,
        operator: &'a Client,
        scenario: &Scenario,
        place: usize,
    ) -> Self {
        let _up = house.enter();
        let address = |name: &str| format!("{name}-{place}@{}.test", company.tenant);
        let (member, principal) = person(operator, &company.tenant, &address("member"), &["member".into()]);
        let mut principals = vec![principal.clone()];
        let mut people = BTreeMap::new();
        for (name, roles) in &scenario.people {
            let (colleague, id) = person(operator, &company.tenant, &address(name), roles);
            principals.push(id);
            people.insert(name.clone(), colleague);
        }
        let points = scenario.points.iter().map(|name| (name.clone(), point(operator, name))).collect();
        let mut stage = Self {
            house,
            company,
            operator,
            member,
            principal,
            principals,
            people,
            agents: BTreeMap::new(),
            owners: BTreeMap::new(),
            points,
            asked: BTreeMap::new(),
            tool: Tool::default(),
            told: Counts::default(),
        };
        let only = BTreeMap::from([("agent".to_owned(), Cast::default())]);
        let cast = if scenario.agents.is_empty() { &only } else { &scenario.agents };
        // Those of their own first: a further credential needs the agent.
        for further in [false, true] {
            for (name, cast) in cast.iter().filter(|(_, cast)| cast.of.is_some() == further) {
                let agent = stage.hire(name, cast);
                stage.agents.insert(name.clone(), agent);
                stage.owners.extend(cast.whose.iter().map(|whose| (name.clone(), whose.clone())));
            }
        }
        let rules = scenario.policy.clone().or_else(|| company.policy.clone()).unwrap_or_else(no_rules);
        stage.put(operator, "/v1/policy", &rules).expect(200);
        let terms = scenario.mandate.as_ref().or(company.mandate.as_ref()).expect("no mandate is given");
        let colleagues: BTreeSet<&String> = stage.owners.values().collect();
        for person in colleagues.into_iter().map(|name| &stage.people[name]).chain([&stage.member]) {
            stage.put(person, "/v1/mandate", terms).expect(200);
        }
        stage
    }

    fn hire(&self, name: &str, cast: &Cast) -> Agent {
        let mut credential =
            Map::from_iter([("label".to_owned(), json!(name)), ("scopes".to_owned(), json!(ACTING_SCOPES))]);
        credential.extend(cast.credential.clone());
        let credential = self.resolved(&Value::Object(credential));
        let person = cast.whose.as_ref().map_or(&self.member, |whose| &self.people[whose]);
        let id = if let Some(of) = &cast.of {
            self.agent(of).id.clone()
        } else {
            let kind = cast.kind.as_deref().unwrap_or("acting");
            let made = person.post("/v1/agents", &json!({"name": name, "kind": kind})).expect(201);
            made["id"].as_str().unwrap().to_owned()
        };
        Agent::with_credential(person, &id, &credential)
    }

    /// Does one step.
    pub(crate) fn play(&mut self, step: &Step) {
        if let Step::Restart(true) = step {
            self.house.restart();
            return;
        }
        let up = self.house.enter();
        match step {
            Step::Ask(ask) => self.ask(ask),
            Step::RunTool(run) => self.run_tool(run),
            Step::Report(report) => self.report(report),
            Step::Approve(decide) => self.decide("approve", "approved", decide),
            Step::Decline(decide) => self.decide("decline", "declined", decide),
            Step::Resolve(resolve) => {
                let decision = self.effect_decision(&resolve.ask);
                let body = json!({"status": resolve.status});
                let answer = self.member.post(&format!("/v1/decisions/{decision}/resolve"), &body);
                answer.expect(resolve.answer.unwrap_or(200));
            }
            Step::Look(look) => {
                let shown = self.shown(&look.ask);
                assert_eq!(shown["status"], *look.status, "{shown}");
                for words in &look.shows {
                    assert!(shown.to_string().contains(words), "`{words}` is not shown: {shown}");
                }
            }
            Step::PutMandate(put) => check_put(&self.put(&self.member, "/v1/mandate", &put.document), put),
            Step::PutPolicy(put) => check_put(&self.put(self.operator, "/v1/policy", &put.document), put),
            Step::PutCatalogue(put) => put_entry(self.operator, &put.intent, &put.entry),
            Step::Revoke(agent) => {
                let path = format!("/v1/credentials/{}", self.agent(agent).credential);
                let answer = self.member.delete(&path);
                assert!(matches!(answer.status, 200 | 204), "{}", answer.text);
            }
            Step::Derive(derive) => {
                let parent = self.agent(derive.by.as_deref().unwrap_or("agent"));
                let mut credential = Map::from_iter([
                    ("label".to_owned(), json!(derive.name)),
                    ("scopes".to_owned(), json!(["action:request", "decision:read"])),
                ]);
                credential.extend(derive.credential.clone());
                let credential = self.resolved(&Value::Object(credential));
                match derive.answer {
                    None | Some(201) => {
                        let child = parent.derive(&credential);
                        self.agents.insert(derive.name.clone(), child);
                    }
                    Some(status) => {
                        parent.post("/v1/credentials/derive", &credential).expect(status);
                    }
                }
            }
            Step::Advance(time) => clock::advance(&up, &self.company.tenant, time),
            Step::Happened(edge) => clock::happened(&up, &self.company.tenant, &self.principal, edge),
            Step::Restart(_) => panic!("a restart that is none"),
        }
    }

    fn ask(&mut self, ask: &Ask) {
        let by = ask.by.clone().unwrap_or_else(|| "agent".into());
        let agent = self.agent(&by);
        let named = |name| self.company.requests.get(name).unwrap_or_else(|| panic!("no request `{name}`"));
        let mut request = ask.what.as_str().map_or(&ask.what, named).clone();
        if let Some(but) = &ask.but {
            super::answer::merge(&mut request, but);
        }
        let request = self.resolved(&request);
        let mut body = request.clone();
        if let Some(name) = &ask.using {
            body["decision"] = json!(self.decision(name));
        }
        let client = match &ask.through {
            None => agent.client(),
            Some(point) => {
                body["subject_token"] = json!(agent.token());
                self.points[point].clone()
            }
        };
        // Of several at once each may be told apart by its number.
        let body = body.to_string();
        let send = |number: usize| {
            let body = serde_json::from_str(&body.replace("{n}", &number.to_string())).unwrap();
            match &ask.key {
                None => client.evaluate(&body),
                Some(key) => client.evaluate_once(key, &body),
            }
        };
        let replies = in_parallel(ask.at_once.unwrap_or(1), send);
        self.check_answers(ask, &replies);
        for reply in &replies {
            *self.count_of(kind_of(reply)) += 1;
        }
        let name = ask.name.clone().unwrap_or_else(|| "last".into());
        self.asked.insert(name, Asked { by, request, replies });
    }

    fn check_answers(&self, ask: &Ask, replies: &[Reply]) {
        let texts = || replies.iter().map(|reply| &*reply.text).collect::<Vec<_>>().join("\n");
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for reply in replies {
            *kinds.entry(kind_of(reply).to_owned()).or_default() += 1;
        }
        let (expected, main) = match &ask.expect {
            Expected::All(kind) => (BTreeMap::from([(kind.clone(), replies.len())]), Some(kind)),
            Expected::Each(kinds) => (kinds.clone(), None),
        };
        assert_eq!(kinds, expected, "{}", texts());
        for reply in replies.iter().filter(|reply| main.is_none_or(|kind| kind_of(reply) == kind)) {
            for clause in ask.clauses.iter().filter(|_| main.is_some()) {
                assert!(reply.names(clause), "`{clause}` is not named: {}", reply.text);
            }
            for words in ask.says.iter().filter(|_| main.is_some()) {
                assert!(reply.text.contains(words), "`{words}` is not said: {}", reply.text);
            }
            if let Some(pointer) = &ask.names {
                assert!(points_to(reply, pointer), "{pointer} is not named: {}", reply.text);
            }
            if let Some(first) = &ask.repeats {
                let first = &self.found(first).replies[0].json["receipt"]["hash"];
                assert_eq!(&reply.json["receipt"]["hash"], first, "another answer: {}", reply.text);
            }
            if let Some(first) = &ask.joins {
                assert_eq!(reply.json["decision"]["id"], *self.decision(first), "{}", reply.text);
            }
        }
        for clause in ask.clauses.iter().filter(|_| main.is_none()) {
            assert!(replies.iter().any(|reply| reply.names(clause)), "`{clause}` is not named: {}", texts());
        }
    }

    fn run_tool(&mut self, run: &RunTool) {
        let asked = self.found(&run.ask);
        let allows = asked.replies.iter().filter(|reply| reply.json["outcome"] == "allow");
        let allows: Vec<Value> = allows.map(|reply| reply.json.clone()).collect();
        assert!(!allows.is_empty(), "`{}` was not allowed: the tool does nothing", run.ask);
        let (by, amount) = (asked.by.clone(), asked.request["amount"].clone());
        let behaviour = Behaviour::of(run.tool.as_deref().unwrap_or("does"));
        for allow in allows {
            // What the intent has no effect for is told apart by its receipt.
            let key = allow["effect"]["idempotency_key"].as_str().or(allow["receipt"]["id"].as_str());
            for _ in 0..run.times.unwrap_or(1) {
                self.tool.call(key.unwrap(), &amount, behaviour, run.knows_keys.unwrap_or(true));
            }
            if let Some(status) = &run.report {
                let path = format!("/v1/effects/{}/outcome", allow["effect"]["id"].as_str().unwrap());
                self.agent(&by).post(&path, &json!({"status": status})).expect(200);
            }
        }
    }

    fn report(&self, report: &Report) {
        let asked = self.found(&report.ask);
        let effect = effect_of(asked);
        let by = report.by.as_ref().unwrap_or(&asked.by);
        let body = json!({"status": report.status});
        let answer = self.caller(by).post(&format!("/v1/effects/{effect}/outcome"), &body);
        let answer = answer.expect(report.answer.unwrap_or(200));
        if report.answer.is_none_or(|status| status == 200) {
            assert_eq!(answer["status"], **report.becomes.as_ref().unwrap_or(&report.status), "{answer}");
        }
    }

    fn decide(&self, verb: &str, ending: &str, decide: &Decide) {
        let mut decisions = self.decisions(&decide.ask);
        decisions.truncate(if decide.every { decisions.len() } else { 1 });
        let owner = self.owner_of(&decide.ask);
        let person = decide.by.as_ref().map_or(owner, |name| self.caller(name));
        for decision in decisions {
            let path = format!("/v1/decisions/{decision}");
            let mut body = if verb == "approve" {
                json!({"input_hash": owner.get(&path).expect(200)["input_hash"]})
            } else {
                json!({"reason": "no"})
            };
            for (name, value) in
                [("narrow", decide.narrow.clone()), ("valid_for", decide.valid_for.map(Value::from))]
            {
                if let Some(value) = value {
                    body[name] = value;
                }
            }
            let answers =
                in_parallel(decide.at_once.unwrap_or(1), |_| person.post(&format!("{path}/{verb}"), &body));
            let status = decide.answer.unwrap_or(200);
            let won: Vec<_> = answers.iter().filter(|answer| answer.status == status).collect();
            assert_eq!(won.len(), 1, "{:?}", answers.iter().map(|answer| &answer.text).collect::<Vec<_>>());
            if status == 200 {
                let becomes = decide.becomes.as_deref().unwrap_or(ending);
                assert_eq!(owner.get(&path).expect(200)["status"], becomes, "{}", won[0].text);
            }
        }
    }

    fn shown(&self, ask: &str) -> Value {
        let path = format!("/v1/decisions/{}", self.decision(ask));
        self.owner_of(ask).get(&path).expect(200)
    }

    /// The decision about an uncertain effect; it may take a moment until time has been noticed.
    fn effect_decision(&self, ask: &str) -> String {
        let effect = effect_of(self.found(ask)).to_owned();
        let mut found = None;
        eventually("a decision on the uncertain effect", || {
            let open = self.owner_of(ask).all("/v1/decisions?status=open");
            found = open.into_iter().find(|decision| decision["effect"] == *effect);
            found.is_some()
        });
        found.unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// Compares what the scenario came to with what it should, and with what the log and the books hold.
    pub(crate) fn close(&mut self, expected: &Counts) {
        let up = self.house.enter();
        let mut database = up.database().connect();
        let principals = self.principals.join("', '");
        let whose = format!("tenant = '{}' AND principal IN ('{principals}')", self.company.tenant);
        let mut number = |what: &str| database.number(&format!("SELECT COUNT(*) FROM {what} AND {whose}"));
        let mut ended = |status: &str| number(&format!("effects WHERE status = '{status}'"));
        let counts = Counts {
            effects_done: ended("done"),
            effects_failed: ended("failed"),
            effects_unknown: ended("unknown"),
            effects_claimed: number("effects WHERE 1 = 1"),
            decisions_opened: number("decisions WHERE 1 = 1"),
            minor_units_moved: self.tool.moved().clone(),
            ..self.told.clone()
        };
        assert_eq!(counts, *expected, "what it came to, and what it should have");
        for (outcome, told) in
            [("allow", counts.allowed), ("escalate", counts.escalated), ("refuse", counts.refused)]
        {
            let recorded =
                number(&format!("receipts WHERE outcome = '{outcome}' AND kind = 'gate.evaluate'"))
                    + number(&format!("receipts WHERE outcome = '{outcome}' AND kind = 'gate.replay'"));
            assert!(
                told <= recorded && recorded <= told + counts.replayed,
                "{told} answers {outcome} were given, {recorded} are in the log"
            );
        }
    }

    fn put(&self, whose: &Client, path: &str, document: &Value) -> Reply {
        let tag = whose.get(path).header("etag").unwrap().to_owned();
        whose.put(path, &[("if-match", &tag)], &self.resolved(document))
    }

    fn resolved(&self, value: &Value) -> Value {
        resolve(value, &|name| match name {
            "member" => Some(self.principal.clone()),
            agent => self.agents.get(agent).map(|agent| agent.id.clone()),
        })
    }

    fn agent(&self, name: &str) -> &Agent {
        self.agents.get(name).unwrap_or_else(|| panic!("no agent `{name}`"))
    }

    /// A colleague, an enforcement point or an agent, by name.
    fn caller(&self, name: &str) -> &Client {
        self.people.get(name).or_else(|| self.points.get(name)).unwrap_or_else(|| self.agent(name))
    }

    fn found(&self, ask: &str) -> &Asked {
        self.asked.get(ask).unwrap_or_else(|| panic!("nothing was asked as `{ask}`"))
    }

    fn decision(&self, ask: &str) -> &str {
        self.decisions(ask)[0]
    }

    /// Every decision that an ask opened, none twice.
    fn decisions(&self, ask: &str) -> Vec<&str> {
        let replies = &self.found(ask).replies;
        let mut ids: Vec<&str> = Vec::new();
        for id in replies.iter().filter_map(|reply| reply.json["decision"]["id"].as_str()) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        assert!(!ids.is_empty(), "`{ask}` opened no decision: {}", replies[0].text);
        ids
    }

    /// The person whose agent asked.
    fn owner_of(&self, ask: &str) -> &Client {
        self.owners.get(&self.found(ask).by).map_or(&self.member, |name| &self.people[name])
    }

    fn count_of(&mut self, kind: &str) -> &mut i64 {
        match kind {
            "allow" => &mut self.told.allowed,
            "escalate" => &mut self.told.escalated,
            "refuse" => &mut self.told.refused,
            "replayed" => &mut self.told.replayed,
            "malformed" => &mut self.told.malformed,
            "turned_away" => &mut self.told.turned_away,
            other => panic!("no answer is `{other}`"),
        }
    }
}

fn effect_of(asked: &Asked) -> &str {
    let mut ids = asked.replies.iter().filter_map(|reply| reply.json["effect"]["id"].as_str());
    ids.next().unwrap_or_else(|| panic!("there is no effect: {}", asked.replies[0].text))
}

fn check_put(reply: &Reply, put: &super::script::Put) {
    let answer = reply.expect(put.answer.unwrap_or(200));
    if let Some(change) = &put.change {
        assert_eq!(answer["change"], **change, "{answer}");
    }
    if let Some(pointer) = &put.names {
        assert!(points_to(reply, pointer), "{pointer} is not named: {answer}");
    }
}
