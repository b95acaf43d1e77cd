//! Signatures of HTTP messages (RFC 9421) with ed25519, over the parts that menos checks.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ssh_key::PrivateKey;
use ssh_key::private::KeypairData;

/// An ed25519 key, and the name by which menos knows its public half.
pub(super) struct SigningKey {
    pair: Ed25519KeyPair,
    id: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadKey {
    #[error("is not a private key in OpenSSH's form (ssh-keygen -t ed25519 makes one): {0}")]
    Form(String),
    #[error("is protected by a passphrase; keep one without, the secret store seals it")]
    Passphrase,
    #[error("is a key of another kind than ed25519")]
    Kind,
}

/// The parts of a request that are signed.
pub(super) struct SignedParts<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    /// The host as the request names it.
    pub(super) authority: &'a str,
    pub(super) body: &'a [u8],
    /// The time in seconds since 1970. menos accepts a difference of five minutes.
    pub(super) created: u64,
}

impl SigningKey {
    pub(super) fn from_openssh(text: &str) -> Result<Self, BadKey> {
        let key = PrivateKey::from_openssh(text.trim().as_bytes());
        let key = key.map_err(|error| BadKey::Form(error.to_string()))?;
        let pair = match key.key_data() {
            KeypairData::Ed25519(pair) => pair,
            KeypairData::Encrypted(_) => return Err(BadKey::Passphrase),
            _ => return Err(BadKey::Kind),
        };
        let pair = Ed25519KeyPair::from_seed_and_public_key(
            &pair.private.to_bytes(),
            pair.public.as_ref(),
        );
        let pair =
            pair.map_err(|_| BadKey::Form("its halves do not belong together".to_owned()))?;
        let id = key_id(pair.public_key().as_ref());
        Ok(Self { pair, id })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The headers that a signature adds to a request.
    pub(super) fn headers(&self, request: &SignedParts<'_>) -> Vec<(String, String)> {
        let mut covered = vec![
            ("@method", request.method.to_owned()),
            ("@path", request.path.to_owned()),
            ("@authority", request.authority.to_owned()),
        ];
        let mut headers = Vec::new();
        if !request.body.is_empty() {
            let hash = STANDARD.encode(digest(&SHA256, request.body));
            let value = format!("sha-256=:{hash}:");
            headers.push(("content-digest".to_owned(), value.clone()));
            covered.push(("content-digest", value));
        }
        let names: Vec<String> = covered.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let (names, id, created) = (names.join(" "), &self.id, request.created);
        let parameters = format!("({names});keyid=\"{id}\";alg=\"ed25519\";created={created}");
        let mut lines: Vec<String> =
            covered.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        lines.push(format!("\"@signature-params\": {parameters}"));
        let signature = STANDARD.encode(self.pair.sign(lines.join("\n").as_bytes()));
        headers.push(("signature-input".to_owned(), format!("sig1={parameters}")));
        headers.push(("signature".to_owned(), format!("sig1=:{signature}:")));
        headers
    }
}

/// The key's id, made as menos makes it from a line of its `authorized_keys`: the first eight bytes
/// of the hash.
fn key_id(public: &[u8]) -> String {
    const KIND: &[u8] = b"ssh-ed25519";
    let field = |bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        [&length.to_be_bytes(), bytes].concat()
    };
    let blob = [field(KIND), field(public)].concat();
    let hash = digest(&SHA256, &blob);
    let short: String = hash.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("SHA256:{short}")
}
