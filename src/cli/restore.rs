//! `procura restore`: a backup put in the database's place, unless that would lose part of a log.

use super::arguments;
use super::backup::failure;
use super::config::Sources;
use super::output::{self, Failure, Form, diagnose};
use super::place::Place;
use super::progress::Progress;
use crate::app::backup::BackupError;
use crate::app::restore::{How, Loss, Lost, Plan, RestoreError, Restored, restore};
use crate::storage::DataDirectory;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// The largest checkpoint that is read, in bytes; a note is a few lines.
const LARGEST_CHECKPOINT: u64 = 64 * 1024;
/// The longest reason that is recorded, in characters.
const LONGEST_REASON: usize = 500;

/// Restores: 0 when done, 1 when it would lose part of a log or could not be done, 2 when a file cannot be read.
pub(super) fn run(sources: &Sources, options: &arguments::Restore, form: Form) -> Result<u8, Failure> {
    let advice = "make it, and copy there the master.key of the server that the backup is of, mode 0600";
    let place = Place::expecting(sources, &options.place, advice)?;
    let file = PathBuf::from(&options.file);
    if !file.is_file() {
        return Err(Failure::usage(format!("`FILE`: there is no file `{}`", file.display())));
    }
    let accept_loss = sources.parse("accept-loss", options.accept_loss.as_deref(), |text| {
        let length = text.chars().count();
        match text.trim() {
            "" => Err("a reason is taken, which is recorded".to_owned()),
            _ if length > LONGEST_REASON => Err(format!("{length} characters, {LONGEST_REASON} are taken")),
            reason => Ok(reason.to_owned()),
        }
    })?;
    let mut names = options.checkpoint.clone();
    if names.is_empty() {
        names.extend(sources.value("checkpoint", None)?.map(|given| given.text));
    }
    let checkpoints = names
        .into_iter()
        .map(|name| read_checkpoint(&name).map(|text| (name, text)))
        .collect::<Result<Vec<_>, _>>()?;
    let key = DataDirectory::master_key_file(&place.data_dir);
    if !key.exists() {
        return Err(Failure::failed(format!(
            "there is no `{}`: copy there the master.key of the server that the backup is of, mode 0600",
            key.display()
        )));
    }
    let plan = Plan { data_dir: place.data_dir, database: place.database, file, checkpoints, accept_loss };
    let progress = Progress::of_unknown("receipts looked over");
    let restored = restore(&plan, &|count| progress.count(count));
    drop(progress);
    match restored {
        Ok(restored) => tell(form, &plan, &restored).map(|()| 0),
        Err(RestoreError::Loss(lost)) => refuse(form, &plan, &lost).map(|()| 1),
        Err(RestoreError::Backup(BackupError::File { path, error })) => {
            let why = format!("`{}`: {error}", path.display());
            Err(if path == plan.file { Failure::usage(why) } else { Failure::failed(why) })
        }
        Err(RestoreError::Backup(BackupError::Damaged(why))) => {
            Err(Failure::failed(format!("`{}`: {why}; nothing was changed", plan.file.display())))
        }
        Err(RestoreError::Backup(error)) => Err(failure(error)),
        Err(RestoreError::Unfit(why)) => Err(Failure::usage(why)),
        Err(error @ (RestoreError::Key(_) | RestoreError::Other(_))) => {
            Err(Failure::failed(error.to_string()))
        }
    }
}

fn read_checkpoint(name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    File::open(name)
        .and_then(|file| file.take(LARGEST_CHECKPOINT).read_to_string(&mut text))
        .map_err(|error| Failure::usage(format!("`--checkpoint`: `{name}` cannot be read: {error}")))?;
    Ok(text)
}

/// Says what would be lost, and that nothing was changed.
fn refuse(form: Form, plan: &Plan, lost: &Lost) -> Result<(), Failure> {
    if form == Form::Json {
        output::json(&json!({"restored": false, "lost": as_json(lost)}))?;
    }
    for sentence in sentences(lost) {
        diagnose(&format!("procura: {sentence}"));
    }
    diagnose(&format!(
        "procura: `{}` was not restored and nothing was changed: to restore it all the same, add `--accept-loss REASON`, \
         which is recorded in the log",
        plan.file.display()
    ));
    Ok(())
}

fn tell(form: Form, plan: &Plan, restored: &Restored) -> Result<(), Failure> {
    let Restored { logs, lost, kept, is_lossy } = restored;
    if form == Form::Json {
        let tenants: Vec<Value> = logs
            .iter()
            .map(|(tenant, size, root)| json!({"tenant": tenant, "size": size, "root": root}))
            .collect();
        return output::json(
            &json!({"restored": true, "tenants": tenants, "kept": kept, "lost": as_json(lost), "lossy": is_lossy}),
        );
    }
    output::line(format!("{} restored to {}", plan.file.display(), plan.database))?;
    let rows: Vec<Vec<String>> = logs
        .iter()
        .map(|(tenant, size, root)| vec![tenant.to_string(), size.to_string(), root.to_string()])
        .collect();
    output::table(&["tenant", "receipts", "root"], &rows)?;
    output::line("the last receipt of each log, `log.restore`, says that this was done")?;
    if let Some(kept) = kept {
        output::line(format!("what was there is kept as {kept}"))?;
    }
    if *is_lossy {
        for sentence in sentences(lost) {
            output::line(format!("accepted: {sentence}"))?;
        }
        output::line(
            "everybody signs in again, and approvals that looked unused were taken back: nobody knows what was done after \
             the backup. What was narrowed or revoked since is as wide and as live again as before: go through it. Whoever holds a checkpoint from after \
             the backup will find that this log contradicts it.",
        )?;
    }
    output::line(format!("next: procura doctor --data-dir {}", plan.data_dir.display()))
}

fn sentences(lost: &Lost) -> Vec<String> {
    let unreadable = lost.unreadable.as_ref().map(|why| {
        format!("the database that is there cannot be read, so nobody knows how far its logs went: {why}")
    });
    let unknown = lost.unknown.iter().map(|(tenant, why)| {
        format!(
            "nobody knows how far the log of `{tenant}` went: {why}: give the newest checkpoint that anybody has, with \
             `--checkpoint`"
        )
    });
    unreadable.into_iter().chain(unknown).chain(lost.logs.iter().map(sentence)).collect()
}

fn sentence(loss: &Loss) -> String {
    let Loss { tenant, known: (size, root), from, how } = loss;
    match how {
        How::Behind { size: held, acts } => {
            let missing = size.saturating_sub(*held);
            let acts: Vec<_> = acts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            let acts = if acts.is_empty() { String::new() } else { format!(": {}", acts.join(", ")) };
            format!(
                "the log of `{tenant}` has {size} receipts by {from}, the backup {held}: {missing} would be lost{acts}"
            )
        }
        How::Forked { size: at, root: held } => format!(
            "the backup holds another log of `{tenant}` than {from}, which has {size} receipts and the root {root}: at \
             {at} receipts the backup's root is {held}"
        ),
        How::Gone => format!("`{tenant}`, with {size} receipts by {from}, is not in the backup at all"),
    }
}

fn as_json(lost: &Lost) -> Value {
    let logs: Vec<Value> = lost
        .logs
        .iter()
        .map(|loss| {
            let (how, held, acts) = match &loss.how {
                How::Behind { size, acts } => ("behind", json!({"size": size}), json!(acts)),
                How::Forked { size, root } => ("forked", json!({"size": size, "root": root}), json!({})),
                How::Gone => ("gone", json!(null), json!({})),
            };
            json!({"tenant": loss.tenant, "how": how, "known": {"size": loss.known.0, "root": loss.known.1},
                "from": loss.from, "held": held, "acts": acts})
        })
        .collect();
    let unknown: Vec<Value> =
        lost.unknown.iter().map(|(tenant, why)| json!({"tenant": tenant, "why": why})).collect();
    json!({"logs": logs, "unreadable": lost.unreadable, "unknown": unknown})
}
