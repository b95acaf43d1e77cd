//! Converts between Rust types and columns. A value that another version of Onyx wrote and this one cannot read is an
//! error that says so, never a default.

use std::borrow::Cow;
use std::str::FromStr;

use onyx_types::{Hash, Timestamp};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::StoreError;

type Result<T> = std::result::Result<T, StoreError>;

pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|error| unreadable(row, column, &error))
}

pub(super) fn parsed<T: FromStr<Err: std::fmt::Display>>(row: &Row, column: usize) -> Result<T> {
    let text: &str = get(row, column)?;
    text.parse().map_err(|error| unreadable(row, column, &error))
}

pub(super) fn parsed_if_any<T: FromStr<Err: std::fmt::Display>>(
    row: &Row,
    column: usize,
) -> Result<Option<T>> {
    match get::<Option<&str>>(row, column)? {
        None => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|error| unreadable(row, column, &error)),
    }
}

/// Reads a value of one of our enums by its wire name.
pub(super) fn named<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T> {
    from_name(row, column, get(row, column)?)
}

pub(super) fn named_if_any<T: DeserializeOwned>(row: &Row, column: usize) -> Result<Option<T>> {
    match get::<Option<&str>>(row, column)? {
        None => Ok(None),
        Some(text) => from_name(row, column, text).map(Some),
    }
}

fn from_name<T: DeserializeOwned>(row: &Row, column: usize, name: &str) -> Result<T> {
    let name = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(name);
    T::deserialize(name).map_err(|error| unreadable(row, column, &error))
}

pub(super) fn json<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T> {
    serde_json::from_str(get(row, column)?).map_err(|error| unreadable(row, column, &error))
}

pub(super) fn timestamp(row: &Row, column: usize) -> Result<Timestamp> {
    get(row, column).map(Timestamp::from_millis)
}

pub(super) fn timestamp_if_any(row: &Row, column: usize) -> Result<Option<Timestamp>> {
    Ok(get::<Option<i64>>(row, column)?.map(Timestamp::from_millis))
}

pub(super) fn hash(row: &Row, column: usize) -> Result<Hash> {
    let text: &str = get(row, column)?;
    Hash::from_hex(text).ok_or_else(|| unreadable(row, column, &"not a hash"))
}

/// Reads a hash that is stored as bytes.
pub(super) fn hash_bytes(row: &Row, column: usize) -> Result<Hash> {
    let bytes: &[u8] = get(row, column)?;
    let bytes = bytes.try_into().map_err(|error| unreadable(row, column, &error))?;
    Ok(Hash::from_bytes(bytes))
}

pub(super) fn count(row: &Row, column: usize) -> Result<u64> {
    let value: i64 = get(row, column)?;
    u64::try_from(value).map_err(|error| unreadable(row, column, &error))
}

pub(super) fn small(row: &Row, column: usize) -> Result<u32> {
    let value: i64 = get(row, column)?;
    u32::try_from(value).map_err(|error| unreadable(row, column, &error))
}

/// Turns a count into the database's integer, which ends at 2^63; no count comes near that.
pub(super) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns text in the form that the database can store. It cannot store NUL characters, so the
/// symbol for NUL replaces them. Logs and files are stored as bytes and do not change.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{2400}"))
    } else {
        Cow::Borrowed(text)
    }
}

pub(super) fn shown_if_any(text: Option<&str>) -> Option<Cow<'_, str>> {
    text.map(shown)
}

pub(super) fn unreadable(row: &Row, column: usize, error: &dyn std::fmt::Display) -> StoreError {
    let name = row.columns().get(column).map_or("?", tokio_postgres::Column::name);
    StoreError::Failed(format!("the database's column {name} cannot be read: {error}"))
}
