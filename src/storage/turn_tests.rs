//! Decisions and effects turn from where they stand, once; whoever comes second is told that nothing changed.

use super::*;
use crate::domain::{AgentId, CredentialId, EffectId, Hash};
use crate::engine::Why;
use crate::storage::decision::{Decision, DecisionKind, find, insert};
use crate::storage::effect::{self, Effect, EffectStatus};
use crate::storage::{Database, migrate};

const NOW: Timestamp = Timestamp::from_unix_seconds(1_000_000);

/// Runs on empty tables in a folder that is gone afterwards.
fn with_tables(name: &str, test: impl FnOnce(&mut AnyConnection, &TenantSlug)) {
    let folder = std::env::temp_dir().join(format!("procura-turn-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut connection = Database::Sqlite(folder.join("tables.db")).open_writer().unwrap();
    migrate(&mut connection).unwrap();
    test(&mut connection, &"harbour".parse().unwrap());
    drop(connection);
    std::fs::remove_dir_all(&folder).unwrap();
}

fn open_decision() -> Decision {
    Decision {
        id: DecisionId::new(NOW, [1; 10]),
        principal: PrincipalId::new(NOW, [2; 10]),
        agent: AgentId::new(NOW, [3; 10]),
        credential: CredentialId::new(NOW, [4; 10]),
        kind: DecisionKind::Action,
        status: DecisionStatus::Open,
        intent: "payments.refund".parse().unwrap(),
        log_index: 0,
        input_hash: Hash::ZERO,
        request_hash: None,
        effect: None,
        opened_at: NOW,
        expires_at: NOW,
        decided_at: None,
        decided_by: None,
        approved_until: None,
        reason: None,
        used_index: None,
        asks: 1,
        approvals: std::collections::BTreeSet::new(),
        why: Why::default(),
    }
}

#[test]
fn a_decision_that_somebody_decided_is_not_decided_again() {
    with_tables("decision", |connection, tenant| {
        let decision = open_decision();
        let by = decision.principal;
        insert(connection, tenant, &decision).unwrap();
        let mut try_turn =
            |from, to: Turn<'_>| turn(connection, tenant, decision.id, from, &to, NOW).unwrap();
        assert!(!try_turn(DecisionStatus::Approved, Turn::Used { log_index: 1 }), "nobody said yes yet");
        assert!(try_turn(DecisionStatus::Open, Turn::Declined { by, reason: None }));
        for late in [
            Turn::Approved { by, until: NOW },
            Turn::Declined { by, reason: None },
            Turn::Expired,
            Turn::Withdrawn { reason: "late" },
            Turn::Used { log_index: 1 },
            Turn::Resolved { by, reason: None },
        ] {
            assert!(!try_turn(DecisionStatus::Open, late.clone()), "{late:?} after a no");
        }
        let stands = find(connection, tenant, decision.id).unwrap().unwrap();
        assert_eq!((stands.status, stands.used_index), (DecisionStatus::Declined, None));
        let elsewhere = "quay".parse().unwrap();
        assert!(find(connection, &elsewhere, decision.id).unwrap().is_none());
    });
}

#[test]
fn an_effect_that_ended_does_not_end_again() {
    with_tables("effect", |connection, tenant| {
        let decision = open_decision();
        let id = EffectId::new(NOW, [5; 10]);
        let claimed = Effect {
            id,
            principal: decision.principal,
            agent: decision.agent,
            credential: decision.credential,
            intent: decision.intent,
            status: EffectStatus::Claimed,
            attested: false,
            log_index: 0,
            idempotency_key: "k-1".into(),
            claimed_at: NOW,
            report_by: NOW,
            ended_at: None,
            reported: None,
            enforcement_point: None,
        };
        effect::insert(connection, tenant, &claimed).unwrap();
        let mut try_turn = |from, to| effect::turn(connection, tenant, id, from, to, None, NOW).unwrap();
        assert!(!try_turn(EffectStatus::Unknown, EffectStatus::Done));
        assert!(try_turn(EffectStatus::Claimed, EffectStatus::Done));
        assert!(!try_turn(EffectStatus::Claimed, EffectStatus::Failed));
        assert!(!try_turn(EffectStatus::Unknown, EffectStatus::Failed));
        let stands = effect::find(connection, tenant, id).unwrap().unwrap();
        assert_eq!(stands.status, EffectStatus::Done);
        assert!(effect::find(connection, &"quay".parse().unwrap(), id).unwrap().is_none());
    });
}
