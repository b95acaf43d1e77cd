//! `onyx.json`: reads the file, fills in variables and checks it. Each section belongs to the crate that
//! uses it; this module only splits the file into sections.

mod backup;
mod check;
mod dotenv;
mod edit;
mod foreign_names;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod keys;
pub(crate) mod last_good;
mod nearest;
mod path;
mod shared;
mod storage;
mod substitute;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;

use jsonc_parser::errors::ParseError;
use onyx_agent::{AgentsSettings, JobsSettings};
use onyx_api::GatewaySettings;
use onyx_connectors::{Binding, ConnectorsSettings, MailSettings, TranscriberSettings};
use onyx_identity::PersonSettings;
use onyx_import::JSON5;
use onyx_knowledge::MemorySettings;
use onyx_mcp::McpSettings;
use onyx_plugins::PluginsSettings;
use onyx_providers::{ModelsSettings, ProviderSettings, RoutingSettings};
use onyx_storage::StorageSettings;
use onyx_tools::ToolsSettings;
use onyx_types::{Fault, Limits};
use serde_json::{Map, Value};

use crate::env;
use crate::home::HomeFolder;
use check::{Notes, WrongValue};
use path::Path;

pub(crate) use edit::{ConfigText, JsonText};
pub(crate) use shared::{for_sharing, shared};
pub(crate) use substitute::Missing;
pub(crate) use watch::watch;

/// All keys at the top of the file.
const SECTIONS: &[&str] = &[
    "gateway",
    "providers",
    "agents",
    "default_model",
    "models",
    "limits",
    "routing",
    "tools",
    "bindings",
    "connectors",
    "channels",
    "plugins",
    "memory",
    "people",
    "jobs",
    "mail",
    "storage",
    "mcp",
];

/// How deep the file may be nested. The parser would follow deeper nesting until its stack
/// overflows.
const MAX_DEPTH: usize = 100;

#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    pub(crate) gateway: GatewaySettings,
    /// The providers in the order of the file: the first is the default.
    pub(crate) providers: Vec<(String, ProviderSettings)>,
    pub(crate) agents: AgentsSettings,
    pub(crate) people: Vec<PersonSettings>,
    pub(crate) jobs: JobsSettings,
    pub(crate) default_model: Option<String>,
    /// Aliases of models.
    pub(crate) models: ModelsSettings,
    pub(crate) limits: Limits,
    /// The models for each class of task, for agents whose model is `auto`.
    pub(crate) routing: RoutingSettings,
    pub(crate) memory: MemorySettings,
    /// Accounts on other networks, and which agent answers which peer there.
    pub(crate) connectors: ConnectorsSettings,
    pub(crate) bindings: Vec<Binding>,
    /// The transcriber of recordings: `connectors.transcriber`.
    pub(crate) transcriber: Option<TranscriberSettings>,
    /// The server that sends mail.
    pub(crate) mail: Option<MailSettings>,
    /// Settings of tools.
    pub(crate) tools: ToolsSettings,
    /// Programs that offer tools to agents.
    pub(crate) mcp: McpSettings,
    /// Settings of plugins.
    pub(crate) plugins: PluginsSettings,
    /// Where everything is stored; empty means the home folder.
    pub(crate) storage: StorageSettings,
    pub(crate) environment: Environment,
    /// Warnings about settings that work but are probably mistakes.
    pub(crate) warnings: Vec<String>,
    pub(crate) missing: Vec<Missing>,
    pub(crate) source: Source,
    text: Option<FileText>,
}

/// The text of the file. It may hold keys, so it is never shown.
#[derive(Clone)]
struct FileText(String);

impl fmt::Debug for FileText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileText(…)")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    File,
    /// There is no file, so all settings have their defaults.
    #[default]
    Defaults,
}

/// The variables of the process's environment, and those of `.env` that it lacks.
#[derive(Clone, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        env::named(name).or_else(|| self.0.get(name).cloned())
    }
}

/// Values may be secrets, so they are not printed.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// Why the file cannot be used, and the key that caused the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigError {
    message: String,
    field: Option<String>,
}

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), field: None }
    }

    pub(crate) fn at(field: impl Into<String>, why: impl fmt::Display) -> Self {
        let field = field.into();
        Self { message: format!("{field}: {why}"), field: Some(field) }
    }

    /// An error in a section whose message already contains the path in it.
    pub(crate) fn in_section(section: &str, fault: &Fault) -> Self {
        Self { message: fault.message.clone(), field: Some(section.to_owned()) }
    }

    pub(crate) fn of(error: &anyhow::Error) -> Self {
        Self::new(format!("{error:#}"))
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The path of the key that caused the error, if it is a single key.
    pub(crate) fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
}

impl From<Fault> for ConfigError {
    fn from(fault: Fault) -> Self {
        Self::new(fault.message)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "onyx.json: {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

impl From<WrongValue> for ConfigError {
    fn from(wrong: WrongValue) -> Self {
        Self::at(wrong.at, wrong.why)
    }
}

pub(crate) fn load(home: &HomeFolder) -> Result<Config, ConfigError> {
    let (environment, warnings) = read_dotenv(home)?;
    let text = match std::fs::read(home.config()) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| ConfigError::new("it is not UTF-8"))?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Config { environment, warnings, ..Config::default() });
        }
        Err(error) => return Err(ConfigError::new(format!("it cannot be read: {error}"))),
    };
    parse_with(home, text, environment, warnings)
}

/// Reads a text as if it were the file.
pub(crate) fn read(home: &HomeFolder, text: String) -> Result<Config, ConfigError> {
    let (environment, warnings) = read_dotenv(home)?;
    parse_with(home, text, environment, warnings)
}

fn parse_with(
    home: &HomeFolder,
    text: String,
    environment: Environment,
    mut warnings: Vec<String>,
) -> Result<Config, ConfigError> {
    let mut config = parse(&text, environment)?;
    warnings.append(&mut config.warnings);
    config.warnings = warnings;
    foreign_names::adopt(&mut config, home.path());
    config.text = Some(FileText(text));
    Ok(config)
}

fn read_dotenv(home: &HomeFolder) -> Result<(Environment, Vec<String>), ConfigError> {
    let bytes = match std::fs::read(home.dotenv()) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            return Err(ConfigError::new(format!(".env beside it cannot be read: {error}")));
        }
    };
    let (values, bad) = dotenv::parse(&String::from_utf8_lossy(&bytes));
    let warnings = bad.iter().map(|line| format!(".env: line {line} is not NAME=value")).collect();
    Ok((Environment(values), warnings))
}

fn parse(text: &str, environment: Environment) -> Result<Config, ConfigError> {
    parse_sections(top_level(text)?, environment)
}

fn parse_sections(
    mut sections: Map<String, Value>,
    environment: Environment,
) -> Result<Config, ConfigError> {
    let root = Path::root();
    let mut notes = Notes::default();
    check::note_unknown(&root, &sections, SECTIONS, &mut notes.warnings);
    // Providers replace variables themselves, because each knows which values it cannot do without.
    let providers = sections.shift_remove("providers");
    let mut rest = Value::Object(sections);
    let missing = substitute::substitute(&mut rest, &|name| environment.get(name));
    let mut take = |name: &str| match &mut rest {
        Value::Object(sections) => sections.shift_remove(name).filter(|value| !value.is_null()),
        _ => None,
    };
    let providers = read_providers(providers, &mut notes)?;
    let agents: AgentsSettings = section("agents", take("agents"), &mut notes)?;
    let mut networks = take("connectors");
    let transcriber = networks.as_mut().and_then(Value::as_object_mut);
    let transcriber = transcriber.and_then(|networks| networks.shift_remove("transcriber"));
    let transcriber = match transcriber {
        Some(value) => {
            Some(check::read(&root.key("connectors").key("transcriber"), value, &mut notes)?)
        }
        None => None,
    };
    Ok(Config {
        gateway: section("gateway", take("gateway"), &mut notes)?,
        providers,
        agents,
        people: section("people", take("people"), &mut notes)?,
        jobs: section("jobs", take("jobs"), &mut notes)?,
        default_model: section("default_model", take("default_model"), &mut notes)?,
        limits: section("limits", take("limits"), &mut notes)?,
        models: section("models", take("models"), &mut notes)?,
        routing: section("routing", take("routing"), &mut notes)?,
        memory: section("memory", take("memory"), &mut notes)?,
        connectors: connectors(networks, take("channels"), &mut notes)?,
        transcriber,
        mail: section("mail", take("mail"), &mut notes)?,
        bindings: section("bindings", take("bindings"), &mut notes)?,
        tools: section("tools", take("tools"), &mut notes)?,
        mcp: section("mcp", take("mcp"), &mut notes)?,
        plugins: section("plugins", take("plugins"), &mut notes)?,
        storage: section("storage", take("storage"), &mut notes)?,
        environment,
        warnings: notes.warnings,
        missing,
        source: Source::File,
        text: None,
    })
}

fn unreadable(error: &ParseError) -> ConfigError {
    let at = format!("line {}, column {}", error.line_display(), error.column_display());
    ConfigError::new(format!("{at}: {}", error.kind()))
}

fn top_level(text: &str) -> Result<Map<String, Value>, ConfigError> {
    if deepest(text) > MAX_DEPTH {
        return Err(ConfigError::new(format!("it is nested deeper than {MAX_DEPTH} levels")));
    }
    let value: Value =
        jsonc_parser::parse_to_serde_value(text, &JSON5).map_err(|error| unreadable(&error))?;
    match value {
        Value::Object(sections) => Ok(sections),
        _ => Err(ConfigError::new("it must be an object: { … }")),
    }
}

/// An upper bound of the nesting, because brackets inside strings and comments count too.
fn deepest(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn section<T: serde::de::DeserializeOwned + Default>(
    name: &str,
    value: Option<Value>,
    notes: &mut Notes,
) -> Result<T, ConfigError> {
    let root = Path::root();
    match value {
        Some(value) => Ok(check::read(&root.key(name), value, notes)?),
        None => Ok(T::default()),
    }
}

/// Merges OpenClaw's `channels` into `connectors`. A network in both is read from `connectors`.
fn connectors(
    ours: Option<Value>,
    theirs: Option<Value>,
    notes: &mut Notes,
) -> Result<ConnectorsSettings, ConfigError> {
    let mut all: ConnectorsSettings = section("channels", theirs.map(with_accounts), notes)?;
    let ours: ConnectorsSettings = section("connectors", ours.map(with_accounts), notes)?;
    all.extend(ours);
    Ok(all)
}

/// Makes a network without `accounts` one account that is called `default`.
fn with_accounts(mut networks: Value) -> Value {
    let each = networks.as_object_mut().into_iter().flat_map(|networks| networks.values_mut());
    for network in each {
        if network.is_object() && network.get("accounts").is_none() {
            *network = serde_json::json!({ "accounts": { "default": network.take() } });
        }
    }
    networks
}

fn read_providers(
    value: Option<Value>,
    notes: &mut Notes,
) -> Result<Vec<(String, ProviderSettings)>, ConfigError> {
    let root = Path::root();
    let path = root.key("providers");
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(providers)) => providers
            .into_iter()
            .map(|(name, value)| {
                let settings = check::read(&path.key(&name), value, notes)?;
                Ok((name, settings))
            })
            .collect(),
        Some(_) => Err(ConfigError::at("providers", "it must be an object: { name: { … } }")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest useful config of the specification, which must keep working.
    const SMALLEST: &str = r#"{
      gateway: { port: 18790, auth: { mode: "token", token: "onyx_sk_example" } },
      providers: { mine: { kind: "openai", baseUrl: "http://127.0.0.1:8080/v1", apiKey: "${MY_KEY}" } },
      agents: { list: [ { id: "main", default: true, model: "mine/some-model", tier: "act" } ] },
    }"#;

    fn parse_plain(text: &str) -> Result<Config, ConfigError> {
        parse(text, Environment::default())
    }

    #[test]
    fn the_smallest_config_is_read_without_a_warning() {
        let config = parse_plain(SMALLEST).unwrap();
        assert_eq!(config.gateway.port, Some(18_790));
        assert_eq!(config.gateway.auth.token.as_ref().map(|t| t.as_str()), Some("onyx_sk_example"));
        assert_eq!(config.providers[0].0, "mine");
        assert_eq!(config.agents.list[0].id.as_deref(), Some("main"));
        assert_eq!((config.warnings, config.missing), (vec![], vec![]));
    }

    /// All forms that JSON5 has in addition to JSON, because configs may use any of them.
    const FORMS: &str = r#"// A comment.
    {
      /* Another, /* and all. */
      plain: 'single "quoted"', "quoted key": "double 'quoted'", $dollar_1: 1, ümlaut: 2,
      'key in single quotes': [1, 2, 3,],
      hex: 0xFF, negative_hex: -0x10, plus: +7, leading: .5, trailing: 5., exponent: 1e3, minus: -0,
      escapes: '\x41\u0042\v\0\'', continued: 'one \
two',
      twice: 1, twice: 2,
    }"#;

    #[test]
    fn every_form_of_json5_is_read_and_edited_alike() {
        let value = top_level(FORMS).unwrap();
        let expected = serde_json::json!({
            "plain": "single \"quoted\"", "quoted key": "double 'quoted'", "$dollar_1": 1, "ümlaut": 2,
            "key in single quotes": [1, 2, 3],
            "hex": 255, "negative_hex": -16, "plus": 7, "leading": 0.5, "trailing": 5.0,
            "exponent": 1000.0, "minus": 0, "escapes": "AB\u{b}\0'", "continued": "one two",
            "twice": 2,
        });
        assert_eq!(Value::Object(value), expected);
        let text = ConfigText::parse(FORMS).unwrap().text();
        assert_eq!(text, FORMS);
        for broken in
            ["{ a: 1 b: 2 }", "{ a: 'open }", "{ a: 1,, }", "{ a 1 }", "{} {}", "{ a: NaN }"]
        {
            assert!(top_level(broken).is_err(), "{broken}");
            assert!(ConfigText::parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn errors_say_where_and_hold_no_value() {
        for (text, message) in [
            ("{ gateway: }", "onyx.json: line 1, column 12: Unexpected close brace"),
            (
                "{\n nonsense",
                "onyx.json: line 2, column 10: Expected colon after the string or word in object property",
            ),
            ("[]", "onyx.json: it must be an object: { … }"),
            (
                "{\n gateway: { port: 'sk-secret' } }",
                "onyx.json: gateway.port: invalid type: string, expected u16",
            ),
            (
                "{ gateway: { port: 70000 } }",
                "onyx.json: gateway.port: invalid value: integer `70000`, expected u16",
            ),
            (
                "{ limits: { max_steps: -1 } }",
                "onyx.json: limits.max_steps: invalid value: integer `-1`, expected u32",
            ),
            (
                "{ providers: { a: 5 } }",
                "onyx.json: providers.a: invalid type: integer `5`, expected struct ProviderSettings",
            ),
            ("{ providers: [] }", "onyx.json: providers: it must be an object: { name: { … } }"),
        ] {
            assert_eq!(parse_plain(text).unwrap_err().to_string(), message);
        }
        let deep = format!("{{ a: {}{} }}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse_plain(&deep).is_err());
    }

    #[test]
    fn unknown_keys_warn_with_the_nearest_known_key() {
        let config = parse_plain(
            "{ gatway: {}, agents: { lst: [] }, providers: { a: { kind: 'openai', baseurl: 'x' } } }",
        );
        assert_eq!(
            config.unwrap().warnings,
            [
                "unknown key `gatway`; did you mean `gateway`?",
                "unknown key `providers.a.baseurl`; did you mean `baseUrl`?",
                "unknown key `agents.lst`; did you mean `list`?",
            ]
        );
    }

    #[test]
    fn connectors_are_read_also_as_openclaw_writes_them() {
        let config = parse_plain(
            "{ channels: { telegram: { botToken: 'env:T', allowFrom: [5, 'x'] } }, \
             connectors: { webhook: { accounts: { home: { secret: 's', urll: 'x' } } } }, \
             bindings: [ { agentId: 'main', match: { channel: 'telegram', guildId: '7' } } ] }",
        );
        let config = config.unwrap();
        let account = &config.connectors["telegram"].accounts["default"];
        assert_eq!(account.token.as_ref().map(|token| token.reveal()), Some("env:T"));
        assert!(!format!("{account:?}").contains("env:T"));
        let allowed: Vec<String> = account.allow.iter().map(ToString::to_string).collect();
        assert_eq!(allowed, ["5", "x"]);
        assert_eq!(config.bindings[0].agent_id, "main");
        assert_eq!(
            config.warnings,
            ["unknown key `connectors.webhook.accounts.home.urll`; did you mean `url`?"]
        );
    }

    #[test]
    fn no_file_is_a_config_too_and_the_dotenv_fills_in() {
        let folder = tempfile::tempdir().unwrap();
        let home = HomeFolder::at(folder.path());
        assert_eq!(load(&home).unwrap().source, Source::Defaults);
        std::fs::write(home.dotenv(), "ONYX_TEST_TOKEN_OF_DOTENV=abc\nbad line\n").unwrap();
        let text = "{ gateway: { auth: { token: '${ONYX_TEST_TOKEN_OF_DOTENV}' } }, default_model: '${ONYX_TEST_NOWHERE}' }";
        std::fs::write(home.config(), text).unwrap();
        let config = load(&home).unwrap();
        assert_eq!(config.gateway.auth.token.as_ref().map(|t| t.as_str()), Some("abc"));
        assert_eq!(config.warnings, [".env: line 2 is not NAME=value"]);
        let missing =
            Missing { variable: "ONYX_TEST_NOWHERE".to_owned(), at: "default_model".to_owned() };
        assert_eq!((config.default_model, config.missing), (None, vec![missing]));
    }
}
