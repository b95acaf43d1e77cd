//! Checks that the sealed secrets can be opened, and says where their key is stored.

use onyx_identity::{KeyPlace, SecretView};
use serde::Deserialize;

use super::Check;
use crate::client::Client;

#[derive(Deserialize)]
struct SecretList {
    secrets: Vec<SecretView>,
}

pub(super) fn check(secrets: Vec<SecretView>) -> Vec<Check> {
    let held = stored_secrets(&secrets);
    let broken = secrets.into_iter().filter_map(|secret| {
        let name = &secret.name;
        let fix = match secret.key {
            KeyPlace::File => format!("restore its key file, or run `onyx secrets set {name}`"),
            KeyPlace::MasterKey => "set ONYX_MASTER_KEY as on the other gateways".to_owned(),
            KeyPlace::Keyring => {
                format!("unlock the keyring, or run `onyx secrets rm {name}` and set it again")
            }
        };
        Some(Check::broken(format!("secret {name}"), secret.error?, fix))
    });
    held.into_iter().chain(broken).collect()
}

/// The same check, answered by the server that holds the home.
pub(super) async fn of_server(client: &Client) -> Vec<Check> {
    match client.get_any::<SecretList>("/api/admin/secrets").await {
        Ok(listed) => check(listed.secrets),
        Err(error) => {
            let fault = error.fault();
            vec![Check::broken("secrets", fault.message.clone(), fault.hint())]
        }
    }
}

/// Says where the key is stored; `None` if there is no secret, and so no key.
fn stored_secrets(secrets: &[SecretView]) -> Option<Check> {
    let has = |place: KeyPlace| secrets.iter().any(|secret| secret.key == place);
    let place = match (has(KeyPlace::Keyring), has(KeyPlace::File)) {
        (false, false) if has(KeyPlace::MasterKey) => "their key is derived from ONYX_MASTER_KEY",
        (false, false) => return None,
        (true, false) => "their key is in the desktop's keyring",
        (false, true) => "their key is in a file outside the home that only its owner can read",
        (true, true) => "some keys are in the desktop's keyring, some in files",
    };
    Some(Check::ok("secrets", format!("{} stored; {place}", secrets.len())))
}
