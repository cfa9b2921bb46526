//! Exports as Apache Parquet, read by the reader of an outside crate: the rows of the CSV in typed columns, and where
//! they end.

use crate::database::{Db, both};
use crate::documents::refund;
use crate::exports::Scene;
use crate::log::{check_verifies, lines};
use crate::server::{Folder, TENANT, said};
use actix_web::web::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;

both!(columns_hold_the_rows_of_the_table_and_say_where_they_end, what_broke_off_goes_on_with_the_same_bytes,);

/// What stands in the file's metadata.
fn metadata(bytes: &[u8]) -> BTreeMap<String, Value> {
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let read = |text: &Option<String>| serde_json::from_str(text.as_deref().unwrap()).unwrap();
    pairs.iter().map(|pair| (pair.key.clone(), read(&pair.value))).collect()
}

/// A cell as the table as text has it; a decimal without the zeros behind its currency's digits.
#[expect(clippy::wildcard_enum_match_arm, reason = "a column of another type fails")]
fn as_text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Long(number) => number.to_string(),
        Field::TimestampMillis(at) => {
            let at = chrono::DateTime::from_timestamp_millis(*at).unwrap();
            at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
        }
        Field::Decimal(_) => {
            let text = field.to_string();
            text.strip_suffix("00").unwrap_or_else(|| panic!("{text} has no four digits")).to_owned()
        }
        other => panic!("a column of another type: {other:?}"),
    }
}

fn rows(bytes: &[u8]) -> Vec<BTreeMap<String, String>> {
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| row.get_column_iter().map(|(name, field)| (name.clone(), as_text(field))).collect())
        .collect()
}

fn columns_hold_the_rows_of_the_table_and_say_where_they_end(db: Db) {
    let scene = Scene::new(db);
    let table = scene.compliance.get(&format!("/v1/agents/{}/calls/export?format=csv", scene.runner.id));
    let columns =
        scene.compliance.get(&format!("/v1/agents/{}/calls/export?format=parquet", scene.runner.id));
    assert_eq!(columns.header("content-type"), Some("application/vnd.apache.parquet"));
    let mut reader = csv::Reader::from_reader(table.text.as_bytes());
    let mut expected: Vec<BTreeMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
    expected.pop();
    let id = columns.header("procura-export").unwrap();
    for row in &mut expected {
        row.insert("export".into(), id.into());
    }
    let found = rows(&columns.bytes);
    assert!(found.iter().any(|row| row["amount"] == "3.00" && row["currency"] == "EUR"), "{found:?}");
    assert!(found.iter().any(|row| row["amount"].is_empty()), "a row without an amount: {found:?}");
    assert_eq!(found, expected);

    let metadata = metadata(&columns.bytes);
    let header = &metadata["procura.header"];
    assert_eq!(header["export"], *id);
    assert_eq!(header["subject"]["agent"], *scene.runner.id);
    let manifest = &metadata["procura.manifest"];
    check_verifies(&lines([manifest]));
    let output = &manifest["output"];
    assert_eq!(output["lines"], json!(found.len()));
    let footer = columns.bytes.len() - 8;
    let length = u32::from_le_bytes(columns.bytes[footer..footer + 4].try_into().unwrap());
    let above = &columns.bytes[..footer - usize::try_from(length).unwrap()];
    let digest = hex::encode(Sha256::digest(above));
    assert_eq!(output["digest"], format!("sha256:{digest}"), "of every byte before the footer");
    let recorded =
        scene.compliance.get(&format!("/v1/receipts/{}", manifest["receipt"]["id"].as_str().unwrap()));
    assert_eq!(recorded.expect(200)["output"], *output);
}

fn what_broke_off_goes_on_with_the_same_bytes(db: Db) {
    let mut scene = Scene::new(db);
    let whole = scene.compliance.get("/v1/calls/export?format=parquet");
    let id = whole.header("procura-export").unwrap().to_owned();
    scene.runner.evaluate(&refund("3.00")).expect(200);
    let whole = whole.bytes;
    for cut in [0, 3, 4, 100, whole.len() / 2, whole.len() - 9, whole.len() - 1, whole.len()] {
        let rest = scene.compliance.get(&format!("/v1/calls/export?export={id}&after={cut}"));
        assert!(rest.bytes == whole[cut..], "cut after {cut} bytes");
    }

    assert!(scene.server.terminate().success());
    let folder = Folder::new();
    let file = folder.join("log.parquet");
    let out = file.to_str().unwrap();
    let done = scene.server.run(&["export", "--tenant", TENANT, "--format", "parquet", "--out", out]);
    assert!(done.status.success(), "{}", said(&done));
    let whole = fs::read(&file).unwrap();
    assert!(rows(&whole).len() > 10);
    let part = folder.join("again.parquet.part");
    let resume = |bytes: &[u8]| {
        fs::write(&part, bytes).unwrap();
        scene.server.run(&["export", "--resume", part.to_str().unwrap()])
    };
    for cut in [200, whole.len() / 2, whole.len() - 1, whole.len()] {
        let done = resume(&whole[..cut]);
        assert!(done.status.success(), "{}", said(&done));
        assert!(fs::read(folder.join("again.parquet")).unwrap() == whole, "cut after {cut} bytes");
        fs::remove_file(folder.join("again.parquet")).unwrap();
    }
    let mut changed = whole[..whole.len() / 2].to_vec();
    changed[150] ^= 1;
    let refused = resume(&changed);
    assert!(said(&refused).contains("byte 150 differs"), "{}", said(&refused));
    let refused = resume(&whole[..20]);
    assert!(said(&refused).contains("ends before it names its export"), "{}", said(&refused));
}
