use super::*;
use proptest::prelude::*;

/// Text as a reader sees it: tags gone, entities read.
fn read(html: &str) -> String {
    let mut out = String::new();
    let mut in_tag = false;
    for character in html.replace("<br>", "\n").chars() {
        match character {
            '<' => in_tag = true,
            '>' => in_tag = false,
            other if !in_tag => out.push(other),
            _ => {}
        }
    }
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
    {
        out = out.replace(entity, character);
    }
    out
}

fn any_text() -> impl Strategy<Value = String> {
    let ordinary = prop::sample::select("a9 <>&\"'\\u{}/рé日\u{301}".chars().collect::<Vec<_>>());
    let hidden = prop::sample::select(
        "\u{0}\n\r\t\u{1B}\u{7F}\u{85}\u{A0}\u{AD}\u{61C}\u{200B}\u{200D}\u{202E}\u{2028}\u{2066}\u{FEFF}\u{E0041}\u{E000}\u{3164}"
            .chars()
            .collect::<Vec<_>>(),
    );
    prop::collection::vec(prop_oneof![3 => ordinary, 1 => hidden, 1 => any::<char>()], 0..60)
        .prop_map(|characters| characters.into_iter().collect())
}

proptest! {
    #[test]
    fn no_control_or_format_character_is_ever_written(text in any_text()) {
        for html in [line(&text).to_string(), block(&text).to_string(), json(&Value::from(text.clone())).to_string()] {
            for character in html.chars() {
                let category = get_general_category(character);
                prop_assert!(
                    category != GeneralCategory::Control && category != GeneralCategory::Format,
                    "{:?} in {:?}", character, html
                );
            }
        }
        prop_assert!(inert(&text).chars().all(|c| c == '\n' || !is_hidden(c)));
    }

    #[test]
    fn the_only_tags_are_our_own(text in any_text()) {
        let html = block(&text).to_string();
        for tag in html.split('<').skip(1) {
            let name = tag.split('>').next().unwrap();
            let ours = ["bdi class=\"said block\"", "/bdi", "br", "mark", "/mark",
                "span class=\"escape\"", "span class=\"flag\"", "/span"];
            prop_assert!(ours.contains(&name), "{}", name);
        }
    }

    #[test]
    fn two_texts_that_differ_are_shown_differently(one in any_text(), other in any_text()) {
        prop_assume!(one != other);
        prop_assert_ne!(block(&one), block(&other));
        prop_assert_ne!(line(&one), line(&other));
        prop_assert_ne!(inert(&one), inert(&other));
    }
}

#[test]
fn every_character_that_unicode_says_to_ignore_is_escaped() {
    for character in '\u{1}'..=char::MAX {
        // UTS 39 drops default-ignorable code points from a skeleton, so theirs is empty.
        let text = character.to_string();
        if skeleton(&text).next().is_none() {
            assert!(is_hidden(character), "U+{:04X}", u32::from(character));
        }
    }
}

#[test]
fn what_does_not_show_is_shown_as_an_escape() {
    assert_eq!(
        line("pay \u{202E}EUR\u{0}").to_string(),
        "<bdi class=\"said\">pay <span class=\"escape\">\\u{202E}</span>EUR<span class=\"escape\">\\u{0}</span></bdi> \
         <span class=\"flag\">2 characters that would not show</span>"
    );
    assert_eq!(inert("a\u{200B}b\nc"), "a\\u{200B}b\nc");
    assert!(hides_something("a\u{200B}b") && !hides_something("scopes: []\nclauses: []\n"));
}

#[test]
fn a_typed_escape_is_told_from_a_real_one() {
    assert_eq!(inert("\\u{202E}"), "\\u{5C}u{202E}");
    assert_eq!(inert("\u{202E}"), "\\u{202E}");
    assert_eq!(inert("C:\\users"), "C:\\users");
}

#[test]
fn markup_is_text() {
    assert_eq!(
        line("<img src=x onerror=\"alert('1')\">&lt;").to_string(),
        "<bdi class=\"said\">&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;lt;</bdi>"
    );
    assert_eq!(read(&block("a<b>\n\"c\"").to_string()), "a<b>\n\"c\"");
}

#[test]
fn a_line_break_breaks_a_block_and_is_an_escape_in_a_line() {
    assert_eq!(block("a\nb").to_string(), "<bdi class=\"said block\">a<br>b</bdi>");
    assert!(line("a\nb").to_string().contains("\\u{A}"));
    assert!(block("a\rb").to_string().contains("\\u{D}"));
}

#[test]
fn nothing_is_pushed_out_of_sight() {
    let html = block(&format!("harmless{}pay now", "\n".repeat(500))).to_string();
    assert_eq!(html.matches("<br>").count(), 2);
    assert!(html.contains("499 empty lines"));
    assert!(block(&format!("a{}b", " ".repeat(900))).to_string().contains("900 blanks"));
    assert!(line("a ").to_string().contains("\\u{20}"), "a blank at the end shows");
    let pile = format!("o{}", "\u{301}".repeat(9));
    assert_eq!(line(&pile).to_string().matches("\\u{301}").count(), 5);
    assert!(line("\u{301}o").to_string().contains("\\u{301}"), "a mark on nothing");
}

#[test]
fn a_long_text_says_how_long_it_is() {
    assert!(block("word ".repeat(60).trim_end()).to_string().contains("299 characters"));
    assert!(!line("short").to_string().contains("characters"));
}

#[test]
fn look_alikes_are_marked_and_ordinary_words_are_not() {
    let mixed = line("to раypal.com today").to_string();
    assert!(mixed.contains("to <mark>раypal.com</mark> today"), "{mixed}");
    assert!(mixed.contains("mixed or unusual letters"));
    assert!(line("сору").to_string().contains("letters that look like Latin ones"), "all of it Cyrillic");
    assert!(line("𝗽𝗮𝘆").to_string().contains("<mark>"), "mathematical letters");
    for ordinary in
        ["café", "Иван", "naïve cœur", "kırmızı", "日本のデータ", "m²", "使用API接口", "Ελλάδα", "5 €"]
    {
        assert!(!line(ordinary).to_string().contains("<mark>"), "{ordinary}");
    }
    assert!(line("שלום").to_string().contains("right to left"));
    let name: ExternalName = "раy pal".parse().unwrap();
    assert!(super::name(&name).to_string().contains("mixed"));
}

#[test]
fn json_is_indented_and_inert() {
    let shown = json(&serde_json::json!({"to": "<b>\u{202E}"})).to_string();
    assert!(
        shown.starts_with("<bdi class=\"said block code\">{<br>  &quot;to&quot;: &quot;&lt;b&gt;"),
        "{shown}"
    );
    assert!(shown.contains("\\u{202E}</span>&quot;<br>}"));
}
