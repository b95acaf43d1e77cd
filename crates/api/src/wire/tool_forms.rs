//! Tools that a client does not write as plain functions. Models are offered functions; the calls
//! are converted back into the client's own form.

use std::collections::BTreeMap;

/// The separator between a namespace and a tool's name, in the name that models see.
const SEPARATOR: &str = "__";

/// The tools of one request that are not plain functions, by the name that the model sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolForms(BTreeMap<String, ToolForm>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolForm {
    /// A tool of a group. Codex groups tools and names the group beside the tool.
    Namespaced { namespace: String, name: String },
    /// The tool takes a text instead of JSON; models give it as the field `input`.
    Custom,
    /// OpenAI's `functions`, the older form of tools.
    Legacy,
}

/// The one argument of a tool that takes a text.
pub(crate) const CUSTOM_INPUT: &str = "input";

impl ToolForms {
    pub(crate) fn add(&mut self, name: String, form: ToolForm) {
        self.0.insert(name, form);
    }

    pub(crate) fn of(&self, name: &str) -> Option<&ToolForm> {
        self.0.get(name)
    }

    /// The name under which a model sees a tool of a namespace.
    pub(crate) fn flat(namespace: &str, name: &str) -> String {
        format!("{namespace}{SEPARATOR}{name}")
    }
}
