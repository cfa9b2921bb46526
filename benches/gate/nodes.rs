//! Two nodes on one database: together on one tenant, and each on its own, beside one node alone.

use crate::Failure;
use crate::goal::Goal;
use crate::load::{Done, Load, Stop, Target};
use crate::report::Series;
use crate::server::{Server, Start};
use serde_json::{Value, json};
use std::fmt;
use std::time::Duration;

/// What was measured.
#[derive(Debug)]
pub(crate) struct Nodes {
    data: String,
    alone: Series,
    one_tenant: Series,
    two_tenants: Series,
}

impl Nodes {
    /// Measures in turn: one node with all connections, two with half of them each.
    pub(crate) fn measure(
        start: &Start<'_>,
        (connections, tokens): (usize, usize),
        (rounds, length): (usize, Duration),
    ) -> Result<Self, Failure> {
        if start.database.is_none() {
            return Err("two nodes share a database: give one with `--database postgres://…`".into());
        }
        let first = Server::start(start)?;
        let second = first.second(start)?;
        let half = (connections / 2).max(1);
        let shared = first.tokens(tokens)?;
        let own = second.tokens(tokens)?;
        let alone = Load::new(first.address(), &shared, connections);
        let (here, there) =
            (Load::new(first.address(), &shared, half), Load::new(second.address(), &shared, half));
        let apart = Load::new(second.address(), &own, half);
        let mut measured = Self {
            data: first.describe(),
            alone: Series::new("one node"),
            one_tenant: Series::new("two nodes, one tenant"),
            two_tenants: Series::new("two nodes, a tenant each"),
        };
        both(&here, &there, Duration::from_secs(1))?;
        for _ in 0..rounds {
            measured.alone.add(vec![alone.run(Target::Gate, Stop::After(length))?]);
            measured.one_tenant.add(both(&here, &there, length)?);
            measured.two_tenants.add(both(&here, &apart, length)?);
        }
        second.stop()?;
        first.stop()?;
        Ok(measured)
    }

    fn all(&self) -> [&Series; 3] {
        [&self.alone, &self.one_tenant, &self.two_tenants]
    }

    fn goals(&self) -> [Goal; 3] {
        let p99 = f64::from(self.one_tenant.percentile(99)) / 1e3;
        let ratio = |nodes: &Series| nodes.median() / self.alone.median();
        [
            Goal::at_least("two nodes on one tenant ÷ one node", 0.75, ratio(&self.one_tenant)),
            Goal::at_most("their p99 in ms", 50.0, p99),
            Goal::at_least("two nodes on a tenant each ÷ one node", 1.0, ratio(&self.two_tenants)),
        ]
    }

    /// The machine form.
    pub(crate) fn to_json(&self) -> Value {
        let alone = self.alone.median();
        let all = self.all().map(|shared| {
            json!({"what": shared.what, "requests_a_second": shared.median(), "rounds": shared.rates(),
                "ratio": shared.median() / alone, "p50_microseconds": shared.percentile(50),
                "p99_microseconds": shared.percentile(99), "errors": shared.failed()})
        });
        json!({"data": self.data, "nodes": all, "goals": Goal::to_json(&self.goals())})
    }
}

/// Two loads at once.
fn both(one: &Load, other: &Load, length: Duration) -> Result<Vec<Done>, Failure> {
    std::thread::scope(|scope| {
        let run =
            |load: &Load| load.run(Target::Gate, Stop::After(length)).map_err(|failure| failure.to_string());
        let second = scope.spawn(move || run(other));
        let first = run(one)?;
        let second = second.join().map_err(|_| "a load panicked")??;
        Ok(vec![first, second])
    })
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.data)?;
        writeln!(
            f,
            "{:<26}{:>12}{:>8}{:>10}{:>10}{:>8}",
            "", "requests/s", "ratio", "p50 ms", "p99 ms", "errors"
        )?;
        for shared in self.all() {
            writeln!(
                f,
                "{:<26}{:>12.0}{:>8.2}{:>10.2}{:>10.2}{:>8}",
                shared.what,
                shared.median(),
                shared.median() / self.alone.median(),
                f64::from(shared.percentile(50)) / 1e3,
                f64::from(shared.percentile(99)) / 1e3,
                shared.failed()
            )?;
        }
        self.goals().iter().try_for_each(|goal| writeln!(f, "{goal}"))
    }
}
