//! Which links a text holds and where they lead.

use super::*;
use crate::engine::links::links_in;

/// Where the links of a text lead, in order; `-` is nowhere.
fn links(text: &str) -> Vec<String> {
    let arguments = json!({"t": text});
    let found = links_in(arguments.as_object().unwrap()).into_iter();
    found.map(|link| link.map_or_else(|| "-".to_owned(), |host| host.to_string())).collect()
}

#[test]
fn a_text_without_links_has_none() {
    for text in [
        "",
        "Thank you for your order. We will send it on Monday.",
        "It costs 12.50, or 1.200,00; see points 3.1 and 4.2.1",
        "version v1.2, e.g. or z.B. or i.e. this",
        "wait... what?! and/or, 50% off :-) a:b 10:30 re: you",
        "@anna and #tag, me & you, C++ // a comment",
        "he said: data: 5, intent:refund, order:4412",
        "a//b",
        "注意：明天见。",
    ] {
        assert_eq!(links(text), [""; 0], "{text}");
    }
}

#[test]
fn every_way_of_writing_a_link_is_found() {
    for text in [
        "https://example.com",
        "see https://example.com.",
        "(https://example.com/a?b=c#d)",
        "HTTPS://EXAMPLE.COM!",
        "<a href=\"https://example.com/a.html\">",
        "[here](http://example.com/index.html)",
        "x=https://example.com",
        "https:example.com",
        "https:///example.com",
        "//example.com/a",
        "src='//example.com/x.js'",
        "www.example.com",
        "Example.com",
        "example.com:8080/a.b",
        "example.com/index.html",
        "write to anna@example.com today",
        "mailto:anna@example.com?subject=hi",
        "ftp://example.com",
        "sftp://example.com/x.y",
        "https://example。com",
        "https://ｅｘａｍｐｌｅ．ｃｏｍ/",
        "example｡com",
        "example․com",
        "“example.com”",
        "https&#58;&#x2F;&sol;example&period;com",
        "https://example.com/@anna",
        "https://example.com/?next=/a.b",
        "**example.com**",
        "«example.com»",
    ] {
        let found = links(text);
        assert!(
            !found.is_empty() && found.iter().all(|link| link.ends_with("example.com") || text.contains('&')),
            "{text} {found:?}"
        );
        assert!(found.iter().any(|link| link.ends_with("example.com")), "{text} {found:?}");
    }
}

#[test]
fn a_link_that_cannot_be_told_leads_nowhere() {
    for text in [
        "https://user@example.com/",
        "https://example.com@evil.test/",
        "https://example.com\\@evil.test",
        "\\\\example.com\\share",
        "/\\example.com",
        "https:\\\\example.com",
        "https://exa\u{200b}mple.com",
        "ht\u{ad}tps://example.com",
        "exa\u{200d}mple.com",
        "https：//example.com",
        "https:／／example.com",
        "https://example.com／.evil",
        "http://localhost/",
        "http://192.0.2.1/",
        "192.0.2.1",
        "http://[2001:db8::1]/",
        "javascript:alert(1)",
        "JAVASCRIPT: alert(1)",
        "data:text/html;base64,PGI+",
        "view-source:https://example.com",
        "tel:+49301234",
        "mailto:a@example.com?cc=b@example.com",
        "anna@localhost",
        "a@b@example.com",
        "anna%40evil.test@example.com",
        "file:///etc/passwd",
        "https://\u{202e}moc.elpmaxe",
    ] {
        assert!(links(text).contains(&"-".to_owned()), "{text} {:?}", links(text));
    }
}

#[test]
fn a_link_hidden_behind_another_is_found() {
    for text in [
        "https://example.com/https://evil.test",
        "https://example.com,https://evil.test",
        "https://example.com evil.test",
        "evil.test.https://example.com",
        "evil.test/https://example.com",
        "https://example.com\n.evil.test",
        "https://example.com\".evil.test",
        "https://example.com,@evil.test",
        "https://example.com/?u=//evil.test",
        "https://example.com)https:evil.test",
        "https://example.com&#46;evil.test",
    ] {
        let found = links(text);
        assert!(found.iter().any(|link| link.ends_with("evil.test")), "{text} {found:?}");
    }
    for text in ["https://example.com\"@evil/", "https://example.com'.evil", "i❤.ws"] {
        assert!(links(text).contains(&"-".to_owned()), "{text} {:?}", links(text));
    }
}

#[test]
fn names_and_depths_are_looked_at_too() {
    let arguments = json!({"https://a.test": 1, "b": [{"c": [["https://b.test", 5, null, true]]}]});
    let mut found: Vec<_> =
        links_in(arguments.as_object().unwrap()).into_iter().flatten().map(|host| host.to_string()).collect();
    found.sort();
    assert_eq!(found, ["a.test", "b.test"]);
}

/// Work grows with the text, not with its square, which would not come back.
#[test]
fn a_long_text_of_beginnings_is_read_to_its_end() {
    for part in
        ["https:", "a://", "//", "\\\\", "a@", "a.", "&#46;", ":", "http:x", "https://a.b,", "mailto:a?"]
    {
        let text = part.repeat(4 * 64 * 1024 / part.len());
        assert!(links(&text).len() <= text.len());
    }
}

proptest::proptest! {
    #[test]
    fn nothing_anyone_writes_makes_it_panic(text in "(https?:|//|[a-z.@:/\\\\&#;,()%-]|\\PC|\u{200b}|。){0,40}") {
        let _ = links(&text);
    }

    /// Whatever surrounds a plain link to a foreign host, it is found.
    #[test]
    fn a_foreign_link_is_found_in_any_company(before in "[a-zA-Z ,.()<>\"'&;:]{0,12}", after in "[ ,)\"'>][a-zA-Z ,.&;:]{0,12}") {
        let found = links(&format!("{before} https://evil.test/{after}"));
        proptest::prop_assert!(found.contains(&"evil.test".to_owned()), "{:?}", found);
    }
}
