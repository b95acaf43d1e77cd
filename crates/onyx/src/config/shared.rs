//! The config of several gateways: one text in the database for all of them. Each gateway adds the
//! settings of its own file: how it reaches the database, its name, and the address it listens at.

use std::io::ErrorKind;

use serde_json::{Map, Value};

use super::{
    Config, ConfigError, ConfigText, foreign_names, parse_sections, read_dotenv, top_level,
};
use crate::home::HomeFolder;

/// The settings in a gateway's own file.
pub(super) const OWN_GATEWAY_KEYS: [&str; 4] = ["id", "advertise", "bind", "port"];
pub(super) const OWN_SECTION: &str = "storage";

/// The effective config of this gateway.
pub(crate) fn shared(home: &HomeFolder, text: &str) -> Result<Config, ConfigError> {
    let (environment, mut warnings) = read_dotenv(home)?;
    let own = own_sections(home)?;
    let mut sections = top_level(text)?;
    warnings.extend(ignored(&own));
    lay_over(&mut sections, &own);
    let mut config = parse_sections(sections, environment)?;
    warnings.append(&mut config.warnings);
    config.warnings = warnings;
    foreign_names::adopt(&mut config, home.path());
    Ok(config)
}

/// The text that the first gateway shares with all: its own file without the settings that are only
/// its own.
pub(crate) fn for_sharing(home: &HomeFolder) -> Result<String, ConfigError> {
    let text = ConfigText::parse(&own_text(home)?)?;
    text.remove_own();
    Ok(text.text())
}

fn own_text(home: &HomeFolder) -> Result<String, ConfigError> {
    match std::fs::read_to_string(home.config()) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(ConfigError::new(format!("it cannot be read: {error}"))),
    }
}

fn own_sections(home: &HomeFolder) -> Result<Map<String, Value>, ConfigError> {
    let text = own_text(home)?;
    if text.trim().is_empty() { Ok(Map::new()) } else { top_level(&text) }
}

fn ignored(own: &Map<String, Value>) -> Option<String> {
    let others: Vec<&str> = own
        .keys()
        .map(String::as_str)
        .filter(|name| *name != OWN_SECTION && *name != "gateway")
        .collect();
    let others = others.join("`, `");
    (!others.is_empty()).then(|| {
        format!(
            "`{others}` of this file have no effect: all gateways use the config in the database"
        )
    })
}

fn lay_over(sections: &mut Map<String, Value>, own: &Map<String, Value>) {
    sections.shift_remove(OWN_SECTION);
    if let Some(storage) = own.get(OWN_SECTION) {
        sections.insert(OWN_SECTION.to_owned(), storage.clone());
    }
    let gateway = sections.entry("gateway").or_insert_with(|| Value::Object(Map::new()));
    // If `gateway` is not an object, reading the shared text reports that.
    let Value::Object(gateway) = gateway else { return };
    for key in OWN_GATEWAY_KEYS {
        gateway.shift_remove(key);
        if let Some(value) = own.get("gateway").and_then(|own| own.get(key)) {
            gateway.insert(key.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gateway_lays_its_own_place_over_what_all_have() {
        let folder = tempfile::tempdir().unwrap();
        let home = HomeFolder::at(folder.path());
        let own = "{ // mine\n gateway: { id: 'one', port: 7, maxRuns: 5 }, agents: { list: [{ id: 'a' }] },
                    storage: { database: 'postgres://a@b/c', objects: 's3://x' } }";
        std::fs::write(home.config(), own).unwrap();
        let first = for_sharing(&home).unwrap();
        assert!(first.contains("// mine") && first.contains("maxRuns: 5"), "{first}");
        for gone in ["storage", "postgres", "'one'", "port"] {
            assert!(!first.contains(gone), "{gone}: {first}");
        }
        let text = "{ gateway: { id: 'other', port: 9, maxRuns: 6 }, storage: { database: 'postgres://x@y/z' },
                      agents: { list: [{ id: 'b' }] } }";
        let config = shared(&home, text).unwrap();
        assert_eq!(config.gateway.id.as_deref(), Some("one"));
        assert_eq!((config.gateway.port, config.gateway.max_runs()), (Some(7), 6));
        assert_eq!(config.storage.objects.as_deref(), Some("s3://x"));
        assert_eq!(config.agents.list[0].id.as_deref(), Some("b"));
        assert_eq!(
            config.warnings,
            ["`agents` of this file have no effect: all gateways use the config in the database"]
        );
        assert!(shared(&home, "{ nonsense").is_err());
    }
}
