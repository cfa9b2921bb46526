//! What a server is started with, validated.

use super::{Shown, Witness};
use crate::domain::Duration;
use crate::storage::Database;
use chrono::NaiveTime;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How often witnesses are asked when nothing is said.
pub const WITNESS_EVERY: Duration = Duration::minutes(1);
/// When people are told of their day when nothing is said.
pub const DIGEST_AT: NaiveTime = NaiveTime::from_hms_opt(7, 0, 0).unwrap();

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where its keys and, embedded, its database lie.
    pub data_dir: PathBuf,
    /// Where the tables are.
    pub database: Database,
    /// Where people and agents reach it, without a trailing slash.
    pub public_url: Option<String>,
    /// How mail leaves, if it does.
    pub mail: Option<MailTransport>,
    /// The sender of its mail.
    pub mail_from: String,
    /// At what time of a tenant's day its people are told of the day before, if they are and mail leaves.
    pub digest_at: Option<NaiveTime>,
    /// Checkpoints that others hold: no server starts on a log that is behind one of them.
    pub shown: Vec<Shown>,
    /// Who is asked to cosign checkpoints.
    pub witnesses: Vec<Witness>,
    /// How often a witness is asked, at most.
    pub witness_every: Duration,
    /// Whether the benchmark's handler without a log is served.
    pub bench_bare: bool,
    /// Whether no verified token is remembered, so that every call verifies its own.
    pub bench_verify: bool,
}

/// How mail leaves.
#[derive(Debug, Clone)]
pub enum MailTransport {
    /// As `.eml` files in a folder.
    Folder(PathBuf),
    /// To an SMTP server, by `smtp://` (STARTTLS required) or `smtps://` address; plain only to loopback.
    Smtp(String),
}

impl Settings {
    /// Nothing but the data: no mail, no witnesses, links to where it listens.
    pub fn plain(listen: SocketAddr, data_dir: PathBuf, database: Database) -> Self {
        Self {
            listen,
            data_dir,
            database,
            public_url: None,
            mail: None,
            mail_from: String::new(),
            digest_at: None,
            shown: Vec::new(),
            witnesses: Vec::new(),
            witness_every: WITNESS_EVERY,
            bench_bare: false,
            bench_verify: false,
        }
    }

    /// Where links lead.
    pub fn base_url(&self) -> String {
        match &self.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None if self.listen.ip().is_loopback() || self.listen.ip().is_unspecified() => {
                format!("http://localhost:{}", self.listen.port())
            }
            None => format!("http://{}", self.listen),
        }
    }
}
