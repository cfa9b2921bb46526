//! Which host an address, a URL or a host name leads to, as a browser or a mail server would reach it.

use crate::domain::is_hidden;
use std::{borrow::Borrow, collections::BTreeSet, fmt, str::FromStr};
use url::Host as Parsed;

/// The most characters of an authority that are looked at; a host name has at most 253.
const LONGEST_AUTHORITY: usize = 512;
/// The most characters a host name may have, and one of its labels (RFC 1035 §2.3.4).
const LONGEST_HOST: usize = 253;
const LONGEST_LABEL: usize = 63;

/// Schemes that browsers resolve to a host.
pub(super) const REACHING: [&str; 5] = ["http", "https", "ftp", "ws", "wss"];
/// Schemes that carry or run what they name, or open something on the reader's own machine: no host is reached.
pub(super) const CONTAINED: [&str; 12] = [
    "about",
    "blob",
    "cid",
    "data",
    "file",
    "filesystem",
    "intent",
    "jar",
    "javascript",
    "livescript",
    "vbscript",
    "view-source",
];

/// The name of a host in the one form it is compared in: ASCII, lower case, at least two labels.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Host(String);

impl Host {
    /// The host that a host name leads to after IDNA processing (WHATWG URL §3.5); none for IP addresses, single
    /// labels, trailing dots, and characters that do not show or that no host name has.
    pub(super) fn named(text: &str) -> Option<Self> {
        if text.len() > LONGEST_AUTHORITY * 4 || text.chars().any(is_odd) {
            return None;
        }
        match Parsed::parse(text).ok()? {
            Parsed::Domain(name) => is_host_name(&name).then_some(Self(name)),
            Parsed::Ipv4(_) | Parsed::Ipv6(_) => None,
        }
    }

    /// The host behind `host[:port]`, possibly followed by path, query and fragment; none behind userinfo.
    pub(super) fn of_authority(text: &str) -> Option<Self> {
        let authority: &str = text.split(['/', '?', '#']).next()?;
        if authority.chars().nth(LONGEST_AUTHORITY).is_some() || authority.contains(['@', '\\']) {
            return None;
        }
        match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => Self::named(host),
            Some(_) => None,
            None => Self::named(authority),
        }
    }

    /// The host that a text of any form leads to: a URL, `//host/…`, a mail address, a host name; each also behind
    /// one word of its kind, such as `mailto:`.
    pub(super) fn of(text: &str) -> Option<Self> {
        if text.chars().any(is_odd) {
            return None;
        }
        match split_kind(text) {
            Some((kind, rest)) if REACHING.contains(&kind.as_str()) => {
                Self::of_authority(rest.trim_start_matches('/'))
            }
            Some((kind, _)) if CONTAINED.contains(&kind.as_str()) => None,
            Some((_, rest)) => match split_kind(rest) {
                Some((kind, rest)) if REACHING.contains(&kind.as_str()) => {
                    Self::of_authority(rest.trim_start_matches('/'))
                }
                Some(_) => None,
                None => Self::without_kind(rest),
            },
            None => Self::without_kind(text),
        }
    }

    fn without_kind(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix("//") {
            return Self::of_authority(rest.trim_start_matches('/'));
        }
        match text.split_once('@') {
            Some((local, host)) => is_local_part(local).then(|| Self::mail_host(host)).flatten(),
            None => Self::of_authority(text),
        }
    }

    /// A mail address has neither port nor path, and nothing in it is percent-decoded.
    fn mail_host(text: &str) -> Option<Self> {
        if text.contains(['/', '?', '#', ':', '%', '@']) { None } else { Self::named(text) }
    }

    /// The name itself, then each host it lies below.
    fn and_above(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.0.as_str()), |name| Some(name.split_once('.')?.1))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A domain as documents list it: the host of that name and every host below it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostDomain(Host);

impl HostDomain {
    /// The name in ASCII and lower case.
    pub fn as_str(&self) -> &str {
        &self.0.0
    }
}

impl Borrow<str> for HostDomain {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for HostDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for HostDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for HostDomain {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = !text.contains(['*', '@', ':', '/', '%', '=', '?', '#']);
        Host::named(text).filter(|_| plain).map(Self).ok_or_else(|| {
            let shown = text.chars().take(64).collect::<String>().escape_debug().to_string();
            format!(
                "`{shown}` is not a domain: a host name such as example.com, which stands for itself and every \
                 host below it"
            )
        })
    }
}

/// Several domains.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HostDomains(pub BTreeSet<HostDomain>);

impl HostDomains {
    /// Whether the host is one of them or lies below one.
    pub(super) fn hold(&self, host: &Host) -> bool {
        host.and_above().any(|name| self.0.contains(name))
    }

    /// Whether the text leads to a host that is one of them or lies below one.
    pub(super) fn reach(&self, text: &str) -> bool {
        Host::of(text).is_some_and(|host| self.hold(&host))
    }

    /// Whether every host in these is in those.
    pub(super) fn within(&self, outer: &Self) -> bool {
        self.0.iter().all(|domain| outer.hold(&domain.0))
    }
}

/// Characters that belong in no address: hidden ones, blanks, and backslashes, which programs read differently.
fn is_odd(character: char) -> bool {
    is_hidden(character) || character.is_whitespace() || character == '\\'
}

/// At least two labels of letters, digits, `-` and `_`; the last one not a number.
fn is_host_name(name: &str) -> bool {
    let fits = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    name.len() <= LONGEST_HOST && name.contains('.') && name.split('.').all(fits)
}

/// What stands before the `@` of an address that every mail server reads alike (a narrow RFC 5322 §3.4.1 dot-atom):
/// nothing quoted, nothing decoded, nothing that lists or routes.
fn is_local_part(text: &str) -> bool {
    let fits = |character: char| {
        character.is_alphanumeric()
            || matches!(character, '!' | '$' | '\'' | '*' | '+' | '-' | '=' | '^' | '_' | '~')
    };
    text.len() <= 64 && text.split('.').all(|part| !part.is_empty() && part.chars().all(fits))
}

/// A word as schemes are written, then a colon: in lower case, with the rest. What stands before a port is a host.
pub(super) fn split_kind(text: &str) -> Option<(String, &str)> {
    let (kind, rest) = text.split_once(':')?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'_');
    let is_kind = kind.starts_with(|first: char| first.is_ascii_alphabetic())
        && kind.len() <= 32
        && kind.bytes().all(fits);
    is_kind.then(|| (kind.to_ascii_lowercase(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Option<String> {
        Host::of(text).map(|host| host.to_string())
    }

    #[test]
    fn every_form_leads_to_its_host() {
        for text in [
            "example.com",
            "EXAMPLE.com",
            "example.com:8443",
            "example.com/a?b#c",
            "//example.com/a",
            "https://example.com",
            "HTTPS://Example.COM:443/a@b?c=d,e;f#g",
            "https:example.com",
            "https:///example.com/",
            "https://ex%61mple.com/",
            "https://example。com/",
            "https://ｅｘａｍｐｌｅ．ｃｏｍ",
            "sftp://example.com/x",
            "anna@example.com",
            "anna.b+c@EXAMPLE.com",
            "jürgen@example.com",
            "mailto:anna@example.com",
            "email:anna@example.com",
            "domain:example.com",
            "url:https://example.com/a",
        ] {
            assert_eq!(host(text).as_deref(), Some("example.com"), "{text}");
        }
        // UTS #46 without transitional processing, as browsers do it; Punycode by RFC 3492.
        assert_eq!(host("bücher.example").as_deref(), Some("xn--bcher-kva.example"));
        assert_eq!(host("https://faß.de").as_deref(), Some("xn--fa-hia.de"));
        assert_eq!(
            host("https://аррӏе.com").as_deref(),
            Some("xn--80ak6aa92e.com"),
            "a look-alike is another host"
        );
    }

    #[test]
    fn what_leads_elsewhere_or_nowhere_leads_nowhere() {
        for text in [
            "",
            "localhost",
            "acct:cus_91",
            "order:4412",
            "https://",
            "https:///",
            "https://localhost/example.com",
            "https://user@example.com",
            "https://example.com@evil.test/",
            "https://@example.com",
            "https://example.com\\@evil.test",
            "\\\\example.com\\share",
            "https:\\\\example.com",
            "https://example.com.",
            "https://.example.com",
            "https://example..com",
            "https://exam\u{200b}ple.com",
            "https://exam\u{ad}ple.com",
            "https://exa\u{202e}mple.com",
            "https://exa\tmple.com",
            " example.com",
            "https://192.0.2.1/",
            "https://0xc0000201/",
            "https://[2001:db8::1]/",
            "3232235521",
            "https://example.com:port/",
            "https://exa%00mple.com",
            "https://alert(1).com",
            "javascript:example.com",
            "data:example.com",
            "JavaScript://example.com/%0aalert(1)",
            "view-source:https://example.com",
            "a@b@example.com",
            "anna@",
            "@example.com",
            "anna@evil.test,bob@example.com",
            "anna@evil.test;bob@example.com",
            "anna <anna@example.com>",
            "\"anna@evil.test\"@example.com",
            "anna%40evil.test@example.com",
            "evil.test:25@example.com",
            "mailto:anna%40evil.test?cc=@example.com",
            "anna@example.com?bcc=bob",
            "anna@[192.0.2.1]",
            "anna..b@example.com",
            ".anna@example.com",
            "a:b:example.com",
            "xn--a.com",
        ] {
            assert_eq!(host(text), None, "{text:?}");
        }
        assert_eq!(host(&format!("{}.com", "a".repeat(64))), None);
        assert_eq!(host(&format!("{}com", "abcdefghi.".repeat(26))), None);
    }

    #[test]
    fn a_domain_is_a_host_and_all_below_it() {
        let domains =
            HostDomains(["example.com", "BÜCHER.example"].iter().map(|text| text.parse().unwrap()).collect());
        for inside in
            ["example.com", "https://a.b.example.com", "anna@mail.example.com", "xn--bcher-kva.example"]
        {
            assert!(domains.reach(inside), "{inside}");
        }
        for outside in [
            "notexample.com",
            "example.com.evil.test",
            "com",
            "example.co",
            "anna@example.org",
            "buecher.example",
        ] {
            assert!(!domains.reach(outside), "{outside}");
        }
        let set = |names: &[&str]| HostDomains(names.iter().map(|name| name.parse().unwrap()).collect());
        assert!(set(&["a.example.com", "example.com"]).within(&domains));
        assert!(!set(&["example.com", "test.org"]).within(&domains));
        assert!(!domains.within(&set(&["a.example.com"])));
    }

    #[test]
    fn a_domain_is_written_as_a_host_name() {
        for wrong in [
            "",
            "*.example.com",
            "=example.com",
            "@example.com",
            "https://example.com",
            "example.com/a",
            "example.com:80",
            "com",
            "localhost",
            "192.0.2.1",
            "[2001:db8::1]",
            "example.com.",
            ".example.com",
            "exa mple.com",
            "ex%61mple.com",
        ] {
            let said = wrong.parse::<HostDomain>().unwrap_err();
            assert!(said.contains("is not a domain: a host name such as example.com"), "{said}");
        }
        assert_eq!("Faß.DE".parse::<HostDomain>().unwrap().as_str(), "xn--fa-hia.de");
    }
}
