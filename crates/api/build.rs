//! The folder of the web app's build must be there to be looked into, built or not.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "how a build script reads and speaks"
)]

fn main() -> std::io::Result<()> {
    const DIST: &str = "../../web/dist";
    std::fs::create_dir_all(DIST)?;
    println!("cargo::rerun-if-changed=build.rs");
    // A release carries the files and must follow them; other builds read the folder as they run.
    if std::env::var("PROFILE").as_deref() == Ok("release") {
        println!("cargo::rerun-if-changed={DIST}");
    }
    Ok(())
}
