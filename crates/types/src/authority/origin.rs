use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where content came from, which decides whether it is trusted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Written or edited by the person.
    Person,
    /// Written by an agent that had read no external content.
    Agent,
    /// Written by an agent after it had read external content.
    AgentTainted,
    /// Content from outside: the web, captures, other people, tools' output.
    External,
}

impl Origin {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::AgentTainted => "agent_tainted",
            Self::External => "external",
        }
    }

    /// Whether a run that reads this content becomes tainted.
    pub const fn taints(self) -> bool {
        match self {
            Self::Person | Self::Agent => false,
            Self::AgentTainted | Self::External => true,
        }
    }
}

/// How a search found a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchType {
    Fts,
    Vec,
    Hybrid,
}
