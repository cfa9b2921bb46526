//! What operators and machines ask of the service itself.

use super::Problem;
use crate::app::App;
use crate::crypto::PublicKey;
use crate::crypto::jwks::{Jwk, Jwks};
use crate::crypto::keyring::KeyPurpose;
use crate::storage;
use actix_web::{HttpResponse, web};
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;

/// The process runs.
pub(super) async fn alive() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "alive"}))
}

/// The log can be written and the database read.
pub(super) async fn ready(app: web::Data<App>) -> Result<HttpResponse, Problem> {
    if !app.committer.status().is_up() {
        return Err(crate::committer::Unavailable::LogDown.into());
    }
    app.read(|connection| storage::tenant::all(connection).map(|_| ())).await?;
    Ok(HttpResponse::Ok().json(json!({"status": "ready"})))
}

/// Figures for Prometheus.
pub(super) async fn metrics(app: web::Data<App>, recorder: web::Data<PrometheusHandle>) -> HttpResponse {
    let status = app.committer.status();
    metrics::counter!("procura_batches_total").absolute(status.batches());
    metrics::counter!("procura_receipts_total").absolute(status.receipts());
    metrics::counter!("procura_unrecorded_calls_total").absolute(status.unrecorded());
    metrics::counter!("procura_dropped_total").absolute(0);
    let waiting = u32::try_from(app.committer.waiting()).unwrap_or(u32::MAX);
    metrics::gauge!("procura_waiting_jobs").set(f64::from(waiting));
    metrics::gauge!("procura_log_up").set(if status.is_up() { 1.0 } else { 0.0 });
    HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(recorder.render())
}

/// The keys that verify agents' tokens (RFC 7517).
pub(super) async fn jwks(app: web::Data<App>) -> Result<HttpResponse, Problem> {
    let keys = app
        .read(|connection| {
            let mut keys = Vec::new();
            for tenant in storage::tenant::all(connection)? {
                keys.extend(storage::key::of_tenant(connection, &tenant.slug)?);
            }
            Ok(keys)
        })
        .await?;
    let keys: Jwks = keys
        .iter()
        .filter(|key| key.purpose == KeyPurpose::Token.as_str())
        .filter_map(|key| {
            let public = <[u8; 32]>::try_from(key.public.as_deref()?).ok()?;
            Some(Jwk::of(key.id, &PublicKey(public)))
        })
        .collect();
    Ok(HttpResponse::Ok().json(keys))
}
