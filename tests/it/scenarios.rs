//! Plays the stories of `tests/vectors/scenarios`: each in a world of its own, each counted at its end.
//!
//! A file is a company, its tenant; a scenario has a person and agents of its own, and its own terms. What the files
//! may say is in [`script`]. `SCENARIO=words` in the environment plays those alone whose names contain the words.

pub(crate) mod answer;
mod clock;
pub(crate) mod people;
pub(crate) mod script;
mod stage;
mod tool;

use crate::database::{Db, both};
use crate::server::Server;
use script::{Company, Scenario, Step, companies};
use stage::{House, Stage};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

both!(every_scenario_comes_to_what_it_should);

/// How many companies play at the same time.
const AT_ONCE: usize = 8;

fn every_scenario_comes_to_what_it_should(db: Db) {
    let mut companies: Vec<Company> = companies().into_iter().map(|(_, company)| company).collect();
    let only = std::env::var("SCENARIO").unwrap_or_default();
    for company in &mut companies {
        company.scenarios.retain(|scenario| scenario.name.contains(&only));
    }
    companies.retain(|company| !company.scenarios.is_empty());
    // The longest first: it decides how long all of them take.
    companies.sort_by_key(|company| std::cmp::Reverse(company.scenarios.len()));
    let tenants: Vec<&str> = companies.iter().map(|company| &*company.tenant).collect();
    let mut server = Server::set_up(db, &tenants);
    server.serve();
    let house = House::new(server);
    let (waiting, failures) = (Mutex::new(companies.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(company) = waiting.lock().unwrap().next() else { return };
                    let failed = play(&house, company);
                    failures.lock().unwrap().extend(failed);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} went wrong:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Plays a company's scenarios one after another; what went wrong.
fn play(house: &House, company: &Company) -> Vec<String> {
    let (operator, mut failures) = (people::operator(&house.enter(), &company.tenant), Vec::new());
    for (intent, entry) in &company.catalogue {
        let _up = house.enter();
        people::put_entry(&operator, intent, entry);
    }
    for (place, scenario) in company.scenarios.iter().enumerate() {
        clock::stay_clear_of_the_hour();
        let mut at = 0;
        let played = catch_unwind(AssertUnwindSafe(|| {
            let mut stage = Stage::set(house, company, &operator, scenario, place);
            for step in &scenario.steps {
                at += 1;
                stage.play(step);
            }
            stage.close(&scenario.ends);
        }));
        if let Err(panic) = played {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let said = said.unwrap_or_default();
            failures.push(format!("{}: {}: at step {at}: {said}", company.tenant, scenario.name));
        }
        for step in &scenario.steps {
            if let Step::PutCatalogue(put) = step
                && let Some(entry) = company.catalogue.get(&put.intent)
            {
                let _up = house.enter();
                people::put_entry(&operator, &put.intent, entry);
            }
        }
    }
    failures
}

#[test]
fn every_scenario_is_named_once_as_a_sentence() {
    let companies = companies();
    let all: Vec<&Scenario> = companies.iter().flat_map(|(_, company)| &company.scenarios).collect();
    let names: BTreeSet<&str> = all.iter().map(|scenario| &*scenario.name).collect();
    assert_eq!(names.len(), all.len(), "a name stands twice");
    assert!(all.len() >= 66, "{} scenarios", all.len());
    for scenario in all {
        let words = scenario.name.split('_').count();
        let plain = scenario
            .name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        assert!(plain && words >= 4, "`{}` is no sentence", scenario.name);
        let counts = serde_json::to_value(format!("{:?}", scenario.ends)).unwrap();
        assert_ne!(counts, format!("{:?}", script::Counts::default()), "`{}` counts nothing", scenario.name);
    }
}

#[test]
fn the_refund_agents_thirty_two_kinds_are_all_there() {
    let companies = companies();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in
        companies.iter().flat_map(|(_, company)| &company.scenarios).filter_map(|one| one.kind.as_deref())
    {
        *kinds.entry(kind).or_default() += 1;
    }
    let expected = BTreeMap::from([
        ("happy", 3),
        ("identity", 3),
        ("policy", 7),
        ("idempotency", 3),
        ("approval", 3),
        ("generalisation", 3),
        ("injection", 3),
        ("resilience", 7),
    ]);
    assert_eq!(kinds, expected);
}
