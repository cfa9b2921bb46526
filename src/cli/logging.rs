//! Log lines to standard error: text for people, JSON for everything else.

use super::arguments::Common;
use super::config::Sources;
use super::output::Failure;
use std::io::{self, IsTerminal};
use tracing_subscriber::EnvFilter;

/// From which level on lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    const ALL: [Self; 5] = [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }

    fn read(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|level| level.as_str() == text).ok_or_else(|| {
            let all = Self::ALL.map(Self::as_str).join(", ");
            format!("`{}` is not a level: {all}", text.escape_debug())
        })
    }

    /// The filter: our own lines from this level on, those of libraries from `warn` on, since theirs may hold what
    /// ours never do.
    fn filter(self) -> String {
        let libraries = if self == Self::Error { Self::Error } else { Self::Warn };
        format!("{},procura={}", libraries.as_str(), self.as_str())
    }
}

/// Starts logging as the options say.
pub(super) fn start(sources: &Sources, options: &Common, default: Level) -> Result<(), Failure> {
    let level = sources.parse("log-level", options.log_level.as_deref(), Level::read)?.unwrap_or(default);
    let is_json = sources
        .parse("log-format", options.log_format.as_deref(), |text| match text {
            "json" => Ok(true),
            "text" => Ok(false),
            other => Err(format!("`{}` is not a format: text, json", other.escape_debug())),
        })?
        .unwrap_or_else(|| !io::stderr().is_terminal());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(level.filter()))
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    if is_json {
        builder.json().init();
    } else {
        builder.init();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_goes_by_its_name() {
        for level in Level::ALL {
            assert_eq!(Level::read(level.as_str()), Ok(level));
            assert!(EnvFilter::try_new(level.filter()).is_ok());
        }
        assert_eq!(
            Level::read("INFO").unwrap_err(),
            "`INFO` is not a level: error, warn, info, debug, trace"
        );
    }
}
