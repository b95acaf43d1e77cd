//! A database as an earlier version of Onyx left it: the tables of that version, filled with rows that stores of today
//! wrote.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio_postgres::Client;

/// The version of the tables that `copy_into_old_tables` creates.
pub const OLD_TABLES: i32 = 2;

const MIGRATIONS: [&str; 2] = [
    include_str!("../../../storage/migrations/postgres/V1__schema.sql"),
    include_str!("../../../storage/migrations/postgres/V2__shared_sign_ins.sql"),
];

/// The table in which the migrations note which of them ran, as they create it.
const HISTORY: &str = "CREATE TABLE refinery_schema_history (
    version INT4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255))";

/// Puts one row into each table that is empty. Its values mean nothing, but each column has one.
const FILL: &str = "DO $fill$
DECLARE
    bare TEXT;
    has_rows BOOLEAN;
    listed TEXT;
    made TEXT;
BEGIN
    FOR bare IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', bare) INTO has_rows;
        CONTINUE WHEN has_rows;
        SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position),
               string_agg(CASE data_type
                              WHEN 'text' THEN '''nobody'''
                              WHEN 'bytea' THEN '''\\x00ff'''
                              WHEN 'boolean' THEN 'TRUE'
                              WHEN 'double precision' THEN '0.25'
                              WHEN 'timestamp with time zone' THEN 'clock_timestamp()'
                              ELSE '7' END, ', ' ORDER BY ordinal_position)
        INTO listed, made
        FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name = bare;
        EXECUTE format('INSERT INTO %I (%s) OVERRIDING SYSTEM VALUE VALUES (%s)',
                       bare, listed, made);
    END LOOP;
END $fill$";

/// What a database holds: for each table its columns, and its rows as JSON in a fixed order.
#[derive(Debug)]
pub struct TableContents {
    columns: BTreeMap<String, Vec<String>>,
    rows: BTreeMap<String, Vec<String>>,
}

impl TableContents {
    /// Reads all tables but those that migrations change for themselves.
    pub async fn of(client: &Client) -> Self {
        let select = "SELECT table_name::TEXT, column_name::TEXT FROM information_schema.columns
                      WHERE table_schema = 'public' ORDER BY table_name, ordinal_position";
        let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in client.query(select, &[]).await.expect("columns") {
            columns.entry(row.get(0)).or_default().push(row.get(1));
        }
        columns.retain(|table, _| !is_of_migrations(table));
        Self::of_columns(client, columns).await
    }

    /// Reads the same columns of the same tables again.
    pub async fn again(&self, client: &Client) -> Self {
        Self::of_columns(client, self.columns.clone()).await
    }

    async fn of_columns(client: &Client, columns: BTreeMap<String, Vec<String>>) -> Self {
        let mut rows = BTreeMap::new();
        for (table, columns) in &columns {
            let columns: Vec<String> =
                columns.iter().map(|column| ["\"", column, "\""].concat()).collect();
            let columns = columns.join(", ");
            let select =
                ["SELECT json_build_array(", &columns, ")::TEXT FROM ", table, " ORDER BY 1"];
            let found = client.query(select.concat().as_str(), &[]).await.expect("rows");
            rows.insert(table.clone(), found.iter().map(|row| row.get(0)).collect());
        }
        Self { columns, rows }
    }

    /// The rows that another reading of these tables does not have, each with its table. A row that was changed is
    /// missing too.
    pub fn missing_from(&self, other: &Self) -> Vec<String> {
        let mut missing = Vec::new();
        for (table, rows) in &self.rows {
            let mut found = other.rows[table].clone();
            for row in rows {
                match found.iter().position(|other| other == row) {
                    Some(at) => drop(found.swap_remove(at)),
                    None => missing.push(format!("{table}: {row}")),
                }
            }
        }
        missing
    }

    /// The tables without any rows.
    pub fn empty_tables(&self) -> Vec<&str> {
        let empty = self.rows.iter().filter(|(_, rows)| rows.is_empty());
        empty.map(|(table, _)| table.as_str()).collect()
    }

    /// The columns that these tables have now but did not have, and that an insert of an older binary, which does not know
    /// them, would leave without a value.
    pub async fn new_columns_that_old_inserts_miss(&self, client: &Client) -> Vec<String> {
        let select = "SELECT table_name::TEXT, column_name::TEXT FROM information_schema.columns
                      WHERE table_schema = 'public' AND is_nullable = 'NO'
                        AND column_default IS NULL AND is_identity = 'NO'
                        AND is_generated = 'NEVER'";
        let mut missed = Vec::new();
        for row in client.query(select, &[]).await.expect("columns") {
            let (table, column): (String, String) = (row.get(0), row.get(1));
            let known = self.columns.get(&table);
            if known.is_some_and(|known| !known.contains(&column)) {
                missed.push(format!("{table}.{column}"));
            }
        }
        missed
    }

    /// The unique indexes of these tables: an older binary's `ON CONFLICT` names their columns.
    pub async fn unique_indexes(&self, client: &Client) -> Vec<String> {
        let select = "SELECT tablename::TEXT, indexdef FROM pg_indexes
                      WHERE schemaname = 'public' AND indexdef LIKE 'CREATE UNIQUE INDEX %'
                      ORDER BY indexdef";
        let found = client.query(select, &[]).await.expect("indexes");
        let of_these = found.iter().filter(|row| self.columns.contains_key(row.get::<_, &str>(0)));
        of_these.map(|row| row.get(1)).collect()
    }
}

fn is_of_migrations(table: &str) -> bool {
    table.starts_with("refinery") || table == "onyx_schema" || table == "onyx_migrating"
}

/// Creates the tables of the old version in an empty database, and copies into them what another database holds in the
/// columns that they have.
pub async fn copy_into_old_tables(newest: &Client, old: &Client) {
    for made in MIGRATIONS.into_iter().chain([HISTORY]) {
        old.batch_execute(made).await.expect("the old tables");
    }
    let ran = "SELECT coalesce(json_agg(ran), '[]')::TEXT FROM refinery_schema_history AS ran
               WHERE version <= $1";
    let ran: String = newest.query_one(ran, &[&OLD_TABLES]).await.expect("history").get(0);
    let counters = old.query("SELECT name FROM counters", &[]).await.expect("counters");
    let counters: Vec<String> = counters.iter().map(|row| row.get(0)).collect();
    // Rows come table by table, so references are checked by nobody meanwhile.
    old.batch_execute("SET session_replication_role = replica").await.expect("a superuser");
    insert(old, "refinery_schema_history", &ran).await;
    let tables = "SELECT tablename::TEXT FROM pg_tables WHERE schemaname = 'public'";
    for table in old.query(tables, &[]).await.expect("tables") {
        let table: &str = table.get(0);
        if is_of_migrations(table) {
            continue;
        }
        let select = ["SELECT coalesce(json_agg(one), '[]')::TEXT FROM ", table, " AS one"];
        let select = select.concat();
        let rows: String = newest.query_one(select.as_str(), &[]).await.expect("rows").get(0);
        // A migration may have put rows of its own there.
        old.batch_execute(&["DELETE FROM ", table].concat()).await.expect("an empty table");
        insert(old, table, &rows).await;
    }
    // Newer migrations add these counters.
    old.execute("DELETE FROM counters WHERE name <> ALL ($1)", &[&counters])
        .await
        .expect("counters");
    copy_sequences(newest, old).await;
    old.batch_execute("RESET session_replication_role").await.expect("as before");
}

/// Puts a row into each table of the database that is empty.
pub async fn fill_empty_tables(client: &Client) {
    client.batch_execute("SET session_replication_role = replica").await.expect("a superuser");
    client.batch_execute(FILL).await.expect("rows");
    client.batch_execute("RESET session_replication_role").await.expect("as before");
}

/// Inserts rows that are given as a JSON array. Columns that the table does not have are left out.
async fn insert(client: &Client, table: &str, rows: &str) {
    let parsed: Value = serde_json::from_str(rows).expect("JSON");
    let expected = parsed.as_array().expect("an array").len() as u64;
    let insert = [
        "INSERT INTO ",
        table,
        " OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::",
        table,
        ", $1::TEXT::JSON)",
    ];
    let inserted = client.execute(insert.concat().as_str(), &[&rows]).await.expect("rows");
    assert_eq!(inserted, expected, "{table}");
}

async fn copy_sequences(newest: &Client, old: &Client) {
    let select = "SELECT quote_ident(sequencename::TEXT), last_value FROM pg_sequences
                  WHERE schemaname = 'public' AND last_value IS NOT NULL";
    let set = "SELECT setval(to_regclass($1), $2::BIGINT) WHERE to_regclass($1) IS NOT NULL";
    for row in newest.query(select, &[]).await.expect("sequences") {
        let (name, value): (String, i64) = (row.get(0), row.get(1));
        old.query(set, &[&name, &value]).await.expect("the sequence");
    }
}
