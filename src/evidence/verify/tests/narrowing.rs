//! Answers that used what was over, found in the log alone.

use super::super::fixture::person;
use super::*;
use crate::domain::{AgentId, CredentialId};
use crate::evidence::receipt::{Body, Kind};

const ASKED: Options = Options { key: None, checkpoint: None, narrowing: true, is_alone: false };

fn agent() -> AgentId {
    AgentId::new(at(0), [6; 10])
}

fn answer(log: &mut TestLog, of: CredentialId, outcome: Outcome, change: impl FnOnce(&mut Body)) {
    let output = json!({"outcome": outcome.as_str()});
    log.act(Kind::GateEvaluate, &of.to_string(), Some(of), output, |body| {
        (body.outcome, body.agent) = (Some(outcome), Some(agent()));
        (body.mandate_version, body.policy_version, body.catalogue_version) = (Some(4), Some(3), Some(2));
        change(body);
    });
}

fn put(log: &mut TestLog, kind: Kind, change: impl FnOnce(&mut Body)) {
    log.act(kind, &person().to_string(), None, json!({}), |body| {
        (body.mandate_version, body.policy_version, body.catalogue_version) = (None, None, None);
        change(body);
    });
}

/// All lines of a log, the last first: the order of files and lines says nothing.
fn read(log: &TestLog) -> Report {
    let lines: Vec<_> = (0..log.size()).rev().map(|index| log.line_json(index, log.size())).collect();
    assert_held(&run(&[("log", jsonl(&lines))], Options::default()));
    run(&[("log", jsonl(&lines))], ASKED)
}

#[track_caller]
fn assert_named(log: &TestLog, index: usize, field: &str, by: usize) {
    let report = read(log);
    assert_fails_at(&report, field);
    let failure = report.failure.unwrap();
    let id = |index: usize| log.receipt_json(index, log.size())["id"].as_str().unwrap().to_owned();
    // The last receipt stands in the first line.
    let line = |index: usize| u64::try_from(log.size() - index).ok();
    assert_eq!((&*failure.file, failure.line, &failure.receipt), ("log", line(index), &Some(id(index))));
    let other = failure.other.as_ref().expect("it names the change as well");
    assert_eq!((&*other.file, other.line), ("log", line(by)), "{failure}");
    assert_eq!(other.receipt.map(|id| id.to_string()), Some(id(by)), "{failure}");
    assert!(failure.to_string().contains(&id(by)), "{failure}");
    assert!(failure.expected.is_some() && failure.found.is_some(), "{failure}");
}

#[test]
fn a_log_in_which_every_answer_used_what_was_live_holds() {
    let mut log = TestLog::new(1);
    put(&mut log, Kind::MandatePut, |body| body.mandate_version = Some(4));
    put(&mut log, Kind::PolicyPut, |body| body.policy_version = Some(3));
    put(&mut log, Kind::CataloguePut, |body| body.catalogue_version = Some(2));
    answer(&mut log, credential(1), Outcome::Allow, |_| {});
    put(&mut log, Kind::MandatePut, |body| body.mandate_version = Some(5));
    answer(&mut log, credential(1), Outcome::Escalate, |body| body.mandate_version = Some(5));
    let report = read(&log);
    assert_held(&report);
    let narrowed = &report.narrowing.unwrap()[0];
    assert_eq!((narrowed.answers, narrowed.changes), (2, 4));
    assert_eq!((narrowed.first, narrowed.last, narrowed.size, narrowed.gaps.len()), (0, 5, 6, 0));
}

#[test]
fn an_answer_under_an_older_version_is_named_with_the_change_it_ignored() {
    fn version(body: &mut Body, kind: Kind) -> &mut Option<u64> {
        if kind == Kind::MandatePut {
            &mut body.mandate_version
        } else if kind == Kind::PolicyPut {
            &mut body.policy_version
        } else {
            &mut body.catalogue_version
        }
    }
    for (kind, field) in [
        (Kind::MandatePut, "mandate_version"),
        (Kind::PolicyPut, "policy_version"),
        (Kind::CataloguePut, "catalogue_version"),
    ] {
        let mut log = TestLog::new(1);
        answer(&mut log, credential(1), Outcome::Allow, |_| {});
        put(&mut log, kind, |body| *version(body, kind) = Some(9));
        answer(&mut log, credential(2), Outcome::Refuse, |body| *version(body, kind) = Some(8));
        assert_named(&log, 2, field, 1);

        // Without the change in what was read, two answers contradict each other.
        let mut log = TestLog::new(1);
        answer(&mut log, credential(1), Outcome::Allow, |body| *version(body, kind) = Some(9));
        answer(&mut log, credential(2), Outcome::Allow, |body| *version(body, kind) = Some(8));
        assert_named(&log, 1, field, 0);

        // A version that was used before it went live.
        let mut log = TestLog::new(1);
        answer(&mut log, credential(1), Outcome::Allow, |body| *version(body, kind) = Some(9));
        put(&mut log, kind, |body| *version(body, kind) = Some(9));
        assert_named(&log, 1, field, 0);
    }
}

#[test]
fn the_mandate_of_one_person_says_nothing_of_another() {
    let mut log = TestLog::new(1);
    put(&mut log, Kind::MandatePut, |body| body.mandate_version = Some(9));
    answer(&mut log, credential(1), Outcome::Allow, |body| {
        body.principal = Some(crate::domain::PrincipalId::new(at(0), [8; 10]));
    });
    assert_held(&read(&log));
}

#[test]
fn a_revoked_credential_its_children_and_a_retired_agent_get_nothing_but_refusals() {
    let revoke = |log: &mut TestLog, ended: &[u8]| {
        let ended: Vec<_> = ended.iter().map(|number| credential(*number)).collect();
        log.act(
            Kind::CredentialRevoke,
            &person().to_string(),
            ended.first().copied(),
            json!({"revoked": ended}),
            |_| {},
        );
    };
    let mut log = TestLog::new(1);
    answer(&mut log, credential(1), Outcome::Allow, |_| {});
    revoke(&mut log, &[1]);
    answer(&mut log, credential(1), Outcome::Refuse, |_| {});
    answer(&mut log, credential(2), Outcome::Allow, |_| {});
    assert_held(&read(&log));
    answer(&mut log, credential(1), Outcome::Escalate, |_| {});
    assert_named(&log, 4, "outcome", 1);

    // A child that the revocation lists, and one that it forgot.
    let mut log = TestLog::new(1);
    revoke(&mut log, &[1, 2]);
    answer(&mut log, credential(2), Outcome::Allow, |_| {});
    assert_named(&log, 1, "outcome", 0);
    let mut log = TestLog::new(1);
    for (parent, child) in [(1, 2), (2, 3)] {
        let parent = credential(parent);
        log.act(
            Kind::CredentialDerive,
            &parent.to_string(),
            Some(parent),
            json!({"id": credential(child)}),
            |_| {},
        );
    }
    revoke(&mut log, &[1]);
    answer(&mut log, credential(3), Outcome::Allow, |_| {});
    assert_named(&log, 3, "outcome", 2);

    let mut log = TestLog::new(1);
    log.act(Kind::AgentRetire, &person().to_string(), None, json!({"revoked": []}), |body| {
        body.agent = Some(agent());
    });
    answer(&mut log, credential(1), Outcome::Allow, |_| {});
    assert_named(&log, 1, "outcome", 0);
}

#[test]
fn what_was_not_read_is_named() {
    let log = TestLog::with_calls(10);
    let lines: Vec<_> = [1, 2, 5, 8].iter().map(|index| log.line_json(*index, 10)).collect();
    let report = run(&[("some", jsonl(&lines))], ASKED);
    assert_held(&report);
    let narrowed = &report.narrowing.unwrap()[0];
    assert_eq!(narrowed.gaps, [(0, 0), (3, 4), (6, 7), (9, 9)]);
}
