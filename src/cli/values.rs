//! What options take: each reads one text, or says what it found and what is allowed.

use crate::domain::Label;
use crate::storage::Database;
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
    fn a_zone_goes_by_its_name() {
        assert_eq!(zone("Europe/Berlin"), Ok(chrono_tz::Europe::Berlin));
        assert!(zone("Berlin").unwrap_err().contains("`Europe/Berlin`"));
    }
}
