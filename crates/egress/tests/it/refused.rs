use std::sync::Arc;
use std::sync::atomic::Ordering;

use onyx_egress::EgressError;
use onyx_test_support::{Page, Site};

use crate::support::{Names, egress, get, quick};

/// A server that stands for everything inside: any request that reaches it shows a hole.
async fn canary() -> Site {
    Site::start(|_| Page::html("inside")).await
}

#[tokio::test]
async fn no_spelling_of_an_inner_address_reaches_it() {
    let canary = canary().await;
    let port = canary.address().port();
    let egress = egress(&Arc::default(), &[], quick());
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "0.0.0.0",
        "0",
        "0x0",
        "127.127.127.127",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fc00::1]",
        "１２７.0.0.1",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "255.255.255.255",
    ] {
        let url = format!("http://{host}:{port}/latest/meta-data");
        let error = get(&egress, &url).await.expect_err(&url);
        assert!(error.is_refusal(), "{url}: {error}");
    }
    assert_eq!(canary.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_name_is_refused_when_any_of_its_addresses_is_inside() {
    let canary = canary().await;
    let names = Arc::new(Names::default());
    for (name, answer) in [
        ("inner.test", &["127.0.0.1"][..]),
        ("mixed.test", &["93.184.216.34", "127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
        ("nat64.test", &["64:ff9b::7f00:1"]),
        ("six-to-four.test", &["2002:7f00:1::1"]),
        ("zero.test", &["0.0.0.0"]),
        ("metadata.test", &["169.254.169.254"]),
    ] {
        names.leads(name, &[answer]);
        let url = format!("http://{name}:{}/", canary.address().port());
        let error = get(&egress(&names, &[], quick()), &url).await.expect_err(name);
        assert!(matches!(error, EgressError::NotPublic { .. }), "{name}: {error}");
    }
    assert_eq!(canary.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_name_that_flips_between_lookups_never_leads_inside() {
    let canary = canary().await;
    let names = Arc::new(Names::default());
    // The address is public by its range but assigned to nobody, so no packet gets anywhere.
    names.leads("flip.test", &[&["2d00::1"], &["127.0.0.1"]]);
    let egress = egress(&names, &[], quick());
    let url = format!("http://flip.test:{}/", canary.address().port());
    for attempt in 1..=4 {
        assert!(get(&egress, &url).await.is_err());
        assert_eq!(
            names.lookups.load(Ordering::SeqCst),
            attempt,
            "checked and used are one lookup"
        );
    }
    assert_eq!(canary.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_redirect_is_checked_like_a_first_address() {
    let canary = canary().await;
    let names = Arc::new(Names::default());
    names.leads("inner.test", &[&["127.0.0.1"]]);
    let port = canary.address().port();
    let targets = [
        canary.url("/"),
        format!("http://inner.test:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("//2130706433:{port}/"),
        format!("http://ada:pass@93.184.216.34:{port}/"),
        "file:///etc/passwd".to_owned(),
        "gopher://127.0.0.1/".to_owned(),
    ];
    let count = targets.len();
    let site = Site::start(move |path| match path.trim_start_matches('/').parse::<usize>() {
        Ok(number) => Page::redirect(&targets[number]),
        // The chain of redirects ends inside.
        Err(_) => Page::redirect("/0"),
    })
    .await;
    let egress = egress(&names, &[site.address().to_string()], quick());
    for path in (0..count).map(|number| format!("/{number}")).chain(["/chain".to_owned()]) {
        let error = get(&egress, &site.url(&path)).await.expect_err(&path);
        assert!(error.is_refusal(), "{path}: {error}");
    }
    assert_eq!(canary.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_private_host_is_reached_on_its_port_only() {
    let (wanted, canary) = (canary().await, canary().await);
    let egress = egress(&Arc::default(), &[wanted.address().to_string()], quick());
    assert_eq!(get(&egress, &wanted.url("/")).await.unwrap().body, b"inside");
    assert!(get(&egress, &canary.url("/")).await.unwrap_err().is_refusal());
    assert!(get(&egress.reaching(Vec::new()), &wanted.url("/")).await.unwrap_err().is_refusal());
    assert_eq!((wanted.requests().len(), canary.requests().len()), (1, 0));
}

#[tokio::test]
async fn credentials_in_an_address_are_refused_and_not_repeated() {
    let canary = canary().await;
    let egress = egress(&Arc::default(), &[canary.address().to_string()], quick());
    let url = format!("http://ada:hunter22@{}/", canary.address());
    let told = get(&egress, &url).await.unwrap_err().to_string();
    assert!(told.contains("credentials") && !told.contains("hunter22"), "{told}");
    assert_eq!(canary.requests(), Vec::<String>::new());
}
