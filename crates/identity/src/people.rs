use onyx_storage::Role;
use onyx_types::PersonId;
use schemars::JsonSchema;
use serde::Serialize;

/// The owner's name when no other was chosen.
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

/// Where it is written that there is such a person: there they are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonSource {
    /// `people` of onyx.json, or VALID_PERSONS.
    Config,
    /// Made at the first start, or added since.
    Added,
}
