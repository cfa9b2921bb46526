//! Tells what happens, step by step, and checks each receipt offline before it says so.

use super::super::output::{self, Failure, Form};
use crate::evidence::note::VerifierKey;
use crate::evidence::verify::{Options, Report, verify};
use serde_json::{Value, json};

/// Tells the tour's steps.
pub(super) struct Teller {
    form: Form,
    key: VerifierKey,
    step: u32,
    words: String,
}

impl Teller {
    /// Starts before the first step; receipts must be under this key.
    pub(super) fn new(form: Form, key: VerifierKey) -> Self {
        Self { form, key, step: 0, words: String::new() }
    }

    /// Begins a step: who does what.
    pub(super) fn step(&mut self, words: &str) -> Result<(), Failure> {
        self.step += 1;
        words.clone_into(&mut self.words);
        match self.form {
            Form::Text => {
                output::line("")?;
                output::line(format!("{}. {words}", self.step))
            }
            Form::Json => Ok(()),
        }
    }

    /// Tells the gate's answer once its receipt is verified.
    pub(super) fn answer(&self, answer: &Value) -> Result<(), Failure> {
        self.check(&answer.to_string())?;
        let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let clauses = clauses(answer);
        self.fact("answer", &format!("{} by {}", text("/outcome"), clauses.join(", ")))?;
        self.fact("because", text("/reason"))?;
        self.receipt(text("/receipt/id"))?;
        self.machine(&json!({
            "outcome": answer.get("outcome"), "clauses": clauses, "reason": answer.get("reason"),
            "receipt": answer.pointer("/receipt/id"), "verified": true,
        }))
    }

    /// Tells what an act came to, once its receipt is verified.
    pub(super) fn act(&self, came_to: &str, receipt: &Value) -> Result<(), Failure> {
        self.check(&receipt.to_string())?;
        self.fact("done", came_to)?;
        self.receipt(receipt.get("id").and_then(Value::as_str).unwrap_or_default())?;
        self.machine(&json!({"done": came_to, "receipt": receipt.get("id"), "verified": true}))
    }

    /// Tells what was turned away before the gate decided on it.
    pub(super) fn turned_away(&self, status: u16, why: &str) -> Result<(), Failure> {
        self.fact("answer", &format!("turned away with status {status}"))?;
        self.fact("because", why)?;
        self.machine(&json!({"status": status, "reason": why}))
    }

    /// Prints a whole receipt as one line, to try verification on.
    pub(super) fn whole(&self, receipt: &Value) -> Result<(), Failure> {
        match self.form {
            Form::Text => {
                output::line(
                    "     Its receipt whole; save the line to a file and try `procura verify FILE`:",
                )?;
                output::json(receipt)?;
                self.fact("log key", &format!("{} (for `--key`)", self.key))
            }
            Form::Json => self.machine(&json!({"whole": receipt, "log_key": self.key.to_string()})),
        }
    }

    /// Verifies an export and tells what it holds.
    pub(super) fn export(&self, lines: &str) -> Result<(), Failure> {
        let report = self.check(lines)?;
        if report.exports != 1 {
            return Err(self.unexpected("the export is not whole"));
        }
        self.fact("verified", &format!("offline: {} receipts, none missing, none changed", report.receipts))?;
        self.machine(&json!({"receipts": report.receipts, "exports": report.exports, "verified": true}))
    }

    /// What the step should have come to and did not.
    pub(super) fn unexpected(&self, what: &str) -> Failure {
        Failure::failed(format!("not as expected: {what}, in step {}: {}", self.step, self.words))
    }

    fn receipt(&self, id: &str) -> Result<(), Failure> {
        self.fact("receipt", &format!("{id}, verified offline"))
    }

    fn fact(&self, name: &str, value: &str) -> Result<(), Failure> {
        match self.form {
            Form::Text => output::line(format!("     {name:<9} {value}")),
            Form::Json => Ok(()),
        }
    }

    fn machine(&self, came_to: &Value) -> Result<(), Failure> {
        match self.form {
            Form::Text => Ok(()),
            Form::Json => output::json(&json!({"step": self.step, "what": self.words, "came_to": came_to})),
        }
    }

    /// Verifies with nothing but the text and the key that was known before.
    fn check(&self, text: &str) -> Result<Report, Failure> {
        let options = Options { key: Some(self.key.clone()), ..Options::default() };
        let report = verify([("the answer".to_owned(), text.as_bytes())], options);
        match &report.failure {
            None => Ok(report),
            Some(failure) => Err(self.unexpected(&failure.to_string())),
        }
    }
}

/// The clauses an answer names.
pub(super) fn clauses(answer: &Value) -> Vec<&str> {
    answer.get("clauses").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
