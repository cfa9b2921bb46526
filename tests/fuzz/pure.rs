//! The pure layers of the service under its own name, so that fuzzing builds no database, server or TLS.

#[path = "../../src/domain/mod.rs"]
pub mod domain;
#[path = "../../src/engine/mod.rs"]
pub mod engine;
#[path = "../../src/screening/mod.rs"]
pub mod screening;
/// Of the evidence, what stands on no layer but the language's own types.
#[path = "../../src/evidence"]
pub mod evidence {
    pub mod canonical;
}

// The checks are shared with a test of the service's own, where this crate's name is the service.
extern crate self as procura;

pub mod checks;
