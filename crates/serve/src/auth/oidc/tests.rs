//! Tokens of an issuer in memory, with everything that can be wrong.

use super::*;
use crate::auth::AuthFailure;
use agent::{Scope, Scopes};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use proptest::prelude::*;
use ring::{
    rand::SystemRandom,
    rsa,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

const ISSUER: &str = "https://id.example";
const NOW: i64 = 1_800_000_000;

/// A key of the issuer.
enum Signer {
    Rsa(rsa::KeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Signer {
    fn rsa() -> Self {
        // `ring` makes no RSA keys. This one was made for these tests and protects nothing.
        Self::Rsa(rsa::KeyPair::from_pkcs8(include_bytes!("tests_rsa.pk8")).unwrap())
    }

    fn p256() -> Self {
        let (kind, random) = (&signature::ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap())
    }

    fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn published(&self, kid: &str) -> Value {
        let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let mut key = match self {
            Self::Rsa(pair) => {
                let public = rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": text(&public.n), "e": text(&public.e) })
            }
            Self::P256(pair) => {
                let point = pair.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "x": text(&point[1..33]), "y": text(&point[33..]) })
            }
            Self::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref()) })
            }
        };
        (key["kid"], key["use"], key["alg"]) = (json!(kid), json!("sig"), json!(self.algorithm()));
        key
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut bytes = vec![0; pair.public().modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut bytes).unwrap();
                bytes
            }
            Self::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// A token with this header and these claims.
    fn token(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// A token as the issuer makes it.
    fn good(&self, kid: &str) -> String {
        self.token(&json!({ "alg": self.algorithm(), "kid": kid, "typ": "JWT" }), &claims())
    }
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": "tiller", "sub": "ada", "groups": ["dev", "other"],
        "iat": NOW - 10, "nbf": NOW - 10, "exp": NOW + 300,
    })
}

/// What the issuer serves, and how often it was asked for its keys.
struct FakeIssuer {
    discovery: Mutex<Value>,
    keys: Mutex<Result<Vec<u8>, FetchError>>,
    asked: AtomicUsize,
    /// Whether requests hang.
    hangs: Mutex<bool>,
}

impl FakeIssuer {
    fn with(keys: &[Value]) -> Arc<Self> {
        let discovery = json!({ "issuer": ISSUER, "jwks_uri": format!("{ISSUER}/keys"), "more": [1] });
        let issuer = Self {
            discovery: Mutex::new(discovery),
            keys: Mutex::new(Ok(Vec::new())),
            asked: AtomicUsize::new(0),
            hangs: Mutex::new(false),
        };
        issuer.publish(keys);
        Arc::new(issuer)
    }

    fn publish(&self, keys: &[Value]) {
        *self.keys.lock().unwrap() = Ok(json!({ "keys": keys }).to_string().into_bytes());
    }

    fn go_down(&self) {
        *self.keys.lock().unwrap() = Err(FetchError::Failed("refused".to_owned()));
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Fetch for FakeIssuer {
    async fn get(&self, url: &str, _most: usize) -> Result<Vec<u8>, FetchError> {
        if *self.hangs.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        match url {
            _ if url == format!("{ISSUER}/.well-known/openid-configuration") => {
                Ok(self.discovery.lock().unwrap().to_string().into_bytes())
            }
            // Keys are served everywhere: what is not trusted must not be asked.
            _ if url.ends_with("/keys") => {
                self.asked.fetch_add(1, Ordering::SeqCst);
                self.keys.lock().unwrap().clone()
            }
            _ => Err(FetchError::Failed(format!("{url} is not there"))),
        }
    }
}

fn scopes(scopes: &[Scope]) -> Scopes {
    scopes.iter().copied().collect()
}

fn options() -> OidcOptions {
    OidcOptions {
        issuer: ISSUER.to_owned(),
        audience: "tiller".to_owned(),
        claims: OidcClaims {
            user: "sub".to_owned(),
            tenant: TenantRule::Always("acme".to_owned()),
            groups: "groups".to_owned(),
            scopes: vec![
                GroupScopes { group: "dev".to_owned(), scopes: scopes(&[Scope::SessionRead]) },
                GroupScopes { group: "ops".to_owned(), scopes: scopes(&[Scope::Admin]) },
            ],
            everyone: scopes(&[Scope::Connect]),
        },
    }
}

fn verifier(options: OidcOptions, issuer: Arc<FakeIssuer>) -> OidcVerifier {
    let now = Timestamp::from_second(NOW).unwrap();
    OidcVerifier::new(options, issuer, Arc::new(move || now)).unwrap()
}

async fn verify(verifier: &OidcVerifier, token: &str) -> Result<Verified, Refusal> {
    verifier.verify(Bearer::parse(&format!("Bearer {token}")).unwrap()).await
}

/// Lets a request that runs in the background end.
async fn settle() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

fn invalid(why: &str) -> Result<Verified, Refusal> {
    Err(Refusal::Invalid(why.to_owned()))
}

#[tokio::test]
async fn a_token_of_each_algorithm_authenticates_with_the_scopes_of_its_groups() {
    for signer in [Signer::rsa(), Signer::p256(), Signer::ed25519()] {
        let verifier = verifier(options(), FakeIssuer::with(&[signer.published("k1")]));
        let token = signer.good("k1");
        let verified = verify(&verifier, &token).await.unwrap();
        let principal = verified.principal;
        assert_eq!((principal.tenant.as_str(), principal.user.as_str()), ("acme", "ada"));
        assert_eq!(principal.scopes, scopes(&[Scope::Connect, Scope::SessionRead]));
        assert_eq!(verified.expires, Timestamp::from_second(NOW + 360).unwrap());
        let id: CredentialId = principal.credential.parse().unwrap();
        assert_eq!(id, CredentialId::oidc(&token, verified.expires));
    }
}

#[tokio::test]
async fn the_algorithm_is_that_of_the_key_whatever_the_token_says() {
    let (rsa, p256, ed25519) = (Signer::rsa(), Signer::p256(), Signer::ed25519());
    let issuer = FakeIssuer::with(&[rsa.published("r"), p256.published("p"), ed25519.published("e")]);
    let verifier = verifier(options(), issuer);
    let other = "its algorithm is not that of the key";
    for (alg, kid) in
        [("none", "r"), ("None", "r"), ("HS256", "r"), ("ES256", "r"), ("RS256", "p"), ("RS256", "e")]
    {
        let token = rsa.token(&json!({ "alg": alg, "kid": kid }), &claims());
        assert_eq!(verify(&verifier, &token).await, invalid(other), "{alg} with {kid}");
    }
    // HS256 with the public key as the secret: the classic confusion.
    let public = rsa.published("r")["n"].as_str().unwrap().to_owned();
    let head = json!({ "alg": "HS256", "kid": "r" }).to_string();
    let signed = [head, claims().to_string()].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).join(".");
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public.as_bytes());
    let tag = BASE64_URL_SAFE_NO_PAD.encode(ring::hmac::sign(&key, signed.as_bytes()));
    assert_eq!(verify(&verifier, &format!("{signed}.{tag}")).await, invalid(other));
    // No signature at all, with the right name.
    let unsigned = rsa.good("r");
    let unsigned = unsigned.rsplit_once('.').unwrap().0;
    assert_eq!(verify(&verifier, &format!("{unsigned}.AA")).await, invalid("its signature is wrong"));
    // A signature by another key of the same kind.
    let stranger = Signer::p256();
    assert_eq!(verify(&verifier, &stranger.good("p")).await, invalid("its signature is wrong"));
    verify(&verifier, &p256.good("p")).await.unwrap();
}

#[tokio::test]
async fn one_changed_byte_ends_a_tokens_validity() {
    let signer = Signer::ed25519();
    let verifier = verifier(options(), FakeIssuer::with(&[signer.published("k1")]));
    let token = signer.good("k1");
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(matches!(
            verify(&verifier, &changed).await,
            Err(Refusal::Invalid(_) | Refusal::Unavailable(_))
        ));
    }
    verify(&verifier, &token).await.unwrap();
}

#[tokio::test]
async fn times_issuer_and_audience_are_checked() {
    let signer = Signer::ed25519();
    let verifier = verifier(options(), FakeIssuer::with(&[signer.published("k1")]));
    for (name, value, expected) in [
        ("exp", json!(NOW - 59), Ok(())),
        ("exp", json!(NOW - 60), Err("exp is over")),
        ("exp", Value::Null, Err("exp is no time")),
        ("exp", json!("soon"), Err("exp is no time")),
        ("exp", json!(1e300), Err("exp is no time")),
        ("exp", json!(i64::MAX), Ok(())),
        ("exp", json!(1_800_000_001.5), Ok(())),
        ("nbf", json!(NOW + 60), Ok(())),
        ("nbf", json!(NOW + 61), Err("nbf is in the future")),
        ("iat", json!(NOW + 61), Err("iat is in the future")),
        ("iss", json!("https://id.example/"), Err("iss is another issuer")),
        ("iss", json!(["https://id.example"]), Err("iss is another issuer")),
        ("aud", json!("tiller2"), Err("aud does not name this server")),
        ("aud", json!(["x", "tiller"]), Ok(())),
        ("aud", json!([]), Err("aud does not name this server")),
        ("aud", json!({ "tiller": 1 }), Err("aud does not name this server")),
    ] {
        let mut claims = claims();
        claims[name] = value.clone();
        let token = signer.token(&json!({ "alg": "EdDSA", "kid": "k1" }), &claims);
        let verified = verify(&verifier, &token).await.map(drop);
        let expected = expected.map_err(|why| Refusal::Invalid(why.to_owned()));
        assert_eq!(verified, expected, "{name} = {value}");
    }
    for missing in ["exp", "iss", "aud"] {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(missing);
        let token = signer.token(&json!({ "alg": "EdDSA", "kid": "k1" }), &claims);
        assert!(verify(&verifier, &token).await.is_err(), "{missing}");
    }
}

#[tokio::test]
async fn users_tenants_and_scopes_follow_from_the_claims_or_the_token_is_refused() {
    let signer = Signer::ed25519();
    let issuer = FakeIssuer::with(&[signer.published("k1")]);
    let none = Scopes::default();
    let with = |change: fn(&mut OidcClaims)| {
        let mut options = options();
        change(&mut options.claims);
        verifier(options, Arc::clone(&issuer))
    };
    let token = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        signer.token(&json!({ "alg": "EdDSA", "kid": "k1" }), &claims)
    };
    let plain = with(|_| {});
    let found = verify(&plain, &token("groups", json!("ops"))).await.unwrap().principal.scopes;
    assert_eq!(found, scopes(&[Scope::Connect, Scope::Admin]));
    for sub in [json!(""), json!("../x"), json!(".."), json!("a b"), json!(7), json!("x".repeat(200))] {
        assert!(verify(&plain, &token("sub", sub.clone())).await.is_err(), "{sub}");
    }
    let tenants = with(|claims| claims.tenant = TenantRule::Claim("org".to_owned()));
    assert!(verify(&tenants, &signer.good("k1")).await.is_err());
    assert_eq!(verify(&tenants, &token("org", json!("b"))).await.unwrap().principal.tenant, "b");
    let strict = with(|claims| claims.everyone = Scopes::default());
    assert_eq!(strict.options.claims.everyone, none);
    let refused = verify(&strict, &token("groups", json!(["cats"]))).await;
    assert_eq!(refused, invalid("none of its groups permits anything"));
    let mail = with(|claims| claims.user = "email".to_owned());
    assert_eq!(verify(&mail, &token("email", json!("a@b.c"))).await, invalid("email is not verified"));
    let mut proven = claims();
    (proven["email"], proven["email_verified"]) = (json!("a@b.c"), json!(true));
    let proven = signer.token(&json!({ "alg": "EdDSA", "kid": "k1" }), &proven);
    assert_eq!(verify(&mail, &proven).await.unwrap().principal.user, "a@b.c");
}

#[tokio::test]
async fn headers_that_demand_more_are_refused() {
    let signer = Signer::ed25519();
    let verifier = verifier(options(), FakeIssuer::with(&[signer.published("k1")]));
    for (header, accepted) in [
        (json!({ "alg": "EdDSA" }), true),
        (json!({ "alg": "EdDSA", "kid": "k1", "typ": "at+jwt" }), true),
        (json!({ "alg": "EdDSA", "kid": "k1", "typ": "logout+jwt" }), false),
        (json!({ "alg": "EdDSA", "kid": "k1", "crit": ["exp"] }), false),
        (
            json!({ "alg": "EdDSA", "kid": "k1", "jwk": signer.published("k1"), "jku": "https://x.example" }),
            true,
        ),
        (json!({ "kid": "k1" }), false),
        (json!(["EdDSA"]), false),
    ] {
        let verified = verify(&verifier, &signer.token(&header, &claims())).await;
        assert_eq!(verified.is_ok(), accepted, "{header}");
    }
    // Without an id the key must be the only one.
    let two = FakeIssuer::with(&[signer.published("k1"), Signer::rsa().published("k2")]);
    let token = signer.token(&json!({ "alg": "EdDSA" }), &claims());
    assert!(verify(&self::verifier(options(), two), &token).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_rotated_key_is_fetched_and_unknown_ids_ask_at_most_every_thirty_seconds() {
    let (old, new) = (Signer::ed25519(), Signer::p256());
    let issuer = FakeIssuer::with(&[old.published("old")]);
    let verifier = verifier(options(), Arc::clone(&issuer));
    verify(&verifier, &old.good("old")).await.unwrap();
    issuer.publish(&[new.published("new")]);
    assert_eq!(verify(&verifier, &new.good("new")).await, invalid("no key of the issuer has its kid"));
    for number in 0..50 {
        let _ = verify(&verifier, &new.good(&format!("unknown{number}"))).await;
    }
    assert_eq!(issuer.asked(), 1);
    tokio::time::advance(Duration::from_secs(30)).await;
    verify(&verifier, &new.good("new")).await.unwrap();
    assert_eq!(issuer.asked(), 2);
    assert!(verify(&verifier, &old.good("old")).await.is_err(), "it was withdrawn");
}

#[tokio::test(start_paused = true)]
async fn keys_are_used_for_a_day_while_the_issuer_is_down_and_withdrawn_ones_for_an_hour() {
    let signer = Signer::ed25519();
    let issuer = FakeIssuer::with(&[signer.published("k1")]);
    let verifier = verifier(options(), Arc::clone(&issuer));
    verify(&verifier, &signer.good("k1")).await.unwrap();
    issuer.go_down();
    for _ in 0..23 {
        tokio::time::advance(Duration::from_secs(3_600)).await;
        verify(&verifier, &signer.good("k1")).await.unwrap();
        settle().await;
    }
    assert_eq!(issuer.asked(), 24, "it is asked again each hour");
    let unknown = verify(&verifier, &signer.good("k2")).await;
    assert!(matches!(unknown, Err(Refusal::Unavailable(_))), "{unknown:?}");
    tokio::time::advance(Duration::from_secs(3_600)).await;
    let late = verify(&verifier, &signer.good("k1")).await;
    assert!(matches!(late, Err(Refusal::Unavailable(_))), "{late:?}");

    // Back again, with another key: the old one is refused after the renewal.
    let other = Signer::p256();
    issuer.publish(&[signer.published("k1"), other.published("k2")]);
    tokio::time::advance(Duration::from_secs(30)).await;
    verify(&verifier, &signer.good("k1")).await.unwrap();
    issuer.publish(&[other.published("k2")]);
    tokio::time::advance(Duration::from_secs(3_600)).await;
    // This request begins the renewal, and the key is still known to it.
    verify(&verifier, &signer.good("k1")).await.unwrap();
    settle().await;
    assert_eq!(verify(&verifier, &signer.good("k1")).await, invalid("no key of the issuer has its kid"));
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_hangs_or_answers_nonsense_makes_no_token_valid() {
    let signer = Signer::ed25519();
    // Blanks are valid JSON, so nothing but its size is wrong with it.
    let mut huge = json!({ "keys": [signer.published("k1")] }).to_string().into_bytes();
    huge.resize(limits::KEYS_BYTES + 1, b' ');
    let many: Vec<_> = (0..=limits::KEYS).map(|number| signer.published(&format!("k{number}"))).collect();
    let symmetric = json!({ "keys": [{ "kty": "oct", "k": "c2VjcmV0", "kid": "k1", "alg": "HS256" }] });
    for (what, body) in [
        ("huge", huge),
        ("many", json!({ "keys": many }).to_string().into_bytes()),
        ("none", b"{\"keys\":[]}".to_vec()),
        ("symmetric", symmetric.to_string().into_bytes()),
        ("no JSON", b"<html>".to_vec()),
        ("another form", b"[]".to_vec()),
    ] {
        let issuer = FakeIssuer::with(&[]);
        *issuer.keys.lock().unwrap() = Ok(body);
        let verified = verify(&verifier(options(), issuer), &signer.good("k1")).await;
        assert!(matches!(verified, Err(Refusal::Unavailable(_))), "{what}: {verified:?}");
    }
    for discovery in [
        json!({ "issuer": "https://other.example", "jwks_uri": format!("{ISSUER}/keys") }),
        json!({ "issuer": ISSUER, "jwks_uri": "http://id.example/keys" }),
        json!({ "issuer": ISSUER, "jwks_uri": "http://127.0.0.1/keys" }),
        json!({ "issuer": ISSUER }),
    ] {
        let issuer = FakeIssuer::with(&[signer.published("k1")]);
        *issuer.discovery.lock().unwrap() = discovery.clone();
        let verified = verify(&verifier(options(), issuer), &signer.good("k1")).await;
        assert!(matches!(verified, Err(Refusal::Unavailable(_))), "{discovery}: {verified:?}");
    }
    let issuer = FakeIssuer::with(&[signer.published("k1")]);
    *issuer.hangs.lock().unwrap() = true;
    let hanging = verifier(options(), issuer);
    let verified = tokio::time::timeout(Duration::from_secs(11), verify(&hanging, &signer.good("k1"))).await;
    assert!(matches!(verified, Ok(Err(Refusal::Unavailable(_)))), "{verified:?}");
}

#[tokio::test]
async fn requests_at_the_same_time_share_one_fetch_and_an_aborted_one_does_not_stop_it() {
    let signer = Signer::ed25519();
    let issuer = FakeIssuer::with(&[signer.published("k1")]);
    let verifier = verifier(options(), Arc::clone(&issuer));
    let token = signer.good("k1");
    {
        let mut aborted = Box::pin(verify(&verifier, &token));
        assert!(futures::poll!(aborted.as_mut()).is_pending());
    }
    let all = futures::future::join_all((0..20).map(|_| verify(&verifier, &token))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(issuer.asked(), 1);
}

#[test]
fn keys_for_other_purposes_and_weak_ones_are_left_out() {
    let key = |change: &dyn Fn(&mut Value)| {
        let mut published = Signer::rsa().published("k1");
        change(&mut published);
        serde_json::from_value(published).ok().and_then(jwk::Key::of).is_some()
    };
    assert!(key(&|_| {}));
    assert!(key(&|key| drop(key.as_object_mut().unwrap().remove("alg"))));
    assert!(key(&|key| key["key_ops"] = json!(["verify"])));
    assert!(!key(&|key| key["use"] = json!("enc")));
    assert!(!key(&|key| key["key_ops"] = json!(["encrypt"])));
    assert!(!key(&|key| key["alg"] = json!("PS256")));
    assert!(!key(&|key| key["n"] = json!(BASE64_URL_SAFE_NO_PAD.encode([255; 128]))), "1024 bits");
    assert!(!key(&|key| key["n"] = json!("AA")));
    assert!(!key(&|key| key["crv"] = json!("P-256")));
    assert!(!key(&|key| key["kid"] = json!(7)));
}

#[tokio::test]
async fn a_wrong_token_is_counted_as_a_wrong_credential_and_its_text_is_in_no_error() {
    let signer = Signer::ed25519();
    let verifier = Arc::new(verifier(options(), FakeIssuer::with(&[signer.published("k1")])));
    let directory = tempfile::tempdir().unwrap();
    let path = system::AbsPath::from_os(&directory.path().join("tokens.toml")).unwrap();
    let system = Arc::new(system::LocalSystem::new());
    let now = Timestamp::from_second(NOW).unwrap();
    let clock: Clock = Arc::new(move || now);
    let tokens = Arc::new(crate::auth::FileTokens::new(system, Arc::clone(&clock), path));
    let credentials = crate::auth::Credentials::new(tokens, clock).with_verifier(verifier);
    let source = crate::auth::Source::Address([192, 0, 2, 1].into());
    let good = format!("Bearer {}", signer.good("k1"));
    assert_eq!(credentials.authenticate(Some(&good), source).await.unwrap().user, "ada");
    let bad = format!("Bearer {}", Signer::ed25519().good("k1"));
    for _ in 0..10 {
        let failure = credentials.authenticate(Some(&bad), source).await.unwrap_err();
        assert_eq!(failure, AuthFailure::Invalid);
        assert!(!format!("{failure:?}{:?}", failure.problem()).contains("eyJ"));
    }
    assert_eq!(credentials.authenticate(Some(&good), source).await.unwrap_err().status(), 429);
}

proptest! {
    #[test]
    fn no_token_panics_and_no_error_repeats_it(text in "(eyJ)?[A-Za-z0-9._-]{0,120}") {
        if let Err(why) = SignedToken::parse(&text) {
            prop_assert!(text.len() < 6 || !why.contains(&text));
        }
    }

    #[test]
    fn no_header_and_no_claims_panic(header in "\\PC{0,60}", claims in "\\PC{0,80}") {
        let part = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        let token = format!("{}.{}.AA", part(&header), part(&claims));
        let claims = SignedToken::parse(&token).and_then(|token| token.claims());
        let _ = claims.map(|claims| claims.check(&options(), NOW));
    }
}
