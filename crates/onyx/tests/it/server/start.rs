//! Errors at the start of a gateway. Each is reported with a hint, and nothing is left half done.

use onyx_test_support::{MASTER_KEY, ScriptedModel, ServerPlace};
use serde_json::{Value, json};

use super::{gateway, place, run_with, start};
use crate::{Ran, command, run};

/// Nothing listens at this address, and no other test is given it.
const NOWHERE: &str = "127.0.0.1:9";

/// The config of a gateway that no other needs to reach.
fn config(place: &ServerPlace) -> Value {
    json!({
        "gateway": {"port": 0, "id": "one", "auth": {"token": "onyx_sk_of_the_test"}},
        "storage": place.storage(),
    })
}

fn changed(place: &ServerPlace, key: &str, value: impl Into<Value>) -> Value {
    let mut config = config(place);
    config["storage"][key] = value.into();
    config
}

/// Checks that the command failed with these words and a hint, and shows no secrets.
fn assert_refused(ran: &Ran, words: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains(words), "{words}: {ran:?}");
    for secret in ["onyx-test", "wrong-password", MASTER_KEY] {
        assert!(!ran.err.contains(secret) && !ran.out.contains(secret), "{ran:?}");
    }
}

#[tokio::test]
async fn each_thing_that_is_wrong_with_the_database_is_told() {
    let place = place().await;
    let right = place.storage()["database"].as_str().unwrap().to_owned();
    let (server, _) = right.rsplit_once('@').unwrap();
    for (url, words, hint) in [
        ("mysql://a:b@c/d".to_owned(), "is not a PostgreSQL URL", "postgres://user:password@host"),
        (
            right.replace("onyx-test", "wrong-password"),
            "refused the user or the password",
            "pg_hba.conf",
        ),
        (right.replace(&place.name, "nosuch"), "there is no database \"nosuch\"", "createdb"),
        (format!("{server}@{NOWHERE}/x"), "cannot be reached", "firewall"),
        (right.replace("disable", "require"), "no encrypted connection", "sslrootcert"),
    ] {
        let ran = run_with(&changed(&place, "database", url), &["serve"]).await;
        assert_refused(&ran, words);
        assert!(ran.err.contains(hint), "{hint}: {ran:?}");
    }
}

#[tokio::test]
async fn each_thing_that_is_wrong_with_the_store_is_told() {
    let place = place().await;
    let ran = run_with(&changed(&place, "objects", "s3://no-such-bucket"), &["serve"]).await;
    assert_refused(&ran, "there is no bucket \"no-such-bucket\"");
    assert!(ran.err.contains("Create the bucket"), "{ran:?}");
    let policy = format!(
        r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Deny","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::{}/*"}}]}}"#,
        place.name
    );
    assert!((200..300).contains(&place.servers.http(
        "PUT",
        &format!("/{}?policy", place.name),
        &policy
    )));
    let ran = run_with(&config(&place), &["serve"]).await;
    assert_refused(&ran, "does not let this key put");
    assert!(ran.err.contains("rights"), "{ran:?}");
    let mut half = config(&place);
    half["storage"].as_object_mut().unwrap().remove("objects");
    assert_refused(&run_with(&half, &["serve"]).await, "storage.objects is missing");
}

#[tokio::test]
async fn tables_are_made_by_migrate_alone_and_a_newer_schema_is_refused() {
    let place = ServerPlace::new().await;
    let tables = async || {
        let count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
        place.sql().await.query_one(count, &[]).await.unwrap().get::<_, i64>(0)
    };
    let ran = run_with(&config(&place), &["serve"]).await;
    assert_refused(&ran, "has no tables of Onyx yet");
    assert!(ran.err.contains("onyx migrate"), "{ran:?}");
    assert_eq!(tables().await, 0, "looking makes nothing");
    let made = run_with(&config(&place), &["migrate"]).await;
    assert_eq!((made.code, made.out.contains("migrations ran")), (Some(0), true), "{made:?}");
    let again = run_with(&config(&place), &["migrate"]).await;
    assert_eq!((again.code, again.out.contains("up to date")), (Some(0), true), "{again:?}");
    let sql = place.sql().await;
    sql.batch_execute("UPDATE onyx_schema SET version = 99, compatible_from = 99").await.unwrap();
    for arguments in [&["serve"], &["migrate"]] {
        let ran = run_with(&config(&place), arguments).await;
        assert_refused(&ran, "the tables of the database are of version 99");
        assert!(ran.err.contains("newer Onyx"), "{ran:?}");
    }
    let embedded = run_with(&json!({}), &["migrate"]).await;
    assert_refused(&embedded, "names no database");
}

#[tokio::test]
async fn older_tables_a_clock_far_off_and_a_user_who_may_only_read_are_told() {
    let place = place().await;
    let sql = place.sql().await;
    sql.batch_execute("UPDATE onyx_schema SET version = version - 1").await.unwrap();
    let ran = run_with(&config(&place), &["serve"]).await;
    assert_refused(&ran, "the tables of the database are of version");
    assert!(ran.err.contains("Run onyx migrate once"), "{ran:?}");
    sql.batch_execute("UPDATE onyx_schema SET version = version + 1").await.unwrap();

    let role = format!("r{}", place.name);
    let make = ["CREATE ROLE ", &role, " LOGIN PASSWORD 'onyx-test'"].concat();
    let grant = ["GRANT SELECT ON ALL TABLES IN SCHEMA public TO ", &role].concat();
    for statement in [make, grant] {
        sql.batch_execute(&statement).await.unwrap();
    }
    let right = place.storage()["database"].as_str().unwrap().to_owned();
    let theirs = right.replace("postgres:onyx", &format!("{role}:onyx"));
    let ran = run_with(&changed(&place, "database", theirs), &["serve"]).await;
    sql.batch_execute(&["DROP OWNED BY ", &role, "; DROP ROLE ", &role].concat()).await.unwrap();
    assert_refused(&ran, "the database user may not do this: permission denied");
    assert!(ran.err.contains("all rights on its tables"), "{ran:?}");

    // The clock of the database is an hour ahead.
    let path = ["ALTER DATABASE ", &place.name, " SET search_path = public, pg_catalog"].concat();
    let ahead = "CREATE FUNCTION public.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql
                 AS 'SELECT pg_catalog.clock_timestamp() + INTERVAL ''1 hour'''";
    for statement in [&path, ahead] {
        sql.batch_execute(statement).await.unwrap();
    }
    let ran = run_with(&config(&place), &["serve"]).await;
    assert_refused(&ran, "the clocks of this machine and of the database differ by 3");
    assert!(ran.err.contains("timedatectl"), "{ran:?}");
}

#[tokio::test]
async fn the_master_key_is_needed_and_the_same_for_all() {
    let place = place().await;
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("onyx.json"), config(&place).to_string()).unwrap();
    let ran = run(home.path(), &["serve"]).await;
    assert_refused(&ran, "server mode needs ONYX_MASTER_KEY");
    assert!(ran.err.contains("openssl rand -hex 32"), "{ran:?}");
    let model = ScriptedModel::start().await;
    let _one = start(&place, "one", &model).await;
    let mut other = command(home.path(), &["serve"]);
    other.env("ONYX_MASTER_KEY", "00".repeat(32));
    let ran: Ran = other.output().await.unwrap().into();
    assert_refused(&ran, "have another ONYX_MASTER_KEY");
    let key = home.path().join("key");
    std::fs::write(&key, "not a key").unwrap();
    let mut other = command(home.path(), &["serve"]);
    other.env("ONYX_MASTER_KEY", format!("file:{}", key.display()));
    let ran: Ran = other.output().await.unwrap().into();
    assert_refused(&ran, "is not 64 hexadecimal digits");
}

#[tokio::test]
async fn a_gateway_needs_a_name_and_references_are_followed() {
    let place = place().await;
    let mut nameless = config(&place);
    nameless["gateway"].as_object_mut().unwrap().remove("id");
    assert_refused(&run_with(&nameless, &["serve"]).await, "gateway.id");
    let model = ScriptedModel::start().await;
    // A missing variable does not lead to a separate home.
    let unset = changed(&place, "database", "env:NOT_SET_ANYWHERE");
    assert_refused(&run_with(&unset, &["serve"]).await, "NOT_SET_ANYWHERE is not set");
    let unset = changed(&place, "database", "${NOT_SET_ANYWHERE}");
    assert_refused(&run_with(&unset, &["serve"]).await, "NOT_SET_ANYWHERE is not set");
    let storage = place.storage();
    let onyx = gateway(&place, "one", &model)
        .merge(json!({"storage": {"database": "env:THE_DATABASE"}}))
        .env("THE_DATABASE", storage["database"].as_str().unwrap())
        .start()
        .await;
    let shown = onyx.get("/api/admin/config").await.expect(200).text();
    assert!(
        shown.contains("some-model") && !shown.contains("storage"),
        "what is its own is no config of all: {shown}"
    );
    let ready = onyx.get("/ready").await.expect(200).text();
    assert!(!ready.contains("onyx-test"), "{ready}");
}

#[tokio::test]
async fn doctor_looks_at_the_database_the_store_and_the_gateways() {
    let place = place().await;
    let model = ScriptedModel::start().await;
    let _one = start(&place, "one", &model).await;
    let mut other = config(&place);
    other["gateway"]["id"] = "two".into();
    let ran = run_with(&other, &["doctor", "--json"]).await;
    let checks: Vec<Value> = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let of = |name: &str| {
        let found = checks.iter().find(|check| check["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {checks:#?}")).clone()
    };
    assert_eq!(of("database")["state"], "ok");
    assert!(of("database")["detail"].as_str().unwrap().starts_with("PostgreSQL 1"), "{checks:#?}");
    assert_eq!(of("objects")["state"], "ok");
    assert!(of("database")["detail"].as_str().unwrap().contains("its clock is "), "{checks:#?}");
    assert!(of("objects")["detail"].as_str().unwrap().contains("range"), "{checks:#?}");
    assert_eq!(of("gateways")["state"], "ok");
    let gateways = of("gateways")["detail"].as_str().unwrap().to_owned();
    let version = format!(" answers: Onyx {}, its clock is ", env!("CARGO_PKG_VERSION"));
    assert!(gateways.starts_with("one at http://127.0.0.1:"), "{gateways}");
    assert!(gateways.contains(&version) && gateways.contains(" ms "), "{gateways}");
    other["storage"]["objects"] = "s3://no-such-bucket".into();
    let ran = run_with(&other, &["doctor"]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("there is no bucket"), "{ran:?}");
}

#[tokio::test]
async fn doctor_warns_of_gateways_that_do_not_answer_as_they_should() {
    let place = place().await;
    let model = ScriptedModel::start().await;
    let one = start(&place, "one", &model).await;
    let url = one.url("").trim_end_matches('/').to_owned();
    let insert = "INSERT INTO gateways (id, incarnation, url, until, version)
                  VALUES ($1, nextval('incarnations'), $2,
                          clock_timestamp() + $3::FLOAT8 * INTERVAL '1 second', $4)";
    let (here, sql) = (env!("CARGO_PKG_VERSION"), place.sql().await);
    let closed = format!("http://{NOWHERE}");
    for (id, url, life, version) in [
        ("away", &closed, 600.0, here),
        ("dead", &closed, -600.0, here),
        // The gateway at this address has another name.
        ("other", &url, 600.0, here),
        ("older", &url, 600.0, "0.0.1"),
    ] {
        sql.execute(insert, &[&id, &url, &life, &version]).await.unwrap();
    }
    let mut config = config(&place);
    config["gateway"]["id"] = "two".into();
    let ran = run_with(&config, &["doctor", "--json"]).await;
    let checks: Vec<Value> = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let of = |id: &str| {
        let start = format!("{id} at ");
        let is_of = |check: &&Value| {
            check["name"] == "gateways" && check["detail"].as_str().unwrap().starts_with(&start)
        };
        let found = checks.iter().find(is_of).unwrap_or_else(|| panic!("{id}: {checks:#?}"));
        (found["state"].clone(), found["detail"].as_str().unwrap().to_owned())
    };
    assert_eq!(of("one").0, "ok");
    for (id, words) in [
        ("away", "does not answer here"),
        ("dead", "is silent"),
        ("other", "is no gateway of this database"),
        ("older", "is Onyx 0.0.1"),
    ] {
        let (state, detail) = of(id);
        assert_eq!(state, "warning", "{detail}");
        assert!(detail.contains(words), "{words}: {detail}");
    }
}
