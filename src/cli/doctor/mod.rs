//! `procura doctor`: looks everything over, then holds a drill on a scratch copy. Works beside a running server.

mod drill;
mod scratch;

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form};
use super::place::{self, Place};
use super::progress::Progress;
use super::values;
use crate::app::MailTransport;
use crate::app::doctor::{Finding, Health, Patient, look_over};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Looks everything over: 0 where nothing is wrong, 1 where something is.
pub(super) fn run(sources: &Sources, options: &arguments::Doctor, form: Form) -> Result<u8, Failure> {
    let database = Place::database(sources, &options.place)?;
    let data_dir = sources.parse("data-dir", options.place.data_dir.as_deref(), place::directory)?;
    let patient = Patient { data_dir, database, mail: mail(sources, options)? };
    let without_drill = sources.switch("no-drill", options.no_drill)?;
    let mut told = Told { form, findings: Vec::new(), failure: None };
    {
        let progress = Progress::of_unknown("receipts read");
        look_over(&patient, &mut |finding| progress.hidden(|| told.note(finding)), &|count| {
            progress.count(count);
        });
    }
    if !without_drill {
        drill::hold(&mut |finding| told.note(finding));
    }
    told.end()
}

/// How mail leaves, as `serve` reads it.
fn mail(sources: &Sources, options: &arguments::Doctor) -> Result<Option<MailTransport>, Failure> {
    let folder = sources.value("mail-folder", options.mail_folder.as_deref())?;
    let server = sources.parse("smtp-url", options.smtp_url.as_deref(), values::smtp_url)?;
    match (folder, server) {
        (Some(_), Some(_)) => {
            Err(Failure::usage("`--mail-folder` and `--smtp-url` contradict each other: mail leaves one way"))
        }
        (Some(folder), None) => Ok(Some(MailTransport::Folder(PathBuf::from(folder.text)))),
        (None, Some(server)) => Ok(Some(MailTransport::Smtp(server))),
        (None, None) => Ok(None),
    }
}

/// What was said so far.
struct Told {
    form: Form,
    findings: Vec<Finding>,
    failure: Option<Failure>,
}

impl Told {
    fn note(&mut self, finding: Finding) {
        if self.form == Form::Text && self.failure.is_none() {
            let Finding { health, name, says } = &finding;
            self.failure = output::line(format!("{:<4}  {name:<10}  {says}", health.as_str())).err();
        }
        self.findings.push(finding);
    }

    fn end(self) -> Result<u8, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let worst = self.findings.iter().map(|finding| finding.health).max().unwrap_or(Health::Ok);
        let count = |health| self.findings.iter().filter(|finding| finding.health == health).count();
        let (wrong, odd) = (count(Health::Fail), count(Health::Warn));
        match self.form {
            Form::Json => {
                let each = |finding: &Finding| json!({"status": finding.health.as_str(), "name": finding.name, "says": finding.says});
                let findings: Vec<Value> = self.findings.iter().map(each).collect();
                output::json(&json!({"verdict": worst.as_str(), "findings": findings}))?;
            }
            Form::Text => {
                output::line(match worst {
                    Health::Ok => "all is well".to_owned(),
                    Health::Warn => format!("nothing is wrong; {odd} worth a look"),
                    Health::Fail => format!("{wrong} wrong, {odd} worth a look"),
                })?;
            }
        }
        Ok(u8::from(worst == Health::Fail))
    }
}
