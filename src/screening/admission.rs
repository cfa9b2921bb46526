//! Rules that cannot be held together with what they themselves say.

use super::fold::Folded;
use super::wording::Phrases;
use super::{Action, Rules, detect};
use crate::domain::node::Faults;

/// Notes every sentence that the rules add or give word for word and would not let through.
pub(super) fn contradictions(rules: &Rules, faults: &mut Faults) {
    let language = rules.language.unwrap_or_default();
    let never = Phrases::new(rules.never_say.iter().map(String::as_str), language);
    let added = rules.must_accompany.iter().map(|rule| &rule.add).enumerate();
    let added = added.map(|(at, sentence)| (format!("/must_accompany/{at}/add"), sentence));
    let given = rules.reply_exactly.iter().map(|rule| &rule.say).enumerate();
    let given = given.map(|(at, sentence)| (format!("/reply_exactly/{at}/say"), sentence));
    for (pointer, sentence) in added.chain(given) {
        if never.find(&Folded::of(sentence, language)).next().is_some() {
            faults.add(&pointer, "it holds a phrase that `never_say` lists");
        }
        for finding in detect(sentence, &rules.detection()) {
            let action = rules.personal_data.of(finding.class);
            if action != Action::Allow {
                let class = finding.class.as_str();
                let detail = format!("it holds a value of class `{class}`, which gets `{}`", action.as_str());
                faults.add(&pointer, detail);
            }
        }
    }
}
