//! The page that says what went wrong.

use super::Frame;
use crate::web::display::Shown;
use askama::Template;

/// A problem as RFC 9457 describes it, for a person.
#[derive(Debug, Clone, Template)]
#[template(path = "problem.html")]
pub struct ProblemPage {
    /// The frame, with whoever is signed in.
    pub frame: Frame,
    /// The HTTP status.
    pub status: u16,
    /// The problem's title.
    pub title: String,
    /// What was found and what is allowed; may repeat input.
    pub detail: Option<Shown>,
    /// The request's id, to find it in the service's own log.
    pub request_id: Option<String>,
    /// Where to go on, as an absolute path of this service, and what the link says.
    pub onward: Option<(String, &'static str)>,
}
