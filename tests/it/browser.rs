//! A real browser: Chromium without a window, driven over a pipe (Chrome DevTools Protocol).

use crate::server::Folder;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One tab of one browser; killed when dropped.
pub(crate) struct Browser {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: Option<String>,
    count: u64,
    /// What the browser said by itself, such as errors on its console.
    events: Vec<Value>,
    _profile: Folder,
}

impl Browser {
    /// A browser with an empty profile.
    #[track_caller]
    pub(crate) fn start() -> Self {
        let profile = Folder::new();
        // The browser takes orders on descriptor 3 and answers on 4; a shell puts our pipes there.
        let script = format!(
            "for name in chromium chromium-browser google-chrome; do command -v $name >/dev/null && \
             exec $name --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
             --user-data-dir='{}' --remote-debugging-pipe 3<&0 4>&1 >/dev/null 2>&1; done; \
             echo 'no chromium here: ops/test installs it' >&2; exit 1",
            profile.display()
        );
        let mut process = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut browser =
            Self { process, orders, answers, session: None, count: 0, events: Vec::new(), _profile: profile };
        let tab = browser.order("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": tab["targetId"], "flatten": true});
        let session = browser.order("Target.attachToTarget", &attach)["sessionId"].clone();
        browser.session = Some(session.as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.order(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Sends an order and gives its result; what comes in between is an event.
    #[track_caller]
    pub(crate) fn order(&mut self, method: &str, parameters: &Value) -> Value {
        self.count += 1;
        let mut order = json!({"id": self.count, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        self.orders.write_all(format!("{order}\0").as_bytes()).unwrap();
        loop {
            let mut message = Vec::new();
            self.answers.read_until(0, &mut message).unwrap();
            assert!(message.pop().is_some(), "the browser ended: is chromium installed? `ops/test` does so");
            let message: Value = serde_json::from_slice(&message).unwrap();
            if message["id"] == self.count {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Opens a page and waits until it is complete.
    #[track_caller]
    pub(crate) fn open(&mut self, url: &str) {
        self.leave(|browser| drop(browser.order("Page.navigate", &json!({"url": url}))));
    }

    /// Fills in the form that a selector names, sends it as a person would, and waits for what comes.
    #[track_caller]
    pub(crate) fn submit(&mut self, form: &str, fields: &[(&str, &str)]) {
        for (name, value) in fields {
            let fill = format!(
                "document.querySelector({}).elements[{}].value = {}",
                json!(form),
                json!(name),
                json!(value)
            );
            self.ask(&fill);
        }
        let send = format!("document.querySelector({}).requestSubmit()", json!(form));
        self.leave(|browser| drop(browser.ask(&send)));
    }

    /// Does something that leads to another page, and waits until that is complete.
    #[track_caller]
    fn leave(&mut self, action: impl FnOnce(&mut Self)) {
        self.ask("window.isOldPage = true");
        action(self);
        let since = Instant::now();
        while self.ask("!window.isOldPage && document.readyState === 'complete'") != true {
            assert!(since.elapsed() < PATIENCE, "the page never came");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        self.order("Runtime.evaluate", &asked)["result"]["value"].clone()
    }

    /// What the promise that an expression gives comes to.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        self.order("Runtime.evaluate", &asked)["result"]["value"].clone()
    }

    /// The addresses that were asked for since the browser started, in order.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        // Everything that happened before this answer is among the events by now.
        self.ask("1");
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// What is to be read in the page.
    #[track_caller]
    pub(crate) fn text(&mut self) -> String {
        self.ask("document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// What ran or was kept from running: dialogs, console messages, uncaught errors, policy violations.
    pub(crate) fn incidents(&mut self) -> Vec<Value> {
        // Everything that happened before this answer is among the events by now.
        self.ask("1");
        self.events
            .iter()
            .filter(|event| match event["method"].as_str().unwrap_or_default() {
                "Page.javascriptDialogOpening" | "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" => {
                    true
                }
                // A missing icon or an answered fault is reported as `network`.
                "Log.entryAdded" => event["params"]["entry"]["source"] != "network",
                _ => false,
            })
            .cloned()
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
