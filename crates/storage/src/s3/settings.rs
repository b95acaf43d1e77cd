//! The settings `storage.objects` and `storage.s3`.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::ServerError;

/// A bucket, and the prefix of all objects in it that belong to Onyx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectsUrl {
    pub(super) bucket: String,
    pub(super) prefix: String,
}

impl ObjectsUrl {
    pub fn parse(url: &str) -> Result<Self, ServerError> {
        let wrong = |why: &str| ServerError::ObjectsUrl(why.to_owned());
        let rest =
            url.strip_prefix("s3://").ok_or_else(|| wrong("it does not begin with s3://"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong("it names no bucket"));
        }
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        if !bucket.chars().all(is_plain) {
            return Err(wrong("a bucket's name has letters, digits, dots and hyphens only"));
        }
        let prefix = prefix.trim_end_matches('/');
        if !prefix.split('/').flat_map(str::chars).all(is_plain) || prefix.contains("//") {
            return Err(wrong(
                "a prefix has letters, digits, dots, hyphens and single slashes only",
            ));
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for ObjectsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

/// How the store is reached. Keys are already resolved from their references.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct S3Settings {
    /// The address of the store; `None`: Amazon's own.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    /// Whether the bucket's name is in the path instead of before the host's name.
    pub path_style: bool,
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Settings")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("path_style", &self.path_style)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_bucket_and_perhaps_a_prefix() {
        let parsed = |url: &str| ObjectsUrl::parse(url).map(|url| (url.bucket, url.prefix));
        assert_eq!(parsed("s3://home").unwrap(), ("home".to_owned(), String::new()));
        assert_eq!(parsed("s3://home/a/b/").unwrap(), ("home".to_owned(), "a/b".to_owned()));
        for wrong in ["https://home", "s3://", "s3:///a", "s3://a b", "s3://a/b//c", "s3://a/../b?"]
        {
            assert!(matches!(parsed(wrong), Err(ServerError::ObjectsUrl(_))), "{wrong}");
        }
        assert_eq!(ObjectsUrl::parse("s3://home/a/b/").unwrap().to_string(), "s3://home/a/b");
        assert_eq!(ObjectsUrl::parse("s3://home").unwrap().to_string(), "s3://home");
    }

    #[test]
    fn keys_are_never_shown() {
        let settings = S3Settings {
            access_key_id: Some("the-id".to_owned()),
            secret_access_key: Some("the-secret".to_owned()),
            ..S3Settings::default()
        };
        assert!(!format!("{settings:?}").contains("the-"));
    }
}
