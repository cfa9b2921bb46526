//! How much was verified, and what that leaves unsaid.

/// What went by.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) receipts: u64,
    pub(super) exports: u64,
    pub(super) checkpoints: u64,
    pub(super) lines: u64,
    /// Receipts outside any export.
    pub(super) loose: u64,
    /// Receipts without the documents they hash.
    pub(super) bare: u64,
    /// Answers whose members are not the output document.
    pub(super) uncovered: u64,
    /// Commitments without an opening.
    pub(super) closed: u64,
    /// Lines that say when and why their content was erased.
    pub(super) erased: u64,
    /// Tiles of logs.
    pub(super) tiles: u64,
    /// Entry bundles.
    pub(super) bundles: u64,
    /// Consistency proofs.
    pub(super) proofs: u64,
    /// Inclusion proofs.
    pub(super) inclusion_proofs: u64,
}

impl Counts {
    /// What the reader should know beside the verdict.
    pub(super) fn remarks(&self, key_is_the_files_own: bool) -> Vec<String> {
        let own_key = "the key in the file was used: give one you know from elsewhere with --key";
        [
            key_is_the_files_own.then(|| own_key.to_owned()),
            counted(
                self.loose,
                "completeness is not shown: # receipt stands alone, and only an export shows that none is missing",
                "completeness is not shown: # receipts stand alone, and only an export shows that none is missing",
            ),
            counted(
                self.bare,
                "# receipt came without its documents: what was asked and answered is not checked against its hash",
                "# receipts came without their documents: what was asked and answered is not checked against its hash",
            ),
            counted(
                self.uncovered,
                "of # answer only the receipt was checked: its other members are not the document it covers",
                "of # answers only the receipt was checked: their other members are not the document it covers",
            ),
            counted(
                self.erased,
                "# line's content was erased, and carries the receipt that says when and why",
                "# lines' content was erased, and they carry the receipts that say when and why",
            ),
            counted(
                self.closed,
                "# commitment has no content beside it: erased or not handed out",
                "# commitments have no content beside them: erased or not handed out",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A remark on so many of something, none of it if there are none; `#` stands for the number.
fn counted(count: u64, one: &str, many: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(one.replace('#', "1")),
        more => Some(many.replace('#', &more.to_string())),
    }
}
