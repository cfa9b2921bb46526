//! What must hold of any bytes at all: nothing panics, and what is accepted is written and read back as the same.

use procura::domain::{AgentId, AgentKind, ExternalName, PrincipalId, Scope, Scopes, Timestamp, json};
use procura::engine::{
    Action, Beside, CatalogueEntry, Change, CredentialClauses, Described, MandateDocument, Notation,
    PolicyDocument, Standing, Used, Verdict, admit_mandate, admit_policy, compare, compare_clauses,
    compare_policies, decide, looks, read_attested_request, read_text,
};
use procura::evidence::canonical;
use procura::screening::{Detection, NationalId, detect, masked};
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, sync::LazyLock};

/// A mandate with every condition and limit of the language, for every intent.
static EVERYTHING: LazyLock<Option<MandateDocument>> = LazyLock::new(|| {
    let value = read_text(include_bytes!("everything.yaml"), Notation::Yaml).ok()?;
    MandateDocument::read(&value).ok()
});

/// A request, with facts as an enforcement point states them: equal canonical bytes mean the same request and the same
/// answer, and its typed members, written out, read as themselves.
pub fn request(bytes: &[u8]) {
    let Ok(value) = json::parse(bytes) else { return };
    let Ok(described) = read_attested_request(&value) else { return };
    let again = read_attested_request(&reread(&value)).map_err(|fault| fault.to_string());
    same(&described, again, "through canonical JSON");
    let again = read_attested_request(&written(&described, &value)).map_err(|fault| fault.to_string());
    same(&described, again, "through its members");
}

/// A document in either notation: it means one thing, writes what it reads, and is unchanged beside itself.
pub fn document(bytes: &[u8]) {
    let of_json = read_text(bytes, Notation::Json).ok();
    let of_yaml = read_text(bytes, Notation::Yaml).ok();
    if let (Some(of_json), Some(of_yaml)) = (&of_json, &of_yaml) {
        assert_eq!(canonical::to_vec(of_json), canonical::to_vec(of_yaml), "one text, two meanings");
    }
    for value in [of_json, of_yaml].iter().flatten() {
        mandate(value);
        policy(value);
        clauses(value);
        entry(value);
    }
}

/// JSON in its canonical form (RFC 8785): the same as another implementation writes, and its own canonical form.
pub fn canonical(bytes: &[u8]) {
    let Ok(value) = json::parse(bytes) else { return };
    let ours = canonical::to_vec(&value);
    let theirs = serde_json_canonicalizer::to_vec(&value);
    assert_eq!(Some(&ours), theirs.ok().as_ref(), "`{}`", String::from_utf8_lossy(&ours));
    // Characters that needed no escape take less room than they were given, so the form is never refused for its size.
    assert_eq!(ours, canonical::to_vec(&reread(&value)));
}

/// A text that is screened: its values lie in it apart from each other, and masked it holds none.
pub fn screening(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let detection = Detection::of(NationalId::all().map(NationalId::as_str)).unwrap_or_default();
    for detection in [Detection::default(), detection] {
        let found = detect(&text, &detection);
        let mut rest = 0;
        for finding in &found {
            assert!(
                rest <= finding.span.start && text.get(finding.span.clone()).is_some(),
                "{finding:?} in {text:?}"
            );
            rest = finding.span.end;
        }
        if detection == Detection::default() {
            let shown = masked(&text, &found);
            assert!(detect(&shown, &detection).is_empty(), "{text:?} became {shown:?}");
        }
    }
}

fn mandate(value: &Value) {
    let Ok(document) = MandateDocument::read(value) else { return };
    let written = reread(&document.to_json());
    let again = MandateDocument::read(&written).map_err(|fault| fault.to_string());
    assert_eq!(Ok(&document), again.as_ref(), "{written}");
    assert_eq!(compare(&document, &document), Change::Unchanged, "{written}");
    admit_mandate(&document, None, Beside::default(), now());
    let again = admit_mandate(&document, Some(&document), Beside::default(), now());
    assert_eq!(again.errors, [], "what is live is kept out: {written}");
}

fn policy(value: &Value) {
    let Ok(document) = PolicyDocument::read(value) else { return };
    let written = reread(&document.to_json());
    let again = PolicyDocument::read(&written).map_err(|fault| fault.to_string());
    assert_eq!(Ok(&document), again.as_ref(), "{written}");
    assert_eq!(compare_policies(&document, &document), Change::Unchanged, "{written}");
    admit_policy(&document, None, None);
    assert_eq!(
        admit_policy(&document, Some(&document), None).errors,
        [],
        "what is live is kept out: {written}"
    );
}

fn clauses(value: &Value) {
    let Ok(document) = CredentialClauses::read(value) else { return };
    let written = reread(&document.to_json());
    let again = CredentialClauses::read(&written).map_err(|fault| fault.to_string());
    assert_eq!(Ok(&document), again.as_ref(), "{written}");
    assert_eq!(compare_clauses(&document, &document), Change::Unchanged, "{written}");
}

/// Its validator cannot be compared, so what it writes stands for it.
fn entry(value: &Value) {
    let Ok(document) = CatalogueEntry::read(value) else { return };
    let written = reread(&document.to_json());
    let again = CatalogueEntry::read(&written).map_err(|fault| fault.to_string());
    let again = again.map(|again| canonical::to_vec(&again.to_json()));
    assert_eq!(Ok(canonical::to_vec(&written)), again, "{written}");
}

/// What is read from the canonical bytes of a value, with room for what is longer in canonical form.
fn reread(value: &Value) -> Value {
    let bytes = canonical::to_vec(value);
    let read = json::parse_within(&bytes, bytes.len(), json::DEEPEST);
    read.unwrap_or_else(|fault| panic!("{fault}: {}", String::from_utf8_lossy(&bytes)))
}

/// The same request, with every member that has a type of its own written from what was read.
fn written(described: &Described, value: &Value) -> Value {
    let mut object = value.as_object().cloned().unwrap_or_default();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(name.to_owned(), value);
        }
    };
    put("tenant", described.tenant.as_ref().map(|tenant| json!(tenant.as_str())));
    put("agent", described.agent.as_ref().map(|agent| json!(agent)));
    put("intent", Some(json!(described.intent)));
    put("country", described.country.map(|country| json!(country.as_str())));
    put("amount", described.amount.map(procura::domain::Amount::to_json));
    put("counterparty", described.counterparties.as_ref().map(|names| json!(names)));
    put("resource", described.resource.as_ref().map(|resource| json!(resource)));
    put("untrusted", described.untrusted.map(Value::Bool));
    put("decision", described.decision.as_ref().map(|decision| json!(decision.to_string())));
    put("min_mandate_version", described.min_mandate_version.map(|version| json!(version)));
    if !described.labels.is_empty() {
        put("labels", Some(json!(described.labels)));
    }
    if let Some(evidence) = &described.evidence {
        let mut members = Map::new();
        if let Some(confidence) = &evidence.confidence {
            members.insert("confidence".to_owned(), json!(confidence.to_string()));
        }
        members.insert("cites".to_owned(), json!(evidence.cites));
        put("evidence", Some(Value::Object(members)));
    }
    Value::Object(object)
}

/// Two requests are the same if they differ at most in how numbers inside open members are held (`1` is `1.0`), and are
/// answered alike.
fn same(described: &Described, again: Result<Described, String>, how: &str) {
    let open = |described: &Described| {
        let members = json!([described.arguments, described.attachment, described.facts]);
        String::from_utf8_lossy(&canonical::to_vec(&members)).into_owned()
    };
    let closed = |described: &Described| {
        let described = described.clone();
        Described { arguments: None, attachment: None, facts: None, ..described }
    };
    let again = again.unwrap_or_else(|fault| panic!("{how}: {fault}"));
    assert_eq!(open(described), open(&again), "{how}");
    assert_eq!(closed(described), closed(&again), "{how}");
    let (answer, again) = (answered(described), answered(&again));
    assert_eq!(answer, again, "{how}");
    assert!(!answer.findings.is_empty() && !answer.reason().is_empty(), "{how}");
}

/// What a mandate with every condition says, after nothing was used.
fn answered(described: &Described) -> Verdict {
    let mandate =
        EVERYTHING.as_ref().unwrap_or_else(|| panic!("the mandate with every condition does not read"));
    let (policy, known, now) = (PolicyDocument::empty(), BTreeSet::<ExternalName>::new(), now());
    let mut used = Used::default();
    let standing = |used| Standing {
        scopes: Scopes::NONE.with(Scope::ActionRequest),
        principal: PrincipalId::new(now, [1; 10]),
        agent: AgentId::new(now, [1; 10]),
        agent_kind: AgentKind::Acting,
        mandate,
        policy: &policy,
        credentials: &[],
        country_fixed: None,
        known: &known,
        used,
        zone: chrono_tz::Europe::Berlin,
    };
    let action = Action::described(described);
    let nothing = Used::default();
    for look in looks(&standing(&nothing), &action, now) {
        used.note(&look, 0);
    }
    decide(&standing(&used), &action, now)
}

fn now() -> Timestamp {
    Timestamp::from_unix_seconds(1_800_000_000)
}
