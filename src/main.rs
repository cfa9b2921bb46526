//! Procura: mandate and credential authorisation for agents that act for people.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Many short-lived small allocations a call, from several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    procura::cli::run()
}
