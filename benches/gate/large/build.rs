//! People, mandates, agents and credentials in great number, made by the service's own acts through its committer.
//!
//! Each act is a job of its own, as over HTTP, and many people are made at once, so that the batches are full.

use super::state::State;
use crate::Failure;
use crate::server::{OPERATOR, PASSWORD, mandate};
use futures_util::{StreamExt, stream};
use indicatif::ProgressBar;
use procura::actions::caller::{Operator, Person};
use procura::actions::credential::{LONGEST_LIFETIME, Terms};
use procura::actions::principal::NewPrincipal;
use procura::actions::{Error, agent, credential, mandate as mandate_act, principal, session};
use procura::committer::{Books, Committer, Sealed, Settings, clock, entropy};
use procura::crypto::keyring::MasterKey;
use procura::crypto::password;
use procura::crypto::secret::{Secret, SecretKind};
use procura::domain::{AgentKind, Hash, PrincipalId, Role, Roles, Scope, TenantSlug};
use procura::engine::MandateDocument;
use procura::storage::{self, DataDirectory, Database};
use std::path::Path;

/// How many people are made at once; the committer takes 512 jobs a batch at most.
const AT_ONCE: u64 = 1024;
/// After how many people it is written down how far it is.
const STRETCH: u64 = 8192;

/// How much is to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// People with a live mandate of twenty clauses and an agent.
    pub(crate) principals: u64,
    /// Credentials, spread evenly over them.
    pub(crate) credentials: u64,
    /// Of how many credentials, each of another person where there are enough, the tokens are kept.
    pub(crate) tokens: u64,
}

impl Sizes {
    /// How many credentials the person of that number gets.
    fn credentials_of(&self, number: u64) -> u64 {
        let more = u64::from(number < self.credentials % self.principals);
        self.credentials / self.principals + more
    }

    /// How many of that person's tokens are kept.
    fn tokens_of(&self, number: u64) -> u64 {
        let until = |number: u64| (number * self.tokens).div_ceil(self.principals);
        until(number + 1) - until(number)
    }
}

/// The people's maker.
#[derive(Debug)]
struct Maker {
    committer: Committer,
    tenant: TenantSlug,
    operator: Operator,
    mandate: MandateDocument,
    password: String,
    run: String,
    sizes: Sizes,
}

/// Makes everybody who is not there yet, and says how many receipts the log holds then.
pub(crate) fn build(
    folder: &Path,
    sizes: Sizes,
    state: &mut State,
    progress: &ProgressBar,
) -> Result<u64, Failure> {
    let database = Database::Sqlite(DataDirectory::database_file(folder));
    let directory = DataDirectory::lock(folder, &database)?;
    let tenant: TenantSlug = state.tenant.parse()?;
    if state.people < sizes.principals {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let maker = Maker::start(folder, &database, &tenant, sizes)?;
        let made = runtime.block_on(maker.make_all(folder, state, progress));
        maker.committer.stop();
        made?;
    }
    let head = storage::head::find(&mut database.open_writer()?, &tenant)?;
    drop(directory);
    Ok(head.ok_or("the tenant has no head")?.size)
}

impl Maker {
    fn start(folder: &Path, database: &Database, tenant: &TenantSlug, sizes: Sizes) -> Result<Self, Failure> {
        let person = storage::principal::find_by_email(&mut database.open_writer()?, tenant, OPERATOR)?
            .ok_or("the operator is not there")?;
        let committer = Committer::start(Settings {
            database: database.clone(),
            master: MasterKey::read(&DataDirectory::master_key_file(folder))?,
            outage_file: DataDirectory::outage_file(folder),
            mailed_links: None,
        })?;
        let operator = Person {
            tenant: tenant.clone(),
            id: person.id,
            name: person.name,
            email: person.email,
            roles: person.roles,
            session: digest(),
            signed_in_at: clock::now(),
            password_set_by: person.password_set_by,
        };
        Ok(Self {
            committer,
            tenant: tenant.clone(),
            operator: operator.operator().map_err(refused)?,
            mandate: MandateDocument::read(&mandate()).map_err(|error| format!("{error:?}"))?,
            password: password::hash(PASSWORD, &entropy::bytes())?,
            // Those whom a run cut short left behind keep their addresses.
            run: hex::encode(entropy::bytes::<4>()),
            sizes,
        })
    }

    async fn make_all(
        &self,
        folder: &Path,
        state: &mut State,
        progress: &ProgressBar,
    ) -> Result<(), Failure> {
        let operator = self.operator.person();
        let (id, session) = (operator.id, operator.session);
        self.act(move |books| session::start(books, id, session)).await?;
        if state.watcher.is_empty() {
            let email = format!("watcher-{}@example.test", self.run);
            self.register(email.clone(), [Role::Member, Role::Compliance].into_iter().collect()).await?;
            state.watcher = email;
        }
        while state.people < self.sizes.principals {
            let end = (state.people + STRETCH).min(self.sizes.principals);
            let at_once = usize::try_from(AT_ONCE)?;
            let mut made =
                stream::iter(state.people..end).map(|number| self.person(number, progress)).buffered(at_once);
            while let Some(tokens) = made.next().await {
                let (email, mut tokens) = tokens?;
                if !tokens.is_empty() && state.member.is_empty() {
                    state.member = email;
                }
                state.tokens.append(&mut tokens);
            }
            state.people = end;
            state.write(folder)?;
        }
        self.act(move |books| session::end(books, session)).await?;
        Ok(())
    }

    /// Somebody with a live mandate, an agent and credentials; the address, and those tokens that are kept.
    async fn person(&self, number: u64, progress: &ProgressBar) -> Result<(String, Vec<String>), Failure> {
        let email = format!("p{number}-{}@example.test", self.run);
        let id = self.register(email.clone(), [Role::Member].into_iter().collect()).await?;
        let session = digest();
        let started = self.act(move |books| session::start(books, id, session)).await?.value;
        let person = Person {
            id,
            email: email.clone(),
            roles: [Role::Member].into_iter().collect(),
            session,
            signed_in_at: started.signed_in_at,
            ..self.operator.person().clone()
        };
        let (by, mandate) = (person.clone(), self.mandate.clone());
        self.act(move |books| mandate_act::put(books, &by, 1, &mandate)).await?;
        let (by, name) = (person.clone(), "runner".parse()?);
        let made = self.act(move |books| agent::create(books, &by, name, AgentKind::Acting)).await?;
        let agent = made.value.0.id;
        let mut tokens = Vec::new();
        let kept = self.sizes.tokens_of(number);
        for place in 0..self.sizes.credentials_of(number) {
            let terms = Terms {
                label: format!("load {place}").parse()?,
                scopes: [Scope::ActionRequest, Scope::DecisionRead].into_iter().collect(),
                lifetime: Some(LONGEST_LIFETIME),
                clauses: None,
                country: None,
                purpose: None,
                secret_digest: Secret::generate(SecretKind::Client, entropy::bytes()).digest(),
            };
            let by = person.clone();
            let given = self.act(move |books| credential::create(books, &by, agent, &terms)).await?;
            if place < kept {
                tokens.push(given.value.token);
            }
        }
        self.act(move |books| session::end(books, session)).await?;
        progress.inc(1);
        Ok((email, tokens))
    }

    async fn register(&self, email: String, roles: Roles) -> Result<PrincipalId, Failure> {
        let (operator, password) = (self.operator.clone(), self.password.clone());
        let new = NewPrincipal { name: "somebody".parse()?, email, roles, password };
        Ok(self.act(move |books| principal::create(books, &operator, new)).await?.value.0.id)
    }

    async fn act<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Books<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Sealed<T>, Failure> {
        let answered = self.committer.act(self.tenant.clone(), act).await;
        answered.map_err(|why| format!("nothing can be recorded: {why:?}"))?.map_err(refused)
    }
}

/// The digest of a session that nobody holds the token of.
fn digest() -> Hash {
    Secret::generate(SecretKind::Session, entropy::bytes()).digest()
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn refused(error: Error) -> Failure {
    format!("an act was refused: {error:?}").into()
}
