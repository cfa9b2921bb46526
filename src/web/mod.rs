//! The pages: what a person sees and decides on, rendered on the server and complete without a script.
//!
//! Text that others wrote reaches a page only as [`display::Shown`]; times only as [`when::When`]. A handler
//! looks who is signed in, reads or acts through the same functions as the wire, and fills a view.

mod cookie;
mod csrf;
pub mod display;
pub mod form;
mod handler;
pub mod view;
pub mod when;

pub use handler::configure;
pub(crate) use handler::nothing_here;

/// The one style sheet, served at [`STYLE_SHEET_PATH`].
pub const STYLE_SHEET: &str = include_str!("../../templates/static/procura.css");
/// Where every page looks for the style sheet.
pub const STYLE_SHEET_PATH: &str = "/static/procura.css";

/// The explorer's script, served at [`EXPLORER_PATH`].
pub const EXPLORER: &str = include_str!("../../templates/static/explorer.js");
/// What it is made of, each served below `/static/explorer/`.
const EXPLORER_PARTS: [(&str, &str); 5] = [
    ("json.js", include_str!("../../templates/static/explorer/json.js")),
    ("ed25519.js", include_str!("../../templates/static/explorer/ed25519.js")),
    ("note.js", include_str!("../../templates/static/explorer/note.js")),
    ("receipt.js", include_str!("../../templates/static/explorer/receipt.js")),
    ("file.js", include_str!("../../templates/static/explorer/file.js")),
];
/// Where the explorer's page looks for its script.
pub const EXPLORER_PATH: &str = "/static/explorer.js";
/// How long browsers keep what is static.
const STATIC_CACHING: &str = "public, max-age=3600";
