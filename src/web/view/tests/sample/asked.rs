//! The pages of whoever asks who allowed something, and of the receipt explorer.

use super::*;
use crate::web::display;

pub(in crate::web::view::tests) fn who(said: &str) -> WhoPage {
    let link = |kind, who: &str, says: &str, hours| LinkRow {
        at: at(hours),
        who: line(label(said, who)),
        says: line(label(said, says)),
        kind,
        id: "rcpt_01kdz4qg5w3m9y8x7v6t5s4r3p".into(),
    };
    let sentence =
        "The mandate of Ada Lovelace allowed this on 1 November 2026 at 10:00 UTC without asking anybody.";
    let found = WhoMatch {
        sentence: line(label(said, sentence)),
        rest: vec![line(label(said, "asked by credential \"inbox\" of agent \"Refund desk\"."))],
        standing: "allowed",
        tone: Tone::Good,
        receipt: "/calls/receipts/rcpt_01kdz4qg5w3m9y8x7v6t5s4r3p.json".into(),
        file: "/who/rcpt_01kdz4qg5w3m9y8x7v6t5s4r3p/file".into(),
        decision: Some("/queue/dec_01kdz4qg5w3m9y8x7v6t5s4r3p".into()),
        chain: vec![
            link("mandate.put", "Ada Lovelace", "put version 4 of the mandate live, widened", -9),
            link(
                "gate.evaluate",
                "credential \"inbox\"",
                "asked for `payments.refund`, and was answered allow",
                -1,
            ),
        ],
    };
    WhoPage {
        frame: frame(said, Section::Calls),
        q: said.into(),
        matches: vec![found.clone(), found],
        more: true,
        not_searched: 12,
    }
}

pub(in crate::web::view::tests) fn explorer() -> ExplorerPage {
    ExplorerPage { frame: Frame::default(), kinds: "gate.evaluate decision.approve".into() }
}

pub(in crate::web::view::tests) fn reply_rules(said: &str) -> ReplyRulesPage {
    let class =
        |name, title, action| ClassChoice { name, title, action, actions: ["redact", "withhold", "allow"] };
    let malformed = Malformed::at("/never_say/0", label(said, "a text is expected"));
    ReplyRulesPage {
        frame: frame(said, Section::ReplyRules),
        version: 3,
        live_since: Some(at(-9)),
        classes: vec![
            class("card", "Payment cards", "redact"),
            class("national_id", "National ids", "withhold"),
        ],
        never_say: display::inert(label(said, "guaranteed refund")),
        markers: display::inert(label(said, "discount")),
        allowed: display::inert(label(said, "10% discount")),
        others: (1, 0),
        editor: Editor::new(label(said, "never_say: [guaranteed refund]"), Some(&malformed)),
        text: display::inert(label(said, "my card is 4111 1111 1111 1111")),
        is_reply: false,
        tried: Some(Tried {
            text: Some(block(label(said, "my card is **** 1111"))),
            withheld: true,
            say: Some(block(label(said, "Please write again."))),
            rows: vec![TriedRow {
                class: "card",
                action: "redact",
                mask: Some(line(label(said, "**** 1111"))),
            }],
            considered: 12,
            changes: 1,
        }),
        versions: vec![(3, at(-9)), (2, at(-12))],
    }
}
