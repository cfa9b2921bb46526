//! The receipt explorer in a real browser: it says of every receipt what `procura verify` says, and sends nothing.

use crate::agent::Agent;
use crate::browser::Browser;
use crate::client::Client;
use crate::database::Db;
use crate::documents::{refund, small_refunds, with};
use crate::log::{lines, verify};
use crate::server::{Folder, Server};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// How long the page may take to check what was pasted.
const PATIENCE: Duration = Duration::from_secs(20);
const WYCHEPROOF: &str = include_str!("../vectors/wycheproof/ed25519_test.json");

/// A browser at the explorer, and what there is to explore.
struct Explorer {
    server: Server,
    member: Client,
    browser: Browser,
    /// Two answers of one credential, the second right after the first.
    answers: [Value; 2],
}

impl Explorer {
    #[track_caller]
    fn open() -> Self {
        let server = Server::start(Db::Sqlite);
        let member = server.member_with("m@example.test", &small_refunds());
        let agent = Agent::new(&member, "runner");
        let action = with(
            &refund("5.00"),
            "arguments",
            json!({"note": "late \u{1F69A}", "rate": 0.1, "n": 12_345_678}),
        );
        let action = with(&action, "counterparty", "acct:cus_91");
        let answers = [(); 2].map(|()| agent.evaluate(&action).expect_outcome("allow"));
        let mut browser = Browser::start();
        browser.open(&format!("{}/verify", server.base()));
        Self { server, member, browser, answers }
    }

    /// A receipt with its documents.
    #[track_caller]
    fn line(&self, place: usize) -> Value {
        let id = self.answers[place]["receipt"]["id"].as_str().unwrap();
        self.member.get(&format!("/v1/receipts/{id}")).expect(200)
    }

    /// Pastes a text and has it verified; the page's verdict.
    #[track_caller]
    fn verdict(&mut self, text: &str) -> String {
        let paste = format!(
            "document.querySelector('#summary').dataset.verdict = ''; \
             document.querySelector('#receipt').value = {}; document.querySelector('#explorer button').click()",
            json!(text)
        );
        self.browser.ask(&paste);
        let since = Instant::now();
        loop {
            let verdict = self.browser.ask("document.querySelector('#summary').dataset.verdict");
            match verdict.as_str() {
                Some(told @ ("holds" | "fails" | "unreadable")) => return told.to_owned(),
                _ => assert!(since.elapsed() < PATIENCE, "no verdict: {}", self.browser.text()),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Every field that is told of with its verdict, in order.
    fn rows(&mut self) -> Vec<(String, String)> {
        let all = "[...document.querySelectorAll('#results li[data-field]')].map((row) => [row.dataset.field, row.dataset.verdict])";
        serde_json::from_value(self.browser.ask(all)).unwrap()
    }

    fn fields(&mut self, verdict: &str) -> Vec<String> {
        self.rows().into_iter().filter(|(_, found)| found == verdict).map(|(field, _)| field).collect()
    }

    /// The page must say what the command says; the fields it names.
    #[track_caller]
    fn check_same(&mut self, what: &str, text: &str) -> Vec<String> {
        let output = verify(&Folder::new(), text);
        let wanted = match output.status.code() {
            Some(0) => "holds",
            Some(1) => "fails",
            _ => "unreadable",
        };
        let found = self.verdict(text);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(found, wanted, "{what}: the command says {said}, the page {}", self.browser.text());
        self.fields("fails")
    }
}

#[test]
fn a_true_receipt_holds_field_by_field_and_nothing_leaves_the_browser() {
    let mut explorer = Explorer::open();
    let requests = explorer.browser.requests();
    assert!(requests.iter().any(|url| url.ends_with("/static/explorer/json.js")), "{requests:?}");
    let both = lines(&[explorer.line(0), explorer.line(1)]);
    assert_eq!(explorer.verdict(&both), "holds", "{}", explorer.browser.text());
    let mut holding = explorer.fields("holds");
    holding.retain(|field| !field.starts_with("content"));
    let every = [
        "hash",
        "input_hash",
        "output_hash",
        "leaf",
        "merkle.path",
        "merkle.checkpoint",
        "merkle.size",
        "merkle.root",
    ];
    let with_link = [&every[..], &["prev"]].concat();
    assert_eq!(
        holding.iter().filter(|field| *field == "prev").count(),
        2,
        "the first of its chain, and a link"
    );
    for field in with_link {
        assert_eq!(holding.iter().filter(|found| *found == field).count(), 2, "{field}: {holding:?}");
    }
    let opened =
        explorer.fields("holds").iter().filter(|field| field.starts_with("content /input/request/")).count();
    assert_eq!(opened, 6, "counterparty, resource and arguments, twice");
    assert_eq!(explorer.fields("open"), ["auth", "merkle.key", "auth", "merkle.key"]);
    for whole in [explorer.answers[0].clone(), explorer.answers[0]["receipt"].clone()] {
        assert_eq!(explorer.verdict(&format!("{whole:#}")), "holds", "{}", explorer.browser.text());
    }

    let key = explorer.answers[0]["receipt"]["merkle"]["key"].as_str().unwrap().to_owned();
    let give = |key: &str| format!("document.querySelector('#key').value = {}", json!(key));
    explorer.browser.ask(&give(&key));
    assert_eq!(explorer.verdict(&both), "holds");
    assert!(!explorer.fields("open").contains(&"merkle.key".to_owned()));
    explorer.browser.ask(&give("other.example/log/x+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"));
    assert_eq!(explorer.verdict(&both), "fails");
    assert_eq!(explorer.fields("fails"), ["merkle.key", "merkle.key"]);

    assert_eq!(explorer.browser.requests(), requests, "nothing was asked for after the page had come");
    let try_to_send = "fetch('/healthz').then(() => 'sent', () => 'kept')";
    assert_eq!(explorer.browser.wait_for(try_to_send), "kept", "the page's own policy forbids it");
}

#[test]
fn the_page_is_public_and_strict() {
    let server = Server::start(Db::Sqlite);
    let page = server.client().get("/verify");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("connect-src 'none'") && policy.contains("form-action 'none'"), "{policy}");
    let other = server.client().get("/sign-in");
    assert!(other.header("content-security-policy").unwrap().contains("form-action 'self'"));
    assert!(other.text.contains("href=\"/verify\""), "every page leads there");
    for part in ["explorer.js", "explorer/json.js", "explorer/file.js"] {
        let script = server.client().get(&format!("/static/{part}"));
        assert_eq!(
            (script.status, script.header("content-type")),
            (200, Some("text/javascript; charset=utf-8"))
        );
    }
    server.client().get("/static/explorer/other.js").expect_problem(404);
}

/// Another value of the same kind.
fn altered(value: &Value) -> Value {
    match value {
        Value::Null => json!(0),
        Value::Bool(is) => json!(!is),
        Value::Number(number) => number.as_u64().map_or_else(|| json!(7.25), |number| json!(number + 1)),
        Value::String(text) => {
            // A letter in the middle turned into another of its alphabet, so that the form stays.
            let place = text.char_indices().nth(text.chars().count() * 2 / 3).map_or(0, |(place, _)| place);
            let (before, after) = text.split_at(place);
            let letter = after.chars().next().unwrap_or('0');
            let other = if letter == '1' { '0' } else { '1' };
            json!(format!("{before}{other}{}", after.get(letter.len_utf8()..).unwrap_or_default()))
        }
        Value::Array(items) => json!([items.as_slice(), &[json!("sha256:00")]].concat()),
        Value::Object(members) => {
            let mut more = members.clone();
            more.insert("zz".into(), json!(1));
            Value::Object(more)
        }
    }
}

/// Every place in a value, as a pointer.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                places(member, &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                places(item, &format!("{here}/{place}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_changed_field_is_named_and_the_verdict_is_that_of_the_command() {
    let mut explorer = Explorer::open();
    let line = explorer.line(1);
    let mut all = Vec::new();
    places(&line, "", &mut all);
    for place in all {
        let mut changed = line.clone();
        let there = changed.pointer_mut(&place).unwrap();
        *there = altered(there);
        let named = explorer.check_same(&place, &changed.to_string());
        let segments: Vec<&str> = place.split('/').skip(1).collect();
        let own: Vec<String> = match segments[..] {
            [] | ["receipt"] => vec!["zz".into()],
            ["receipt", "merkle"] => vec!["merkle.zz".into()],
            ["receipt", "merkle", "path", ..] | ["receipt", "auth"] => vec!["merkle.path".into()],
            ["receipt", "merkle", name] => vec![format!("merkle.{name}"), "merkle.path".into()],
            ["receipt", name] => vec![name.into(), "hash".into()],
            ["content", ..] => vec!["content".into()],
            [name, ..] => vec![format!("{name}_hash")],
        };
        let is_named = named.iter().any(|field| own.iter().any(|name| field.starts_with(name)));
        assert!(is_named, "{place}: {own:?} is not among {named:?}");
        if let Some((parent, name)) = place.rsplit_once('/') {
            let mut shorter = line.clone();
            if let Some(members) = shorter.pointer_mut(parent).and_then(Value::as_object_mut) {
                members.remove(&name.replace("~1", "/").replace("~0", "~"));
                explorer.check_same(&format!("without {place}"), &shorter.to_string());
            }
        }
    }
    let incidents = explorer.browser.incidents();
    assert!(incidents.is_empty(), "{incidents:#?}");
}

#[test]
fn whatever_is_pasted_the_verdict_is_that_of_the_command() {
    let mut explorer = Explorer::open();
    let (first, second) = (explorer.line(0), explorer.line(1));
    let text = second.to_string();
    let answer = explorer.answers[1].clone();
    let id = first["receipt"]["id"].as_str().unwrap();
    let export = explorer.member.get(&format!(
        "/v1/credentials/{}/calls/export?format=jsonl",
        first["receipt"]["credential"].as_str().unwrap()
    ));
    let (_, part) = export.text.split_once('\n').unwrap();
    let mut forked = second.clone();
    forked["receipt"]["merkle"] = first["receipt"]["merkle"].clone();
    let sorted: Map<String, Value> = second.as_object().unwrap().clone().into_iter().rev().collect();
    for (what, pasted) in [
        ("the two in order", lines(&[first.clone(), second.clone()])),
        ("the two the other way round", lines(&[second.clone(), first.clone()])),
        ("one of them twice", lines(&[second.clone(), second.clone()])),
        ("over several lines", format!("{:#}", Value::Object(sorted))),
        ("an answer", answer.to_string()),
        ("an answer with another reason", with(&answer, "reason", "because").to_string()),
        ("an answer with more in it", with(&answer, "more", 1).to_string()),
        ("an answer with less in it", {
            let mut less = answer.clone();
            less.as_object_mut().unwrap().remove("clauses");
            less.to_string()
        }),
        ("a bare receipt", answer["receipt"].to_string()),
        ("the place of another", forked.to_string()),
        ("lines of an export without its header", part.to_owned()),
        ("a member twice", text.replacen("\"input\":", "\"input\":{},\"input\":", 1)),
        ("a member twice in a document", text.replacen("\"n\":12345678", "\"n\":12345678,\"n\":12345678", 1)),
        ("a number written otherwise", text.replacen("\"n\":12345678", "\"n\":1234567.8e1", 1)),
        (
            "a number that no double holds",
            text.replacen("\"n\":12345678", "\"n\":12345678.000000000000000001", 1),
        ),
        ("another number", text.replacen("\"n\":12345678", "\"n\":12345679", 1)),
        ("half a pair of surrogates", text.replacen("late ", "late \\ud83d ", 1)),
        ("a letter written as an escape", text.replacen("late ", "l\\u0061te ", 1)),
        ("cut short", text[..text.len() - 1].to_owned()),
        ("something after it", format!("{text}x")),
        ("a damaged line before a good one", format!("{}x\n{text}\n", &text[..40])),
        ("a damaged line after a good one", format!("{text}\n{}\n", &text[..40])),
        ("another object after a good one", format!("{text}\n{{\"x\":1}}\n")),
        ("nested very deep", format!("{}1{}", "{\"receipt\":".repeat(60), "}".repeat(60))),
        ("an id", id.to_owned()),
        ("an empty object", "{}".to_owned()),
        ("a list", "[]".to_owned()),
    ] {
        explorer.check_same(what, &pasted);
    }
    let hostile = json!({"receipt": {"id": "<img src=x onerror=alert(1)>", "kind": "\u{202e}<script>alert(1)</script>"}, "input": 1, "output": 2});
    assert_eq!(explorer.verdict(&hostile.to_string()), "fails");
    assert_eq!(explorer.browser.ask("document.querySelectorAll('#results img, #results script').length"), 0);
    assert!(!explorer.browser.text().contains('\u{202e}'));
    let incidents = explorer.browser.incidents();
    assert!(incidents.is_empty(), "{incidents:#?}");
}

#[test]
fn a_browser_without_ed25519_comes_to_the_same() {
    let mut explorer = Explorer::open();
    let without = "const importKey = SubtleCrypto.prototype.importKey; SubtleCrypto.prototype.importKey = function (format, key, algorithm, ...rest) { \
                   return algorithm?.name === 'Ed25519' ? Promise.reject(new DOMException('no', 'NotSupportedError')) : importKey.call(this, format, key, algorithm, ...rest); }";
    let line = explorer.line(1);
    assert_eq!(explorer.verdict(&line.to_string()), "holds");
    assert!(explorer.browser.text().contains("as the browser found"));
    explorer.browser.order("Page.addScriptToEvaluateOnNewDocument", &json!({"source": without}));
    let address = format!("{}/verify", explorer.server.base());
    explorer.browser.open(&address);
    assert_eq!(explorer.verdict(&line.to_string()), "holds");
    assert!(
        explorer.browser.text().contains("as this page, since the browser knows no Ed25519 found"),
        "{}",
        explorer.browser.text()
    );
    for (what, from, to) in [("the size", "\\n", "\\n1"), ("the signature", "\\n\"", "A\\n\"")] {
        let note = line["receipt"]["merkle"]["checkpoint"].to_string();
        let changed = line.to_string().replacen(&note, &note.replacen(from, to, 1), 1);
        assert_ne!(changed, line.to_string());
        assert!(explorer.check_same(what, &changed).contains(&"merkle.checkpoint".to_owned()), "{what}");
    }
    // Wycheproof's cases, by what is worked out here and by the browser alike.
    let vectors: Value = serde_json::from_str(WYCHEPROOF).unwrap();
    let all = format!(
        "import('/static/explorer/ed25519.js').then(async ({{ verifyHere, verify }}) => {{ \
           const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16)); \
           const wrong = []; let count = 0; \
           for (const group of {}) for (const test of group.tests) {{ \
             const parts = [bytes(group.publicKey.pk), bytes(test.msg), bytes(test.sig)]; count += 1; \
             const found = [await verifyHere(...parts), (await verify(...parts)).holds]; \
             if (found.some((holds) => holds !== (test.result === 'valid'))) wrong.push(test.tcId); \
           }} return [count, wrong]; }})",
        vectors["testGroups"]
    );
    assert_eq!(explorer.browser.wait_for(&all), json!([vectors["numberOfTests"], []]));
}

#[test]
fn it_fits_a_phone_and_can_be_read_aloud() {
    let mut explorer = Explorer::open();
    let line = with(&explorer.line(1), "zz", 1).to_string();
    for width in [320, 390, 1200] {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500});
        explorer.browser.order("Emulation.setDeviceMetricsOverride", &size);
        assert_eq!(explorer.verdict(&line), "fails");
        let wide = explorer.browser.ask("document.documentElement.scrollWidth");
        assert!(wide.as_i64().unwrap() <= width, "{wide} is wider than {width}");
    }
    let unnamed = "[...document.querySelectorAll('input:not([type=hidden]), textarea')].filter((field) => field.labels.length === 0).length";
    assert_eq!(explorer.browser.ask(unnamed), 0);
    assert_eq!(explorer.browser.ask("document.querySelector('#summary').getAttribute('role')"), "status");
}
