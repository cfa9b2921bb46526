//! The cookies of the pages, and the local paths they lead back to.

use actix_web::HttpRequest;
use actix_web::cookie::{Cookie, SameSite, time::Duration};
use actix_web::http::header::COOKIE;

/// How long a notice waits to be shown, in seconds.
const NOTICE_SECONDS: i64 = 60;
/// The longest path a sign-in leads back to, in bytes.
const LONGEST_PATH: usize = 1024;

/// What a cookie is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The session's token.
    Session,
    /// What the sign-in form's hidden field must repeat.
    SignIn,
    /// What the last form did, to be shown once.
    Notice,
}

impl Purpose {
    /// The cookie's name; over TLS with the prefix that ties it to this host and to TLS (RFC 6265bis §4.1.3.2).
    pub(super) const fn name(self, is_https: bool) -> &'static str {
        match (self, is_https) {
            (Self::Session, true) => "__Host-procura",
            (Self::Session, false) => "procura",
            (Self::SignIn, true) => "__Host-procura-sign-in",
            (Self::SignIn, false) => "procura-sign-in",
            (Self::Notice, true) => "__Host-procura-notice",
            (Self::Notice, false) => "procura-notice",
        }
    }
}

/// The cookie that holds `value`: for this host alone, out of reach for scripts, never sent from other sites.
pub(super) fn set(purpose: Purpose, value: String, is_https: bool) -> Cookie<'static> {
    let mut cookie = Cookie::new(purpose.name(is_https), value);
    cookie.set_path("/");
    cookie.set_http_only(true);
    cookie.set_same_site(SameSite::Strict);
    if is_https {
        cookie.set_secure(true);
    }
    match purpose {
        Purpose::Notice => cookie.set_max_age(Duration::seconds(NOTICE_SECONDS)),
        Purpose::Session | Purpose::SignIn => {}
    }
    cookie
}

/// The cookie that removes one.
pub(super) fn remove(purpose: Purpose, is_https: bool) -> Cookie<'static> {
    let mut cookie = set(purpose, String::new(), is_https);
    cookie.set_max_age(Duration::ZERO);
    cookie
}

/// The value a request carries. One that stands twice counts as none: somebody else put one of them there.
pub(super) fn find(request: &HttpRequest, purpose: Purpose, is_https: bool) -> Option<String> {
    let headers = request.headers().get_all(COOKIE).filter_map(|header| header.to_str().ok());
    only(headers, purpose.name(is_https)).map(str::to_owned)
}

fn only<'a>(headers: impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    let mut values = headers
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(found, _)| *found == name)
        .map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value).filter(|value| !value.is_empty()),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

/// A path of this service to go on to: no other host's, whatever a browser makes of it.
pub(super) fn local_path(text: &str) -> Option<&str> {
    let is_local = text.starts_with('/')
        && !text.starts_with("//")
        && !text.contains('\\')
        && text.len() <= LONGEST_PATH
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_local.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_nowhere_else() {
        for local in ["/", "/queue", "/queue/dec_1?x=y#z", "/calls?credential=crd_1&from=2026-11-01T00%3A00"]
        {
            assert_eq!(local_path(local), Some(local));
        }
        let long = format!("/{}", "a".repeat(LONGEST_PATH));
        for elsewhere in [
            "",
            "queue",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil.example",
            "/queue\r\nset-cookie: a=b",
            " /queue",
            "/ü",
            "/\u{0}",
            &long,
        ] {
            assert_eq!(local_path(elsewhere), None, "{elsewhere:?}");
        }
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name_and_only_once() {
        let find = |headers: &[&'static str]| only(headers.iter().copied(), "procura");
        assert_eq!(find(&["procura=a"]), Some("a"));
        assert_eq!(find(&["x=1; procura=a; y=2"]), Some("a"));
        assert_eq!(find(&["x=1", "procura=a=b"]), Some("a=b"));
        assert_eq!(find(&["procura-notice=a; __Host-procura=b; xprocura=c"]), None);
        assert_eq!(find(&["procura=a; procura=b"]), None);
        assert_eq!(find(&["procura=a", "procura=a"]), None);
        assert_eq!(find(&["procura="]), None);
        assert_eq!(find(&["procura"]), None);
    }

    #[test]
    fn a_session_is_bound_to_its_host_over_tls() {
        assert_eq!(
            set(Purpose::Session, "pcs_x".into(), true).to_string(),
            "__Host-procura=pcs_x; HttpOnly; SameSite=Strict; Secure; Path=/"
        );
        assert_eq!(
            set(Purpose::Session, "pcs_x".into(), false).to_string(),
            "procura=pcs_x; HttpOnly; SameSite=Strict; Path=/"
        );
        assert!(remove(Purpose::Session, true).to_string().contains("Max-Age=0"));
    }
}
