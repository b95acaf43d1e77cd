use async_trait::async_trait;
use onyx_types::{
    AgentId, CallLabel, HomePath, Origin, PersonId, Plan, Target, ToolEffect, ToolOutcome,
    ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::skills::{Skill, Skills};
use crate::text::page::page;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

/// Opens an accepted skill, or a file of one.
pub(super) struct OpenSkill {
    spec: ToolSpec,
    skills: Skills,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    name: Option<String>,
    /// A file of the skill instead of its instructions
    file: Option<String>,
    /// First line
    #[schemars(range(min = 1))]
    from: Option<u32>,
}

impl OpenSkill {
    pub(super) fn new(skills: Skills) -> Self {
        let description = "Open a skill by its name; without one, list all.";
        let spec = spec_of::<Arguments>("skill", "skills", ToolEffect::Read, description);
        Self { spec, skills }
    }
}

#[async_trait]
impl TypedTool for OpenSkill {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn has_something_for(&self, person: &PersonId, agent: &AgentId) -> bool {
        self.skills.is_offered(person, agent)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        match (text_argument(arguments, "name"), text_argument(arguments, "file")) {
            ("", _) => Verb::new("list", "listing", "listed").of("skills"),
            (name, "") => {
                Verb::new("open the skill", "opening the skill", "opened the skill").of(name)
            }
            (name, file) => {
                Verb::new("read", "reading", "read").of(format!("{file} of the skill {name}"))
            }
        }
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let name = arguments.name.as_deref().unwrap_or_default();
        let folder = HomePath::new(format!("agents/{}/skills/{name}", cx.agent));
        Ok(reading(&self.spec, Target::Folder(folder)))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let person = &cx.key.person;
        let output = match &arguments.name {
            None => {
                let all = self.skills.overview(person, &cx.agent).await;
                all.map_err(|fault| ToolError::Failed(fault.message))?
            }
            Some(name) => {
                let skill = self.skills.open(person, &cx.agent, name).await?;
                match &arguments.file {
                    Some(file) => page(file, text_of(&skill, file)?, arguments.from, None)?,
                    None => opened(&skill, arguments.from)?,
                }
            }
        };
        // The skill holds its owner's words, or words that the person accepted.
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(Origin::Person))
    }
}

fn opened(skill: &Skill, from: Option<u32>) -> Result<String, ToolError> {
    let mut output = page(&skill.name, skill.body(), from, None)?;
    if !skill.files.is_empty() {
        let files: Vec<&str> = skill.files.keys().map(String::as_str).collect();
        output.push_str(&format!("\n[files of this skill: {}]", files.join(", ")));
    }
    Ok(output)
}

fn text_of<'a>(skill: &'a Skill, file: &str) -> Result<&'a str, ToolError> {
    let bytes = skill.files.get(file).ok_or_else(|| {
        let files: Vec<&str> = skill.files.keys().map(String::as_str).collect();
        let there_are = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
        ToolError::NotFound(format!(
            "file {file:?} in the skill {}; there are: {there_are}",
            skill.name
        ))
    })?;
    std::str::from_utf8(bytes)
        .map_err(|_| ToolError::Arguments(format!("{file} is not text ({} bytes)", bytes.len())))
}
