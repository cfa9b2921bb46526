//! A person at the pages: keeps cookies, fills in forms as they stand in a page, and follows nothing by itself.

use crate::client::{Client, Reply};
use crate::server::{PASSWORD, Server, TENANT};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A browser without a screen.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    client: Client,
    /// The cookies it holds, by name.
    pub(crate) cookies: BTreeMap<String, String>,
}

impl Visitor {
    /// Somebody who is not signed in.
    pub(crate) fn new(server: &Server) -> Self {
        Self { client: server.client(), cookies: BTreeMap::new() }
    }

    /// Somebody who signed in through the page.
    #[track_caller]
    pub(crate) fn signed_in(server: &Server, email: &str) -> Self {
        let mut visitor = Self::new(server);
        let answer = visitor.sign_in(email, PASSWORD, None);
        assert_eq!(answer.status, 303, "{}", answer.text);
        visitor
    }

    /// Opens the sign-in page and sends its form.
    #[track_caller]
    pub(crate) fn sign_in(&mut self, email: &str, password: &str, next: Option<&str>) -> Reply {
        let mut fields = vec![("tenant", TENANT), ("email", email), ("password", password)];
        fields.extend(next.map(|next| ("next", next)));
        self.submit("/sign-in", "/sign-in", &fields)
    }

    /// Looks at a page.
    #[track_caller]
    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, &[("accept", "text/html")], None)
    }

    /// Looks at a page that must be there.
    #[track_caller]
    pub(crate) fn page(&mut self, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        reply.text
    }

    /// Opens `page` and sends a form to `action` with the token that stands in it.
    #[track_caller]
    pub(crate) fn submit(&mut self, page: &str, action: &str, fields: &[(&str, &str)]) -> Reply {
        let text = self.page(page);
        assert!(text.contains(&format!("action=\"{action}\"")), "{page} has no form for {action}: {text}");
        let token = hidden(&text, "csrf");
        let mut all = vec![("csrf", &*token)];
        all.extend(fields);
        self.post(action, &[("origin", &*self.client.base().to_owned())], &all)
    }

    /// Sends a form as it is.
    #[track_caller]
    pub(crate) fn post(&mut self, path: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Reply {
        let mut all = vec![("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
        all.extend(headers);
        self.send("POST", path, &all, Some(form(fields).as_bytes()))
    }

    /// Opens `page` and sends its form to `action` with a file, as a browser does.
    #[track_caller]
    pub(crate) fn upload(
        &mut self,
        page: &str,
        action: &str,
        fields: &[(&str, &str)],
        file: (&str, &[u8]),
    ) -> Reply {
        let token = hidden(&self.page(page), "csrf");
        let mut body = Vec::new();
        let mut part = |head: &str, bytes: &[u8]| {
            body.extend_from_slice(
                format!("--BOUNDARY\r\nContent-Disposition: form-data; {head}\r\n\r\n").as_bytes(),
            );
            body.extend_from_slice(bytes);
            body.extend_from_slice(b"\r\n");
        };
        for (name, value) in [("csrf", &*token)].iter().chain(fields) {
            part(&format!("name=\"{name}\""), value.as_bytes());
        }
        part(&format!("name=\"file\"; filename=\"{}\"\r\nContent-Type: text/csv", file.0), file.1);
        body.extend_from_slice(b"--BOUNDARY--\r\n");
        let origin = self.client.base().to_owned();
        let kind = "multipart/form-data; boundary=BOUNDARY";
        let headers = [("content-type", kind), ("accept", "text/html"), ("origin", &*origin)];
        self.send("POST", action, &headers, Some(&body))
    }

    /// Any request with the cookies; what the answer sets is kept.
    #[track_caller]
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Reply {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookies = cookies.join("; ");
        let mut all = headers.to_vec();
        if !cookies.is_empty() {
            all.push(("cookie", &cookies));
        }
        let reply = self.client.send(method, path, &all, body);
        for set in reply.headers.get_all("set-cookie") {
            let text = set.to_str().unwrap();
            let (name, value) = text.split(';').next().unwrap().split_once('=').unwrap();
            if text.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        reply
    }
}

/// The value of a hidden field; all of them in a page are the same.
#[track_caller]
pub(crate) fn hidden(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no field `{name}` in {page}"));
    rest.split('"').next().unwrap().to_owned()
}

/// Fields as a browser writes them.
fn form(fields: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in fields {
        if !out.is_empty() {
            out.push('&');
        }
        for (place, text) in [name, value].into_iter().enumerate() {
            if place == 1 {
                out.push('=');
            }
            for byte in text.bytes() {
                if byte.is_ascii_alphanumeric() || b"-._*".contains(&byte) {
                    out.push(char::from(byte));
                } else {
                    write!(out, "%{byte:02X}").unwrap();
                }
            }
        }
    }
    out
}
