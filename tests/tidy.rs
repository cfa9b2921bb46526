//! Keeps the house in order: layers use what is below them, clocks are read in one place, nothing lies about unused.

#![cfg(test)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Each folder of `src` and how high it lies; a layer uses only what lies lower, those of one height not each other.
const HEIGHTS: [(&str, u32); 14] = [
    ("domain", 0),
    ("crypto", 1),
    ("screening", 1),
    ("evidence", 2),
    ("engine", 2),
    ("storage", 3),
    ("notify", 4),
    ("committer", 4),
    ("actions", 5),
    ("app", 6),
    ("http", 7),
    ("web", 7),
    ("cli", 8),
    ("main", 9),
];

/// Layers of one height that one of them may use all the same, and why.
const NEIGHBOURS: [(&str, &str); 3] = [
    ("screening", "crypto"), // both serve what is above, hashes are needed in both
    ("http", "web"),         // one server answers both
    ("web", "http"),         // a page acts as the wire does
];

/// The files that may read each clock.
const CLOCKS: [(&str, &[&str]); 3] = [
    ("Utc::now", &["src/committer/clock.rs"]),
    ("SystemTime::now", &["src/committer/clock.rs"]),
    // Monotonic time says how long a bar has stood or a caller may wait; it decides nothing.
    ("Instant::now", &["src/http/decisions.rs", "src/cli/progress.rs"]),
];

/// Over this a file is to be split.
const MOST_LINES: usize = 500;

#[test]
fn a_layer_uses_only_what_is_below_it() {
    let heights: BTreeMap<&str, u32> = HEIGHTS.into();
    let mut wrong = Vec::new();
    for file in files("src", "rs") {
        let shown = shown(&file);
        let Some(layer) = layer(&shown) else { continue };
        let Some(own) = heights.get(layer) else {
            wrong.push(format!("{shown}: `{layer}` is no layer that this test knows"));
            continue;
        };
        for used in used_layers(&production(&read(&file))) {
            if used == layer || NEIGHBOURS.contains(&(layer, &used)) {
                continue;
            }
            match heights.get(&*used) {
                Some(height) if height < own => {}
                Some(_) => wrong.push(format!("{shown}: `{layer}` uses `{used}`, which is not below it")),
                None => wrong.push(format!("{shown}: `{layer}` uses `{used}`, which is no layer")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn clocks_are_read_in_one_place() {
    let mut wrong = Vec::new();
    for file in files("src", "rs") {
        let (shown, text) = (shown(&file), production(&read(&file)));
        for (clock, allowed) in CLOCKS {
            if text.contains(clock) && !allowed.contains(&&*shown) {
                wrong.push(format!("{shown} reads `{clock}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "time is an argument: {wrong:#?}");
}

#[test]
fn the_pure_layers_touch_nothing_outside() {
    let outside = [
        "std::fs",
        "std::net",
        "std::env",
        "std::process",
        "std::thread",
        "tokio::",
        "diesel::",
        "async fn",
        "rand::",
    ];
    let mut wrong = Vec::new();
    for layer in ["src/domain", "src/engine", "src/evidence", "src/screening"] {
        for file in files(layer, "rs") {
            let text = production(&read(&file));
            wrong.extend(
                outside
                    .iter()
                    .filter(|word| text.contains(**word))
                    .map(|word| format!("{}: {word}", shown(&file))),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_template_is_used() {
    let sources: String = files("src", "rs").iter().map(|file| read(file)).collect();
    let all = files("templates", "");
    let templates: String = all.iter().map(|file| read(file)).collect();
    let used = |name: &str| [&sources, &templates].iter().any(|text| text.contains(&format!("{name}\"")));
    let dead: Vec<_> = all
        .iter()
        .map(|file| shown(file).trim_start_matches("templates/").to_owned())
        .filter(|name| !used(name))
        .collect();
    assert!(dead.is_empty(), "templates that nothing uses: {dead:?}");
}

#[test]
fn no_file_is_too_long() {
    let folders = ["src", "tests", "benches"];
    let all = folders.iter().flat_map(|folder| files(folder, "rs"));
    let long: Vec<_> = all
        .map(|file| (shown(&file), read(&file).lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .collect();
    assert!(long.is_empty(), "over {MOST_LINES} lines: {long:?}");
}

#[test]
fn migrations_of_both_databases_bear_the_same_names() {
    let names = |folder: &str| -> Vec<String> {
        let prefix = format!("migrations/{folder}/");
        files(&prefix, "sql").iter().map(|file| shown(file).replace(&prefix, "")).collect()
    };
    assert!(!names("sqlite").is_empty());
    assert_eq!(names("sqlite"), names("postgres"));
}

/// All files below a folder of the repository with that extension, or all, in order.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root().join(folder)];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                waiting.push(path);
            } else if extension.is_empty() || path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The layer a file belongs to; `lib.rs` belongs to none.
fn layer(shown: &str) -> Option<&str> {
    let rest = shown.strip_prefix("src/")?;
    match rest.split_once('/') {
        Some((folder, _)) => Some(folder),
        None if rest == "lib.rs" => None,
        None => rest.strip_suffix(".rs"),
    }
}

/// A file without its tests and comments; a sibling file of tests is empty.
fn production(text: &str) -> String {
    let before_tests = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    before_tests
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |all, line| all + line + "\n")
}

/// The modules directly below the crate that a text names, as `crate::x` or `procura::x`, also in braces.
fn used_layers(text: &str) -> Vec<String> {
    let mut used = Vec::new();
    for prefix in ["crate::", "procura::"] {
        for (place, _) in text.match_indices(prefix) {
            let before = text[..place].chars().next_back();
            if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':') {
                continue;
            }
            let rest = &text[place + prefix.len()..];
            match rest.strip_prefix('{') {
                Some(group) => used.extend(heads_of_group(group)),
                None => used.push(word(rest)),
            }
        }
    }
    used.retain(|name| name.starts_with(|letter: char| letter.is_ascii_lowercase()));
    used.sort();
    used.dedup();
    used
}

/// The first words of a `use` group's members, at its outermost level.
fn heads_of_group(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 0;
    let mut is_start = true;
    for (place, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_start = true,
            _ if letter.is_whitespace() => {}
            _ if is_start => {
                heads.push(word(&group[place..]));
                is_start = false;
            }
            _ => {}
        }
    }
    heads
}

fn word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
}

#[test]
fn the_reader_of_imports_sees_what_it_should() {
    assert_eq!(
        used_layers("use crate::domain::Hash;\nlet x = crate::storage::find();"),
        ["domain", "storage"]
    );
    assert_eq!(used_layers("use crate::{app::App, domain::{Hash, Id}, http};"), ["app", "domain", "http"]);
    assert_eq!(used_layers("other_crate::domain::x"), Vec::<String>::new());
    assert_eq!(layer("src/cli/verify.rs"), Some("cli"));
    assert_eq!(layer("src/main.rs"), Some("main"));
    assert_eq!(layer("src/lib.rs"), None);
    assert!(!production("a\n#[cfg(test)]\nmod tests {\n use crate::http;\n}").contains("http"));
}
