use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a tool, as policies, plans and drafts use it: `read_file`, `mcp:files/read`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(Cow<'static, str>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a valid tool name: use 1 to {LONGEST_NAME} of a-z, A-Z, 0-9, '_', '-', '.', ':' and '/', and start with a letter"
)]
pub struct NotAToolName;

const LONGEST_NAME: usize = 128;

impl ToolName {
    /// Makes a name from a constant of our own code.
    pub const fn constant(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for ToolName {
    fn from(name: &'static str) -> Self {
        Self::constant(name)
    }
}

impl FromStr for ToolName {
    type Err = NotAToolName;

    fn from_str(text: &str) -> Result<Self, NotAToolName> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
        let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
        if starts && text.len() <= LONGEST_NAME && text.bytes().all(fits) {
            Ok(Self(Cow::Owned(text.to_owned())))
        } else {
            Err(NotAToolName)
        }
    }
}

impl Deref for ToolName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ToolName {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolName({})", self.0)
    }
}

impl Serialize for ToolName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A model's id, `<provider>/<model>`, with the names that the config and the provider use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelId(String);

impl ModelId {
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the provider.
    pub fn provider(&self) -> &str {
        self.0.split_once('/').map_or(self.as_str(), |(provider, _)| provider)
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_asked_at_the_provider_before_the_first_slash() {
        for (id, provider) in [("two/m", "two"), ("proxy/anthropic/m", "proxy"), ("m", "m")] {
            assert_eq!(ModelId::new(id).provider(), provider);
        }
    }

    #[test]
    fn a_tool_name_is_plain_and_starts_with_a_letter() {
        for name in ["read_file", "mcp:files/read.all", "A-1"] {
            assert_eq!(name.parse::<ToolName>().unwrap().as_str(), name);
        }
        for name in ["", "1st", "read file", "näme", "a\n", &"x".repeat(129)] {
            assert_eq!(name.parse::<ToolName>(), Err(NotAToolName), "{name:?}");
        }
    }
}
