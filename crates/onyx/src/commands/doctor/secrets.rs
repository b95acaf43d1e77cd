//! The sealed secrets: whether they open, and where the key lies that opens them.

use onyx_identity::{KeyPlace, SecretView};
use serde::Deserialize;

use super::Check;
use crate::client::Client;

#[derive(Deserialize)]
struct Listed {
    secrets: Vec<SecretView>,
}

pub(super) fn check(secrets: Vec<SecretView>) -> Vec<Check> {
    let held = held(&secrets);
    let broken = secrets.into_iter().filter_map(|secret| {
        let name = &secret.name;
        let mend = match secret.key {
            KeyPlace::File => format!("bring its key back, or `onyx secrets set {name}`"),
            KeyPlace::MasterKey => "set ONYX_MASTER_KEY as the other gateways have it".to_owned(),
            KeyPlace::Keyring => {
                format!("unlock the keyring, or `onyx secrets rm {name}` and set it again")
            }
        };
        Some(Check::broken(format!("secret {name}"), secret.error?, mend))
    });
    held.into_iter().chain(broken).collect()
}

/// As the server that holds the home sees them.
pub(super) async fn of_server(client: &Client) -> Vec<Check> {
    match client.get_any::<Listed>("/api/admin/secrets").await {
        Ok(listed) => check(listed.secrets),
        Err(error) => {
            let fault = error.fault();
            vec![Check::broken("secrets", fault.message.clone(), fault.hint())]
        }
    }
}

/// Where there is no secret there is no key.
fn held(secrets: &[SecretView]) -> Option<Check> {
    let has = |place: KeyPlace| secrets.iter().any(|secret| secret.key == place);
    let place = match (has(KeyPlace::Keyring), has(KeyPlace::File)) {
        (false, false) if has(KeyPlace::MasterKey) => "their key is made from ONYX_MASTER_KEY",
        (false, false) => return None,
        (true, false) => "their key lies in the keyring of the desktop",
        (false, true) => "their key lies in a file outside the home, for its owner alone",
        (true, true) => "some keys lie in the keyring of the desktop, some in files",
    };
    Some(Check::ok("secrets", format!("{} kept; {place}", secrets.len())))
}
