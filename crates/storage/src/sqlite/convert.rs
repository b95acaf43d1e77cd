//! Converts between Rust types and columns. A value that another version of Onyx wrote and this one
//! cannot read is an error that says so, never a default.

use std::str::FromStr;

use onyx_types::{Hash, Timestamp};
use rusqlite::Row;
use rusqlite::types::{FromSqlError, Type};
use serde::de::DeserializeOwned;

type Result<T> = rusqlite::Result<T>;

pub(crate) fn parsed<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    row: &Row<'_>,
    column: usize,
) -> Result<T> {
    row.get_ref(column)?.as_str()?.parse().map_err(|error| unreadable(column, error))
}

pub(crate) fn parsed_if_any<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<T>> {
    match row.get_ref(column)?.as_str_or_null()? {
        None => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|error| unreadable(column, error)),
    }
}

/// Reads a value of one of our enums by its wire name.
pub(crate) fn named<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    from_name(row.get_ref(column)?.as_str()?, column)
}

pub(crate) fn named_if_any<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<Option<T>> {
    match row.get_ref(column)?.as_str_or_null()? {
        None => Ok(None),
        Some(text) => from_name(text, column).map(Some),
    }
}

fn from_name<T: DeserializeOwned>(name: &str, column: usize) -> Result<T> {
    let name = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(name);
    T::deserialize(name).map_err(|error| unreadable(column, error))
}

pub(crate) fn timestamp(row: &Row<'_>, column: usize) -> Result<Timestamp> {
    Ok(Timestamp::from_millis(row.get(column)?))
}

pub(crate) fn hash(row: &Row<'_>, column: usize) -> Result<Hash> {
    #[derive(Debug, thiserror::Error)]
    #[error("not a hash")]
    struct NotAHash;

    Hash::from_hex(row.get_ref(column)?.as_str()?).ok_or_else(|| unreadable(column, NotAHash))
}

pub(crate) fn count(row: &Row<'_>, column: usize) -> Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            Type::Integer,
            Box::new(FromSqlError::OutOfRange(value)),
        )
    })
}

/// Turns a count into SQLite's integer, which ends at 2^63; no count comes near that.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn unreadable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
