//! Exports whose own keeper lies: every hash and signature fits, the story does not.

use super::super::fixture::ORIGIN;
use super::*;
use crate::evidence::export::Header;
use crate::evidence::note::sign_checkpoint;

/// The calls of the first credential stand at the even indices.
fn log() -> TestLog {
    TestLog::with_calls(8)
}

fn with_header(change: impl FnOnce(&mut Header)) -> Report {
    let mut log = log();
    let mut header = log.header(1, None, None);
    change(&mut header);
    one(log.export_as(&header, &[0, 2, 4, 6], 8, |_| {}))
}

fn with_lines(lines: &[usize]) -> Report {
    let mut log = log();
    let header = log.header(1, None, None);
    one(log.export_as(&header, lines, 8, |_| {}))
}

fn with_manifest(member: &str, value: Value) -> Report {
    let mut log = log();
    let header = log.header(1, None, None);
    one(log.export_as(&header, &[0, 2, 4, 6], 8, |manifest| manifest[member] = value))
}

#[test]
fn the_header_must_be_of_the_log_its_checkpoint_is_of() {
    assert_held(&with_header(|_| {}));
    assert_fails_at(&with_header(|header| header.origin = "x/log/acme-emea".into()), "origin");
    assert_fails_at(&with_header(|header| header.size = 7), "size");
    assert_fails_at(&with_header(|header| header.root = TestLog::stray_leaf()), "root");
    assert_fails_at(&with_header(|header| header.tenant = "other".parse().unwrap()), "merkle.checkpoint");
    assert_fails_at(&with_header(|header| (header.from, header.until) = (Some(at(9)), Some(at(9)))), "until");
    assert_fails_at(&with_header(|header| header.at = at(100)), "at");
}

#[test]
fn lines_must_be_under_the_headers_key_and_not_older_than_its_checkpoint() {
    // Another tenant's header, rightly signed by its own log.
    let another = crate::crypto::SigningKey::from_seed(&[2; 32]).unwrap();
    let report = with_header(|header| {
        header.key = TestLog::new(2).key().to_string().into();
        header.checkpoint = sign_checkpoint(&another, ORIGIN, 8, header.root).into();
    });
    assert_fails_at(&report, "merkle.key");
    let report = with_header(|header| {
        let origin = "procura.example/log/other";
        header.tenant = "other".parse().unwrap();
        header.origin = origin.into();
        header.key = VerifierKey::new(origin, another.public()).unwrap().to_string().into();
        header.checkpoint = sign_checkpoint(&another, origin, 8, header.root).into();
    });
    assert_fails_at(&report, "tenant");

    let mut log = log();
    let header = log.header(1, None, None);
    assert_fails_at(&one(log.export_as(&header, &[0, 2], 7, |_| {})), "merkle.size");
}

#[test]
fn a_chain_is_told_from_its_beginning_and_without_gaps() {
    assert_fails_at(&with_lines(&[0, 2, 6]), "seq");
    assert_fails_at(&with_lines(&[2, 4, 6]), "seq");
    assert_fails_at(&with_lines(&[0, 2, 2]), "seq");
    assert_fails_at(&with_lines(&[0, 4, 2]), "seq");
    assert_fails_at(&with_lines(&[0, 1, 2]), "credential");
}

#[test]
fn lines_lie_in_the_time_of_the_export() {
    let window = |from, until| with_header(|header| (header.from, header.until) = (from, until));
    assert_held(&window(Some(at(0)), Some(at(7))));
    assert_fails_at(&window(Some(at(1)), None), "at");
    assert_fails_at(&window(None, Some(at(6))), "at");
}

#[test]
fn the_manifest_must_be_true_of_the_lines() {
    let zero = json!(crate::domain::Hash::ZERO.to_string());
    for (member, value) in [
        ("lines", json!(5)),
        ("chains", json!([])),
        ("first", Value::Null),
        ("last", zero.clone()),
        ("digest", zero.clone()),
        ("header", zero),
    ] {
        assert_fails_at(&with_manifest(member, value), &format!("output.{member}"));
    }
    assert_fails_at(&with_manifest("more", json!(1)), "/output/more");
}

#[test]
fn nothing_that_can_be_taken_away_stands_on_the_manifests_line() {
    let mut lines = parsed(&log().export(1, None, None));
    lines.last_mut().unwrap()["content"] = json!({});
    assert_fails_at(&one(jsonl(&lines)), "content");
}

mod subjects {
    //! Exports of more than one credential.

    use super::*;
    use crate::evidence::subject::Subject;

    fn of(subject: Subject, lines: &[usize], change: impl FnOnce(&mut Header)) -> Report {
        let mut log = log();
        let mut header = log.header(1, None, None);
        header.subject = subject;
        change(&mut header);
        one(log.export_as(&header, lines, 8, |_| {}))
    }

    #[test]
    fn a_tenants_export_holds_every_leaf_of_the_log() {
        let whole = |lines: &[usize]| of(Subject::Tenant, lines, |_| {});
        assert_held(&whole(&[0, 1, 2, 3, 4, 5, 6, 7]));
        assert_fails_at(&whole(&[0, 1, 2, 3, 4, 5, 6]), "output.lines");
        assert_fails_at(&whole(&[]), "output.lines");
        assert_fails_at(&whole(&[0, 1, 3, 4, 5, 6, 7]), "merkle.index");
        assert_fails_at(&whole(&[0, 2, 1, 3, 4, 5, 6, 7]), "merkle.index");
        assert_fails_at(&whole(&[1, 2, 3, 4, 5, 6, 7]), "merkle.index");
        let window = |lines: &[usize], from, until| {
            of(Subject::Tenant, lines, |header| (header.from, header.until) = (from, until))
        };
        assert_held(&window(&[2, 3, 4], Some(at(2)), Some(at(5))));
        assert_held(&window(&[2, 3, 4, 5, 6, 7], Some(at(2)), None));
        assert_held(&window(&[], Some(at(8)), None));
        assert_held(&window(&[0, 1, 2], None, Some(at(3))));
        assert_fails_at(&window(&[2, 4], Some(at(2)), Some(at(5))), "merkle.index");
        assert_fails_at(&window(&[2, 3, 4], Some(at(2)), None), "output.lines");
    }

    #[test]
    fn an_export_of_a_person_holds_their_chains_without_gaps() {
        let person = Subject::Principal(super::super::super::fixture::person());
        assert_held(&of(person, &[0, 1, 2, 3, 4, 5, 6, 7], |_| {}));
        assert_held(&of(person, &[0, 1, 2, 4, 6], |_| {}));
        assert_fails_at(&of(person, &[0, 1, 2, 5], |_| {}), "seq");
        assert_fails_at(&of(person, &[0, 2, 1], |_| {}), "merkle.index");
        let stranger = Subject::Principal(crate::domain::PrincipalId::new(at(0), [8; 10]));
        assert_fails_at(&of(stranger, &[0], |_| {}), "principal");
        assert_held(&of(stranger, &[], |_| {}));
        let agent = Subject::Agent(crate::domain::AgentId::new(at(0), [8; 10]));
        assert_fails_at(&of(agent, &[0], |_| {}), "agent");
    }

    #[test]
    fn a_header_names_one_subject_and_no_other_tenant() {
        let mut log = log();
        let text = log.export(1, None, None);
        let stated = parsed(&text)[0]["subject"].clone();
        for subject in [
            json!({}),
            json!({"tenant": "other"}),
            json!({"tenant": "acme-emea", "credential": stated["credential"]}),
            json!({"credential": stated["credential"], "agent": null}),
            json!({"credential": 1}),
            json!({"everybody": true}),
            json!("tenant"),
        ] {
            let mut lines = parsed(&text);
            lines[0]["subject"] = subject.clone();
            let failure = one(jsonl(&lines)).failure.expect("it must not hold");
            assert!(failure.field.starts_with("/subject"), "{subject}: {failure}");
        }
    }
}
