//! `onyx init`: a home that works, with comments. What is there already is left alone.

use std::path::Path;

use anyhow::Result;
use onyx_identity::OWNER;

use crate::exit::Exit;
use crate::files::{self, Written};
use crate::home::HomeFolder;
use crate::output;

pub(crate) fn run(home: &HomeFolder) -> Result<Exit> {
    let config = home.config();
    let agent = home.path().join("agents/main");
    let person = home.path().join("people").join(OWNER);
    for folder in [home.path(), &agent, &person] {
        files::make_folder(folder)?;
    }
    write(&config, include_str!("../../templates/onyx.json"))?;
    write(&agent.join("AGENTS.md"), include_str!("../../templates/AGENTS.md"))?;
    write(&agent.join("SOUL.md"), include_str!("../../templates/SOUL.md"))?;
    write(&person.join("USER.md"), include_str!("../../templates/USER.md"))?;
    output::aside(&format!(
        "Next: name your model in {}, then `onyx doctor`, `onyx chat`.",
        config.display()
    ));
    Ok(Exit::Done)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let done = match files::write_new(path, text)? {
        Written::New => "wrote",
        Written::Kept => "kept",
    };
    output::line(&format!("{done} {}", path.display()));
    Ok(())
}
