use onyx_api::{Exposure, GatewaySettings};
use serde_json::{Value, json};

fn address(settings: Value, exposure: Exposure) -> Result<String, String> {
    let settings: GatewaySettings = serde_json::from_value(settings).unwrap();
    settings.address(exposure).map(|address| address.to_string()).map_err(|fault| fault.message)
}

#[test]
fn other_machines_are_listened_to_only_where_a_credential_is_set() {
    use Exposure::{Guarded, Unguarded};
    for exposure in [Guarded, Unguarded] {
        let address = |settings| address(settings, exposure);
        assert_eq!(address(json!({})), Ok("127.0.0.1:18790".to_owned()));
        assert_eq!(address(json!({"bind": "loopback", "port": 0})), Ok("127.0.0.1:0".to_owned()));
        assert_eq!(address(json!({"bind": "::1", "port": 5})), Ok("[::1]:5".to_owned()));
        for bind in ["lan", "example.org", ""] {
            assert!(address(json!({"bind": bind})).is_err(), "{bind}");
        }
    }
    for bind in ["0.0.0.0", "::", "192.168.0.1"] {
        assert!(address(json!({"bind": bind}), Unguarded).is_err(), "{bind}");
        assert!(address(json!({"bind": bind}), Guarded).is_ok(), "{bind}");
        let with_token = json!({"bind": bind, "auth": {"token": "onyx_sk_mine"}});
        assert!(address(with_token, Unguarded).is_ok(), "{bind}");
    }
}

#[test]
fn an_empty_token_is_refused_and_no_token_is_ever_printed() {
    let settings = |token: &str| -> GatewaySettings {
        serde_json::from_value(json!({"auth": {"mode": "token", "token": token}})).unwrap()
    };
    assert!(settings(" ").token().is_err());
    assert_eq!(settings("secret").token().unwrap().unwrap().as_str(), "secret");
    assert!(!format!("{:?}", settings("secret")).contains("secret"));
    assert!(GatewaySettings::default().token().unwrap().is_none());
    assert!(serde_json::from_value::<GatewaySettings>(json!({"auth": {"mode": "none"}})).is_err());
}
