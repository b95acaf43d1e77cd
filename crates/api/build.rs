//! The folders of the web app's and the manual's builds must be there to be looked into, built or not.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "how a build script reads and speaks"
)]

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    for built in ["../../web/dist", "../../docs/dist"] {
        std::fs::create_dir_all(built)?;
        // A release carries the files and must follow them; other builds read the folder as they run.
        if std::env::var("PROFILE").as_deref() == Ok("release") {
            println!("cargo::rerun-if-changed={built}");
        }
    }
    Ok(())
}
