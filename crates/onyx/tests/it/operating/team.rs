//! `packaging/docker/team`: the compose file of a team is compared with its config, the proxy's
//! config and the program. The program is run as the file runs it, with a real database and a real
//! S3 server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use onyx_test_support::{AgentClient, MASTER_KEY, ServerPlace, wait_for};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::{BINARY, SOON};

const COMPOSE: &str = include_str!("../../../../../packaging/docker/team/compose.yaml");
const CONFIG: &str = include_str!("../../../../../packaging/docker/team/onyx.json");
const PROXY: &str = include_str!("../../../../../packaging/docker/team/Caddyfile");

fn compose() -> Value {
    serde_saphyr::from_str(COMPOSE).unwrap()
}

fn environment(service: &str) -> BTreeMap<String, String> {
    let compose = compose();
    let found = compose["services"][service]["environment"].as_object().unwrap();
    found.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

/// The values after a keyword of the proxy's config.
fn of_proxy(word: &str) -> Vec<&'static str> {
    let line = PROXY.lines().map(str::trim).find(|line| line.starts_with(word)).unwrap();
    line.split_whitespace().skip(1).filter(|word| *word != "{").collect()
}

/// The variables that the config reads from the environment.
fn wanted() -> Vec<&'static str> {
    let end = |rest: &'static str| rest.split(['}', '"']).next().unwrap();
    ["${", "env:"].into_iter().flat_map(|mark| CONFIG.split(mark).skip(1).map(end)).collect()
}

#[test]
fn gateways_have_every_variable_their_own_name_and_an_address_that_others_reach() {
    assert_eq!(wanted().len(), 7, "{:?}", wanted());
    let gateways = ["one", "two"];
    for service in gateways.into_iter().chain(["migrate"]) {
        let environment = environment(service);
        for name in wanted().into_iter().chain(["ONYX_MASTER_KEY"]) {
            assert!(environment.contains_key(name), "{service} has no {name}");
        }
        assert_eq!(environment["ONYX_GATEWAY"], service);
        assert_eq!(environment["ONYX_ADVERTISE"], format!("http://{service}:18790"));
        let mounted = &compose()["services"][service]["volumes"];
        let mounted: Vec<&str> =
            mounted.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        assert!(mounted.contains(&"./onyx.json:/var/lib/onyx/home/onyx.json:ro"), "{mounted:?}");
    }
    assert!(CONFIG.contains("port: 18790"));
    assert_eq!(of_proxy("reverse_proxy"), gateways.map(|gateway| format!("{gateway}:18790")));
    let proxy = &compose()["services"]["proxy"];
    assert_eq!(proxy["ports"][0], "127.0.0.1:18790:80");
    let address = proxy["networks"]["default"]["ipv4_address"].as_str().unwrap();
    assert!(CONFIG.contains(&format!("trustedProxies: [\"{address}\"]")), "{address}");
    // The clients and servers of the store and of the database use the same values.
    let (database, objects) =
        (&compose()["services"]["database"], &compose()["services"]["objects"]);
    let environment = environment("one");
    assert!(environment["ONYX_DATABASE"].starts_with("postgres://onyx:${POSTGRES_PASSWORD"));
    assert!(environment["ONYX_DATABASE"].ends_with("@database:5432/onyx?sslmode=disable"));
    assert_eq!(
        (&database["environment"]["POSTGRES_USER"], &database["environment"]["POSTGRES_DB"]),
        (&"onyx".into(), &"onyx".into())
    );
    assert_eq!(environment["S3_ENDPOINT"], "http://objects:8333");
    let command = objects["command"].as_str().unwrap();
    assert!(command.contains("-s3.port=8333") && command.contains("-master.telemetry=false"));
    assert_eq!(objects["environment"]["AWS_ACCESS_KEY_ID"], environment["S3_KEY"]);
    assert_eq!(objects["environment"]["AWS_SECRET_ACCESS_KEY"], environment["S3_SECRET"]);
}

/// Runs a service of the compose file, with the servers of the tests instead of its own.
fn as_service(service: &str, place: &ServerPlace, home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("ONYX_HOME", home);
    command.env("ONYX_KEYS", home.join("keys")).stdin(Stdio::null()).kill_on_drop(true);
    command.envs(environment(service));
    let storage = place.storage();
    command
        .env("ONYX_TOKEN", "onyx_sk_of_the_team")
        .env("ONYX_MASTER_KEY", MASTER_KEY)
        .env("ONYX_DATABASE", storage["database"].as_str().unwrap())
        .env("S3_ENDPOINT", storage["s3"]["endpoint"].as_str().unwrap());
    command
}

#[tokio::test]
async fn the_program_migrates_and_serves_with_that_config_and_is_ready_where_the_proxy_looks() {
    let place = ServerPlace::new().await;
    let home = tempfile::tempdir().unwrap();
    // The server uses a free port of this machine and a bucket of this test.
    let config = CONFIG
        .replace("0.0.0.0", "127.0.0.1")
        .replace("port: 18790", "port: 0")
        .replace("s3://onyx", &format!("s3://{}", place.name));
    std::fs::write(home.path().join("onyx.json"), config).unwrap();
    let migrate: Vec<String> =
        serde_json::from_value(compose()["services"]["migrate"]["command"].clone()).unwrap();
    assert_eq!(migrate[0], "onyx");
    let arguments: Vec<&str> = migrate[1..].iter().map(String::as_str).collect();
    let migrated = as_service("migrate", &place, home.path(), &arguments).output().await.unwrap();
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));

    let doctor =
        as_service("one", &place, home.path(), &["doctor", "--json"]).output().await.unwrap();
    let checks: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let of = |name: &str| checks.as_array().unwrap().iter().find(|check| check["name"] == name);
    assert_eq!(of("config").unwrap()["state"], "ok", "{checks}");

    let mut serve = as_service("one", &place, home.path(), &["serve"]);
    let mut server = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(SOON * 3, lines.next_line()).await.unwrap().unwrap().unwrap();
    let port = line.rsplit(':').next().unwrap().to_owned();
    let client = AgentClient::new(format!("http://127.0.0.1:{port}"), "onyx_sk_of_the_team");
    let path = of_proxy("health_uri")[0];
    let ready = async || (client.get(path).await.status == 200).then_some(());
    wait_for("a ready gateway", SOON, ready).await;
    let _ = client.get("/api/auth/me").await.expect(200);
    server.kill().await.unwrap();
}
