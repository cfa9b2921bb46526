//! The pages: what a person sees and decides on, rendered on the server and complete without a script.
//!
//! Text that others wrote reaches a page only as [`display::Shown`]; times only as [`when::When`].

pub mod display;
pub mod form;
pub mod view;
pub mod when;

/// The one style sheet, served at [`STYLE_SHEET_PATH`].
pub const STYLE_SHEET: &str = include_str!("../../templates/static/procura.css");
/// Where every page looks for the style sheet.
pub const STYLE_SHEET_PATH: &str = "/static/procura.css";
