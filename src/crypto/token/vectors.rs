//! Tables of hostile and genuine tokens that others drew up, through the verifier that serves.

use super::{
    RawClaims, Rules, TokenAlgorithm, TokenError, TokenVerifier, UnusableKey, Verified, VerifyingKey,
    VerifyingKeys, jws, pkcs8,
};
use crate::domain::{TenantSlug, Timestamp};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

/// The configuration that the table of attacks states for itself.
struct Attacks {
    file: Value,
    verifier: TokenVerifier,
    now: Timestamp,
}

impl Attacks {
    fn read() -> Self {
        let file: Value =
            serde_json::from_str(include_str!("../../../tests/vectors/jwt_attacks.json")).unwrap();
        let stated = &file["verifier_configuration"];
        let tenant: TenantSlug = stated["tenant"].as_str().unwrap().parse().unwrap();
        let mut keys = VerifyingKeys::new();
        for jwk in stated["jwks"]["keys"].as_array().unwrap() {
            let (kid, key) = VerifyingKey::from_jwk(jwk, tenant.clone()).unwrap();
            keys.insert_named(kid, key);
        }
        for (other, jwks) in stated["keys_of_other_tenants"].as_object().unwrap() {
            for jwk in jwks.as_array().unwrap() {
                let (kid, key) = VerifyingKey::from_jwk(jwk, other.parse().unwrap()).unwrap();
                keys.insert_named(kid, key);
            }
        }
        let required = ["iss", "aud", "sub", "exp", "iat", "jti", "tenant"];
        assert_eq!(stated["required_claims"], json!(required), "what every rule set requires anyway");
        let leeway = stated["leeway_s"].as_i64().unwrap();
        let rules = Rules {
            audience_may_be_a_list: true,
            algorithms: stated["accepted_algs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| TokenAlgorithm::named(name.as_str().unwrap()).unwrap())
                .collect(),
            typ: stated["required_typ"].as_str().unwrap().to_owned(),
            also_required: &[],
            leeway_expiry_seconds: leeway,
            leeway_start_seconds: leeway,
            longest_lifetime_seconds: stated["max_lifetime_s"].as_i64().unwrap(),
            fractional_times: true,
            tenant: Some(tenant),
            revoked: stated["revoked_jti"]
                .as_array()
                .unwrap()
                .iter()
                .map(|jti| jti.as_str().unwrap().to_owned())
                .collect(),
            ..Rules::of_access_tokens(
                stated["issuer"].as_str().unwrap(),
                stated["audience"].as_str().unwrap(),
            )
        };
        let now = Timestamp::from_unix_seconds(stated["now"].as_i64().unwrap());
        Self { verifier: TokenVerifier::new(rules, keys), now, file }
    }

    fn verify(&self, token: &str) -> Result<Verified<RawClaims>, TokenError> {
        self.verifier.verify(token, self.now)
    }

    /// A token signed with one of the file's own test keys.
    fn signed(&self, seed: &str, kid: &str, claims: &Value) -> String {
        let seed: [u8; 32] =
            hex::decode(self.file["test_keys"][seed].as_str().unwrap()).unwrap().try_into().unwrap();
        let mut header = Header::new(Algorithm::EdDSA);
        header.typ = Some("at+jwt".into());
        header.kid = Some(kid.into());
        jsonwebtoken::encode(&header, claims, &EncodingKey::from_ed_der(&pkcs8(&seed))).unwrap()
    }

    fn claims(&self) -> Value {
        let stated = &self.file["verifier_configuration"];
        let now = stated["now"].as_i64().unwrap();
        json!({"iss": stated["issuer"], "aud": stated["audience"], "sub": "agent-7", "exp": now + 600, "iat": now,
               "jti": "j-1", "tenant": "acme"})
    }
}

#[test]
fn all_111_tokens_of_the_attack_table_get_their_verdict() {
    let attacks = Attacks::read();
    let cases = attacks.file["cases"].as_array().unwrap();
    let (mut accepted, mut refused, mut open) = (0, 0, 0);
    for case in cases {
        let answer = attacks.verify(case["token"].as_str().unwrap());
        match case["expect"].as_str().unwrap() {
            "accept" => {
                assert!(answer.is_ok(), "{}: {:?}", case["id"], answer);
                accepted += 1;
            }
            "reject" => {
                assert!(answer.is_err(), "{}: {}", case["id"], case["why"]);
                refused += 1;
            }
            "either" => open += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((accepted, refused, open), (10, 100, 1));
}

/// The table's ES256 and RS256 tokens are genuine: only the rules stand against them here.
#[test]
fn an_algorithm_that_the_rules_leave_out_is_refused_though_its_key_is_known() {
    let mut attacks = Attacks::read();
    let tokens: Vec<String> = ["ok-eddsa", "ok-es256", "ok-rs256"]
        .map(|id| attacks.file["cases"].as_array().unwrap().iter().find(|case| case["id"] == id).unwrap())
        .map(|case| case["token"].as_str().unwrap().to_owned())
        .into();
    attacks.verifier.rules.algorithms = vec![TokenAlgorithm::EdDsa];
    assert!(attacks.verify(&tokens[0]).is_ok());
    assert_eq!(attacks.verify(&tokens[1]).unwrap_err(), TokenError::Algorithm);
    assert_eq!(attacks.verify(&tokens[2]).unwrap_err(), TokenError::Algorithm);
}

#[test]
fn a_revoked_token_is_refused_but_known() {
    let attacks = Attacks::read();
    let mut claims = attacks.claims();
    assert!(attacks.verify(&attacks.signed("ed25519_seed_hex", "ed-1", &claims)).is_ok());
    claims["jti"] = json!("revoked-1");
    let refusal = attacks.verify(&attacks.signed("ed25519_seed_hex", "ed-1", &claims)).unwrap_err();
    assert_eq!(refusal.attributable().unwrap().id, "revoked-1");
}

#[test]
fn another_tenants_key_signs_for_neither_tenant_here() {
    let attacks = Attacks::read();
    for tenant in ["acme", "globex"] {
        let mut claims = attacks.claims();
        claims["tenant"] = json!(tenant);
        let token = attacks.signed("other_tenant_ed25519_seed_hex", "ed-globex", &claims);
        assert_eq!(attacks.verify(&token).unwrap_err(), TokenError::Tenant, "{tenant}");
    }
    let stolen_name = attacks.signed("other_tenant_ed25519_seed_hex", "ed-1", &attacks.claims());
    assert_eq!(attacks.verify(&stolen_name).unwrap_err(), TokenError::Signature);
}

/// Wycheproof's JWS vectors, through the part of the verifier that knows no claims: their payloads are no JWTs.
///
/// In reach are the groups of ES256 and RS256 keys, 276 of 401 cases. Out of reach, because the service has no
/// such algorithm: HS256 (`hs256`, `base64`, two of RFC 7520), RS384, RS512, PS256, PS384, PS512 and P-521. Their
/// keys must be refused as they are read, which is checked instead.
#[test]
fn wycheproofs_jws_get_their_verdict_as_far_as_our_algorithms_reach() {
    let file: Value =
        serde_json::from_str(include_str!("../../../tests/vectors/wycheproof/json_web_signature_test.json"))
            .unwrap();
    let tenant: TenantSlug = "acme".parse().unwrap();
    let (mut accepted, mut refused, mut key_refused, mut out_of_reach) = (0, 0, 0, 0);
    for group in file["testGroups"].as_array().unwrap() {
        let jwk = if group["public"].is_null() { &group["private"] } else { &group["public"] };
        let tests = group["tests"].as_array().unwrap();
        let (kid, key) = match VerifyingKey::from_jwk(jwk, tenant.clone()) {
            Ok(named) => named,
            // A key for encryption: every signature under it must be refused, and is, since it is never loaded.
            Err(UnusableKey("use" | "key_ops")) => {
                assert!(tests.iter().all(|case| case["result"] == "invalid"), "{}", group["comment"]);
                key_refused += tests.len();
                continue;
            }
            Err(why) => {
                assert_eq!(why, UnusableKey("alg"), "{}", group["comment"]);
                assert!(!["ES256", "RS256", "EdDSA"].contains(&jwk["alg"].as_str().unwrap()));
                out_of_reach += tests.len();
                continue;
            }
        };
        let algorithm = key.algorithm();
        let mut keys = VerifyingKeys::new();
        keys.insert_named(kid, key);
        for case in tests {
            let answer = jws::open(case["jws"].as_str().unwrap(), &[algorithm], &keys);
            let valid = case["result"] == "valid";
            assert_eq!(answer.is_ok(), valid, "{} {}: {:?}", case["tcId"], case["comment"], answer.err());
            if valid { accepted += 1 } else { refused += 1 }
        }
    }
    assert_eq!((accepted, refused, key_refused, out_of_reach), (10, 262, 4, 125));
}
