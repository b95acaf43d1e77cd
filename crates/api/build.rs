//! Creates the folders of the web app's and the manual's builds, because the crate embeds them
//! whether or not they were built.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "how a build script reads and speaks"
)]

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    for built in ["../../web/dist", "../../docs/dist"] {
        std::fs::create_dir_all(built)?;
        // A release build embeds the files, so it is repeated when they change; other builds read
        // the folder at run time.
        if std::env::var("PROFILE").as_deref() == Ok("release") {
            println!("cargo::rerun-if-changed={built}");
        }
    }
    Ok(())
}
