//! The JSON Schemas of the documents, as they are published, and the check against them.

use crate::domain::Malformed;
use jsonschema::{PatternOptions, Retrieve, Uri, Validator};
use serde_json::{Value, json};
use std::{error::Error, sync::LazyLock};

const BASE: &str = "https://procura.invalid/schema/";
const MANDATE_SCHEMA: &str = include_str!("../../schema/mandate.schema.json");
const POLICY_SCHEMA: &str = include_str!("../../schema/policy.schema.json");
const CATALOGUE_SCHEMA: &str = include_str!("../../schema/catalogue.schema.json");

/// A mandate.
pub(super) static MANDATE: LazyLock<Published> =
    LazyLock::new(|| Published::compile(&json!({"$ref": format!("{BASE}mandate.schema.json")})));
/// A policy.
pub(super) static POLICY: LazyLock<Published> =
    LazyLock::new(|| Published::compile(&json!({"$ref": format!("{BASE}policy.schema.json")})));
/// A list of clauses, as a credential carries it.
pub(super) static CLAUSES: LazyLock<Published> = LazyLock::new(|| {
    Published::compile(&json!({"$ref": format!("{BASE}mandate.schema.json#/$defs/clauses")}))
});
/// One entry of a catalogue.
pub(super) static CATALOGUE: LazyLock<Published> =
    LazyLock::new(|| Published::compile(&json!({"$ref": format!("{BASE}catalogue.schema.json")})));

/// A compiled schema; one that does not compile accepts nothing.
pub(super) struct Published(Result<Validator, String>);

impl Published {
    fn compile(schema: &Value) -> Self {
        let built = jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .with_retriever(Embedded)
            .build(schema)
            .map_err(|error| error.to_string());
        Self(built)
    }

    /// Whether `value` meets the schema; every place where it does not is a fault.
    pub(super) fn check(&self, value: &Value) -> Result<(), Malformed> {
        let validator =
            self.0.as_ref().map_err(|why| Malformed::whole(format!("no schema to check with: {why}")))?;
        let mut faults = Vec::new();
        for error in validator.iter_errors(value) {
            let detail = format!("against the schema: {}", error.masked());
            faults.extend(Malformed::at(error.instance_path().as_str(), detail).faults);
        }
        if faults.is_empty() { Ok(()) } else { Err(Malformed { faults }) }
    }
}

/// Finds the published schemas in the binary, and nothing anywhere else.
struct Embedded;

impl Retrieve for Embedded {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let text = match uri.as_str().strip_prefix(BASE) {
            Some("mandate.schema.json") => MANDATE_SCHEMA,
            Some("policy.schema.json") => POLICY_SCHEMA,
            Some("catalogue.schema.json") => CATALOGUE_SCHEMA,
            Some(_) | None => return Err(format!("`{uri}` is not published here").into()),
        };
        Ok(serde_json::from_str(text)?)
    }
}
