use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One right that a credential may have.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// Reading the person's data.
    Read,
    /// Changing the person's data, and approving what agents propose to change.
    Write,
    /// Using agents and models.
    Chat,
    /// The rights of the owner, which have no effect in a member's credential.
    Admin,
}

impl Grant {
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Chat, Self::Admin];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Chat => "chat",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Read => 1,
            Self::Write => 2,
            Self::Chat => 4,
            Self::Admin => 8,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a scope: use read, write, chat or admin")]
pub struct NotAGrant;

impl FromStr for Grant {
    type Err = NotAGrant;

    fn from_str(text: &str) -> Result<Self, NotAGrant> {
        Self::ALL.into_iter().find(|grant| grant.as_str() == text).ok_or(NotAGrant)
    }
}

/// The rights of a credential. Written as a list of names, and as words in a row.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Grants(u8);

impl Grants {
    pub fn all() -> Self {
        Grant::ALL.into_iter().collect()
    }

    /// All rights for a person's own data.
    pub fn personal() -> Self {
        [Grant::Read, Grant::Write, Grant::Chat].into_iter().collect()
    }

    pub const fn has(self, grant: Grant) -> bool {
        self.0 & grant.bit() != 0
    }

    /// The rights that both sets have: a credential never passes on more than its own.
    #[must_use]
    pub const fn within(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The rights that this set has and the other one lacks.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Grant> {
        Grant::ALL.into_iter().filter(move |grant| self.has(*grant))
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        Self(grants.into_iter().fold(0, |bits, grant| bits | grant.bit()))
    }
}

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Grant::as_str).collect();
        f.write_str(&names.join(" "))
    }
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Grants({self})")
    }
}

impl FromStr for Grants {
    type Err = NotAGrant;

    fn from_str(text: &str) -> Result<Self, NotAGrant> {
        text.split_whitespace().map(str::parse).collect()
    }
}

impl Serialize for Grants {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Grants {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Grant>::deserialize(deserializer)?.into_iter().collect())
    }
}

impl JsonSchema for Grants {
    fn schema_name() -> Cow<'static, str> {
        "Grants".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Grant>::json_schema(generator)
    }
}
