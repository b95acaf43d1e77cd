use super::{NotAToolName, ToolName};

/// The tool that a row of the audit log is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordedTool {
    Named(ToolName),
    /// A text that is no tool's name: a model made it up, or another version wrote it. It is kept
    /// letter by letter, because the row's hash covers it.
    Invalid(String),
}

impl RecordedTool {
    /// Names a tool, or an action of a person that is recorded like one, by a constant of our own
    /// code.
    pub const fn constant(name: &'static str) -> Self {
        Self::Named(ToolName::constant(name))
    }

    /// Reads a tool as a row holds it, or as a model named it. [`RecordedTool::as_str`] gives the
    /// same text again, whatever it is.
    pub fn read(text: String) -> Self {
        match text.parse() {
            Ok(name) => Self::Named(name),
            Err(NotAToolName) => Self::Invalid(text),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Named(name) => name.as_str(),
            Self::Invalid(text) => text,
        }
    }
}

impl From<ToolName> for RecordedTool {
    fn from(name: ToolName) -> Self {
        Self::Named(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_tool_is_written_as_it_was_read() {
        let named = RecordedTool::read("mcp:files/read".to_owned());
        assert_eq!(named, RecordedTool::constant("mcp:files/read"));
        assert_eq!(named.as_str(), "mcp:files/read");
        for text in ["", "read file", "1st", "näme"] {
            let read = RecordedTool::read(text.to_owned());
            assert_eq!(read, RecordedTool::Invalid(text.to_owned()));
            assert_eq!(read.as_str(), text);
        }
    }
}
