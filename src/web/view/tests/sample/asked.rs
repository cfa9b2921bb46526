//! The pages of whoever asks who allowed something, and of the receipt explorer.

use super::*;

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
