//! The commands: from what was typed, set or written in a file to a validated request, and from its result to text.
//!
//! ```text
//! flags ─┐
//! PROCURA_… ─┼─ config ─▶ validated values ─▶ one file a command ─▶ output: tables or JSON, and an exit status
//! file ──┘
//! ```

mod arguments;
mod backup;
mod catalogue;
mod client;
mod config;
mod demo;
mod diff;
mod doctor;
mod explain;
mod export;
mod keys;
mod logging;
mod mandate;
mod output;
mod place;
mod progress;
mod replay;
mod restore;
mod resume;
mod rotate;
mod serve;
mod setup;
mod values;
mod verify;

use arguments::{Arguments, Command, KeysCommand, MandateCommand};
use clap::Parser;
use config::Sources;
use output::{Failure, Form};
use std::process::ExitCode;

/// Runs the command that was typed: 0 when it did what it says, 1 when something is not so, 2 when what was asked
/// cannot be understood or read; `mandate explain` ends with 3 or 4 where the answer is no allow.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let status = match dispatch(&arguments) {
        Ok(status) => status,
        Err(failure) => failure.report(),
    };
    ExitCode::from(status)
}

fn dispatch(arguments: &Arguments) -> Result<u8, Failure> {
    let common = &arguments.common;
    let sources = Sources::open(common.config.as_deref(), |name| std::env::var_os(name))?;
    let form = if sources.switch("json", common.json)? { Form::Json } else { Form::Text };
    let default_level = match &arguments.command {
        Command::Demo(_) => logging::Level::Warn,
        Command::Setup(_)
        | Command::Serve(_)
        | Command::Export(_)
        | Command::Verify(_)
        | Command::Replay(_)
        | Command::Backup(_)
        | Command::Restore(_)
        | Command::Doctor(_)
        | Command::Mandate(_)
        | Command::Keys(_) => logging::Level::Info,
    };
    logging::start(&sources, common, default_level)?;
    match &arguments.command {
        Command::Demo(options) => demo::run(&sources, options, form),
        Command::Setup(options) => setup::run(&sources, options, form),
        Command::Serve(options) => serve::run(&sources, options, form),
        Command::Export(options) => export::run(&sources, options, form),
        Command::Verify(options) => verify::run(&sources, options, form),
        Command::Replay(options) => replay::run(&sources, options, form),
        Command::Backup(options) => backup::run(&sources, options, form),
        Command::Restore(options) => restore::run(&sources, options, form),
        Command::Doctor(options) => doctor::run(&sources, options, form),
        Command::Mandate(MandateCommand::Check(options)) => mandate::check(&sources, options, form),
        Command::Mandate(MandateCommand::Explain(options)) => explain::run(&sources, options, form),
        Command::Mandate(MandateCommand::Diff(options)) => diff::run(&sources, options, form),
        Command::Keys(KeysCommand::List(options)) => keys::list(&sources, options, form),
        Command::Keys(KeysCommand::Rotate(options)) => rotate::run(&sources, options, form),
    }
}
