//! Procura: mandate and credential authorisation for agents that act for people.

pub mod crypto;
pub mod domain;
pub mod engine;
