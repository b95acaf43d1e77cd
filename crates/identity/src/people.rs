use onyx_storage::Role;
use onyx_types::PersonId;
use schemars::JsonSchema;
use serde::Serialize;

/// The owner's name if no other was chosen.
pub const OWNER: &str = "owner";

/// A human with an account here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Person {
    pub id: PersonId,
    pub name: Option<String>,
    pub role: Role,
    pub source: PersonSource,
    pub has_password: bool,
}

/// Where a person is declared, which is where they can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonSource {
    /// `people` of onyx.json, or VALID_PERSONS.
    Config,
    /// The person was made at the first start, or added later.
    Added,
}
