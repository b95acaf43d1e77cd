//! Plugins: third-party packages, each with a list of the grants it asks for.
//!
//! A package is an Agent Plugins 1.0 folder: skills, MCP servers, and our manifest
//! (`dev.onyx/onyx.json`) with a program that offers connectors and hooks over JSON-RPC. Nothing of
//! a package is used before the owner has accepted exactly its files; a changed package must be
//! accepted again. Its program runs in the sandbox with its grants and nothing else, and is
//! restarted when it fails.
//!
//! The binary and the admin routes use [`Plugins`]. A hook can veto a call or add a note to it, but
//! never allow one. If its program does not answer in time, that counts as a veto.
//!
//! What may not enter: policy (the gate decides), prompts, surfaces, the config file.

mod connector;
mod error;
mod hooks;
mod host;
mod package;
mod plugins;
mod process;
mod settings;

pub use error::PluginError;
pub use host::{PluginStatus, WaitTimes};
pub use package::{
    ConnectorPart, GrantedFolders, Grants, Hook, HookEvent, PackageFiles, ServerPart,
};
pub use plugins::{PluginState, PluginView, Plugins, PluginsSetup};
pub use settings::{BadPluginSettings, PluginsSettings};
