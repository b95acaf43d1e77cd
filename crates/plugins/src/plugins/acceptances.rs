//! The packages that the owner has accepted, each by the hash of all its files.

use std::sync::Arc;

use onyx_storage::{Acceptance, AcceptanceKind, Acceptances, AuditEntry};
use onyx_types::{Actor, Approver, Clock, Fault, PersonId, RecordedTool};

use crate::package::Package;

/// The prefix of a plugin's name in the table of acceptances. The table also holds the tools of
/// other programs; no MCP server can have such a name.
const ACCEPTED_AS: &str = "plugin:";

pub(super) struct PluginAcceptances {
    pub(super) acceptances: Arc<dyn Acceptances>,
    /// The owner, who accepts plugins because all people here use them.
    pub(super) owner: PersonId,
    pub(super) clock: Arc<dyn Clock>,
}

impl PluginAcceptances {
    pub(super) async fn list(&self) -> Result<Vec<Acceptance>, Fault> {
        let kind = AcceptanceKind::McpTool;
        let mut rows = self.acceptances.accepted(&self.owner, kind).await?;
        rows.retain(|row| row.name.starts_with(ACCEPTED_AS));
        Ok(rows)
    }

    pub(super) async fn accept(&self, approver: &Approver, package: &Package) -> Result<(), Fault> {
        let row = Acceptance {
            person: self.owner.clone(),
            kind: AcceptanceKind::McpTool,
            name: accepted_as(&package.name),
            hash: package.hash,
            content: package.content.clone(),
            accepted_at: self.clock.wall(),
        };
        let what = format!("accepted the plugin {} as {}", package.name, package.hash);
        Ok(self.acceptances.accept(vec![row], self.audit(approver, what)).await?)
    }

    pub(super) async fn withdraw(&self, approver: &Approver, name: &str) -> Result<(), Fault> {
        let audit = self.audit(approver, format!("removed the plugin {name}"));
        let (kind, names) = (AcceptanceKind::McpTool, vec![accepted_as(name)]);
        Ok(self.acceptances.withdraw(&self.owner, kind, names, audit).await?)
    }

    fn audit(&self, approver: &Approver, what: String) -> AuditEntry {
        AuditEntry {
            ts: self.clock.wall(),
            person: self.owner.clone(),
            actor: Actor::Person(approver.person().clone()),
            agent: None,
            session: None,
            run: None,
            tool: Some(RecordedTool::constant("plugin")),
            effect: None,
            decision: None,
            diff_summary: what,
            result: "ok".to_owned(),
        }
    }
}

/// The accepted content of a plugin.
pub(super) fn row_of<'a>(rows: &'a [Acceptance], name: &str) -> Option<&'a Acceptance> {
    rows.iter().find(|row| row.name == accepted_as(name))
}

fn accepted_as(name: &str) -> String {
    format!("{ACCEPTED_AS}{name}")
}
