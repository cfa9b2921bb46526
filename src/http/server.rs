//! Starts the server, and stops it with every call answered.

use super::{gate, middleware, routes};
use crate::app::{App, Background, Settings, StartError};
use actix_web::{App as Actix, HttpServer, web};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

/// How long calls in flight get to finish after a signal, in seconds.
const SHUTDOWN_SECONDS: u64 = 15;
/// How long a request's head may take to arrive.
const HEAD_PATIENCE: Duration = Duration::from_secs(5);
/// How long an idle connection is kept.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// The size of the benchmark's bare answer: that of a usual answer of the gate.
const BARE_ANSWER_BYTES: usize = 1900;

/// What is counted as it happens.
const COUNTERS: [&str; 5] = [
    "procura_cosignatures_total",
    "procura_unattributable_tokens_total",
    "procura_unlisted_calls_total",
    "procura_witness_alarms_total",
    "procura_witness_failures_total",
];

/// Serves until SIGTERM or SIGINT; `started` hears the address once calls are taken. Blocks.
pub fn serve(settings: Settings, started: impl FnOnce(SocketAddr) + Send) -> Result<(), StartError> {
    actix_web::rt::System::new().block_on(run(settings, started))
}

async fn run(settings: Settings, started: impl FnOnce(SocketAddr)) -> Result<(), StartError> {
    // The address first: where another process has it, nothing else is touched.
    let listener = std::net::TcpListener::bind(settings.listen)
        .map_err(|error| StartError::Other(format!("cannot listen on {}: {error}", settings.listen)))?;
    let address = listener.local_addr().map_err(|error| StartError::Other(error.to_string()))?;
    let settings = Settings { listen: address, ..settings };
    let app = App::start(&settings)?;
    let recorder = recorder()?;
    let background = Background::start(&app, &settings).map_err(StartError::Other)?;
    let shared = web::Data::from(app.clone());
    let bench_bare = settings.bench_bare;
    let server = HttpServer::new(move || {
        Actix::new()
            .app_data(shared.clone())
            .app_data(web::Data::new(recorder.clone()))
            .app_data(web::Data::new(gate::bare_answer(BARE_ANSWER_BYTES)))
            .configure(|config| routes::configure(config, bench_bare))
            .configure(crate::web::configure)
            .default_service(web::to(crate::web::nothing_here))
            .wrap(actix_web::middleware::from_fn(middleware::wrap))
    })
    .keep_alive(KEEP_ALIVE)
    .client_request_timeout(HEAD_PATIENCE)
    .shutdown_timeout(SHUTDOWN_SECONDS)
    .tcp_nodelay(true)
    .disable_signals()
    .listen(listener)
    .map_err(|error| StartError::Other(format!("cannot serve on {address}: {error}")))?
    .run();
    started(address);
    let handle = server.handle();
    let stopper = app.clone();
    tokio::spawn(async move {
        stop_signal().await;
        tracing::info!("stopping: calls in flight are answered, no more are taken");
        stopper.stop_waiting();
        handle.stop(true).await;
    });
    let ended = server.await;
    background.stop();
    // What waited is answered before the thread ends; connections are closed by now.
    let committer = app.committer.clone();
    drop(tokio::task::spawn_blocking(move || committer.stop()).await);
    ended.map_err(|error| StartError::Other(error.to_string()))
}

/// Waits for SIGTERM or SIGINT.
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        // Without handlers the signals end the process as they always do.
        (Err(error), _) | (_, Err(error)) => {
            tracing::error!(%error, "signals cannot be waited for");
            std::future::pending::<()>().await;
        }
    }
}

/// The one recorder of figures a process has.
fn recorder() -> Result<PrometheusHandle, StartError> {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(recorder) = RECORDER.get() {
        return Ok(recorder.clone());
    }
    let recorder =
        PrometheusBuilder::new().install_recorder().map_err(|error| StartError::Other(error.to_string()))?;
    // All of them from the start: whoever watches sees the first of each as a rise.
    for name in COUNTERS {
        metrics::counter!(name).increment(0);
    }
    Ok(RECORDER.get_or_init(|| recorder).clone())
}
