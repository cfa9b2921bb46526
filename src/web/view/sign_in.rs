//! The page where a person signs in, for the first time or once more before a widening.

use super::Frame;
use askama::Template;

/// The sign-in page. A fault stands in the frame and never says which of the three fields was wrong.
#[derive(Debug, Clone, Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    /// The frame, with nobody signed in.
    pub frame: Frame,
    /// The token the form sends back against forged sign-ins.
    pub csrf: String,
    /// What was typed as tenant, to start from.
    pub tenant: String,
    /// What was typed as address, to start from.
    pub email: String,
    /// Which page of this service to go to afterwards, as an absolute path; checked again when it comes back.
    pub next: Option<String>,
    /// A mandate that waits to be saved, to come back to.
    pub draft: Option<String>,
    /// Whether the person is signed in and asked once more.
    pub is_step_up: bool,
}
