//! An explanation for people: one line a finding, indented below what it is part of.

use super::clause::{ClauseComesTo, ClauseStep, LimitStep, Look, Met, Tested};
use super::words;
use super::{ComesTo, Explanation, Step, Subject};
use crate::engine::reason::Reason;

/// How wide the column of the steps' names is.
const NAME_WIDTH: usize = 11;

impl Explanation {
    /// Every step and the verdict, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![named("asked", &self.asked_in_words()), named("at", &self.at.to_string())];
        for step in &self.steps {
            step.lines(&mut lines);
        }
        lines.extend(
            self.added().map(|(name, finding)| named(name, &format!("{}: {finding}", finding.effect))),
        );
        let answer = match &self.verdict {
            Ok(verdict) => format!("{}: {}", verdict.outcome, verdict.reason()),
            Err(malformed) => format!("refuse, as malformed: {malformed}"),
        };
        lines.push(named("answer", &answer));
        lines
    }

    fn asked_in_words(&self) -> String {
        let action = &self.action;
        let mut parts = vec![action.intent.to_string()];
        parts.extend(action.amount.map(|amount| amount.to_string()));
        match action.counterparties.len() {
            0 => {}
            1 => parts.push("1 counterparty".into()),
            several => parts.push(format!("{several} counterparties")),
        }
        parts.extend(action.resource.as_ref().map(|_| "1 resource".to_owned()));
        parts.extend(action.country.map(|country| country.to_string()));
        let text =
            if action.untrusted { "may be shaped by others' text" } else { "not shaped by others' text" };
        parts.push(text.into());
        parts.push(format!("facts {}", action.facts_from.as_str()));
        parts.join(", ")
    }
}

fn named(name: &str, text: &str) -> String {
    format!("{name:<NAME_WIDTH$} {text}")
}

impl Step {
    fn lines(&self, lines: &mut Vec<String>) {
        let comes_to = match &self.comes_to {
            ComesTo::NotReached => "not reached".to_owned(),
            ComesTo::Passes if self.is_empty_policy() => "nothing to say".to_owned(),
            ComesTo::Passes => "passes".to_owned(),
            ComesTo::Finds(findings) => match findings.as_slice() {
                // What a written clause found is said below, where the clause is.
                [one] if self.clauses.is_empty() => format!("{}: {}", one.effect, one.reason),
                _ => self.comes_to.as_str().to_owned(),
            },
            ComesTo::Outside(_) => "the request may not be made at all".to_owned(),
        };
        let about = match &self.subject {
            Subject::Policy { applies, certain } => format!("{}: ", words::rule_set(*applies, certain)),
            Subject::Credential(id) => format!("{id}: "),
            Subject::Domains(_)
            | Subject::Scopes
            | Subject::Validity
            | Subject::AgentKind
            | Subject::Catalogue
            | Subject::Mandate => String::new(),
        };
        lines.push(named(self.subject.name(), &format!("{about}{comes_to}")));
        if let Subject::Domains(tested) = &self.subject {
            lines.extend(
                tested
                    .iter()
                    .map(|(source, tested)| format!("  {} of the {}", tested.line(), source.as_str())),
            );
        }
        for clause in &self.clauses {
            clause.lines(lines);
        }
        match self.elsewhere {
            0 => {}
            1 => lines.push("  1 other clause names other intents".into()),
            others => lines.push(format!("  {others} other clauses name other intents")),
        }
    }

    fn is_empty_policy(&self) -> bool {
        matches!(self.subject, Subject::Policy { applies: None, .. })
    }
}

impl ClauseStep {
    fn lines(&self, lines: &mut Vec<String>) {
        let title = self.title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
        lines.push(format!("  {} {}{title}: {}", self.id, self.effect.as_str(), self.in_words()));
        lines.extend(self.conditions.iter().map(|tested| format!("    {}", tested.line())));
        for limit in &self.limits {
            limit.lines(lines);
        }
    }

    fn in_words(&self) -> String {
        match &self.comes_to {
            ClauseComesTo::Found(_, Reason::Allowed | Reason::Forbidden | Reason::AsksAPerson) => {
                "acts".into()
            }
            ClauseComesTo::Found(_, Reason::Obliged(obligation)) => format!("acts: {}", obligation.as_str()),
            ClauseComesTo::Found(outcome, _) => format!("does not hold, so {outcome}"),
            ClauseComesTo::Passes => "holds, which leaves it to the mandate".into(),
            ClauseComesTo::DoesNotAct => "does not act".into(),
            ClauseComesTo::Outranked => "does not count beside a refusal".into(),
            ClauseComesTo::Yields { to, holds: true } => format!("holds, and {to} is named for both"),
            ClauseComesTo::Yields { to, holds: false } => format!("does not hold, but {to} does"),
        }
    }
}

impl Tested {
    fn line(&self) -> String {
        match &self.result {
            Ok(()) => format!("holds  {}", self.says),
            Err(reason) => format!("fails  {}: {reason}", self.says),
        }
    }
}

impl LimitStep {
    fn lines(&self, lines: &mut Vec<String>) {
        match &self.met {
            Met::NotAsked => lines.push(format!("    -      {}: not counted, a condition fails", self.says)),
            Met::Lacks(reason) => lines.push(format!("    fails  {}: {reason}", self.says)),
            Met::Looked(looks) => {
                let several = looks.len() > 1;
                for (position, look) in looks.iter().enumerate() {
                    let whom = if several {
                        format!(" (counterparty {} of {})", position.saturating_add(1), looks.len())
                    } else {
                        String::new()
                    };
                    lines.push(format!("    {}{whom}: {}", self.verdict(look), look.in_words()));
                }
            }
        }
    }

    fn verdict(&self, look: &Look) -> String {
        format!("{}  {}", if look.result.is_ok() { "holds" } else { "fails" }, self.says)
    }
}

impl Look {
    fn in_words(&self) -> String {
        let used = self.used.map_or_else(
            || "the books cannot say what was used".to_owned(),
            |used| format!("{} used", words::counted(self.counts, used)),
        );
        let since = self.since.map_or_else(|| "ever".to_owned(), |since| format!("since {since}"));
        let counted = |number| words::counted(self.counts, number);
        format!("{used} {since}, {} asked, {} allowed", counted(self.asked), counted(self.allowed))
    }
}
