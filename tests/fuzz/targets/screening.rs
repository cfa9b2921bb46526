//! Feeds whatever bytes to the check of that name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| procura::checks::screening(bytes));
