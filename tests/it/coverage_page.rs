//! Coverage on its page: a list is pasted or comes as a file, and nothing of it is lost when something is wrong.

use crate::agent::Agent;
use crate::coverage::{LIST, charge, set_up};
use crate::database::{Db, both};
use crate::server::{OPERATOR, PASSWORD, Server, TENANT};
use crate::visitor::Visitor;
use serde_json::json;

both!(
    a_list_is_compared_on_the_page_and_each_row_leads_to_its_receipt,
    the_answer_is_fetched_as_a_table,
    a_list_with_a_fault_is_kept_and_the_fault_named,
    a_list_that_is_too_long_is_refused_in_words,
    the_page_is_for_those_who_see_the_tenants_log,
    another_tenants_effects_are_not_in_the_ledger,
);

const NAMES: [(&str, &str); 5] =
    [("reference", "id"), ("amount", "total"), ("currency", "cur"), ("time", "when"), ("key", "idem")];

/// Effects of every sort that `LIST` speaks of, and somebody of compliance at the pages; the receipts of those that
/// differ and that were never done.
fn compared(db: Db) -> (Server, Visitor, String, String) {
    let (server, agent) = set_up(db);
    charge(&agent, "24.00", "EUR", Some(("done", "ch_1")), "key-1");
    let (_, differs) = charge(&agent, "5.00", "EUR", Some(("done", "ch_2")), "key-2");
    charge(&agent, "1500", "JPY", Some(("done", "ch_yen")), "key-3");
    charge(&agent, "7.00", "EUR", Some(("failed", "ch_failed")), "key-4");
    let (_, never) = charge(&agent, "6.00", "EUR", None, "key-5");
    charge(&agent, "8.00", "EUR", Some(("done", "reported-otherwise")), "key-7");
    server.person(TENANT, "c@example.test", &["compliance"]);
    let visitor = Visitor::signed_in(&server, "c@example.test");
    (server, visitor, differs, never)
}

/// The part of a page between the heading of a list and the next.
#[track_caller]
fn part<'a>(page: &'a str, anchor: &str) -> &'a str {
    let start = format!("<h2 id=\"{anchor}\">");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {anchor}: {page}"));
    rest.split("<h2").next().unwrap()
}

fn a_list_is_compared_on_the_page_and_each_row_leads_to_its_receipt(db: Db) {
    let (_server, mut visitor, differs, never) = compared(db);
    assert!(visitor.page("/queue").contains("href=\"/coverage\""), "it stands in the menu");
    let mut fields = NAMES.to_vec();
    fields.extend([("intent", "payments.*"), ("from", "2026-01-01T00:00")]);
    let pasted = [&fields[..], &[("list", LIST)]].concat();
    let by_hand = visitor.submit("/coverage", "/coverage", &pasted);
    let by_file = visitor.upload("/coverage", "/coverage", &fields, ("charges.csv", LIST.as_bytes()));
    for reply in [by_hand, by_file] {
        assert_eq!(reply.status, 200, "{}", reply.text);
        let page = &reply.text;
        assert!(page.contains("List and ledger differ"), "{page}");
        for (anchor, count, holds) in [
            ("missing-receipt", 1, "ch_ghost"),
            ("amounts-differ", 1, &*differs),
            ("never-done", 1, &*never),
            ("not-settled", 1, "ch_failed"),
            ("duplicates", 1, "repeats line 2"),
            ("malformed", 1, "`total`: `15.5` has 1 decimal digits, JPY has 0"),
            ("matched", 3, "ch_yen"),
        ] {
            let part = part(page, anchor);
            assert!(
                part.contains(&format!("\">{count}</span></h2>")) && part.contains(holds),
                "{anchor}: {part}"
            );
            assert_eq!(part.matches("<tr>").count(), count + 1, "{anchor}: {part}");
        }
        assert!(part(page, "missing-receipt").contains(">4</span>"), "its line");
        assert!(page.contains("1 line is outside the time"), "{page}");
        assert!(page.contains(&format!("href=\"/calls/receipts/{differs}.json\"")), "{page}");
        assert!(
            page.contains("ch_ghost,900.00,EUR") && page.contains("value=\"idem\""),
            "the form is as it was sent"
        );
    }
    assert_eq!(visitor.get(&format!("/calls/receipts/{differs}.json")).status, 200, "and it leads there");
    let agreeing = [("intent", "payments.none"), ("list", "reference\r\n")];
    let reply = visitor.submit("/coverage", "/coverage", &agreeing);
    assert!(reply.text.contains("List and ledger agree"), "{}", reply.text);
}

fn the_answer_is_fetched_as_a_table(db: Db) {
    let (_server, mut visitor, differs, _) = compared(db);
    let mut fields = NAMES.to_vec();
    fields.extend([("list", LIST), ("as", "csv")]);
    let reply = visitor.submit("/coverage", "/coverage", &fields);
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert!(reply.header("content-type").unwrap().starts_with("text/csv"));
    let name = reply.header("content-disposition").unwrap();
    assert!(
        name.starts_with("attachment; filename=\"coverage-harbour-20") && name.ends_with(".csv\""),
        "{name}"
    );
    let rows: Vec<&str> = reply.text.split("\r\n").collect();
    assert!(rows[0].starts_with("list,line,reference,listed,"), "{}", reply.text);
    let of = |sort: &str| rows.iter().filter(|row| row.starts_with(&format!("{sort},"))).count();
    let sorts = ["missing_receipt", "amounts_differ", "not_settled", "duplicates", "malformed", "matched"];
    assert_eq!(sorts.map(of), [2, 1, 1, 1, 1, 3], "{}", reply.text);
    let row = rows.iter().find(|row| row.starts_with("amounts_differ")).unwrap();
    assert!(row.contains("5.01,EUR,5.00,EUR") && row.ends_with(&differs), "{row}");
}

fn a_list_with_a_fault_is_kept_and_the_fault_named(db: Db) {
    let (_server, mut visitor, ..) = compared(db);
    let list = "ref,amount\nch_1,24.00\n";
    for (more, says) in [
        (("list", list), "there is no column `reference`: ref, amount found"),
        (("list", "  \n"), "there is no list"),
        (("until", "2019-01-01T00:00"), "is not after"),
        (("from", "yesterday"), "is not a day and time"),
        (("intent", "Pay!"), "Pay!"),
    ] {
        let mut fields: Vec<(&str, &str)> = vec![("amount", "total of it"), ("key", "")];
        let usual = [("list", list), ("from", "2020-01-01T00:00"), ("until", ""), ("intent", "payments.*")];
        fields.extend(usual.iter().map(|usual| if usual.0 == more.0 { more } else { *usual }));
        let reply = visitor.submit("/coverage", "/coverage", &fields);
        assert_eq!(reply.status, 422, "{more:?}: {}", reply.text);
        assert!(reply.text.contains("role=\"alert\"") && reply.text.contains(says), "{says}: {}", reply.text);
        for (name, value) in fields.iter().filter(|(name, _)| *name != "list") {
            let kept = format!("name=\"{name}\"");
            let field = reply.text.split('<').find(|tag| tag.contains(&kept)).unwrap();
            assert!(field.contains(&format!("value=\"{value}\"")), "{name}: {field}");
        }
        assert!(more.0 == "list" || reply.text.contains(list), "{}", reply.text);
    }
    // A file that is not UTF-8 is told where, a file with a fault is there to be mended.
    let latin = visitor.upload("/coverage", "/coverage", &[], ("l.csv", b"reference,note\nch_1,caf\xe9\n"));
    assert_eq!(latin.status, 200, "{}", latin.text);
    assert!(part(&latin.text, "malformed").contains("`note`: its byte 4 is not UTF-8"), "{}", latin.text);
    assert!(latin.text.contains("choose it once more"), "{}", latin.text);
    let with_mark = "\u{FEFF}reference,amount\r\nch_1\r\n";
    let short = visitor.upload("/coverage", "/coverage", &[], ("s.csv", with_mark.as_bytes()));
    let told = part(&short.text, "malformed");
    assert!(told.contains(">2</span>") && told.contains("`amount` is the first that is missing"), "{told}");
    assert!(
        short.text.contains("reference,amount\nch_1\n") && !short.text.contains("FEFF"),
        "{}",
        short.text
    );
}

fn a_list_that_is_too_long_is_refused_in_words(db: Db) {
    let (_server, mut visitor, ..) = compared(db);
    let long = format!("reference\n{}", "x\n".repeat(2 << 20));
    let reply =
        visitor.upload("/coverage", "/coverage", &[("intent", "payments.*")], ("l.csv", long.as_bytes()));
    assert_eq!(reply.status, 422, "{}", reply.text);
    assert!(reply.text.contains("4194304 are taken here: divide it by time"), "{}", reply.text);
    assert!(reply.text.contains("value=\"payments.*\""), "{}", reply.text);
    let longer = long.repeat(3);
    let reply = visitor.upload("/coverage", "/coverage", &[], ("l.csv", longer.as_bytes()));
    assert_eq!(reply.status, 413, "{}", reply.text);
    assert!(reply.text.contains("The body is too large"), "{}", reply.text);
}

fn the_page_is_for_those_who_see_the_tenants_log(db: Db) {
    let (server, mut visitor, ..) = compared(db);
    let token = crate::visitor::hidden(&visitor.page("/coverage"), "csrf");
    assert_eq!(Visitor::new(&server).get("/coverage").header("location"), Some("/sign-in?next=/coverage"));
    for who in ["m@example.test", OPERATOR] {
        let mut other = Visitor::new(&server);
        other.sign_in(who, PASSWORD, None);
        let queue = other.page("/queue");
        assert!(!queue.contains("/coverage"), "{who}: {queue}");
        let own = crate::visitor::hidden(&queue, "csrf");
        let sent = other.post("/coverage", &[], &[("csrf", &own), ("list", LIST)]);
        for reply in [other.get("/coverage"), sent] {
            assert_eq!(reply.status, 403, "{who}: {}", reply.text);
            assert!(reply.text.contains("needs the role compliance") && !reply.text.contains("ch_ghost"));
        }
        // Whoever may not send it is told so before any of it is read.
        assert_eq!(other.post("/coverage", &[], &[("csrf", &token), ("list", LIST)]).status, 403);
        let forged = visitor.post("/coverage", &[], &[("csrf", &own), ("list", LIST)]);
        assert!(forged.status == 403 && forged.text.contains("This form is not taken"), "{}", forged.text);
    }
    let page = visitor.get("/coverage");
    assert!(page.header("content-security-policy").unwrap().contains("form-action 'self'"));
}

fn another_tenants_effects_are_not_in_the_ledger(db: Db) {
    let mut server = Server::set_up(db, &[TENANT, "quay"]);
    server.serve();
    let entry = json!({"title": "charge", "effect": true, "arguments": {"type": "object", "properties": {}}});
    let mandate = json!({
        "scopes": crate::documents::ACTING_SCOPES,
        "clauses": [{"id": "M-001", "intent": "*", "effect": "allow"}],
    });
    let member = server.person("quay", "m@example.test", &["member"]);
    server.sign_in("quay", OPERATOR).put("/v1/catalogue/payments.charge", &[], &entry).expect(200);
    member.put_mandate(&mandate);
    let agent = Agent::new(&member, "theirs");
    let allowed =
        agent.evaluate(&json!({"intent": "payments.charge", "arguments": {}})).expect_outcome("allow");
    let effect = allowed["effect"]["id"].as_str().unwrap();
    let report = json!({"status": "done", "reference": "ch_1"});
    agent.post(&format!("/v1/effects/{effect}/outcome"), &report).expect(200);
    server.person(TENANT, "c@example.test", &["compliance"]);
    let mut visitor = Visitor::signed_in(&server, "c@example.test");
    let fields = [("list", "reference,key\nch_1,k\n"), ("key", "key")];
    let page = visitor.submit("/coverage", "/coverage", &fields).text;
    assert!(part(&page, "missing-receipt").contains("ch_1"), "{page}");
    for theirs in [effect, allowed["receipt"]["id"].as_str().unwrap()] {
        assert!(!page.contains(theirs), "{theirs}: {page}");
    }
    assert!(page.contains("0 effects of the ledger"), "{page}");
}
