//! The changes that the owner makes to plugins: add, accept, restart, remove.

use onyx_tools::SkillPackage;
use onyx_types::{Approver, ErrorCode, Fault, Hash};

use super::view::no_such;
use super::{PluginState, PluginView, Plugins};
use crate::PackageFiles;
use crate::package::Package;

impl Plugins {
    /// Adds a package to the folder of plugins, replacing one of the same name. It then waits for
    /// acceptance.
    pub async fn add(&self, files: PackageFiles) -> Result<PluginView, Fault> {
        let package = Package::of_files(files).map_err(|why| broken(&why))?;
        let name = package.name.clone();
        self.parts.folder.put(package).await?;
        self.look_again().await?;
        self.parts.changed.notify_one();
        self.get(&name).await
    }

    /// Accepts exactly this package with the grants it asks for. Its skills are copied into the
    /// vault, where they wait for acceptance like any other.
    pub async fn accept(
        &self,
        approver: &Approver,
        name: &str,
        seen: Hash,
    ) -> Result<PluginView, Fault> {
        let found = self.parts.folder.packages().await?;
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
        self.parts.acceptances.accept(approver, package).await?;
        self.look_again().await?;
        self.parts.changed.notify_one();
        let problems = self.import_skills(approver, package).await;
        let mut view = self.get(name).await?;
        view.problems.extend(problems);
        Ok(view)
    }

    /// Imports each skill separately, so that an existing one does not stop the others.
    async fn import_skills(&self, approver: &Approver, package: &Package) -> Vec<String> {
        let mut problems = Vec::new();
        for name in &package.skills {
            let skill_package = SkillPackage::of_files(None, package.skill(name));
            let imported = match skill_package {
                Ok(skill_package) => {
                    self.parts.skills.import(approver, skill_package).await.map(drop)
                }
                Err(fault) => Err(fault),
            };
            if let Err(fault) = imported {
                problems.push(format!("skills/{name}: {}", fault.message));
            }
        }
        problems
    }

    /// Checks that the plugin may be enabled.
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
            PluginState::Changed => waits("has changed since it was accepted"),
            PluginState::Missing => Err(no_such(name)),
            PluginState::Broken(why) => Err(broken(&why)),
        }
    }

    /// Clears the failures of the plugin's program and starts it now.
    pub fn start_anew(&self, name: &str) {
        if let Some(plugin) = self.parts.enabled.get(name) {
            plugin.start_anew();
        }
    }

    /// Deletes the plugin with its data. Skills that came with it stay in the vault.
    pub async fn remove(&self, approver: &Approver, name: &str) -> Result<(), Fault> {
        if let Some(plugin) = self.parts.enabled.get(name) {
            plugin.stop().await;
        }
        self.parts.folder.remove(name).await?;
        self.parts.acceptances.withdraw(approver, name).await?;
        self.look_again().await?;
        self.parts.changed.notify_one();
        Ok(())
    }
}

fn broken(why: &str) -> Fault {
    let message = format!("This is not a plugin: {why}");
    Fault::new(ErrorCode::InvalidRequest, message)
        .with_hint("A plugin is a folder with a plugin.json, or a manifest.yaml.")
}
