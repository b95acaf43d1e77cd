use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use onyx_types::{
    ErrorCode, Fault, Plan, Taint, Tier, ToolName, ToolSpec, Visibility, our_tool_name,
};
use serde::{Deserialize, Serialize};

use crate::commands::CommandRule;

/// Groups of tools that an agent has only if its config names them. With Docker an agent can do
/// anything on this machine.
const ONLY_BY_NAME: [&str; 1] = ["docker"];

/// An agent's `tools` settings as written in the config. A name is that of a tool, or
/// `group:<group>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// `None` allows every tool but those of `group:docker`, which must be named.
    pub allow: Option<Vec<String>>,
    pub deny: Vec<String>,
    /// Commands that tier `act` may run without approval. Each is the beginning of an argument
    /// list.
    pub commands: Vec<Vec<String>>,
}

impl ToolSettings {
    /// Rules that allow more than they seem to, for `onyx doctor`. Invalid rules are not here: they
    /// are errors when the config is loaded.
    pub fn command_warnings(&self) -> Vec<Warning> {
        let rules = self.commands.iter().filter_map(|words| CommandRule::new(words).ok());
        rules.filter_map(|rule| rule.warning()).map(Warning).collect()
    }

    fn rules(&self) -> Result<Vec<CommandRule>, Fault> {
        self.commands.iter().map(|words| CommandRule::new(words)).collect()
    }
}

/// The tools that a policy is resolved against.
pub struct KnownTools<'a> {
    /// The version of the toolbox.
    pub version: u64,
    pub specs: Vec<&'a ToolSpec>,
}

/// What one agent may do, resolved from its settings and the known tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    tier: Tier,
    settings: Arc<ToolSettings>,
    /// The allowed tools, sorted, because every run looks each of them up.
    tools: Arc<[ToolName]>,
    /// If set, the agent may use only these tools, also of tools that are added later.
    narrowed: Option<Arc<[String]>>,
    /// Tools that the agent never gets, also if they are added later.
    withheld: Arc<[String]>,
    /// The version of the toolbox that the tools were resolved against.
    version: u64,
    commands: Vec<CommandRule>,
    shown: ShownTools,
}

/// Which of its tools an agent sees in every prompt. It finds the others by searching for what they
/// do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ShownTools {
    #[default]
    All,
    /// Shows only the core groups, because many tools confuse a small model.
    Core,
}

/// The groups that every agent needs: files, memory and search, and those that prompts and results
/// refer to.
const CORE: [&str; 5] = ["fs", "memory", "knowledge", "skills", "artifacts"];

/// A setting of the config that works but is probably not what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning(pub String);

impl Policy {
    /// Makes a policy. A denied name that no tool has is an error, because a typing mistake would
    /// leave a tool allowed. Names of foreign tools are accepted as they are, because those tools
    /// may come later.
    pub fn resolve(
        tier: Tier,
        settings: &ToolSettings,
        known: &KnownTools<'_>,
    ) -> Result<(Self, Vec<Warning>), Fault> {
        let is_unknown = |name: &&String| {
            !comes_from_elsewhere(name) && !known.specs.iter().any(|spec| is_named(name, spec))
        };
        if let Some(name) = settings.deny.iter().find(is_unknown) {
            let message = format!("tools.deny names {name:?}, which no tool has");
            return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint(known)));
        }
        let unknown = settings.allow.iter().flatten().filter(is_unknown);
        let warn = |name| Warning(format!("tools.allow names {name:?}, which no tool has"));
        let mut warnings: Vec<Warning> = unknown.map(warn).collect();
        let commands = settings.rules()?;
        warnings.extend(commands.iter().filter_map(CommandRule::warning).map(Warning));
        let tools = allowed(settings, known).into();
        let (settings, version) = (Arc::new(settings.clone()), known.version);
        let shown = ShownTools::default();
        let withheld = Arc::default();
        let policy =
            Self { tier, settings, tools, narrowed: None, withheld, version, commands, shown };
        Ok((policy, warnings))
    }

    /// The policy for the tools of this moment.
    pub fn for_tools(&self, known: &KnownTools<'_>) -> Cow<'_, Self> {
        if self.version == known.version {
            return Cow::Borrowed(self);
        }
        let mut tools = allowed(&self.settings, known);
        if let Some(names) = &self.narrowed {
            tools.retain(|tool| names.iter().any(|name| *name == **tool));
        }
        tools.retain(|tool| !self.withheld.iter().any(|name| *name == **tool));
        Cow::Owned(Self { tools: tools.into(), version: known.version, ..self.clone() })
    }

    /// Whether both policies allow the same, whichever tools there are. They do if they were made
    /// from the same settings, as a policy and its clones are.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.settings, &other.settings)
            && (self.tier, self.shown) == (other.tier, other.shown)
            && (&self.narrowed, &self.withheld) == (&other.narrowed, &other.withheld)
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Whether a standing rule allows exactly this command.
    pub(crate) fn permits(&self, plan: &Plan, taint: Taint) -> bool {
        let permits =
            |argv: &Vec<String>| self.commands.iter().any(|rule| rule.permits(argv, taint));
        plan.command.as_ref().is_some_and(permits)
    }

    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The policy with this tier at most.
    #[must_use]
    pub fn at_most(&self, tier: Tier) -> Self {
        Self { tier: self.tier.min(tier), ..self.clone() }
    }

    /// The policy with only these of its tools, also when tools are added later.
    #[must_use]
    pub fn only(&self, names: &[&str]) -> Self {
        let stays = |tool: &&ToolName| names.contains(&tool.as_str());
        let tools: Arc<[ToolName]> = self.tools.iter().filter(stays).cloned().collect();
        let allowed = |name: &&&str| match &self.narrowed {
            Some(before) => before.iter().any(|known| *known == ***name),
            None => true,
        };
        let narrowed = names.iter().filter(allowed).map(|name| (*name).to_owned()).collect();
        Self { tools, narrowed: Some(narrowed), ..self.clone() }
    }

    /// The policy without these tools, also when tools are added later.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let stays = |tool: &&ToolName| !names.contains(&tool.as_str());
        let tools: Arc<[ToolName]> = self.tools.iter().filter(stays).cloned().collect();
        let names = names.iter().map(|name| (*name).to_owned());
        let withheld = self.withheld.iter().cloned().chain(names).collect();
        Self { tools, withheld, ..self.clone() }
    }

    /// The policy with only files, memory and search in every prompt.
    #[must_use]
    pub fn shortened(&self) -> Self {
        Self { shown: ShownTools::Core, ..self.clone() }
    }

    /// Whether prompts leave out this tool of the agent.
    pub(crate) fn leaves_out(&self, spec: &ToolSpec) -> bool {
        self.shown == ShownTools::Core && !CORE.contains(&spec.group.as_str())
    }

    /// All tools of the agent, by name.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(ToolName::as_str)
    }

    pub fn visibility(&self, tool: &str) -> Visibility {
        match self.tools.binary_search_by(|known| known.as_str().cmp(tool)) {
            Ok(_) => Visibility::Offered,
            Err(_) => Visibility::Absent,
        }
    }
}

/// The tools that the settings allow, sorted. Deny takes precedence over allow.
fn allowed(settings: &ToolSettings, known: &KnownTools<'_>) -> Vec<ToolName> {
    let names = |names: &[String], spec: &ToolSpec| names.iter().any(|name| is_named(name, spec));
    let is_allowed = |spec: &&&ToolSpec| {
        let allowed = match &settings.allow {
            Some(allow) => names(allow, spec),
            None => !ONLY_BY_NAME.contains(&spec.group.as_str()),
        };
        allowed && !names(&settings.deny, spec)
    };
    let tools: BTreeSet<ToolName> =
        known.specs.iter().filter(is_allowed).map(|spec| spec.name.clone()).collect();
    tools.into_iter().collect()
}

/// Whether the name in the settings means this tool: by its name, by another program's name for it,
/// or by `group:<group>`. If several tools have a name (`read`), it means all of them, so that
/// denying it leaves none of them allowed.
fn is_named(name: &str, spec: &ToolSpec) -> bool {
    [name, our_tool_name(name)].into_iter().any(|name| match name.strip_prefix("group:") {
        Some(group) => spec.group == group,
        None => *spec.name == *name,
    })
}

/// Whether the name is `mcp:<server>/<tool>`, or stands for all tools of a server.
fn comes_from_elsewhere(name: &str) -> bool {
    name.strip_prefix("group:").unwrap_or(name).starts_with("mcp:")
}

fn hint(known: &KnownTools<'_>) -> String {
    let specs = &known.specs;
    let groups: BTreeSet<String> =
        specs.iter().map(|spec| format!("group:{}", spec.group)).collect();
    let names = specs.iter().map(|spec| spec.name.to_string()).chain(groups);
    format!("There are: {}.", names.collect::<Vec<_>>().join(", "))
}
