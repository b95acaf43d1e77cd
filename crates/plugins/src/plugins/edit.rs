//! What the owner does with plugins: bring, accept, start again, remove.

use std::fs;
use std::path::Path;

use onyx_storage::{Acceptance, AcceptanceKind, AuditEntry};
use onyx_tools::SkillPackage;
use onyx_types::{Approver, ErrorCode, Fault, Hash};

use super::view::no_such;
use super::{PluginState, PluginView, Plugins, Shared, accepted_as};
use crate::PackageFiles;
use crate::package::Package;

impl Plugins {
    /// Puts a package into the folder of plugins, in the place of one of the same name. It waits to
    /// be accepted.
    pub async fn add(&self, files: PackageFiles) -> Result<PluginView, Fault> {
        let package = Package::of_files(files).map_err(|why| broken(&why))?;
        let (name, root) = (package.name.clone(), self.shared.setup.folder.clone());
        let put = move || put(&root, &package);
        let put = tokio::task::spawn_blocking(put).await;
        let put = put.map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))?;
        put.map_err(|error| not_written(&error))?;
        self.look_again().await?;
        self.shared.changed.notify_one();
        self.get(&name).await
    }

    /// The owner has looked at exactly this package and what it asks for. Its skills go into the
    /// vault, where they wait to be accepted like any other.
    pub async fn accept(
        &self,
        approver: &Approver,
        name: &str,
        seen: Hash,
    ) -> Result<PluginView, Fault> {
        let shared = &self.shared;
        let found = shared.found().await?;
        let package = match found.get(name) {
            None => return Err(no_such(name)),
            Some(Err(why)) => return Err(broken(why)),
            Some(Ok(package)) => package,
        };
        if package.hash != seen {
            let message = format!("The plugin {name} has changed since you looked at it.");
            return Err(
                Fault::new(ErrorCode::VersionConflict, message).with_hint("Look at it again.")
            );
        }
        let row = Acceptance {
            person: shared.setup.owner.clone(),
            kind: AcceptanceKind::McpTool,
            name: accepted_as(name),
            hash: package.hash,
            content: package.content.clone(),
            accepted_at: shared.setup.clock.wall(),
        };
        let audit = shared.audit(approver, format!("accepted the plugin {name} as {seen}"));
        shared.setup.acceptances.accept(vec![row], audit).await?;
        self.look_again().await?;
        shared.changed.notify_one();
        let problems = self.import_skills(approver, package).await;
        let mut view = self.get(name).await?;
        view.problems.extend(problems);
        Ok(view)
    }

    /// Each by itself: one that is there already keeps none of the others away.
    async fn import_skills(&self, approver: &Approver, package: &Package) -> Vec<String> {
        let mut problems = Vec::new();
        for name in &package.skills {
            let brought = SkillPackage::of_files(None, package.skill(name));
            let imported = match brought {
                Ok(brought) => self.shared.setup.skills.import(approver, brought).await.map(drop),
                Err(fault) => Err(fault),
            };
            if let Err(fault) = imported {
                problems.push(format!("skills/{name}: {}", fault.message));
            }
        }
        problems
    }

    /// May it be switched on?
    pub async fn check_enabling(&self, name: &str) -> Result<(), Fault> {
        let view = self.get(name).await?;
        let waits = |why: &str| {
            let message = format!("The plugin {name} {why}.");
            let hint = format!(
                "Look at what it asks for (`onyx plugins show {name}`), then `onyx plugins accept \
                 {name}`."
            );
            Err(Fault::new(ErrorCode::ConfirmationRequired, message).with_hint(hint))
        };
        match view.state {
            PluginState::Accepted => Ok(()),
            PluginState::New => waits("was not accepted"),
            PluginState::Changed => waits("is not what was accepted any more"),
            PluginState::Missing => Err(no_such(name)),
            PluginState::Broken(why) => Err(broken(&why)),
        }
    }

    /// Forgets the failures of its program and starts it now.
    pub fn start_anew(&self, name: &str) {
        if let Some(slot) = self.shared.slot(name) {
            slot.start_anew();
        }
    }

    /// Takes it away with what it kept. Skills that came with it stay in the vault.
    pub async fn remove(&self, approver: &Approver, name: &str) -> Result<(), Fault> {
        let shared = &self.shared;
        if let Some(slot) = shared.slot(name) {
            slot.stop().await;
        }
        let folders = [
            shared.setup.folder.join(name),
            shared.data_folder(name),
            shared.setup.cache.join(name),
        ];
        let remove = move || folders.iter().try_for_each(|folder| remove_folder(folder));
        let removed = tokio::task::spawn_blocking(remove).await;
        let removed =
            removed.map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))?;
        removed.map_err(|error| not_written(&error))?;
        let audit = shared.audit(approver, format!("removed the plugin {name}"));
        let (owner, kind) = (&shared.setup.owner, AcceptanceKind::McpTool);
        shared.setup.acceptances.withdraw(owner, kind, vec![accepted_as(name)], audit).await?;
        self.look_again().await?;
        shared.changed.notify_one();
        Ok(())
    }
}

impl Shared {
    fn audit(&self, approver: &Approver, what: String) -> AuditEntry {
        AuditEntry {
            ts: self.setup.clock.wall(),
            person: self.setup.owner.clone(),
            actor_kind: "person".to_owned(),
            actor: approver.person().to_string(),
            agent: None,
            session: None,
            run: None,
            tool: Some("plugin".to_owned()),
            effect: None,
            decision: None,
            diff_summary: what,
            result: "ok".to_owned(),
        }
    }
}

/// Written beside its place and then put there: a crash leaves the old one or the new one.
fn put(root: &Path, package: &Package) -> std::io::Result<()> {
    let (place, new, old) = (
        root.join(&package.name),
        root.join(format!(".new-{}", package.name)),
        root.join(format!(".old-{}", package.name)),
    );
    remove_folder(&new)?;
    remove_folder(&old)?;
    fs::create_dir_all(&new)?;
    package.files.write_to(&new)?;
    if place.exists() {
        fs::rename(&place, &old)?;
    }
    fs::rename(&new, &place)?;
    remove_folder(&old)
}

fn remove_folder(folder: &Path) -> std::io::Result<()> {
    if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) }
}

fn not_written(error: &std::io::Error) -> Fault {
    let message = format!("The folder of plugins cannot be written: {error}");
    Fault::new(ErrorCode::StorageFailed, message)
}

fn broken(why: &str) -> Fault {
    let message = format!("This is no plugin: {why}");
    Fault::new(ErrorCode::InvalidRequest, message)
        .with_hint("A plugin is a folder with a plugin.json, or a manifest.yaml.")
}
