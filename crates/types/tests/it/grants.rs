use onyx_types::{Grant, Grants};

#[test]
fn grants_are_words_in_a_row_and_a_list_on_the_wire() {
    let some: Grants = "chat read".parse().unwrap();
    assert_eq!(some, [Grant::Read, Grant::Chat].into_iter().collect());
    assert_eq!(some.to_string(), "read chat");
    let wire = serde_json::to_string(&some).unwrap();
    assert_eq!(wire, r#"["read","chat"]"#);
    assert_eq!(serde_json::from_str::<Grants>(&wire).unwrap(), some);
    assert!("read everything".parse::<Grants>().is_err());
    assert!("".parse::<Grants>().unwrap().is_empty());
}

#[test]
fn nothing_is_passed_on_that_was_not_there() {
    let some: Grants = "read chat".parse().unwrap();
    let wanted: Grants = "read admin".parse().unwrap();
    assert_eq!(wanted.within(some).to_string(), "read");
    assert_eq!(Grants::all().within(Grants::personal()), Grants::personal());
    assert!(!Grants::personal().has(Grant::Admin));
}
