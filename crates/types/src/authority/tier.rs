use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much an agent may do alone.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Read,
    #[default]
    Suggest,
    Act,
}

/// The effect of a tool call, mildest first: the strictest one of a plan counts.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    Read,
    Write,
    Destroy,
    Reach,
    Execute,
}

impl ToolEffect {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destroy => "destroy",
            Self::Reach => "reach",
            Self::Execute => "execute",
        }
    }
}

/// The gate's answer to a plan.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Confirm,
    Draft,
    Deny,
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Confirm => "confirm",
            Self::Draft => "draft",
            Self::Deny => "deny",
        }
    }
}

/// Whether a person is there to be asked while the run works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attendance {
    Attended,
    Unattended,
}

/// Whether the run has read content that did not come from its person.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Taint {
    #[default]
    Clean,
    Tainted,
}
