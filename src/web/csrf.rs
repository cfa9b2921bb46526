//! Whether a form was sent by one of our own pages: what the browser says of its origin, and the token in it.

use crate::crypto::secret::same_bytes;
use crate::crypto::{AuthKey, hmac_sha256};
use crate::domain::Hash;
use actix_web::http::header::{HeaderMap, HeaderName, ORIGIN};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The hidden field that every form sends back.
pub(super) const FIELD: &str = "csrf";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// What tells the uses of one session's key apart.
const OF_FORMS: &[u8] = b"procura-csrf-v1";
const OF_NOTICES: &[u8] = b"procura-notice-v1:";

/// The token of a session's forms: 64 hexadecimal digits that only who holds the session can know.
pub(super) fn token(session: &Hash) -> String {
    hex::encode(hmac_sha256(&AuthKey::from_bytes(session.as_bytes()), OF_FORMS))
}

/// Whether a form sent the token it was given, compared in time that depends on the length alone.
pub(super) fn is_right(expected: &str, sent: &str) -> bool {
    !expected.is_empty() && same_bytes(expected.as_bytes(), sent.as_bytes())
}

/// Whether a browser sent this from a page of ours, as far as its headers say. `base` is the public address.
///
/// Headers that are absent say nothing and leave it to the token; `Origin: null` counts only where
/// `Sec-Fetch-Site` says where it comes from (Fetch §3.2, Fetch Metadata §2.4).
pub(super) fn comes_from_here(headers: &HeaderMap, host: &str, base: &str) -> bool {
    let (Ok(site), Ok(origin)) = (only(headers, &SEC_FETCH_SITE), only(headers, &ORIGIN)) else {
        return false;
    };
    let is_same_site = match site {
        Some(site) if site != "same-origin" => return false,
        Some(_) => true,
        None => false,
    };
    match origin {
        None => true,
        Some("null") => is_same_site,
        Some(origin) => is_ours(origin, host, base),
    }
}

/// A header that stands at most once and is text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(drop),
        (Some(_), Some(_)) => Err(()),
    }
}

/// Our public origin, or the host that the request was sent to; over TLS never the same host without it.
fn is_ours(origin: &str, host: &str, base: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let Some((public_scheme, rest)) = base.split_once("://") else { return false };
    let public = rest.split('/').next().unwrap_or(rest);
    let is_scheme = scheme == public_scheme || (public_scheme == "http" && scheme == "https");
    is_scheme && !authority.is_empty() && (authority == public || authority == host)
}

/// A sentence that a page shows once after a form, so that nobody else can put one there.
pub(super) fn seal(session: &Hash, sentence: &str) -> String {
    format!("{}.{}", mac(session, sentence), URL_SAFE_NO_PAD.encode(sentence))
}

/// The sentence, if [`seal`] made it for this session.
pub(super) fn unseal(session: &Hash, sealed: &str) -> Option<String> {
    let (given, sentence) = sealed.split_once('.')?;
    let sentence = String::from_utf8(URL_SAFE_NO_PAD.decode(sentence).ok()?).ok()?;
    is_right(&mac(session, &sentence), given).then_some(sentence)
}

fn mac(session: &Hash, sentence: &str) -> String {
    let message = [OF_NOTICES, sentence.as_bytes()].concat();
    hex::encode(hmac_sha256(&AuthKey::from_bytes(session.as_bytes()), &message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    fn headers(sent: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            headers.append(name.parse().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    const BASE: &str = "https://procura.example";

    #[test]
    fn a_form_of_another_site_is_told_by_either_header() {
        let is_here = |sent: &[(&str, &str)]| comes_from_here(&headers(sent), "inner:8080", BASE);
        for ours in [
            &[][..],
            &[("origin", BASE)],
            &[("origin", "https://inner:8080")],
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "same-origin"), ("origin", BASE)],
            &[("sec-fetch-site", "same-origin"), ("origin", "null")],
        ] {
            assert!(is_here(ours), "{ours:?}");
        }
        for theirs in [
            &[("origin", "https://evil.example")][..],
            &[("origin", "null")],
            &[("origin", "")],
            &[("origin", "https://")],
            &[("origin", "http://procura.example")],
            &[("origin", "https://procura.example.evil.example")],
            &[("origin", "https://procura.example:8443")],
            &[("origin", BASE), ("origin", BASE)],
            &[("origin", BASE), ("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")],
        ] {
            assert!(!is_here(theirs), "{theirs:?}");
        }
    }

    #[test]
    fn a_proxy_that_ends_tls_before_a_plain_address_is_no_other_site() {
        let sent = headers(&[("origin", "https://club.example")]);
        assert!(comes_from_here(&sent, "club.example", "http://localhost:8080"));
        assert!(!comes_from_here(&sent, "localhost:8080", "http://localhost:8080"));
    }

    #[test]
    fn a_token_belongs_to_one_session() {
        let (one, other) = (Hash([1; 32]), Hash([2; 32]));
        assert_eq!(token(&one).len(), 64);
        assert!(is_right(&token(&one), &token(&one)));
        assert!(!is_right(&token(&one), &token(&other)));
        assert!(!is_right(&token(&one), ""));
        assert!(!is_right("", ""), "no token at all is never right");
    }

    #[test]
    fn a_notice_is_shown_to_the_session_it_was_made_for() {
        let (one, other) = (Hash([1; 32]), Hash([2; 32]));
        let sealed = seal(&one, "version 4 is live");
        assert_eq!(unseal(&one, &sealed).as_deref(), Some("version 4 is live"));
        assert_eq!(unseal(&other, &sealed), None);
        let forged =
            sealed.replace(&URL_SAFE_NO_PAD.encode("version 4"), &URL_SAFE_NO_PAD.encode("version 9"));
        assert_eq!(unseal(&one, &forged), None);
        assert_eq!(unseal(&one, ""), None);
    }
}
