//! The servers beside Procura: how each is started, told the mandate and asked.

use super::cedar;
use crate::Failure;
use crate::question::Refund;
use serde_json::{Value, json};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A server that is measured beside Procura.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Cedar's engine, each answer signed and appended to a file.
    Decern,
    /// Cerbos over HTTP.
    Cerbos,
    /// Cedar's engine in the server framework that Procura uses.
    CedarPolicy,
    /// Cedar's engine as its own service.
    CedarAgent,
}

impl Kind {
    /// In the order of a round.
    pub(super) const ALL: [Self; 4] = [Self::Decern, Self::Cerbos, Self::CedarPolicy, Self::CedarAgent];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Decern => "decern-server",
            Self::Cerbos => "Cerbos",
            Self::CedarPolicy => "cedar-policy in actix-web",
            Self::CedarAgent => "cedar-agent",
        }
    }

    /// Whether what it answered is on the disk before it answers.
    pub(super) fn is_durable(self) -> bool {
        match self {
            Self::Decern => true,
            Self::Cerbos | Self::CedarPolicy | Self::CedarAgent => false,
        }
    }

    /// How many times as fast Procura's gate is to be.
    pub(super) fn target(self) -> Option<f64> {
        match self {
            Self::Decern | Self::Cerbos => Some(8.0),
            Self::CedarAgent => Some(2.5),
            Self::CedarPolicy => None,
        }
    }

    /// Its program, where it was laid; why not, where there is none.
    pub(super) fn program(self, tools: &Path) -> Result<PathBuf, Failure> {
        let program = match self {
            Self::Decern => tools.join("bin/decern-serve"),
            Self::Cerbos => tools.join("node_modules/@cerbos/cerbos-linux-x64/cerbos-linux-x64"),
            Self::CedarPolicy => std::env::current_exe()?,
            Self::CedarAgent => tools.join("bin/cedar-agent"),
        };
        if program.is_file() { Ok(program) } else { Err("it is not installed".into()) }
    }

    /// Which version it is.
    pub(super) fn version(self, program: &Path) -> Result<String, Failure> {
        match self {
            Self::CedarPolicy => Ok(cedar_policy::get_sdk_version().to_string()),
            Self::Decern | Self::Cerbos | Self::CedarAgent => version(program),
        }
    }

    /// Writes down what it reads, and gives the command that serves.
    pub(super) fn command(
        self,
        program: &Path,
        folder: &Path,
        address: SocketAddr,
    ) -> Result<Command, Failure> {
        let mut command = Command::new(program);
        match self {
            Self::Decern => {
                decern_model(folder)?;
                command.arg("--model").arg(folder).arg("--ledger").arg(folder.join("ledger.jsonl"));
                command.arg("--key").arg(folder.join("ledger.key"));
                command.args(["--trust-proxy", "--addr", &address.to_string()]);
            }
            Self::Cerbos => {
                cerbos_policy(folder, address)?;
                command.args(["server", "--log-level=error", "--config"]).arg(folder.join("cerbos.json"));
            }
            Self::CedarPolicy => {
                command.args(["--serve-cedar", &address.to_string()]);
            }
            Self::CedarAgent => {
                cedar_agent_files(folder)?;
                command.arg("--policies").arg(folder.join("policies.json"));
                command.arg("--data").arg(folder.join("entities.json"));
                command.args(["--log-level", "error", "--addr", &address.ip().to_string()]);
                command.args(["--port", &address.port().to_string()]).env("ROCKET_LOG_LEVEL", "off");
            }
        }
        Ok(command)
    }

    /// Where it is asked.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Decern => "/access/v1/evaluation",
            Self::Cerbos => "/api/check/resources",
            Self::CedarPolicy => cedar::PATH,
            Self::CedarAgent => "/v1/is_authorized",
        }
    }

    /// The question in its words: what its policies look at and no more.
    pub(super) fn question(self, refund: &Refund) -> Value {
        match self {
            Self::Decern => json!({
                "subject": {"type": "Principal", "id": "runner"}, "action": {"name": "payments.refund"},
                "resource": {"type": "Resource", "id": refund.resource}, "context": cedar::context(refund),
            }),
            Self::Cerbos => json!({
                "principal": {"id": "runner", "roles": ["agent"]},
                "resources": [{"actions": ["payments:refund"], "resource": {
                    "kind": "action", "id": refund.resource, "attr": {
                        "minor_units": refund.minor_units, "currency": "EUR", "country": refund.country,
                        "untrusted": refund.untrusted,
                    },
                }}],
            }),
            Self::CedarPolicy => {
                let mut question = cedar::context(refund);
                if let Some(members) = question.as_object_mut() {
                    members.insert("action".into(), json!("payments.refund"));
                }
                question
            }
            Self::CedarAgent => json!({
                "principal": "Principal::\"runner\"", "action": "Action::\"payments.refund\"",
                "resource": format!("Resource::\"{}\"", refund.resource), "context": cedar::context(refund),
            }),
        }
    }

    /// Whether an answer says yes; `None` if it says neither.
    pub(super) fn allows(self, answer: &Value) -> Option<bool> {
        match self {
            Self::Decern | Self::CedarPolicy => answer.get("decision")?.as_bool(),
            Self::Cerbos => {
                let effect = answer.pointer("/results/0/actions/payments:refund")?.as_str()?;
                Some(effect == "EFFECT_ALLOW")
            }
            Self::CedarAgent => Some(answer.get("decision")?.as_str()? == "Allow"),
        }
    }
}

/// The version that a program says it has.
pub(super) fn version(program: &Path) -> Result<String, Failure> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let version = words.find(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    Ok(version.ok_or("it says no version")?.to_owned())
}

/// The same policies under a schema, and one principal whose authority does not end.
fn decern_model(folder: &Path) -> Result<(), Failure> {
    let policies: String = cedar::policies().into_iter().map(|(_, policy)| policy + "\n").collect();
    let attributes = "{ kind: String, tenant: String, expiry: Long, scopes: Set<String>, \
        delegator?: Principal, ancestors: Set<Principal>, revoked: Bool }";
    let principal = json!([{"uid": {"type": "Principal", "id": "runner"}, "parents": [], "attrs": {
        "kind": "Agent", "tenant": "bench", "expiry": 32_503_680_000_u64, "scopes": ["payments"],
    }}]);
    fs::write(folder.join("authority.cedar"), policies)?;
    fs::write(folder.join("authority.cedarschema"), cedar::schema(attributes, "now: Long,"))?;
    fs::write(folder.join("entities.json"), principal.to_string())?;
    Ok(())
}

/// The mandate as one resource policy of twenty rules; nothing is logged or watched.
fn cerbos_policy(folder: &Path, address: SocketAddr) -> Result<(), Failure> {
    let rule = |number: u32, action: &str, allow: bool, condition: Option<&str>| {
        let effect = if allow { "EFFECT_ALLOW" } else { "EFFECT_DENY" };
        let mut rule =
            json!({"name": format!("M-{number:03}"), "actions": [action], "roles": ["*"], "effect": effect});
        if let (Some(condition), Some(members)) = (condition, rule.as_object_mut()) {
            members.insert("condition".into(), json!({"match": {"expr": condition}}));
        }
        rule
    };
    let mut rules = vec![
        rule(1, "account:*", false, None),
        rule(2, "payments:payout", false, None),
        rule(3, "payments:*", false, Some("R.attr.country in [\"KP\", \"IR\"]")),
        rule(4, "payments:*", false, Some("R.id.startsWith(\"legacy:\")")),
    ];
    let desk = Some("R.attr.currency == \"EUR\" && R.attr.minor_units <= 1000");
    rules.extend((5..20).map(|number| rule(number, &format!("desk{number}:task"), true, desk)));
    let refund = "R.attr.currency == \"EUR\" && R.attr.minor_units <= 10000 && \
        R.attr.country in [\"DE\", \"NL\", \"AT\"] && R.id.startsWith(\"order:\") && !R.attr.untrusted";
    rules.push(rule(20, "payments:refund", true, Some(refund)));
    let policy = json!({"apiVersion": "api.cerbos.dev/v1",
        "resourcePolicy": {"resource": "action", "version": "default", "rules": rules}});
    let policies = folder.join("policies");
    fs::create_dir_all(&policies)?;
    fs::write(policies.join("mandate.json"), policy.to_string())?;
    let other = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let settings = json!({
        "server": {"httpListenAddr": address.to_string(), "grpcListenAddr": other.to_string()},
        "storage": {"driver": "disk", "disk": {"directory": policies, "watchForChanges": false}},
        "telemetry": {"disabled": true},
    });
    fs::write(folder.join("cerbos.json"), settings.to_string())?;
    Ok(())
}

fn cedar_agent_files(folder: &Path) -> Result<(), Failure> {
    let policy = |(name, text): (String, String)| json!({"id": name, "content": text});
    let policies: Value = cedar::policies().into_iter().map(policy).collect();
    fs::write(folder.join("policies.json"), policies.to_string())?;
    fs::write(folder.join("entities.json"), cedar::entities().to_string())?;
    Ok(())
}
