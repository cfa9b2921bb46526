//! Who looks at a page: the person whose session the cookie names, and what surrounds every page of theirs.

use crate::actions::caller::Person;
use crate::app::{App, CallerError};
use crate::committer::clock;
use crate::domain::{DecisionId, Role, Timestamp};
use crate::http::{self, Problem};
use crate::storage::access::Subject;
use crate::storage::approval::{self, Noted};
use crate::storage::decision::{Decision, DecisionStatus};
use crate::storage::{StoreError, queue, tenant};
use crate::web::cookie::{self, Purpose};
use crate::web::view::{Frame, Section, Visitor};
use crate::web::when::When;
use crate::web::{csrf, display};
use actix_web::HttpRequest;
use chrono_tz::Tz;
use std::collections::HashMap;

/// One signed-in person's look at one page.
#[derive(Debug)]
pub(super) struct Visit {
    /// Who.
    pub(super) person: Person,
    /// The zone of their tenant.
    pub(super) zone: Tz,
    /// When.
    pub(super) now: Timestamp,
    /// What waits in their queue, newest first.
    pub(super) open: Vec<Decision>,
    /// Every yes that those have which take more than their principal's.
    pub(super) given: HashMap<DecisionId, Vec<Noted>>,
    /// What the last form did.
    pub(super) notice: Option<String>,
}

/// Why there is no visit.
#[derive(Debug)]
pub(super) enum NoVisit {
    /// Nobody is signed in.
    SignedOut,
    /// It cannot be told.
    Problem(Problem),
}

impl From<StoreError> for NoVisit {
    fn from(error: StoreError) -> Self {
        Self::Problem(error.into())
    }
}

impl Visit {
    /// The visit of whoever is signed in; the request is recorded against them.
    pub(super) async fn of(app: &App, request: &HttpRequest) -> Result<Self, NoVisit> {
        let token = cookie::find(request, Purpose::Session, app.is_https).ok_or(NoVisit::SignedOut)?;
        let person = match app.person(&token).await {
            Ok(person) => person,
            Err(CallerError::Dead { tenant, subject, .. }) => {
                http::attribute(request, &tenant, subject);
                return Err(NoVisit::SignedOut);
            }
            Err(CallerError::Missing | CallerError::Unattributable(_) | CallerError::DeadPoint { .. }) => {
                return Err(NoVisit::SignedOut);
            }
            Err(CallerError::Store(error)) => return Err(error.into()),
        };
        http::attribute(request, &person.tenant, Subject::of_principal(person.id));
        let mut visit = Self::by(app, person).await?;
        visit.notice = cookie::find(request, Purpose::Notice, app.is_https)
            .and_then(|sealed| csrf::unseal(&visit.person.session, &sealed));
        Ok(visit)
    }

    /// The visit of a person whose session is known to be good.
    pub(super) async fn by(app: &App, person: Person) -> Result<Self, StoreError> {
        let now = clock::now();
        let (slug, id, roles) = (person.tenant.clone(), person.id, person.roles);
        let (tenant, open, given) = app
            .read(move |connection| {
                let mut open = queue::open(connection, &slug, id, roles)?;
                open.retain(|found| found.status_at(now) == DecisionStatus::Open);
                let shared = open.iter().filter(|found| found.takes_others()).map(|found| found.id);
                let given = approval::of_decisions(connection, &slug, shared)?;
                Ok((tenant::find(connection, &slug)?, open, given))
            })
            .await?;
        let zone = tenant.map_or(Tz::UTC, |tenant| tenant.zone);
        Ok(Self { person, zone, now, open, given, notice: None })
    }

    /// How many of these wait for this person, rather than for others after them.
    fn waiting(&self) -> usize {
        let is_mine = |noted: &Noted| noted.given.by == self.person.id;
        let has_mine =
            |found: &Decision| self.given.get(&found.id).is_some_and(|all| all.iter().any(is_mine));
        self.open.iter().filter(|found| !has_mine(found)).count()
    }

    /// The token of this visit's forms.
    pub(super) fn csrf(&self) -> String {
        csrf::token(&self.person.session)
    }

    /// The frame of a page of theirs.
    pub(super) fn frame(&self, section: Section) -> Frame {
        let visitor = Visitor {
            name: display::line(self.person.name.as_str()),
            tenant: self.person.tenant.to_string(),
            csrf: self.csrf(),
            open: u64::try_from(self.waiting()).unwrap_or(u64::MAX),
            sees_tenant: self.person.sees_tenant(),
            is_operator: self.person.roles.contains(Role::Operator),
        };
        Frame { notice: self.notice.as_deref().map(display::line), ..Frame::of(visitor, section) }
    }

    /// The frame of a page that says why a form did nothing.
    pub(super) fn frame_with(&self, section: Section, fault: Option<&str>) -> Frame {
        Frame { fault: fault.map(display::line), ..self.frame(section) }
    }

    /// An instant as this person reads it.
    pub(super) fn when(&self, at: Timestamp) -> When {
        When::new(at, self.now, self.zone)
    }
}
