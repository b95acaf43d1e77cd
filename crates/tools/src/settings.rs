use serde::Deserialize;

use crate::{DockerSettings, GitSettings, LinkedInSettings, MenosSettings, WebSettings};

/// `tools` of the config, as written: what tools work with, regardless of who may use them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolsSettings {
    pub web: WebSettings,
    pub git: GitSettings,
    pub docker: DockerSettings,
    pub menos: MenosSettings,
    pub linkedin: LinkedInSettings,
}
