//! Writes the pages of `docs/` that come from code, so that they always match it.

mod events;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use onyx_types::ErrorCode;

const ERRORS: &str = "docs/errors.md";

const ERRORS_OPENING: &str = "\
<!-- Written by `cargo xtask docs` from the table in crates/types/src/error.rs. Edit that. -->

# Errors

Every error that a client can see has one of these codes. Over HTTP it is `application/problem+json` with `code`,
`title`, `detail` and `hint`; inside a stream it is an `error` event with `code`, `message` and `hint`, and the status
below is not sent, because the answer has begun already.

| code | HTTP status | what happened | what to do |
|---|---|---|---|
";

const EVENTS: &str = "docs/reference/events.md";
const OPENAPI: &str = "docs/openapi.json";

pub(crate) fn write(root: &Path) -> Result<()> {
    for (name, page) in pages(root)? {
        let path = root.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder of {name}"))?;
        }
        std::fs::write(path, page).with_context(|| format!("cannot write {name}"))?;
        println!("docs: wrote {name}");
    }
    Ok(())
}

pub(crate) fn check(root: &Path) -> Result<()> {
    for (name, page) in pages(root)? {
        let current = std::fs::read_to_string(root.join(name))
            .with_context(|| format!("cannot read {name}"))?;
        if current != page {
            bail!("{name} does not match the code. Run `make docs` and commit it.");
        }
        println!("docs: {name} matches the code");
    }
    Ok(())
}

/// The generated pages, each with its path.
fn pages(root: &Path) -> Result<[(&'static str, String); 2]> {
    let openapi = std::fs::read_to_string(root.join(OPENAPI))
        .with_context(|| format!("cannot read {OPENAPI}"))?;
    Ok([(ERRORS, errors_page()), (EVENTS, events::page(&openapi)?)])
}

fn errors_page() -> String {
    let mut page = String::from(ERRORS_OPENING);
    for code in ErrorCode::ALL {
        let (status, sentence, hint) = (code.http_status(), code.sentence(), code.hint());
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| `{code}` | {status} | {} | {} |", cell(sentence), cell(hint));
    }
    page
}

/// The text with bars escaped, because a bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_with(page: &str) -> std::io::Result<tempfile::TempDir> {
        let root = tempfile::tempdir()?;
        std::fs::create_dir(root.path().join("docs"))?;
        std::fs::write(root.path().join(ERRORS), page)?;
        let schemas =
            r#"{"components": {"schemas": {"Line": {"oneOf": []}, "Envelope": {"oneOf": []}}}}"#;
        std::fs::write(root.path().join(OPENAPI), schemas)?;
        Ok(root)
    }

    #[test]
    fn the_page_has_a_row_for_every_code() {
        let page = errors_page();
        let rows = page.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, ErrorCode::ALL.len());
        assert!(page.contains("| `session_busy` | 409 |"));
    }

    #[test]
    fn a_page_that_drifted_is_refused_and_writing_mends_it() {
        let root = root_with("an older page").unwrap();
        assert!(check(root.path()).is_err());
        write(root.path()).unwrap();
        check(root.path()).unwrap();
    }
}
