//! What options take: each reads one text, or says what it found and what is allowed.

use crate::app::{Shown, Witness};
use crate::domain::{Duration, Label};
use crate::evidence::note::{Algorithm, VerifierKey};
use crate::storage::Database;
use chrono::NaiveTime;
use lettre::Address;
use lettre::message::Mailbox;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use ureq::http::Uri;

/// Where a server listens when nothing is said.
pub(super) const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// An address with a port; `localhost` is 127.0.0.1.
pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    let address = match text.strip_prefix("localhost:") {
        Some(port) => format!("{}:{port}", Ipv4Addr::LOCALHOST),
        None => text.to_owned(),
    };
    address.parse().map_err(|_| {
        format!(
            "`{}` is not an IP address with a port, such as `127.0.0.1:8080` or `[::1]:8080`",
            text.escape_debug()
        )
    })
}

/// A database; what is refused is repeated without the password in it.
pub(super) fn database(text: &str) -> Result<Database, String> {
    text.parse().map_err(|_| {
        format!("`{}` is not a database: `sqlite:PATH` or `postgres://…` is taken", without_password(text))
    })
}

/// Where people and agents reach the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicUrl {
    /// The whole, without a trailing slash.
    pub(super) url: String,
    /// Its host, in lower case.
    pub(super) host: String,
}

/// A public address: https, or http for this machine alone; nothing behind the host and port.
pub(super) fn public_url(text: &str) -> Result<PublicUrl, String> {
    let shown = without_password(text);
    let no = |why: &str| {
        format!(
            "`{shown}` {why}: `https://HOST` is taken, or `http://localhost:PORT` where nothing leaves this machine"
        )
    };
    let parsed: Uri = text.parse().map_err(|_| no("is not an address"))?;
    let host = parsed.host().filter(|host| !host.is_empty()).ok_or_else(|| no("names no host"))?;
    let host = host.to_ascii_lowercase();
    match parsed.scheme_str() {
        Some("https") => {}
        Some("http") if is_this_machine(&host) => {}
        Some("http") => return Err(no("is not encrypted")),
        Some(_) | None => return Err(no("is not a web address")),
    }
    if parsed.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(no("holds a user"));
    }
    let behind = parsed.path_and_query().map_or("/", |behind| behind.as_str());
    if behind != "/" || text.contains(['#', '?']) {
        return Err(no("holds more than scheme, host and port"));
    }
    Ok(PublicUrl { url: text.trim_end_matches('/').to_owned(), host })
}

/// A mail server. Outside this machine the connection is encrypted, or nothing is sent.
pub(super) fn smtp_url(text: &str) -> Result<String, String> {
    let shown = without_password(text);
    let no = |why: &str| {
        format!(
            "`{shown}` {why}: `smtps://[USER:PASSWORD@]HOST[:PORT]` is taken, or `smtp://…` for STARTTLS, which is \
             left out on this machine alone"
        )
    };
    let parsed: Uri = text.parse().map_err(|_| no("is not an address"))?;
    let host = parsed.host().filter(|host| !host.is_empty()).ok_or_else(|| no("names no host"))?;
    if parsed.query().is_some_and(|query| query != "tls=required") {
        return Err(no("asks for something else than `tls=required`"));
    }
    match parsed.scheme_str() {
        Some("smtps") => Ok(text.to_owned()),
        Some("smtp") if parsed.query().is_some() || is_this_machine(host) => Ok(text.to_owned()),
        Some("smtp") => Ok(format!("{text}?tls=required")),
        Some(_) | None => Err(no("is not the address of a mail server")),
    }
}

/// A witness: the key that its cosignatures are made with, a blank, and where it takes checkpoints.
pub(super) fn witness(text: &str) -> Result<Witness, String> {
    let no = |why: &str| {
        format!(
            "`{}` {why}: `NAME+ID+KEY https://…` is taken, a verifier key for cosignatures and the witness's submission \
             prefix",
            without_password(text)
        )
    };
    let (key, url) = text.trim().split_once(' ').ok_or_else(|| no("is not a key and an address"))?;
    let key: VerifierKey =
        key.parse().map_err(|error| no(&format!("holds no key that is read here ({error})")))?;
    if key.algorithm() != Algorithm::Cosignature {
        return Err(no("holds the key of a log, not of a witness"));
    }
    let url = url.trim();
    let parsed: Uri = url.parse().map_err(|_| no("holds no address"))?;
    let host = parsed.host().filter(|host| !host.is_empty()).ok_or_else(|| no("names no host"))?;
    match parsed.scheme_str() {
        Some("https") => {}
        Some("http") if is_this_machine(&host.to_ascii_lowercase()) => {}
        Some("http") => return Err(no("is not encrypted")),
        Some(_) | None => return Err(no("holds no web address")),
    }
    let has_user = parsed.authority().is_some_and(|authority| authority.as_str().contains('@'));
    if has_user || parsed.query().is_some() || url.contains('#') {
        return Err(no("holds more than scheme, host, port and path"));
    }
    Ok(Witness { key, url: url.trim_end_matches('/').to_owned() })
}

/// A whole number of seconds, from one to a day.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    const DAY: i64 = 24 * 60 * 60;
    text.parse::<i64>()
        .ok()
        .filter(|seconds| (1..=DAY).contains(seconds))
        .map(Duration::seconds)
        .ok_or_else(|| format!("`{}` is not a number of seconds from 1 to {DAY}", text.escape_debug()))
}

/// A time of the day, to the minute; none where there is to be none.
pub(super) fn time_of_day(text: &str) -> Result<Option<NaiveTime>, String> {
    let wrong = || format!("`{}` is neither a time such as `07:00` nor `never`", text.escape_debug());
    if text == "never" {
        return Ok(None);
    }
    let time = NaiveTime::parse_from_str(text, "%H:%M").map_err(|_| wrong())?;
    if time.format("%H:%M").to_string() == text { Ok(Some(time)) } else { Err(wrong()) }
}

/// A signed checkpoint in a file.
pub(super) fn checkpoint(name: &str) -> Result<Shown, String> {
    /// A note is a few lines and at most a hundred signatures.
    const LARGEST: u64 = 32 * 1024;
    let unreadable = |error: std::io::Error| format!("`{name}` cannot be read: {error}");
    let about = std::fs::metadata(name).map_err(unreadable)?;
    if !about.is_file() || about.len() > LARGEST {
        return Err(format!("`{name}` is not a file of at most {LARGEST} bytes"));
    }
    let note = std::fs::read_to_string(name).map_err(unreadable)?;
    Ok(Shown { name: name.to_owned(), note })
}

/// The sender of mail, as mail itself writes it.
pub(super) fn mailbox(text: &str) -> Result<String, String> {
    text.parse::<Mailbox>().map(|_| text.to_owned()).map_err(|_| {
        format!("`{}` is not a sender, such as `Procura <procura@example.org>`", text.escape_debug())
    })
}

/// An address that someone signs in with, in lower case.
pub(super) fn email(text: &str) -> Result<String, String> {
    let address = text.to_lowercase();
    if address.parse::<Label>().is_ok() && address.parse::<Address>().is_ok() {
        return Ok(address);
    }
    Err(format!("`{}` is not an address of mail, such as `name@example.org`", text.escape_debug()))
}

/// A time zone by its name in the IANA database.
pub(super) fn zone(text: &str) -> Result<chrono_tz::Tz, String> {
    text.parse().map_err(|_| format!("`{}` is not a time zone, such as `Europe/Berlin`", text.escape_debug()))
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// An address as it may be shown: what stands before its `@` can hold a password.
fn without_password(text: &str) -> String {
    let shown = match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => {
            format!("{}://…{}", text.get(..scheme).unwrap_or_default(), text.get(at..).unwrap_or_default())
        }
        _ => text.to_owned(),
    };
    shown.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_listens_at_an_address_with_a_port() {
        assert_eq!(listen("127.0.0.1:8080").unwrap(), DEFAULT_LISTEN);
        assert_eq!(listen("localhost:8080").unwrap(), DEFAULT_LISTEN);
        assert_eq!(listen("[::1]:0").unwrap().port(), 0);
        for wrong in ["8080", "127.0.0.1", "example.org:80", "127.0.0.1:70000", ""] {
            assert!(listen(wrong).unwrap_err().contains("`127.0.0.1:8080`"), "{wrong}");
        }
    }

    #[test]
    fn a_public_address_is_https_or_this_machine_and_nothing_more() {
        let url = public_url("https://Procura.Example.org/").unwrap();
        assert_eq!((&*url.url, &*url.host), ("https://Procura.Example.org", "procura.example.org"));
        for right in ["http://localhost:8080", "http://127.0.0.1", "http://[::1]:9", "https://a.example:8443"]
        {
            assert!(public_url(right).is_ok(), "{right}");
        }
        for wrong in [
            "http://example.org",
            "ftp://example.org",
            "example.org",
            "https://",
            "https://example.org/procura",
            "https://example.org/?a=b",
            "https://example.org?a",
            "https://example.org/#a",
            "https://user@example.org",
            "http://127.0.0.1.example.org",
            "http://localhost.example.org",
            "",
        ] {
            assert!(public_url(wrong).unwrap_err().contains("`https://HOST`"), "{wrong}");
        }
    }

    #[test]
    fn mail_is_encrypted_unless_it_stays_on_this_machine() {
        for (given, used) in [
            ("smtps://mail.example.org", "smtps://mail.example.org"),
            ("smtp://mail.example.org:587", "smtp://mail.example.org:587?tls=required"),
            ("smtp://mail.example.org?tls=required", "smtp://mail.example.org?tls=required"),
            ("smtp://127.0.0.1:1025", "smtp://127.0.0.1:1025"),
        ] {
            assert_eq!(smtp_url(given).unwrap(), used);
        }
        for wrong in
            ["smtp://mail.example.org?tls=opportunistic", "http://mail.example.org", "mail.example.org"]
        {
            assert!(smtp_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_refusal_does_not_repeat_a_password() {
        for refusal in [
            database("mysql://procura:hunter2@db.example.org/x").unwrap_err(),
            smtp_url("imap://me:hunter2@mail.example.org").unwrap_err(),
            public_url("https://me:hunter2@example.org").unwrap_err(),
        ] {
            assert!(!refusal.contains("hunter2") && refusal.contains("example.org"), "{refusal}");
        }
    }

    #[test]
    fn an_operator_signs_in_with_an_address_in_lower_case() {
        assert_eq!(email("Op@Example.TEST").unwrap(), "op@example.test");
        for wrong in [
            "op",
            "op@",
            "@example.test",
            "op@example.test\r\nx",
            "o\u{85}p@example.test",
            "a b@example.test",
            "",
        ] {
            assert!(email(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_witness_is_a_cosigning_key_and_an_encrypted_address() {
        // The witness key of the vectors, once as it cosigns and once as it would sign a log.
        let (cosigns, signs) = witness_keys();
        let right = witness(&format!("{cosigns} https://witness.example/procura/")).unwrap();
        assert_eq!((right.key.name(), &*right.url), ("witness.example", "https://witness.example/procura"));
        assert!(witness(&format!("{cosigns} http://127.0.0.1:9")).is_ok());
        for (wrong, why) in [
            (format!("{cosigns}"), "is not a key and an address"),
            (format!("{signs} https://witness.example"), "key of a log"),
            (format!("{cosigns} http://witness.example"), "is not encrypted"),
            (format!("{cosigns} ftp://witness.example"), "no web address"),
            (format!("{cosigns} https://user:hunter2@witness.example"), "more than"),
            (format!("{cosigns} https://witness.example/?a=b"), "more than"),
            ("witness.example https://witness.example".into(), "no key"),
        ] {
            let refusal = witness(&wrong).unwrap_err();
            assert!(refusal.contains(why) && !refusal.contains("hunter2"), "{refusal}");
        }
    }

    fn witness_keys() -> (VerifierKey, VerifierKey) {
        let public = crate::crypto::SigningKey::from_seed(&[7; 32]).unwrap().public();
        let name = "witness.example";
        let cosigns = VerifierKey::with_algorithm(name, Algorithm::Cosignature, public).unwrap();
        (cosigns, VerifierKey::new(name, public).unwrap())
    }

    #[test]
    fn a_time_of_the_day_has_one_spelling_and_may_be_never() {
        assert_eq!(time_of_day("07:00").unwrap(), NaiveTime::from_hms_opt(7, 0, 0));
        assert_eq!(time_of_day("never"), Ok(None));
        for wrong in ["7:00", "24:00", "07", "07:00:00", "", "noon"] {
            assert!(time_of_day(wrong).unwrap_err().contains("`07:00`"), "{wrong}");
        }
        assert_eq!(seconds("60"), Ok(Duration::minutes(1)));
        for wrong in ["0", "-1", "86401", "1.5", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_zone_goes_by_its_name() {
        assert_eq!(zone("Europe/Berlin"), Ok(chrono_tz::Europe::Berlin));
        assert!(zone("Berlin").unwrap_err().contains("`Europe/Berlin`"));
    }
}
