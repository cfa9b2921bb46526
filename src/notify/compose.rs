//! temp
use crate::domain::TenantSlug;
use crate::storage::{StoreError, decision::Decision, outbox::Mail, principal::Principal};
#[derive(Debug, Clone)]
pub struct MailSettings { pub enabled: bool }
pub fn decision_opened(_: &TenantSlug, _: &Principal, _: &Decision, _: &str) -> Result<Mail, StoreError> { Err(StoreError::Failed(String::new())) }
