//! What a draft of the reply rules would have made of the texts that are still kept. It writes nothing.

use super::reply_rules;
use crate::domain::{ReceiptId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use crate::screening::{Rules, Screened, turn};
use crate::storage::course::{self, Stretch};
use crate::storage::{AnyConnection, StoreError};
use serde_json::Value;

/// The most calls that one preview looks at: the newest.
const MOST_CALLS: usize = 20_000;
/// How many receipts are read at once.
const PAGE: usize = 256;
/// The most changes that are named; what lies beyond is counted.
const MOST_NAMED: usize = 200;
/// Where the text stands that others wrote and a person or an agent reads.
const ATTACHMENT: &str = "/input/request/attachment";

/// What it came to.
#[derive(Default)]
pub struct Preview {
    /// How many texts were screened under both rules.
    pub considered: u64,
    /// How many of them the draft would have shown otherwise.
    pub changes: u64,
    /// The newest of these, without a word of the text.
    pub changed: Vec<Changed>,
}

/// One text that would have been shown otherwise.
pub struct Changed {
    /// The receipt of the call that brought it.
    pub receipt: ReceiptId,
    /// When.
    pub at: Timestamp,
    /// What the live rules make of it.
    pub was: Made,
    /// What the draft would.
    pub would_be: Made,
}

/// What rules make of a text.
#[derive(PartialEq, Eq)]
pub struct Made {
    /// Whether it is held back.
    pub withheld: bool,
    /// How many values are masked.
    pub masked: usize,
    /// Whether it is answered word for word.
    pub answered: bool,
}

/// Puts a draft beside the live rules, on the texts since an instant.
pub fn preview(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    draft: &Rules,
    since: Timestamp,
) -> Result<Preview, StoreError> {
    let (live, _) = reply_rules::live(connection, tenant)?;
    let (from, until) = course::places_since(connection, tenant, since)?;
    let mut stretch = Stretch { tenant: tenant.clone(), principal: None, from, until };
    stretch.from = course::last(connection, &stretch, MOST_CALLS)?;
    let mut preview = Preview::default();
    loop {
        let page = course::page(connection, &stretch, PAGE)?;
        let Some(last) = page.last() else { return Ok(preview) };
        stretch.from = last.log_index.saturating_add(1);
        for stored in page.iter().filter(|stored| stored.body.kind == Kind::GateEvaluate) {
            let Some(text) = stored.content.as_deref().and_then(attached) else { continue };
            preview.considered += 1;
            let (was, would_be) = (under(&live, &text), under(draft, &text));
            if was.text == would_be.text && was.say == would_be.say {
                continue;
            }
            preview.changes += 1;
            if preview.changed.len() < MOST_NAMED {
                let (receipt, at) = (stored.body.id, stored.body.at);
                preview.changed.push(Changed {
                    receipt,
                    at,
                    was: Made::of(&was),
                    would_be: Made::of(&would_be),
                });
            }
        }
    }
}

impl Made {
    fn of(screened: &Screened) -> Self {
        let masked = screened.findings.iter().filter(|noted| noted.mask.is_some()).count();
        Self { withheld: screened.withheld, masked, answered: !screened.withheld && screened.say.is_some() }
    }
}

fn under(rules: &Rules, text: &str) -> Screened {
    turn(text, rules, rules.language.unwrap_or_default())
}

/// The text of an attachment that is still kept.
fn attached(content: &str) -> Option<String> {
    let content: Value = serde_json::from_str(content).ok()?;
    Some(content.get(ATTACHMENT)?.get("value")?.get("text")?.as_str()?.to_owned())
}
