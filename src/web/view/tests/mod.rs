//! The pages as a whole: nothing from outside becomes markup, nothing needs a script, every form is guarded.

mod sample;

use super::{Mine, Stage};
use crate::web::STYLE_SHEET;
use crate::web::display::hides_something;
use askama::Template;
use sample::INPUT_HASH;
use unicode_general_category::{GeneralCategory, get_general_category};

/// Every page, by name, with `said` wherever text from outside goes; empty is ordinary text.
fn pages(said: &str) -> Vec<(&'static str, String)> {
    vec![
        ("sign-in", sample::sign_in(said).render().unwrap()),
        ("queue", sample::queue(said).render().unwrap()),
        ("queue-empty", sample::empty_queue().render().unwrap()),
        ("decision", sample::decision(said, Stage::Approve).render().unwrap()),
        ("decision-effect", sample::decision(said, Stage::Resolve).render().unwrap()),
        ("decision-attention", sample::decision(said, Stage::Close).render().unwrap()),
        ("decision-shared", sample::shared_decision(said, Mine::Counts { more: 1 }).render().unwrap()),
        ("decision-shared-said", sample::shared_decision(said, Mine::Given).render().unwrap()),
        ("decision-shared-out", sample::shared_decision(said, Mine::DoesNotCount).render().unwrap()),
        ("decision-closed", sample::decision(said, Stage::Closed).render().unwrap()),
        ("mandate", sample::mandate(said).render().unwrap()),
        ("mandate-version", sample::mandate_version(said).render().unwrap()),
        ("agents", sample::agents(said).render().unwrap()),
        ("issued", sample::issued(said).render().unwrap()),
        ("calls", sample::calls(said).render().unwrap()),
        ("exports", sample::exports(said).render().unwrap()),
        ("coverage", sample::coverage(said).render().unwrap()),
        ("coverage-empty", sample::empty_coverage(said).render().unwrap()),
        ("who", sample::who(said).render().unwrap()),
        ("reply-rules", sample::reply_rules(said).render().unwrap()),
        ("explorer", sample::explorer().render().unwrap()),
        ("problem", sample::problem(said).render().unwrap()),
    ]
}

fn page(name: &str) -> String {
    pages("").into_iter().find(|(found, _)| *found == name).unwrap().1
}

/// A tag as a browser would cut it: its name, and each attribute's name and value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

fn tags(html: &str) -> Vec<Tag> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let end = after.find(|c: char| c.is_whitespace() || c == '>').unwrap();
        let mut tag = Tag { name: after[..end].to_ascii_lowercase(), attributes: Vec::new() };
        rest = after[end..].trim_start();
        while !rest.starts_with('>') {
            let end = rest.find(|c: char| c.is_whitespace() || c == '=' || c == '>').unwrap();
            let name = rest[..end].to_ascii_lowercase();
            rest = &rest[end..];
            let mut value = "";
            if let Some(quoted) = rest.strip_prefix("=\"") {
                (value, rest) = quoted.split_once('"').unwrap();
            }
            tag.attributes.push((name, value.to_owned()));
            rest = rest.trim_start();
        }
        found.push(tag);
    }
    found
}

/// The tags without those that show foreign text, and without values that hold it.
fn skeleton(html: &str) -> Vec<(String, Vec<String>)> {
    tags(html)
        .into_iter()
        .filter(|tag| {
            !matches!(tag.name.as_str(), "span" | "/span" | "mark" | "/mark" | "br" | "bdi" | "/bdi")
        })
        .map(|tag| (tag.name, tag.attributes.into_iter().map(|(name, _)| name).collect()))
        .collect()
}

const ATTACKS: [&str; 14] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' autofocus onfocus='alert(1)",
    "</textarea><script>alert(1)</script>",
    "</title><svg onload=alert(1)>",
    "</option></select><iframe srcdoc='<script>alert(1)</script>'>",
    "javascript:alert(1)",
    "<!-- --><![CDATA[ ]]>",
    "&lt;script&gt;&#x3C;script&#x3E;",
    "{{ 7 * 7 }} {% include 'x' %}",
    "</bdi></dd></dl><form action=//evil.example method=post><button>Approve</button>",
    "<a href='https://evil.example' style='position:fixed;inset:0'>approve</a>",
    "\u{202E}evorppA\u{202C}\u{200B}\u{2066}\u{1B}[2J\u{0}",
    "<base href=//evil.example><meta http-equiv=refresh content=0;url=//evil.example><link rel=stylesheet href=//e>",
];

#[test]
fn nothing_from_outside_becomes_markup() {
    for attack in ATTACKS {
        // What does not show adds a banner above the text area, and nothing else.
        let harmless = if hides_something(attack) { "harm\u{200B}less" } else { "harmless" };
        for ((name, page), (_, harmless)) in pages(attack).iter().zip(&pages(harmless)) {
            let (found, expected) = (skeleton(page), skeleton(harmless));
            assert!(found == expected, "{name} with {attack:?}");
        }
    }
}

#[test]
fn no_page_but_the_explorer_holds_a_script_and_none_a_style_or_an_event_attribute() {
    for (name, page) in ATTACKS.into_iter().chain([""]).flat_map(pages) {
        for tag in tags(&page) {
            let is_explorers = name == "explorer" && tag.get("src") == Some("/static/explorer.js");
            assert!(
                is_explorers
                    || !["script", "style", "iframe", "object", "embed", "base", "img", "svg"]
                        .contains(&&*tag.name)
            );
            for (attribute, value) in &tag.attributes {
                assert!(attribute != "style" && !attribute.starts_with("on"), "{name}: {tag:?}");
                if ["href", "action", "src"].contains(&attribute.as_str()) {
                    let is_local =
                        value.starts_with('/') && !value.starts_with("//") || value.starts_with('#');
                    assert!(is_local, "{name}: {tag:?}");
                }
            }
        }
    }
}

#[test]
fn no_control_or_format_character_reaches_a_page() {
    for (name, page) in ATTACKS.into_iter().chain([""]).flat_map(pages) {
        for character in page.chars().filter(|c| *c != '\n') {
            let category = get_general_category(character);
            assert!(
                category != GeneralCategory::Control && category != GeneralCategory::Format,
                "U+{:04X} in {name}",
                u32::from(character)
            );
        }
    }
}

#[test]
fn every_form_that_changes_something_posts_the_hidden_token() {
    let mut seen = 0;
    for (name, page) in pages("") {
        let page = page.split("<form").skip(1);
        for form in page.map(|rest| rest.split("</form>").next().unwrap()) {
            let kinds = ["", " class=\"card\"", " class=\"search\""];
            let is_post = kinds.iter().any(|kind| form.starts_with(&format!("{kind} method=\"post\"")));
            if name == "explorer" {
                assert!(!is_post && !form.contains("action="), "it sends nothing: {form}");
                continue;
            }
            if is_post {
                assert!(
                    form.contains("<input type=\"hidden\" name=\"csrf\" value=\"kq0Zr3vXw1\">"),
                    "{name}: {form}"
                );
                seen += 1;
            } else {
                assert!(form.contains("method=\"get\" action=\"/calls\""), "{name}: {form}");
            }
        }
    }
    assert!(seen > 20, "{seen} forms");
}

#[test]
fn every_field_has_a_label_and_every_id_is_used_once() {
    for (name, page) in pages("") {
        let tags = tags(&page);
        let mut ids: Vec<&str> = tags.iter().filter_map(|tag| tag.get("id")).collect();
        let of_labels: Vec<&str> = tags.iter().filter_map(|tag| tag.get("for")).collect();
        for tag in &tags {
            let kind = tag.get("type").unwrap_or("");
            let is_field = ["input", "select", "textarea"].contains(&&*tag.name)
                && !["hidden", "checkbox", "radio"].contains(&kind);
            if is_field {
                assert!(of_labels.contains(&tag.get("id").unwrap_or("")), "{name}: {tag:?}");
            }
            for reference in ["for", "aria-labelledby", "aria-describedby"].iter().filter_map(|a| tag.get(a))
            {
                assert!(ids.contains(&reference), "{name}: {tag:?}");
            }
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{name}");
    }
}

#[test]
fn every_class_in_a_page_is_in_the_style_sheet() {
    for (name, page) in pages("") {
        for class in tags(&page).iter().filter_map(|tag| tag.get("class")).flat_map(str::split_whitespace) {
            assert!(STYLE_SHEET.contains(&format!(".{class}")), "{class} in {name}");
        }
    }
}

#[test]
fn a_decision_shows_the_typed_fields_before_any_text_of_others() {
    let page = page("decision");
    let places: Vec<usize> = [
        "<dt>Amount</dt>",
        "240.00 EUR",
        "acct:cus_91",
        "Arguments the tool",
        "What raised it",
        "IGNORE YOUR RULES",
        "Input hash",
        "name=\"input_hash\"",
    ]
    .iter()
    .map(|said| page.find(said).unwrap_or_else(|| panic!("{said} is missing")))
    .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn a_decision_flags_look_alikes_hidden_characters_and_strangers() {
    let page = page("decision");
    assert!(page.contains("<mark>acct:раypal</mark>"));
    assert!(page.contains("mixed or unusual letters"));
    assert!(page.contains("\\u{202E}"));
    assert_eq!(page.matches("new to you").count(), 1);
    assert!(page.contains("the caller's word"));
    assert!(page.contains("text that others wrote may have shaped this"));
}

#[test]
fn an_approval_is_bound_to_the_full_hash_that_is_shown() {
    let page = page("decision");
    assert_eq!(page.matches(INPUT_HASH).count(), 2, "once to read, once to send");
    assert!(page.contains(&format!("<input type=\"hidden\" name=\"input_hash\" value=\"{INPUT_HASH}\">")));
    for option in ["<option value=\"900\">15 minutes</option>", "<option value=\"3600\">1 hour</option>"] {
        assert!(page.contains(option), "{option}");
    }
}

#[test]
fn a_closed_decision_offers_no_form_but_the_search_and_the_way_out() {
    let page = page("decision-closed");
    let actions: Vec<String> =
        tags(&page).iter().filter_map(|tag| tag.get("action").map(str::to_owned)).collect();
    assert_eq!(actions, ["/who", "/sign-out"]);
    assert!(page.contains("declined") && page.contains("no longer open"));
}

#[test]
fn an_uncertain_effect_is_resolved_and_never_approved() {
    let page = page("decision-effect");
    assert!(page.contains("/resolve\"") && !page.contains("/approve\"") && !page.contains("/decline\""));
}

#[test]
fn a_yes_that_is_not_the_last_says_so_and_one_that_does_not_count_is_not_offered() {
    let page_of = |name| page(name).split_whitespace().collect::<Vec<_>>().join(" ");
    let shared = page_of("decision-shared");
    assert!(shared.contains("Your yes alone does not let it happen yet:"), "{shared}");
    assert!(shared.contains("2 people with the role compliance or operator"), "{shared}");
    assert!(shared.contains("/approve\"") && shared.contains("/decline\""));
    assert!(!shared.contains("name=\"narrow\""), "the mandate is another person's");
    let obligation = shared.find("a number you knew before").unwrap();
    assert!(obligation < shared.find("/approve\"").unwrap(), "what must hold stands above the buttons");
    for (name, says) in [
        ("decision-shared-said", "You said yes."),
        ("decision-shared-out", "Your yes is not one of those it takes."),
    ] {
        let page = page_of(name);
        assert!(page.contains(says) && page.contains("/decline\""), "{name}: {page}");
        assert!(!page.contains("/approve\"") && !page.contains("Your yes alone"), "{name}: {page}");
    }
    let own = page_of("decision");
    assert!(own.contains("asked 3 times") && !own.contains("Whose yes it takes"), "{own}");
}

#[test]
fn an_agent_that_asks_too_much_is_seen_and_never_approved() {
    let page = page("decision-attention");
    assert!(page.contains("I have seen it") && page.contains("3 calls refused for it"));
    assert!(page.contains("/decline\"") && !page.contains("/approve\"") && !page.contains("/resolve\""));
}

#[test]
fn no_form_offers_an_agent_the_right_to_write_the_mandate() {
    for (name, page) in pages("") {
        assert!(!page.contains("mandate:write"), "{name}");
    }
}

#[test]
fn a_faulty_mandate_is_shown_as_typed_with_every_fault() {
    let page = page("mandate");
    assert!(page.contains("2 things do not fit"));
    assert!(page.contains("`effekt` is no member") && page.contains("    effekt: allow"));
    assert!(page.contains("aria-invalid=\"true\""));
}

#[test]
fn secrets_stay_out_of_debug_output() {
    let said = format!("{:?}", sample::issued(""));
    assert!(!said.contains("pca_") && !said.contains("eyJ"), "{said}");
}

/// Writes every page below the folder that `PROCURA_SHOW_PAGES` names, to be looked at in a browser.
#[test]
fn pages_can_be_looked_at() {
    let Ok(folder) = std::env::var("PROCURA_SHOW_PAGES") else { return };
    let folder = std::path::PathBuf::from(folder);
    std::fs::create_dir_all(folder.join("static")).unwrap();
    std::fs::write(folder.join("static/procura.css"), STYLE_SHEET).unwrap();
    for (name, page) in pages("") {
        std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
    }
}
