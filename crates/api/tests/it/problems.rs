use axum::http::StatusCode;
use axum::response::IntoResponse;
use onyx_api::Problem;
use onyx_types::{ErrorCode, Fault};
use serde_json::{Value, json};

pub(crate) async fn body(response: axum::response::Response) -> Value {
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test]
async fn every_code_of_the_table_is_a_problem_with_its_own_status() {
    for code in ErrorCode::ALL {
        let response = Problem::from(Fault::plain(*code)).into_response();
        assert_eq!(response.status().as_u16(), code.http_status(), "{code}");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let expected = json!({
            "status": code.http_status(), "code": code.as_str(), "title": code.sentence(),
            "detail": code.sentence(), "hint": code.hint(),
        });
        assert_eq!(body(response).await, expected);
    }
}

#[tokio::test]
async fn a_field_an_own_hint_and_members_beside_are_told() {
    let response = Problem::field("a.b[0]", "no").with("run_id", "r").into_response();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let expected = json!({
        "status": 400, "code": "invalid_request", "title": "The request is not valid.",
        "detail": "a.b[0]: no", "hint": "Check the field named in the message.",
        "field": "a.b[0]", "run_id": "r",
    });
    assert_eq!(body(response).await, expected);
    let own = Problem::from(Fault::new(ErrorCode::Forbidden, "x").with_hint("y"));
    assert_eq!(body(own.into_response()).await["hint"], "y");
}

#[test]
fn who_must_sign_in_or_wait_is_told_how_by_a_header() {
    let challenge = Problem::new(ErrorCode::Unauthenticated, "x").into_response();
    assert_eq!(challenge.headers()["www-authenticate"], "Bearer");
    let busy = Problem::new(ErrorCode::Overloaded, "x").into_response();
    assert_eq!(busy.headers()["retry-after"], "1");
}
