//! The programs in `mcp.json` that offer tools, as Agent Plugins 1.0 defines them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use onyx_mcp::{Folders, ServerSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::onyx_manifest::{Grants, check_program};

const MCP_SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";
const ROOT: &str = "${PLUGIN_ROOT}";
const DATA: &str = "${PLUGIN_DATA}";
const RESERVED: [&str; 2] = ["PLUGIN_ROOT", "PLUGIN_DATA"];

/// One server of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerPart {
    pub name: String,
    #[serde(flatten)]
    pub(crate) form: ServerForm,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum ServerForm {
    Stdio {
        command: String,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        env: BTreeMap<String, String>,
        #[serde(default)]
        cwd: Option<String>,
    },
    StreamableHttp {
        url: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

/// The folders of a package when its programs run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackageFolders {
    /// A copy of exactly the accepted files.
    pub(crate) root: PathBuf,
    /// The folder for the plugin's own data, which is kept between runs.
    pub(crate) data: PathBuf,
}

/// Reads the servers. Unusable ones are noted as problems; the others are kept.
pub(super) fn read(
    bytes: &[u8],
    contains: &dyn Fn(&str) -> bool,
    grants: &Grants,
    problems: &mut Vec<String>,
) -> Vec<ServerPart> {
    let servers = match top_level(bytes) {
        Ok(servers) => servers,
        Err(why) => {
            problems.push(format!("mcp.json: {why}"));
            return Vec::new();
        }
    };
    let mut good = Vec::new();
    for (name, written) in servers {
        let read = server(written, contains).and_then(|form| match form.ungranted(grants) {
            Some(secret) => Err(format!("the secret {secret} is not among its grants")),
            None => Ok(form),
        });
        match read {
            Ok(form) => good.push(ServerPart { name, form }),
            Err(why) => problems.push(format!("mcp.json: {name}: {why}")),
        }
    }
    good
}

fn top_level(bytes: &[u8]) -> Result<Vec<(String, Value)>, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let fields = value.as_object().ok_or("it must be an object")?;
    if fields.get("$schema").and_then(Value::as_str) != Some(MCP_SCHEMA) {
        return Err(format!("$schema must be {MCP_SCHEMA}"));
    }
    if fields.keys().any(|key| !["$schema", "mcpServers"].contains(&key.as_str())) {
        return Err("it has $schema and mcpServers only".to_owned());
    }
    let servers = fields.get("mcpServers").and_then(Value::as_object);
    let servers = servers.ok_or("mcpServers must be an object")?;
    Ok(servers.iter().map(|(name, server)| (name.clone(), server.clone())).collect())
}

fn server(written: Value, contains: &dyn Fn(&str) -> bool) -> Result<ServerForm, String> {
    if written["type"] == "sse" {
        return Err("the transport sse is not supported".to_owned());
    }
    let form: ServerForm = serde_json::from_value(written).map_err(|error| error.to_string())?;
    match &form {
        ServerForm::Stdio { command, env, cwd, .. } => {
            check_program(command, contains)?;
            if let Some(name) = env.keys().find(|name| RESERVED.contains(&name.as_str())) {
                return Err(format!("env: {name} is set by Onyx"));
            }
            if let Some(cwd) = cwd {
                check_folder(cwd)?;
            }
        }
        ServerForm::StreamableHttp { url, .. } => {
            let near = ["http://localhost", "http://127.0.0.1", "http://[::1]"];
            if !url.starts_with("https://") && !near.iter().any(|near| url.starts_with(near)) {
                return Err("url must begin with https://".to_owned());
            }
        }
    }
    Ok(form)
}

impl ServerForm {
    /// A secret that the server names but that was not granted. In settings, `secret:` would
    /// otherwise open any secret.
    fn ungranted(&self, grants: &Grants) -> Option<String> {
        let values = match self {
            Self::Stdio { env, .. } => env.values(),
            Self::StreamableHttp { headers, .. } => headers.values(),
        };
        let mut secrets = values.filter_map(|value| value.strip_prefix("secret:"));
        let is_granted = |secret: &str| grants.secrets.iter().any(|granted| granted == secret);
        secrets.find(|secret| !is_granted(secret)).map(str::to_owned)
    }
}

fn check_folder(cwd: &str) -> Result<(), String> {
    let rooted = [ROOT, DATA].iter().find_map(|start| cwd.strip_prefix(start));
    let rooted = rooted.filter(|inside| inside.is_empty() || inside.starts_with('/'));
    let inside = cwd.strip_prefix("./").or(rooted);
    let inside = inside.ok_or("cwd must begin with ./, ${PLUGIN_ROOT} or ${PLUGIN_DATA}")?;
    let climbs = |part: Component<'_>| matches!(part, Component::ParentDir);
    if Path::new(inside.trim_start_matches('/')).components().any(climbs) {
        return Err("cwd leads out of the package".to_owned());
    }
    Ok(())
}

impl ServerPart {
    /// The server's settings in the config's form, with the plugin's grants and nothing else.
    pub(crate) fn settings(&self, grants: &Grants, folders: &PackageFolders) -> ServerSettings {
        match &self.form {
            ServerForm::StreamableHttp { url, headers } => ServerSettings {
                url: Some(url.clone()),
                headers: headers.clone(),
                ..ServerSettings::default()
            },
            ServerForm::Stdio { command, args, env, cwd } => {
                let folder = match cwd.as_deref() {
                    None => folders.root.display().to_string(),
                    Some(cwd) => match cwd.strip_prefix("./") {
                        Some(inside) => folders.root.join(inside).display().to_string(),
                        None => folders.expand(cwd),
                    },
                };
                let mut words = vec!["-C".to_owned(), folder, folders.program(command)];
                words.extend(args.iter().map(|word| folders.expand(word)));
                let mut env: BTreeMap<String, String> =
                    env.iter().map(|(name, value)| (name.clone(), folders.expand(value))).collect();
                env.extend(folders.variables());
                ServerSettings {
                    // A program can be started in another folder only by `env`.
                    command: Some("env".to_owned()),
                    args: words,
                    env,
                    network: grants.network.clone(),
                    folders: folders.granted(grants),
                    ..ServerSettings::default()
                }
            }
        }
    }
}

impl PackageFolders {
    pub(crate) fn program(&self, command: &str) -> String {
        match command.strip_prefix("./") {
            Some(path) => self.root.join(path).display().to_string(),
            None => command.to_owned(),
        }
    }

    /// Replaces each placeholder once; the replacement is not expanded again.
    fn expand(&self, text: &str) -> String {
        let (root, data) = (self.root.display().to_string(), self.data.display().to_string());
        let pieces = text.split(ROOT).map(|piece| piece.replace(DATA, &data));
        pieces.collect::<Vec<_>>().join(&root)
    }

    pub(crate) fn variables(&self) -> [(String, String); 2] {
        let [root, data] = RESERVED.map(str::to_owned);
        [(root, self.root.display().to_string()), (data, self.data.display().to_string())]
    }

    pub(crate) fn granted(&self, grants: &Grants) -> Folders {
        let (mut read, mut write) = (grants.folders.read.clone(), grants.folders.write.clone());
        read.push(self.root.clone());
        write.push(self.data.clone());
        Folders { read, write }
    }
}
