//! How long pages take on the log: the queue, and the calls with and without filters.

use crate::Failure;
use crate::report::percentile;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Instant;

/// How often each is asked for.
const TIMES: usize = 50;
/// The same for those that take long, once they took so many microseconds altogether.
const LONG: u32 = 5_000_000;

/// One address, and how long it took.
#[derive(Debug)]
pub(crate) struct Page {
    what: &'static str,
    address: String,
    status: u16,
    sorted: Vec<u32>,
}

/// Everything that is asked for.
pub(crate) fn measure(address: SocketAddr, member: &str, watcher: &str) -> Result<Vec<Page>, Failure> {
    let as_page = |token: &str| ("cookie", format!("procura={token}"));
    let as_client = |token: &str| ("authorization", format!("Bearer {token}"));
    let wanted = [
        ("queue, page", as_page(member), "/queue"),
        ("queue", as_client(member), "/v1/decisions?status=open"),
        ("own calls, page", as_page(member), "/calls"),
        ("own calls", as_client(member), "/v1/calls?limit=50"),
        ("own calls, refused", as_client(member), "/v1/calls?limit=50&outcome=refuse"),
        ("all calls, page", as_page(watcher), "/calls"),
        ("all calls", as_client(watcher), "/v1/calls?limit=50"),
        ("all calls, refused", as_client(watcher), "/v1/calls?limit=50&outcome=refuse"),
        ("all calls, escalated", as_client(watcher), "/v1/calls?limit=50&outcome=escalate"),
        ("all calls of no intent", as_client(watcher), "/v1/calls?limit=50&intent=payments.nothing"),
    ];
    let agent =
        ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).build().new_agent();
    let mut pages = Vec::new();
    for (what, (header, value), path) in wanted {
        let mut page = Page { what, address: path.to_owned(), status: 0, sorted: Vec::new() };
        // The first is not counted: it opens the connection.
        for number in 0..=TIMES {
            let asked = Instant::now();
            let mut reply = agent.get(format!("http://{address}{path}")).header(header, &value).call()?;
            page.status = reply.status().as_u16();
            reply.body_mut().read_to_vec()?;
            if number > 0 {
                page.sorted.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
            }
            if page.status != 200 || page.sorted.iter().sum::<u32>() > LONG {
                break;
            }
        }
        page.sorted.sort_unstable();
        pages.push(page);
    }
    Ok(pages)
}

impl Page {
    /// What it is.
    pub(crate) fn what(&self) -> &'static str {
        self.what
    }

    /// So many of a hundred took no longer, in milliseconds; infinitely long where it was not answered.
    pub(crate) fn milliseconds(&self, percent: usize) -> f64 {
        if self.status == 200 && !self.sorted.is_empty() {
            f64::from(percentile(&self.sorted, percent)) / 1e3
        } else {
            f64::INFINITY
        }
    }

    /// The machine form.
    pub(crate) fn to_json(&self) -> Value {
        json!({"what": self.what, "path": self.address, "status": self.status, "times": self.sorted.len(),
            "p50_ms": self.milliseconds(50), "p99_ms": self.milliseconds(99)})
    }
}
