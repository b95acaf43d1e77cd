//! `onyx init`: a home that works, with comments. What is there already is left alone.

use anyhow::Result;
use onyx_identity::OWNER;

use crate::exit::Exit;
use crate::files::{self, Written};
use crate::home::HomeFolder;
use crate::output;

pub(crate) fn run(home: &HomeFolder) -> Result<Exit> {
    write_missing(home, output::line)?;
    output::aside(&format!(
        "Next: name your model in {}, then `onyx doctor`, `onyx chat`.",
        home.config().display()
    ));
    Ok(Exit::Done)
}

/// What is there already is left alone.
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
            Written::New => "wrote",
            Written::Kept => "kept",
        };
        tell(&format!("{done} {}", path.display()));
    }
    Ok(())
}
