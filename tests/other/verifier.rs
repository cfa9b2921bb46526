//! The verifier in Python, `ops/verify.py`: it takes what this one takes and refuses what this one refuses.
//!
//! One interpreter answers for all tests of a run, a line of JSON each.

use super::*;
use crate::crypto::PublicKey;
use crate::domain::json;
use crate::evidence::canonical;
use crate::evidence::receipt::Kind;
use proptest::prelude::*;
use std::io::{BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ops/verify.py");

/// Answers one question a line: with what a run ends, whether signatures hold, how a text is written canonically.
const DRIVER: &str = r#"
import contextlib, functools, importlib.util, io, json, sys
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("verify", sys.argv[1])
verify = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verify)
verify.verifies = functools.lru_cache(verify.verifies)
def run(arguments):
    said, sys.argv = io.StringIO(), ["verify.py", *arguments]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try: status = verify.main()
        except SystemExit as end: status = end.code
        except BaseException as error: status = f"traceback: {error!r}"
    return [status, said.getvalue()]
def canonical(text):
    value, wrong = verify.parse(bytes.fromhex(text))
    return None if wrong else verify.jcs(value)
def signature(parts): return verify.verifies(*map(bytes.fromhex, parts))
for line in sys.stdin:
    asked, given = json.loads(line)
    print(json.dumps({"run": run, "canonical": canonical, "signature": signature}[asked](given)), flush=True)
"#;

struct Interpreter {
    _child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

static INTERPRETER: LazyLock<Mutex<Interpreter>> = LazyLock::new(|| {
    let mut child = Command::new("python3")
        .args(["-c", DRIVER, SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed to run ops/verify.py");
    let questions = child.stdin.take().unwrap();
    let answers = BufReader::new(child.stdout.take().unwrap());
    Mutex::new(Interpreter { _child: child, questions, answers })
});

fn ask(question: &str, given: &Value) -> Value {
    let mut interpreter = INTERPRETER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    writeln!(interpreter.questions, "{}", json!([question, given])).unwrap();
    let mut answer = String::new();
    interpreter.answers.read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// How the other verifier ended, and what it says as JSON of the same files, with their names as they were given.
pub(super) struct Said {
    pub(super) status: u8,
    pub(super) words: String,
    pub(super) report: Value,
}

/// Runs it on files of these names in a folder of their own.
pub(super) fn status(files: &[(&str, &[u8])], options: &Options) -> Said {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("procura-verify-{}-{number}", std::process::id()));
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let mut arguments: Vec<String> = files.iter().map(|(name, bytes)| write(name, bytes)).collect();
    if let Some(key) = &options.key {
        arguments.extend(["--key".to_owned(), key.to_string()]);
    }
    if let Some((name, text)) = &options.checkpoint {
        arguments.extend(["--checkpoint".to_owned(), write(&format!("given/{name}"), text.as_bytes())]);
    }
    if options.narrowing {
        arguments.push("--narrowing".to_owned());
    }
    let answer = ask("run", &json!(arguments));
    arguments.push("--json".to_owned());
    let report = ask("run", &json!(arguments));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(answer[0], report[0], "it ends otherwise where it says so as JSON: {answer}, {report}");
    let words = answer[1].as_str().unwrap().to_owned();
    let status = answer[0].as_u64().and_then(|status| u8::try_from(status).ok());
    let status = status.unwrap_or_else(|| panic!("{answer}: {words}"));
    let root = format!("{}/", folder.display());
    let given = report[1].as_str().unwrap().replace(&format!("{root}given/"), "").replace(&root, "");
    let report = serde_json::from_str(&given).unwrap_or_else(|error| panic!("{error}: {given}"));
    Said { status, words, report }
}

/// The members that what both say as JSON must have in common: all but the notes and the failure's words.
pub(super) fn counted(report: &Report) -> Value {
    let narrowing = report.narrowing.as_ref().map(|logs| {
        let gaps = |narrowed: &Narrowed| -> Vec<_> {
            narrowed.gaps.iter().map(|(first, last)| json!({"first": first, "last": last})).collect()
        };
        let each = |narrowed: &Narrowed| {
            json!({"origin": narrowed.origin, "answers": narrowed.answers, "changes": narrowed.changes,
                "first": narrowed.first, "last": narrowed.last, "size": narrowed.size,
                "not_read": gaps(narrowed)})
        };
        logs.iter().map(each).collect::<Vec<_>>()
    });
    let (is_given, keys) = match &report.key_used {
        KeyUsed::Given(key) => (true, vec![key.clone()]),
        KeyUsed::FromFiles(keys) => (false, keys.clone()),
    };
    json!({"receipts": report.receipts, "exports": report.exports, "checkpoints": report.checkpoints,
        "tiles": report.tiles, "bundles": report.bundles, "proofs": report.proofs,
        "inclusion_proofs": report.inclusion_proofs, "lines": report.lines, "narrowing": narrowing,
        "keys": keys, "key_given": is_given})
}

#[test]
fn it_is_small_and_knows_every_kind_of_receipt() {
    let script = std::fs::read_to_string(SCRIPT).unwrap();
    assert!(script.lines().count() < 400, "{} lines", script.lines().count());
    let kinds = script.split("KINDS = \"\"\"").nth(1).unwrap().split("\"\"\"").next().unwrap();
    let kinds: std::collections::BTreeSet<_> = kinds.split_whitespace().collect();
    assert_eq!(kinds, Kind::ALL.iter().map(|kind| kind.as_str()).collect());
}

fn both_verify(key: &str, message: &str, signature: &str) -> bool {
    let bytes = |text: &str| hex::decode(text).unwrap();
    let here = PublicKey(bytes(key).try_into().unwrap()).verifies(&bytes(message), &bytes(signature));
    let there = ask("signature", &json!([key, message, signature]));
    assert_eq!(there, json!(here), "key {key}, message {message}, signature {signature}");
    here
}

#[test]
fn it_takes_the_signatures_that_wycheproof_says_are_valid_and_no_others() {
    let file: Value = serde_json::from_str(include_str!("../vectors/wycheproof/ed25519_test.json")).unwrap();
    let mut count = 0;
    for group in file["testGroups"].as_array().unwrap() {
        let key = group["publicKey"]["pk"].as_str().unwrap();
        for case in group["tests"].as_array().unwrap() {
            let (message, signature) = (case["msg"].as_str().unwrap(), case["sig"].as_str().unwrap());
            assert_eq!(both_verify(key, message, signature), case["result"] == "valid", "{case}");
            count += 1;
        }
    }
    assert_eq!(count, 151);
}

#[test]
fn it_takes_the_first_three_signatures_of_rfc_8032_section_7_1() {
    for (key, message, signature) in [
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ] {
        assert!(both_verify(key, message, signature));
        assert!(!both_verify(key, &format!("{message}00"), signature));
    }
}

/// Keys and nonce points of small order, in their one spelling and in others, with every S that could pass.
#[test]
fn both_treat_points_of_small_order_and_other_spellings_alike() {
    let points = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "0200000000000000000000000000000000000000000000000000000000000000",
    ];
    let scalars = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010",
        "ecd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010",
        "0000000000000000000000000000000000000000000000000000000000000080",
    ];
    for key in points {
        for nonce in points {
            for scalar in scalars {
                both_verify(key, "6d657373616765", &format!("{nonce}{scalar}"));
            }
        }
        both_verify(key, "", "");
    }
}

fn both_read(text: &[u8]) -> Option<String> {
    let here = json::parse_within(text, 1 << 20, 40).ok();
    let here = here.map(|value| String::from_utf8(canonical::to_vec(&value)).unwrap());
    let there = ask("canonical", &json!(hex::encode(text)));
    assert_eq!(there, json!(here), "{}", String::from_utf8_lossy(text));
    here
}

#[test]
fn both_read_json_alike_and_write_it_alike() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    for text in [
        "{}",
        "[]",
        "null",
        " true\n",
        "1",
        "-0",
        "-0.0",
        "0.0",
        "1.0",
        "1e2",
        "1E+2",
        "1e21",
        "1e-7",
        "1e-6",
        "123456789e12",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "1e400",
        "-1e400",
        "1e-400",
        "5e-324",
        "0e99999",
        "1.7976931348623157e308",
        "0.1000000000000000055511151231257827",
        "100000000000000000000",
        "1234567890123456789012",
        "333333333.3333333",
        "4.35",
        "00",
        "01",
        "+1",
        ".5",
        "1.",
        "1e",
        "NaN",
        "Infinity",
        "-Infinity",
        "nul",
        "'a'",
        "",
        "{\"a\":1,\"a\":1}",
        "{\"a\":{\"b\":1,\"\\u0062\":2}}",
        "[1,]",
        "{\"a\":1,}",
        "\"\\ud800\"",
        "\"\\ud83d\\ude00\"",
        "\"\\uD83D\\uDE00\"",
        "\"\\ude00\\ud83d\"",
        "{\"\\udfff\":1}",
        "\"\\u0000\\u001f\\u007f\\u2028\"",
        "\"\t\"",
        "\"\\t\\/\"",
        "\"\\x\"",
        "\u{feff}{}",
        "{\"\u{20ac}\":1,\"\u{1f600}\":2,\"\u{fb33}\":3,\"a\":4}",
        "1 2",
        "\u{a0}1",
        "[1\u{c}]",
        "\"\u{85}\"",
        "{\"a\"\n:\r1}",
        "tru",
        "[1 2]",
        "{1:2}",
        "\"a",
        "{",
        "[",
        "}",
    ] {
        both_read(text.as_bytes());
    }
    for bytes in [&b"\"\xff\""[..], b"\"\xed\xa0\x80\"", b"\xef\xbb\xbf{}", b"\"\xc0\x80\"", b"\xfe\xff\x00{"]
    {
        assert_eq!(both_read(bytes), None);
    }
    assert!(both_read(nested(40).as_bytes()).is_some());
    for depth in [41, 500, 5_000, 100_000] {
        assert_eq!(both_read(nested(depth).as_bytes()), None);
    }
    assert_eq!(both_read("9".repeat(100_000).as_bytes()), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn both_write_every_double_alike(double in any::<f64>().prop_filter("finite", |double| double.is_finite())) {
        prop_assert!(both_read(ryu_js::Buffer::new().format(double).as_bytes()).is_some());
    }

    #[test]
    fn both_read_what_looks_like_json_alike(text in r#"[\[\]{}:,"\\ue0-9+.\-tnfals d\u{e9}\u{1f600}]{0,12}"#) {
        both_read(text.as_bytes());
    }
}
