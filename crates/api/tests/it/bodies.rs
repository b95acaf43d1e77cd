use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::routing::{get, post};
use onyx_api::{JsonBody, MAX_BODY, QueryOf};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::problems::body;

#[derive(Deserialize)]
struct Asked {
    name: String,
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    count: u8,
}

async fn echo(JsonBody(asked): JsonBody<Asked>) -> String {
    let total: u32 = asked.items.into_iter().flatten().map(|item| u32::from(item.count)).sum();
    format!("\"{} {total}\"", asked.name)
}

async fn query(QueryOf(item): QueryOf<Item>) -> String {
    item.count.to_string()
}

async fn answer(request: Request<Body>) -> (u16, Value) {
    let router = Router::new().route("/", post(echo)).route("/q", get(query));
    let response = router.oneshot(request).await.unwrap();
    (response.status().as_u16(), body(response).await)
}

async fn send(bytes: impl Into<Body>) -> (u16, Value) {
    answer(Request::post("/").body(bytes.into()).unwrap()).await
}

#[tokio::test]
async fn a_good_body_is_read_and_unknown_fields_are_ignored() {
    let (status, said) =
        send(r#"{"name": "n", "items": [{"count": 2}, {"count": 3, "x": 1}], "more": {}}"#).await;
    assert_eq!((status, said), (200, json!("n 5")));
}

#[tokio::test]
async fn a_bad_body_is_refused_with_the_place_that_is_wrong() {
    let cases: [(&[u8], &str, Value); 6] = [
        (b" [\"n\"]", "the body is a list; expected a JSON object", Value::Null),
        (
            b"7",
            "the body: invalid type: integer `7`, expected struct Asked at line 1 column 1",
            Value::Null,
        ),
        (b"{}", "name: missing", json!("name")),
        (b"{\"name\": \"n\", \"items\": [{}]}", "items[0].count: missing", json!("items[0].count")),
        (
            b"{\"name\": 5}",
            "name: invalid type: integer `5`, expected a string at line 1 column 10",
            json!("name"),
        ),
        (
            b"{\"name\": \"n\", \"items\": [{\"count\": 1}, {\"count\": 300}]}",
            "items[1].count: invalid value: integer `300`, expected u8 at line 1 column 51",
            json!("items[1].count"),
        ),
    ];
    for (bytes, detail, field) in cases {
        let (status, said) = send(bytes).await;
        assert_eq!((status, &said["code"]), (400, &json!("invalid_request")), "{said}");
        assert_eq!((&said["detail"], &said["field"]), (&json!(detail), &field));
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_told_apart_from_one_that_does_not_fit() {
    let cases: [(&[u8], &str); 7] = [
        (b"", "the body is empty; expected a JSON object"),
        (b"  \n", "the body is empty; expected a JSON object"),
        (b"{\"name\": ", "the body: EOF while parsing a value at line 1 column 9"),
        (b"not json", "the body: expected ident at line 1 column 2"),
        (b"{\"name\": \"\xff\"}", "the body is not UTF-8 (byte 10)"),
        (b"{\"name\": \"n\"} {}", "the body: trailing characters at line 1 column 15"),
        // The value is wrong and the text is incomplete. The incomplete text is reported first,
        // because then nothing of the body can be trusted.
        (b"{\"name\": 5, ", "the body: EOF while parsing an object at line 1 column 12"),
    ];
    for (bytes, detail) in cases {
        let (status, said) = send(bytes).await;
        assert_eq!((status, &said["code"]), (400, &json!("invalid_request")), "{said}");
        assert_eq!(said["detail"], json!(detail));
    }
    let deep = format!("{{\"name\": {}", "[".repeat(100_000));
    assert_eq!(send(deep).await.0, 400);
}

#[tokio::test]
async fn a_body_over_the_limit_is_too_large_whether_declared_or_not() {
    let declared = Request::post("/").header("content-length", "50000000").body(Body::empty());
    let (status, said) = answer(declared.unwrap()).await;
    assert_eq!((status, &said["code"]), (413, &json!("too_large")));
    let chunks = futures::stream::iter(
        (0..=MAX_BODY / 1024).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1024])),
    );
    let (status, said) = send(Body::from_stream(chunks)).await;
    assert_eq!((status, &said["detail"]), (413, &json!("the body is larger than 8 MiB")));
    let odd = Request::post("/").header("content-length", "-1").body(Body::empty());
    assert_eq!(answer(odd.unwrap()).await.0, 400);
}

#[tokio::test]
async fn a_bad_query_is_refused_too() {
    let ask = |query: &str| answer(Request::get(format!("/q{query}")).body(Body::empty()).unwrap());
    assert_eq!(ask("?count=7").await, (200, json!(7)));
    let (status, said) = ask("").await;
    assert_eq!((status, &said["detail"]), (400, &json!("query: missing field `count`")));
    assert_eq!(said["field"], "count");
    let (status, said) = ask("?count=x").await;
    assert_eq!(
        (status, &said["detail"]),
        (400, &json!("query: count: invalid digit found in string"))
    );
    assert_eq!(said["field"], "count");
}

#[tokio::test]
async fn a_body_is_json_whatever_kind_it_says_it_is() {
    for kind in ["application/json", "application/x-www-form-urlencoded", "text/plain", ""] {
        let request = Request::post("/").header("content-type", kind);
        let answered = answer(request.body(r#"{"name": "n"}"#.into()).unwrap()).await;
        assert_eq!(answered, (200, json!("n 0")), "{kind}");
    }
}
