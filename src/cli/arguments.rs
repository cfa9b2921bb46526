//! What can be typed. Values stay texts here: where they come from and what they must be is settled elsewhere.

use clap::{Arg, ArgAction, Args, CommandFactory, Parser, Subcommand};
use std::collections::BTreeSet;

const ELSEWHERE: &str = "\
Every option can also be set as an environment variable (--data-dir is PROCURA_DATA_DIR) and in a TOML file \
named by --config (data-dir = \"…\"). An option counts before a variable, a variable before the file. Of an option \
that may stand several times a variable holds one value a line, the file a list of texts.";

/// Mandate and credential authorisation for agents that act for people.
#[derive(Debug, Parser)]
#[command(name = "procura", version, after_help = ELSEWHERE)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(subcommand)]
    pub(super) command: Command,
}

impl Arguments {
    /// The names of all options of all commands, as a configuration file may hold them.
    pub(super) fn option_names() -> BTreeSet<String> {
        Self::names_of(|_| true)
    }

    /// The names of those that may stand several times.
    pub(super) fn repeatable_names() -> BTreeSet<String> {
        Self::names_of(|argument| matches!(argument.get_action(), ArgAction::Append))
    }

    fn names_of(is_meant: impl Fn(&Arg) -> bool) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut commands = vec![Self::command()];
        while let Some(command) = commands.pop() {
            let meant = command.get_arguments().filter(|argument| is_meant(argument));
            names.extend(meant.filter_map(|argument| argument.get_long().map(str::to_owned)));
            commands.extend(command.get_subcommands().cloned());
        }
        // The file cannot name itself.
        names.remove("config");
        names
    }
}

/// Options of every command.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// A TOML file with options
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<String>,
    /// Print results as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// What is logged to standard error: error, warn, info, debug or trace
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(super) log_level: Option<String>,
    /// How it is logged: text or json [default: text on a terminal, otherwise json]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(super) log_format: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show what Procura does: a sample club, its agents and their answers, on a server of its own
    Demo(Demo),
    /// Set up a tenant: its keys, its log and its first operator
    Setup(Setup),
    /// Run the server
    Serve(Serve),
    /// Write one credential's calls to a file
    Export(Export),
    /// Check receipts, exports, checkpoints and tiles offline: exit 0 if all hold, 1 if something does not, 2 if unreadable
    Verify(Verify),
    /// Decide every recorded answer again: exit 0 if all come out the same, 1 if one does not, 2 if unreadable
    Replay(Replay),
    /// Hold a provider's own list of effects against the ledger: exit 0 if both say the same, 1 if not, 2 if unreadable
    Coverage(Coverage),
    /// Copy the database into one file, beside a running server, and check the copy
    Backup(Backup),
    /// Put a backup in the database's place: refused where it would lose part of a log, unless told
    Restore(Restore),
    /// Look everything over: exit 0 if all is well or only worth a look, 1 if something is wrong
    Doctor(Doctor),
    /// Work with mandates and policies as files
    #[command(subcommand)]
    Mandate(MandateCommand),
    /// Work with the tenants' keys
    #[command(subcommand)]
    Keys(KeysCommand),
}

/// Where the service's data are.
#[derive(Debug, Args)]
pub(super) struct Place {
    /// Where the keys and, embedded, the database lie
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<String>,
    /// Where the tables are: sqlite:PATH or postgres://… [default: sqlite:DIR/procura.db]
    #[arg(long, value_name = "URL")]
    pub(super) database: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Where it listens [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub(super) listen: Option<String>,
    /// Where its data are kept [default: a temporary directory, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<String>,
    /// End after the tour, with status 0 only if every step came out as it should
    #[arg(long)]
    pub(super) exit: bool,
}

#[derive(Debug, Args)]
pub(super) struct Setup {
    #[command(flatten)]
    pub(super) place: Place,
    /// The tenant's name, which never changes: 1 to 63 of a-z, 0-9 and -
    #[arg(long, value_name = "SLUG")]
    pub(super) tenant: Option<String>,
    /// The address its first operator signs in with
    #[arg(long, value_name = "EMAIL")]
    pub(super) operator: Option<String>,
    /// A file with the operator's password
    #[arg(long, value_name = "FILE")]
    pub(super) password_file: Option<String>,
    /// The time zone its calendar follows [default: UTC]
    #[arg(long, value_name = "Area/City")]
    pub(super) zone: Option<String>,
    /// Where people and agents will reach the service; names the log and the tokens' issuer
    #[arg(long, value_name = "URL")]
    pub(super) public_url: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    pub(super) place: Place,
    /// Where it listens [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub(super) listen: Option<String>,
    /// Where people and agents reach it: https://…, or http:// for this machine alone
    #[arg(long, value_name = "URL")]
    pub(super) public_url: Option<String>,
    /// Write mail as files to this folder
    #[arg(long, value_name = "DIR")]
    pub(super) mail_folder: Option<String>,
    /// Send mail over this server: smtps://… or smtp://…
    #[arg(long, value_name = "URL")]
    pub(super) smtp_url: Option<String>,
    /// The sender of mail
    #[arg(long, value_name = "ADDRESS")]
    pub(super) mail_from: Option<String>,
    /// When people are told of the day before, where mail leaves: HH:MM by the tenant's clocks, or never [default: 07:00]
    #[arg(long, value_name = "TIME")]
    pub(super) digest_at: Option<String>,
    /// A signed checkpoint that somebody holds: a log that is behind it is not served. May stand several times
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Vec<String>,
    /// Who cosigns checkpoints: a verifier key and an address, with a blank between. May stand several times
    #[arg(long, value_name = "KEY URL")]
    pub(super) witness: Vec<String>,
    /// How often a witness is asked, at most, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub(super) witness_every: Option<String>,
    /// Serve the benchmark's handler that records nothing
    #[arg(long, hide = true)]
    pub(super) bench_bare: bool,
    /// Verify the signature of every token at every call, for the benchmark
    #[arg(long, hide = true)]
    pub(super) bench_verify: bool,
}

#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    pub(super) place: Place,
    /// The calls of one credential
    #[arg(long, value_name = "CRD")]
    pub(super) credential: Option<String>,
    /// What concerns one agent
    #[arg(long, value_name = "AGT")]
    pub(super) agent: Option<String>,
    /// What concerns one person, or was done by them
    #[arg(long, value_name = "PRN")]
    pub(super) principal: Option<String>,
    /// The whole log of a tenant
    #[arg(long, value_name = "SLUG")]
    pub(super) tenant: Option<String>,
    /// jsonl, which verifies offline, csv or parquet
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<String>,
    /// Calls at or after this time
    #[arg(long, value_name = "TIME")]
    pub(super) from: Option<String>,
    /// Calls before this time
    #[arg(long, value_name = "TIME")]
    pub(super) until: Option<String>,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<String>,
    /// Goes on with a file that broke off, in place of all other options
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["credential", "agent", "principal", "tenant", "format", "from", "until", "out"])]
    pub(super) resume: Option<String>,
    /// Replaces a file that is there
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// Receipts, answers, exports, checkpoints, proofs, tiles or entry bundles, or a directory that holds a log's checkpoint
    /// and tiles; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// A signed checkpoint from elsewhere: every receipt must be of that log
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Option<String>,
    /// The log's key, known from elsewhere: any other is a failure
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<String>,
    /// Also hold every answer against the changes before it in the log: none used an older mandate, policy or catalogue,
    /// or a revoked credential
    #[arg(long)]
    pub(super) narrowing: bool,
}

#[derive(Debug, Args)]
pub(super) struct Replay {
    #[command(flatten)]
    pub(super) place: Place,
    /// Whose log [default: every tenant's]
    #[arg(long, value_name = "SLUG")]
    pub(super) tenant: Option<String>,
    /// The first place in the log, counted from 0 [default: 0]
    #[arg(long, value_name = "N")]
    pub(super) from: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Coverage {
    #[command(flatten)]
    pub(super) place: Place,
    /// The provider's list: CSV with a heading, or one JSON object a line; - is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: String,
    /// Whose ledger [default: the only tenant's]
    #[arg(long, value_name = "SLUG")]
    pub(super) tenant: Option<String>,
    /// Effects of this intent, or of a prefix such as payments.* [default: *]
    #[arg(long, value_name = "INTENT")]
    pub(super) intent: Option<String>,
    /// Lines and effects at or after this time
    #[arg(long, value_name = "TIME")]
    pub(super) from: Option<String>,
    /// Lines and effects before this time
    #[arg(long, value_name = "TIME")]
    pub(super) until: Option<String>,
    /// The column with the provider's reference [default: reference]
    #[arg(long, value_name = "NAME")]
    pub(super) reference: Option<String>,
    /// The column with the amount in major units [default: amount]
    #[arg(long, value_name = "NAME")]
    pub(super) amount: Option<String>,
    /// The column with the amount's currency [default: currency]
    #[arg(long, value_name = "NAME")]
    pub(super) currency: Option<String>,
    /// The column with the time, RFC 3339 with an offset [default: time]
    #[arg(long, value_name = "NAME")]
    pub(super) time: Option<String>,
    /// The column with the idempotency key, where the provider gives it back: matches what has no reference
    #[arg(long, value_name = "NAME")]
    pub(super) key_column: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Backup {
    #[command(flatten)]
    pub(super) place: Place,
    /// The file to write
    #[arg(value_name = "FILE")]
    pub(super) file: String,
    /// Replace a file that is there
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    #[command(flatten)]
    pub(super) place: Place,
    /// A file that `procura backup` wrote
    #[arg(value_name = "FILE")]
    pub(super) file: String,
    /// A signed checkpoint from elsewhere that the backup must reach; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Vec<String>,
    /// Restore although part of a log is lost, and why: the reason is recorded in every log
    #[arg(long, value_name = "REASON")]
    pub(super) accept_loss: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    pub(super) place: Place,
    /// Leave out the drill: a server on a scratch copy whose disk is full, then whose database is locked
    #[arg(long)]
    pub(super) no_drill: bool,
    /// The folder that `serve` writes mail to
    #[arg(long, value_name = "DIR")]
    pub(super) mail_folder: Option<String>,
    /// The mail server that `serve` sends mail over
    #[arg(long, value_name = "URL")]
    pub(super) smtp_url: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum MandateCommand {
    /// Check a mandate: exit 0 if it can go live, 1 if not, 2 if unreadable
    Check(MandateCheck),
    /// Say what a mandate answers to a request, and why: exit 0 for allow, 3 for escalate, 4 for refuse, 2 if unreadable
    Explain(MandateExplain),
    /// Say what a new version changes, and whether it is narrower: exit 0, or 2 if unreadable
    Diff(MandateDiff),
}

#[derive(Debug, Args)]
pub(super) struct MandateCheck {
    /// The mandate as YAML or JSON; - is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: String,
    /// The file holds a policy
    #[arg(long)]
    pub(super) policy: bool,
    /// The catalogue it is checked beside: what GET /v1/catalogue answers, or intents with their entries
    #[arg(long, value_name = "FILE")]
    pub(super) catalogue: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct MandateExplain {
    /// The mandate as YAML or JSON; - is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: String,
    /// The request as an agent puts it to the gate, or an enforcement point with `facts`
    #[arg(value_name = "REQUEST")]
    pub(super) request: String,
    /// The tenant's policy [default: one that says nothing]
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Option<String>,
    /// The catalogue: intents with their entries, or what GET /v1/catalogue answers [default: empty]
    #[arg(long, value_name = "FILE")]
    pub(super) catalogue: Option<String>,
    /// For which instant [default: now]
    #[arg(long, value_name = "TIME")]
    pub(super) at: Option<String>,
    /// The tenant's time zone, in which days, weeks and months begin [default: Etc/UTC]
    #[arg(long, value_name = "AREA/CITY")]
    pub(super) zone: Option<String>,
    /// The agent's kind: acting, reading or answering [default: acting]
    #[arg(long, value_name = "KIND")]
    pub(super) kind: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct MandateDiff {
    /// Compare policies [default: told by what stands in the files]
    #[arg(long)]
    pub(super) policy: bool,
    /// The old version as YAML or JSON
    #[arg(value_name = "OLD")]
    pub(super) old: String,
    /// The new version as YAML or JSON
    #[arg(value_name = "NEW")]
    pub(super) new: String,
}

#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// List every tenant's keys with their public halves
    List(Place),
    /// Put a new key in the place of one that is in force; every server on the database must be stopped
    Rotate(KeysRotate),
}

#[derive(Debug, Args)]
pub(super) struct KeysRotate {
    #[command(flatten)]
    pub(super) place: Place,
    /// Whose key
    #[arg(long, value_name = "SLUG")]
    pub(super) tenant: Option<String>,
    /// Which: token, which signs agents' tokens, or auth, which authenticates receipts
    #[arg(long, value_name = "PURPOSE")]
    pub(super) purpose: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_options_of_all_commands_are_known() {
        let names = Arguments::option_names();
        for name in ["data-dir", "listen", "password-file", "key", "json", "log-level", "policy"] {
            assert!(names.contains(name), "{name} in {names:?}");
        }
        assert!(!names.contains("config"));
    }
}
