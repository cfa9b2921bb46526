//! Where an option's value comes from: what was typed, else the environment, else a file.

use super::arguments::Arguments;
use super::output::Failure;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The largest configuration file that is read, in bytes.
const LARGEST_FILE: u64 = 64 * 1024;

/// Reads one variable of the environment.
type Environment = dyn Fn(&str) -> Option<OsString>;

/// All that can set an option.
pub(super) struct Sources {
    environment: Box<Environment>,
    file: Option<(PathBuf, BTreeMap<String, String>)>,
}

/// A value and where it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    /// The value as written.
    pub(super) text: String,
    /// Where.
    pub(super) origin: Origin,
}

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Typed,
    Variable(String),
    File(PathBuf),
}

impl fmt::Display for Origin {
    /// As it stands behind the name of an option.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed => Ok(()),
            Self::Variable(name) => write!(f, " (from `{name}`)"),
            Self::File(path) => write!(f, " (from `{}`)", path.display()),
        }
    }
}

impl Sources {
    /// Reads the file that is named by option or variable, if one is.
    pub(super) fn open(
        config: Option<&str>,
        environment: impl Fn(&str) -> Option<OsString> + 'static,
    ) -> Result<Self, Failure> {
        let mut sources = Self { environment: Box::new(environment), file: None };
        if let Some(given) = sources.value("config", config)? {
            let path = PathBuf::from(&given.text);
            let values = read_file(&path).map_err(|why| wrong("config", &given.origin, &why))?;
            sources.file = Some((path, values));
        }
        Ok(sources)
    }

    /// What the option was set to, if it was.
    pub(super) fn value(&self, option: &str, typed: Option<&str>) -> Result<Option<Given>, Failure> {
        if let Some(text) = typed {
            return Ok(Some(Given { text: text.to_owned(), origin: Origin::Typed }));
        }
        let name = variable(option);
        if let Some(found) = (self.environment)(&name) {
            let origin = Origin::Variable(name);
            return match found.into_string() {
                Ok(text) => Ok(Some(Given { text, origin })),
                Err(other) => {
                    let why = format!("`{}` is not UTF-8", other.to_string_lossy().escape_debug());
                    Err(wrong(option, &origin, &why))
                }
            };
        }
        let set = self.file.as_ref().and_then(|(path, values)| Some((path, values.get(option)?)));
        Ok(set.map(|(path, text)| Given { text: text.clone(), origin: Origin::File(path.clone()) }))
    }

    /// All values of an option that may stand several times, read: those typed, else the lines of a variable, else
    /// the list of a file.
    pub(super) fn all<T>(
        &self,
        option: &str,
        typed: &[String],
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, Failure> {
        let given: Vec<Given> = if typed.is_empty() {
            let lines = self.value(option, None)?;
            let each = |given: Given| {
                let lines = given.text.lines().filter(|line| !line.trim().is_empty());
                lines.map(|line| Given { text: line.to_owned(), origin: given.origin.clone() }).collect()
            };
            lines.map(each).unwrap_or_default()
        } else {
            typed.iter().map(|text| Given { text: text.clone(), origin: Origin::Typed }).collect()
        };
        given
            .iter()
            .map(|given| read(&given.text).map_err(|why| wrong(option, &given.origin, &why)))
            .collect()
    }

    /// The option's value, read; a wrong one is named with what it takes.
    pub(super) fn parse<T>(
        &self,
        option: &str,
        typed: Option<&str>,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Failure> {
        let Some(given) = self.value(option, typed)? else { return Ok(None) };
        read(&given.text).map(Some).map_err(|why| wrong(option, &given.origin, &why))
    }

    /// The value of an option that must be set.
    pub(super) fn required<T>(
        &self,
        option: &str,
        typed: Option<&str>,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        self.parse(option, typed, read)?.ok_or_else(|| {
            Failure::usage(format!(
                "`--{option}` is needed: as an option, as `{}`, or as `{option}` in a file named by `--config`",
                variable(option)
            ))
        })
    }

    /// Whether a switch is on.
    pub(super) fn switch(&self, option: &str, typed: bool) -> Result<bool, Failure> {
        let read = |text: &str| match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(format!("`{}` is neither `true` nor `false`", other.escape_debug())),
        };
        Ok(typed || self.parse(option, None, read)?.unwrap_or(false))
    }
}

/// Names an option, where its value was given, and what is wrong with it.
pub(super) fn wrong(option: &str, origin: &Origin, why: &str) -> Failure {
    Failure::usage(format!("`--{option}`{origin}: {why}"))
}

/// The environment variable of an option.
fn variable(option: &str) -> String {
    format!("PROCURA_{}", option.replace('-', "_").to_uppercase())
}

fn read_file(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let shown = path.display();
    let about = std::fs::metadata(path).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    if !about.is_file() || about.len() > LARGEST_FILE {
        return Err(format!("`{shown}` is not a file of at most {LARGEST_FILE} bytes"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    read_text(&text).map_err(|why| format!("`{shown}` {why}"))
}

/// Reads `option = value` lines; options go by their names, with `_` for `-` where someone prefers it.
fn read_text(text: &str) -> Result<BTreeMap<String, String>, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("line {} is not TOML: {}", before.matches('\n').count() + 1, error.message())
    })?;
    let (known, repeatable) = (Arguments::option_names(), Arguments::repeatable_names());
    let mut values = BTreeMap::new();
    for (key, value) in table {
        let option = key.replace('_', "-");
        if !known.contains(&option) {
            let all = known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(format!("holds `{}`, which is not an option: {all}", key.escape_debug()));
        }
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(truth) => truth.to_string(),
            toml::Value::Array(items) if repeatable.contains(&option) => lines(&key, &items)?,
            toml::Value::Float(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_) => {
                return Err(format!(
                    "sets `{key}` to what TOML calls `{}`: a text is taken",
                    value.type_str()
                ));
            }
        };
        if values.insert(option, text).is_some() {
            return Err(format!("sets `{key}` twice, once with `-` and once with `_`"));
        }
    }
    Ok(values)
}

/// A list of texts as a variable would hold it: one a line.
fn lines(key: &str, items: &[toml::Value]) -> Result<String, String> {
    let texts = items.iter().map(|item| item.as_str().filter(|text| !text.contains('\n')));
    let texts: Option<Vec<&str>> = texts.collect();
    texts
        .map(|texts| texts.join("\n"))
        .ok_or_else(|| format!("sets `{key}` to a list that holds other than lines of text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(variables: &[(&'static str, &'static str)], file: Option<&str>) -> Sources {
        let variables: BTreeMap<_, _> = variables.iter().copied().collect();
        let environment = move |name: &str| variables.get(name).map(OsString::from);
        let file = file.map(|text| (PathBuf::from("procura.toml"), read_text(text).unwrap()));
        Sources { environment: Box::new(environment), file }
    }

    fn number(text: &str) -> Result<u16, String> {
        text.parse().map_err(|_| format!("`{text}` is not a number"))
    }

    #[test]
    fn what_is_typed_counts_before_the_environment_and_that_before_the_file() {
        let all = sources(&[("PROCURA_LISTEN", "2")], Some("listen = 3"));
        assert_eq!(all.parse("listen", Some("1"), number), Ok(Some(1)));
        assert_eq!(all.parse("listen", None, number), Ok(Some(2)));
        let file = sources(&[], Some("listen = 3"));
        assert_eq!(file.parse("listen", None, number), Ok(Some(3)));
        assert_eq!(sources(&[], None).parse("listen", None, number), Ok(None));
    }

    #[test]
    fn a_wrong_value_names_the_option_where_it_was_set_and_what_it_is() {
        let all = sources(&[("PROCURA_MAIL_FROM", "x")], Some("listen = \"y\""));
        for (option, typed, expected) in [
            ("zone", Some("z"), "`--zone`: `z` is not a number"),
            ("mail-from", None, "`--mail-from` (from `PROCURA_MAIL_FROM`): `x` is not a number"),
            ("listen", None, "`--listen` (from `procura.toml`): `y` is not a number"),
        ] {
            let failure = all.parse(option, typed, number).unwrap_err();
            assert_eq!((failure.status(), failure.message()), (2, expected));
        }
    }

    #[test]
    fn a_missing_option_says_how_to_set_it() {
        let failure = sources(&[], None).required("data-dir", None, number).unwrap_err();
        assert_eq!(failure.status(), 2);
        for part in ["`--data-dir` is needed", "`PROCURA_DATA_DIR`", "`data-dir` in a file"] {
            assert!(failure.message().contains(part), "{}", failure.message());
        }
    }

    #[test]
    fn an_empty_variable_is_a_value_and_not_an_absence() {
        let failure = sources(&[("PROCURA_LISTEN", "")], None).parse("listen", None, number).unwrap_err();
        assert_eq!(failure.message(), "`--listen` (from `PROCURA_LISTEN`): `` is not a number");
    }

    #[test]
    fn an_unknown_key_of_the_file_is_refused_by_name() {
        let refusal = read_text("listen = \"x\"\nlisten_address = \"y\"\n").unwrap_err();
        assert!(refusal.starts_with("holds `listen_address`, which is not an option: "), "{refusal}");
        assert!(refusal.contains("public-url"), "{refusal}");
    }

    #[test]
    fn options_of_the_file_are_written_with_hyphens_or_underscores_and_once() {
        let values = read_text("data-dir = \"a\"\nmail_from = \"b\"\nbench-bare = true\n").unwrap();
        let expected = [("bench-bare", "true"), ("data-dir", "a"), ("mail-from", "b")];
        assert_eq!(values, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let twice = read_text("data-dir = \"a\"\ndata_dir = \"b\"\n").unwrap_err();
        assert!(twice.contains("twice"), "{twice}");
        let list = read_text("listen = [\"a\"]").unwrap_err();
        assert_eq!(list, "sets `listen` to what TOML calls `array`: a text is taken");
    }

    #[test]
    fn an_option_that_may_stand_several_times_is_read_from_one_place() {
        let both = sources(&[("PROCURA_WITNESS", "1\n\n2\n")], Some("witness = [\"3\", \"4\"]"));
        assert_eq!(both.all("witness", &["5".into()], number), Ok(vec![5]));
        assert_eq!(both.all("witness", &[], number), Ok(vec![1, 2]));
        let file = sources(&[], Some("witness = [\"3\", \"4\"]"));
        assert_eq!(file.all("witness", &[], number), Ok(vec![3, 4]));
        assert_eq!(sources(&[], Some("witness = \"3\"")).all("witness", &[], number), Ok(vec![3]));
        assert_eq!(sources(&[], None).all("witness", &[], number), Ok(Vec::new()));
        let failure = both.all("witness", &["5".into(), "x".into()], number).unwrap_err();
        assert_eq!(failure.message(), "`--witness`: `x` is not a number");
        let odd = read_text("witness = [1]").unwrap_err();
        assert_eq!(odd, "sets `witness` to a list that holds other than lines of text");
    }

    #[test]
    fn a_file_that_is_not_toml_is_refused_with_its_line() {
        let refusal = read_text("listen = \"a\"\nzone = \n").unwrap_err();
        assert!(refusal.starts_with("line 2 is not TOML: "), "{refusal}");
    }

    #[test]
    fn a_switch_is_on_when_any_source_says_so() {
        let variable = sources(&[("PROCURA_JSON", "1")], None);
        assert_eq!(variable.switch("json", false), Ok(true));
        assert_eq!(sources(&[], Some("json = true")).switch("json", false), Ok(true));
        assert_eq!(sources(&[("PROCURA_JSON", "false")], None).switch("json", true), Ok(true));
        assert_eq!(sources(&[], None).switch("json", false), Ok(false));
        let odd = sources(&[("PROCURA_JSON", "yes")], None).switch("json", false).unwrap_err();
        assert_eq!(odd.message(), "`--json` (from `PROCURA_JSON`): `yes` is neither `true` nor `false`");
    }
}
