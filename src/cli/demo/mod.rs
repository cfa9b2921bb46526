//! `procura demo`: a sample club on a server of its own, and a tour through what its agents may and may not do.

mod club;
mod teller;
mod tour;

use super::arguments;
use super::config::{Sources, wrong};
use super::output::{self, Failure, Form};
use super::place::{self, Place};
use super::values;
use crate::app::{Settings, StartError};
use crate::committer::entropy;
use crate::storage::DataDirectory;
use club::Club;
use serde_json::json;
use std::fs::{self, DirBuilder};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

/// Sets the club up, serves it, takes the tour, and goes on serving unless it is to end there.
pub(super) fn run(sources: &Sources, options: &arguments::Demo, form: Form) -> Result<u8, Failure> {
    let given = sources.value("listen", options.listen.as_deref())?;
    let listen = match &given {
        Some(given) => values::listen(&given.text).map_err(|why| wrong("listen", &given.origin, &why))?,
        None => values::DEFAULT_LISTEN,
    };
    let named = sources.parse("data-dir", options.data_dir.as_deref(), place::directory)?;
    let ends_after_tour = sources.switch("exit", options.exit)?;
    is_free(listen)?;
    let home = Home::new(named)?;
    let place = Place::new(home.path.clone(), None);
    let club = Club::set_up(&place).map_err(|failure| {
        failure.with("the demo takes a directory of its own, or none: leave out `--data-dir`")
    })?;
    let server = Server::start(listen, &place)?;
    if form == Form::Text {
        output::line(format!("serving on {}, with data in {}", server.page(), home.path.display()))?;
    }
    if let Err(failure) = tour::take(&club, &server.base(), form) {
        // A server that was told to stop in the middle leaves the tour without answers: that is no fault.
        return if server.thread.is_finished() { server.wait() } else { Err(failure) };
    }
    if ends_after_tour {
        if form == Form::Text {
            output::line("")?;
            output::line("Every step came out as it should.")?;
        }
        return Ok(0);
    }
    invite(&club, &server, &home, form)?;
    server.wait()
}

/// Where to look now, and as whom.
fn invite(club: &Club, server: &Server, home: &Home, form: Form) -> Result<(), Failure> {
    if form == Form::Json {
        let people = club.people().map(|person| {
            json!({"name": person.name, "role": person.role, "email": person.email, "password": *person.password})
        });
        return output::json(&json!({
            "queue": format!("{}/queue", server.page()), "tenant": club.tenant, "people": people,
            "data_dir": home.path.display().to_string(),
        }));
    }
    output::line("")?;
    output::line(format!(
        "Open the queue at {}/queue and sign in to the tenant {}:",
        server.page(),
        club.tenant
    ))?;
    let rows: Vec<Vec<String>> = club
        .people()
        .iter()
        .map(|person| {
            vec![
                person.name.to_owned(),
                person.role.to_owned(),
                person.email.clone(),
                person.password.to_string(),
            ]
        })
        .collect();
    output::table(&["name", "role", "address", "password"], &rows)?;
    output::line("")?;
    output::line(if home.is_temporary {
        "Ctrl-C ends it and removes its data.".to_owned()
    } else {
        format!("Ctrl-C ends it; its data stay in {}.", home.path.display())
    })
}

/// Says so early if another process listens there.
fn is_free(listen: SocketAddr) -> Result<(), Failure> {
    match TcpListener::bind(listen) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(Failure::failed(format!(
            "`{listen}` is in use: name another address with `--listen`, such as `--listen 127.0.0.1:0`"
        ))),
        Err(error) => Err(Failure::failed(format!("`--listen`: cannot listen on `{listen}`: {error}"))),
    }
}

/// Where the demo's data are; a temporary directory goes when this does.
struct Home {
    path: PathBuf,
    is_temporary: bool,
}

impl Home {
    fn new(named: Option<PathBuf>) -> Result<Self, Failure> {
        if let Some(path) = named {
            // Its club and people, whose passwords it prints, have no place beside anybody's own.
            if DataDirectory::master_key_file(&path).exists() {
                return Err(Failure::failed(format!(
                    "`{}` is set up already: the demo takes a directory of its own, or none: leave out `--data-dir`",
                    path.display()
                )));
            }
            return Ok(Self { path, is_temporary: false });
        }
        let path = std::env::temp_dir().join(format!("procura-demo-{}", hex::encode(entropy::bytes::<8>())));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Failure::failed(format!("`{}` cannot be made: {error}", path.display())))?;
        Ok(Self { path, is_temporary: true })
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.is_temporary
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            output::diagnose(&format!("procura: `{}` could not be removed: {error}", self.path.display()));
        }
    }
}

/// A server on a thread of this process.
struct Server {
    address: SocketAddr,
    thread: JoinHandle<Result<(), StartError>>,
}

impl Server {
    fn start(listen: SocketAddr, place: &Place) -> Result<Self, Failure> {
        let settings = Settings::plain(listen, place.data_dir.clone(), place.database.clone());
        let (sender, started) = mpsc::channel();
        let thread = Builder::new()
            .name("server".into())
            .spawn(move || {
                crate::http::serve(settings, move |address| {
                    // Whoever waited for it has gone where the process is ending.
                    let _ = sender.send(address);
                })
            })
            .map_err(|error| Failure::failed(error.to_string()))?;
        match started.recv() {
            Ok(address) => Ok(Self { address, thread }),
            Err(_) => {
                Err(joined(thread).err().unwrap_or_else(|| Failure::failed("the server ended at once")))
            }
        }
    }

    /// Where programs on this machine reach it.
    fn base(&self) -> String {
        match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => format!("http://127.0.0.1:{}", self.address.port()),
            IpAddr::V6(ip) if ip.is_unspecified() => format!("http://[::1]:{}", self.address.port()),
            IpAddr::V4(_) | IpAddr::V6(_) => format!("http://{}", self.address),
        }
    }

    /// Where people open it: passkeys refuse bare addresses.
    fn page(&self) -> String {
        format!("http://localhost:{}", self.address.port())
    }

    /// Serves until it is told to stop.
    fn wait(self) -> Result<u8, Failure> {
        joined(self.thread).map(|()| 0)
    }
}

fn joined(thread: JoinHandle<Result<(), StartError>>) -> Result<(), Failure> {
    match thread.join() {
        Ok(ended) => ended.map_err(|error| Failure::failed(error.to_string())),
        Err(_) => Err(Failure::failed("the server ended in a panic")),
    }
}
