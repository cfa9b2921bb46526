//! The one path from a token's text to claims that may be believed.

use super::{
    RawClaims, TOKEN_TYPE, TokenAlgorithm, TokenError, Verified, VerifyingKeys,
    claims::START_LEEWAY,
    jws::{self, Opened},
};
use crate::domain::{Duration, TenantSlug, Timestamp};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The latest instant a claim may name: the end of the year 9999, in seconds since 1970.
const LATEST_SECOND: i64 = 253_402_300_799;

/// What a token must be to be accepted.
///
/// Whatever the rules, `iss`, `aud`, `sub`, `tenant`, `jti`, `iat` and `exp` must be there and well formed.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The one issuer, compared byte by byte.
    pub issuer: String,
    /// The one audience, compared byte by byte.
    pub audience: String,
    /// Whether `aud` may be a list that names the audience among others (RFC 7519 §4.1.3).
    pub audience_may_be_a_list: bool,
    /// The algorithms taken; each key still verifies its own alone.
    pub algorithms: Vec<TokenAlgorithm>,
    /// The media type in `typ`, without `application/`; case does not matter (RFC 7515 §4.1.9).
    pub typ: String,
    /// Claims required beyond those that always are.
    pub also_required: &'static [&'static str],
    /// How long after `exp` a token still counts.
    pub leeway_expiry_seconds: i64,
    /// How far ahead `nbf` and `iat` may lie.
    pub leeway_start_seconds: i64,
    /// The longest time from `iat` to `exp`.
    pub longest_lifetime_seconds: i64,
    /// Whether times may have a fraction of a second (RFC 7519 §2); it is cut to milliseconds.
    pub fractional_times: bool,
    /// The only tenant accepted; without one, any whose key signed.
    pub tenant: Option<TenantSlug>,
    /// Tokens that are refused by their `jti`.
    pub revoked: BTreeSet<String>,
}

impl Rules {
    /// The rules for agents' access tokens: EdDSA, one audience, whole seconds, no leeway on `exp`, 5 s on
    /// `nbf` and `iat`, at most 90 days.
    pub fn of_access_tokens(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audience: audience.into(),
            audience_may_be_a_list: false,
            algorithms: vec![TokenAlgorithm::EdDsa],
            typ: TOKEN_TYPE.to_owned(),
            also_required: &["nbf", "client_id", "scope"],
            leeway_expiry_seconds: 0,
            leeway_start_seconds: START_LEEWAY.whole_seconds(),
            longest_lifetime_seconds: Duration::days(90).whole_seconds(),
            fractional_times: false,
            tenant: None,
            revoked: BTreeSet::new(),
        }
    }
}

/// Checks tokens against rules and the keys in force.
#[derive(Clone, Debug)]
pub struct TokenVerifier {
    pub(super) rules: Rules,
    keys: VerifyingKeys,
}

impl TokenVerifier {
    /// A verifier; with other keys or rules, make another.
    pub fn new(rules: Rules, keys: VerifyingKeys) -> Self {
        Self { rules, keys }
    }

    /// Reads `token` and checks all of it: signature first, then form, then to whom it speaks, its hour last.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Verified<RawClaims>, TokenError> {
        let opened = jws::open(token, &self.rules.algorithms, &self.keys)?;
        self.check_type(&opened.header)?;
        let claims = self.read(&opened)?;
        self.check_direction(&claims, opened.key.tenant())?;
        self.check_hour(claims, now).map(Verified::vouched)
    }

    fn check_type(&self, header: &Map<String, Value>) -> Result<(), TokenError> {
        let lower = header.get("typ").and_then(Value::as_str).ok_or(TokenError::Type)?.to_ascii_lowercase();
        if lower.strip_prefix("application/").unwrap_or(&lower) == self.rules.typ {
            Ok(())
        } else {
            Err(TokenError::Type)
        }
    }

    fn read(&self, opened: &Opened<'_>) -> Result<RawClaims, TokenError> {
        let members = jws::object(&opened.payload)?;
        if let Some(missing) = self.rules.also_required.iter().find(|name| !members.contains_key(**name)) {
            return Err(TokenError::Missing(missing));
        }
        let fractions = self.rules.fractional_times;
        Ok(RawClaims {
            issuer: text(&members, "iss")?.to_owned(),
            audience: self.audience(&members)?,
            subject: text(&members, "sub")?.to_owned(),
            tenant: text(&members, "tenant")?.parse().map_err(|_| TokenError::Claim("tenant"))?,
            id: text(&members, "jti")?.to_owned(),
            issued_at: time(&members, "iat", fractions)?.ok_or(TokenError::Missing("iat"))?,
            not_before: time(&members, "nbf", fractions)?,
            expires_at: time(&members, "exp", fractions)?.ok_or(TokenError::Missing("exp"))?,
            members,
        })
    }

    fn audience(&self, members: &Map<String, Value>) -> Result<Vec<String>, TokenError> {
        match members.get("aud") {
            None => Err(TokenError::Missing("aud")),
            Some(Value::String(one)) => Ok(vec![one.clone()]),
            Some(Value::Array(list)) if self.rules.audience_may_be_a_list => list
                .iter()
                .map(|one| one.as_str().map(str::to_owned).ok_or(TokenError::Claim("aud")))
                .collect(),
            Some(_) => Err(TokenError::Claim("aud")),
        }
    }

    /// From whom, to whom and for whose tenant the token speaks, and for how long.
    fn check_direction(&self, claims: &RawClaims, key_tenant: &TenantSlug) -> Result<(), TokenError> {
        if claims.issuer != self.rules.issuer {
            return Err(TokenError::Issuer);
        }
        if !claims.audience.contains(&self.rules.audience) {
            return Err(TokenError::Audience);
        }
        let asked_for = self.rules.tenant.as_ref().unwrap_or(key_tenant);
        if claims.tenant != *key_tenant || claims.tenant != *asked_for {
            return Err(TokenError::Tenant);
        }
        let longest = Duration::seconds(self.rules.longest_lifetime_seconds);
        if claims.expires_at.since(claims.issued_at) > longest {
            return Err(TokenError::Lifetime);
        }
        Ok(())
    }

    fn check_hour(&self, claims: RawClaims, now: Timestamp) -> Result<RawClaims, TokenError> {
        if self.rules.revoked.contains(&claims.id) {
            return Err(TokenError::Revoked(Box::new(claims)));
        }
        if now >= claims.expires_at.plus(Duration::seconds(self.rules.leeway_expiry_seconds)) {
            return Err(TokenError::Expired(Box::new(claims)));
        }
        let start = claims.not_before.map_or(claims.issued_at, |at| at.max(claims.issued_at));
        if start > now.plus(Duration::seconds(self.rules.leeway_start_seconds)) {
            return Err(TokenError::NotYet(Box::new(claims)));
        }
        Ok(claims)
    }
}

/// A claim that is a text and not empty.
fn text<'a>(members: &'a Map<String, Value>, name: &'static str) -> Result<&'a str, TokenError> {
    match members.get(name) {
        None => Err(TokenError::Missing(name)),
        Some(value) => value.as_str().filter(|text| !text.is_empty()).ok_or(TokenError::Claim(name)),
    }
}

/// A claim that is a NumericDate (RFC 7519 §2) from 1970 to 9999; `None` where it is absent.
fn time(
    members: &Map<String, Value>,
    name: &'static str,
    fractions: bool,
) -> Result<Option<Timestamp>, TokenError> {
    let Some(value) = members.get(name) else { return Ok(None) };
    let wrong = TokenError::Claim(name);
    let Value::Number(number) = value else { return Err(wrong) };
    let milliseconds = match number.as_i64() {
        Some(seconds) => seconds.checked_mul(1000),
        None if fractions => fraction(&number.to_string()),
        None => None,
    };
    milliseconds
        .filter(|at| (0..=LATEST_SECOND.saturating_mul(1000)).contains(at))
        .map(|at| Some(Timestamp::from_unix_milliseconds(at)))
        .ok_or(wrong)
}

/// Milliseconds in a decimal of seconds, what is finer cut off; no sign, no exponent.
fn fraction(text: &str) -> Option<i64> {
    let (whole, rest) = text.split_once('.')?;
    let all_digits = whole.bytes().chain(rest.bytes()).all(|byte| byte.is_ascii_digit());
    let thousandths: String = rest.chars().chain("000".chars()).take(3).collect();
    if !all_digits {
        return None;
    }
    whole.parse::<i64>().ok()?.checked_mul(1000)?.checked_add(thousandths.parse().ok()?)
}
