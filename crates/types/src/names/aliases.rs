//! Names that other programs, and early plans of Onyx, use for things that Onyx also has. Configs
//! may use these names, and imports write our own instead.

/// Other names of tools and groups of tools, each with our own.
const TOOLS: [(&str, &str); 13] = [
    ("apply_patch", "edit_file"),
    ("bash", "exec"),
    ("cron", "schedule"),
    ("edit", "edit_file"),
    ("grep", "search_files"),
    ("group:automation", "group:schedule"),
    ("ls", "list_files"),
    ("memory_read", "memory_get"),
    ("read", "read_file"),
    ("sessions_spawn", "ask_agent"),
    ("shell_exec", "exec"),
    ("spawn", "ask_agent"),
    ("write", "write_file"),
];

/// Other names of providers (the part before the `/` of a model's name), each with our own.
const PROVIDERS: [(&str, &str); 7] = [
    ("amazon-bedrock", "bedrock"),
    ("claude-cli", "claude-subscription"),
    ("github-copilot", "github_copilot"),
    ("google", "gemini"),
    ("google-vertex", "vertex_ai"),
    ("openai-codex", "chatgpt"),
    ("together-ai", "together"),
];

/// Our own name of a tool, or of a group of tools (`group:<group>`). Any other name is returned
/// unchanged.
pub fn our_tool_name(name: &str) -> &str {
    ours(&TOOLS, name)
}

/// Our own name of a provider. Any other name is returned unchanged.
pub fn our_provider_name(name: &str) -> &str {
    ours(&PROVIDERS, name)
}

fn ours<'n>(table: &[(&str, &'static str)], name: &'n str) -> &'n str {
    table.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| ours)
}

#[cfg(test)]
mod tests {
    use super::{our_provider_name, our_tool_name};

    #[test]
    fn a_name_of_another_program_is_read_as_ours_and_all_others_stay() {
        assert_eq!(our_tool_name("shell_exec"), "exec");
        assert_eq!(our_tool_name("memory_read"), "memory_get");
        assert_eq!(our_tool_name("web_search"), "web_search");
        assert_eq!(our_provider_name("google"), "gemini");
        assert_eq!(our_provider_name("mine"), "mine");
    }
}
