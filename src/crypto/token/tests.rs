use super::*;
use crate::domain::{AgentId, CredentialId, Duration, Scope, Scopes, TenantSlug, Timestamp};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

const ISSUER: &str = "https://procura.example";
const AUDIENCE: &str = "https://procura.example/v1";
const NOW: i64 = 1_790_000_000;
const DAY: i64 = 86_400;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_seconds(seconds)
}

fn acme() -> TenantSlug {
    "acme".parse().unwrap()
}

fn kid() -> KeyId {
    KeyId::new(at(1), [1; 10])
}

fn signer() -> TokenSigner {
    TokenSigner::from_seed(&[3; 32], kid()).unwrap()
}

fn verifier() -> TokenVerifier {
    let mut keys = VerifyingKeys::new();
    keys.insert(kid(), acme(), &signer().public());
    TokenVerifier::new(Rules::of_access_tokens(ISSUER, AUDIENCE), keys)
}

fn claims() -> Claims {
    Claims {
        iss: ISSUER.into(),
        aud: AUDIENCE.into(),
        sub: AgentId::new(at(5), [2; 10]),
        client_id: CredentialId::new(at(6), [3; 10]),
        tenant: acme(),
        scope: Scopes::NONE.with(Scope::ActionRequest).with(Scope::CallRead),
        iat: NOW,
        nbf: NOW,
        exp: NOW + DAY,
        jti: "j-1".into(),
    }
}

/// A token of any header and payload, genuinely signed.
fn signed(header: &[u8], payload: &[u8]) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
    let signature = SigningKey::from_seed(&[3; 32]).unwrap().sign(message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn header() -> Value {
    json!({"alg": "EdDSA", "typ": "at+jwt", "kid": kid()})
}

fn with_header(change: impl FnOnce(&mut Value)) -> Result<Verified<RawClaims>, TokenError> {
    let mut header = header();
    change(&mut header);
    let token = signed(header.to_string().as_bytes(), claims().wire().to_string().as_bytes());
    verifier().verify(&token, at(NOW))
}

fn with_claims(change: impl FnOnce(&mut Value)) -> Result<Verified<Claims>, TokenError> {
    let mut payload = claims().wire();
    change(&mut payload);
    let token = signed(header().to_string().as_bytes(), payload.to_string().as_bytes());
    verifier().verify(&token, at(NOW))?.typed()
}

#[test]
fn a_signed_token_reads_back_as_it_was_said() {
    let token = signer().sign(&claims()).unwrap();
    let read = verifier().verify(&token, at(NOW)).unwrap().typed().unwrap();
    assert_eq!(*read, claims());
    assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)));
    let said: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap()).unwrap();
    assert_eq!(said, header());
}

#[test]
fn every_claim_must_be_there_in_its_own_form() {
    assert!(with_claims(|_| {}).is_ok(), "the unchanged claims are accepted");
    let huge = "9".repeat(4000);
    let mut tried = 0;
    for claim in ["iss", "aud", "sub", "client_id", "tenant", "scope", "iat", "nbf", "exp", "jti"] {
        let is_time = ["iat", "nbf", "exp"].contains(&claim);
        let plain = claims().wire()[claim].clone();
        let wrong_text = if is_time { json!(plain.to_string()) } else { json!("") };
        for wrong in [
            Value::Null,
            wrong_text,
            json!(1_790_000_000.5),
            json!([plain]),
            json!({"value": plain}),
            json!(true),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(-1),
            json!(253_402_300_800i64),
        ] {
            // No scope at all is a token that may nothing, and well formed.
            if claim == "scope" && wrong == json!("") {
                continue;
            }
            let answer = with_claims(|claims| claims[claim] = wrong.clone());
            assert!(answer.is_err(), "{claim}: {wrong}");
            assert!(answer.unwrap_err().attributable().is_none(), "{claim}: {wrong}");
            tried += 1;
        }
        let absent = with_claims(|claims| drop(claims.as_object_mut().unwrap().remove(claim)));
        assert_eq!(absent.unwrap_err(), TokenError::Missing(claim));
        // As text a huge value is another issuer, agent, tenant …; a `jti` may be as long as the token allows.
        let answer = with_claims(|claims| claims[claim] = json!(huge));
        assert_eq!(answer.is_ok(), claim == "jti", "{claim}: huge text");
        let bare = claims().wire().to_string().replacen(
            &format!("\"{claim}\":{plain}"),
            &format!("\"{claim}\":{huge}"),
            1,
        );
        let token = signed(header().to_string().as_bytes(), bare.as_bytes());
        assert!(verifier().verify(&token, at(NOW)).is_err(), "{claim}: huge number");
    }
    assert_eq!(tried, 99);
}

#[test]
fn claims_of_another_kind_of_subject_are_not_ours() {
    for (claim, wrong) in [
        ("sub", "crd_00000000000000000000000000"),
        ("sub", "agent-7"),
        ("client_id", "agt_00000000000000000000000000"),
        ("tenant", "ACME"),
        ("tenant", "acme "),
        ("scope", "action:request  call:read"),
        ("scope", "action:request everything"),
    ] {
        assert_eq!(
            with_claims(|claims| claims[claim] = json!(wrong)).unwrap_err(),
            TokenError::Claim(claim),
            "{wrong}"
        );
    }
    assert_eq!(with_claims(|claims| claims["tenant"] = json!("globex")).unwrap_err(), TokenError::Tenant);
    assert_eq!(
        with_claims(|claims| claims["iss"] = json!(format!("{ISSUER}/"))).unwrap_err(),
        TokenError::Issuer
    );
    assert_eq!(with_claims(|claims| claims["aud"] = json!(ISSUER)).unwrap_err(), TokenError::Audience);
    assert_eq!(
        with_claims(|claims| claims["aud"] = json!([AUDIENCE])).unwrap_err(),
        TokenError::Claim("aud")
    );
}

#[test]
fn an_hour_that_is_wrong_still_names_the_credential() {
    let token = signer().sign(&claims()).unwrap();
    let verifier = verifier();
    assert!(verifier.verify(&token, Timestamp::from_unix_milliseconds((NOW + DAY) * 1000 - 1)).is_ok());
    let expired = verifier.verify(&token, at(NOW + DAY)).unwrap_err();
    assert!(matches!(expired, TokenError::Expired(_)), "no leeway on exp: {expired}");
    assert_eq!(expired.attributable().unwrap().typed().unwrap().client_id, claims().client_id);
    assert!(verifier.verify(&token, at(NOW - 5)).is_ok(), "five seconds ahead are forgiven");
    let early = verifier.verify(&token, Timestamp::from_unix_milliseconds((NOW - 5) * 1000 - 1)).unwrap_err();
    assert!(matches!(early, TokenError::NotYet(_)), "{early}");
    assert_eq!(early.attributable().unwrap().typed().unwrap().client_id, claims().client_id);
}

#[test]
fn nbf_and_iat_count_each_for_itself() {
    for claim in ["nbf", "iat"] {
        assert!(with_claims(|claims| claims[claim] = json!(NOW + 5)).is_ok());
        let early = with_claims(|claims| claims[claim] = json!(NOW + 6)).unwrap_err();
        assert!(matches!(early, TokenError::NotYet(_)), "{claim}: {early}");
    }
}

#[test]
fn an_expired_forgery_names_nobody() {
    let mut token = signer().sign(&claims()).unwrap();
    let last = token.len() - 4;
    let other = if token.as_bytes()[last] == b'A' { "B" } else { "A" };
    token.replace_range(last..=last, other);
    let refusal = verifier().verify(&token, at(NOW + DAY)).unwrap_err();
    assert_eq!(refusal, TokenError::Signature);
    assert!(refusal.attributable().is_none());
}

#[test]
fn a_token_lives_90_days_at_most() {
    assert!(with_claims(|claims| claims["exp"] = json!(NOW + 90 * DAY)).is_ok());
    assert_eq!(
        with_claims(|claims| claims["exp"] = json!(NOW + 90 * DAY + 1)).unwrap_err(),
        TokenError::Lifetime
    );
}

#[test]
fn a_hostile_kid_is_only_an_unknown_name() {
    for wrong in [
        json!("' OR 1=1 --"),
        json!("../../../../etc/passwd"),
        json!("/dev/null"),
        json!(format!("{}\u{0}", kid())),
        json!("\u{0}"),
        json!(""),
        json!(kid().to_string().to_uppercase()),
        json!(format!(" {}", kid())),
        json!("k".repeat(5000)),
        json!(1),
        json!(null),
        json!([kid()]),
    ] {
        let answer = with_header(|header| header["kid"] = wrong.clone());
        assert_eq!(answer.unwrap_err(), TokenError::UnknownKey, "{wrong}");
    }
    let long = with_header(|header| header["kid"] = json!("k".repeat(10 * 1024))).unwrap_err();
    assert!(matches!(long, TokenError::TooLong { .. }), "{long}");
    let none = with_header(|header| drop(header.as_object_mut().unwrap().remove("kid")));
    assert_eq!(none.unwrap_err(), TokenError::UnknownKey);
}

#[test]
fn a_header_that_brings_a_key_or_an_extension_is_refused() {
    for parameter in ["crit", "b64", "jwk", "jku", "x5u", "x5c", "zip"] {
        for value in
            [json!(null), json!([]), json!("https://evil.example"), json!(true), json!({"kty": "OKP"})]
        {
            let answer = with_header(|header| header[parameter] = value.clone());
            assert_eq!(answer.unwrap_err(), TokenError::HeaderParameter(parameter), "{value}");
        }
    }
    assert!(with_header(|header| header["unknown"] = json!(1)).is_ok(), "RFC 7515 §4: others are ignored");
}

#[test]
fn one_algorithm_and_one_type_are_taken() {
    for wrong in ["none", "None", "", "eddsa", "HS256", "ES256", "RS256", "Ed25519", "EdDSA "] {
        assert_eq!(
            with_header(|header| header["alg"] = json!(wrong)).unwrap_err(),
            TokenError::Algorithm,
            "{wrong}"
        );
    }
    for right in ["at+jwt", "AT+JWT", "application/at+jwt", "Application/At+Jwt"] {
        assert!(with_header(|header| header["typ"] = json!(right)).is_ok(), "{right}");
    }
    for wrong in [
        "JWT",
        "",
        "jwt",
        "at+jwt ",
        "at+jwt;v=1",
        "text/at+jwt",
        "application/application/at+jwt",
        "dpop+jwt",
    ] {
        assert_eq!(
            with_header(|header| header["typ"] = json!(wrong)).unwrap_err(),
            TokenError::Type,
            "{wrong}"
        );
    }
}

/// Both algorithms are allowed and the key is known: only that key's own counts.
#[test]
fn an_allowed_algorithm_that_is_not_the_keys_is_refused() {
    let mut keys = VerifyingKeys::new();
    keys.insert(kid(), acme(), &signer().public());
    let rules = Rules {
        algorithms: vec![TokenAlgorithm::EdDsa, TokenAlgorithm::Es256],
        ..Rules::of_access_tokens(ISSUER, AUDIENCE)
    };
    let verifier = TokenVerifier::new(rules, keys);
    assert!(verifier.verify(&signer().sign(&claims()).unwrap(), at(NOW)).is_ok());
    let token = signed(
        json!({"alg": "ES256", "typ": "at+jwt", "kid": kid()}).to_string().as_bytes(),
        claims().wire().to_string().as_bytes(),
    );
    assert_eq!(verifier.verify(&token, at(NOW)).unwrap_err(), TokenError::Algorithm);
}

#[test]
fn a_member_that_stands_twice_is_refused_in_header_and_claims() {
    let (plain_header, plain_claims) = (header().to_string(), claims().wire().to_string());
    let twice = |json: &str, member: &str| json.replacen('{', &format!("{{{member},"), 1);
    for (header, claims) in [
        (twice(&plain_header, "\"alg\":\"none\""), plain_claims.clone()),
        (twice(&plain_header, "\"k\\u0069d\":\"other\""), plain_claims.clone()),
        (plain_header.clone(), twice(&plain_claims, "\"sub\":\"admin\"")),
        (plain_header.clone(), twice(&plain_claims, "\"act\":{\"a\":1,\"a\":2}")),
    ] {
        let refusal = verifier().verify(&signed(header.as_bytes(), claims.as_bytes()), at(NOW)).unwrap_err();
        assert!(matches!(refusal, TokenError::Json(_)), "{header} {claims}: {refusal}");
    }
}

#[test]
fn a_token_has_one_spelling_and_a_longest_length() {
    let token = signer().sign(&claims()).unwrap();
    let verifier = verifier();
    for wrong in [
        format!("{token}="),
        format!("{token}\n"),
        format!(" {token}"),
        token.replacen('.', "=.", 1),
        format!("{token}."),
        format!(".{token}"),
        token.replacen('.', "..", 1),
        token[..token.rfind('.').unwrap()].to_owned(),
        token[..=token.rfind('.').unwrap()].to_owned(),
        String::new(),
        "..".into(),
        format!("Bearer {token}"),
    ] {
        assert!(verifier.verify(&wrong, at(NOW)).is_err(), "{wrong}");
    }
    // 64 bytes end on a character with four unused bits: each other setting would be a second spelling.
    let last = token.pop_last();
    let place =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".iter().position(|c| *c == last.1);
    assert_eq!(place.unwrap() % 16, 0);
    for unused in 1..16 {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let other = format!("{}{}", last.0, char::from(letters[place.unwrap() + unused]));
        assert_eq!(verifier.verify(&other, at(NOW)).unwrap_err(), TokenError::Encoding);
    }
    let padded = |length: usize| {
        let mut payload = claims().wire();
        payload["pad"] = json!("x".repeat(length));
        signed(header().to_string().as_bytes(), payload.to_string().as_bytes())
    };
    let mut length = 5000;
    while padded(length + 1).len() <= LONGEST_TOKEN_BYTES {
        length += 1;
    }
    assert!(verifier.verify(&padded(length), at(NOW)).is_ok());
    let refusal = verifier.verify(&padded(length + 1), at(NOW)).unwrap_err();
    assert!(matches!(refusal, TokenError::TooLong { .. }), "{refusal}");
}

trait PopLast {
    fn pop_last(&self) -> (String, u8);
}

impl PopLast for String {
    fn pop_last(&self) -> (String, u8) {
        (self[..self.len() - 1].to_owned(), self.as_bytes()[self.len() - 1])
    }
}

#[test]
fn a_key_taken_out_stops_its_tokens_at_once_and_no_others() {
    let token = signer().sign(&claims()).unwrap();
    let next_kid = KeyId::new(at(2), [2; 10]);
    let next = TokenSigner::from_seed(&[4; 32], next_kid).unwrap();
    let mut keys = VerifyingKeys::new();
    keys.insert(kid(), acme(), &signer().public());
    keys.insert(next_kid, acme(), &next.public());
    let newer = next.sign(&claims()).unwrap();
    let overlap = TokenVerifier::new(Rules::of_access_tokens(ISSUER, AUDIENCE), keys.clone());
    assert!(overlap.verify(&token, at(NOW)).is_ok() && overlap.verify(&newer, at(NOW)).is_ok());
    keys.remove(kid());
    let after = TokenVerifier::new(Rules::of_access_tokens(ISSUER, AUDIENCE), keys);
    assert_eq!(after.verify(&token, at(NOW)).unwrap_err(), TokenError::UnknownKey);
    assert!(after.verify(&newer, at(NOW)).is_ok());
}

#[test]
fn verified_claims_hold_from_their_start_until_their_end() {
    let verified = verifier().verify(&signer().sign(&claims()).unwrap(), at(NOW)).unwrap().bearer().unwrap();
    for (now, holds) in
        [(NOW - 6, false), (NOW - 5, true), (NOW, true), (NOW + DAY - 1, true), (NOW + DAY, false)]
    {
        assert_eq!(verified.holds_at(at(now)), holds, "{}", now - NOW);
    }
    assert!(verified.holds_at(at(NOW + DAY).minus(Duration::milliseconds(1))));
}

#[test]
fn a_signer_prints_as_its_type() {
    assert_eq!(format!("{:?}", signer()), "TokenSigner");
}
