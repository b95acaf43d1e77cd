//! Changes of skills by people: writing, accepting, removing and importing.

use onyx_storage::{
    Acceptance, AcceptanceKind, Area, AuditEntry, Change, Expect, ObjectKey, StoreError,
};
use onyx_types::{Actor, Approver, Author, ErrorCode, Fault, Hash, Origin, PersonId, RecordedTool};

use super::find::{Entry, Shape};
use super::{
    SKILL_FILE, Skill, SkillHead, SkillPackage, SkillPlace, SkillState, Skills, SkillsCore,
    is_skill_name,
};
use crate::PersonFiles;

impl Skills {
    /// Writes the text of a skill in the vault. The person who writes it accepts it thereby.
    pub async fn write(
        &self,
        approver: &Approver,
        name: &str,
        text: &str,
        expect: Expect,
    ) -> Result<Skill, Fault> {
        SkillHead::read(name, text).map_err(|why| broken(name, &why))?;
        let person = approver.person();
        let known = self.shared.one(person, &SkillPlace::Vault, name).await?;
        let path = match &known {
            Some(skill) => skill.path.clone(),
            None => {
                let entry = Entry { name: name.to_owned(), shape: Shape::Folder };
                entry.text_path(&SkillPlace::Vault)?.to_string()
            }
        };
        // Opening the vault creates it if it does not exist yet.
        self.shared.files.objects(&Area::Vault(person.clone()))?;
        let path = format!("vault/{path}");
        self.shared.person_files(person).write(&path, text.as_bytes(), expect).await?;
        let written = self.get(person, None, name).await?;
        self.accept(approver, name, written.hash).await
    }

    /// Accepts exactly the content that the person has looked at.
    pub async fn accept(
        &self,
        approver: &Approver,
        name: &str,
        seen: Hash,
    ) -> Result<Skill, Fault> {
        let person = approver.person();
        let skill = self.get(person, None, name).await?;
        if skill.hash != seen {
            let message = format!("The skill {name} has changed since you looked at it.");
            return Err(
                Fault::new(ErrorCode::VersionConflict, message).with_hint("Look at it again.")
            );
        }
        if let SkillState::Broken(why) = &skill.state {
            return Err(broken(name, why));
        }
        let row = Acceptance {
            person: person.clone(),
            kind: AcceptanceKind::Skill,
            name: skill.acceptance_name(),
            hash: skill.hash,
            content: skill.text,
            accepted_at: self.shared.clock.wall(),
        };
        let audit = self.shared.audit(person, format!("accepted the skill {name} as {seen}"));
        self.shared.accepted.accept(vec![row], audit).await?;
        self.get(person, None, name).await
    }

    /// Removes a skill from the vault. The last versions of its files are kept.
    pub async fn remove(&self, approver: &Approver, name: &str) -> Result<(), Fault> {
        let person = approver.person();
        let skill = self.get(person, None, name).await?;
        if skill.place != SkillPlace::Vault {
            let message = format!("The skill {name} is in {}.", skill.place.folder());
            let hint = "Other programs use that folder too: remove it there by hand.";
            return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint));
        }
        let files = self.shared.person_files(person);
        let beside = skill.files.keys().map(|file| format!("vault/{}/{file}", skill.folder()));
        for path in beside.chain([format!("vault/{}", skill.path)]) {
            files.delete(&path, Expect::Anything).await?;
        }
        if skill.is_folder() {
            let folder: ObjectKey = skill.folder().parse().map_err(StoreError::from)?;
            self.shared.files.objects(&Area::Vault(person.clone()))?.remove_empty(&folder).await?;
        }
        let audit = self.shared.audit(person, format!("removed the skill {name}"));
        let (kind, name) = (AcceptanceKind::Skill, skill.acceptance_name());
        Ok(self.shared.accepted.withdraw(person, kind, vec![name], audit).await?)
    }

    /// Imports foreign skills into the vault, all of them or none. They wait to be accepted.
    pub async fn import(
        &self,
        approver: &Approver,
        package: SkillPackage,
    ) -> Result<Vec<Skill>, Fault> {
        let person = approver.person();
        let skills = package.skills()?;
        for (name, files) in &skills {
            let text = files.get(SKILL_FILE).map(|bytes| String::from_utf8_lossy(bytes));
            SkillHead::read(name, &text.unwrap_or_default()).map_err(|why| broken(name, &why))?;
            if self.shared.one(person, &SkillPlace::Vault, name).await?.is_some() {
                let message = format!("There is a skill {name} already.");
                return Err(Fault::new(ErrorCode::VersionConflict, message)
                    .with_hint("Remove it first, or rename the one that you bring."));
            }
        }
        let mut imported = Vec::new();
        for (name, files) in skills {
            for (file, bytes) in files {
                let path = format!("{}/{name}/{file}", SkillPlace::Vault.folder());
                self.shared.put_foreign(person, &path, &bytes).await?;
            }
            imported.push(self.get(person, None, &name).await?);
        }
        Ok(imported)
    }
}

impl Skill {
    /// The path by which acceptances name the skill: its folder, or its single file.
    fn acceptance_name(&self) -> String {
        if self.is_folder() { self.folder().to_owned() } else { self.path.clone() }
    }

    fn is_folder(&self) -> bool {
        self.path.ends_with(&format!("/{}/{SKILL_FILE}", self.name))
    }

    fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

impl SkillsCore {
    /// Writes a foreign file and records its origin.
    async fn put_foreign(&self, person: &PersonId, path: &str, bytes: &[u8]) -> Result<(), Fault> {
        let objects = self.files.objects(&Area::Vault(person.clone()))?;
        let key: ObjectKey = path.parse().map_err(StoreError::from)?;
        let in_person: ObjectKey = format!("vault/{path}").parse().map_err(StoreError::from)?;
        let change = Change {
            ts: self.clock.wall(),
            author: Author::Person(person.clone()),
            origin: Origin::External,
            run: None,
            tool: "import skill".to_owned(),
        };
        let history = self.files.history(person)?;
        history.keep(&in_person, None, Some(bytes), change).await?;
        objects.put(&key, bytes, Expect::Absent).await?;
        Ok(())
    }

    fn person_files(&self, person: &PersonId) -> PersonFiles {
        PersonFiles::new(self.files.clone(), person.clone(), self.clock.clone())
    }

    fn audit(&self, person: &PersonId, what: String) -> AuditEntry {
        AuditEntry {
            ts: self.clock.wall(),
            person: person.clone(),
            actor: Actor::Person(person.clone()),
            agent: None,
            session: None,
            run: None,
            tool: Some(RecordedTool::constant("skill")),
            effect: None,
            decision: None,
            diff_summary: what,
            result: "ok".to_owned(),
        }
    }
}

fn broken(name: &str, why: &str) -> Fault {
    let message = format!("{name} is not a skill: {why}");
    let hint = if is_skill_name(name) {
        "A skill begins with front matter: a line of ---, `name`, `description`, a line of ---."
    } else {
        "For example: pdf-forms."
    };
    Fault::new(ErrorCode::InvalidRequest, message).with_hint(hint)
}
