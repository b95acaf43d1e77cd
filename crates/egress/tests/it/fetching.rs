use std::sync::Arc;
use std::time::Duration;

use onyx_egress::{Bounds, EgressError};
use onyx_test_support::{Page, Site};

use crate::support::{Names, egress, get, quick};

#[tokio::test]
async fn redirects_are_followed_within_their_bound_and_the_end_is_told() {
    let site = Site::start(|path| match path {
        "/a" => Page::redirect("/b?x=1"),
        "/b?x=1" => Page::html("here"),
        _ => Page::redirect("/loop"),
    })
    .await;
    let names = Arc::new(Names::default());
    names.leads("site.test", &[&["127.0.0.1"]]);
    let port = site.address().port();
    let egress = egress(&names, &["site.test".to_owned()], quick());
    let fetched = get(&egress, &format!("http://site.test:{port}/a#part")).await.unwrap();
    assert_eq!(fetched.address.as_str(), format!("http://site.test:{port}/b?x=1"));
    assert_eq!((fetched.status, fetched.body.as_slice()), (200, &b"here"[..]));
    assert_eq!(fetched.content_type, "text/html; charset=utf-8");
    let error = get(&egress, &format!("http://site.test:{port}/loop")).await.unwrap_err();
    assert!(matches!(error, EgressError::TooManyRedirects(5)), "{error}");
}

#[tokio::test]
async fn nothing_but_the_request_is_sent() {
    let site = Site::start(|_| Page::html("")).await;
    let egress = egress(&Arc::default(), &[site.address().to_string()], quick());
    get(&egress, &site.url("/x?q=1")).await.unwrap();
    let seen = site.requests();
    let names: Vec<&str> =
        seen[0].lines().skip(1).filter_map(|line| line.split_once(": ")).map(|(n, _)| n).collect();
    assert_eq!(names, ["accept", "user-agent", "accept-encoding", "host"], "{}", seen[0]);
}

#[tokio::test]
async fn an_endless_answer_is_cut_and_a_silent_server_left() {
    let site = Site::start(|path| match path {
        "/endless" => Page { endless: true, ..Page::default() },
        _ => Page { silent: true, ..Page::default() },
    })
    .await;
    let bounds = Bounds { bytes: 100_000, ..quick() };
    let egress = egress(&Arc::default(), &[site.address().to_string()], bounds);
    let fetched = get(&egress, &site.url("/endless")).await.unwrap();
    assert_eq!((fetched.body.len(), fetched.is_cut), (100_000, true));
    let hurried = egress.within(Bounds { total: Duration::from_millis(500), ..bounds });
    let error = get(&hurried, &site.url("/silent")).await.unwrap_err();
    assert!(matches!(error, EgressError::Timeout(_)), "{error}");
}

#[tokio::test]
async fn what_cannot_be_reached_says_why_without_the_query() {
    let egress = egress(&Arc::default(), &["127.0.0.1".to_owned()], quick());
    let told = get(&egress, "http://nowhere.test/?q=secret").await.unwrap_err().to_string();
    assert_eq!(told, "the name nowhere.test leads to no address");
    // The port was in use a moment ago, and nothing listens on it now.
    let port = Site::start(|_| Page::default()).await.address().port();
    let told = get(&egress, &format!("http://127.0.0.1:{port}/?q=secret")).await.unwrap_err();
    assert!(matches!(told, EgressError::Unreachable { .. }), "{told}");
    assert!(!told.to_string().contains("secret"), "{told}");
}
