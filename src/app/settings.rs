//! What a server is started with, validated.

use crate::storage::Database;
use std::net::SocketAddr;
use std::path::PathBuf;

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
    /// Whether the benchmark's handler without a log is served.
    pub bench_bare: bool,
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
