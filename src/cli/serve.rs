//! `procura serve`: from options to validated settings, then the server until it is told to stop.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form, diagnose};
use super::place::Place;
use super::values;
use crate::app::{DIGEST_AT, MailTransport, Settings, WITNESS_EVERY, Witness};
use crate::committer::clock;
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The sender of mail that only goes to files.
const SENDER_OF_FILES: &str = "Procura <procura@localhost>";

/// Serves until SIGTERM or SIGINT.
pub(super) fn run(sources: &Sources, options: &arguments::Serve, form: Form) -> Result<u8, Failure> {
    let settings = settings(sources, options)?;
    let (form, announced) = (form, settings.clone());
    crate::http::serve(settings, move |address| {
        // A reader of standard output that is gone is no reason to stop answering.
        drop(announce(form, &announced, address));
    })
    .map_err(|error| Failure::failed(error.to_string()))?;
    tracing::info!("stopped");
    Ok(0)
}

/// The settings, complete and free of contradictions.
fn settings(sources: &Sources, options: &arguments::Serve) -> Result<Settings, Failure> {
    let place = Place::existing(sources, &options.place)?;
    let listen =
        sources.parse("listen", options.listen.as_deref(), values::listen)?.unwrap_or(values::DEFAULT_LISTEN);
    let public_url = sources.parse("public-url", options.public_url.as_deref(), values::public_url)?;
    let (mail, mail_from) = mail(sources, options)?;
    if public_url.is_none() && !listen.ip().is_loopback() {
        diagnose(&format!(
            "procura: listening at {listen}, beyond this machine, without `--public-url`: links will lead to \
             this address, and what is sent is not encrypted"
        ));
    }
    Ok(Settings {
        listen,
        data_dir: place.data_dir,
        database: place.database,
        public_url: public_url.map(|public| public.url),
        mail,
        mail_from,
        digest_at: sources
            .parse("digest-at", options.digest_at.as_deref(), values::time_of_day)?
            .unwrap_or(Some(DIGEST_AT)),
        shown: sources.all("checkpoint", &options.checkpoint, values::checkpoint)?,
        witnesses: witnesses(sources, options)?,
        witness_every: sources
            .parse("witness-every", options.witness_every.as_deref(), values::seconds)?
            .unwrap_or(WITNESS_EVERY),
        bench_bare: sources.switch("bench-bare", options.bench_bare)?,
        bench_verify: sources.switch("bench-verify", options.bench_verify)?,
    })
}

/// Who cosigns checkpoints; each key once.
fn witnesses(sources: &Sources, options: &arguments::Serve) -> Result<Vec<Witness>, Failure> {
    let witnesses = sources.all("witness", &options.witness, values::witness)?;
    let mut names = std::collections::BTreeSet::new();
    match witnesses.iter().find(|witness| !names.insert(witness.key.to_string())) {
        Some(twice) => Err(Failure::usage(format!("`--witness` names `{}` twice", twice.key))),
        None => Ok(witnesses),
    }
}

/// How mail leaves and who sends it.
fn mail(sources: &Sources, options: &arguments::Serve) -> Result<(Option<MailTransport>, String), Failure> {
    let folder = sources.value("mail-folder", options.mail_folder.as_deref())?;
    let server = sources.value("smtp-url", options.smtp_url.as_deref())?;
    let from = sources.parse("mail-from", options.mail_from.as_deref(), values::mailbox)?;
    match (folder, server, from) {
        (Some(folder), Some(server), _) => Err(Failure::usage(format!(
            "`--mail-folder`{} and `--smtp-url`{} contradict each other: mail leaves one way",
            folder.origin, server.origin
        ))),
        (Some(folder), None, from) if !folder.text.is_empty() => {
            let transport = MailTransport::Folder(PathBuf::from(folder.text));
            Ok((Some(transport), from.unwrap_or_else(|| SENDER_OF_FILES.into())))
        }
        (Some(folder), None, _) => {
            Err(Failure::usage(format!("`--mail-folder`{}: `` is not a folder", folder.origin)))
        }
        (None, Some(_), Some(from)) => {
            let server = sources.required("smtp-url", options.smtp_url.as_deref(), values::smtp_url)?;
            Ok((Some(MailTransport::Smtp(server)), from))
        }
        (None, Some(server), None) => Err(Failure::usage(format!(
            "`--smtp-url`{} needs `--mail-from`, the sender of its mail, such as `Procura <procura@example.org>`",
            server.origin
        ))),
        (None, None, Some(_)) => Err(Failure::usage(
            "`--mail-from` needs `--smtp-url` or `--mail-folder`: nothing says how mail leaves",
        )),
        (None, None, None) => Ok((None, SENDER_OF_FILES.into())),
    }
}

/// The first lines: where it is reached, where its data are.
fn announce(form: Form, settings: &Settings, address: SocketAddr) -> Result<(), Failure> {
    let (data_dir, database) = (settings.data_dir.display().to_string(), settings.database.to_string());
    if form == Form::Json {
        return output::json(&json!({
            "listening_on": format!("http://{address}"), "data_dir": data_dir, "database": database,
            "at": clock::now(),
        }));
    }
    output::line(format!("listening on http://{address}"))?;
    output::line(format!("data directory {data_dir}"))?;
    output::line(format!("database {database}"))
}

#[cfg(test)]
mod tests {
    use super::super::arguments::{Arguments, Command};
    use super::*;
    use clap::Parser;

    /// The settings of a command line, on a directory that is there.
    fn of(options: &str) -> Result<Settings, Failure> {
        let line = format!("procura serve --data-dir / {options}");
        let arguments = Arguments::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Serve(options) = arguments.command else { panic!("not serve") };
        settings(&Sources::open(None, |_| None).unwrap(), &options)
    }

    fn refusal(options: &str) -> String {
        let failure = of(options).unwrap_err();
        assert_eq!(failure.status(), 2);
        failure.message().to_owned()
    }

    #[test]
    fn nothing_but_the_data_directory_is_needed() {
        let settings = of("").unwrap();
        assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(settings.database.to_string(), "sqlite:/procura.db");
        assert!(settings.mail.is_none() && settings.public_url.is_none() && !settings.bench_bare);
    }

    #[test]
    fn mail_leaves_one_way() {
        let both = refusal("--mail-folder /tmp/mail --smtp-url smtp://127.0.0.1");
        assert!(both.contains("`--mail-folder`") && both.contains("`--smtp-url`"), "{both}");
        assert!(matches!(of("--mail-folder /tmp/mail").unwrap().mail, Some(MailTransport::Folder(_))));
        let server = of("--smtp-url smtps://mail.example.org --mail-from procura@example.org").unwrap();
        assert!(matches!(server.mail, Some(MailTransport::Smtp(url)) if url == "smtps://mail.example.org"));
    }

    #[test]
    fn incomplete_mail_settings_name_what_is_missing() {
        assert!(refusal("--smtp-url smtps://mail.example.org").contains("`--mail-from`"));
        assert!(refusal("--mail-from procura@example.org").contains("`--smtp-url`"));
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let arguments =
            Arguments::try_parse_from(["procura", "serve", "--data-dir", "/nowhere/at/all"]).unwrap();
        let Command::Serve(options) = arguments.command else { panic!("not serve") };
        let failure = settings(&Sources::open(None, |_| None).unwrap(), &options).unwrap_err();
        assert_eq!(failure.status(), 2);
        assert!(
            failure.message().starts_with("`--data-dir`: `/nowhere/at/all` is not"),
            "{}",
            failure.message()
        );
    }
}
