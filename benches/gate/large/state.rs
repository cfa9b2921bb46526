//! What lies in the directory already, written beside the data so that a later run goes on from there.

use super::build::Sizes;
use crate::Failure;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file's name.
const FILE: &str = "large.json";

/// How far the directory is, and who can be asked.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The tenant.
    pub(crate) tenant: String,
    /// How many people are there with all they have.
    pub(crate) people: u64,
    /// The address of one of them, whose token is the first.
    pub(crate) member: String,
    /// The address of somebody who sees everybody's calls.
    pub(crate) watcher: String,
    /// Tokens that call the gate.
    pub(crate) tokens: Vec<String>,
    sizes: Option<Sizes>,
}

impl State {
    /// Nothing yet.
    pub(crate) fn new(tenant: String, sizes: Sizes) -> Self {
        Self { tenant, sizes: Some(sizes), ..Self::default() }
    }

    /// What a directory holds; `None` where nothing was begun.
    ///
    /// # Errors
    /// It was begun with other sizes.
    pub(crate) fn read(folder: &Path, sizes: Sizes) -> Result<Option<Self>, Failure> {
        let Ok(text) = fs::read_to_string(folder.join(FILE)) else { return Ok(None) };
        let value: Value = serde_json::from_str(&text)?;
        let number = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or_default();
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let there = Sizes {
            principals: number("principals"),
            credentials: number("credentials"),
            tokens: number("tokens_kept"),
        };
        if there != sizes {
            return Err(format!(
                "`{}` was begun with {there:?}: give those sizes, or another folder",
                folder.display()
            )
            .into());
        }
        let tokens = value.get("tokens").and_then(Value::as_array).into_iter().flatten();
        Ok(Some(Self {
            tenant: text("tenant"),
            people: number("people"),
            member: text("member"),
            watcher: text("watcher"),
            tokens: tokens.filter_map(|token| token.as_str().map(str::to_owned)).collect(),
            sizes: Some(sizes),
        }))
    }

    /// Writes it down for its owner alone, since it holds tokens.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let value = json!({
            "tenant": self.tenant, "people": self.people, "member": self.member, "watcher": self.watcher,
            "tokens": self.tokens, "principals": self.sizes.map(|sizes| sizes.principals),
            "credentials": self.sizes.map(|sizes| sizes.credentials),
            "tokens_kept": self.sizes.map(|sizes| sizes.tokens),
        });
        let new = folder.join("large.json.new");
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(value.to_string().as_bytes())?;
        file.sync_all()?;
        Ok(fs::rename(new, folder.join(FILE))?)
    }
}
