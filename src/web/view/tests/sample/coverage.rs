//! The page of coverage, before and after a list was held against the ledger.

use super::*;
use crate::app::coverage::Sort;

pub(in crate::web::view::tests) fn coverage(said: &str) -> CoveragePage {
    let row = |line, receipt: bool| CoverageRow {
        line,
        reference: Some(self::line(label(said, "ch_3PqK8e2eZvKYlo2C"))),
        listed: Some(self::line(label(said, "240.01 EUR"))),
        allowed: receipt.then(|| "240.00 EUR".into()),
        at: Some(at(-30)),
        intent: receipt.then(|| "payments.charge".into()),
        status: receipt.then(|| "done".into()),
        detail: Some(self::line(label(said, "240.01 EUR is listed, 240.00 EUR was allowed"))),
        receipt: receipt.then(|| "/calls/receipts/rcpt_01kdz4qg5w3m9y8x7v6t5s4r3p.json".into()),
    };
    let list = |sort, rows: Vec<CoverageRow>, more| CoverageList { sort, count: 1, rows, more };
    let answer = CoverageAnswer {
        agrees: false,
        lines: 9,
        effects: 6,
        outside: 1,
        erased: 2,
        lists: vec![
            list(Sort::MissingReceipt, vec![row(Some(4), false)], 0),
            list(Sort::AmountsDiffer, vec![row(Some(2), true)], 0),
            list(Sort::NeverDone, vec![row(None, true)], 12),
            CoverageList { count: 0, ..list(Sort::NotSettled, Vec::new(), 0) },
            list(Sort::Malformed, vec![row(Some(7), false)], 0),
            CoverageList { count: 0, ..list(Sort::Matched, Vec::new(), 0) },
        ],
    };
    CoveragePage {
        frame: Frame {
            fault: Some(self::line(label(said, "there is no column `id`"))),
            ..frame(said, Section::Coverage)
        },
        typed: TypedCoverage {
            intent: said.into(),
            from: said.into(),
            until: said.into(),
            zone: "Europe/Berlin".into(),
            columns: [said, "x", said, "y", said].map(Into::into),
            ..TypedCoverage::of_list(label(said, "reference,amount\nch_1,24.00\n"))
        },
        answer: Some(answer),
        most_bytes: 4 << 20,
    }
}

pub(in crate::web::view::tests) fn empty_coverage(said: &str) -> CoveragePage {
    CoveragePage {
        frame: frame(said, Section::Coverage),
        typed: TypedCoverage { is_left_out: true, zone: "UTC".into(), ..TypedCoverage::default() },
        answer: None,
        most_bytes: 4 << 20,
    }
}
