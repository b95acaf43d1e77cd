//! Lists the tools of `src/builtin/plain` at build time, so that adding a tool means adding one
//! file.
#![allow(clippy::disallowed_methods, reason = "a build script reads the sources")]
#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src/builtin/plain");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let is_tool =
            path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("mod.rs");
        if is_tool {
            files.push(path);
        }
    }
    files.sort();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("plain_tools.rs"), list(&files)?)?;
    Ok(())
}

/// Generates the modules and the function that makes all of their tools.
fn list(files: &[PathBuf]) -> Result<String, Box<dyn Error>> {
    let (mut modules, mut tools) = (String::new(), String::new());
    for file in files {
        let name =
            file.file_stem().and_then(|name| name.to_str()).ok_or("a file without a name")?;
        writeln!(modules, "#[path = {:?}]\nmod {name};", file.display().to_string())?;
        writeln!(tools, "        ({name}::POSITION, {name}::tool()),")?;
    }
    Ok(format!(
        "{modules}\n/// Each with its position.\nfn listed() -> Vec<(u16, Arc<dyn Tool>)> {{\n    vec![\n{tools}    ]\n}}\n"
    ))
}
