//! Runs statements. Each is prepared once per connection.

use deadpool_postgres::GenericClient;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

pub(super) type StatementParameters<'a> = &'a [&'a (dyn ToSql + Sync)];

pub(super) async fn rows(
    client: &impl GenericClient,
    statement: &str,
    given: StatementParameters<'_>,
) -> Result<Vec<Row>, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.query(&statement, given).await
}

/// Returns the only row, or `None` if there is no row.
pub(super) async fn row_if_any(
    client: &impl GenericClient,
    statement: &str,
    given: StatementParameters<'_>,
) -> Result<Option<Row>, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.query_opt(&statement, given).await
}

pub(super) async fn row(
    client: &impl GenericClient,
    statement: &str,
    given: StatementParameters<'_>,
) -> Result<Row, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.query_one(&statement, given).await
}

/// Runs a statement and returns the number of rows that it affected.
pub(super) async fn execute(
    client: &impl GenericClient,
    statement: &str,
    given: StatementParameters<'_>,
) -> Result<u64, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.execute(&statement, given).await
}

/// Converts every row into a value.
pub(super) fn read_all<T>(
    rows: &[Row],
    read: impl Fn(&Row) -> Result<T, crate::StoreError>,
) -> Result<Vec<T>, crate::StoreError> {
    rows.iter().map(read).collect()
}
