use std::collections::BTreeSet;

use onyx_types::{ErrorCode, Fault, Plan, Taint, Tier, ToolSpec, Visibility};
use serde::{Deserialize, Serialize};

use crate::commands::CommandRule;

/// An agent's `tools` in the config, as written. A name is a tool's or `group:<group>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// `None` allows every tool.
    pub allow: Option<Vec<String>>,
    pub deny: Vec<String>,
    /// Commands that tier `act` may run without asking: each the beginning of an argument list.
    pub commands: Vec<Vec<String>>,
}

impl ToolSettings {
    /// Rules that allow more than they seem to, for `onyx doctor`. A rule that is no rule is an
    /// error of the config, found when it is loaded.
    pub fn command_warnings(&self) -> Vec<Warning> {
        let rules = self.commands.iter().filter_map(|words| CommandRule::new(words).ok());
        rules.filter_map(|rule| rule.warning()).map(Warning).collect()
    }

    fn rules(&self) -> Result<Vec<CommandRule>, Fault> {
        self.commands.iter().map(|words| CommandRule::new(words)).collect()
    }
}

/// What one agent may do, resolved once from its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    tier: Tier,
    /// In order: every run looks each tool up.
    tools: Vec<String>,
    commands: Vec<CommandRule>,
}

/// Something in the config that works but is probably not what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning(pub String);

impl Policy {
    /// A denied name that no tool has is an error: a typo there would leave a tool open.
    pub fn resolve(
        tier: Tier,
        settings: &ToolSettings,
        tools: &[&ToolSpec],
    ) -> Result<(Self, Vec<Warning>), Fault> {
        let (mut allowed, mut warnings) = allowed(settings.allow.as_deref(), tools);
        for name in &settings.deny {
            let denied = named(name, tools);
            if denied.is_empty() {
                let message = format!("tools.deny names {name:?}, which no tool has");
                return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint(tools)));
            }
            allowed.retain(|tool| !denied.contains(tool));
        }
        let commands = settings.rules()?;
        warnings.extend(commands.iter().filter_map(CommandRule::warning).map(Warning));
        let tools = allowed.into_iter().collect();
        Ok((Self { tier, tools, commands }, warnings))
    }

    /// Does a standing rule allow exactly this command?
    pub(crate) fn permits(&self, plan: &Plan, taint: Taint) -> bool {
        let permits =
            |argv: &Vec<String>| self.commands.iter().any(|rule| rule.permits(argv, taint));
        plan.command.as_ref().is_some_and(permits)
    }

    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The same tools, at this tier or below.
    #[must_use]
    pub fn at_most(&self, tier: Tier) -> Self {
        Self { tier: self.tier.min(tier), ..self.clone() }
    }

    /// Of the same tools, only these.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> Self {
        let mut narrowed = self.clone();
        narrowed.tools.retain(|tool| names.contains(&tool.as_str()));
        narrowed
    }

    /// Every tool there is for the agent, by name.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(String::as_str)
    }

    pub fn visibility(&self, tool: &str) -> Visibility {
        match self.tools.binary_search_by(|known| known.as_str().cmp(tool)) {
            Ok(_) => Visibility::Offered,
            Err(_) => Visibility::Absent,
        }
    }
}

fn allowed(names: Option<&[String]>, tools: &[&ToolSpec]) -> (BTreeSet<String>, Vec<Warning>) {
    let Some(names) = names else {
        return (tools.iter().map(|spec| spec.name.clone()).collect(), Vec::new());
    };
    let mut all = BTreeSet::new();
    let mut warnings = Vec::new();
    for name in names {
        let allowed = named(name, tools);
        if allowed.is_empty() {
            warnings.push(Warning(format!("tools.allow names {name:?}, which no tool has")));
        }
        all.extend(allowed);
    }
    (all, warnings)
}

fn named(name: &str, tools: &[&ToolSpec]) -> Vec<String> {
    let matches = |spec: &&&ToolSpec| match name.strip_prefix("group:") {
        Some(group) => spec.group == group,
        None => spec.name == name,
    };
    tools.iter().filter(matches).map(|spec| spec.name.clone()).collect()
}

fn hint(tools: &[&ToolSpec]) -> String {
    let groups: BTreeSet<String> =
        tools.iter().map(|spec| format!("group:{}", spec.group)).collect();
    let names = tools.iter().map(|spec| spec.name.clone()).chain(groups);
    format!("There are: {}.", names.collect::<Vec<_>>().join(", "))
}
