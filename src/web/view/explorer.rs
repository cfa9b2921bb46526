//! The receipt explorer: a page that verifies what is pasted into it, in the browser.

use super::Frame;
use askama::Template;

/// The explorer's page; its script does the rest.
#[derive(Debug, Clone, Template)]
#[template(path = "explorer.html")]
pub struct ExplorerPage {
    /// The frame.
    pub frame: Frame,
    /// Every kind of receipt there is, with blanks between.
    pub kinds: String,
}
