//! `onyx init`: creates a working home with a commented config. Existing files are left alone.

use anyhow::Result;
use onyx_identity::OWNER;

use crate::exit::Exit;
use crate::files::{self, WriteOutcome};
use crate::home::HomeFolder;
use crate::output;

pub(crate) fn run(home: &HomeFolder) -> Result<Exit> {
    write_missing(home, output::line)?;
    output::aside(&format!(
        "Next: set your model in {}, then run `onyx doctor` and `onyx chat`.",
        home.config().display()
    ));
    Ok(Exit::Done)
}

/// Creates the missing folders and files. Existing ones are left alone.
pub(super) fn write_missing(home: &HomeFolder, tell: fn(&str)) -> Result<()> {
    let agent = home.path().join("agents/main");
    let person = home.path().join("people").join(OWNER);
    for folder in [home.path(), &agent, &person] {
        files::make_folder(folder)?;
    }
    let texts = [
        (home.config(), include_str!("../../templates/onyx.json")),
        (agent.join("AGENTS.md"), include_str!("../../templates/AGENTS.md")),
        (agent.join("SOUL.md"), include_str!("../../templates/SOUL.md")),
        (person.join("USER.md"), include_str!("../../templates/USER.md")),
    ];
    for (path, text) in texts {
        let done = match files::write_new(&path, text)? {
            WriteOutcome::New => "wrote",
            WriteOutcome::Kept => "kept",
        };
        tell(&format!("{done} {}", path.display()));
    }
    Ok(())
}
