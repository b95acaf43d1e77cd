//! The agents of a config, the models they ask for, and what a person chose for them.

pub(crate) mod models;
pub(crate) mod preferences;
pub(crate) mod roster;
pub(crate) mod settings;
