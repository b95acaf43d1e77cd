use serde::Deserialize;

use crate::{DockerSettings, GitSettings, LinkedInSettings, MenosSettings, WebSettings};

/// The `tools` section of the config as written: settings of the tools' services, not of who may
/// use them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolsSettings {
    pub web: WebSettings,
    pub git: GitSettings,
    pub docker: DockerSettings,
    pub menos: MenosSettings,
    pub linkedin: LinkedInSettings,
}
