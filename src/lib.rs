//! Procura: mandate and credential authorisation for agents that act for people.

pub mod actions;
pub mod app;
pub mod cli;
pub mod committer;
pub mod crypto;
pub mod domain;
pub mod engine;
pub mod evidence;
pub mod http;
pub mod notify;
pub mod storage;
pub mod web;
