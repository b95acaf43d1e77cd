//! Exports of programs that have conversations and no agents: ChatGPT, Claude, Open WebUI.

pub(crate) mod chatgpt;
pub(crate) mod claude;
pub(crate) mod open_webui;
mod tree;
