//! `procura setup`: a tenant with its keys, its empty log and its first operator.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form};
use super::place::Place;
use super::values::{self, PublicUrl};
use crate::actions::Error;
use crate::actions::principal::NewPrincipal;
use crate::actions::setup::{Founding, first_operator, found};
use crate::committer::{self, Committer, TenantKeys, entropy};
use crate::crypto::keyring::MasterKey;
use crate::crypto::password::{self, PasswordRules};
use crate::domain::{Label, PrincipalId, Role, TenantSlug};
use crate::storage::{self, AnyConnection, DataDirectory, Database};
use serde_json::json;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// The most bytes of a password file that are read: 256 characters of four bytes and a newline fit.
const LARGEST_PASSWORD_FILE: u64 = 2048;

/// A tenant to set up, checked as far as it can be without touching anything.
pub(super) struct Plan {
    /// Its name.
    pub(super) tenant: TenantSlug,
    /// The address of its first operator, in lower case.
    pub(super) operator: String,
    /// The operator's password.
    pub(super) password: Zeroizing<String>,
    /// The zone its calendar follows.
    pub(super) zone: chrono_tz::Tz,
    /// Where the service will be reached.
    pub(super) public_url: Option<PublicUrl>,
}

/// What was set up.
#[derive(Debug)]
pub(super) struct Made {
    /// The first operator.
    pub(super) operator: PrincipalId,
    /// The log's name.
    pub(super) origin: String,
    /// Who issues the tenant's tokens.
    pub(super) issuer: String,
    /// The log's key, as a C2SP verifier key.
    pub(super) log_key: String,
}

/// Sets up the tenant that the options describe, and says what to do next.
pub(super) fn run(sources: &Sources, options: &arguments::Setup, form: Form) -> Result<u8, Failure> {
    let place = Place::read(sources, &options.place)?;
    let tenant: TenantSlug = sources.required("tenant", options.tenant.as_deref(), str::parse)?;
    let operator = sources.required("operator", options.operator.as_deref(), values::email)?;
    let zone = sources.parse("zone", options.zone.as_deref(), values::zone)?.unwrap_or(chrono_tz::UTC);
    let public_url = sources.parse("public-url", options.public_url.as_deref(), values::public_url)?;
    let context = [operator.as_str(), tenant.as_str(), "procura"];
    let password = sources
        .required("password-file", options.password_file.as_deref(), |file| read_password(file, &context))?;
    let plan = Plan { tenant, operator, password, zone, public_url };
    let made = make(&place, &plan)?;
    tell(form, &place, &plan, &made)?;
    Ok(0)
}

/// Makes what is missing of directory, master key and tables, then the tenant and its first operator.
///
/// # Errors
/// The directory is in use, the tenant is there already, or a file or the database cannot be written.
pub(super) fn make(place: &Place, plan: &Plan) -> Result<Made, Failure> {
    let phc = password::hash(&plan.password, &entropy::bytes())
        .map_err(|error| Failure::failed(error.to_string()))?;
    make_directory(&place.data_dir)?;
    let directory = DataDirectory::lock(&place.data_dir, &place.database).map_err(Failure::failed)?;
    let store = |error: storage::StoreError| Failure::failed(error.to_string());
    if let Database::Sqlite(file) = &place.database {
        make_private(file)?;
    }
    let mut connection = place.database.open_writer().map_err(store)?;
    storage::migrate(&mut connection).map_err(store)?;
    let master = master_key(&place.data_dir, &mut connection)?;
    let slug = plan.tenant.as_str();
    let founding = Founding {
        slug: plan.tenant.clone(),
        zone: plan.zone,
        origin: format!("{}/log/{slug}", plan.public_url.as_ref().map_or(slug, |public| &public.host)),
        issuer: plan
            .public_url
            .as_ref()
            .map_or_else(|| format!("urn:procura:{slug}"), |public| public.url.clone()),
    };
    found_or_resume(&mut connection, &founding, &master)?;
    let keys = TenantKeys::load(&mut connection, &plan.tenant, &master)
        .map_err(store)?
        .ok_or_else(|| Failure::failed(format!("tenant `{slug}` was written and cannot be found")))?;
    drop(connection);
    let operator = register(place, plan, master, phc)?;
    drop(directory);
    Ok(Made {
        operator,
        origin: keys.tenant.origin.clone(),
        issuer: keys.tenant.issuer.clone(),
        log_key: keys.verifier.to_string(),
    })
}

/// Writes the tenant. One that a setup cut short left without its operator is completed as it was founded.
fn found_or_resume(
    connection: &mut AnyConnection,
    founding: &Founding,
    master: &MasterKey,
) -> Result<(), Failure> {
    let Err(error) = found(connection, founding, master) else { return Ok(()) };
    let is_unfinished = matches!(error, Error::Conflict(_)) && is_unfinished(connection, &founding.slug)?;
    if is_unfinished { Ok(()) } else { Err(refused(&error)) }
}

/// Registers the operator through a committer, as everything is written: the tenant's first receipt.
fn register(place: &Place, plan: &Plan, master: MasterKey, phc: String) -> Result<PrincipalId, Failure> {
    let name = plan.operator.split('@').next().unwrap_or_default();
    let name: Label =
        name.parse().or_else(|_| plan.operator.parse()).map_err(|why: String| Failure::usage(why))?;
    let new = NewPrincipal {
        email: plan.operator.clone(),
        name,
        roles: [Role::Operator].into_iter().collect(),
        password: phc,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Failure::failed(error.to_string()))?;
    let committer = Committer::start(committer::Settings {
        database: place.database.clone(),
        master,
        outage_file: DataDirectory::outage_file(&place.data_dir),
        mailed_links: None,
    })
    .map_err(|error| Failure::failed(error.to_string()))?;
    let answered =
        runtime.block_on(committer.act(plan.tenant.clone(), move |books| first_operator(books, new)));
    committer.stop();
    match answered {
        Ok(Ok(sealed)) => Ok(sealed.value.id),
        Ok(Err(error)) => Err(refused(&error)),
        Err(why) => {
            Err(Failure::failed(format!("the operator could not be recorded ({why:?}): run it again")))
        }
    }
}

fn refused(error: &Error) -> Failure {
    match error {
        Error::Store(error) => Failure::failed(error.to_string()),
        Error::Conflict(why) => Failure::failed(why.clone()),
        Error::Malformed(_)
        | Error::NotFound(_)
        | Error::Forbidden(_)
        | Error::InsufficientScope(_)
        | Error::ScopeWithheld { .. }
        | Error::Dead(_)
        | Error::PointRevoked { .. }
        | Error::Unknown
        | Error::SignedOut
        | Error::StepUp { .. }
        | Error::Stale { .. }
        | Error::KeyReused { .. }
        | Error::MandateTooOld { .. } => Failure::failed(format!("the tenant was not set up: {error:?}")),
    }
}

/// Whether a tenant's log is still empty: not even its operator was recorded.
fn is_unfinished(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<bool, Failure> {
    let head = storage::head::find(connection, tenant).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(head.is_some_and(|head| head.size == 0))
}

fn make_directory(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| Failure::failed(format!("`{}` cannot be made: {error}", path.display())))
}

/// Lays the database down for its owner alone; SQLite gives its companions the same mode.
fn make_private(file: &Path) -> Result<(), Failure> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Failure::failed(format!("`{}` cannot be made: {error}", file.display()))),
    }
}

/// The master key of the directory; a new one only where no tenant's keys are wrapped by another.
fn master_key(directory: &Path, connection: &mut AnyConnection) -> Result<MasterKey, Failure> {
    let file = DataDirectory::master_key_file(directory);
    let failed = |error: crate::crypto::keyring::KeyringError| Failure::failed(error.to_string());
    if file.exists() {
        return MasterKey::read(&file).map_err(failed);
    }
    let tenants = storage::tenant::all(connection).map_err(|error| Failure::failed(error.to_string()))?;
    if let Some(tenant) = tenants.first() {
        return Err(Failure::failed(format!(
            "the database holds tenant `{}`, whose keys another `master.key` wraps: copy it to `{}`",
            tenant.slug,
            file.display()
        )));
    }
    MasterKey::create(&file, entropy::bytes()).map_err(failed)
}

/// The password in a file, without one trailing newline.
fn read_password(file: &str, context: &[&str]) -> Result<Zeroizing<String>, String> {
    let unreadable = |error: io::Error| format!("`{file}` cannot be read: {error}");
    let mut text = Zeroizing::new(String::new());
    File::open(file)
        .map_err(unreadable)?
        .take(LARGEST_PASSWORD_FILE)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = Zeroizing::new(password.strip_suffix('\r').unwrap_or(password).to_owned());
    let rules = PasswordRules { second_factor: false, context };
    rules.check(&password).map_err(|fault| format!("`{file}`: {fault}"))?;
    Ok(password)
}

fn tell(form: Form, place: &Place, plan: &Plan, made: &Made) -> Result<(), Failure> {
    let data_dir = place.data_dir.display();
    let next = match &place.database {
        Database::Sqlite(file) if *file == DataDirectory::database_file(&place.data_dir) => {
            format!("procura serve --data-dir {data_dir}")
        }
        Database::Sqlite(_) => format!("procura serve --data-dir {data_dir} --database {}", place.database),
        // What was typed may hold a password, which is not repeated.
        Database::Postgres(_) => format!("procura serve --data-dir {data_dir} --database postgres://…"),
    };
    let next = match &plan.public_url {
        Some(public) => format!("{next} --public-url {}", public.url),
        None => next,
    };
    if form == Form::Json {
        return output::json(&json!({
            "tenant": plan.tenant, "operator": {"id": made.operator, "email": plan.operator},
            "zone": plan.zone.name(), "data_dir": data_dir.to_string(), "database": place.database.to_string(),
            "origin": made.origin, "issuer": made.issuer, "log_key": made.log_key, "next": next,
        }));
    }
    let rows = [
        ("tenant", plan.tenant.to_string()),
        ("operator", format!("{} ({})", plan.operator, made.operator)),
        ("time zone", plan.zone.name().to_owned()),
        ("data directory", data_dir.to_string()),
        ("database", place.database.to_string()),
        ("tokens issued by", made.issuer.clone()),
        ("log", made.origin.clone()),
        ("log key", made.log_key.clone()),
    ];
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    output::table(&["set up", ""], &rows)?;
    output::line("")?;
    output::line("whoever checks receipts takes the log key with `procura verify --key`")?;
    output::line(format!("next: {next}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    const PASSWORD: &str = "Zk4-harbour-quill-93-ember";

    /// A folder of its own for each test, removed afterwards.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let name =
                format!("procura-setup-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            Self(std::env::temp_dir().join(name))
        }

        fn place(&self) -> Place {
            Place::new(self.0.clone(), None)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    fn plan(tenant: &str) -> Plan {
        Plan {
            tenant: tenant.parse().unwrap(),
            operator: "op@example.test".into(),
            password: Zeroizing::new(PASSWORD.into()),
            zone: chrono_tz::UTC,
            public_url: None,
        }
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_tenant_is_set_up_once_and_another_beside_it() {
        let folder = Folder::new();
        let made = make(&folder.place(), &plan("harbour")).unwrap();
        assert_eq!((&*made.origin, &*made.issuer), ("harbour/log/harbour", "urn:procura:harbour"));
        assert!(made.log_key.starts_with("harbour/log/harbour+"), "{}", made.log_key);
        let again = make(&folder.place(), &plan("harbour")).unwrap_err();
        assert_eq!((again.status(), again.message()), (1, "tenant `harbour` is set up already"));
        assert!(make(&folder.place(), &plan("quay")).is_ok());
    }

    #[test]
    fn what_is_made_is_for_its_owner_alone() {
        let folder = Folder::new();
        make(&folder.place(), &plan("harbour")).unwrap();
        assert_eq!(mode(&folder.0), 0o700);
        assert_eq!(mode(&folder.0.join("master.key")), 0o600);
        assert_eq!(mode(&folder.0.join("procura.db")), 0o600);
    }

    #[test]
    fn a_directory_in_use_is_named() {
        let folder = Folder::new();
        make(&folder.place(), &plan("harbour")).unwrap();
        let _held = DataDirectory::lock(&folder.0, &folder.place().database).unwrap();
        let failure = make(&folder.place(), &plan("quay")).unwrap_err();
        assert_eq!(failure.status(), 1);
        assert!(failure.message().contains(&folder.0.display().to_string()), "{}", failure.message());
    }

    #[test]
    fn a_setup_that_was_cut_short_is_completed() {
        let folder = Folder::new();
        let place = folder.place();
        make(&place, &plan("harbour")).unwrap();
        let founding = Founding {
            slug: "quay".parse().unwrap(),
            zone: chrono_tz::UTC,
            origin: "quay/log/quay".into(),
            issuer: "urn:procura:quay".into(),
        };
        let master = MasterKey::read(&folder.0.join("master.key")).unwrap();
        found(&mut place.database.open_writer().unwrap(), &founding, &master).unwrap();
        assert!(make(&place, &plan("quay")).is_ok());
        assert_eq!(make(&place, &plan("quay")).unwrap_err().message(), "tenant `quay` is set up already");
    }

    #[test]
    fn a_lost_master_key_is_not_replaced() {
        let folder = Folder::new();
        make(&folder.place(), &plan("harbour")).unwrap();
        std::fs::remove_file(folder.0.join("master.key")).unwrap();
        let failure = make(&folder.place(), &plan("quay")).unwrap_err();
        assert!(failure.message().contains("`harbour`") && failure.message().contains("master.key"));
        assert!(!folder.0.join("master.key").exists());
    }

    #[test]
    fn a_public_address_names_log_and_issuer() {
        let folder = Folder::new();
        let public_url = Some(values::public_url("https://Procura.example.org").unwrap());
        let made = make(&folder.place(), &Plan { public_url, ..plan("harbour") }).unwrap();
        assert_eq!(made.origin, "procura.example.org/log/harbour");
        assert_eq!(made.issuer, "https://Procura.example.org");
    }

    #[test]
    fn one_trailing_newline_is_no_part_of_the_password() {
        let folder = Folder::new();
        std::fs::create_dir_all(&folder.0).unwrap();
        let file = folder.0.join("password");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            read_password(&file.display().to_string(), &["op@example.test"])
        };
        for text in [PASSWORD.to_owned(), format!("{PASSWORD}\n"), format!("{PASSWORD}\r\n")] {
            assert_eq!(**read(&text).unwrap(), *PASSWORD);
        }
        assert_eq!(**read(&format!("{PASSWORD}\n\n")).unwrap(), *format!("{PASSWORD}\n"));
        assert!(read("short\n").unwrap_err().contains("at least 15"));
        assert!(!read("hunter2\n").unwrap_err().contains("hunter2"));
    }
}
