//! A line that says its content was erased carries the receipt that says so; both must be of each other.

use super::receipt::Documents;
use super::report::{Fault, same};
use crate::evidence::erased::{self, Erased};
use crate::evidence::{line::Line, receipt::Kind};

/// Checks what a line says of its erased content against the erasing receipt beside it; whether that receipt holds by
/// itself is checked like any other's.
pub(super) fn check(line: &Line<'_>, said: &Erased<'_>) -> Result<(), Fault> {
    let (body, by) = (&line.receipt.body, &said.receipt.body);
    if line.content.is_some() {
        return Err(Fault::new("content", "it stands beside a line that says it was erased"));
    }
    same("erased.receipt.kind", &Kind::ContentErase.as_str(), &by.kind.as_str(), "it erases nothing")?;
    same("erased.receipt.tenant", &body.tenant, &by.tenant, "it is of another tenant")?;
    let stated = erased::reason(said.input).unwrap_or("absent");
    same("erased.reason", &stated, &said.reason, "the receipt that erased it says another")?;
    same("erased.at", &by.at, &said.at, "the receipt that erased it is of another time")?;
    if !erased::lists(said.input, body.id) {
        return Err(Fault::new(
            "erased.input",
            "the receipt that is said to have erased it does not list it",
        ));
    }
    if said.receipt.merkle.index <= line.receipt.merkle.index {
        return Err(Fault::new("erased.receipt", "it stands before the receipt it is said to have erased"));
    }
    Ok(())
}

/// The erasing receipt's documents.
pub(super) fn documents<'a>(said: &Erased<'a>) -> Documents<'a> {
    Documents { input: Some(said.input), output: Some(said.output), content: None }
}
