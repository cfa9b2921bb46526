//! What is found along trails is what a look at every receipt finds, before and after runs are written.

use super::*;
use crate::domain::{AgentId, Chain, CredentialId, Hash, KeyId, PrincipalId, ReceiptId, TenantId, Timestamp};
use crate::evidence::merkle::Frontier;
use crate::evidence::receipt::{Auth, Body};
use crate::storage::head::Head;
use crate::storage::tenant::Tenant;
use crate::storage::{Database, head, migrate, receipt, tenant, trail};
use std::sync::Arc;

/// Two whole runs, and some.
const SIZE: u64 = 2 * RUN + 300;

fn at(place: u64) -> Timestamp {
    Timestamp::from_unix_milliseconds(1_700_000_000_000 + i64::try_from(place / 3).unwrap())
}

fn bytes(kind: u8, number: u64) -> [u8; 10] {
    let mut bytes = [kind; 10];
    bytes[2..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// A receipt whose members follow from its place, each by another rule.
fn at_place(place: u64) -> StoredReceipt {
    let born = Timestamp::from_unix_seconds(1);
    let credential = CredentialId::new(born, bytes(1, place * 7 % 11));
    let is_call = !place.is_multiple_of(13);
    StoredReceipt {
        log_index: place,
        body: Body {
            id: ReceiptId::at_index(at(place), place, [9; 5]),
            at: at(place),
            tenant: "harbour".parse().unwrap(),
            principal: (!place.is_multiple_of(5)).then(|| PrincipalId::new(born, bytes(2, place % 3))),
            agent: is_call.then(|| AgentId::new(born, bytes(3, place % 4))),
            credential: Some(credential),
            kind: if is_call { Kind::GateEvaluate } else { Kind::EffectOutcome },
            outcome: is_call.then_some(match place {
                0..1500 => Outcome::Allow,
                1500..1510 => Outcome::Refuse,
                _ if place.is_multiple_of(2) => Outcome::Allow,
                _ => Outcome::Escalate,
            }),
            mandate_version: None,
            policy_version: None,
            catalogue_version: None,
            engine_version: "1".into(),
            facts_from: None,
            input_hash: Hash::ZERO,
            output_hash: Hash::ZERO,
            chain: Chain::Credential(credential),
            seq: place / 11,
            prev: Hash::ZERO,
            auth_key: KeyId::new(born, bytes(4, 0)),
        },
        hash: Hash([u8::try_from(place % 251).unwrap(); 32]),
        auth: Auth([0; 32]),
        intent: (!place.is_multiple_of(6))
            .then(|| if place.is_multiple_of(4) { "mail.send" } else { "payments.refund" }.parse().unwrap()),
        input: "{}".into(),
        output: "{}".into(),
        content: None,
        erased_by: None,
    }
}

/// Runs on a log of which so many receipts stand on trails, in a folder that is gone afterwards.
fn with_log(name: &str, test: impl FnOnce(&mut AnyConnection, &TenantSlug)) {
    let folder = std::env::temp_dir().join(format!("procura-along-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut connection = Database::Sqlite(folder.join("tables.db")).open_writer().unwrap();
    migrate(&mut connection).unwrap();
    let slug: TenantSlug = "harbour".parse().unwrap();
    let made = Tenant {
        slug: slug.clone(),
        id: TenantId::new(at(0), [0; 10]),
        zone: chrono_tz::UTC,
        origin: "harbour/log/harbour".into(),
        issuer: "urn:procura:harbour".into(),
        created_at: at(0),
    };
    tenant::insert(&mut connection, &made).unwrap();
    let rows: Vec<_> = (0..SIZE).map(|place| Arc::new(at_place(place))).collect();
    receipt::insert(&mut connection, &rows).unwrap();
    let head = Head {
        size: SIZE,
        frontier: Frontier::default().to_bytes(),
        checkpoint: String::new(),
        last_at: at(SIZE),
        authority_epoch: 1,
        trailed: 0,
    };
    head::insert(&mut connection, &slug, &head).unwrap();
    test(&mut connection, &slug);
    drop(connection);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a look at every receipt finds.
fn looked_for(sought: &Sought, order: Order, limit: usize) -> Vec<u64> {
    let fits = |place: &u64| {
        let stored = at_place(*place);
        let stands_on: Vec<Trail> = Trail::of(&stored).collect();
        sought.span.contains(place)
            && sought.trails.iter().all(|trail| stands_on.contains(trail))
            && (sought.kinds.is_empty() || sought.kinds.contains(&stored.body.kind))
    };
    let mut places: Vec<u64> = (0..SIZE).filter(fits).collect();
    if order == Order::Falling {
        places.reverse();
    }
    places.truncate(limit);
    places
}

fn all_trails() -> Vec<Trail> {
    let mut trails: Vec<Trail> =
        (0..60).flat_map(|place| Trail::of(&at_place(place)).collect::<Vec<_>>()).collect();
    trails.extend([Trail::Outcome(Outcome::Refuse), Trail::Outcome(Outcome::Escalate)]);
    trails.push(Trail::Kind(Kind::LogGap));
    trails.sort();
    trails.dedup();
    trails
}

fn compare(connection: &mut AnyConnection, tenant: &TenantSlug) {
    let trails = all_trails();
    let spans = [
        0..u64::MAX,
        0..SIZE,
        1000..1100,
        1020..1030,
        RUN..2 * RUN,
        2 * RUN - 1..2 * RUN + 1,
        1500..1502,
        77..77,
    ];
    let kinds =
        [vec![], vec![Kind::GateEvaluate], vec![Kind::EffectOutcome, Kind::LogGap, Kind::GateEvaluate]];
    let mut number = 0usize;
    for (first, one) in trails.iter().enumerate() {
        for other in trails.iter().skip(first) {
            number += 1;
            let both = if one == other { vec![one.clone()] } else { vec![one.clone(), other.clone()] };
            // Not each with each: the combinations go round.
            let (span, kinds) = (spans[number % spans.len()].clone(), kinds[number % kinds.len()].clone());
            let sought = Sought { trails: both, kinds, span };
            let all = u64::try_from(looked_for(&sought, Order::Rising, usize::MAX).len()).unwrap();
            assert_eq!(count(connection, tenant, &sought).unwrap(), all, "{sought:?}");
            for (order, limit) in [(Order::Rising, usize::MAX), (Order::Falling, 1 + number % 40)] {
                assert_eq!(
                    places(connection, tenant, &sought, order, limit).unwrap(),
                    looked_for(&sought, order, limit),
                    "{sought:?} {order:?} {limit}"
                );
            }
        }
    }
    assert!(number > 300, "{number}");
}

#[test]
fn trails_lead_to_what_a_look_at_every_receipt_finds() {
    with_log("compare", |connection, tenant| {
        compare(connection, tenant);
        trail::catch_up(connection).unwrap();
        assert_eq!(head::find(connection, tenant).unwrap().unwrap().trailed, 2 * RUN);
        compare(connection, tenant);
        // They are followed, not only kept: what is taken off a trail is not found any more.
        let refused = Sought { trails: vec![Trail::Outcome(Outcome::Refuse)], kinds: vec![], span: 0..SIZE };
        assert_eq!(places(connection, tenant, &refused, Order::Rising, 99).unwrap().len(), 9);
        diesel::delete(trails::table.filter(trails::trail.eq("outcome refuse"))).execute(connection).unwrap();
        assert!(places(connection, tenant, &refused, Order::Rising, 99).unwrap().is_empty());
    });
}

#[test]
fn a_chain_ends_where_its_last_whole_run_says() {
    with_log("ends", |connection, tenant| {
        let chain = at_place(5).body.chain;
        assert_eq!(trail::last_of_chain(connection, tenant, chain).unwrap(), None, "no run is written");
        trail::catch_up(connection).unwrap();
        let last = (0..2 * RUN).rev().map(at_place).find(|stored| stored.body.chain == chain).unwrap();
        let ends = trail::last_of_chain(connection, tenant, chain).unwrap();
        assert_eq!(ends, Some((last.body.seq, last.hash)));
        diesel::update(receipts::table.find((tenant.as_str(), i64::try_from(last.log_index).unwrap())))
            .set(receipts::chain.eq(at_place(6).body.chain.to_string()))
            .execute(connection)
            .unwrap();
        let error = trail::last_of_chain(connection, tenant, chain).unwrap_err().to_string();
        assert!(error.contains("another chain stands at place"), "{error}");
    });
}
