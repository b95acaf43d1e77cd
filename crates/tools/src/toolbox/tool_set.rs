use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_types::{AgentId, Capability, ErrorCode, Fault, PersonId, ToolSpec, Visibility};

use super::finding::{CALL_TOOL, FIND_TOOL, is_foreign};
use super::offering::{Offering, Offerings, ToolTraits};
use crate::gate::{KnownTools, Policy};
use crate::schema::Checker;
use crate::tool::{Registration, Tool};

/// How many policies are kept: one for each agent and tier, and a few more while the config
/// changes.
const MOST_POLICIES: usize = 64;

/// The tools of one moment. When tools come or go, another set is made, so that its holder sees the
/// same tools until it asks for another set.
#[derive(Default)]
pub struct ToolSet {
    version: u64,
    /// The number of the next registration.
    next: u64,
    entries: Vec<Arc<Entry>>,
    offerings: Offerings,
    /// Policies that were resolved last. They are kept, because resolving one takes time with every
    /// tool.
    policies: Mutex<Vec<AllowedTools>>,
}

/// A policy and, for each tool of the set, whether the policy allows it.
struct AllowedTools {
    policy: Policy,
    allowed: Arc<[bool]>,
}

pub(super) struct Entry {
    pub(super) registration: Registration,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) checker: Checker,
    /// The size of a foreign tool in a prompt, in tokens; 0 for a tool of ours. It is computed
    /// once, because every turn asks for it.
    foreign_weight: usize,
}

impl Entry {
    fn new(registration: Registration, tool: Arc<dyn Tool>) -> Result<Self, Fault> {
        let spec = tool.spec();
        let checker = Checker::new(spec)?;
        let foreign_weight = if is_foreign(spec) { ToolTraits::weight_of(spec).max(1) } else { 0 };
        Ok(Self { registration, tool, checker, foreign_weight })
    }

    /// Whether this is one of the two tools by which a model finds and calls the others.
    fn answers_for_others(&self) -> bool {
        self.foreign_weight == 0 && [FIND_TOOL, CALL_TOOL].contains(&self.tool.spec().name.as_str())
    }
}

/// Whether a tool can work for a person, and if not, what is missing.
pub(super) enum Readiness {
    Ready,
    Lacks(String),
}

impl ToolSet {
    /// The set with more tools, all of them or none. Every schema must compile and every name must
    /// be new. Names that differ only in case count as equal, because people and models mix them
    /// up.
    pub(super) fn with(
        &self,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Result<(Self, Vec<Registration>), Fault> {
        let mut entries = self.entries.clone();
        let mut registrations = Vec::with_capacity(tools.len());
        for (number, tool) in (self.next..).zip(tools) {
            let name = &tool.spec().name;
            let shadowed = |entry: &Arc<Entry>| entry.tool.spec().name.eq_ignore_ascii_case(name);
            if entries.iter().any(shadowed) {
                let message = format!("two tools are called {name}");
                let hint = "A tool needs a name of its own; none is put in the place of another.";
                return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint));
            }
            let registration = Registration(number);
            registrations.push(registration);
            entries.push(Arc::new(Entry::new(registration, tool)?));
        }
        let next = self.next + registrations.len() as u64;
        let version = self.version + 1;
        let set = Self { version, next, entries, ..Self::default() };
        Ok((set, registrations))
    }

    /// The set without these tools.
    pub(super) fn without(&self, gone: &[Registration]) -> Self {
        let stays = |entry: &&Arc<Entry>| !gone.contains(&entry.registration);
        let entries = self.entries.iter().filter(stays).cloned().collect();
        let version = self.version + 1;
        Self { version, next: self.next, entries, ..Self::default() }
    }

    /// A number that grows with every change of the toolbox.
    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn specs(&self) -> Vec<&ToolSpec> {
        self.entries.iter().map(|entry| entry.tool.spec()).collect()
    }

    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.entry(name).map(|entry| entry.tool.spec())
    }

    /// The tools for policies, which are resolved against them.
    pub fn known(&self) -> KnownTools<'_> {
        KnownTools { version: self.version, specs: self.specs() }
    }

    /// The policy over these tools.
    pub(super) fn resolved<'p>(&self, policy: &'p Policy) -> Cow<'p, Policy> {
        if policy.version() == self.version {
            return Cow::Borrowed(policy);
        }
        Cow::Owned(self.settled(policy, |settled| settled.policy.clone()))
    }

    /// Returns for each tool, in order, whether the policy allows it.
    fn allowed(&self, policy: &Policy) -> Arc<[bool]> {
        self.settled(policy, |settled| Arc::clone(&settled.allowed))
    }

    fn settled<T>(&self, policy: &Policy, take: impl FnOnce(&AllowedTools) -> T) -> T {
        let mut policies = self.policies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = policies.iter().find(|known| known.policy.is_alike(policy)) {
            return take(known);
        }
        if policies.len() >= MOST_POLICIES {
            policies.remove(0);
        }
        let policy = policy.for_tools(&self.known()).into_owned();
        let is_allowed =
            |entry: &Arc<Entry>| policy.visibility(&entry.tool.spec().name) == Visibility::Offered;
        let allowed = self.entries.iter().map(is_allowed).collect();
        let settled = AllowedTools { policy, allowed };
        let taken = take(&settled);
        policies.push(settled);
        taken
    }

    /// The tools that a policy allows, always in the same order, so that prompt caches hit.
    pub fn offers(&self, policy: &Policy) -> Vec<&ToolSpec> {
        let policy = self.resolved(policy);
        let allowed = |spec: &&ToolSpec| policy.visibility(&spec.name) == Visibility::Offered;
        self.specs().into_iter().filter(allowed).collect()
    }

    /// The tools that the agent has and that can work for the person now.
    pub fn ready_offers(
        &self,
        policy: &Policy,
        agent: &AgentId,
        person: &PersonId,
    ) -> Arc<Offering> {
        self.offering_of(self.ready(policy, agent, person))
    }

    /// The tools of a prompt with room for this many tokens of foreign tools. If these need more,
    /// none of them is offered, and a model finds and calls them through two built-in tools.
    pub fn offers_within(
        &self,
        policy: &Policy,
        agent: &AgentId,
        person: &PersonId,
        room: usize,
    ) -> Arc<Offering> {
        let mut ready = self.ready(policy, agent, person);
        let of_ready = self.entries.iter().zip(&ready).filter(|(_, ready)| **ready);
        let weight: usize = of_ready.map(|(entry, _)| entry.foreign_weight).sum();
        let is_hidden = |entry: &Entry| {
            (weight > room && entry.foreign_weight > 0) || policy.leaves_out(entry.tool.spec())
        };
        let mut hides_some = false;
        for (entry, ready) in self.entries.iter().zip(&mut ready) {
            if *ready && is_hidden(entry) {
                (*ready, hides_some) = (false, true);
            }
        }
        if hides_some {
            let allowed = self.allowed(policy);
            for (index, entry) in self.entries.iter().enumerate() {
                if entry.answers_for_others() {
                    ready[index] = allowed[index];
                }
            }
        }
        self.offering_of(ready)
    }

    /// The tools that the agent has for this person now and that its prompt may leave out.
    pub(super) fn findable(
        &self,
        policy: &Policy,
        agent: &AgentId,
        person: &PersonId,
    ) -> Vec<&ToolSpec> {
        let ready = self.ready(policy, agent, person);
        let ready = self.entries.iter().zip(ready).filter(|(_, ready)| *ready);
        let is_findable =
            |entry: &&Arc<Entry>| entry.foreign_weight > 0 || policy.leaves_out(entry.tool.spec());
        let findable = ready.map(|(entry, _)| entry).filter(is_findable);
        findable.map(|entry| entry.tool.spec()).collect()
    }

    fn ready(&self, policy: &Policy, agent: &AgentId, person: &PersonId) -> Vec<bool> {
        let allowed = self.allowed(policy);
        let mut needs = Needs { person, known: BTreeMap::new() };
        let mut is_offered = |entry: &Entry| {
            is_for(entry.tool.spec(), agent)
                && entry.tool.has_something_for(person, agent)
                && needs.missing(&*entry.tool).is_none()
        };
        let entries = self.entries.iter().zip(&*allowed);
        entries.map(|(entry, allowed)| *allowed && is_offered(entry)).collect()
    }

    fn offering_of(&self, ready: Vec<bool>) -> Arc<Offering> {
        self.offerings.of(ready, |ready| {
            let entries = self.entries.iter().zip(ready).filter(|(_, ready)| **ready);
            let traits = |entry: &Entry| ToolTraits::of(entry.tool.spec(), entry.registration);
            entries.map(|(entry, _)| traits(entry)).collect()
        })
    }

    /// Whether the agent has the tool, even if the tool cannot work now.
    pub(super) fn visibility(&self, name: &str, policy: &Policy, agent: &AgentId) -> Visibility {
        match self.spec(name) {
            Some(spec) if is_for(spec, agent) => policy.visibility(name),
            Some(_) | None => Visibility::Absent,
        }
    }

    /// Whether the tool can work for this person now.
    pub(super) fn readiness(&self, entry: &Entry, person: &PersonId) -> Readiness {
        let mut needs = Needs { person, known: BTreeMap::new() };
        needs.missing(&*entry.tool).map_or(Readiness::Ready, Readiness::Lacks)
    }

    pub(super) fn entry(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| *entry.tool.spec().name == *name)
    }
}

fn is_for(spec: &ToolSpec, agent: &AgentId) -> bool {
    spec.agents.as_ref().is_none_or(|agents| agents.contains(agent))
}

/// Looks up what is available to a person, once for all tools that need it.
struct Needs<'a> {
    person: &'a PersonId,
    known: BTreeMap<Capability, Option<String>>,
}

impl Needs<'_> {
    fn missing(&mut self, tool: &dyn Tool) -> Option<String> {
        for need in &tool.spec().needs {
            let look = || tool.check_capability(*need, self.person).err();
            if let Some(why) = self.known.entry(*need).or_insert_with(look) {
                return Some(why.clone());
            }
        }
        None
    }
}
